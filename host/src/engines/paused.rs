//! Programs that were stopped before a call that needs the word of a person, with what their calls answered.
//!
//! A program that is confirmed is run again, and what it called before is not called again: it gets the answers of
//! then. They are kept in memory, for as long as a confirmation is good, few of them, and each for the principal and
//! the source that it was stopped with. In a process that ends they are lost, and the program starts anew.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

use super::calls::Past;
use crate::confirm;
use crate::error::{Error, Result};
use crate::registry::Digest;

/// Stopped programs that are kept: each may hold some megabytes.
const PAUSES: usize = 16;

/// Of those, how many may be one principal's.
const PAUSES_OF_ONE: usize = 4;

/// Bytes of a token that nobody guesses.
const TOKEN_BYTES: usize = 16;

/// The programs that were stopped.
#[derive(Default)]
pub(crate) struct Paused(Mutex<HashMap<String, Pause>>);

/// A program that was stopped.
pub(crate) struct Pause {
    /// Who ran it.
    pub(crate) principal: String,
    /// Its source.
    pub(crate) source: Digest,
    /// The engine that ran it.
    pub(crate) engine: Digest,
    /// When it began, in milliseconds since 1970: the time of all its runs.
    pub(crate) began_at: u64,
    /// What it did.
    pub(crate) past: Past,
    /// When it is forgotten, in milliseconds since 1970.
    pub(crate) ends_at: i64,
}

impl Paused {
    /// Keeps a program, and gives the token by which it goes on. The oldest goes where there are too many, of the
    /// same principal first.
    pub(crate) fn keep(&self, pause: Pause, now_ms: i64) -> Result<String> {
        let mut bytes = [0; TOKEN_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| Error::internal("the system gives no random bytes"))?;
        let token = URL_SAFE_NO_PAD.encode(bytes);
        let mut pauses = self.lock();
        pauses.retain(|_, pause| pause.ends_at > now_ms);
        let own = pauses.values().filter(|kept| kept.principal == pause.principal).count();
        if own >= PAUSES_OF_ONE {
            remove_oldest(&mut pauses, |kept| kept.principal == pause.principal);
        } else if pauses.len() >= PAUSES {
            remove_oldest(&mut pauses, |_| true);
        }
        pauses.insert(token.clone(), pause);
        Ok(token)
    }

    /// The program of a token, once: for the principal, the source and the engine that it was stopped with.
    pub(crate) fn take(
        &self,
        token: &str,
        (principal, source, engine): (&str, Digest, Digest),
        now_ms: i64,
    ) -> Result<Pause> {
        let mut pauses = self.lock();
        let is_its = |pause: &Pause| {
            pause.principal == principal
                && pause.source == source
                && pause.engine == engine
                && pause.ends_at > now_ms
        };
        // A token that is shown beside another program is still good beside its own.
        if !pauses.get(token).is_some_and(is_its) {
            return Err(confirm::invalid("it is of no program that waits"));
        }
        pauses.remove(token).ok_or_else(|| Error::internal("a pause is there while its lock is held"))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pause>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove_oldest(pauses: &mut HashMap<String, Pause>, counts: impl Fn(&Pause) -> bool) {
    let oldest = pauses.iter().filter(|(_, pause)| counts(pause)).min_by_key(|(_, pause)| pause.ends_at);
    if let Some(token) = oldest.map(|(token, _)| token.clone()) {
        pauses.remove(&token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(principal: &str, ends_at: i64) -> Pause {
        Pause {
            principal: principal.to_owned(),
            source: Digest::of(b"source"),
            engine: Digest::of(b"engine"),
            began_at: 1,
            past: Past::default(),
            ends_at,
        }
    }

    fn subject(principal: &str) -> (&str, Digest, Digest) {
        (principal, Digest::of(b"source"), Digest::of(b"engine"))
    }

    #[test]
    fn a_program_goes_on_once_and_for_its_own_principal_and_source() {
        let paused = Paused::default();
        let token = paused.keep(pause("ada", 100), 0).unwrap();
        assert!(paused.take(&token, subject("bob"), 0).is_err());
        assert!(paused.take(&token, ("ada", Digest::of(b"other"), Digest::of(b"engine")), 0).is_err());
        assert!(paused.take(&token, ("ada", Digest::of(b"source"), Digest::of(b"other")), 0).is_err());
        assert!(paused.take("another", subject("ada"), 0).is_err());
        assert!(paused.take(&token, subject("ada"), 100).is_err(), "its time is over");
        assert!(paused.take(&token, subject("ada"), 99).is_ok());
        assert!(paused.take(&token, subject("ada"), 99).is_err(), "it was taken");
    }

    #[test]
    fn few_are_kept_and_one_principal_pushes_out_its_own() {
        let paused = Paused::default();
        let bob = paused.keep(pause("bob", 1), 0).unwrap();
        let ada: Vec<_> = (2..10).map(|at| paused.keep(pause("ada", at), 0).unwrap()).collect();
        assert_eq!(paused.lock().len(), PAUSES_OF_ONE + 1);
        assert!(paused.take(&ada[3], subject("ada"), 0).is_err());
        assert!(paused.take(&ada[4], subject("ada"), 0).is_ok());
        assert!(paused.take(&bob, subject("bob"), 0).is_ok());
        for number in 0..100 {
            paused.keep(pause(&format!("agent-{number}"), 50), 0).unwrap();
        }
        assert_eq!(paused.lock().len(), PAUSES);
    }
}

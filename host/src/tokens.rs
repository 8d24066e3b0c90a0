//! Bearer tokens of principals: how one is made, and whose one is that somebody shows.
//!
//! A token is 256 random bits behind a prefix that scanners of source code can look for. Only its SHA-256 is kept:
//! nobody can guess a token, so nothing slower is needed, and looking a digest up tells nothing about others. Each
//! look is at the newest snapshot: a token that was taken back, or has ended, is nobody's from then on. What its
//! principal may do is decided in `policy/`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::policy::Identity;
use crate::registry::Catalog;
use crate::store::Store;

/// What every token begins with.
const PREFIX: &str = "rmt_";

/// Lower case, without letters that are read as others: a token is one word to an editor.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Five bits a digit: 260 bits, all random.
const TOKEN_DIGITS: usize = 52;

/// Forty bits tell the tokens of one home apart.
const ID_DIGITS: usize = 8;

/// How old the time of last use may be. Writing it down at each request would cost more than the request.
const COARSE_MS: i64 = 5 * 60 * 1000;

/// The SHA-256 of a token, which is what is kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenHash(pub(crate) [u8; 32]);

/// What is kept of a token, besides its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredToken {
    /// Names it in lists. It opens nothing.
    pub id: String,
    /// Whose it is.
    pub principal: String,
    /// When it was made. This and all times: milliseconds since 1970.
    pub created_at: i64,
    /// From then on it is nobody's.
    pub expires_at: Option<i64>,
}

/// A new token. It is shown once, and then never again.
#[derive(Debug)]
pub struct NewToken {
    /// Its name in lists.
    pub id: String,
    /// The token itself.
    pub token: Zeroizing<String>,
}

/// The tokens of one home.
pub struct Tokens {
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    clock: Arc<Clock>,
    /// When the use of each was last written down by this process.
    noted: Mutex<HashMap<String, i64>>,
}

impl NewToken {
    /// Draws one.
    pub(crate) fn draw() -> Result<Self> {
        let token = Zeroizing::new(format!("{PREFIX}{}", *digits(TOKEN_DIGITS)?));
        Ok(Self { id: format!("tok-{}", *digits(ID_DIGITS)?), token })
    }

    pub(crate) fn hash(&self) -> TokenHash {
        TokenHash::of(self.token.as_bytes())
    }
}

impl TokenHash {
    /// The hash of what somebody shows.
    #[must_use]
    pub fn of(shown: &[u8]) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, shown).as_ref());
        Self(hash)
    }
}

impl StoredToken {
    /// Whether it is nobody's any more.
    #[must_use]
    pub fn is_over(&self, now_ms: i64) -> bool {
        self.expires_at.is_some_and(|end| end <= now_ms)
    }
}

impl Tokens {
    /// The tokens that `store` keeps.
    #[must_use]
    pub fn new(store: Arc<Store>, catalog: Arc<Catalog>, clock: Arc<Clock>) -> Self {
        Self { store, catalog, clock, noted: Mutex::default() }
    }

    /// Whose token this is, now. Nobody's, when it was never made, was taken back or is over.
    pub fn whose(&self, shown: &[u8]) -> Result<Option<Identity>> {
        if !shown.starts_with(PREFIX.as_bytes()) {
            return Ok(None);
        }
        let snapshot = self.catalog.current()?;
        let now = self.clock.now_ms();
        let Some(token) = snapshot.tokens.get(&TokenHash::of(shown)).filter(|token| !token.is_over(now)) else {
            return Ok(None);
        };
        self.note_use(&token.id, now);
        Ok(Some(Identity::stored(&token.principal)))
    }

    fn note_use(&self, id: &str, now: i64) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.get(id).is_some_and(|last| now.saturating_sub(*last) < COARSE_MS) {
            return;
        }
        noted.insert(id.to_owned(), now);
        drop(noted);
        self.store.note_token_use(id.to_owned());
    }
}

/// So many random digits.
fn digits(count: usize) -> Result<Zeroizing<String>> {
    let mut random = Zeroizing::new(vec![0_u8; count]);
    SystemRandom::new().fill(&mut random).map_err(|_| Error::internal("the system gives no random bytes"))?;
    // 32 divides 256, so each digit is as likely as the others.
    Ok(Zeroizing::new(random.iter().map(|byte| char::from(DIGITS[usize::from(*byte) % DIGITS.len()])).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_plain_and_its_own() {
        let (one, other) = (NewToken::draw().unwrap(), NewToken::draw().unwrap());
        assert_eq!(one.token.len(), PREFIX.len() + TOKEN_DIGITS);
        assert!(one.token.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit()));
        assert_ne!(*one.token, *other.token);
        assert_ne!(one.id, other.id);
        assert!(!one.token.contains(&one.id[4..]), "the id tells nothing of the token");
        assert_eq!(one.hash(), TokenHash::of(one.token.as_bytes()));
        assert_ne!(one.hash(), other.hash());
    }

    #[test]
    fn an_end_is_an_end() {
        let token = |expires_at| StoredToken {
            id: "tok-a".to_owned(),
            principal: "ada".to_owned(),
            created_at: 0,
            expires_at,
        };
        assert!(!token(None).is_over(i64::MAX));
        assert!(!token(Some(5)).is_over(4));
        assert!(token(Some(5)).is_over(5));
    }
}

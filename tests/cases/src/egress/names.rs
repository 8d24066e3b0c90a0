//! DNS as a case scripts it: a resolver that answers what it is told, and notes what it was asked.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use remit::egress::{BoxFuture, Resolver};

/// Aliases in a row: more is a loop.
const ALIASES: usize = 8;

/// What is answered.
#[derive(Clone, Debug)]
pub(super) enum Answers {
    /// These addresses, whatever the name; none means that there is no such name.
    Every(Vec<IpAddr>),
    /// What stands in a zone.
    Zone(Zone),
    /// The first look-up gets the first, the second the second; the last repeats.
    Turns(Vec<Vec<IpAddr>>),
    /// Nothing, ever.
    Never,
    /// That it did not work.
    Failure,
}

/// Names with their addresses, and with other names that they stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Zone {
    pub(super) addresses: BTreeMap<String, Vec<IpAddr>>,
    pub(super) aliases: BTreeMap<String, String>,
}

impl Zone {
    pub(super) fn look_up(&self, name: &str) -> Vec<IpAddr> {
        let mut name = name;
        for _ in 0..ALIASES {
            match self.aliases.get(name) {
                Some(alias) => name = alias,
                None => return self.addresses.get(name).cloned().unwrap_or_default(),
            }
        }
        Vec::new()
    }
}

/// The resolver of one case.
#[derive(Debug)]
pub(super) struct Names {
    answers: Answers,
    asked: Mutex<Vec<LookUp>>,
}

/// One question, and what was answered.
#[derive(Clone, Debug)]
pub(super) struct LookUp {
    pub(super) name: String,
    pub(super) addresses: Vec<IpAddr>,
}

impl Names {
    pub(super) fn new(answers: Answers) -> Self {
        Self { answers, asked: Mutex::default() }
    }

    pub(super) fn asked(&self) -> Vec<LookUp> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes the question, and gives the addresses.
    fn answer(&self, name: &str) -> Vec<IpAddr> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let addresses = match &self.answers {
            Answers::Every(addresses) => addresses.clone(),
            Answers::Zone(zone) => zone.look_up(name),
            Answers::Turns(turns) => turns.get(asked.len()).or(turns.last()).cloned().unwrap_or_default(),
            Answers::Never | Answers::Failure => Vec::new(),
        };
        asked.push(LookUp { name: name.to_owned(), addresses: addresses.clone() });
        addresses
    }
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let addresses = self.answer(name);
        Box::pin(async move {
            if matches!(self.answers, Answers::Never) {
                std::future::pending::<()>().await;
            }
            if addresses.is_empty() { Err(io::Error::other("no such name")) } else { Ok(addresses) }
        })
    }
}

//! What refused calls needed, asked of people by a short id.
//!
//! Decides what is asked for and what the agent is told of it: one sentence with the ids that a person can decide
//! by. It gives nothing; that is for the people's door. An ask that cannot be written is logged and forgotten: the
//! refusal stands either way, and the call does not wait.

mod id;

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::policy::Wish;
use crate::registry::{Capability, CapabilityName, Digest};
use crate::store::{Known, Store};

pub use id::{AskId, InvalidId};

/// Wishes of one call that are asked for: as many as a person would want to read. The others are asked for when
/// these are given.
const WISHES: usize = 8;

/// What one refused request lacked, all of it: with this, it would have left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The kind of the refusal.
    pub kind: ErrorKind,
    /// The refusal in a sentence that may leave this machine.
    pub why: String,
    /// What a person would have to give; never empty.
    pub wishes: Vec<Wish>,
}

/// One ask as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its id.
    pub id: AskId,
    /// Whose wish it is.
    pub name: CapabilityName,
    /// For these bytes only.
    pub digest: Digest,
    /// What is wished for.
    pub wish: Wish,
    /// On whose behalf it was asked last.
    pub principal: String,
    /// By which tool.
    pub tool: String,
    /// In which call.
    pub call: String,
    /// When it was asked first, in milliseconds since 1970.
    pub first_at: i64,
    /// When it was asked last.
    pub last_at: i64,
    /// How many calls asked.
    pub times: u64,
    /// When a person refused it.
    pub refused_at: Option<i64>,
}

/// The call that asks.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// Whose wishes they are.
    pub capability: &'a Capability,
    /// On whose behalf.
    pub principal: &'a str,
    /// By which tool.
    pub tool: &'a str,
    /// In which call.
    pub call: &'a str,
}

/// What the caller is told of one refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The refusal, and that a person can allow it, or refused to.
    pub sentence: String,
    /// The ids by which a person decides; empty when one refused.
    pub ids: Vec<AskId>,
}

/// All ids that the caller is told, each once.
#[must_use]
pub fn ids(asked: &[Asked]) -> Vec<AskId> {
    let mut ids = Vec::new();
    for id in asked.iter().flat_map(|asked| &asked.ids) {
        if !ids.contains(id) {
            ids.push(*id);
        }
    }
    ids
}

/// Where asks are kept.
pub struct Asks {
    store: Arc<Store>,
}

impl Asks {
    /// Kept in `store`.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        Self { store }
    }

    /// Asks for what the requests of a call needed. The ids are known at once, the rows are written soon.
    pub fn ask(&self, asker: &Asker<'_>, needs: &[Need]) -> Vec<Asked> {
        let mut wishes: Vec<&Wish> = Vec::new();
        for wish in needs.iter().flat_map(|need| &need.wishes) {
            if wishes.len() < WISHES && !wishes.contains(&wish) {
                wishes.push(wish);
            }
        }
        if wishes.is_empty() {
            return Vec::new();
        }
        let Capability { name, digest, .. } = asker.capability;
        let known = match self.store.known_asks(name, digest, &wishes) {
            Ok(known) => known,
            Err(error) => {
                not_written(&error);
                return Vec::new();
            }
        };
        let known_of = |wish: &Wish| Some(known[wishes.iter().position(|known| *known == wish)?]);
        let asked: Vec<Asked> = needs
            .iter()
            .filter_map(|need| tell(need, &need.wishes.iter().map(known_of).collect::<Option<Vec<_>>>()?))
            .collect();
        let told = |id: &AskId| asked.iter().any(|asked| asked.ids.contains(id));
        let rows = wishes.into_iter().zip(&known).filter_map(|(wish, known)| match known {
            Known::Open(id) if told(id) => Some((*id, wish.clone())),
            _ => None,
        });
        self.store.put_asks(asker, rows.collect(), |written| {
            if let Err(error) = written {
                not_written(&error);
            }
        });
        asked
    }
}

/// What the caller is told. When a person refused a part, the rest would not be enough and is not asked for; when a
/// part was given meanwhile, the next call will tell.
fn tell(need: &Need, known: &[Known]) -> Option<Asked> {
    let mut ids = Vec::new();
    let mut is_refused = false;
    for known in known {
        match known {
            Known::Open(id) => ids.push(*id),
            Known::Refused => is_refused = true,
            Known::Given => return None,
        }
    }
    let refusal = format!("{}: {}", need.kind.code(), need.why);
    if is_refused {
        return Some(Asked { sentence: format!("{refusal}; a person refused to allow this"), ids: Vec::new() });
    }
    let listed: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    let noun = if ids.len() == 1 { "id" } else { "ids" };
    let sentence = format!("{refusal}; a person can allow this with the approval {noun} {}", listed.join(" and "));
    Some(Asked { sentence, ids })
}

fn not_written(error: &Error) {
    tracing::error!(
        code = error.kind.code(),
        detail = error.detail,
        "what a refused call needed could not be kept"
    );
}

#[cfg(test)]
mod tests;

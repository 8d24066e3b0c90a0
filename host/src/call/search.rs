//! Search, as agents ask for it. No guest runs for that, and nothing is recorded: what is found is what lists show.

use serde_json::Value;

use super::Host;
use crate::error::Result;
use crate::policy::Identity;
use crate::search::Found;

impl Host {
    /// What this caller may use now, the best answer first. Of an empty question: an overview.
    pub async fn search(&self, caller: &Identity, question: &str, limit: usize) -> Result<Vec<Found>> {
        Ok(self.rooms.search.find_meant(&self.snapshot()?, caller, question, limit).await)
    }

    /// One thing in full, as JSON, if this caller may use it now.
    pub fn look_up(&self, caller: &Identity, id: &str) -> Result<Option<(Found, Value)>> {
        Ok(self.rooms.search.look_up(&self.snapshot()?, caller, id))
    }

    /// Domains of which this caller may use something: name and line.
    pub fn domains(&self, caller: &Identity) -> Result<Vec<(String, String)>> {
        Ok(self.rooms.search.domains(&self.snapshot()?, caller))
    }
}

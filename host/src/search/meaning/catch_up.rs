//! How what is installed gets its vectors: beside everything else, batch by batch, each kept as soon as it is there.
//!
//! It begins anew from what is kept, whatever ended it, so that no more than a batch is asked about twice. Of the
//! processes of a home one asks, and the others take over what it kept. A batch that failed is asked about again after a
//! pause, in halves where the texts themselves are refused, until one text alone is set aside.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Meaning, Unmeant};
use crate::error::{Error, Result};
use crate::registry::{Catalog, Digest, Snapshot};
use crate::search::Search;
use crate::search::index::Slot;
use crate::store::Store;

/// Held by the process that asks.
const LOCK: &str = "embeddings.lock";

/// Things that are looked at together: some milliseconds, in which nobody changes the index.
const TOGETHER: usize = 128;

/// So many times as many texts are kept as there are: what is uninstalled and comes back was asked about already.
const KEPT: usize = 2;

/// How long is waited after a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    /// After the first; each further one doubles it.
    pub(crate) first: Duration,
    /// At most.
    pub(crate) most: Duration,
    /// While another process asks.
    pub(crate) other: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), most: Duration::from_secs(5 * 60), other: Duration::from_secs(2) }
    }
}

/// What keeps the vectors of one home up to date.
pub(crate) struct CatchUp {
    pub(crate) search: Arc<Search>,
    pub(crate) meaning: Arc<Meaning>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) store: Arc<Store>,
    pub(crate) pauses: Pauses,
}

/// What is remembered between passes.
struct Memory {
    /// Texts that are asked about at once now.
    batch: usize,
    /// Failures since the last success.
    failures: u32,
    /// Texts that are asked about no more.
    aside: HashSet<Digest>,
    /// Whether something was kept that was not before.
    is_new: bool,
}

/// How a pass ended before everything was done.
enum Stopped {
    /// Another process asks.
    Elsewhere,
    /// A batch failed.
    Failed(Unmeant),
}

impl From<Unmeant> for Stopped {
    fn from(why: Unmeant) -> Self {
        Self::Failed(why)
    }
}

impl From<Error> for Stopped {
    fn from(why: Error) -> Self {
        Self::Failed(why.into())
    }
}

impl CatchUp {
    /// Goes on until it is stopped. `changes` tells of installs that came or went.
    pub(crate) async fn run(self, mut changes: watch::Receiver<u64>, stop: CancellationToken) {
        let all = self.meaning.batch;
        let mut memory = Memory { batch: all, failures: 0, aside: HashSet::new(), is_new: false };
        loop {
            changes.mark_unchanged();
            let passed = tokio::select! {
                () = stop.cancelled() => return,
                passed = self.pass(&mut memory) => passed,
            };
            let pause = match passed {
                Ok(()) => None,
                Err(Stopped::Elsewhere) => Some(self.pauses.other),
                Err(Stopped::Failed(why)) => Some(self.after(&why, &mut memory)),
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => {}
                changed = changes.changed(), if pause.is_none() => if changed.is_err() { return },
            }
        }
    }

    /// How long to wait after a failure, which is told at the first, second, fourth and so on.
    fn after(&self, why: &Unmeant, memory: &mut Memory) -> Duration {
        memory.failures += 1;
        if memory.failures.is_power_of_two() {
            tracing::warn!(failures = memory.failures, %why, "texts cannot be embedded; words alone count for them");
        }
        let times = 2_u32.saturating_pow(memory.failures - 1);
        self.pauses.first.saturating_mul(times).min(self.pauses.most)
    }

    /// Fills what can be filled, of everything that is installed.
    async fn pass(&self, memory: &mut Memory) -> Result<(), Stopped> {
        let snapshot = self.catalog.current()?;
        let (mut from, mut stopped) = (Some(0), Ok(()));
        while let Some(begin) = from {
            let (blanks, next) = self.search.blanks(&snapshot, begin, TOGETHER);
            from = next;
            // What is kept is taken over in any case.
            let filled = self.fill(blanks, stopped.is_ok(), memory).await;
            stopped = stopped.and(filled);
        }
        stopped?;
        if std::mem::take(&mut memory.is_new) {
            self.forget_others(snapshot).await?;
        }
        Ok(())
    }

    /// Gives these things their vectors: those that are kept, and then, if it may, those that have to be asked for.
    async fn fill(&self, blanks: Vec<(Slot, String)>, may_ask: bool, memory: &mut Memory) -> Result<(), Stopped> {
        let mut wanted: BTreeMap<Digest, (String, Vec<Slot>)> = BTreeMap::new();
        for (slot, text) in blanks {
            wanted.entry(Meaning::print(&text)).or_insert_with(|| (text, Vec::new())).1.push(slot);
        }
        self.recall(&mut wanted).await?;
        wanted.retain(|print, _| !memory.aside.contains(print));
        if wanted.is_empty() || !may_ask {
            return Ok(());
        }
        let Some(_held) = self.store.try_lock(LOCK)? else { return Err(Stopped::Elsewhere) };
        // Whoever held it before may have kept some of them since.
        self.recall(&mut wanted).await?;
        while !wanted.is_empty() {
            let prints: Vec<Digest> = wanted.keys().take(memory.batch).copied().collect();
            let texts: Vec<String> =
                prints.iter().filter_map(|print| wanted.get(print).map(|(text, _)| text.clone())).collect();
            let vectors = match self.meaning.embed(&texts).await {
                Ok(vectors) => vectors,
                Err(why) => {
                    if matches!(why, Unmeant::Never(_)) && memory.batch > 1 {
                        memory.batch = prints.len().div_ceil(2);
                    } else if matches!(why, Unmeant::Never(_)) {
                        memory.aside.extend(prints);
                    }
                    return Err(why.into());
                }
            };
            (memory.failures, memory.batch) = (0, (memory.batch * 2).min(self.meaning.batch));
            let mut kept = Vec::new();
            for (print, vector) in prints.into_iter().zip(vectors) {
                let slots = wanted.remove(&print).map(|(_, slots)| slots).unwrap_or_default();
                let Some(vector) = vector else {
                    memory.aside.insert(print);
                    continue;
                };
                slots.iter().for_each(|slot| drop(slot.set(vector.clone())));
                kept.push((print, vector));
            }
            memory.is_new = true;
            self.store.put_embeddings(&self.meaning.id, kept).await?;
        }
        Ok(())
    }

    /// Takes what is kept out of what is wanted.
    async fn recall(&self, wanted: &mut BTreeMap<Digest, (String, Vec<Slot>)>) -> Result<()> {
        let (store, meaning) = (Arc::clone(&self.store), Arc::clone(&self.meaning));
        let prints: Vec<Digest> = wanted.keys().copied().collect();
        let read = tokio::task::spawn_blocking(move || store.embeddings(&meaning.id, &prints)).await;
        let known = read.map_err(|why| Error::internal("vectors were not read to the end").detail(why))??;
        for (print, vector) in known {
            let slots = wanted.remove(&print).map(|(_, slots)| slots).unwrap_or_default();
            slots.iter().for_each(|slot| drop(slot.set(vector.clone())));
        }
        Ok(())
    }

    /// Drops what is kept of other models, and of texts that are no more once they are too many.
    async fn forget_others(&self, snapshot: Arc<Snapshot>) -> Result<()> {
        let (search, store, meaning) =
            (Arc::clone(&self.search), Arc::clone(&self.store), Arc::clone(&self.meaning));
        let looked = tokio::task::spawn_blocking(move || {
            let prints: HashSet<Digest> =
                search.texts(&snapshot).iter().map(|text| Meaning::print(text)).collect();
            let kept = store.embedded(&meaning.id)?.map_or(0, |(kept, _)| kept);
            Ok::<_, Error>((kept, prints))
        });
        let (kept, prints) = looked.await.map_err(|why| Error::internal("texts were not read").detail(why))??;
        let is_much = usize::try_from(kept).is_ok_and(|kept| kept > prints.len() * KEPT);
        let keep = is_much.then_some(prints);
        self.store.keep_embeddings(&self.meaning.id, keep).await
    }
}

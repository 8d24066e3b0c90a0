//! Loops in memory. None fires by itself: a test calls its tool inside [`run`], which keeps what the run compared
//! when it ends well, as the host does. Schedules are not judged.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::Value;

use super::{client, entities};
use crate::bindings::remit::capability::loops::{Definition, Difference, Error, LoopInfo, Status};

/// Items that can be compared, and their bytes: the host's bounds.
const ITEMS: usize = 1_000;
const ITEMS_BYTES: usize = 256 * 1024;

/// What the last reported items were, and those of the run that goes on.
#[derive(Clone, Default)]
struct Memory {
    loops: BTreeMap<String, LoopInfo>,
    reported: Option<Vec<String>>,
    /// `None` outside a run; inside, what it compared last.
    running: Option<Option<Vec<String>>>,
    started: u64,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// This thread's loops from now on: none, and nothing reported.
pub fn loops() {
    MEMORY.take();
}

/// Does this inside a run of a loop. Items that it compares are the last reported ones when it ends well.
pub fn run<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    MEMORY.with_borrow_mut(|memory| memory.running = Some(None));
    let result = work();
    MEMORY.with_borrow_mut(|memory| {
        let compared = memory.running.take().flatten();
        if result.is_ok() && compared.is_some() {
            memory.reported = compared;
        }
    });
    result
}

pub(crate) fn create(definition: &Definition) -> Result<LoopInfo, Error> {
    change(|memory| {
        let name = definition.name.clone();
        if memory.loops.contains_key(&name) {
            return Err(Error::AlreadyExists(format!("there is a loop `{name}` already")));
        }
        let info = LoopInfo {
            definition: definition.clone(),
            status: Status::Active,
            next_at: None,
            last_at: None,
            preset: false,
        };
        memory.loops.insert(name, info.clone());
        Ok(info)
    })
}

pub(crate) fn list() -> Result<Vec<LoopInfo>, Error> {
    Ok(MEMORY.with_borrow(|memory| memory.loops.values().cloned().collect()))
}

pub(crate) fn update(definition: &Definition) -> Result<LoopInfo, Error> {
    change(|memory| {
        let info = memory.find(&definition.name)?;
        info.definition = definition.clone();
        Ok(info.clone())
    })
}

pub(crate) fn pause(name: &str, paused: bool) -> Result<LoopInfo, Error> {
    change(|memory| {
        let info = memory.find(name)?;
        info.status = if paused { Status::Paused } else { Status::Active };
        Ok(info.clone())
    })
}

pub(crate) fn delete(name: &str) -> Result<(), Error> {
    change(|memory| memory.loops.remove(name).map(drop).ok_or_else(|| not_found(name)))
}

pub(crate) fn start(name: &str) -> Result<String, Error> {
    change(|memory| {
        memory.find(name)?;
        memory.started += 1;
        Ok(format!("run-{}", memory.started))
    })
}

pub(crate) fn diff_since_last_run(items: &[String]) -> Result<Difference, Error> {
    MEMORY.with_borrow_mut(|memory| {
        let Some(compared) = &mut memory.running else {
            return Err(Error::NotFound("this call is not a run of a loop".to_owned()));
        };
        let bytes: usize = items.iter().map(String::len).sum();
        if items.len() > ITEMS || bytes > ITEMS_BYTES {
            let why = format!("at most {ITEMS} items of {ITEMS_BYTES} bytes together can be compared");
            return Err(Error::Limit(why));
        }
        *compared = Some(items.to_vec());
        let before = memory.reported.as_deref().unwrap_or_default();
        let missing = |of: &[String], among: &[String]| -> Vec<String> {
            let mut known: Vec<Value> = among.iter().map(|item| identity(item)).collect();
            let mut is_new = |item: &String| {
                let identity = identity(item);
                let is_new = !known.contains(&identity);
                known.push(identity);
                is_new
            };
            of.iter().filter(|item| is_new(item)).cloned().collect()
        };
        Ok(Difference {
            first: memory.reported.is_none(),
            added: missing(items, before),
            removed: missing(before, items),
        })
    })
}

impl Memory {
    fn find(&mut self, name: &str) -> Result<&mut LoopInfo, Error> {
        self.loops.get_mut(name).ok_or_else(|| not_found(name))
    }
}

fn change<T>(work: impl FnOnce(&mut Memory) -> Result<T, Error>) -> Result<T, Error> {
    if entities::is_read_only() {
        return Err(Error::ReadOnly);
    }
    let changed = MEMORY.with_borrow_mut(work);
    client::changed_if(changed.is_ok());
    changed
}

fn not_found(name: &str) -> Error {
    Error::NotFound(format!("there is no loop `{name}`"))
}

/// What makes two items the same.
fn identity(item: &str) -> Value {
    let value: Value = serde_json::from_str(item).unwrap_or_default();
    match value.get("key").filter(|key| !key.is_null()) {
        Some(key) => serde_json::json!({ "key": key }),
        None => value,
    }
}

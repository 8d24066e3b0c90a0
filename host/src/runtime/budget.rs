//! What one call may spend, counted while it runs.
//!
//! Fuel bounds work, the epoch bounds time, the limiter bounds memory, the meter bounds what the host is
//! asked to do. Each has its own way to stop a guest, and each way has its own code.

use std::time::Instant;

use tokio_util::sync::CancellationToken;
use wasmtime::{ResourceLimiter, StoreContextMut};

use super::State;
use super::engine::{CORE_INSTANCES_PER_CALL, MEMORIES_PER_CALL, TABLE_ELEMENTS, TABLES_PER_CALL};
use crate::error::ErrorKind;

/// Fuel of one host call: about what the host spends on it, in guest instructions.
const HOST_CALL_FUEL: u64 = 1_000;
/// Fuel of one byte that crosses between guest and host.
const HOST_BYTE_FUEL: u64 = 1;
/// Host calls of one call: a page of log lines and every request fit many times.
const HOST_CALLS: u64 = 10_000;
/// Bytes of one table element on the host.
const TABLE_ELEMENT_BYTES: usize = std::mem::size_of::<usize>();

/// Why the host stopped a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// Its deadline passed.
    #[error("ran out of time")]
    Time,
    /// The caller went away or asked for it.
    #[error("was cancelled")]
    Cancelled,
    /// It asked the host for too much.
    #[error("asked the host for too much")]
    HostCalls,
    /// It spent its fuel inside a host call.
    #[error("spent its fuel")]
    Fuel,
    /// It sent all the requests that it may send.
    #[error("sent more requests than it may")]
    Egress,
    /// It asks a question that has no answer yet. No fault of the guest's: it runs again, with the answer.
    #[error("asks a question first")]
    Asks,
    /// A call that it makes needs the word of a person. It runs again, with the word.
    #[error("needs the word of a person first")]
    Unconfirmed,
    /// Run again, it made other calls than it made before.
    #[error("went another way than before it was confirmed; start it anew")]
    Strayed,
}

impl Stop {
    /// The kind of error it becomes.
    #[must_use]
    pub fn kind(self) -> ErrorKind {
        match self {
            Self::Time => ErrorKind::Time,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::HostCalls => ErrorKind::HostCalls,
            Self::Fuel => ErrorKind::Fuel,
            Self::Egress => ErrorKind::Egress,
            Self::Asks => ErrorKind::InputRequired,
            Self::Unconfirmed => ErrorKind::ConfirmationRequired,
            Self::Strayed => ErrorKind::ConfirmationInvalid,
        }
    }
}

/// Until when a call may run, and whether anybody still waits for it.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The end of its time, waiting included.
    pub deadline: Instant,
    /// Set when nobody waits any more.
    pub cancel: CancellationToken,
}

impl Lease {
    /// Whether it is over, and why.
    pub fn check(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        if crate::clock::monotonic() >= self.deadline {
            return Err(Stop::Time);
        }
        Ok(())
    }
}

/// Counts calls into the host.
#[derive(Debug, Default)]
pub struct Meter {
    host_calls: u64,
    /// Outbound requests of calls that were made for it.
    requests: u32,
}

impl Meter {
    /// Calls so far.
    #[must_use]
    pub fn host_calls(&self) -> u64 {
        self.host_calls
    }
}

/// Charges one host call that brought `bytes` into the host. Every function of every namespace begins
/// with it.
pub fn charge(store: &mut StoreContextMut<'_, State>, bytes: usize) -> wasmtime::Result<()> {
    charge_many(store, 1, bytes as u64)
}

/// Charges what is as much work as `calls` host calls, and `bytes` that cross in whichever direction.
pub fn charge_many(store: &mut StoreContextMut<'_, State>, calls: u64, bytes: u64) -> wasmtime::Result<()> {
    store.data().lease.check()?;
    let meter = &mut store.data_mut().meter;
    meter.host_calls = meter.host_calls.saturating_add(calls);
    if meter.host_calls > HOST_CALLS {
        return Err(Stop::HostCalls.into());
    }
    let price = HOST_CALL_FUEL.saturating_mul(calls).saturating_add(HOST_BYTE_FUEL.saturating_mul(bytes));
    let left = store.get_fuel()?;
    store.set_fuel(left.saturating_sub(price))?;
    if price > left {
        return Err(Stop::Fuel.into());
    }
    Ok(())
}

/// Charges what was spent elsewhere for this call: work, and outbound requests.
pub fn spend(store: &mut StoreContextMut<'_, State>, fuel: u64, requests: u32) -> wasmtime::Result<()> {
    let State { meter, granted, .. } = store.data_mut();
    meter.requests = meter.requests.saturating_add(requests);
    if meter.requests > granted.budget().http_requests {
        return Err(Stop::Egress.into());
    }
    let left = store.get_fuel()?;
    store.set_fuel(left.saturating_sub(fuel))?;
    if fuel > left { Err(Stop::Fuel.into()) } else { Ok(()) }
}

/// Sums memory over all memories and tables of a store.
#[derive(Debug)]
pub struct Limiter {
    limit: usize,
    memory: usize,
    tables: usize,
    peak: usize,
    refused: bool,
}

impl Limiter {
    /// Allows `limit` bytes in all.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, memory: 0, tables: 0, peak: 0, refused: false }
    }

    /// The most that was held at once.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Whether it ever said no: the reason behind most traps that follow.
    #[must_use]
    pub fn refused(&self) -> bool {
        self.refused
    }

    fn grow(&mut self, memory: usize, tables: usize) -> bool {
        let total = memory.saturating_add(tables);
        if total > self.limit {
            self.refused = true;
            return false;
        }
        self.memory = memory;
        self.tables = tables;
        self.peak = self.peak.max(total);
        true
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.grow(self.memory.saturating_add(desired.saturating_sub(current)), self.tables))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > TABLE_ELEMENTS {
            self.refused = true;
            return Ok(false);
        }
        let grown = desired.saturating_sub(current).saturating_mul(TABLE_ELEMENT_BYTES);
        Ok(self.grow(self.memory, self.tables.saturating_add(grown)))
    }

    fn instances(&self) -> usize {
        CORE_INSTANCES_PER_CALL as usize
    }

    fn tables(&self) -> usize {
        TABLES_PER_CALL as usize
    }

    fn memories(&self) -> usize {
        MEMORIES_PER_CALL as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_and_tables_count_together() {
        let mut limiter = Limiter::new(100 + 10 * TABLE_ELEMENT_BYTES);
        assert!(limiter.memory_growing(0, 60, None).expect("no trap"));
        assert!(limiter.memory_growing(0, 40, None).expect("a second memory fits"));
        assert!(limiter.table_growing(0, 10, None).expect("a table fits"));
        assert!(!limiter.refused());
        assert!(!limiter.memory_growing(40, 41, None).expect("one byte more does not"));
        assert!(limiter.refused());
        assert_eq!(limiter.peak(), 100 + 10 * TABLE_ELEMENT_BYTES);
    }

    #[test]
    fn a_table_has_its_own_bound() {
        let mut limiter = Limiter::new(usize::MAX);
        assert!(!limiter.table_growing(0, TABLE_ELEMENTS + 1, None).expect("no trap"));
    }
}

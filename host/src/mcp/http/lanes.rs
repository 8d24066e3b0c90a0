//! The threads that handle connections, each with a scheduler of its own.
//!
//! A request is a few small tasks of the library, one after the other. Where many threads share a scheduler each of them
//! may be taken up by another core, and waking one takes longer than most tools. So a connection stays on one thread
//! with all that belongs to it. Guests that take long are elsewhere (`runtime/turn.rs`).

use std::sync::Arc;
use std::thread;

use tokio::runtime::{self, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::error::{Error, Result};

/// One thread for each core.
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    _stop: DropGuard,
}

struct Lane {
    handle: Handle,
    /// Each connection holds a copy.
    connections: Arc<()>,
}

/// A connection's place on a lane.
pub(super) struct Place {
    pub(super) handle: Handle,
    _taken: Arc<()>,
}

impl Lanes {
    /// Starts the threads. They end when this is dropped, and what is left on them with them.
    pub(super) fn start() -> Result<Self> {
        let stop = CancellationToken::new();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let lanes = (0..cores).map(|_| Lane::start(stop.clone())).collect::<std::io::Result<_>>();
        let lanes = lanes.map_err(|error| Error::internal("no threads could be started").detail(error))?;
        Ok(Self { lanes, _stop: stop.drop_guard() })
    }

    /// One lane on the scheduler that runs already, whose time a test decides.
    #[cfg(test)]
    pub(super) fn here() -> Self {
        let lane = Lane { handle: Handle::current(), connections: Arc::default() };
        Self { lanes: vec![lane], _stop: CancellationToken::new().drop_guard() }
    }

    /// A place where the fewest connections are.
    pub(super) fn place(&self) -> Option<Place> {
        let lane = self.lanes.iter().min_by_key(|lane| Arc::strong_count(&lane.connections))?;
        Some(Place { handle: lane.handle.clone(), _taken: lane.connections.clone() })
    }
}

impl Lane {
    fn start(stop: CancellationToken) -> std::io::Result<Self> {
        let scheduler = runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = scheduler.handle().clone();
        thread::Builder::new().name("door".to_owned()).spawn(move || {
            scheduler.block_on(stop.cancelled());
            // What blocks on a thread of this scheduler is not waited for.
            scheduler.shutdown_background();
        })?;
        Ok(Self { handle, connections: Arc::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_spread_and_places_are_given_back() {
        let stop = CancellationToken::new();
        let lane = || Lane::start(stop.clone()).expect("a thread");
        let lanes = Lanes { lanes: vec![lane(), lane()], _stop: stop.clone().drop_guard() };
        let ids = |places: &[Place]| places.iter().map(|place| place.handle.id()).collect::<Vec<_>>();
        let mut places: Vec<_> = (0..4).filter_map(|_| lanes.place()).collect();
        let [first, second, third, fourth] = ids(&places)[..] else { panic!("four places") };
        assert_ne!(first, second);
        assert_eq!((first, second), (third, fourth));
        places.remove(1);
        assert_eq!(lanes.place().map(|place| place.handle.id()), Some(second), "where one has left");
    }

    #[test]
    fn what_runs_on_a_lane_ends_with_it() {
        let lanes = Lanes::start().expect("threads");
        let place = lanes.place().expect("a lane");
        let endless = place.handle.spawn(std::future::pending::<()>());
        drop(lanes);
        let waiting = runtime::Builder::new_current_thread().build().expect("a runtime");
        assert!(waiting.block_on(endless).is_err_and(|ended| ended.is_cancelled()));
    }
}

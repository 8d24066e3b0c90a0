//! What the operator's own tools are told of calls: numbers for Prometheus, spans and numbers for OpenTelemetry.
//!
//! One place feeds it: the end of a record, in [`Running::end`]. From there a call goes through `seen`, which
//! decides what may be told, into `totals`, the numbers, and into a bounded queue, from which `exporter` makes
//! spans. Telemetry never delays a call and never fails one: what a collector does not take in time is dropped and
//! counted. **Invariant:** no argument, result, secret, path, principal or text of a guest or an agent is in it.
//! What happened is in the records; this is a view of it.

mod exporter;
mod otlp;
mod page;
mod parent;
mod prometheus;
mod seen;
mod spans;
#[cfg(test)]
mod tests;
mod totals;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::parent::Parent;
pub use self::seen::Labels;

use self::exporter::Exporter;
use self::otlp::Source;
use self::page::Page;
use self::seen::Seen;
use self::totals::Totals;
use crate::audit::Record;
use crate::clock::{Clock, monotonic};
use crate::config::TelemetryConfig;
use crate::egress::{Collector, Outside, Own, Unsent};
use crate::error::{Error, Result};
use crate::runtime::Moments;

/// Ended calls that wait for the collector: some seconds of a busy host, and a few megabytes.
const QUEUE: usize = 2_048;

/// How long the last words to a collector may take when the program ends.
const STOP_GRACE: Duration = Duration::from_secs(3);

/// The outcome of a component that was compiled.
const COMPILED: &str = "ok";

/// The outcome of one that could not be.
const NOT_COMPILED: &str = "failed";

/// Where calls are told. Cheap to clone; by default it is off and costs nothing.
#[derive(Clone, Default)]
pub struct Telemetry {
    on: Option<Arc<On>>,
}

struct On {
    totals: Arc<Totals>,
    /// Nothing when no collector is configured.
    queue: Option<mpsc::Sender<Seen>>,
}

/// A call under way. It is counted as one until [`Running::end`].
pub struct Running {
    on: Option<Arc<On>>,
    labels: Labels,
    parent: Option<Parent>,
    begun: Instant,
    moments: Moments,
}

/// What tells, while a server runs.
pub struct Service {
    telemetry: Telemetry,
    page: Option<SocketAddr>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Telemetry {
    /// A call begins, in the span of its caller.
    #[must_use]
    pub fn begin(&self, labels: Labels, parent: Option<Parent>) -> Running {
        if let Some(on) = &self.on {
            on.totals.begin(&labels);
        }
        Running { on: self.on.clone(), labels, parent, begun: monotonic(), moments: Moments::default() }
    }

    /// A component was compiled, or could not be.
    pub fn compiled(&self, took: Duration, is_done: bool) {
        if let Some(on) = &self.on {
            on.totals.compiled(took, if is_done { COMPILED } else { NOT_COMPILED });
        }
    }

    /// A number that is read whenever somebody asks. `read` must be quick.
    pub fn level(&self, name: &'static str, help: &'static str, read: impl Fn() -> u64 + Send + Sync + 'static) {
        if let Some(on) = &self.on {
            on.totals.level(name, help, read);
        }
    }
}

impl Running {
    /// Notes when its guest passed which door.
    pub fn passed(&mut self, moments: Moments) {
        self.moments = moments;
    }

    /// The call has ended, as this record says.
    pub fn end(self, record: &Record) {
        let Some(on) = self.on else { return };
        let seen = Seen::of(record, self.labels, self.parent, self.begun, self.moments);
        on.totals.end(&seen);
        if let Some(queue) = &on.queue
            && queue.try_send(seen).is_err()
        {
            on.totals.dropped(1);
        }
    }
}

impl Service {
    /// Starts what is configured. A page whose port is taken is a warning: another `remit serve` of this machine
    /// has it, and agents matter more.
    pub async fn start(config: &TelemetryConfig, own: Own, outside: &Outside, clock: &Arc<Clock>) -> Result<Self> {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        if config.prometheus.is_none() && config.otlp.is_none() {
            return Ok(Self { telemetry: Telemetry::default(), page: None, stop, tasks });
        }
        let totals = Arc::new(Totals::default());
        let mut bound = None;
        if let Some(address) = config.prometheus {
            let page = Page::new(address, config.prometheus_token_file.as_deref(), totals.clone())?;
            if let Some(listener) = page.listen().await {
                bound = listener.local_addr().ok();
                tasks.spawn(page.serve(listener, stop.clone()));
            }
        }
        let mut queue = None;
        if let Some(url) = &config.otlp {
            let (send, receive) = mpsc::channel(QUEUE);
            let exporter = Exporter {
                totals: totals.clone(),
                source: source(clock)?,
                collector: Collector::configured(url, own, outside)?,
                clock: clock.clone(),
                calls: receive,
                failures: 0,
            };
            tasks.spawn(exporter.run(stop.clone()));
            queue = Some(send);
        }
        let telemetry = Telemetry { on: Some(Arc::new(On { totals, queue })) };
        Ok(Self { telemetry, page: bound, stop, tasks })
    }

    /// What calls are told to.
    #[must_use]
    pub fn telemetry(&self) -> Telemetry {
        self.telemetry.clone()
    }

    /// Where the page for Prometheus is.
    #[must_use]
    pub fn page(&self) -> Option<SocketAddr> {
        self.page
    }

    /// Sends what waits, for a moment at most, and ends.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        let _ = tokio::time::timeout(STOP_GRACE, self.tasks.wait()).await;
    }
}

/// Sends a message without content, which every collector takes.
pub async fn reach(collector: &Collector) -> Result<(), Unsent> {
    collector.send(otlp::TRACES, Vec::new()).await
}

/// This process, since now.
fn source(clock: &Clock) -> Result<Source> {
    let mut instance = [0; 16];
    SystemRandom::new().fill(&mut instance).map_err(|_| Error::internal("the system gave no random bytes"))?;
    let instance = instance.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Source { instance, since: since_epoch(clock) })
}

/// The time since 1970.
fn since_epoch(clock: &Clock) -> Duration {
    Duration::from_millis(u64::try_from(clock.now_ms()).unwrap_or_default())
}

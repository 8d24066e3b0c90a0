//! Sends ended calls as spans, and the numbers now and then, to the operator's collector.
//!
//! Nothing is sent twice: a message that fails is dropped and counted. The records of its calls are on disk anyway.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::otlp::{METRICS, Source, TRACES};
use super::seen::Seen;
use super::since_epoch;
use super::spans::spans;
use super::totals::Totals;
use crate::clock::Clock;
use crate::egress::Collector;

/// How often spans are sent.
const BEAT: Duration = Duration::from_secs(1);

/// The numbers are sent at every so many beats: dashboards draw a point a quarter of a minute.
const NUMBERS_EVERY: u64 = 15;

/// Spans of one message: some hundred kilobytes, which every collector takes.
const SPANS: usize = 1_000;

/// What sends.
pub(super) struct Exporter {
    pub(super) totals: Arc<Totals>,
    pub(super) source: Source,
    pub(super) collector: Collector,
    pub(super) clock: Arc<Clock>,
    pub(super) calls: mpsc::Receiver<Seen>,
    /// Messages that failed since the last that did not.
    pub(super) failures: u64,
}

impl Exporter {
    /// Sends until it is stopped, and then what waits.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut beat = interval(BEAT);
        // After a message that took long there is nothing to catch up with.
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for beats in 0_u64.. {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = beat.tick() => {}
            }
            self.send_spans().await;
            if beats % NUMBERS_EVERY == 0 {
                self.send_numbers().await;
            }
        }
        self.calls.close();
        self.send_spans().await;
        self.send_numbers().await;
    }

    async fn send_spans(&mut self) {
        loop {
            let (mut batch, mut calls) = (Vec::new(), 0);
            while batch.len() < SPANS
                && let Ok(seen) = self.calls.try_recv()
            {
                calls += 1;
                batch.extend(spans(&seen).unwrap_or_default());
            }
            if calls == 0 {
                return;
            }
            if !self.send(TRACES, self.source.traces(batch)).await {
                // The rest waits, and its queue is bounded: it is tried at the next beat.
                self.totals.dropped(calls);
                return;
            }
        }
    }

    async fn send_numbers(&mut self) {
        let message = self.source.metrics(self.totals.families(), since_epoch(&self.clock));
        self.send(METRICS, message).await;
    }

    async fn send(&mut self, path: &str, message: Vec<u8>) -> bool {
        match self.collector.send(path, message).await {
            Ok(()) => self.failures = 0,
            Err(unsent) => {
                self.failures += 1;
                // At 1, 2, 4, 8 and so on: a collector that stays away must not fill the log.
                if self.failures.is_power_of_two() {
                    tracing::warn!(failures = self.failures, %unsent, "the collector of telemetry cannot be told");
                }
            }
        }
        self.failures == 0
    }
}

//! The numbers since this process began: one table, from which both ways out are written.
//!
//! What labels hold is decided in `seen`. Here their number is bounded: tools beyond the bound share one row, so
//! that installing and removing capabilities for years costs no memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::seen::{Labels, Seen};

/// Tools with a row of their own. A home with more is read by program, and still adds up.
const TOOLS: usize = 2_000;

/// The row of the tools beyond.
const OTHERS: &str = "other";

/// Seconds: from a tool that looks something up in memory to the longest call that settings allow by default.
const SECONDS: &[f64] = &[0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 30.0, 120.0];

/// Bytes: from the smallest guests to the ceiling that settings have by default.
const BYTES: &[f64] = &[1_048_576.0, 4_194_304.0, 16_777_216.0, 67_108_864.0, 268_435_456.0];

/// The numbers of one process.
#[derive(Default)]
pub(super) struct Totals {
    table: Mutex<Table>,
    levels: Mutex<Vec<Level>>,
}

#[derive(Default)]
struct Table {
    tools: BTreeMap<Labels, OfTool>,
    compiles: BTreeMap<&'static str, Histogram>,
    dropped: u64,
}

struct OfTool {
    running: u64,
    calls: BTreeMap<String, u64>,
    duration: Histogram,
    memory_peak: Histogram,
    fuel: u64,
    requests: BTreeMap<String, u64>,
    bytes_out: u64,
    bytes_in: u64,
}

/// What is read at the moment when somebody asks.
struct Level {
    name: &'static str,
    help: &'static str,
    read: Box<dyn Fn() -> u64 + Send + Sync>,
}

/// One kind of number, with all its rows.
#[derive(Debug)]
pub(super) struct Family {
    /// In words with dots between them.
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) unit: Unit,
    pub(super) points: Vec<Point>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Things,
    Seconds,
    Bytes,
}

/// One row.
#[derive(Debug)]
pub(super) struct Point {
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) value: Value,
}

/// The number of a row.
#[derive(Debug)]
pub(super) enum Value {
    /// Only grows.
    Count(u64),
    /// Is what it is now.
    Level(u64),
    /// How often it was how large.
    Spread(Histogram),
}

/// How often a number was how large.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    pub(super) bounds: &'static [f64],
    /// One more than bounds: the last counts what is above all.
    pub(super) counts: Vec<u64>,
    pub(super) sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    fn add(&mut self, number: f64) {
        let place = self.bounds.partition_point(|bound| *bound < number);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.sum += number;
    }

    /// How many numbers there were.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl OfTool {
    fn new() -> Self {
        Self {
            running: 0,
            calls: BTreeMap::new(),
            duration: Histogram::new(SECONDS),
            memory_peak: Histogram::new(BYTES),
            fuel: 0,
            requests: BTreeMap::new(),
            bytes_out: 0,
            bytes_in: 0,
        }
    }

    fn add(&mut self, seen: &Seen) {
        count(&mut self.calls, &seen.outcome);
        self.duration.add(seen.usage.time.as_secs_f64());
        self.memory_peak.add(number(seen.usage.memory_peak));
        self.fuel = self.fuel.saturating_add(seen.usage.fuel);
        self.bytes_out = self.bytes_out.saturating_add(seen.usage.bytes_out);
        self.bytes_in = self.bytes_in.saturating_add(seen.usage.bytes_in);
        for request in &seen.requests {
            count(&mut self.requests, &request.outcome);
        }
    }
}

impl Table {
    fn of(&mut self, labels: &Labels) -> &mut OfTool {
        let labels = match self.tools.len() {
            TOOLS.. if !self.tools.contains_key(labels) => Labels::fixed(OTHERS),
            _ => labels.clone(),
        };
        self.tools.entry(labels).or_insert_with(OfTool::new)
    }
}

impl Totals {
    /// A call begins.
    pub(super) fn begin(&self, labels: &Labels) {
        self.table().of(labels).running += 1;
    }

    /// A call ends.
    pub(super) fn end(&self, seen: &Seen) {
        let mut table = self.table();
        let tool = table.of(&seen.labels);
        tool.running = tool.running.saturating_sub(1);
        tool.add(seen);
    }

    /// A component was compiled, or could not be.
    pub(super) fn compiled(&self, took: Duration, outcome: &'static str) {
        let mut table = self.table();
        table.compiles.entry(outcome).or_insert_with(|| Histogram::new(SECONDS)).add(took.as_secs_f64());
    }

    /// So many calls are told to no collector.
    pub(super) fn dropped(&self, calls: usize) {
        self.table().dropped += calls as u64;
    }

    /// A number that is read whenever somebody asks.
    pub(super) fn level(
        &self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner).push(Level {
            name,
            help,
            read: Box::new(read),
        });
    }

    /// All numbers of this moment.
    pub(super) fn families(&self) -> Vec<Family> {
        let table = self.table();
        let tools = |name, help, unit, value: fn(&OfTool) -> Value| {
            let points =
                table.tools.iter().map(|(labels, tool)| Point { labels: pairs(labels), value: value(tool) });
            Family { name, help, unit, points: points.collect() }
        };
        let outcomes = |name, help, counts: fn(&OfTool) -> &BTreeMap<String, u64>| {
            let points = table.tools.iter().flat_map(|(labels, tool)| {
                counts(tool).iter().map(|(outcome, count)| Point {
                    labels: pairs(labels).into_iter().chain([("outcome", outcome.clone())]).collect(),
                    value: Value::Count(*count),
                })
            });
            Family { name, help, unit: Unit::Things, points: points.collect() }
        };
        let mut families = vec![
            outcomes("remit.calls", "Calls that ended.", |tool| &tool.calls),
            tools("remit.calls.running", "Calls under way.", Unit::Things, |tool| Value::Level(tool.running)),
            tools("remit.call.duration", "From the request to the answer.", Unit::Seconds, |tool| {
                Value::Spread(tool.duration.clone())
            }),
            tools("remit.call.memory.peak", "The most memory that a call held.", Unit::Bytes, |tool| {
                Value::Spread(tool.memory_peak.clone())
            }),
            tools("remit.call.fuel", "Units of work of guests.", Unit::Things, |tool| Value::Count(tool.fuel)),
            outcomes("remit.requests", "Outbound requests.", |tool| &tool.requests),
            tools("remit.request.sent", "Bodies of outbound requests.", Unit::Bytes, |tool| {
                Value::Count(tool.bytes_out)
            }),
            tools("remit.request.received", "Bodies that came back.", Unit::Bytes, |tool| {
                Value::Count(tool.bytes_in)
            }),
        ];
        let compiles = table.compiles.iter().map(|(outcome, spread)| Point {
            labels: vec![("outcome", (*outcome).to_owned())],
            value: Value::Spread(spread.clone()),
        });
        families.push(Family {
            name: "remit.compile.duration",
            help: "Components that were compiled.",
            unit: Unit::Seconds,
            points: compiles.collect(),
        });
        families.push(alone(
            "remit.telemetry.dropped",
            "Calls without a span, for want of a collector that keeps up.",
            Value::Count(table.dropped),
        ));
        // What is read next may lock what it likes.
        drop(table);
        let levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        families.extend(levels.iter().map(|level| alone(level.name, level.help, Value::Level((level.read)()))));
        families
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn alone(name: &'static str, help: &'static str, value: Value) -> Family {
    Family { name, help, unit: Unit::Things, points: vec![Point { labels: Vec::new(), value }] }
}

fn pairs(labels: &Labels) -> Vec<(&'static str, String)> {
    vec![("capability", labels.capability.to_string()), ("tool", labels.tool.to_string())]
}

fn count(counts: &mut BTreeMap<String, u64>, word: &str) {
    match counts.get_mut(word) {
        Some(count) => *count += 1,
        None => {
            counts.insert(word.to_owned(), 1);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no call holds memory that a double cannot count")]
fn number(bytes: u64) -> f64 {
    bytes as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(tool: usize) -> Labels {
        Labels { capability: "acme/many".into(), tool: format!("t{tool}").into() }
    }

    fn rows(totals: &Totals, name: &str) -> Vec<(String, u64)> {
        let families = totals.families();
        let family = families.iter().find(|family| family.name == name).unwrap();
        let row = |point: &Point| match point.value {
            Value::Count(number) | Value::Level(number) => (point.labels[1].1.clone(), number),
            Value::Spread(_) => panic!("a spread"),
        };
        family.points.iter().map(row).collect()
    }

    #[test]
    fn tools_beyond_the_bound_share_a_row() {
        let totals = Totals::default();
        for tool in 0..TOOLS + 10 {
            totals.begin(&labels(tool));
        }
        let running = rows(&totals, "remit.calls.running");
        assert_eq!(running.len(), TOOLS + 1);
        assert!(running.contains(&(OTHERS.to_owned(), 10)));
        assert!(running.contains(&("t0".to_owned(), 1)));
    }

    #[test]
    fn a_number_counts_below_the_bound_that_it_reaches() {
        let mut spread = Histogram::new(SECONDS);
        for number in [0.0, 0.001, 0.0011, 120.0, 120.1] {
            spread.add(number);
        }
        assert_eq!(spread.counts, [2, 1, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(spread.count(), 5);
    }
}

//! What becomes of the firings of one loop that are due: which run, which are counted as missed or skipped, and
//! when it fires next. Pure: the loop, the time and what of it still runs go in.
//!
//! A firing is on time, late but within the loop's window, or later than that. On time it runs. Late ones run
//! as the misfire rule says, and all others are missed. Whatever would run while an earlier run is open
//! meets the overlap rule.

use std::time::Duration;

use super::definition::{Misfire, Overlap};
use super::next::{InvalidSchedule, Schedule};

/// A firing that is found so soon is on time: another process takes over within seconds. Below the shortest
/// period, so that there is one at most.
pub const ON_TIME: Duration = Duration::from_secs(30);

/// Runs that `run-all` makes up for at most.
pub const MOST_RUNS: usize = 10;

/// Firings that are counted one by one. A loop that slept through more of them has the counter say so much.
const MOST_COUNTED: usize = 10_000;

/// One loop with something due.
#[derive(Clone, Copy, Debug)]
pub struct Due<'a> {
    /// When it fires.
    pub schedule: &'a Schedule,
    /// What becomes of late firings.
    pub misfire: Misfire,
    /// What becomes of firings during a run.
    pub overlap: Overlap,
    /// How late a firing may be made up for.
    pub window: Duration,
    /// The first firing that is due, not after `now_ms`. In milliseconds since 1970, as all times here.
    pub due_at: i64,
    /// The time.
    pub now_ms: i64,
    /// What of it is not done.
    pub open: Open,
}

/// The open runs of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// Runs that will start.
    pub claimed: u32,
    /// Runs that were started, or wait for an agent, and are not done.
    pub started: u32,
}

/// What becomes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The firings to claim, in order. They run one after another.
    pub run: Vec<i64>,
    /// Firings that fell into an open run, and the last of them.
    pub skipped: Count,
    /// Firings that came too late, and the last of them.
    pub missed: Count,
    /// The first firing after now, or why there is none.
    pub next: Result<i64, InvalidSchedule>,
}

/// So many firings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many.
    pub number: u64,
    /// The last of them.
    pub last: Option<i64>,
}

/// Decides. `due_at` must not lie after `now_ms`.
#[must_use]
pub fn decide(due: &Due<'_>) -> Decision {
    let next = due.schedule.next(due.now_ms);
    let total = firings(due).take(MOST_COUNTED).count();
    let last = last_firings(due, MOST_RUNS);
    let chosen = chosen(due, &last);
    let missed = Count {
        number: u64::try_from(total.saturating_sub(chosen.len())).unwrap_or(u64::MAX),
        last: last.iter().copied().rfind(|firing| !chosen.contains(firing)),
    };
    let (run, skipped) = overlapped(due, chosen);
    Decision { run, skipped, missed, next }
}

/// Of the last firings, those that the misfire rule lets run.
fn chosen(due: &Due<'_>, last: &[i64]) -> Vec<i64> {
    let lateness = |firing: i64| Duration::from_millis(due.now_ms.saturating_sub(firing).try_into().unwrap_or(0));
    let in_window = || last.iter().copied().filter(|&firing| lateness(firing) <= due.window.max(ON_TIME));
    match due.misfire {
        Misfire::RunOnce => in_window().next_back().into_iter().collect(),
        Misfire::Skip => in_window().filter(|&firing| lateness(firing) <= ON_TIME).collect(),
        Misfire::RunAll => in_window().collect(),
    }
}

/// What runs of the chosen firings, and what meets an open run.
fn overlapped(due: &Due<'_>, mut chosen: Vec<i64>) -> (Vec<i64>, Count) {
    let room = match (due.open, due.overlap) {
        (Open { claimed: 0, started: 0 }, _) => chosen.len(),
        (Open { claimed: 0, .. }, Overlap::QueueOne) => 1,
        _ => 0,
    };
    // The oldest wait longest, and the newest know most: of several, the last is kept.
    let skipped: Vec<i64> = chosen.drain(..chosen.len().saturating_sub(room)).collect();
    (chosen, Count { number: skipped.len() as u64, last: skipped.last().copied() })
}

/// All firings that are due, in order.
fn firings<'a>(due: &Due<'a>) -> impl Iterator<Item = i64> + use<'a> {
    let now_ms = due.now_ms;
    std::iter::once(due.due_at).chain(due.schedule.after(due.due_at)).take_while(move |&firing| firing <= now_ms)
}

/// The last firings that are due, in order, without walking through all of a long absence: looks back twice as
/// far each time until there are enough.
fn last_firings(due: &Due<'_>, most: usize) -> Vec<i64> {
    let period = i64::try_from(due.schedule.period().as_millis()).unwrap_or(i64::MAX);
    let mut back = period.saturating_mul(i64::try_from(most).unwrap_or(i64::MAX));
    loop {
        let from = due.now_ms.saturating_sub(back);
        let from_the_first = from <= due.due_at;
        let mut found: Vec<i64> = if from_the_first {
            firings(due).collect()
        } else {
            due.schedule.after(from).take_while(|&firing| firing <= due.now_ms).collect()
        };
        if from_the_first || found.len() >= most {
            return found.split_off(found.len().saturating_sub(most));
        }
        back = back.saturating_mul(2);
    }
}

/// When a run for this firing starts: loops that fire at one moment are spread by their ids, over no more than
/// `spread` and a tenth of the period.
#[must_use]
pub fn start_at(loop_id: &str, nominal_at: i64, period: Duration, spread: Duration) -> i64 {
    let most = spread.min(period / 10).as_secs();
    let jitter = hash(loop_id) % (most + 1);
    nominal_at.saturating_add(i64::try_from(jitter * 1_000).unwrap_or(0))
}

/// FNV-1a: the same on every machine and in every version, which the standard library's hash is not.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::next::Timing;

    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;

    /// 2026-01-05, a Monday, at this time.
    fn at(hour: i64, minute: i64, second: i64) -> i64 {
        1_767_571_200_000 + hour * HOUR + minute * MINUTE + second * 1_000
    }

    fn schedule(pattern: &str) -> Schedule {
        Schedule::new(&Timing::Cron { pattern: pattern.to_owned(), timezone: "UTC".to_owned() }, 0).unwrap()
    }

    fn due(schedule: &Schedule, due_at: i64, now_ms: i64) -> Due<'_> {
        Due {
            schedule,
            misfire: Misfire::RunOnce,
            overlap: Overlap::Skip,
            window: Duration::from_secs(3600),
            due_at,
            now_ms,
            open: Open::default(),
        }
    }

    /// Runs as minutes before now, missed, skipped, minutes to the next firing.
    fn told(due: &Due<'_>) -> (Vec<i64>, u64, u64, i64) {
        let Decision { run, skipped, missed, next } = decide(due);
        let before = run.iter().map(|firing| (due.now_ms - firing) / MINUTE).collect();
        (before, missed.number, skipped.number, (next.unwrap() - due.now_ms + MINUTE - 1) / MINUTE)
    }

    #[test]
    fn a_firing_on_time_runs_whatever_the_rule() {
        let every_minute = schedule("* * * * *");
        for misfire in [Misfire::RunOnce, Misfire::Skip, Misfire::RunAll] {
            for late in [0, 1, 30] {
                let due = Due { misfire, ..due(&every_minute, at(8, 29, 0), at(8, 29, late)) };
                assert_eq!(told(&due), (vec![0], 0, 0, 1), "{misfire:?} {late}");
            }
        }
        let due = Due { misfire: Misfire::Skip, ..due(&every_minute, at(8, 29, 0), at(8, 29, 31)) };
        assert_eq!(told(&due), (vec![], 1, 0, 1));
    }

    /// L-03: down from 08:29 to 10:21 with a loop of a minute.
    #[test]
    fn an_absence_is_made_up_for_by_the_misfire_rule() {
        let every_minute = schedule("* * * * *");
        let due = due(&every_minute, at(8, 29, 0), at(10, 21, 40));
        let ten: Vec<i64> = (0..10).rev().collect();
        assert_eq!(told(&due), (vec![0], 112, 0, 1));
        assert_eq!(told(&Due { misfire: Misfire::Skip, ..due }), (vec![], 113, 0, 1));
        assert_eq!(told(&Due { misfire: Misfire::RunAll, ..due }), (ten, 103, 0, 1));
        assert_eq!(decide(&due).missed.last, Some(at(10, 20, 0)));
    }

    /// L-04: what is later than the window is missed, whatever the rule.
    #[test]
    fn beyond_the_window_a_firing_is_missed() {
        let daily = schedule("0 8 * * *");
        for misfire in [Misfire::RunOnce, Misfire::Skip, Misfire::RunAll] {
            let due = Due { misfire, ..due(&daily, at(8, 0, 0), at(9, 0, 1)) };
            assert_eq!(told(&due), (vec![], 1, 0, 23 * 60), "{misfire:?}");
            assert_eq!(decide(&due).missed.last, Some(at(8, 0, 0)));
        }
        assert_eq!(told(&due(&daily, at(8, 0, 0), at(9, 0, 0))), (vec![60], 0, 0, 23 * 60));
        let longer = Due { window: Duration::from_secs(2 * 3600), ..due(&daily, at(8, 0, 0), at(9, 30, 0)) };
        assert_eq!(told(&longer).0, [90]);
        // Shorter than what counts as on time: still on time.
        let shorter = Due { window: Duration::from_secs(10), ..due(&daily, at(8, 0, 0), at(8, 0, 20)) };
        assert_eq!(told(&shorter).0, [0]);
    }

    /// L-05: the clock goes forward by a day, or by years.
    #[test]
    fn a_leap_of_the_clock_is_an_absence() {
        let every_minute = schedule("* * * * *");
        let due_at = at(8, 0, 0);
        assert_eq!(told(&due(&every_minute, due_at, due_at + DAY)), (vec![0], 1440, 0, 1));
        let (run, missed, _, next) = told(&due(&every_minute, due_at, due_at + 3000 * DAY));
        assert_eq!((run, missed, next), (vec![0], MOST_COUNTED as u64 - 1, 1));
        // Rare firings in a long absence are found as well.
        let yearly = schedule("0 0 1 1 *");
        let found = Due {
            misfire: Misfire::RunAll,
            window: Duration::from_secs(30 * 24 * 3600),
            ..due(&yearly, yearly.next(due_at).unwrap(), due_at + 1000 * DAY)
        };
        assert_eq!((decide(&found).run.len(), decide(&found).missed.number), (0, 2));
    }

    /// L-06: a run that is longer than the period.
    #[test]
    fn a_firing_during_a_run_meets_the_overlap_rule() {
        let every_minute = schedule("* * * * *");
        let once = due(&every_minute, at(8, 0, 0), at(8, 0, 1));
        let all = Due { misfire: Misfire::RunAll, ..due(&every_minute, at(8, 0, 0), at(8, 2, 1)) };
        let (idle, running) = (Open::default(), Open { claimed: 0, started: 1 });
        let (queued, both) = (Open { claimed: 1, started: 0 }, Open { claimed: 1, started: 1 });
        let cases = [
            (Overlap::Skip, idle, once, 1, 0),
            (Overlap::Skip, running, once, 0, 1),
            (Overlap::Skip, queued, once, 0, 1),
            (Overlap::QueueOne, idle, once, 1, 0),
            (Overlap::QueueOne, running, once, 1, 0),
            (Overlap::QueueOne, queued, once, 0, 1),
            (Overlap::QueueOne, both, once, 0, 1),
            (Overlap::Skip, idle, all, 3, 0),
            (Overlap::Skip, running, all, 0, 3),
            (Overlap::QueueOne, running, all, 1, 2),
        ];
        for (overlap, open, due, runs, skipped) in cases {
            let decision = decide(&Due { overlap, open, ..due });
            assert_eq!((decision.run.len(), decision.skipped.number), (runs, skipped), "{overlap:?} {open:?}");
        }
        let one = decide(&Due { overlap: Overlap::QueueOne, open: running, ..all });
        assert_eq!((one.run, one.skipped.last), (vec![at(8, 2, 0)], Some(at(8, 1, 0))));
    }

    /// L-08: a changed schedule has a due time of its own, and the old one plays no part.
    #[test]
    fn only_the_schedule_of_now_counts() {
        let hourly = schedule("0 * * * *");
        assert_eq!(told(&due(&hourly, at(9, 0, 0), at(9, 0, 2))), (vec![0], 0, 0, 60));
    }

    /// L-10.
    #[test]
    fn a_search_that_ends_is_told() {
        let timing = Timing::Cron { pattern: "0 12 30 12 *".to_owned(), timezone: "Pacific/Apia".to_owned() };
        let apia = Schedule::new(&timing, 0).unwrap();
        // 2010-12-30 12:00 there.
        let due_at = 1_293_750_000_000 - HOUR;
        let first = apia.next(due_at - DAY).unwrap();
        let decision = decide(&due(&apia, first, first + 1_000));
        assert_eq!((decision.run, decision.next), (vec![first], Err(InvalidSchedule::SearchEnded)));
    }

    #[test]
    fn starts_are_spread_within_bounds() {
        let minute = Duration::from_secs(60);
        let spread = |id: &str, period, seconds| start_at(id, 0, period, Duration::from_secs(seconds)) / 1_000;
        let ids: Vec<String> = (0..1000).map(|id| format!("loop-{id}")).collect();
        for (period, seconds, most) in
            [(minute, 10, 6), (minute * 60, 10, 10), (minute * 60, 0, 0), (minute, 3, 3)]
        {
            let starts: Vec<i64> = ids.iter().map(|id| spread(id, period, seconds)).collect();
            assert_eq!(starts.iter().max(), Some(&most));
            assert_eq!(starts.iter().min(), Some(&0));
            assert!(
                starts.iter().filter(|start| **start == 0).count() <= 2 * 1000 / (most as usize + 1).min(1000)
            );
        }
        // The same for ever.
        assert_eq!(spread("loop-1", minute * 60, 10), spread("loop-1", minute * 60, 10));
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
    }
}

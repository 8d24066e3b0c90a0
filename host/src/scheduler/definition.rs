//! What a loop is, what a run is, and the words for their states.
//!
//! Types only: how they are kept is `store/`'s, who may make them `define.rs`'s.

use std::time::Duration;

use serde_json::{Map, Value};

use super::next::Timing;
use crate::audit::id;
use crate::error::Result;
use crate::registry::{CapabilityName, ToolName};

/// What a loop does when nothing else is said: how long a firing may be late and still be made up for.
pub const DEFAULT_WINDOW: Duration = Duration::from_secs(60 * 60);

/// The catch-up windows that can be chosen. Below 10 s a busy host would miss firings, and what is 30 days late
/// is of no use to anybody.
pub const WINDOWS: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(10)..=Duration::from_secs(30 * 24 * 60 * 60);

/// The capability that the loops of agents and people belong to.
#[must_use]
pub fn official() -> CapabilityName {
    CapabilityName { publisher: "remit".to_owned(), slug: "loops".to_owned() }
}

/// An enum of words that are stored and shown.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])* $variant:ident $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $doc])* $variant,)* }

        impl $name {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its word.
            #[must_use]
            pub fn as_str(self) -> &'static str { match self { $(Self::$variant => $word,)* } }

            /// The one of this word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word)
            }
        }
    };
}

words! {
    /// Who brought a loop into being.
    Origin {
        /// The manifest: it comes and goes with the install.
        Preset "preset",
        /// A capability, for itself.
        Capability "capability",
        /// An agent.
        Agent "agent",
        /// A person.
        Person "person",
    }
}

words! {
    /// What becomes of firings that the host was too late for, as long as they are within the window.
    Misfire {
        /// One run for all of them.
        RunOnce "run-once",
        /// None.
        Skip "skip",
        /// A run for each of the last ten.
        RunAll "run-all",
    }
}

words! {
    /// What becomes of a firing while an earlier run is not done.
    Overlap {
        /// It is skipped.
        Skip "skip",
        /// One waits; more are skipped.
        QueueOne "queue-one",
    }
}

words! {
    /// Where a loop stands.
    Status {
        /// It fires.
        Active "active",
        /// A person, or its maker, stopped it.
        Paused "paused",
        /// Its schedule cannot fire any more.
        Broken "broken",
    }
}

words! {
    /// Where a run stands.
    RunState {
        /// It will start.
        Claimed "claimed",
        /// Its tool is being called.
        Running "running",
        /// It waits for an agent.
        Waiting "waiting",
        /// An agent works on it.
        Taken "taken",
        /// The tool answered.
        Done "done",
        /// The call failed.
        Failed "failed",
        /// It was started, and nobody knows whether it ended.
        Interrupted "interrupted",
        /// The agent reported its result.
        Reported "reported",
        /// It was not started, and the reason is kept.
        Skipped "skipped",
        /// The host was too late for it.
        Missed "missed",
    }
}

impl RunState {
    /// Whether it can still change by itself.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Claimed | Self::Running | Self::Waiting | Self::Taken)
    }
}

/// What a firing does.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Calls a tool.
    Tool {
        /// Which.
        tool: ToolName,
        /// With this.
        input: Map<String, Value>,
    },
    /// Asks an agent to do this.
    Prompt(String),
}

/// A loop as its maker describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Unique among the loops of its capability.
    pub name: String,
    /// When it fires.
    pub timing: Timing,
    /// What a firing does.
    pub task: Task,
    /// Delivers nothing when there is nothing to report.
    pub quiet: bool,
    /// What becomes of late firings.
    pub misfire: Misfire,
    /// What becomes of firings during a run.
    pub overlap: Overlap,
    /// How late a firing may be made up for.
    pub window: Duration,
}

impl Definition {
    /// A definition with everything else as it is by default.
    #[must_use]
    pub fn new(name: String, timing: Timing, task: Task) -> Self {
        let (misfire, overlap) = (Misfire::RunOnce, Overlap::Skip);
        Self { name, timing, task, quiet: false, misfire, overlap, window: DEFAULT_WINDOW }
    }
}

/// A loop as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Its id, for ever its own.
    pub id: String,
    /// Whose loop it is.
    pub capability: CapabilityName,
    /// What it is.
    pub definition: Definition,
    /// Who brought it into being.
    pub origin: Origin,
    /// The principal who made it.
    pub owner: String,
    /// Where it stands.
    pub status: Status,
    /// Why it is broken.
    pub reason: Option<String>,
    /// What an interval counts from. This and all times: milliseconds since 1970.
    pub anchor_at: i64,
    /// The next firing, while it is active.
    pub next_at: Option<i64>,
    /// When a run was last started.
    pub last_at: Option<i64>,
    /// Firings that the host was too late for.
    pub missed: u64,
    /// Firings that fell into a run, or were not allowed.
    pub skipped: u64,
    /// When it was made.
    pub created_at: i64,
    /// When its definition was last changed.
    pub changed_at: i64,
}

impl Loop {
    /// One that is made now, by this owner, and fires first at `next_at`.
    pub fn begun(
        capability: CapabilityName,
        definition: Definition,
        (origin, owner): (Origin, String),
        next_at: i64,
        now: i64,
    ) -> Result<Self> {
        Ok(Self {
            id: id::new(now)?,
            capability,
            definition,
            origin,
            owner,
            status: Status::Active,
            reason: None,
            anchor_at: now,
            next_at: Some(next_at),
            last_at: None,
            missed: 0,
            skipped: 0,
            created_at: now,
            changed_at: now,
        })
    }

    /// Who its calls are recorded for.
    #[must_use]
    pub fn principal(&self) -> String {
        format!("loop:{}/{}", self.capability, self.definition.name)
    }
}

/// One firing that was claimed, or one that did not happen and is remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its id: the guest gets it, the same each time it is started.
    pub id: String,
    /// The loop's id.
    pub loop_id: String,
    /// The firing it is for. This and all times: milliseconds since 1970.
    pub nominal_at: i64,
    /// When it may start.
    pub start_at: i64,
    /// Somebody asked for it, beside the schedule.
    pub is_manual: bool,
    /// Where it stands.
    pub state: RunState,
    /// How often it was started.
    pub attempt: u32,
    /// When it was last started, or taken.
    pub started_at: Option<i64>,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// The record of its last call.
    pub call: Option<String>,
    /// Why it is what it is: the code of an error, or a sentence.
    pub reason: Option<String>,
    /// Its result says that there is nothing to report.
    pub is_nothing: bool,
    /// What it reported, as text; JSON where a tool answered so.
    pub report: Option<String>,
    /// Documents that its calls changed.
    pub changes: u64,
    /// Who took it, and until when it is theirs.
    pub taken_by: Option<String>,
    /// When the lease ends.
    pub lease_until: Option<i64>,
}

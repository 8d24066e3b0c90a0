//! What an installer asks beyond what a publisher asks: of whom a tool is, and when a person has to agree.

/// A restriction of one tool of a capability, or of all. It narrows; it never gives what the manifest or a grant
/// does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restriction {
    /// The tool; `None` for all of the capability.
    pub tool: Option<String>,
    /// Agents neither see nor call it.
    pub hidden: bool,
    /// The role that a caller needs.
    pub role: Option<String>,
    /// The permission that a caller needs, as `domain:action`.
    pub permission: Option<String>,
    /// The flag that has to be on for the caller.
    pub flag: Option<String>,
    /// When a person has to agree; `None` for what stands for the capability, or else [`Confirm::Destructive`].
    pub confirm: Option<Confirm>,
}

/// Which calls need a person's word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confirm {
    /// None.
    Never,
    /// Calls of destructive tools.
    #[default]
    Destructive,
    /// Calls of every tool that is not read-only.
    Writes,
}

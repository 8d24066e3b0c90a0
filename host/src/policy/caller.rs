//! Who makes a request.

/// Who makes a request, as the door that it came in by established it. What a principal may call is decided at
/// each call, from what is stored then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The principal's name, as it is recorded: `cli`, `stdio`, `http`, or one that a person added.
    pub principal: String,
    /// What stands behind it.
    pub authority: Authority,
}

/// What stands behind a principal's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The person who runs this host. No role, permission or flag is asked of them.
    Operator,
    /// What is stored for the principal.
    Stored,
    /// What is stored for the principal, and these permissions, which an access token carries.
    Token(Vec<String>),
}

impl Identity {
    /// The person who runs this host.
    #[must_use]
    pub fn operator(name: impl Into<String>) -> Self {
        Self { principal: name.into(), authority: Authority::Operator }
    }

    /// A principal that has what is stored for it.
    #[must_use]
    pub fn stored(name: impl Into<String>) -> Self {
        Self { principal: name.into(), authority: Authority::Stored }
    }
}

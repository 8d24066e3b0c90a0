//! Proposals for what a person is typing: a capability's side of `wit/completions.wit`. A parameter of a prompt or
//! of a resource template names the function that proposes its values, with `#[complete(…)]`.

use crate::bindings::exports::remit::capability::completions;
pub use crate::bindings::exports::remit::capability::completions::{Draft, Proposals, Subject};
use crate::{Capability, Context, Failure};

/// Proposals that a client takes.
const MOST_VALUES: usize = 100;

impl<T: Capability> completions::Guest for T {
    fn complete(draft: Draft, context: Context) -> Result<Proposals, Failure> {
        T::complete(&draft, &context)
    }
}

impl Draft {
    /// What there is of the value that is being typed.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.argument.value
    }

    /// What is known of another argument or variable.
    #[must_use]
    pub fn other(&self, name: &str) -> Option<&str> {
        self.others.iter().find(|other| other.name == name).map(|other| other.value.as_str())
    }
}

/// What a function that proposes values can return: a list, [`Proposals`], or a `Result` of one of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` proposes no values",
    label = "no proposals",
    note = "return `Vec<String>` or `Proposals`, or a `Result` of one with an error such as `Failure`"
)]
pub trait Propose {
    /// The proposals as they go to the host.
    fn proposals(self) -> Result<Proposals, Failure>;
}

impl Propose for Proposals {
    fn proposals(self) -> Result<Proposals, Failure> {
        Ok(self)
    }
}

impl Propose for Vec<String> {
    fn proposals(mut self) -> Result<Proposals, Failure> {
        let total = u32::try_from(self.len()).ok();
        let more = self.len() > MOST_VALUES;
        self.truncate(MOST_VALUES);
        Ok(Proposals { values: self, total, more })
    }
}

impl<T: Propose, E: Into<Failure>> Propose for Result<T, E> {
    fn proposals(self) -> Result<Proposals, Failure> {
        self.map_err(Into::into)?.proposals()
    }
}

/// No proposals.
pub(crate) const fn none() -> Proposals {
    Proposals { values: Vec::new(), total: None, more: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_and_say_so() {
        let list = |length: u32| (0..length).map(|number| number.to_string()).collect::<Vec<_>>();
        let all = list(100).proposals().expect("proposals");
        assert_eq!((all.values.len(), all.total, all.more), (100, Some(100), false));
        let cut = list(101).proposals().expect("proposals");
        assert_eq!((cut.values.len(), cut.total, cut.more), (100, Some(101), true));
    }
}

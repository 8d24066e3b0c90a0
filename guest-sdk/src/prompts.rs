//! Prepared messages, which a person picks in the client: a capability's side of `wit/prompts.wit`. Functions marked
//! `#[prompt]` make them; what they may return is decided here.

use std::fmt::Display;
use std::str::FromStr;

use crate::bindings::exports::remit::capability::prompts;
pub use crate::bindings::exports::remit::capability::prompts::{Argument, Message, Prompt, Role};
use crate::{Capability, Content, Context, Failure};

impl<T: Capability> prompts::Guest for T {
    fn get(name: String, arguments: Vec<Argument>, context: Context) -> Result<Prompt, Failure> {
        T::prompt(&name, &arguments, &context)
    }
}

impl Message {
    /// What the user says.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::of(Role::User, Content::Text(text.into()))
    }

    /// What the model says.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::of(Role::Assistant, Content::Text(text.into()))
    }

    /// A message of any kind of content.
    #[must_use]
    pub const fn of(role: Role, content: Content) -> Self {
        Self { role, content }
    }
}

/// What a function marked `#[prompt]` can return: text of the user, messages, a [`Prompt`], or a `Result` of one of
/// them.
#[diagnostic::on_unimplemented(
    message = "a prompt cannot be `{Self}`",
    label = "no messages",
    note = "return `String`, `Vec<Message>` or `Prompt`, or a `Result` of one with an error such as `Failure`"
)]
pub trait Messages {
    /// The prompt as it goes to the host.
    fn prompt(self) -> Result<Prompt, Failure>;
}

impl Messages for Prompt {
    fn prompt(self) -> Result<Prompt, Failure> {
        Ok(self)
    }
}

impl Messages for Vec<Message> {
    fn prompt(self) -> Result<Prompt, Failure> {
        Ok(Prompt { description: None, messages: self })
    }
}

impl Messages for String {
    fn prompt(self) -> Result<Prompt, Failure> {
        vec![Message::user(self)].prompt()
    }
}

impl Messages for &str {
    fn prompt(self) -> Result<Prompt, Failure> {
        self.to_owned().prompt()
    }
}

impl<T: Messages, E: Into<Failure>> Messages for Result<T, E> {
    fn prompt(self) -> Result<Prompt, Failure> {
        self.map_err(Into::into)?.prompt()
    }
}

/// Reads an argument that may be missing.
pub(crate) fn optional<T: FromStr<Err: Display>>(
    arguments: &[Argument],
    name: &str,
) -> Result<Option<T>, Failure> {
    let Some(argument) = arguments.iter().find(|argument| argument.name == name) else { return Ok(None) };
    value(name, &argument.value).map(Some)
}

/// Reads a text as what a parameter is.
pub(crate) fn value<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, Failure> {
    text.parse().map_err(|error| Failure::InvalidInput(format!("`{name}`: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_by_their_types() {
        let arguments = [Argument { name: "days".to_owned(), value: "3".to_owned() }];
        assert_eq!(optional::<u8>(&arguments, "days"), Ok(Some(3)));
        assert_eq!(optional::<String>(&arguments, "days"), Ok(Some("3".to_owned())));
        assert_eq!(optional::<u8>(&arguments, "hours"), Ok(None));
        let refused = optional::<bool>(&arguments, "days");
        assert!(matches!(&refused, Err(Failure::InvalidInput(why)) if why.starts_with("`days`: ")), "{refused:?}");
    }

    #[test]
    fn text_is_what_the_user_says() {
        let prompt = "Hi".prompt().expect("a prompt");
        assert_eq!(prompt, Prompt { description: None, messages: vec![Message::user("Hi")] });
    }
}

//! Mistakes on the command line, as errors like any other.

use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind as ClapKind};

use super::output::{Output, to_stderr};
use crate::error::{Error, ErrorKind};

/// Shows what the parser stopped with: help and version are data, the rest is a mistake.
pub(super) fn report(error: &clap::Error) -> ExitCode {
    let output = Output::new(json_was_asked_for(), false, false);
    match error.kind() {
        ClapKind::DisplayHelp | ClapKind::DisplayVersion => {
            let styled = error.render();
            let text = if output.is_terminal() { styled.ansi().to_string() } else { styled.to_string() };
            match output.text(&text) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => super::failed(output, &error),
            }
        }
        ClapKind::DisplayHelpOnMissingArgumentOrSubcommand if !output.is_json() => {
            to_stderr(&error.render().ansi().to_string());
            ExitCode::from(ErrorKind::Usage.exit_code())
        }
        _ => super::failed(output, &as_error(error)),
    }
}

/// Whether `--json` is among the arguments, for errors that come before they are parsed.
pub(super) fn json_was_asked_for() -> bool {
    std::env::args_os().any(|argument| argument == "--json")
}

/// The parser's paragraphs: the first is the message, its tips and usage line are the hint.
fn as_error(error: &clap::Error) -> Error {
    if let (ClapKind::TooManyValues, Some(option)) = (error.kind(), error.get(ContextKind::InvalidArg)) {
        // The parser would quote the value, which can be a client secret.
        return Error::new(ErrorKind::Usage, format!("`{option}` takes no value")).hint(help_of_the_command());
    }
    let text = error.render().to_string().replace('\'', "`");
    let mut paragraphs = text
        .split("\n\n")
        .map(|lines| lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "));
    let first = paragraphs.next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(&first).to_owned();
    let hint: Vec<String> = paragraphs
        .filter_map(|paragraph| match paragraph.split_once(": ") {
            Some(("tip", tip)) => Some(tip.replace(" tip: ", "\n")),
            Some(("Usage", usage)) => Some(format!("usage: {usage}")),
            _ => None,
        })
        .collect();
    let error = Error::new(ErrorKind::Usage, message);
    if hint.is_empty() { error.hint(help_of_the_command()) } else { error.hint(hint.join("\n")) }
}

fn help_of_the_command() -> String {
    let tree = super::command();
    let named =
        std::env::args_os().skip(1).find_map(|word| tree.find_subcommand(word).map(clap::Command::get_name));
    named.map_or_else(|| "remit --help".to_owned(), |name| format!("remit {name} --help"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_have_a_message_and_a_way_out() {
        let cases: &[(&[&str], &str, &str)] = &[
            (
                &["remit", "instal", "x.wasm"],
                "unrecognized subcommand `instal`",
                "some similar subcommands exist: `principal`, `list`, `uninstall`, `install`\nusage: remit [OPTIONS] <COMMAND>",
            ),
            (
                &["remit", "list", "--jsn"],
                "unexpected argument `--jsn` found",
                "a similar argument exists: `--json`\nusage: remit list --json",
            ),
            (
                &["remit", "show"],
                "the following required arguments were not provided: <NAME>",
                "usage: remit show <NAME>",
            ),
            (
                &["remit", "audit", "--limit", "many"],
                "invalid value `many` for `--limit <NUMBER>`: invalid digit found in string",
                "remit --help",
            ),
            (
                &["remit", "secret", "connect", "A", "--client-secret=cs_9Zq2pV7w"],
                "`--client-secret` takes no value",
                "remit --help",
            ),
        ];
        for (arguments, message, hint) in cases {
            let Err(error) = super::super::command().try_get_matches_from(*arguments) else {
                panic!("{arguments:?} was accepted");
            };
            let error = as_error(&error);
            assert_eq!((error.message.as_str(), error.hint.as_deref()), (*message, Some(*hint)));
        }
    }
}

//! The only place that prints: data to stdout, everything else to stderr.
//!
//! It decides how text, tables, notes and errors look; what they say is decided by the commands. A reader
//! that went away (`remit audit | head`) is no error: the rest is dropped in silence.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, Table, TableStyle, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind, Result};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// How often the spinner of long work turns: fast enough to look alive, slow enough to cost nothing.
const SPINNER_TICK: std::time::Duration = std::time::Duration::from_millis(120);

/// How one run of the program prints.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
}

impl Output {
    /// `json` prints values for programs, `quiet` drops notes, `verbose` adds details of errors.
    #[must_use]
    pub fn new(json: bool, quiet: bool, verbose: bool) -> Self {
        Self { json, quiet, verbose }
    }

    /// Whether the reader is a program.
    #[must_use]
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Whether stdout is a terminal, where control characters would do something.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        io::stdout().is_terminal()
    }

    /// Prints text as data, with a line's end.
    pub fn text(self, text: &str) -> Result<()> {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        self.bytes(format!("{text}{end}").as_bytes())
    }

    /// Prints text with styles as data. Who is no terminal gets it without them.
    pub fn styled(self, text: &str) -> Result<()> {
        if self.is_terminal() {
            self.text(text)
        } else {
            self.text(&anstream::adapter::strip_str(text).to_string())
        }
    }

    /// Prints bytes as data, as they are.
    pub fn bytes(self, bytes: &[u8]) -> Result<()> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::new(ErrorKind::Store, format!("cannot write the output: {}", error.kind())))
            }
            _ => Ok(()),
        }
    }

    /// Prints one JSON value as data.
    pub fn value(self, value: &Value) -> Result<()> {
        self.text(&format!("{value:#}"))
    }

    /// Prints rows under a header, in columns. On a terminal long cells are wrapped to its width.
    pub fn table(self, header: &[&str], rows: &[Vec<String>]) -> Result<()> {
        let arrangement =
            if self.is_terminal() { ContentArrangement::Dynamic } else { ContentArrangement::Disabled };
        self.text(&columns(header, rows, arrangement))
    }

    /// Says something to the person, unless `--quiet` or `--json`.
    pub fn note(self, text: &str) {
        if !self.quiet && !self.json {
            to_stderr(&format!("{text}\n"));
        }
    }

    /// Says something that the person should not miss.
    pub fn warn(self, text: &str) {
        if self.json {
            to_stderr(&format!("{}\n", json!({ "warning": text })));
        } else {
            to_stderr(&format!("{WARNING}warning:{WARNING:#} {}\n", printable(text)));
        }
    }

    /// Prints to stderr whatever `--quiet` says: what the person asked for, beside the data.
    pub fn aside(self, text: &str) {
        to_stderr(&format!("{text}\n"));
    }

    /// Shows an error, as an object for programs and as sentences for people.
    pub fn error(self, error: &Error) {
        if self.json {
            to_stderr(&format!("{}\n", error_value(error)));
        } else {
            to_stderr(&error_text(error, self.verbose));
        }
    }

    /// A bar on stderr for work that tells how much is done and of how much, when somebody watches.
    pub fn bar(self, what: &str) -> impl FnMut(u64, u64) + use<> {
        let is_watched = !self.quiet && !self.json && io::stderr().is_terminal();
        let bar = if is_watched {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent}%") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        move |done, all| {
            bar.set_length(all);
            bar.set_position(done);
            if done == all {
                bar.finish_and_clear();
            }
        }
    }

    /// Turns a spinner on stderr while `work` runs, when somebody watches.
    pub fn during<T>(self, what: &str, work: impl FnOnce() -> T) -> T {
        let _spinner = self.spinner(what);
        work()
    }

    /// A spinner on stderr until it is dropped, when somebody watches.
    pub(super) fn spinner(self, what: &str) -> Option<Spinner> {
        if self.quiet || self.json || !io::stderr().is_terminal() {
            return None;
        }
        let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            spinner.set_style(style);
        }
        spinner.set_message(what.to_owned());
        spinner.enable_steady_tick(SPINNER_TICK);
        Some(Spinner(spinner))
    }
}

/// Turns until it is dropped, and leaves nothing behind.
pub(super) struct Spinner(ProgressBar);

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Writes to stderr. There is nowhere left to report a failure to.
pub(super) fn to_stderr(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// An error as people read it.
#[must_use]
pub fn error_text(error: &Error, verbose: bool) -> String {
    let mut text = format!("{ERROR}error:{ERROR:#} {} [{}]\n", printable(&error.message), error.kind.code());
    if let (true, Some(detail)) = (verbose, &error.detail) {
        let _ = writeln!(text, "  {}", printable(detail).replace('\n', "\n  "));
    }
    if let Some(hint) = &error.hint {
        let _ = writeln!(text, "\n{HINT}hint:{HINT:#} {}", printable(hint).replace('\n', "\n      "));
    }
    text
}

/// An error as programs read it.
#[must_use]
pub fn error_value(error: &Error) -> Value {
    json!({ "error": {
        "code": error.kind.code(),
        "message": error.message,
        "hint": error.hint,
        "blame": error.kind.blame().as_str(),
    } })
}

/// Rows in columns two spaces apart, without borders and without spaces at the ends of lines.
#[must_use]
pub fn columns(header: &[&str], rows: &[Vec<String>], arrangement: ContentArrangement) -> String {
    const PLAIN: TableStyle = presets::NOTHING;
    let mut table = Table::new();
    table.load_style(PLAIN).set_content_arrangement(arrangement);
    if !header.is_empty() {
        table.set_header(header.to_vec());
    }
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

/// `text` with what would act on a terminal made visible: control characters, and the marks that turn the
/// direction of writing or show nothing. Line ends and tabs stay.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if acts_on_a_terminal(character) {
            let _ = write!(safe, "{}", character.escape_unicode());
        } else {
            safe.push(character);
        }
    }
    safe
}

fn acts_on_a_terminal(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // Bidirectional marks and overrides, characters that show nothing, and the tag block. The two joiners
        // between them belong to ordinary writing.
        '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn errors_are_sentences_for_people() {
        let error = Error::new(ErrorKind::RegistryNotFound, "no capability `acme/wether` is installed")
            .detail("looked at 3 names")
            .hint("did you mean `acme/weather`?\nremit list");
        assert_eq!(
            plain(&error_text(&error, false)),
            "error: no capability `acme/wether` is installed [registry/not-found]\n\n\
             hint: did you mean `acme/weather`?\n      remit list\n"
        );
        assert_eq!(
            plain(&error_text(&error, true)),
            "error: no capability `acme/wether` is installed [registry/not-found]\n  looked at 3 names\n\n\
             hint: did you mean `acme/weather`?\n      remit list\n"
        );
    }

    #[test]
    fn errors_are_objects_for_programs() {
        let error = Error::new(ErrorKind::Fuel, "the call spent its fuel");
        assert_eq!(
            error_value(&error).to_string(),
            r#"{"error":{"code":"budget/fuel","message":"the call spent its fuel","hint":null,"blame":"capability"}}"#
        );
    }

    #[test]
    fn foreign_text_cannot_act_on_a_terminal() {
        let cases = [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\rb\u{7}", "a\\u{d}b\\u{7}"),
            ("\u{202e}gnp.exe", "\\u{202e}gnp.exe"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("Zürich 東京", "Zürich 東京"),
        ];
        for (text, expected) in cases {
            assert_eq!(printable(text), expected);
        }
    }

    #[test]
    fn columns_are_aligned_and_end_without_spaces() {
        let rows = [
            vec!["acme/weather".to_owned(), "1.0.0".to_owned()],
            vec!["a/b".to_owned(), "10.0.0-rc.1".to_owned()],
        ];
        assert_eq!(
            columns(&["NAME", "VERSION"], &rows, ContentArrangement::Disabled),
            "NAME          VERSION\nacme/weather  1.0.0\na/b           10.0.0-rc.1"
        );
    }
}

//! The `log` namespace: lines for the operator, capped here, redacted before they are kept. Whoever made the call
//! hears them too, as far as it listens.

use tokio::sync::mpsc;
use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::{Services, words};
use crate::client::News;
use crate::manifest::is_hidden;
use crate::runtime::{State, charge, log};
use crate::secrets::Redactor;

/// The interface of the contract.
pub(super) const INTERFACE: &str = "remit:capability/log@0.1.0";

/// Bytes of all lines of one call: a few pages, enough to see what went wrong.
const CALL_BYTES: usize = 64 * 1024;

/// Characters of a line that is told at once: what is longer is read in the record.
const TOLD_CHARS: usize = 2_000;

/// What one call logged.
#[derive(Debug, Default)]
pub struct Log {
    lines: Vec<String>,
    bytes: usize,
    dropped: u64,
    news: Option<mpsc::Sender<News>>,
}

impl Log {
    /// For one call, and whoever listens to it.
    #[must_use]
    pub fn new(news: Option<mpsc::Sender<News>>) -> Self {
        Self { news, ..Self::default() }
    }

    /// Keeps a line. `false` when there is no room for it.
    fn push(&mut self, level: log::Level, message: &str) -> bool {
        if self.bytes + message.len() > CALL_BYTES {
            self.dropped += 1;
            return false;
        }
        self.bytes += message.len();
        let level = match level {
            log::Level::Debug => "debug",
            log::Level::Info => "info",
            log::Level::Warn => "warn",
            log::Level::Error => "error",
        };
        self.lines.push(format!("{level}: {}", escape(message)));
        true
    }

    /// Tells a line that was kept. Nothing waits for the listener: what it is too slow for it reads in the record.
    fn tell(&self, level: log::Level, message: String, redactor: Option<&Redactor>) {
        let Some(news) = &self.news else { return };
        let text = escape(&words::redacted(message, redactor)).chars().take(TOLD_CHARS).collect();
        let _ = news.try_send(News::Log { level, text });
    }

    /// The lines, and a last one that counts what was dropped.
    #[must_use]
    pub fn into_lines(mut self) -> Vec<String> {
        if self.dropped > 0 {
            self.lines.push(format!("warn: {} more lines were dropped", self.dropped));
        }
        self.lines
    }
}

/// Makes one line of any text: a terminal must show it and do nothing else.
fn escape(message: &str) -> String {
    let mut line = String::with_capacity(message.len());
    for character in message.chars() {
        if is_hidden(character) {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// Puts the namespace's functions into a linker.
pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.instance(INTERFACE)?.func_wrap(
        "log",
        |mut store: StoreContextMut<'_, State>, (level, message): (log::Level, String)| {
            charge(&mut store, message.len())?;
            let Services { log, http, .. } = &mut store.data_mut().services;
            if log.push(level, &message) {
                log.tell(level, message, http.redactor());
            }
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_escaped_and_capped() {
        let mut log = Log::default();
        assert!(log.push(log::Level::Info, "two\nlines \u{1b}[31mred\u{202e}"));
        assert!(!log.push(log::Level::Warn, &"x".repeat(CALL_BYTES)));
        assert!(log.push(log::Level::Error, "fits"));
        assert_eq!(
            log.into_lines(),
            [r"info: two\nlines \u{1b}[31mred\u{202e}", "error: fits", "warn: 1 more lines were dropped",]
        );
    }

    #[test]
    fn whoever_listens_hears_whole_lines_and_never_stops_the_guest() {
        let (sender, mut receiver) = mpsc::channel(2);
        let log = Log::new(Some(sender));
        for message in ["two\nlines", "long", "one too many"] {
            let message = if message == "long" { "x".repeat(TOLD_CHARS + 1) } else { message.to_owned() };
            log.tell(log::Level::Info, message, None);
        }
        let told: Vec<_> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
        let line = |text: String| News::Log { level: log::Level::Info, text };
        assert_eq!(told, [line(r"two\nlines".to_owned()), line("x".repeat(TOLD_CHARS))]);
    }
}

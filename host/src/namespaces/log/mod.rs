//! The `log` namespace: lines for the operator, capped here, redacted before they are kept.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use crate::manifest::is_hidden;
use crate::runtime::{State, charge, log};

/// The interface of the contract.
pub(super) const INTERFACE: &str = "remit:capability/log@0.1.0";

/// Bytes of all lines of one call: a few pages, enough to see what went wrong.
const CALL_BYTES: usize = 64 * 1024;

/// What one call logged.
#[derive(Debug, Default)]
pub struct Log {
    lines: Vec<String>,
    bytes: usize,
    dropped: u64,
}

impl Log {
    fn push(&mut self, level: log::Level, message: &str) {
        if self.bytes + message.len() > CALL_BYTES {
            self.dropped += 1;
            return;
        }
        self.bytes += message.len();
        let level = match level {
            log::Level::Debug => "debug",
            log::Level::Info => "info",
            log::Level::Warn => "warn",
            log::Level::Error => "error",
        };
        self.lines.push(format!("{level}: {}", escape(message)));
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
            store.data_mut().log.push(level, &message);
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
        log.push(log::Level::Info, "two\nlines \u{1b}[31mred\u{202e}");
        log.push(log::Level::Warn, &"x".repeat(CALL_BYTES));
        log.push(log::Level::Error, "fits");
        assert_eq!(
            log.into_lines(),
            [r"info: two\nlines \u{1b}[31mred\u{202e}", "error: fits", "warn: 1 more lines were dropped",]
        );
    }
}

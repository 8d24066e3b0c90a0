//! Questions to the person at the terminal. They go to stderr, so that stdout stays data.

use std::io::{self, BufRead, IsTerminal, Read};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use super::output::{printable, to_stderr};
use crate::error::{Error, ErrorKind, Result};

/// The longest secret that is read. Anything longer is a mistake, such as a file piped by accident.
const MAX_SECRET_BYTES: usize = 64 * 1024;

/// Whether somebody is there to answer.
pub(super) fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question; only a clear yes is one.
pub(super) fn confirm(question: &str) -> Result<bool> {
    to_stderr(&format!("{} [y/N] ", printable(question)));
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer).map_err(|error| unreadable(&error))?;
    if read == 0 {
        to_stderr("\n");
    }
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Reads a secret: typed unseen at a terminal, or else all of stdin without its last line end.
pub(super) fn secret(question: &str) -> Result<Zeroizing<Vec<u8>>> {
    if somebody_is_there() {
        return typed_unseen(question);
    }
    let mut value = Zeroizing::new(Vec::with_capacity(MAX_SECRET_BYTES + 1));
    io::stdin()
        .lock()
        .take(MAX_SECRET_BYTES as u64 + 1)
        .read_to_end(&mut value)
        .map_err(|error| unreadable(&error))?;
    if value.len() > MAX_SECRET_BYTES {
        return Err(Error::new(ErrorKind::SecretInvalid, "the value is longer than 64 KiB"));
    }
    let length = without_line_end(&value).len();
    value.truncate(length);
    Ok(value)
}

fn without_line_end(value: &[u8]) -> &[u8] {
    let value = value.strip_suffix(b"\n").unwrap_or(value);
    value.strip_suffix(b"\r").unwrap_or(value)
}

fn unreadable(error: &io::Error) -> Error {
    Error::new(ErrorKind::Usage, format!("cannot read from stdin: {}", error.kind()))
}

/// The terminal's settings, put back at the end however it comes.
struct Unseen {
    before: Termios,
}

impl Unseen {
    /// Switches off echo and the terminal's own editing and signals, so that ^C cannot leave it mute.
    fn begin() -> Result<Self> {
        let failed = |_| Error::new(ErrorKind::Usage, "cannot hide what is typed at this terminal");
        let before = tcgetattr(io::stdin()).map_err(failed)?;
        let mut unseen = before.clone();
        unseen.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Flush, &unseen).map_err(failed)?;
        Ok(Self { before })
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
        to_stderr("\n");
    }
}

fn typed_unseen(question: &str) -> Result<Zeroizing<Vec<u8>>> {
    to_stderr(&format!("{} (not shown): ", printable(question)));
    let unseen = Unseen::begin()?;
    // One byte at a time from the descriptor: a buffered reader would keep a copy.
    let mut typed = Line::default();
    let mut byte = [0];
    loop {
        match rustix::io::read(io::stdin(), &mut byte) {
            Ok(0) => break,
            Ok(_) if typed.take(byte[0])? => break,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(unreadable(&error.into())),
        }
    }
    drop(unseen);
    Ok(typed.value)
}

/// What was typed so far. Its buffer never grows, so no copy is left behind in memory.
struct Line {
    value: Zeroizing<Vec<u8>>,
}

impl Default for Line {
    fn default() -> Self {
        Self { value: Zeroizing::new(Vec::with_capacity(MAX_SECRET_BYTES)) }
    }
}

impl Line {
    /// Takes one key. Gives whether the line is at its end.
    fn take(&mut self, byte: u8) -> Result<bool> {
        const INTERRUPT: u8 = 0x03;
        const END: u8 = 0x04;
        const BACKSPACE: u8 = 0x08;
        const KILL: u8 = 0x15;
        const DELETE: u8 = 0x7f;
        match byte {
            b'\r' | b'\n' | END => return Ok(true),
            INTERRUPT => return Err(Error::new(ErrorKind::Cancelled, "nothing was stored")),
            KILL => self.value.clear(),
            BACKSPACE | DELETE => {
                // A whole character goes, however many bytes it has.
                while self.value.pop().is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000) {}
            }
            _ if self.value.len() == MAX_SECRET_BYTES => {
                return Err(Error::new(ErrorKind::SecretInvalid, "the value is longer than 64 KiB"));
            }
            _ => self.value.push(byte),
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_not_part_of_a_secret() {
        let cases: [(&[u8], &[u8]); 5] =
            [(b"key", b"key"), (b"key\n", b"key"), (b"key\r\n", b"key"), (b"key\n\n", b"key\n"), (b"", b"")];
        for (value, expected) in cases {
            assert_eq!(without_line_end(value), expected);
        }
    }

    #[test]
    fn keys_edit_the_hidden_line() {
        let cases: [(&[u8], Option<&[u8]>); 6] = [
            (b"key\r", Some(b"key")),
            (b"kez\x7fy\n", Some(b"key")),
            ("ké\x7fey\n".as_bytes(), Some(b"key")),
            (b"\x7fwrong\x15key\x04", Some(b"key")),
            (b"key\x03", None),
            (b"", Some(b"")),
        ];
        for (keys, expected) in cases {
            let mut line = Line::default();
            let ended = keys.iter().try_for_each(|&key| match line.take(key) {
                Ok(false) => Ok(()),
                Ok(true) => Err(true),
                Err(_) => Err(false),
            });
            let value = if ended == Err(false) { None } else { Some(line.value.as_slice()) };
            assert_eq!(value, expected, "{keys:?}");
        }
    }
}

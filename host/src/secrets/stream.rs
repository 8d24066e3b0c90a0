//! Cuts values out of a text that comes in pieces, wherever the pieces end.
//!
//! A place is decided once the longest spelling that could begin there has come: so fewer bytes are held back
//! than that one has. A whole text is one piece, by the same code.

use zeroize::Zeroizing;

use super::patterns::Sums;
use super::redact::{Cuts, Redacted, Redactor};

/// A text on its way through a [`Redactor`].
pub struct Stream<'a> {
    /// Bytes that may begin a value, behind others that are decided. What the connection and the allocator keep
    /// of a text before and after is not cleared.
    held: Zeroizing<Vec<u8>>,
    /// How many of them are decided.
    decided: usize,
    knife: Knife<'a>,
    clean: Vec<u8>,
}

impl<'a> Stream<'a> {
    pub(super) fn new(redactor: &'a Redactor) -> Self {
        Self { held: Zeroizing::default(), decided: 0, knife: Knife::new(redactor), clean: Vec::new() }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        let longest = self.knife.redactor.patterns().longest();
        if longest == 0 {
            return self.clean.extend_from_slice(piece);
        }
        self.held.extend_from_slice(piece);
        let until = (self.held.len() + 1).saturating_sub(longest).max(self.decided);
        self.knife.advance(&self.held, self.decided, until, &mut self.clean);
        self.decided = until;
        // Not for each piece: many small ones would each move all that is held.
        if self.decided > self.held.len() / 2 {
            self.held.drain(..self.decided);
            self.knife.skip(self.decided);
            self.decided = 0;
        }
    }

    /// Takes what is clean by now. It may end in the middle of anything but a value.
    pub fn take(&mut self) -> Redacted<Vec<u8>> {
        Redacted::new(std::mem::take(&mut self.clean), self.knife.take_cuts())
    }

    /// The text has ended: gives what was not taken yet.
    #[must_use]
    pub fn finish(mut self) -> Redacted<Vec<u8>> {
        self.knife.advance(&self.held, self.decided, self.held.len(), &mut self.clean);
        self.take()
    }
}

/// Cuts one part of a text after the other.
pub(super) struct Knife<'a> {
    redactor: &'a Redactor,
    sums: Sums,
    /// Values that overlap and reach behind what is decided.
    open: Option<Cut>,
    cuts: Cuts,
}

/// Values that overlap are one cut, under the name of the longest.
#[derive(Clone, Copy)]
struct Cut {
    /// Where it ends in the part at hand.
    end: usize,
    longest: usize,
    value: usize,
}

impl<'a> Knife<'a> {
    pub(super) fn new(redactor: &'a Redactor) -> Self {
        Self { redactor, sums: Sums::default(), open: None, cuts: Cuts::default() }
    }

    /// Writes what is clean of `text` between `from` and `until`. No value that begins there ends behind `text`.
    pub(super) fn advance(&mut self, text: &[u8], from: usize, until: usize, clean: &mut Vec<u8>) {
        let patterns = self.redactor.patterns();
        let (mut written, mut from) = (from, from);
        while let Some((at, found)) = patterns.next(text, from..until, &mut self.sums) {
            self.write(text, &mut written, at, clean);
            let found = Cut { end: at + found.length, longest: found.length, value: found.value };
            self.open = Some(match self.open.take() {
                Some(open) => open.join(found),
                None => found,
            });
            from = at + 1;
        }
        self.write(text, &mut written, until, clean);
    }

    /// Goes on with a later part of the text, which begins `bytes` further on.
    fn skip(&mut self, bytes: usize) {
        self.sums.skip(bytes);
        if let Some(open) = &mut self.open {
            open.end -= bytes;
        }
    }

    /// Writes the bytes that are not cut, and the marker of a cut that ends before `until`.
    fn write(&mut self, text: &[u8], written: &mut usize, until: usize, clean: &mut Vec<u8>) {
        if let Some(cut) = self.open.take_if(|cut| cut.end <= until) {
            *written = cut.end;
            self.redactor.mark(cut.value, &mut self.cuts, clean);
        }
        if self.open.is_none() {
            clean.extend_from_slice(&text[*written..until]);
        }
        *written = until;
    }

    /// What was cut since it was asked last.
    pub(super) fn take_cuts(&mut self) -> Cuts {
        std::mem::take(&mut self.cuts)
    }
}

impl Cut {
    fn join(self, other: Self) -> Self {
        let end = self.end.max(other.end);
        if other.longest > self.longest { Self { end, ..other } } else { Self { end, ..self } }
    }
}

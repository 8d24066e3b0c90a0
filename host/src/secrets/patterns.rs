//! What answers are searched for, and where in a text it stands: all spellings of all values, of which none is
//! kept. Pure.
//!
//! A place is suspect when its next bytes begin a spelling: a table of bits says so, which fits the fastest
//! memory of a processor, and clean text costs nothing else. A suspect is compared by fingerprint, and the
//! fingerprint of any stretch is the difference of two running sums. So each byte costs a constant, whatever
//! text it is in: see `docs/design/0011`.

use std::cmp::Reverse;
use std::ops::Range;

use zeroize::{Zeroize, Zeroizing};

use super::encodings;

/// Bytes of a spelling's beginning that decide whether a place is suspect: as many as one register holds.
const WINDOW: usize = 8;

/// Bits of a place in the table: 8 KiB in all, a quarter of the smallest first-level caches. Twenty values fill
/// a hundredth of it.
const TABLE_BITS: u32 = 16;

/// Words of the table.
const WORDS: usize = (1 << TABLE_BITS) / 64;

/// Places that are looked at together.
const STEP: usize = 8;

/// An odd number whose bits look random (2^64 divided by the golden ratio).
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Spellings of one value that is full of symbols; a plain one has 60. So the list need not grow: growing leaves
/// copies behind.
const SPELLINGS: usize = 512;

/// All spellings of some values. The default has none.
#[derive(Default)]
pub(super) struct Patterns {
    /// Sorted by their windows, the longest first.
    patterns: Zeroizing<Vec<Pattern>>,
    /// One bit for each window that begins a spelling.
    suspects: Vec<u64>,
    /// The part of a window that counts: less than all of it if a spelling is shorter.
    mask: u64,
    longest: usize,
}

/// One spelling.
pub(super) struct Pattern {
    /// Its first bytes.
    window: u64,
    /// Its length in bytes.
    pub(super) length: usize,
    /// The number of its value.
    pub(super) value: usize,
    /// What the sum before a stretch of this length has grown to at its end.
    power: u64,
    fingerprint: u64,
}

/// Begins of spellings and their fingerprints could help somebody who reads the memory to guess a value.
impl Zeroize for Pattern {
    fn zeroize(&mut self) {
        self.window.zeroize();
        self.fingerprint.zeroize();
    }
}

impl Patterns {
    /// All spellings of these values, which are numbered in this order.
    pub(super) fn new<'a>(values: impl ExactSizeIterator<Item = &'a [u8]>) -> Self {
        let mut patterns = Zeroizing::new(Vec::with_capacity(values.len() * SPELLINGS));
        for (value, text) in values.enumerate() {
            encodings::each(text, &mut |spelling| patterns.push(Pattern::new(spelling, value)));
        }
        let shortest = patterns.iter().map(|pattern| pattern.length).min().unwrap_or(WINDOW);
        let mask = u64::MAX >> (8 * (WINDOW - shortest.min(WINDOW)));
        patterns.iter_mut().for_each(|pattern| pattern.window &= mask);
        patterns.sort_unstable_by_key(|pattern| {
            (pattern.window, Reverse(pattern.length), pattern.fingerprint, pattern.value)
        });
        patterns.dedup_by_key(|pattern| (pattern.window, pattern.length, pattern.fingerprint));
        let longest = patterns.iter().map(|pattern| pattern.length).max().unwrap_or_default();
        let mut suspects = vec![0; WORDS];
        for pattern in patterns.iter() {
            let (word, bit) = place(pattern.window);
            suspects[word] |= 1 << bit;
        }
        Self { patterns, suspects, mask, longest }
    }

    /// The length of the longest spelling; 0 without any.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The first place in `places` of `text` at which a spelling begins, and the longest that begins there.
    pub(super) fn next(
        &self,
        text: &[u8],
        mut places: Range<usize>,
        sums: &mut Sums,
    ) -> Option<(usize, &Pattern)> {
        while let Some(at) = self.suspect(text, places.clone()) {
            if let Some(pattern) = self.at(text, at, sums) {
                return Some((at, pattern));
            }
            places.start = at + 1;
        }
        None
    }

    /// The first suspect place.
    fn suspect(&self, text: &[u8], places: Range<usize>) -> Option<usize> {
        let table = self.suspects.first_chunk::<WORDS>()?;
        let is_suspect = |window: u64| {
            let (word, bit) = place(window & self.mask);
            table[word] >> bit & 1 != 0
        };
        let mut at = places.start;
        // Several places at once, because a question that is hardly ever answered with yes costs more than the
        // look-ups.
        while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<{ STEP + WINDOW - 1 }>) {
            let any = (0..STEP).fold(false, |any, place| any | is_suspect(window(&block[place..])));
            if any || at >= places.end {
                break;
            }
            at += STEP;
        }
        (at..places.end).find(|&at| is_suspect(window(&text[at..])))
    }

    /// The longest spelling that begins at a place.
    fn at(&self, text: &[u8], at: usize, sums: &mut Sums) -> Option<&Pattern> {
        let (window, rest) = (window(&text[at..]) & self.mask, text.len() - at);
        let first = self.patterns.partition_point(|pattern| pattern.window < window);
        let mut same = self.patterns[first..].iter().take_while(|pattern| pattern.window == window);
        same.find(|pattern| {
            pattern.length <= rest && pattern.fingerprint == sums.fingerprint(text, at, pattern, self.longest)
        })
    }
}

impl Pattern {
    fn new(spelling: &[u8], value: usize) -> Self {
        let length = spelling.len();
        Self {
            window: window(spelling),
            length,
            value,
            power: MULTIPLIER.wrapping_pow(u32::try_from(length).unwrap_or(u32::MAX)),
            fingerprint: spelling.iter().fold(0, |sum, byte| add(sum, *byte)),
        }
    }
}

/// The running sums of the part of a text that was suspect last: as far back as a spelling can begin that is not
/// decided.
#[derive(Default)]
pub(super) struct Sums {
    /// The sum before each place, at the place's number modulo the size.
    ring: Vec<u64>,
    /// The last place that has a sum, counted from where the text began.
    end: usize,
    /// Where in the whole text the part at hand begins.
    offset: usize,
}

impl Sums {
    /// Goes on with a later part of the text, which begins `bytes` further on.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.offset += bytes;
    }

    /// The fingerprint of as many bytes from `at` on as the pattern has. Must be asked in the order of places.
    fn fingerprint(&mut self, text: &[u8], at: usize, pattern: &Pattern, longest: usize) -> u64 {
        if self.ring.is_empty() {
            self.ring.resize((longest + 1).next_power_of_two(), 0);
        }
        let mask = self.ring.len() - 1;
        let first = self.offset + at;
        let last = first + pattern.length;
        if first > self.end {
            // Nothing between is suspect. A sum can begin with any number.
            self.end = first;
        }
        let mut sum = self.ring[self.end & mask];
        while self.end < last {
            sum = add(sum, text[self.end - self.offset]);
            self.end += 1;
            self.ring[self.end & mask] = sum;
        }
        self.ring[last & mask].wrapping_sub(self.ring[first & mask].wrapping_mul(pattern.power))
    }
}

fn add(sum: u64, byte: u8) -> u64 {
    sum.wrapping_mul(MULTIPLIER).wrapping_add(byte.into())
}

/// The first bytes of a text as one number; there are zeros behind its end.
fn window(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(whole) => u64::from_le_bytes(*whole),
        None => text.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

/// Where the table has a window: which word of it, and which bit.
fn place(window: u64) -> (usize, u64) {
    let hash = window.wrapping_mul(MULTIPLIER) >> (64 - TABLE_BITS);
    ((hash >> 6) as usize, hash & 63)
}

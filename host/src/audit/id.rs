//! Ids of records: unique, and in the order of time; those of one process in the order in which they were made.

use std::sync::{Mutex, PoisonError};

use ring::rand::{SecureRandom, SystemRandom};

use crate::error::{Error, Result};

/// Digits in their ASCII order, without the letters that are read as others.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// 128 bits, five a digit.
const LENGTH: usize = 26;

/// Two ids of one millisecond are the same with a chance of one in 2^80.
const RANDOM_BITS: u32 = 80;

/// How far apart ids of one millisecond are at most, when the later one has to come after: by a number that other
/// processes do not choose too.
const STEP: u128 = u64::MAX as u128 >> 16;

/// The last one of this process.
static LAST: Mutex<u128> = Mutex::new(0);

/// A new id for something that begins at `now_ms`.
pub(crate) fn new(now_ms: i64) -> Result<String> {
    let mut random = [0; 16];
    SystemRandom::new()
        .fill(&mut random[16 - RANDOM_BITS as usize / 8..])
        .map_err(|_| Error::internal("the system gives no random bytes"))?;
    let random = u128::from_be_bytes(random);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let id = prefix(now_ms) | random;
    let is_same_moment = *last >> RANDOM_BITS == id >> RANDOM_BITS;
    *last = if is_same_moment && id <= *last { *last + 1 + random % STEP } else { id };
    Ok(text(*last))
}

/// The lowest id of this millisecond.
pub(crate) fn earliest(ms: i64) -> String {
    text(prefix(ms))
}

/// 48 bits of milliseconds last until the year 10889.
fn prefix(ms: i64) -> u128 {
    let ms = u64::try_from(ms).unwrap_or(0).min((1 << 48) - 1);
    u128::from(ms) << RANDOM_BITS
}

fn text(bits: u128) -> String {
    (0..LENGTH).rev().map(|digit| char::from(DIGITS[(bits >> (5 * digit)) as usize & 31])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_do_not_repeat() -> Result<()> {
        let (one, other, later) = (new(1_700_000_000_000)?, new(1_700_000_000_000)?, new(1_700_000_000_001)?);
        assert!(one < other, "in the order in which they were made: {one} {other}");
        assert!(one < later && other < later, "{one} {other} {later}");
        assert!(earliest(1_700_000_000_000) <= one && one < earliest(1_700_000_000_001));
        assert_eq!(one.len(), LENGTH);
        Ok(())
    }

    #[test]
    fn impossible_times_stay_in_range() {
        assert_eq!(earliest(-1), "0".repeat(LENGTH));
        assert_eq!(earliest(i64::MAX).len(), LENGTH);
        assert!(earliest(i64::MAX) > earliest(4_102_444_800_000));
    }
}

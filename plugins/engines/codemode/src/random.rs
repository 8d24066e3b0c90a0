//! Random numbers that are the same in every run: a program that is run again goes the same way.

use std::cell::Cell;

/// Any number but 0 does; these are the digits of the golden ratio.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(SEED) };
}

/// What `getrandom` calls for its bytes.
///
/// # Safety
///
/// `destination` must be valid for writing `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    destination: *mut u8,
    length: usize,
) -> Result<(), getrandom::Error> {
    // SAFETY: the caller says so, and every byte is written before it could be read.
    let bytes = unsafe {
        destination.write_bytes(0, length);
        std::slice::from_raw_parts_mut(destination, length)
    };
    for chunk in bytes.chunks_mut(size_of::<u64>()) {
        chunk.copy_from_slice(&next().to_le_bytes()[..chunk.len()]);
    }
    Ok(())
}

/// The next of a xorshift generator.
fn next() -> u64 {
    let mut state = STATE.get();
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    STATE.set(state);
    state
}

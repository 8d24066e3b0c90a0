//! The rows of confirmations that were used: each counts once, in whichever process it is shown.

use rusqlite::Connection;

use crate::confirm::NONCE_BYTES;
use crate::error::Result;

/// How long a row stays after its token ended, in milliseconds: as far as a clock may be set back without an old
/// token counting again.
const KEPT_MS: i64 = 60 * 60 * 1000;

/// The use of one confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spend {
    /// What is only in its token.
    pub(crate) nonce: [u8; NONCE_BYTES],
    /// When the token ends, in milliseconds since 1970.
    pub(crate) ends_at: i64,
}

/// Uses a confirmation, in the transaction of whoever calls. Gives whether this is its first use.
pub(super) fn spend(connection: &Connection, spend: &Spend, now_ms: i64) -> Result<bool> {
    connection
        .prepare_cached("DELETE FROM confirmations WHERE ends_at < ?1")?
        .execute([now_ms.saturating_sub(KEPT_MS)])?;
    let used = connection
        .prepare_cached("INSERT INTO confirmations (nonce, ends_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute((&spend.nonce, spend.ends_at))?;
    Ok(used > 0)
}

//! Lines for the operator, over `wit/log.wit`: `log::info!("read {count} rows")`.
//!
//! Always there. Levels, length and number are the host's to limit; agents do not see them.

pub use crate::bindings::remit::capability::log::Level;
#[doc(inline)]
pub use crate::{__debug as debug, __error as error, __info as info, __warn as warn};

/// Writes one line.
#[cfg(target_arch = "wasm32")]
pub fn write(level: Level, message: &str) {
    crate::bindings::remit::capability::log::log(level, message);
}

/// Writes one line: outside WebAssembly, to where [`crate::testing::logs`] finds it.
#[cfg(not(target_arch = "wasm32"))]
pub fn write(level: Level, message: &str) {
    crate::testing::log(level, message);
}

/// Logs for whoever looks into a fault.
#[doc(hidden)]
#[macro_export]
macro_rules! __debug {
    ($($message:tt)*) => { $crate::log::write($crate::log::Level::Debug, &::std::format!($($message)*)) };
}

/// Logs what happened.
#[doc(hidden)]
#[macro_export]
macro_rules! __info {
    ($($message:tt)*) => { $crate::log::write($crate::log::Level::Info, &::std::format!($($message)*)) };
}

/// Logs what an operator may want to look at.
#[doc(hidden)]
#[macro_export]
macro_rules! __warn {
    ($($message:tt)*) => { $crate::log::write($crate::log::Level::Warn, &::std::format!($($message)*)) };
}

/// Logs what went wrong.
#[doc(hidden)]
#[macro_export]
macro_rules! __error {
    ($($message:tt)*) => { $crate::log::write($crate::log::Level::Error, &::std::format!($($message)*)) };
}

#[cfg(test)]
mod tests {
    use super::Level;
    use crate::{log, testing};

    #[test]
    fn lines_are_kept_for_tests() {
        let rows = 3;
        log::info!("read {rows} rows");
        log::error!("lost");
        assert_eq!(testing::logs(), [(Level::Info, "read 3 rows".to_owned()), (Level::Error, "lost".to_owned())]);
        assert_eq!(testing::logs(), []);
    }
}

//! Guests that speak to the `http` namespace below the SDK, where a type does not hold them.

use super::Guest;

/// The one function of the namespace.
const SEND: &str = r#"(import "remit:capability/http@0.1.0" "send" (func $send
  (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))"#;

impl Guest {
    /// Sends a request whose method is this number of the contract's list, whether or not there is one.
    #[must_use]
    pub fn sends(method: u32, url: &str) -> Self {
        // Method, URL, no header fields, no body, no timeout, and where the result goes.
        let mut guest = Self::calling(&format!(
            "(call $send (i32.const {method}) (i32.const 2048) (i32.const {}) (i32.const 0) (i32.const 0)
               (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 256))
             (call $text (i32.const 1024) (i32.const 4))",
            url.len()
        ))
        .with(&format!("(data (i32.const 2048) {url:?})"));
        guest.imports.push_str(SEND);
        guest
    }

    /// Adds `$post`, which sends an empty `POST` there.
    #[must_use]
    pub fn with_post(mut self, url: &str) -> Self {
        self.imports.push_str(SEND);
        self.with(&format!(
            "(data (i32.const 2048) {url:?})
             (func $post (call $send (i32.const 2) (i32.const 2048) (i32.const {}) (i32.const 0) (i32.const 0)
               (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 768)))",
            url.len()
        ))
    }
}

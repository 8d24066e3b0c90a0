//! Guests that speak to the `http` namespace below the SDK, where a type does not hold them.

use super::Guest;

/// What a guest imports to send.
const SEND: &str = r#"(import "remit:capability/http@0.1.0" "send" (func $send
  (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))"#;

/// Sends a request whose method is this number of the contract's list, to a URL of `length` bytes at `at`.
fn send(method: u32, at: u32, length: usize) -> String {
    // Method, URL, no header fields, no body, no timeout, and where the result goes.
    format!(
        "(call $send (i32.const {method}) (i32.const {at}) (i32.const {length}) (i32.const 0) (i32.const 0)
           (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 256))"
    )
}

impl Guest {
    /// Sends a request whose method is this number of the contract's list, whether or not there is one.
    #[must_use]
    pub fn sends(method: u32, url: &str) -> Self {
        let mut guest = Self::calling(&format!(
            "{} (call $text (i32.const 1024) (i32.const 4))",
            send(method, 2048, url.len())
        ))
        .with(&format!("(data (i32.const 2048) {url:?})"));
        guest.imports.push_str(SEND);
        guest
    }

    /// Sends a request and then fails, as a guest does that does not find in the answer what it needs.
    #[must_use]
    pub fn sends_and_fails(method: u32, url: &str) -> Self {
        let mut guest = Self::calling(&format!(
            "{} (call $failure (i32.const 2) (i32.const 1024) (i32.const 4))",
            send(method, 2048, url.len())
        ))
        .with(&format!("(data (i32.const 2048) {url:?})"));
        guest.imports.push_str(SEND);
        guest
    }

    /// Deletes one thing in a dry run, and another one in earnest.
    #[must_use]
    pub fn two_faced(rehearsed: &str, real: &str) -> Self {
        const DELETE: u32 = 5;
        let mut guest = Self::calling(&format!(
            "(if (local.get $dry) (then {}) (else {})) (call $text (i32.const 1024) (i32.const 4))",
            send(DELETE, 2048, rehearsed.len()),
            send(DELETE, 3072, real.len())
        ))
        .with(&format!("(data (i32.const 2048) {rehearsed:?}) (data (i32.const 3072) {real:?})"));
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

/// What a guest imports to save.
const SAVE: &str = r#"(import "remit:capability/http@0.1.0" "save" (func $save
  (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))"#;

impl Guest {
    /// Saves what is at a URL to a file, and answers with two digits: 1 for an error, and the number of its case in
    /// the contract's list.
    #[must_use]
    pub fn saves(url: &str, to: &str) -> Self {
        let (url_length, to_length) = (url.len(), to.len());
        // `GET`, URL, no header fields, no body, no timeout; the name, no field; and where the result goes.
        Self::calling(&format!(
            "(call $save (i32.const 0) (i32.const 2048) (i32.const {url_length}) (i32.const 0) (i32.const 0)
               (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
               (i32.const 3072) (i32.const {to_length}) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 256))
             (i32.store8 (i32.const 1100) (i32.add (i32.const 48) (i32.load8_u (i32.const 256))))
             (i32.store8 (i32.const 1101) (i32.const 32))
             (i32.store8 (i32.const 1102) (i32.add (i32.const 48) (i32.load8_u (i32.const 264))))
             (call $text (i32.const 1100) (i32.const 3))"
        ))
        .with(&format!("(data (i32.const 2048) {url:?}) (data (i32.const 3072) {to:?})"))
        .importing_line(SAVE)
    }
}

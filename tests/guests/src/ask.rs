//! Guests that ask, report and show below the SDK, where no type holds them back.

use std::fmt::Write as _;

use super::Guest;

/// Where questions, results and texts lie in the memory of these guests.
const QUESTIONS: usize = 8_192;
const RESULT: usize = 256;
const WORDS: usize = 2_048;

/// The start of the bump allocator that is above everything that lies there.
const ABOVE: usize = 48 * 1024;

/// One question as a guest lays it out.
#[derive(Clone, Debug)]
pub enum Asked {
    /// A form: message and schema.
    Form(String, String),
    /// A page: message and URL.
    Link(String, String),
    /// A model's word on this text, in so many tokens.
    Sample(String, u32),
    /// The folders.
    Roots,
}

impl Guest {
    /// Asks, and answers `err N` with the number of the error, or what was accepted first, or `declined`.
    #[must_use]
    pub fn asks(questions: &[(String, Asked)]) -> Self {
        Self::asks_after("", questions)
    }

    /// Does something, and then asks.
    #[must_use]
    pub fn asks_after(first: &str, questions: &[(String, Asked)]) -> Self {
        let count = questions.len();
        Self::calling(&format!(
            "{first}
             (call $ask (i32.const {QUESTIONS}) (i32.const {count}) (i32.const {RESULT}))
             (call $tell)"
        ))
        .with(&lay_out(questions))
        .with(TELL)
        .with_ask()
    }

    /// Asks, and fails when that is refused.
    #[must_use]
    pub fn asks_or_fails(questions: &[(String, Asked)]) -> Self {
        let count = questions.len();
        Self::calling(&format!(
            "(call $ask (i32.const {QUESTIONS}) (i32.const {count}) (i32.const {RESULT}))
             (if (i32.load8_u (i32.const {RESULT}))
               (then (return (call $failure (i32.const 2) (i32.const 1024) (i32.const 4)))))
             (call $tell)"
        ))
        .with(&lay_out(questions))
        .with(TELL)
        .with_ask()
    }

    /// Asks as [`Guest::asks`] does, when it is asked for a prompt. Its tool answers `done`.
    #[must_use]
    pub fn asks_in_a_prompt(questions: &[(String, Asked)]) -> Self {
        let count = questions.len();
        let prompt = format!(
            "(call $ask (i32.const {QUESTIONS}) (i32.const {count}) (i32.const {RESULT}))
             (drop (call $tell))
             (call $message (i32.load (i32.const 132)) (i32.load (i32.const 136)))"
        );
        Self::done().with(&lay_out(questions)).with(TELL).with_ask().prompting(&prompt)
    }

    /// Imports `ask` as `$ask`: questions, their count, where the result goes.
    #[must_use]
    pub fn with_ask(self) -> Self {
        let import = r#"(import "remit:capability/ask@0.1.0" "ask" (func $ask (param i32 i32 i32)))"#;
        self.importing_line(import)
    }

    /// Adds `$put_one`, which keeps a document `{}` under the key `k` of the entity `notes`, whatever is there, and
    /// writes a digit at 1150: 0 for done, else 1 and the number of the error.
    #[must_use]
    pub fn with_put(self) -> Self {
        self.importing_line(
            r#"(import "remit:capability/entities@0.1.0" "put" (func $put
                 (param i32 i32 i32 i32 i32 i32 i32 i64 i32)))"#,
        )
        .with(
            r#"(data (i32.const 1100) "notesk{}")
               (func $put_one (call $put (i32.const 1100) (i32.const 5) (i32.const 1105) (i32.const 1)
                 (i32.const 1106) (i32.const 2) (i32.const 0) (i64.const 0) (i32.const 512))
                 (i32.store8 (i32.const 1150)
                   (if (result i32) (i32.load8_u (i32.const 512))
                     (then (i32.add (i32.const 49) (i32.load8_u (i32.const 520))))
                     (else (i32.const 48)))))"#,
        )
    }

    /// Offers or withdraws these items, each as `(kind, name, offered)` with kind 0 for a tool, 1 for a prompt, 2 for
    /// a resource, and answers with a digit for each: 0 for done, else 1 and the number of the error.
    #[must_use]
    pub fn offers(items: &[(u32, &str, bool)]) -> Self {
        let (mut calls, mut names, mut at) = (String::new(), String::new(), WORDS);
        for (index, (kind, name, offered)) in items.iter().enumerate() {
            let (length, offered) = (name.len(), u32::from(*offered));
            let _ = writeln!(
                calls,
                "(call $offer (i32.const {kind}) (i32.const {at}) (i32.const {length}) (i32.const {offered})
                   (i32.const {RESULT}))
                 (call $note (i32.const {index}))"
            );
            let _ = writeln!(names, "(data (i32.const {at}) {name:?})");
            at += length;
        }
        let count = items.len();
        Self::calling(&format!("{calls} (call $text (i32.const 1200) (i32.const {count}))"))
            .with(&names)
            .with(NOTE)
            .importing_line(
                r#"(import "remit:capability/listing@0.1.0" "offer" (func $offer (param i32 i32 i32 i32 i32)))"#,
            )
    }

    /// Says of this address that it changed, so many times, and answers as [`Guest::offers`] does for the last.
    #[must_use]
    pub fn updates(uri: &str, times: u32) -> Self {
        let length = uri.len();
        Self::calling(&format!(
            "(block $end (loop $again
               (br_if $end (i32.ge_u (local.get $i) (i32.const {times})))
               (call $updated (i32.const {WORDS}) (i32.const {length}) (i32.const {RESULT}))
               (local.set $i (i32.add (local.get $i) (i32.const 1)))
               (br $again)))
             (call $note (i32.const 0))
             (call $text (i32.const 1200) (i32.const 1))"
        ))
        .with(&format!("(data (i32.const {WORDS}) {uri:?})"))
        .with(NOTE)
        .importing_line(
            r#"(import "remit:capability/listing@0.1.0" "updated" (func $updated (param i32 i32 i32)))"#,
        )
    }

    /// Reports so many steps of progress, each with this message, and then one that goes back.
    #[must_use]
    pub fn reports(times: u32, message: &str) -> Self {
        let length = message.len();
        Self::calling(&format!(
            "(block $end (loop $again
               (br_if $end (i32.ge_u (local.get $i) (i32.const {times})))
               (local.set $i (i32.add (local.get $i) (i32.const 1)))
               (call $report (f64.convert_i32_u (local.get $i)) (i32.const 1) (f64.const {times})
                 (i32.const 1) (i32.const {WORDS}) (i32.const {length}))
               (br $again)))
             (call $report (f64.const nan) (i32.const 0) (f64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
             (call $report (f64.const 0.5) (i32.const 0) (f64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
             (call $text (i32.const 1024) (i32.const 4))"
        ))
        .with(&format!("(data (i32.const {WORDS}) {message:?})"))
        .importing_line(
            r#"(import "remit:capability/progress@0.1.0" "report" (func $report
                 (param f64 i32 f64 i32 i32 i32)))"#,
        )
    }
}

/// `err N`, `declined`, or the text that was accepted first.
const TELL: &str = r#"
  (data (i32.const 1200) "err ?declined")
  (func $tell (result i32)
    (if (i32.load8_u (i32.const 256))
      (then
        (i32.store8 (i32.const 1204) (i32.add (i32.const 48) (i32.load8_u (i32.const 260))))
        (return (call $text (i32.const 1200) (i32.const 5)))))
    (if (i32.load8_u offset=4 (i32.load (i32.const 260)))
      (then (return (call $text (i32.const 1205) (i32.const 8)))))
    (call $text
      (i32.load offset=8 (i32.load (i32.const 260)))
      (i32.load offset=12 (i32.load (i32.const 260)))))
"#;

/// Writes the digit of a result at 1200.
const NOTE: &str = r"
  (func $note (param $index i32)
    (i32.store8 offset=1200 (local.get $index)
      (if (result i32) (i32.load8_u (i32.const 256))
        (then (i32.add (i32.const 49) (i32.load8_u (i32.const 260))))
        (else (i32.const 48)))))
";

/// Questions as the canonical ABI lays a `list<named-question>` out: 64 bytes each, what they point to above them.
fn lay_out(questions: &[(String, Asked)]) -> String {
    let mut above = Above { at: QUESTIONS + 64 * questions.len(), data: String::new() };
    let mut records = Vec::new();
    for (name, asked) in questions {
        let mut record = above.text(name);
        let (kind, fields) = match asked {
            Asked::Form(message, schema) => (0, [above.text(message), above.text(schema)].concat()),
            Asked::Link(message, url) => (1, [above.text(message), above.text(url)].concat()),
            Asked::Sample(said, tokens) => {
                // The user's role, a text, and where it is.
                let turn = [vec![0; 8], above.text(said), vec![0; 8]].concat();
                let turns = [number(above.put(&turn)), number(1)].concat();
                // No system prompt before the tokens, neither temperature nor stops after them.
                (2, [turns, vec![0; 12], tokens.to_le_bytes().to_vec(), vec![0; 24]].concat())
            }
            Asked::Roots => (3, Vec::new()),
        };
        record.extend([kind, 0, 0, 0, 0, 0, 0, 0]);
        record.extend(fields);
        record.resize(64, 0);
        records.extend(record);
    }
    format!(
        "(data (i32.const {QUESTIONS}) \"{}\") {}
         (func $above (global.set $next (i32.const {ABOVE}))) (start $above)",
        escaped(&records),
        above.data
    )
}

/// Memory that is filled from below.
struct Above {
    at: usize,
    data: String,
}

impl Above {
    fn put(&mut self, bytes: &[u8]) -> usize {
        let at = self.at;
        let _ = writeln!(self.data, "(data (i32.const {at}) \"{}\")", escaped(bytes));
        self.at = (at + bytes.len()).next_multiple_of(8);
        assert!(self.at < ABOVE, "the questions fit below the allocator");
        at
    }

    /// Where a text is, and its length.
    fn text(&mut self, text: &str) -> Vec<u8> {
        [number(self.put(text.as_bytes())), number(text.len())].concat()
    }
}

fn number(number: usize) -> Vec<u8> {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes().to_vec()
}

/// Bytes as a text of the module holds them.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "\\{byte:02x}");
        text
    })
}

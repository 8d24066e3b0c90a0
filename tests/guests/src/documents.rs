//! Guests with documents, prompts and proposals beside their tool.

use super::Guest;

/// What a guest does when it is asked for what is no tool: instructions that leave the address of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Documents {
    read: String,
    prompt: String,
    complete: String,
}

impl Guest {
    /// Answers `done` to everything: a document at the address that is read, a message, a value.
    #[must_use]
    pub fn with_documents(mut self) -> Self {
        self.documents = Some(Documents {
            read: "(call $document (local.get $uri) (local.get $uri_len) (i32.const 1024) (i32.const 4))".to_owned(),
            prompt: "(call $message (i32.const 1024) (i32.const 4))".to_owned(),
            complete: "(call $values (i32.const 1))".to_owned(),
        });
        self
    }

    /// Reads by these instructions. `$document` makes an answer of an address and a text; locals: `$uri`,
    /// `$uri_len`.
    #[must_use]
    pub fn reading(mut self, read: &str) -> Self {
        self.documents = self.with_documents_before(|documents| documents.read = read.to_owned());
        self
    }

    /// Makes prompts by these instructions. `$message` makes an answer of a text.
    #[must_use]
    pub fn prompting(mut self, prompt: &str) -> Self {
        self.documents = self.with_documents_before(|documents| documents.prompt = prompt.to_owned());
        self
    }

    /// Proposes by these instructions. `$values` makes an answer that says `done` so many times.
    #[must_use]
    pub fn proposing(mut self, complete: &str) -> Self {
        self.documents = self.with_documents_before(|documents| documents.complete = complete.to_owned());
        self
    }

    fn with_documents_before(&self, change: impl FnOnce(&mut Documents)) -> Option<Documents> {
        let guest = if self.documents.is_some() { self.clone() } else { self.clone().with_documents() };
        let mut documents = guest.documents;
        documents.as_mut().map(change);
        documents
    }
}

impl Documents {
    /// The exports of the module.
    pub(super) fn text(&self) -> String {
        let context = "(param $dry i32) (param $run i32) (param $run_len i32) (param $has_locale i32) \
             (param $locale i32) (param $locale_len i32)";
        let Self { read, prompt, complete } = self;
        format!(
            r#"{ANSWERS}
            (func (export "remit:capability/resources@0.1.0#read")
              (param $uri i32) (param $uri_len i32) {context} (result i32) {read})
            (func (export "remit:capability/prompts@0.1.0#get")
              (param $name i32) (param $name_len i32) (param $arguments i32) (param $arguments_len i32)
              {context} (result i32) {prompt})
            (func (export "remit:capability/completions@0.1.0#complete")
              (param $subject i32) (param $of i32) (param $of_len i32)
              (param $name i32) (param $name_len i32) (param $value i32) (param $value_len i32)
              (param $others i32) (param $others_len i32) {context} (result i32) {complete})"#
        )
    }
}

/// Answers at address 640, what they point to at 704 and above.
const ANSWERS: &str = r"
  (func $document (param $uri i32) (param $uri_len i32) (param $at i32) (param $len i32) (result i32)
    (i32.store8 (i32.const 640) (i32.const 0))
    (i32.store (i32.const 644) (i32.const 704))
    (i32.store (i32.const 648) (i32.const 1))
    (i32.store (i32.const 704) (local.get $uri))
    (i32.store (i32.const 708) (local.get $uri_len))
    (i32.store8 (i32.const 712) (i32.const 0))
    (i32.store8 (i32.const 724) (i32.const 0))
    (i32.store (i32.const 728) (local.get $at))
    (i32.store (i32.const 732) (local.get $len))
    (i32.const 640))
  (func $message (param $at i32) (param $len i32) (result i32)
    (i32.store8 (i32.const 640) (i32.const 0))
    (i32.store8 (i32.const 644) (i32.const 0))
    (i32.store (i32.const 656) (i32.const 704))
    (i32.store (i32.const 660) (i32.const 1))
    (i32.store8 (i32.const 704) (i32.const 0))
    (i32.store8 (i32.const 708) (i32.const 0))
    (i32.store (i32.const 712) (local.get $at))
    (i32.store (i32.const 716) (local.get $len))
    (i32.const 640))
  (func $values (param $count i32) (result i32) (local $i i32) (local $at i32)
    (local.set $at (call $realloc (i32.const 0) (i32.const 0) (i32.const 4)
      (i32.mul (local.get $count) (i32.const 8))))
    (i32.store8 (i32.const 640) (i32.const 0))
    (i32.store (i32.const 644) (local.get $at))
    (i32.store (i32.const 648) (local.get $count))
    (i32.store8 (i32.const 652) (i32.const 0))
    (i32.store8 (i32.const 660) (i32.const 0))
    (block $end (loop $again
      (br_if $end (i32.ge_u (local.get $i) (local.get $count)))
      (i32.store (i32.add (local.get $at) (i32.mul (local.get $i) (i32.const 8))) (i32.const 1024))
      (i32.store offset=4 (i32.add (local.get $at) (i32.mul (local.get $i) (i32.const 8))) (i32.const 4))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $again)))
    (i32.const 640))
";

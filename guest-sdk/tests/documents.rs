//! Documents, prompts, proposals and questions of a capability as its author writes it, seen as the host sees it.

use remit_sdk::ask::Feature;
use remit_sdk::completions::Subject;
use remit_sdk::entities::{Entity, Expected, entity};
use remit_sdk::prompts::Message;
use remit_sdk::resources::Document;
use remit_sdk::{Contents, Failure, Reply, testing};
use serde_json::{Value, json};

use library::Capability as Library;

#[remit_sdk::capability]
mod library {
    use remit_sdk::ask::{self, Decision, Form, Sample};
    use remit_sdk::completions::Draft;
    use remit_sdk::entities::{Entity, Expected, entity};
    use remit_sdk::listing;
    use remit_sdk::prompts::Message;
    use remit_sdk::{Context, Failure, progress};

    const LOANS: Entity<String> = entity("loans");

    /// Lends a book.
    #[tool(destructive = false)]
    pub fn lend(
        /// Its title.
        book: &str,
    ) -> Result<String, Failure> {
        progress::message(0, 2, "asking");
        let Decision::Accepted(reader) = ask::form::<Reader>("reader", "Who takes it?")? else {
            return Err("nobody took it".into());
        };
        LOANS.put(book, &reader.name, Expected::Absent)?;
        listing::updated(&format!("book:{book}"))?;
        progress::report(2, 2);
        Ok(format!("{book} is with {}, for {} days, as {:?}", reader.name, reader.days, reader.kind))
    }

    /// Asks twice, and then both once more.
    #[tool(read_only)]
    pub fn chat() -> Result<String, Failure> {
        let first = ask::sample(&Sample::new("first", "One?"))?.text();
        let second = ask::sample(&Sample::new("second", format!("After {first}?")))?.text();
        let (third, reader) =
            ask::all((Sample::new("first", "One?"), Form::<Reader>::new("reader", "Who takes it?")))?;
        Ok(format!("{first} {second} {} {}", third.text(), reader.accepted().is_some()))
    }

    /// Changes something, and asks then.
    #[tool]
    pub fn hurry() -> Result<String, Failure> {
        LOANS.put("b", &String::new(), Expected::Any)?;
        ask::form::<Reader>("reader", "Who takes it?")?;
        Ok("asked".to_owned())
    }

    /// All books.
    #[resource(uri = "books:all", title = "All \"books\"", mime_type = "text/plain")]
    pub fn all() -> &'static str {
        "b"
    }

    /// A book's cover.
    #[resource(template = "book:{book}/cover/{page}", name = "cover", mime_type = "image/png")]
    pub fn book_cover(page: u8, #[complete(books)] book: &str) -> Result<Vec<u8>, Failure> {
        if book == "none" {
            return Err(Failure::NotFound("no such book".to_owned()));
        }
        Ok(vec![page, 7])
    }

    /// A book, in short.
    #[resource(template = "book:{book}")]
    pub fn book(book: String, context: &Context) -> Result<String, Failure> {
        listing::updated("books:all")?;
        Ok(book + &context.run_id)
    }

    /// Sums a book up.
    #[prompt(title = "Sum up")]
    pub fn sum_up(
        /// The book's title.
        #[complete(books)]
        book: &str,
        /// How many words.
        words: Option<u32>,
        context: Context,
    ) -> Vec<Message> {
        let words = words.unwrap_or(100);
        vec![Message::user(format!("Sum up {book} in {words} words.")), Message::assistant(context.run_id)]
    }

    /// Says hello.
    #[prompt]
    pub fn hello() -> String {
        "Hello".to_owned()
    }

    fn books(draft: &Draft) -> Vec<String> {
        let known = ["Dune", "Dubliners", "Emma"].map(str::to_owned).to_vec();
        let excluded = draft.other("words");
        let fits =
            |book: &String| book.starts_with(draft.value()) && excluded.is_none_or(|not| !book.contains(not));
        known.into_iter().filter(fits).collect()
    }

    /// Who reads.
    #[remit_sdk::data]
    pub struct Reader {
        /// Their name.
        #[schema(min_length = 1)]
        name: String,
        days: u8,
        kind: Kind,
        #[serde(default)]
        topics: Vec<Kind>,
    }

    #[remit_sdk::data]
    #[derive(Debug)]
    #[serde(rename_all = "lowercase")]
    pub enum Kind {
        Adult,
        Child,
    }
}

#[test]
fn the_manifest_lists_them() {
    let expected = json!({
        "resources": [
            { "uri": "books:all", "name": "all", "title": "All \"books\"", "description": "All books.", "mimeType": "text/plain" },
        ],
        "resourceTemplates": [
            { "uriTemplate": "book:{book}/cover/{page}", "name": "cover", "description": "A book's cover.", "mimeType": "image/png" },
            { "uriTemplate": "book:{book}", "name": "book", "description": "A book, in short." },
        ],
        "prompts": [
            {
                "name": "sum_up",
                "title": "Sum up",
                "description": "Sums a book up.",
                "arguments": [
                    { "name": "book", "description": "The book's title.", "required": true },
                    { "name": "words", "description": "How many words.", "required": false },
                ],
            },
            { "name": "hello", "description": "Says hello." },
        ],
    });
    assert_eq!(testing::documents::<Library>(), expected);
}

#[test]
fn documents_are_read_by_their_addresses() {
    let read = testing::read::<Library>;
    let document = |uri: &str, mime_type: Option<&str>, contents| {
        let mime_type = mime_type.map(str::to_owned);
        Ok(vec![Document { uri: uri.to_owned(), mime_type, contents }])
    };
    assert_eq!(read("books:all"), document("books:all", Some("text/plain"), Contents::Text("b".to_owned())));
    let cover = "book:a%20b/cover/3";
    assert_eq!(read(cover), document(cover, Some("image/png"), Contents::Blob(vec![3, 7])));
    assert!(matches!(read("book:none/cover/3"), Err(Failure::NotFound(_))));
    assert!(matches!(read("book:a/cover/x"), Err(Failure::InvalidInput(why)) if why.starts_with("`page`")));
    for unknown in ["books:", "book:", "book:a/b", ""] {
        assert_eq!(read(unknown), Err(Failure::NotFound(format!("there is no document `{unknown}`"))));
    }
}

#[test]
fn reading_changes_nothing() {
    let refused = testing::read::<Library>("book:a");
    assert!(matches!(refused, Err(Failure::Failed(_))), "{refused:?}");
    assert_eq!(testing::shown(), []);
}

#[test]
fn prompts_are_made_of_their_arguments() {
    let prompt = testing::prompt::<Library>;
    let messages = |arguments: &[(&str, &str)]| prompt("sum_up", arguments).map(|prompt| prompt.messages);
    let said = |text: &str| Ok(vec![Message::user(text), Message::assistant("test")]);
    assert_eq!(messages(&[("book", "Emma"), ("words", "9")]), said("Sum up Emma in 9 words."));
    assert_eq!(messages(&[("book", "Emma")]), said("Sum up Emma in 100 words."));
    assert_eq!(prompt("hello", &[]).map(|prompt| prompt.messages), Ok(vec![Message::user("Hello")]));
    assert_eq!(messages(&[]), Err(Failure::InvalidInput("`book` is missing".to_owned())));
    assert!(matches!(messages(&[("book", "Emma"), ("words", "few")]), Err(Failure::InvalidInput(_))));
    assert_eq!(prompt("bye", &[]), Err(Failure::NotFound("there is no prompt `bye`".to_owned())));
}

#[test]
fn values_are_proposed_where_a_function_is_named() {
    let values = |subject: Subject, arguments: &[(&str, &str)]| {
        testing::complete::<Library>(subject, arguments).map(|proposals| proposals.values)
    };
    let prompt = || Subject::Prompt("sum_up".to_owned());
    let template = |form: &str| Subject::Template(form.to_owned());
    assert_eq!(values(prompt(), &[("book", "Du")]), Ok(vec!["Dune".to_owned(), "Dubliners".to_owned()]));
    assert_eq!(values(prompt(), &[("book", "Du"), ("words", "b")]), Ok(vec!["Dune".to_owned()]));
    assert_eq!(values(template("book:{book}/cover/{page}"), &[("book", "E")]), Ok(vec!["Emma".to_owned()]));
    assert_eq!(values(prompt(), &[("words", "1")]), Ok(vec![]));
    assert_eq!(values(template("book:{book}"), &[("book", "E")]), Ok(vec![]));
    assert_eq!(values(Subject::Prompt("hello".to_owned()), &[("book", "E")]), Ok(vec![]));
}

#[test]
fn a_call_runs_again_with_the_answer() {
    testing::entities(&["loans"]);
    let reader = json!({ "name": "Ada", "days": 14, "kind": "adult" });
    let client = testing::client().accepts("reader", &reader);
    let lent = testing::call::<Library>("lend", &json!({ "book": "Emma" }));
    assert_eq!(lent, Ok(Reply::new().text("Emma is with Ada, for 14 days, as Adult")));
    assert_eq!(testing::shown(), [testing::Shown::Updated("book:Emma".to_owned())]);
    let done: Vec<f64> = testing::progress().into_iter().map(|report| report.done).collect();
    assert_eq!(done, [0.0, 0.0, 2.0], "it ran twice up to the question");

    let asked = client.asked();
    assert_eq!(asked.len(), 1);
    let remit_sdk::testing::Question::Form(form) = &asked[0].question else { panic!("a form: {asked:?}") };
    let kind = json!({ "type": "string", "enum": ["adult", "child"] });
    let schema: Value = serde_json::from_str(&form.schema).expect("JSON");
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "Their name.", "minLength": 1 },
                "days": { "type": "integer", "minimum": 0, "maximum": 255 },
                "kind": kind,
                "topics": { "type": "array", "items": kind },
            },
            "required": ["name", "days", "kind"],
        })
    );
    assert_eq!(form.message, "Who takes it?");
}

#[test]
fn without_an_answer_nothing_is_done() {
    let loans: Entity<String> = entity("loans");
    let lend = || testing::call::<Library>("lend", &json!({ "book": "Emma" }));
    testing::entities(&["loans"]);
    assert_eq!(lend(), Err(Failure::Failed("the client cannot show a form to the person".to_owned())));
    let _client = testing::client().without(Feature::Form);
    assert_eq!(lend(), Err(Failure::Failed("the client cannot show a form to the person".to_owned())));
    for says_no in [true, false] {
        let client = testing::client();
        let client = if says_no { client.declines("reader") } else { client.cancels("reader") };
        assert_eq!(lend(), Err(Failure::Failed("nobody took it".to_owned())));
        assert_eq!(client.asked().len(), 1);
    }
    assert_eq!(loans.get("Emma"), Ok(None));
    assert_eq!(testing::shown(), []);
}

#[test]
fn rounds_keep_what_was_answered() {
    let reader = json!({ "name": "Ada", "days": 1, "kind": "child" });
    let client = testing::client().says("first", "1").says("second", "2").accepts("reader", &reader);
    assert_eq!(testing::call::<Library>("chat", &json!({})), Ok(Reply::new().text("1 2 1 true")));
    let names: Vec<String> = client.asked().into_iter().map(|question| question.name).collect();
    assert_eq!(names, ["first", "second", "reader"]);
}

#[test]
fn after_a_change_nothing_is_asked() {
    testing::entities(&["loans"]);
    let client = testing::client().declines("reader");
    let refused = testing::call::<Library>("hurry", &json!({}));
    assert_eq!(refused, Err(Failure::Failed("after a change nothing can be asked".to_owned())));
    assert_eq!(client.asked(), []);
    // A tool that only reads is refused its change, and the next call is no worse for it.
    let loans: Entity<String> = entity("loans");
    assert!(loans.put("c", &String::new(), Expected::Any).is_ok());
}

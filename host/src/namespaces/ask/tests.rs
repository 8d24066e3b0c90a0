//! Which questions leave, which answers count, and when nothing is asked.

use serde_json::json;

use super::*;
use crate::policy::HostPattern;
use crate::runtime::ask::{Form, Link, Media, Role, Root, Said, Sample, Sampled, Turn};

const ALL: [Ability; 4] = [Ability::Form, Ability::Link, Ability::Sample, Ability::Roots];

fn asking(abilities: &[Ability], answers: &[(&str, Answer)], rounds: u32) -> Ask {
    Ask::new(&Client {
        features: abilities.iter().copied().collect(),
        answers: answers.iter().map(|(name, answer)| ((*name).to_owned(), answer.clone())).collect(),
        rounds,
        ..Client::default()
    })
}

fn form() -> Question {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    Question::Form(Form { message: "Who are you?".to_owned(), schema: schema.to_string() })
}

fn link(url: &str) -> Question {
    Question::Link(Link { message: "Sign in.".to_owned(), url: url.to_owned() })
}

fn sample() -> Sample {
    let turn = Turn { role: Role::User, said: Said::Text("Say hello.".to_owned()) };
    Sample { turns: vec![turn], system: None, max_tokens: 100, temperature: None, stop: Vec::new() }
}

fn named(name: &str, question: Question) -> NamedQuestion {
    NamedQuestion { name: name.to_owned(), question }
}

fn accepted(filled: &str) -> Answer {
    Answer::Form(Decision::Accepted(filled.to_owned()))
}

/// What came of asking: answers, an error's word, or the names of what is open.
fn outcome(ask: &mut Ask, questions: Vec<NamedQuestion>, has_changed: bool) -> String {
    let hosts: [HostPattern; 1] = ["login.example.com".parse().unwrap()];
    match ask.ask(questions, has_changed, &Terms { hosts: &hosts, redactor: None }) {
        Ok(Ok(answers)) => format!("{} answers", answers.len()),
        Ok(Err(Error::Invalid(_))) => "invalid".to_owned(),
        Ok(Err(error)) => format!("{error:?}"),
        Err(stop) => {
            assert_eq!(stop, Stop::Asks);
            let open: Vec<_> = ask.open.iter().map(|asked| asked.name.as_str()).collect();
            format!("asks {}", open.join(","))
        }
    }
}

#[test]
fn what_has_no_answer_ends_the_run_and_what_has_one_does_not() {
    let good = accepted(r#"{"name":"Ada"}"#);
    let both = || vec![named("a", form()), named("b", form())];
    let cases = [
        (vec![], "asks a,b"),
        (vec![("a", good.clone())], "asks b"),
        (vec![("a", good.clone()), ("b", Answer::Form(Decision::Declined))], "2 answers"),
        (vec![("a", good.clone()), ("b", Answer::Form(Decision::Cancelled))], "2 answers"),
        (vec![("a", good.clone()), ("b", accepted(r#"{"name":1}"#))], "asks b"),
        (vec![("a", good.clone()), ("b", accepted("not JSON"))], "asks b"),
        (vec![("a", good.clone()), ("b", Answer::Link(Decision::Accepted("{}".to_owned())))], "asks b"),
        (vec![("a", good.clone()), ("c", good)], "asks b"),
    ];
    for (answers, expected) in cases {
        assert_eq!(outcome(&mut asking(&ALL, &answers, 0), both(), false), expected, "{answers:?}");
    }
    assert_eq!(outcome(&mut asking(&[], &[], 0), Vec::new(), false), "0 answers");
}

#[test]
fn answers_come_in_the_order_of_the_questions() {
    let answers = [("a", accepted(r#"{"name":"A"}"#)), ("b", accepted(r#"{"name":"B"}"#))];
    let mut ask = asking(&ALL, &answers, 1);
    let questions = vec![named("b", form()), named("a", form())];
    let given = ask.ask(questions, false, &Terms { hosts: &[], redactor: None }).unwrap().unwrap();
    assert_eq!(given, [answers[1].1.clone(), answers[0].1.clone()]);
}

#[test]
fn an_answer_of_another_kind_is_none() {
    let sampled = |said: Vec<Said>| Answer::Sample(Sampled { said, model: "m".to_owned(), stop_reason: None });
    let roots = |uri: &str| Answer::Roots(vec![Root { uri: uri.to_owned(), name: None }]);
    let page = || link("https://login.example.com/");
    let cases = [
        (page(), Answer::Link(Decision::Accepted("{}".to_owned())), true),
        (page(), Answer::Link(Decision::Declined), true),
        (page(), Answer::Link(Decision::Accepted(r#"{"token":"t"}"#.to_owned())), false),
        (page(), Answer::Form(Decision::Declined), false),
        (form(), sampled(vec![Said::Text("Ada".to_owned())]), false),
        (Question::Sample(sample()), sampled(vec![Said::Text("hello".to_owned())]), true),
        (Question::Sample(sample()), sampled(Vec::new()), false),
        (Question::Sample(sample()), Answer::Form(Decision::Declined), false),
        (Question::Roots, roots("file:///home/ada"), true),
        (Question::Roots, Answer::Roots(Vec::new()), true),
        (Question::Roots, roots("https://evil.example/"), false),
        (Question::Roots, Answer::Roots(vec![Root { uri: "file:///".to_owned(), name: None }; ROOTS + 1]), false),
    ];
    for (question, answer, is_one) in cases {
        assert_eq!(answers(&question, &answer), is_one, "{question:?} {answer:?}");
    }
}

#[test]
fn nothing_is_asked_after_a_change_or_of_a_client_that_cannot() {
    let answered = [("a", accepted(r#"{"name":"Ada"}"#))];
    let mut ask = asking(&ALL, &answered, 1);
    assert_eq!(
        outcome(&mut ask, vec![named("a", form())], true),
        "Error::TooLate",
        "also where the answer is known"
    );
    assert!(ask.open.is_empty() && ask.lacking.is_empty());

    let mut ask = asking(&[Ability::Form], &[], 0);
    let asked = vec![named("a", form()), named("b", Question::Roots)];
    assert_eq!(outcome(&mut ask, asked, false), "Error::NotAvailable(Feature::Roots)");
    assert_eq!(ask.lacking, BTreeSet::from([Ability::Roots]));
    assert!(ask.open.is_empty(), "not a part of it is asked");
    assert_eq!(ask.available(), [Feature::Form]);
}

#[test]
fn questions_and_rounds_have_an_end() {
    let many = |count: usize| (0..count).map(|index| named(&format!("q{index}"), form())).collect::<Vec<_>>();
    assert!(outcome(&mut asking(&ALL, &[], 0), many(QUESTIONS), false).starts_with("asks q0,"));
    assert_eq!(outcome(&mut asking(&ALL, &[], 0), many(QUESTIONS + 1), false), "Error::Limit");
    assert_eq!(outcome(&mut asking(&ALL, &[], ROUNDS - 1), many(1), false), "asks q0");
    assert_eq!(outcome(&mut asking(&ALL, &[], ROUNDS), many(1), false), "Error::Limit");
    let answered = [("q0", accepted(r#"{"name":"Ada"}"#))];
    assert_eq!(outcome(&mut asking(&ALL, &answered, ROUNDS), many(1), false), "1 answers");
}

#[test]
fn a_question_that_may_not_be_asked_says_why() {
    let long = "n".repeat(NAME_CHARS + 1);
    let of_form = |message: &str, schema: &str| {
        Question::Form(Form { message: message.to_owned(), schema: schema.to_owned() })
    };
    let of_sample = |change: &dyn Fn(&mut Sample)| {
        let mut asked = sample();
        change(&mut asked);
        Question::Sample(asked)
    };
    let image = |bytes: usize, mime_type: &str| {
        let media = Media { data: vec![0; bytes], mime_type: mime_type.to_owned() };
        Turn { role: Role::User, said: Said::Image(media) }
    };
    let turn = sample().turns[0].clone();
    let cases = [
        vec![named("", form())],
        vec![named("a b", form())],
        vec![named("a\u{202e}", form())],
        vec![named(&long, form())],
        vec![named("a", form()), named("a", form())],
        vec![named("a", of_form(" \u{200b}", r#"{"type":"object","properties":{"a":{"type":"string"}}}"#))],
        vec![named("a", of_form("m", "{}"))],
        vec![named("a", link("http://login.example.com/"))],
        vec![named("a", link("https://evil.example/"))],
        vec![named("a", link("https://login.example.com:8443/"))],
        vec![named("a", link("https://login.example.com@evil.example/"))],
        vec![named("a", link("https://127.0.0.1/"))],
        vec![named("a", link("javascript:alert(1)"))],
        vec![named("a", link(&format!("https://login.example.com/{}", "a".repeat(3_000))))],
        vec![named("a", of_sample(&|asked| asked.turns.clear()))],
        vec![named("a", of_sample(&|asked| asked.turns = vec![turn.clone(); 51]))],
        vec![named("a", of_sample(&|asked| asked.max_tokens = 0))],
        vec![named("a", of_sample(&|asked| asked.max_tokens = 1_000_000))],
        vec![named("a", of_sample(&|asked| asked.temperature = Some(f64::NAN)))],
        vec![named("a", of_sample(&|asked| asked.temperature = Some(2.5)))],
        vec![named("a", of_sample(&|asked| asked.stop = vec!["x".to_owned(); 9]))],
        vec![named("a", of_sample(&|asked| asked.stop = vec![String::new()]))],
        vec![named("a", of_sample(&|asked| asked.system = Some("x".repeat(2 * 1024 * 1024))))],
        vec![named("a", of_sample(&|asked| asked.turns = vec![image(2 * 1024 * 1024, "image/png")]))],
        vec![named("a", of_sample(&|asked| asked.turns = vec![image(1, "image/png\r\n")]))],
    ];
    for questions in cases {
        let mut ask = asking(&ALL, &[], 0);
        assert_eq!(outcome(&mut ask, questions.clone(), false), "invalid", "{questions:?}");
        assert!(ask.open.is_empty());
    }
}

#[test]
fn what_leaves_is_clean_and_short() {
    let mut ask = asking(&ALL, &[], 0);
    let message = format!("two\nlines\u{202e}\u{200b}{}", "x".repeat(5_000));
    let schema =
        r#"{"$schema":"s","type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#;
    let asked = Question::Form(Form { message, schema: schema.to_owned() });
    assert_eq!(outcome(&mut ask, vec![named("a", asked)], false), "asks a");
    let Question::Form(form) = &ask.open[0].question else { panic!("a form") };
    assert!(form.message.starts_with("two\nlinesxxx") && form.message.chars().count() == 1_000);
    assert_eq!(form.schema, r#"{"type":"object","properties":{"a":{"type":"string"}}}"#);
}

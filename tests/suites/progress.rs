//! What a call says while it runs: told to whoever listens, never at the guest's expense, and never a secret.

use remit::call::CallRequest;
use remit::client::{Client, News};
use remit::runtime::log::Level;
use remit_guests::Guest;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, outcome, request};
use crate::support::world::{HOST, SECRET, World, authorization};

/// Calls with a listener that has room for so many, and gives the outcome with what it heard.
fn heard(home: &Home, tool: &str, arguments: &Value, room: usize) -> (String, Vec<News>) {
    let (sender, mut receiver) = mpsc::channel(room);
    let client = Client { news: Some(sender), ..Client::default() };
    let request = CallRequest { client, ..request(tool, arguments) };
    let result = home.threads.block_on(home.host().call(request, CancellationToken::new()));
    let heard = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
    (outcome(&result), heard)
}

fn done(news: &News) -> f64 {
    match news {
        News::Progress { done, .. } => *done,
        News::Log { .. } => f64::NAN,
    }
}

#[test]
fn a_flood_of_reports_is_thinned_and_ends_with_the_last() {
    let home = Home::new();
    home.install(Guest::reports(5_000, "step \u{202e}\n by step").capability("reports"));
    let (said, news) = heard(&home, "test/reports.run", &json!({}), 10_000);
    assert_eq!(said, "done");
    assert!(news.len() >= 2 && news.len() < 500, "{} were told", news.len());
    assert!(news.windows(2).all(|pair| done(&pair[0]) < done(&pair[1])), "they grow");
    let message = Some("step  by step".to_owned());
    let last = News::Progress { done: 5_000.0, total: Some(5_000.0), message };
    assert_eq!(news.last(), Some(&last), "neither what is no number nor what goes back");
}

#[test]
fn nobody_who_listens_slowly_stops_a_guest() {
    let home = Home::new();
    home.install(Guest::reports(5_000, "x").capability("reports"));
    home.install(Guest::logs(5_000, "x").capability("logs"));
    for slug in ["reports", "logs"] {
        // Nothing is read before the call has ended.
        let (said, news) = heard(&home, &format!("test/{slug}.run"), &json!({}), 1);
        assert_eq!((said.as_str(), news.len()), ("done", 1), "{slug}");
        assert_eq!(outcome(&home.call(&format!("test/{slug}.run"), &json!({}))), "done", "nobody listens");
    }
}

#[test]
fn reports_are_host_calls() {
    let home = Home::new();
    home.install(Guest::reports(20_000, "x").capability("reports"));
    assert_eq!(outcome(&home.call("test/reports.run", &json!({}))), "budget/host-calls");
    let (said, news) = heard(&home, "test/reports.run", &json!({}), 100_000);
    assert_eq!(said, "budget/host-calls");
    assert!(news.len() < 1_000, "{} were told", news.len());
}

#[test]
fn a_line_of_the_log_is_told_without_secrets() {
    let world = World::echo().granted().with_secret(HOST, &[authorization()]);
    let arguments = json!({
        "message": "it said:\u{1b}[31m",
        "url": "https://api.example.com/",
        "headers": ["authorization: Bearer {{API_KEY}}"],
    });
    let (said, news) = heard(&world.home, "test/probe.complain", &arguments, 10);
    assert_eq!(said, "capability/failed");
    let [News::Log { level: Level::Info, text }] = &news[..] else { panic!("{news:?}") };
    assert!(text.starts_with(r"it said:\u{1b}[31m "), "{text}");
    assert!(text.contains("Bearer [redacted:API_KEY]") && !text.contains(SECRET), "{text}");
}

#[test]
fn a_line_that_is_told_ends() {
    let home = Home::new();
    home.install(Guest::logs(1, &"x".repeat(1_900)).capability("logs"));
    let (_, news) = heard(&home, "test/logs.run", &json!({}), 10);
    assert_eq!(news, [News::Log { level: Level::Info, text: "x".repeat(1_900) }]);
}

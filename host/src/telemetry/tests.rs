//! What the page shows, and what a collector that says nothing costs.

use std::time::Duration;

use super::*;
use crate::audit::{RequestRecord, Traced, Usage};
use crate::config::Config;

/// A record in which nothing but the numbers may be told.
fn record(outcome: &str) -> Record {
    let request = RequestRecord {
        method: "GET".to_owned(),
        authority: "secret.example.com".to_owned(),
        path: "/secret".to_owned(),
        address: Some("192.0.2.1:443".to_owned()),
        status: Some(200),
        outcome: "sent".to_owned(),
        bytes_out: 12,
        bytes_in: 345,
        secrets: vec!["SECRET".to_owned()],
        redactions: 1,
        time_ms: 7,
        own: false,
        traced: Traced { begun: None, host: Some("*.example.com".to_owned()) },
    };
    Record {
        id: "01m8pvv1jz6rs7kkyscbya52ay".to_owned(),
        started_at: 1_700_000_000_000,
        principal: "secret".to_owned(),
        capability: "acme/secret".to_owned(),
        tool: "secret".to_owned(),
        digest: None,
        dry_run: false,
        outcome: outcome.to_owned(),
        detail: Some("secret".to_owned()),
        usage: Usage {
            fuel: 1_000,
            memory_peak: 2_000_000,
            time: Duration::from_millis(15),
            host_calls: 3,
            requests: 1,
            bytes_out: 12,
            bytes_in: 345,
        },
        requests: vec![request],
        changes: Vec::new(),
        files: Vec::new(),
        log: vec!["info: secret".to_owned()],
    }
}

fn weather() -> Labels {
    Labels::of(&"acme/weather".parse().unwrap(), "forecast")
}

#[test]
fn the_page_of_a_morning() {
    let totals = Arc::new(Totals::default());
    let telemetry = Telemetry { on: Some(Arc::new(On { totals: totals.clone(), queue: None })) };
    telemetry.level("remit.calls.waiting", "Calls that wait for a place to run.", || 4);
    telemetry.compiled(Duration::from_millis(250), true);
    telemetry.compiled(Duration::from_secs(3), false);
    telemetry.begin(weather(), None).end(&record("ok"));
    telemetry.begin(weather(), None).end(&record("budget/fuel"));
    telemetry.begin(Labels::unknown(), None).end(&Record { requests: Vec::new(), ..record("call/unknown-tool") });
    let _under_way = telemetry.begin(weather(), None);
    insta::assert_snapshot!(prometheus::text(&totals.families()));
}

#[test]
fn a_value_cannot_end_its_label() {
    let totals = Totals::default();
    totals.begin(&Labels { capability: "a\"} 1\nevil 1\\".into(), tool: "t".into() });
    let text = prometheus::text(&totals.families());
    assert!(text.contains(r#"{capability="a\"} 1\nevil 1\\",tool="t"} 1"#), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("evil")), "{text}");
}

#[test]
fn what_is_off_keeps_nothing() {
    let telemetry = Telemetry::default();
    telemetry.level("remit.sessions", "", || unreachable!("nobody asks"));
    telemetry.compiled(Duration::ZERO, true);
    telemetry.begin(weather(), None).end(&record("ok"));
    assert!(telemetry.on.is_none());
}

/// Calls that end while nobody takes their spans: more than any queue should hold.
const FLOOD: u64 = 10_000;

#[tokio::test]
async fn a_collector_that_says_nothing_costs_spans_and_no_memory() {
    // Connections reach its backlog, and nobody ever takes them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = Config::default();
    config.telemetry.otlp = Some(format!("http://{}", silent.local_addr().unwrap()));
    let outside = Outside::system();
    let own = Own::configured(&config, &outside).unwrap();
    let clock = Arc::new(Clock::system());
    let service = Service::start(&config.telemetry, own, &outside, &clock).await.unwrap();
    let on = service.telemetry.on.clone().unwrap();
    for _ in 0..FLOOD {
        service.telemetry.begin(weather(), None).end(&record("ok"));
        // The exporter gets its turns, as it would on threads of its own.
        tokio::task::yield_now().await;
    }
    let waiting = on.queue.as_ref().map_or(0, |queue| queue.max_capacity() - queue.capacity());
    assert!(waiting <= QUEUE);
    let text = prometheus::text(&on.totals.families());
    let counted = |name: &str| -> u64 {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(counted("remit_calls_total"), FLOOD);
    // One message is under way; what neither is in it nor waits is counted.
    let in_message = FLOOD - counted("remit_telemetry_dropped_total") - waiting as u64;
    assert!(in_message <= 1_000, "{in_message}");
}

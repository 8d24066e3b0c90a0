//! What a connection gives at a moment, and what becomes of its tokens.

use super::*;

const NOW: i64 = 1_700_000_000_000;

fn text(text: &str) -> Zeroizing<String> {
    Zeroizing::new(text.to_owned())
}

fn settings() -> Settings {
    Settings {
        grant: GrantType::AuthorizationCode,
        token_url: "https://login.example.com/token".to_owned(),
        auth_url: Some("https://login.example.com/authorize".to_owned()),
        client_id: "remit".to_owned(),
        client_secret: Some(text("client-secret-1")),
        auth: ClientAuth::Basic,
        scopes: vec!["read".to_owned()],
        audience: None,
        resource: None,
        issuer: None,
        port: None,
    }
}

fn tokens(number: u32, seconds: Option<u64>) -> Tokens {
    Tokens {
        access: text(&format!("access-token-{number}")),
        lifetime: seconds.map(Duration::from_secs),
        refresh: Some(text(&format!("refresh-token-{number}"))),
    }
}

fn connection(seconds: Option<u64>) -> Connection {
    Connection::new(settings(), tokens(1, seconds), NOW).unwrap()
}

/// The values at a moment: what is put in first, with `!`.
fn shown(connection: &Connection, now: i64) -> Vec<String> {
    let values = connection.values(now).into_iter();
    values
        .map(|(value, is_usable)| {
            let mark = if is_usable { "!" } else { "" };
            format!("{mark}{}", String::from_utf8_lossy(&value))
        })
        .collect()
}

#[test]
fn an_access_token_is_put_in_until_it_ends_and_the_rest_never() {
    let connection = connection(Some(3600));
    let end = NOW + 3_600_000;
    assert_eq!(shown(&connection, NOW), ["!access-token-1", "refresh-token-1", "client-secret-1"]);
    assert_eq!(shown(&connection, end - 1)[0], "!access-token-1");
    assert_eq!(shown(&connection, end), ["access-token-1", "refresh-token-1", "client-secret-1"]);
}

#[test]
fn a_token_is_due_a_minute_before_its_end_or_at_half_its_life() {
    for (seconds, due_after) in [
        (Some(3600), Some(3540)),
        (Some(120), Some(60)),
        (Some(100), Some(50)),
        (Some(1), None),
        (Some(0), Some(0)),
        (None, None),
    ] {
        let validity = connection(seconds).validity();
        match due_after {
            Some(after) => {
                assert!(!validity.is_due(NOW + after * 1000 - 1), "{seconds:?}");
                assert!(validity.is_due(NOW + after * 1000), "{seconds:?}");
            }
            None if seconds.is_none() => assert!(!validity.is_due(i64::MAX) && !validity.has_ended(i64::MAX)),
            None => assert!(!validity.is_due(NOW + 499) && validity.is_due(NOW + 500)),
        }
    }
    // Longer than time itself.
    assert!(!connection(Some(u64::MAX)).validity().is_due(NOW + 1_000_000_000_000));
}

#[test]
fn what_is_replaced_is_searched_for_as_long_as_it_could_be_good() {
    let mut connection = connection(Some(3600));
    connection.accept(tokens(2, Some(3600)), NOW + 1000);
    let all = ["!access-token-2", "refresh-token-2", "client-secret-1", "access-token-1", "refresh-token-1"];
    assert_eq!(shown(&connection, NOW + 1000), all);
    let later = NOW + 3_600_000;
    assert!(!shown(&connection, later).contains(&"access-token-1".to_owned()), "it has ended");
    assert!(shown(&connection, later).contains(&"refresh-token-1".to_owned()));
    connection.accept(Tokens { refresh: None, ..tokens(3, None) }, later);
    assert_eq!(*connection.refresh_token().unwrap().as_str(), *"refresh-token-2", "a server that does not rotate");

    for number in 10..40 {
        connection.accept(tokens(number, None), later);
    }
    assert_eq!(connection.earlier.len(), EARLIER);
    assert_eq!(connection.earlier.last().unwrap().token.as_str(), "refresh-token-38");
}

#[test]
fn a_refused_token_is_renewed_once_it_is_old_enough() {
    let mut one = connection(None);
    let validity = one.validity();
    assert!(!one.refused(&validity, NOW + 59_999), "another one would be refused as well");
    assert!(one.refused(&validity, NOW + 60_000));
    assert!(one.validity().is_due(NOW + 60_000) && !one.validity().has_ended(NOW + 60_000));

    one.accept(tokens(2, None), NOW + 70_000);
    assert!(!one.refused(&validity, NOW + 200_000), "it was about another token");
    assert!(!connection(None).refused(&validity, NOW + 200_000), "it was about another connection");
}

#[test]
fn it_is_read_as_it_was_written_and_nothing_else_is() {
    let mut one = connection(Some(3600));
    one.accept(tokens(2, Some(60)), NOW + 1);
    let written = one.write().unwrap();
    let read = Connection::read(&written).unwrap();
    assert_eq!((shown(&read, NOW + 2), read.validity()), (shown(&one, NOW + 2), one.validity()));
    for other in [&b"{}"[..], b"", b"access-token-1", &written[..written.len() - 1]] {
        assert!(Connection::read(other).is_none());
    }
}

#[test]
fn tokens_that_cannot_be_sent_or_hidden_are_refused() {
    assert_eq!(tokens(1, None).check(), Ok(()));
    for token in
        ["", "short", "aaaaaaaaaaaa", "line\r\nx-injected: 1", "caf\u{e9}-caf\u{e9}", &"ab12".repeat(3000)]
    {
        assert!(Tokens { access: text(token), ..tokens(1, None) }.check().is_err(), "{token}");
        assert!(Tokens { refresh: Some(text(token)), ..tokens(1, None) }.check().is_err(), "{token}");
    }
}

#[test]
fn settings_lead_only_where_the_host_may_go() {
    settings().check("TOKEN").unwrap();
    assert!(settings().check("token").is_err());
    for url in [
        "",
        "login.example.com/token",
        "http://login.example.com/token",
        "https://localhost/token",
        "https://127.0.0.1/token",
        "https://user@login.example.com/token",
        "https://login.example.com:22/token",
        "https://*.example.com/token",
        "file:///etc/passwd",
    ] {
        assert!(Settings { token_url: url.to_owned(), ..settings() }.check("TOKEN").is_err(), "{url}");
        assert!(Settings { auth_url: Some(url.to_owned()), ..settings() }.check("TOKEN").is_err(), "{url}");
    }
    assert!(Settings { auth_url: None, ..settings() }.check("TOKEN").is_err());
    assert!(Settings { client_secret: Some(text("short")), ..settings() }.check("TOKEN").is_err());
    let by_client = Settings { grant: GrantType::ClientCredentials, auth_url: None, ..settings() };
    by_client.check("TOKEN").unwrap();
    assert!(Settings { client_secret: None, ..by_client }.check("TOKEN").is_err());
}

//! Renewals under a clock that the test moves, against a server on loopback.

use std::collections::BTreeMap;

use remit_upstream::Upstream;
use remit_upstream::oauth::{CLIENT, HOST, Misbehaviour, Server};
use zeroize::Zeroizing;

use super::super::connection::{ClientAuth, GrantType, Settings};
use super::super::protocol::{Code, authorize, obtain_by_code};
use super::*;
use crate::clock::Clock;
use crate::config::{Config, HttpExceptions, SecretConfig};
use crate::egress::Outside;
use crate::store::Store;

struct Account {
    server: Server,
    clock: Arc<Clock>,
    vault: Arc<Vault>,
    connections: Arc<Connections>,
    config: Config,
    _login: Upstream,
    _home: tempfile::TempDir,
}

impl Account {
    /// Connected under `TOKEN`, for an hour.
    async fn connected() -> Self {
        let server = Server::default();
        server.lifetime(Some(3600));
        let answering = server.clone();
        let login = Upstream::start(&[HOST], move |seen| answering.answer(seen));
        let home = tempfile::tempdir().unwrap();
        let authority = home.path().join("login.pem");
        std::fs::write(&authority, login.authority_pem()).unwrap();
        let http = HttpExceptions {
            ca: vec![authority],
            connect: BTreeMap::from([(format!("{HOST}:443"), login.address())]),
            ..HttpExceptions::default()
        };
        let secret = BTreeMap::from([("TOKEN".to_owned(), SecretConfig { http })]);
        let config = Config { secret, ..Config::default() };
        let clock = Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)));
        let store = Store::open(home.path(), Arc::clone(&clock)).unwrap();
        let vault = Arc::new(Vault::new(home.path(), store));
        let connections = Self::of_another_process(&vault, &config);
        let account = Self { server, clock, vault, connections, config, _login: login, _home: home };
        account.connect().await;
        account
    }

    fn of_another_process(vault: &Arc<Vault>, config: &Config) -> Arc<Connections> {
        let own = Own::configured(config, &Outside::system()).unwrap();
        Arc::new(Connections::new(Arc::clone(vault), own))
    }

    async fn connect(&self) {
        let settings = Settings {
            grant: GrantType::AuthorizationCode,
            token_url: format!("https://{HOST}/token"),
            auth_url: Some(format!("https://{HOST}/authorize")),
            client_id: CLIENT.to_owned(),
            client_secret: None,
            auth: ClientAuth::Basic,
            scopes: Vec::new(),
            audience: None,
            resource: None,
            issuer: None,
            port: None,
        };
        let authorization = authorize(&settings, "http://127.0.0.1:1/callback").unwrap();
        let back = url::Url::parse(&self.server.authorize(&authorization.url)).unwrap();
        let code = back.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
        let asker = Asker::new(Arc::clone(&self.connections.own), "TOKEN", &settings);
        let consent = (authorization, Code(Zeroizing::new(code)));
        let connection = obtain_by_code(&asker, &settings, consent, self.vault.now_ms()).await.unwrap();
        self.vault.set_connection("TOKEN", &connection).unwrap();
    }

    fn after(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    async fn turn(&self) -> Renewal {
        self.connections.turn("TOKEN").await.unwrap().expect("it is due")
    }

    async fn is_settled(&self) -> bool {
        matches!(self.connections.turn("TOKEN").await, Ok(None))
    }

    fn stored(&self) -> Connection {
        self.vault.connection("TOKEN").unwrap().unwrap()
    }
}

#[tokio::test]
async fn each_renewal_uses_the_refresh_token_of_the_one_before() {
    let account = Account::connected().await;
    for renewal in 1..=3 {
        account.after(3539);
        assert!(account.is_settled().await, "a minute before its end, and not earlier");
        account.after(1);
        let (record, renewed) = account.turn().await.run().await;
        assert_eq!((renewed, record.status), (Ok(()), Some(200)));
        assert!(account.is_settled().await);
        assert_eq!((account.server.token_requests(), account.server.refused()), (1 + renewal, 0));
    }
}

#[tokio::test]
async fn after_a_failure_nobody_asks_for_a_while_unless_a_person_connects_again() {
    let account = Account::connected().await;
    account.after(3600);
    account.server.misbehave(Misbehaviour::Page(503));
    let (record, failed) = account.turn().await.run().await;
    assert_eq!(record.status, Some(503));
    let why = failed.unwrap_err();
    account.after(29);
    assert_eq!(account.connections.turn("TOKEN").await.err(), Some(why));
    assert_eq!(account.server.token_requests(), 2);
    account.after(1);
    account.server.misbehave(Misbehaviour::Error("invalid_grant"));
    assert_eq!(account.turn().await.run().await.1, Err(Unrenewed::GrantEnded));

    account.server.lifetime(Some(0));
    account.connect().await;
    account.server.lifetime(Some(3600));
    assert_eq!(account.turn().await.run().await.1, Ok(()), "at once");
}

#[tokio::test]
async fn a_renewal_brings_nothing_back_and_overwrites_nothing() {
    let account = Account::connected().await;
    account.after(3600);
    let renewal = account.turn().await;
    account.vault.remove("TOKEN").unwrap();
    assert_eq!(renewal.run().await.1, Ok(()));
    assert!(account.vault.connection("TOKEN").unwrap().is_none(), "removed meanwhile");

    account.connect().await;
    account.after(3600);
    let renewal = account.turn().await;
    account.connect().await;
    let by_person = account.stored().validity();
    renewal.run().await.1.unwrap_err();
    assert_eq!(account.stored().validity(), by_person, "made by a person meanwhile");

    account.connect().await;
    account.after(3600);
    let renewal = account.turn().await;
    account.vault.set("TOKEN", b"a-value-of-another-kind").unwrap();
    renewal.run().await.1.unwrap();
    assert!(account.vault.connection("TOKEN").unwrap().is_none(), "a value of another kind meanwhile");
}

#[tokio::test]
async fn a_new_key_meanwhile_loses_no_token() {
    let account = Account::connected().await;
    account.after(3600);
    let renewal = account.turn().await;
    account.vault.rotate_key().unwrap();
    assert_eq!(renewal.run().await.1, Ok(()));
    assert!(account.is_settled().await);
    account.after(3600);
    assert_eq!(account.turn().await.run().await.1, Ok(()));
    assert_eq!(account.server.refused(), 0);
}

#[tokio::test]
async fn another_process_waits_and_then_finds_it_done() {
    let account = Account::connected().await;
    account.after(3600);
    let other = Account::of_another_process(&account.vault, &account.config);
    let renewal = account.turn().await;
    let waiting = tokio::spawn(async move { matches!(other.turn("TOKEN").await, Ok(None)) });
    renewal.run().await.1.unwrap();
    assert!(waiting.await.unwrap());
    assert_eq!(account.server.token_requests(), 2);
}

#[tokio::test]
async fn a_token_that_an_upstream_refuses_is_renewed_once_it_is_old_enough() {
    let account = Account::connected().await;
    let validity = account.stored().validity();
    account.after(59);
    account.connections.refused("TOKEN", validity.clone()).await;
    assert!(account.is_settled().await, "it is too young");
    account.after(1);
    account.connections.refused("TOKEN", validity.clone()).await;
    assert_eq!(account.turn().await.run().await.1, Ok(()));
    account.after(60);
    account.connections.refused("TOKEN", validity).await;
    assert!(account.is_settled().await, "that was about the one before");
}

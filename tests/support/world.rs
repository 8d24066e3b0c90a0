//! `test/probe` and the upstream that it reaches: a guest that repeats all it gets to know, and a server that
//! answers what the test wants.

use std::net::SocketAddr;
use std::sync::Arc;

use remit::call::{Failure, Reply};
use remit::clock::Clock;
use remit::policy::{Approval, Place};
use remit_upstream::{Answer, Seen, Upstream};
use serde_json::{Value, json};

use super::home::{Home, built, renamed};
use super::outside::Outside;

/// The host that `test/probe` may ask.
pub(crate) const HOST: &str = "api.example.com";
/// The value of its secret.
pub(crate) const SECRET: &str = "sk_live_8Zq2pV7wXcT4nLrB";

/// The names that the upstream has a certificate for.
const NAMES: [&str; 3] = [HOST, "files.cdn.example.com", "b.example.com"];
/// What may be asked for and is at the upstream, besides [`HOST`] at its usual port.
const OTHERS: [&str; 4] =
    ["api.example.com:8443", "files.cdn.example.com:443", "b.example.com:443", "other.example.com:443"];

/// An upstream, and a home whose `test/probe` reaches it.
pub(crate) struct World {
    pub(crate) home: Home,
    pub(crate) upstream: Upstream,
    pub(crate) outside: Arc<Outside>,
}

impl World {
    pub(crate) fn new(answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        Self::with_settings("", answer)
    }

    /// With settings besides those that lead to the upstream.
    pub(crate) fn with_settings(more: &str, answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        Self::at(Arc::new(Clock::system()), more, answer)
    }

    /// Where it is as late as this clock says.
    pub(crate) fn at(
        clock: Arc<Clock>,
        more: &str,
        answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::before(clock, more, Upstream::start(&NAMES, answer))
    }

    /// With an upstream that answers with bytes.
    pub(crate) fn raw(answer: impl Fn(&Seen) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Self {
        // As many requests as a table has rows.
        let settings = "[http]\nper-minute = 100000\n";
        Self::before(Arc::new(Clock::system()), settings, Upstream::raw(&NAMES, answer))
    }

    /// With a plain server behind the upstream's TLS.
    pub(crate) fn in_front_of(server: SocketAddr) -> Self {
        Self::before(Arc::new(Clock::system()), "", Upstream::in_front_of(&NAMES, server))
    }

    fn before(clock: Arc<Clock>, more: &str, upstream: Upstream) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let authority = folder.path().join("upstream.pem");
        std::fs::write(&authority, upstream.authority_pem()).expect("room");
        let address = upstream.address();
        let others: String = OTHERS.iter().map(|other| format!(", \"{other}\" = \"{address}\"")).collect();
        let mut settings = more.to_owned();
        for capability in ["test/probe", "test/other-probe", "other/probe", "test/scribe"] {
            let lines = upstream.settings(capability, HOST, &authority);
            settings.push_str(&lines.replace(" }\n", &format!("{others} }}\n")));
        }
        std::fs::write(folder.path().join("remit.toml"), settings).expect("room");
        let outside = Outside::at(address);
        Self { home: Home::open_in(folder, outside.wired(), clock), upstream, outside }
    }

    pub(crate) fn echo() -> Self {
        Self::new(echo)
    }

    pub(crate) fn granted(self) -> Self {
        self.home.install(built("probe"));
        self
    }

    /// The probe with another manifest.
    pub(crate) fn granted_as(self, change: impl FnOnce(&mut Value)) -> Self {
        self.home.install(renamed(&built("probe"), change));
        self
    }

    pub(crate) fn with_secret(self, host: &str, places: &[Place]) -> Self {
        self.set("API_KEY", SECRET);
        let approvals: Vec<_> = places.iter().map(|place| approval("API_KEY", host, 443, place)).collect();
        self.approve("test/probe", &approvals);
        self
    }

    /// Stores a value.
    pub(crate) fn set(&self, name: &str, value: &str) {
        self.home.app.admin().set_secret(name, value.as_bytes()).expect("a good secret");
    }

    pub(crate) fn approve(&self, capability: &str, approvals: &[Approval]) {
        let capability = capability.parse().expect("a name");
        self.home.app.admin().approve(&capability, approvals).expect("within the manifest");
    }

    pub(crate) fn fetch(&self, arguments: &Value) -> Result<Reply, Failure> {
        self.home.call("test/probe.fetch", arguments)
    }

    /// The requests that the last call's record knows.
    pub(crate) fn recorded(&self) -> Vec<String> {
        self.home.records()[0]
            .requests
            .iter()
            .map(|request| format!("{} {} {}", request.method, request.authority, request.outcome))
            .collect()
    }
}

/// The value stored under its own name, to this host and port, in this place.
pub(crate) fn approval(secret: &str, host: &str, port: u16, place: &Place) -> Approval {
    Approval {
        secret: secret.to_owned(),
        source: secret.to_owned(),
        host: host.to_owned(),
        port,
        place: place.clone(),
        expires_at: None,
    }
}

/// The field in which most APIs want their key.
pub(crate) fn authorization() -> Place {
    Place::Header("authorization".to_owned())
}

/// Answers with everything it got.
pub(crate) fn echo(seen: &Seen) -> Answer {
    let headers: serde_json::Map<String, Value> =
        seen.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    let body = String::from_utf8_lossy(&seen.body).into_owned();
    Answer::json(200, &json!({ "method": seen.method, "path": seen.path, "headers": headers, "body": body }))
}

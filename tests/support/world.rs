//! `test/probe` and the upstream that it reaches: a guest that repeats all it gets to know, and a server that
//! answers what the test wants.

use std::sync::Arc;

use remit::call::{Failure, Reply};
use remit::clock::Clock;
use remit::policy::{Approval, Place};
use remit_upstream::{Answer, Seen, Upstream};
use serde_json::{Value, json};

use super::home::{Home, built};

/// The host that `test/probe` may ask.
pub(crate) const HOST: &str = "api.example.com";
/// The value of its secret.
pub(crate) const SECRET: &str = "sk_live_8Zq2pV7wXcT4nLrB";

/// An upstream that answers with everything it got, and a home whose `test/probe` reaches it.
pub(crate) struct World {
    pub(crate) home: Home,
    pub(crate) upstream: Upstream,
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
        let upstream = Upstream::start(&[HOST, "files.cdn.example.com"], answer);
        let folder = tempfile::tempdir().expect("a scratch folder");
        let authority = folder.path().join("upstream.pem");
        std::fs::write(&authority, upstream.authority_pem()).expect("room");
        let address = upstream.address();
        let others = format!(
            ", \"files.cdn.example.com:443\" = \"{address}\", \"other.example.com:443\" = \"{address}\" }}\n"
        );
        let mut settings = more.to_owned();
        for capability in ["test/probe", "test/other-probe"] {
            settings.push_str(&upstream.settings(capability, HOST, &authority).replace(" }\n", &others));
        }
        std::fs::write(folder.path().join("remit.toml"), settings).expect("room");
        Self { home: Home::open_at(folder, clock), upstream }
    }

    pub(crate) fn echo() -> Self {
        Self::new(|seen| {
            let headers: serde_json::Map<String, Value> =
                seen.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
            let body = String::from_utf8_lossy(&seen.body).into_owned();
            Answer::json(
                200,
                &json!({ "method": seen.method, "path": seen.path, "headers": headers, "body": body }),
            )
        })
    }

    pub(crate) fn granted(self) -> Self {
        self.home.install(built("probe"));
        self
    }

    pub(crate) fn with_secret(self, host: &str, places: &[Place]) -> Self {
        let admin = self.home.app.admin();
        admin.set_secret("API_KEY", SECRET.as_bytes()).expect("a good secret");
        let approvals: Vec<Approval> = places
            .iter()
            .map(|place| Approval {
                secret: "API_KEY".to_owned(),
                source: "API_KEY".to_owned(),
                host: host.to_owned(),
                port: 443,
                place: place.clone(),
            })
            .collect();
        admin.approve(&"test/probe".parse().expect("a name"), &approvals).expect("within the manifest");
        self
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

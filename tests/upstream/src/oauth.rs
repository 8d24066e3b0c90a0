//! An authorization server (RFC 6749, 7636): consent that is given at once, and a token endpoint that checks what
//! it is sent, rotates refresh tokens, and misbehaves when a test says so.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use serde_json::json;
use url::Url;

use crate::{Answer, Seen};

/// The name it is reached by.
pub const HOST: &str = "login.example.com";
/// The client that it knows.
pub const CLIENT: &str = "remit-client";
/// That client's secret. Form encoding changes it.
pub const CLIENT_SECRET: &str = "cs+Yq3/7TnWb9=Lx2&Rd";

/// What the token endpoint does once instead of what it should.
#[derive(Clone, Debug)]
pub enum Misbehaviour {
    /// An error with this code, which quotes the whole request, and then this header field and body.
    Error(&'static str),
    /// 200 with an error in it.
    OkError,
    /// A page of HTML with this status.
    Page(u16),
    /// A body that does not end before this many bytes.
    Huge(usize),
    /// Sends elsewhere.
    Redirect(String),
    /// A token of another type.
    Type(&'static str),
    /// This access token.
    Access(&'static str),
    /// An answer without an access token.
    NoToken,
    /// An empty 200.
    Empty,
}

/// The server. Cheap to clone: all clones are one.
#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    codes: HashMap<String, Consent>,
    refresh: Option<String>,
    misbehave: VecDeque<Misbehaviour>,
    /// Seconds that the next tokens live; none is said when there is none.
    lifetime: Option<u64>,
    delay: Duration,
    keeps_refresh: bool,
    no_refresh: bool,
    issuer: Option<String>,
    issued: Vec<String>,
    token_requests: usize,
    refused: usize,
}

struct Consent {
    challenge: String,
    redirect: String,
}

impl Server {
    /// What it answers to a request.
    #[must_use]
    pub fn answer(&self, seen: &Seen) -> Answer {
        match (seen.method.as_str(), seen.path.split('?').next().unwrap_or_default()) {
            ("GET", "/authorize") => {
                let location = self.authorize(&format!("https://{HOST}{}", seen.path));
                Answer::new(302, "text/plain", "").header("location", &location)
            }
            ("POST", "/token") => self.token(seen),
            _ => Answer::new(404, "text/plain", "nothing here"),
        }
    }

    /// Where the browser of somebody who allows it is sent.
    ///
    /// # Panics
    /// When the request is not one of a client that does as the standards say.
    #[must_use]
    pub fn authorize(&self, url: &str) -> String {
        let url = Url::parse(url).expect("a URL");
        let query: HashMap<String, String> = url.query_pairs().into_owned().collect();
        assert_eq!((query["response_type"].as_str(), query["client_id"].as_str()), ("code", CLIENT));
        assert_eq!(query["code_challenge_method"], "S256");
        let redirect = &query["redirect_uri"];
        assert!(redirect.starts_with("http://127.0.0.1:"), "{redirect}");
        let mut state = self.state();
        let code = state.issue("code");
        let consent = Consent { challenge: query["code_challenge"].clone(), redirect: redirect.clone() };
        state.codes.insert(code.clone(), consent);
        let mut back = Url::parse(redirect).expect("a URL");
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", &query["state"]);
        if let Some(issuer) = &state.issuer {
            back.query_pairs_mut().append_pair("iss", issuer);
        }
        back.into()
    }

    /// Seconds that the next tokens live; with `None` the server does not say.
    pub fn lifetime(&self, seconds: Option<u64>) {
        self.state().lifetime = seconds;
    }

    /// Waits so long before each answer of the token endpoint.
    pub fn delay(&self, delay: Duration) {
        self.state().delay = delay;
    }

    /// Does this with the next request to the token endpoint.
    pub fn misbehave(&self, how: Misbehaviour) {
        self.state().misbehave.push_back(how);
    }

    /// Keeps the refresh token when it is used, and sends none along.
    pub fn keep_refresh_tokens(&self) {
        self.state().keeps_refresh = true;
    }

    /// Gives no refresh tokens at all.
    pub fn give_no_refresh_tokens(&self) {
        self.state().no_refresh = true;
    }

    /// Says that it is this one when it sends the browser back.
    pub fn name_itself(&self, issuer: &str) {
        self.state().issuer = Some(issuer.to_owned());
    }

    /// Forgets what was allowed, as when a person takes it back.
    pub fn revoke(&self) {
        self.state().refresh = None;
    }

    /// All codes and tokens so far.
    #[must_use]
    pub fn issued(&self) -> Vec<String> {
        self.state().issued.clone()
    }

    /// How many requests the token endpoint got.
    #[must_use]
    pub fn token_requests(&self) -> usize {
        self.state().token_requests
    }

    /// How many of them it refused, without being told to.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.state().refused
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn token(&self, seen: &Seen) -> Answer {
        let mut state = self.state();
        state.token_requests += 1;
        let mut answer = match state.misbehave.pop_front() {
            Some(how) => state.misbehaving(how, seen),
            None => state.grant(seen),
        };
        answer.delay = state.delay;
        answer
    }
}

impl State {
    fn issue(&mut self, kind: &str) -> String {
        let value = format!("{kind}-{:03}-tK7vZq2LxB9mWd4R", self.issued.len());
        self.issued.push(value.clone());
        value
    }

    fn refuse(&mut self, error: &str) -> Answer {
        self.refused += 1;
        Answer::json(400, &json!({ "error": error, "error_description": "no" }))
    }

    fn grant(&mut self, seen: &Seen) -> Answer {
        let form: HashMap<String, String> = url::form_urlencoded::parse(&seen.body).into_owned().collect();
        let (client, secret) = match seen.header("authorization").and_then(|field| field.strip_prefix("Basic ")) {
            Some(field) => basic(field),
            None => (form.get("client_id").cloned(), form.get("client_secret").cloned()),
        };
        if client.as_deref() != Some(CLIENT) || secret.as_deref().is_some_and(|secret| secret != CLIENT_SECRET) {
            return self.refuse("invalid_client");
        }
        let field = |name: &str| form.get(name).cloned().unwrap_or_default();
        match field("grant_type").as_str() {
            "client_credentials" if secret.is_some() => self.tokens(false),
            "authorization_code" => {
                let Some(consent) = self.codes.remove(&field("code")) else { return self.refuse("invalid_grant") };
                let hash = digest(&SHA256, field("code_verifier").as_bytes());
                let challenge = BASE64_URL_SAFE_NO_PAD.encode(hash);
                if challenge != consent.challenge || field("redirect_uri") != consent.redirect {
                    return self.refuse("invalid_grant");
                }
                self.tokens(true)
            }
            "refresh_token" if self.refresh.as_deref() == Some(&field("refresh_token")) => self.tokens(true),
            // One that was used before, too: somebody has stolen it, so nobody gets anything any more.
            "refresh_token" => {
                self.refresh = None;
                self.refuse("invalid_grant")
            }
            _ => self.refuse("unsupported_grant_type"),
        }
    }

    fn tokens(&mut self, with_refresh: bool) -> Answer {
        let mut answer = json!({ "access_token": self.issue("access"), "token_type": "Bearer" });
        if let Some(lifetime) = self.lifetime {
            answer["expires_in"] = json!(lifetime);
        }
        let is_kept = self.keeps_refresh && self.refresh.is_some();
        if with_refresh && !is_kept && !self.no_refresh {
            let refresh = self.issue("refresh");
            answer["refresh_token"] = json!(refresh);
            self.refresh = Some(refresh);
        }
        Answer::json(200, &answer)
    }

    fn misbehaving(&mut self, how: Misbehaviour, seen: &Seen) -> Answer {
        let quoted = format!("{} {:?}", String::from_utf8_lossy(&seen.body), seen.headers);
        match how {
            Misbehaviour::Error(code) => Answer::json(
                400,
                &json!({ "error": code, "error_description": quoted, "error_uri": format!("https://x/?{quoted}") }),
            )
            .header("x-request", &BASE64_STANDARD.encode(&quoted)),
            Misbehaviour::OkError => Answer::json(200, &json!({ "error": "bad", "error_description": quoted })),
            Misbehaviour::Page(status) => Answer::new(status, "text/html", format!("<p>{quoted}</p>")),
            Misbehaviour::Huge(bytes) => Answer::json(200, &json!({ "access_token": "x".repeat(bytes) })),
            Misbehaviour::Redirect(url) => Answer::new(307, "text/plain", "").header("location", &url),
            Misbehaviour::Type(kind) => {
                Answer::json(200, &json!({ "access_token": self.issue("access"), "token_type": kind }))
            }
            Misbehaviour::Access(token) => {
                Answer::json(200, &json!({ "access_token": token, "token_type": "bearer" }))
            }
            Misbehaviour::NoToken => Answer::json(200, &json!({ "token_type": "bearer", "message": quoted })),
            Misbehaviour::Empty => Answer::new(200, "application/json", ""),
        }
    }
}

/// Client id and secret of a `Basic` field, each form-encoded before they were joined (RFC 6749, 2.3.1).
fn basic(field: &str) -> (Option<String>, Option<String>) {
    let decoded = BASE64_STANDARD.decode(field).unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded).into_owned();
    let decode = |part: &str| {
        let pair = format!("x={part}");
        url::form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned())
    };
    text.split_once(':').map_or((None, None), |(client, secret)| (decode(client), decode(secret)))
}

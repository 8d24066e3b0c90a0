//! Who knocks at the HTTP door: whoever shows a token of a principal, the home's own token, or an access token of a
//! configured issuer; or anyone on this machine if the operator said so in so many words.
//!
//! Each request is asked anew, also within a session: a token that was taken back opens nothing from then on. This
//! file does not decide what a principal may call, and not what an access token is worth: that is `oauth/`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use ring::hmac;
use ring::rand::SystemRandom;

use super::oauth::{Issuers, Refusal, Verified};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{HTTP, Identity};

/// The fewest characters of a token: 128 bits in hexadecimal. Nothing slows down who guesses.
const MIN_TOKEN: usize = 32;

/// How a client that is no stored principal shows that it may call, as the principal `http`.
#[derive(Clone, Debug)]
pub enum Auth {
    /// By this token.
    Bearer(Token),
    /// By being a process of this machine. Only on a loopback address.
    LoopbackWithoutToken,
}

/// All by which somebody is known at this door.
pub(super) struct Known {
    pub(super) auth: Auth,
    /// Whose stored token somebody shows, asked afresh each time.
    pub(super) stored: Arc<WhoseToken>,
    /// Whose access tokens are taken besides.
    pub(super) issuers: Option<Issuers>,
}

/// Who was let in, and what they showed for it.
pub(super) struct Admitted {
    pub(super) identity: Identity,
    /// The access token by which they are known.
    token: Option<Verified>,
    shown: HeaderMap,
}

/// Looks a token up.
pub(super) type WhoseToken = dyn Fn(&[u8]) -> Result<Option<Identity>> + Send + Sync;

/// What a request shows of who sends it.
#[derive(Debug, PartialEq, Eq)]
enum Shown<'a> {
    Nothing,
    Token(&'a [u8]),
    /// Something that is not one bearer token.
    Other,
}

/// A bearer token. Only a digest under a random key is kept, so comparing takes the same time for every wrong
/// one, and printing it gives nothing away.
#[derive(Clone)]
pub struct Token(Arc<Digest>);

struct Digest {
    key: hmac::Key,
    tag: hmac::Tag,
}

impl Auth {
    /// Whether this may guard a door at `address`.
    pub(crate) fn check_address(&self, address: SocketAddr) -> Result<()> {
        match self {
            Self::LoopbackWithoutToken if !address.ip().is_loopback() => Err(Error::new(
                ErrorKind::Config,
                format!("`{address}` can be reached from other machines, so it needs a token"),
            )
            .hint("set a token, or serve on `127.0.0.1`")),
            Self::Bearer(_) | Self::LoopbackWithoutToken => Ok(()),
        }
    }

    /// Lets in whoever shows the token, where nobody needs to be somebody; or says what to answer.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<(), Response> {
        match (self, shown(headers)) {
            (Self::Bearer(token), Shown::Token(shown)) if token.is(shown) => Ok(()),
            (Self::LoopbackWithoutToken, _) => Ok(()),
            (Self::Bearer(_), _) => Err(unauthorized(headers)),
        }
    }
}

impl Known {
    /// Whether this may guard a door at `address`.
    pub(super) fn check(&self, address: SocketAddr) -> Result<()> {
        self.auth.check_address(address)?;
        if self.issuers.is_some() && matches!(self.auth, Auth::LoopbackWithoutToken) {
            let message = "with `[[serve.issuer]]` clients need a token";
            return Err(Error::new(ErrorKind::Config, message).hint("leave `--no-token` out"));
        }
        Ok(())
    }

    /// Who sends a request with these header fields to `path`, and the access token by which that is known; or what
    /// to answer. Stored tokens come first, so no issuer delays them.
    async fn identify(&self, headers: &HeaderMap, path: &str) -> Result<(Identity, Option<Verified>), Response> {
        match self.identity(headers) {
            Ok(Some(identity)) => return Ok((identity, None)),
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%error, detail = ?error.detail, "a token could not be looked up");
                let kind = error.kind;
                let text = format!("{}: {}", kind.code(), kind.meaning());
                return Err((StatusCode::SERVICE_UNAVAILABLE, text).into_response());
            }
        }
        let Some(issuers) = &self.issuers else { return Err(unauthorized(headers)) };
        let Shown::Token(token) = shown(headers) else { return Err(issuers.resource().no_token(path)) };
        let verified = match std::str::from_utf8(token) {
            Ok(token) => issuers.verify(token, path).await,
            Err(_) => Err(Refusal::Invalid("it is no text")),
        };
        match verified {
            Ok(verified) => Ok((verified.identity.clone(), Some(verified))),
            Err(refusal) => {
                tracing::debug!("an access token was refused: {refusal}");
                Err(issuers.resource().refusal(path, refusal))
            }
        }
    }

    /// Lets a request in with its [`Identity`] beside it, or refuses it. Nothing behind this needs the token, so it is
    /// taken out and nothing can pass it on.
    pub(super) async fn admit(&self, request: &mut Request) -> Result<Admitted, Response> {
        let shown = without_token(request.headers_mut());
        let (identity, token) = self.identify(&shown, request.uri().path()).await?;
        request.extensions_mut().insert(identity.clone());
        Ok(Admitted { identity, token, shown })
    }

    /// Whether what somebody showed still stands for who they were.
    pub(super) fn still_knows(&self, Admitted { identity, token, shown }: &Admitted) -> bool {
        match (token, &self.issuers) {
            (Some(token), Some(issuers)) => !issuers.has_ended(token),
            (Some(_), None) => false,
            (None, _) => matches!(self.identity(shown), Ok(Some(now)) if now.principal == identity.principal),
        }
    }

    /// Who sends a request with these header fields; nobody, when what they show is not right. Whoever shows a
    /// token is whom the token means or nobody, also where a token is not needed: one that was taken back must not
    /// turn into another principal.
    fn identity(&self, headers: &HeaderMap) -> Result<Option<Identity>> {
        let shown = match (shown(headers), &self.auth) {
            (Shown::Token(shown), _) => shown,
            (Shown::Nothing, Auth::LoopbackWithoutToken) => return Ok(Some(Identity::stored(HTTP))),
            (Shown::Nothing | Shown::Other, _) => return Ok(None),
        };
        if let Auth::Bearer(token) = &self.auth
            && token.is(shown)
        {
            return Ok(Some(Identity::stored(HTTP)));
        }
        (self.stored)(shown)
    }
}

impl Token {
    /// Takes a token of at least 32 visible ASCII characters.
    pub fn new(token: &str) -> Result<Self> {
        if token.len() < MIN_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("a token must be at least {MIN_TOKEN} visible ASCII characters");
            return Err(Error::new(ErrorKind::Config, message).hint("make one: `openssl rand -hex 32`"));
        }
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| Error::internal("the system gave no random bytes"))?;
        let tag = hmac::sign(&key, token.as_bytes());
        Ok(Self(Arc::new(Digest { key, tag })))
    }

    fn is(&self, shown: &[u8]) -> bool {
        hmac::verify(&self.0.key, shown, self.0.tag.as_ref()).is_ok()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(…)")
    }
}

/// Takes what shows who sends a request out of its header fields.
fn without_token(headers: &mut HeaderMap) -> HeaderMap {
    let mut shown = HeaderMap::new();
    for field in headers.get_all(AUTHORIZATION) {
        shown.append(AUTHORIZATION, field.clone());
    }
    headers.remove(AUTHORIZATION);
    shown
}

fn unauthorized(headers: &HeaderMap) -> Response {
    // RFC 6750: the error is named only to who showed a token.
    let challenge = match shown(headers) {
        Shown::Token(_) => "Bearer realm=\"remit\", error=\"invalid_token\"",
        Shown::Nothing | Shown::Other => "Bearer realm=\"remit\"",
    };
    let code = ErrorKind::Unauthorized.code();
    let text = format!("{code}: {}", ErrorKind::Unauthorized.meaning());
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, challenge)], text).into_response()
}

/// What the one `Authorization` field shows. Two fields show nothing that counts: who reads the other one?
fn shown(headers: &HeaderMap) -> Shown<'_> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let field = match (fields.next(), fields.next()) {
        (None, _) => return Shown::Nothing,
        (Some(field), None) => field.as_bytes(),
        (Some(_), Some(_)) => return Shown::Other,
    };
    match field.split_at_checked("Bearer ".len()) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"Bearer ") => Shown::Token(token.trim_ascii()),
        _ => Shown::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_token_is_long_and_plain() {
        for good in [TOKEN, "~".repeat(32).as_str(), "x".repeat(500).as_str()] {
            assert!(Token::new(good).is_ok(), "{good}");
        }
        for bad in ["", &TOKEN[1..], &TOKEN.replace('0', " "), &TOKEN.replace('0', "é"), &TOKEN.replace('0', "\n")]
        {
            assert_eq!(Token::new(bad).unwrap_err().kind, ErrorKind::Config, "{bad}");
        }
    }

    #[test]
    fn a_token_is_not_printed() {
        let auth = Auth::Bearer(Token::new(TOKEN).unwrap());
        assert_eq!(format!("{auth:?}"), "Bearer(Token(…))");
    }

    /// A door where `rmt_ada` is ada's.
    fn known(auth: Auth) -> Known {
        let stored = |shown: &[u8]| match shown {
            b"rmt_ada" => Ok(Some(Identity::stored("ada"))),
            b"rmt_broken" => Err(Error::internal("the store is gone")),
            _ => Ok(None),
        };
        Known { auth, stored: Arc::new(stored), issuers: None }
    }

    #[test]
    fn a_token_opens_for_whom_it_means_and_nothing_else_opens() {
        let (http, ada) = (Some("http"), Some("ada"));
        let own = format!("Bearer {TOKEN}");
        // The fields, who that is where a token is needed, and where none is.
        let cases: [(&[&str], Option<&str>, Option<&str>); 24] = [
            (&[], None, http),
            (&[&own], http, None),
            (&[&format!("bearer {TOKEN}")], http, None),
            (&[&format!("BEARER   {TOKEN} ")], http, None),
            (&["Bearer rmt_ada"], ada, ada),
            (&["bearer \t rmt_ada\t"], ada, ada),
            (&["Bearer rmt_ad a"], None, None),
            (&["Bearer rmt_ada rmt_ada"], None, None),
            (&["Bearer rmt_Ada"], None, None),
            (&["Bearer rmt_ada,"], None, None),
            (&["Bearer \"rmt_ada\""], None, None),
            (&["Basic rmt_ada"], None, None),
            (&["rmt_ada"], None, None),
            (&["Bearer rmt_taken-back"], None, None),
            (&[TOKEN], None, None),
            (&["Bearer"], None, None),
            (&["Bearer "], None, None),
            (&[""], None, None),
            (&[&format!("Bearer{TOKEN}")], None, None),
            (&[&format!("Bearer {TOKEN}x")], None, None),
            (&[&format!("Bearer {}", TOKEN.to_uppercase())], None, None),
            (&[&own, &own], None, None),
            (&["Bearer rmt_ada", &own], None, None),
            (&["Bearer wrong", "Bearer rmt_ada"], None, None),
        ];
        let (with, without) = (known(Auth::Bearer(Token::new(TOKEN).unwrap())), known(Auth::LoopbackWithoutToken));
        for (fields, needed, not_needed) in cases {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(AUTHORIZATION, field.parse().unwrap());
            }
            for (known, expected) in [(&with, needed), (&without, not_needed)] {
                let identity = known.identity(&headers).unwrap();
                assert_eq!(identity, expected.map(Identity::stored), "{fields:?}");
            }
        }
    }

    #[test]
    fn a_store_that_fails_opens_for_nobody() {
        let mut headers = HeaderMap::new();
        headers.append(AUTHORIZATION, "Bearer rmt_broken".parse().unwrap());
        assert!(known(Auth::LoopbackWithoutToken).identity(&headers).is_err());
    }

    #[test]
    fn other_machines_need_a_token() {
        let token = Auth::Bearer(Token::new(TOKEN).unwrap());
        let cases = [
            ("127.0.0.1:80", true),
            ("127.9.9.9:0", true),
            ("[::1]:80", true),
            ("0.0.0.0:80", false),
            ("[::]:80", false),
            ("192.168.1.5:80", false),
            ("[::ffff:192.168.1.5]:80", false),
            ("[fe80::1]:80", false),
        ];
        for (address, is_loopback) in cases {
            let address = address.parse().unwrap();
            assert!(token.check_address(address).is_ok(), "{address}");
            let without = Auth::LoopbackWithoutToken.check_address(address);
            assert_eq!(
                without.map_err(|error| error.kind),
                if is_loopback { Ok(()) } else { Err(ErrorKind::Config) }
            );
        }
    }
}

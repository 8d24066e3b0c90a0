//! Who may knock at the HTTP door: whoever shows the bearer token or an access token of a configured issuer, or anyone
//! on this machine if the operator said so in so many words.
//!
//! One token stands for one principal. This file does not decide what a principal may call, and not what an access
//! token is worth: that is `oauth/`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use ring::hmac;
use ring::rand::SystemRandom;

use super::PRINCIPAL;
use super::oauth::{Issuers, Refusal};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::Identity;

/// The fewest characters of a token: 128 bits in hexadecimal. Nothing slows down who guesses.
const MIN_TOKEN: usize = 32;

/// How a client of the HTTP door shows who it is.
#[derive(Clone, Debug)]
pub enum Auth {
    /// Every request carries this token.
    Bearer(Token),
    /// Any process of this machine may call. Only on a loopback address.
    LoopbackWithoutToken,
}

/// A bearer token. Only a digest under a random key is kept, so comparing takes the same time for every wrong
/// one, and printing it gives nothing away.
#[derive(Clone)]
pub struct Token(Arc<Digest>);

struct Digest {
    key: hmac::Key,
    tag: hmac::Tag,
}

/// Who a request comes from. Sessions belong to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Principal(pub(super) String);

impl Auth {
    /// Whether this may guard a door at `address`.
    pub(super) fn check_address(&self, address: SocketAddr) -> Result<()> {
        match self {
            Self::LoopbackWithoutToken if !address.ip().is_loopback() => Err(Error::new(
                ErrorKind::Config,
                format!("`{address}` can be reached from other machines, so it needs a token"),
            )
            .hint("set a token, or serve on `127.0.0.1`")),
            Self::Bearer(_) | Self::LoopbackWithoutToken => Ok(()),
        }
    }

    fn principal(&self, headers: &HeaderMap) -> Option<Principal> {
        let is_known = match self {
            Self::LoopbackWithoutToken => true,
            Self::Bearer(token) => bearer(headers).is_some_and(|shown| token.is(shown)),
        };
        is_known.then(|| Principal(PRINCIPAL.to_owned()))
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

/// All that can open one door.
#[derive(Clone)]
pub(super) struct Guard {
    pub(super) auth: Auth,
    pub(super) issuers: Option<Issuers>,
}

impl Guard {
    /// Whether this may guard a door at `address`.
    pub(super) fn check(&self, address: SocketAddr) -> Result<()> {
        self.auth.check_address(address)?;
        if self.issuers.is_some() && matches!(self.auth, Auth::LoopbackWithoutToken) {
            let message = "with `[[serve.issuer]]` clients need a token";
            return Err(Error::new(ErrorKind::Config, message).hint("leave `--no-token` out"));
        }
        Ok(())
    }

    /// Who this is, by what the request shows. Stored tokens come first, so no issuer delays them.
    async fn identify(&self, headers: &HeaderMap, path: &str) -> Result<Identity, Response> {
        if let Some(principal) = self.auth.principal(headers) {
            return Ok(Identity::stored(principal.0));
        }
        let Some(issuers) = &self.issuers else { return Err(unauthorized(headers)) };
        let Some(shown) = bearer(headers) else { return Err(issuers.resource().no_token(path)) };
        let verified = match std::str::from_utf8(shown) {
            Ok(token) => issuers.verify(token, path).await,
            Err(_) => Err(Refusal::Invalid("it is no text")),
        };
        verified.map(|verified| verified.identity).map_err(|refusal| {
            tracing::debug!("an access token was refused: {refusal}");
            issuers.resource().refusal(path, refusal)
        })
    }
}

/// Lets a request through with its [`Principal`] and [`Identity`], or answers 401.
pub(super) async fn check(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let (headers, path) = (request.headers().clone(), request.uri().path().to_owned());
    match guard.identify(&headers, &path).await {
        Ok(identity) => {
            // Nothing behind this needs the token, so nothing can pass it on.
            request.headers_mut().remove(AUTHORIZATION);
            request.extensions_mut().insert(Principal(identity.principal.clone()));
            request.extensions_mut().insert(identity);
            next.run(request).await
        }
        Err(refusal) => refusal,
    }
}

fn unauthorized(headers: &HeaderMap) -> Response {
    // RFC 6750: the error is named only to who showed a token.
    let challenge = match bearer(headers) {
        Some(_) => "Bearer realm=\"remit\", error=\"invalid_token\"",
        None => "Bearer realm=\"remit\"",
    };
    let code = ErrorKind::Unauthorized.code();
    let text = format!("{code}: {}", ErrorKind::Unauthorized.meaning());
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, challenge)], text).into_response()
}

/// What the one `Authorization: Bearer` field shows. Two fields show nothing: who reads the other one?
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let (field, None) = (fields.next()?.as_bytes(), fields.next()) else { return None };
    let (scheme, token) = field.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
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

    #[test]
    fn only_the_one_right_bearer_token_opens() {
        let auth = Auth::Bearer(Token::new(TOKEN).unwrap());
        let cases: [(&[&str], bool); 14] = [
            (&[], false),
            (&[&format!("Bearer {TOKEN}")], true),
            (&[&format!("bearer {TOKEN}")], true),
            (&[&format!("BEARER   {TOKEN} ")], true),
            (&[TOKEN], false),
            (&["Bearer"], false),
            (&["Bearer "], false),
            (&[&format!("Bearer{TOKEN}")], false),
            (&[&format!("Basic {TOKEN}")], false),
            (&[&format!("Bearer {TOKEN}x")], false),
            (&[&format!("Bearer {}", &TOKEN[1..])], false),
            (&[&format!("Bearer {}", TOKEN.to_uppercase())], false),
            (&[&format!("Bearer {TOKEN}"), &format!("Bearer {TOKEN}")], false),
            (&["Bearer wrong", &format!("Bearer {TOKEN}")], false),
        ];
        for (fields, expected) in cases {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(AUTHORIZATION, field.parse().unwrap());
            }
            assert_eq!(auth.principal(&headers).is_some(), expected, "{fields:?}");
            assert!(Auth::LoopbackWithoutToken.principal(&headers).is_some());
        }
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

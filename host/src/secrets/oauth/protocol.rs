//! The exchanges of the protocol: from settings and a grant to tokens. The `oauth2` library writes and reads the
//! messages; [`Own`] carries them.
//!
//! Nothing that a server wrote leaves this file but tokens: of an error only its registered code is looked at,
//! because servers quote in their explanations what was sent to them.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use oauth2::basic::{BasicClient, BasicErrorResponseType, BasicTokenResponse, BasicTokenType};
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet, EndpointSet,
    HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError,
    Scope, TokenResponse as _, TokenUrl,
};
use zeroize::Zeroizing;

use super::connection::{ClientAuth, Connection, GrantType, Settings, Tokens};
use crate::audit::RequestRecord;
use crate::egress::{BoxFuture, Endpoint, Own, Unreached};
use crate::error::{Error, ErrorKind, Result};

/// Why there is no token. It holds our words only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unrenewed {
    /// What was allowed has ended or was taken back: a person has to allow it again.
    #[error("what was allowed has ended, or was taken back")]
    GrantEnded,
    /// The server does not know this client, its secret is wrong, or it may not do this.
    #[error("the authorization server refuses this client id or secret")]
    ClientRefused,
    /// The server refused for another registered reason, named here.
    #[error("the authorization server refuses the request: `{0}`")]
    Refused(&'static str),
    /// The answer is none that tokens can be read from.
    #[error("the answer of the token endpoint cannot be used: {0}")]
    Answer(&'static str),
    /// The token endpoint could not be asked.
    #[error("the token endpoint could not be asked: {0}")]
    Unreached(Unreached),
    /// This host could not do its part.
    #[error("the connection could not be read or stored")]
    Host,
}

impl Unrenewed {
    /// What a person can do so that `name` has a token again.
    #[must_use]
    pub fn hint(&self, name: &str) -> String {
        match self {
            Self::GrantEnded => format!("`{name}`: {self}; allow it again: remit secret connect {name}"),
            Self::ClientRefused => format!(
                "`{name}`: {self}; connect it with the right ones: remit secret connect {name} --token-url URL \
                 --client-id ID --client-secret"
            ),
            Self::Unreached(unreached) => match &unreached.hint {
                Some(hint) => format!("`{name}`: {self}; {hint}"),
                None => format!("`{name}`: {self}"),
            },
            Self::Refused(_) | Self::Answer(_) => format!("`{name}`: {self}"),
            Self::Host => format!("`{name}`: {self}; check the data directory"),
        }
    }

    /// For a person who connects, rather than a guest that uses the connection.
    #[must_use]
    pub fn into_error(self, name: &str) -> Error {
        let hint = match &self {
            Self::Unreached(unreached) => unreached.hint.clone(),
            Self::GrantEnded => Some(format!("begin again: remit secret connect {name}")),
            _ => None,
        };
        let kind = match &self {
            Self::Unreached(unreached) => unreached.kind,
            Self::Host => ErrorKind::Internal,
            _ => ErrorKind::SecretNotAvailable,
        };
        Error { hint, ..Error::new(kind, self.to_string()) }
    }
}

type Client = BasicClient<EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// A request for a person's consent: where the browser goes, and what to check when it comes back.
pub struct Authorization {
    /// Where the browser goes.
    pub url: String,
    /// Comes back with the code, or the answer is somebody else's.
    pub state: Zeroizing<String>,
    verifier: PkceCodeVerifier,
    redirect: RedirectUrl,
}

/// What the browser brought back, after it was checked.
pub struct Code(pub Zeroizing<String>);

/// Who asks a token endpoint, and what became of it.
pub struct Asker {
    own: Arc<Own>,
    name: String,
    record: Arc<Mutex<RequestRecord>>,
}

impl Asker {
    /// Asks for the connection `name`, by the host's own way out.
    #[must_use]
    pub fn new(own: Arc<Own>, name: &str, settings: &Settings) -> Self {
        let record = Arc::new(Mutex::new(Endpoint::record(&settings.token_url, name)));
        Self { own, name: name.to_owned(), record }
    }

    /// How the request is recorded: as about to be sent, or what became of it.
    pub(super) fn record(&self) -> RequestRecord {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How the library's messages travel. It borrows nothing, so that the compiler sees that they may change
    /// threads on the way.
    fn send(
        &self,
        settings: &Settings,
    ) -> impl Fn(HttpRequest) -> BoxFuture<'static, Result<HttpResponse, Unreached>> + use<> {
        let (own, name, record) = (Arc::clone(&self.own), self.name.clone(), Arc::clone(&self.record));
        let token_url = settings.token_url.clone();
        move |request| {
            let (own, name, record) = (Arc::clone(&own), name.clone(), Arc::clone(&record));
            let token_url = token_url.clone();
            Box::pin(async move { own.send(&name, &token_url, request, &record).await })
        }
    }
}

/// Asks for consent that is answered at `redirect`, with a fresh state and a fresh PKCE challenge (RFC 7636, S256).
pub fn authorize(settings: &Settings, redirect: &str) -> Result<Authorization> {
    let unusable = |_| Error::internal("an endpoint that was checked is a URL");
    let url = AuthUrl::new(settings.auth_url.clone().unwrap_or_default()).map_err(unusable)?;
    let redirect = RedirectUrl::new(redirect.to_owned()).map_err(unusable)?;
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let client = BasicClient::new(ClientId::new(settings.client_id.clone())).set_auth_uri(url);
    let mut request = client
        .authorize_url(CsrfToken::new_random)
        .add_scopes(scopes(settings))
        .set_redirect_uri(Cow::Borrowed(&redirect))
        .set_pkce_challenge(challenge);
    for (name, value) in extra(settings) {
        request = request.add_extra_param(name, value);
    }
    let (url, state) = request.url();
    Ok(Authorization { url: url.into(), state: Zeroizing::new(state.into_secret()), verifier, redirect })
}

/// Exchanges a code for the first tokens of the connection that `asker` asks for.
pub async fn obtain_by_code(
    asker: &Asker,
    settings: &Settings,
    consent: (Authorization, Code),
    now: i64,
) -> Result<Connection, Unrenewed> {
    let (Authorization { verifier, redirect, .. }, Code(code)) = consent;
    let client = client(settings)?;
    let mut request = client
        .exchange_code(AuthorizationCode::new(code.to_string()))
        .set_pkce_verifier(verifier)
        .set_redirect_uri(Cow::Owned(redirect));
    for (name, value) in extra(settings) {
        request = request.add_extra_param(name, value);
    }
    let tokens = read(request.request_async(&asker.send(settings)).await)?;
    Connection::new(settings.clone(), tokens, now).map_err(|_| Unrenewed::Host)
}

/// Gets the first token of a connection in which the client speaks for itself.
pub async fn obtain_for_client(asker: &Asker, settings: &Settings, now: i64) -> Result<Connection, Unrenewed> {
    let tokens = by_client(asker, settings).await?;
    Connection::new(settings.clone(), tokens, now).map_err(|_| Unrenewed::Host)
}

/// Gets the next tokens of a connection.
pub(super) async fn renew(asker: &Asker, connection: &Connection) -> Result<Tokens, Unrenewed> {
    let settings = connection.settings();
    let refresh = match (settings.grant, connection.refresh_token()) {
        (GrantType::ClientCredentials, _) => return by_client(asker, settings).await,
        (GrantType::AuthorizationCode, None) => return Err(Unrenewed::GrantEnded),
        (GrantType::AuthorizationCode, Some(refresh)) => RefreshToken::new(refresh.to_string()),
    };
    let client = client(settings)?;
    // Without scopes: the server gives what was allowed.
    let mut request = client.exchange_refresh_token(&refresh);
    for (name, value) in extra(settings) {
        request = request.add_extra_param(name, value);
    }
    read(request.request_async(&asker.send(settings)).await)
}

async fn by_client(asker: &Asker, settings: &Settings) -> Result<Tokens, Unrenewed> {
    let client = client(settings)?;
    let mut request = client.exchange_client_credentials().add_scopes(scopes(settings));
    for (name, value) in extra(settings) {
        request = request.add_extra_param(name, value);
    }
    let mut tokens = read(request.request_async(&asker.send(settings)).await)?;
    // It should not be there (RFC 6749, 4.4.3), and nothing would ever use it.
    tokens.refresh = None;
    Ok(tokens)
}

fn client(settings: &Settings) -> Result<Client, Unrenewed> {
    let url = TokenUrl::new(settings.token_url.clone()).map_err(|_| Unrenewed::Host)?;
    let client = BasicClient::new(ClientId::new(settings.client_id.clone())).set_token_uri(url);
    let client = client.set_auth_type(match settings.auth {
        ClientAuth::Basic => AuthType::BasicAuth,
        ClientAuth::Body => AuthType::RequestBody,
    });
    Ok(match &settings.client_secret {
        Some(secret) => client.set_client_secret(ClientSecret::new(secret.to_string())),
        None => client,
    })
}

fn scopes(settings: &Settings) -> impl Iterator<Item = Scope> {
    settings.scopes.iter().cloned().map(Scope::new)
}

fn extra(settings: &Settings) -> impl Iterator<Item = (&'static str, String)> {
    let parameters = [("audience", &settings.audience), ("resource", &settings.resource)];
    parameters.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)))
}

type TokenError = RequestTokenError<Unreached, oauth2::basic::BasicErrorResponse>;

fn read(answer: Result<BasicTokenResponse, TokenError>) -> Result<Tokens, Unrenewed> {
    let answer = answer.map_err(unrenewed)?;
    if *answer.token_type() != BasicTokenType::Bearer {
        return Err(Unrenewed::Answer("its token is not a bearer token"));
    }
    let tokens = Tokens {
        access: Zeroizing::new(answer.access_token().secret().clone()),
        lifetime: answer.expires_in(),
        refresh: answer.refresh_token().map(|token| Zeroizing::new(token.secret().clone())),
    };
    tokens.check().map_err(Unrenewed::Answer)?;
    Ok(tokens)
}

fn unrenewed(error: TokenError) -> Unrenewed {
    match error {
        RequestTokenError::ServerResponse(answer) => match answer.error() {
            BasicErrorResponseType::InvalidGrant => Unrenewed::GrantEnded,
            BasicErrorResponseType::InvalidClient | BasicErrorResponseType::UnauthorizedClient => {
                Unrenewed::ClientRefused
            }
            BasicErrorResponseType::InvalidRequest => Unrenewed::Refused("invalid_request"),
            BasicErrorResponseType::InvalidScope => Unrenewed::Refused("invalid_scope"),
            BasicErrorResponseType::UnsupportedGrantType => Unrenewed::Refused("unsupported_grant_type"),
            // A word of the server's own.
            BasicErrorResponseType::Extension(_) => Unrenewed::Answer("it is an error that no standard names"),
        },
        RequestTokenError::Request(unreached) => Unrenewed::Unreached(unreached),
        RequestTokenError::Parse(..) => Unrenewed::Answer("it is neither a token nor an error of the standard"),
        RequestTokenError::Other(_) => Unrenewed::Answer("it is no JSON, or empty"),
    }
}

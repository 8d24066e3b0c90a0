//! `remit secret connect`: a secret that is a connection to an account, by OAuth 2.
//!
//! Reads what a person says of the connection, sends them to their browser where consent is needed, and stores
//! what comes of it. A client secret is never an argument. The protocol is `secrets/oauth/`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::json;
use zeroize::Zeroizing;

use super::callback::{Callback, Expected};
use super::{Context, figures, on_threads, prompt};
use crate::app::App;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::secrets::{
    Asker, ClientAuth, Connection, GrantType, Settings, authorize, obtain_by_code, obtain_for_client,
};

/// How long the browser may take: time to log in, with a second factor from another room.
const CONSENT: Duration = Duration::from_secs(5 * 60);

/// Connect a secret to an account by OAuth 2; the host renews its tokens
///
/// Opens a browser for consent and waits for it to come back, or with `--client-credentials` asks for a token at
/// once. The tokens are stored encrypted, and a placeholder stands for the access token of the moment. Without
/// options it connects again with what is stored, when a refresh token has died.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit secret connect CALENDAR --auth-url https://login.example.com/authorize \\
    --token-url https://login.example.com/token --client-id remit --scope calendar.read
  pass show example/client | remit secret connect BILLING --client-credentials --client-secret \\
    --token-url https://login.example.com/token --client-id remit
  remit secret connect CALENDAR              again, with the same settings")]
pub(super) struct ConnectArgs {
    /// Upper-case letters, digits and underscores
    name: String,
    /// Where tokens are got
    #[arg(long, value_name = "URL", requires = "client_id")]
    token_url: Option<String>,
    /// Where a person allows it, in a browser
    #[arg(long, value_name = "URL", requires = "token_url", conflicts_with = "client_credentials")]
    auth_url: Option<String>,
    /// The name of this client there
    #[arg(long, value_name = "ID", requires = "token_url")]
    client_id: Option<String>,
    /// It has a secret, which is typed unseen, or piped
    #[arg(long, requires = "token_url")]
    client_secret: bool,
    /// Where the client secret stands in a token request
    #[arg(long, value_name = "HOW", default_value = "basic", requires = "client_secret")]
    auth: Auth,
    /// Ask for this scope; may be repeated
    #[arg(long = "scope", value_name = "SCOPE", requires = "token_url")]
    scopes: Vec<String>,
    /// The API that the tokens are for, where the server wants it named as `audience`
    #[arg(long, value_name = "NAME", requires = "token_url")]
    audience: Option<String>,
    /// The same, where the server wants it named as `resource` (RFC 8707)
    #[arg(long, value_name = "URI", requires = "token_url")]
    resource: Option<String>,
    /// What the server calls itself in `iss`, where that is not at the origin of `--auth-url`
    #[arg(long, value_name = "URL", requires = "auth_url")]
    issuer: Option<String>,
    /// The client speaks for itself, and nobody is asked
    #[arg(long, requires = "token_url")]
    client_credentials: bool,
    /// The loopback port that the browser comes back to, where the server knows only one [default: any]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Print the address, and open no browser
    #[arg(long)]
    no_browser: bool,
    /// Refused with an explanation, rather than as an argument too many that is then quoted in the error.
    #[arg(hide = true)]
    value: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Auth {
    /// In the `authorization` field
    Basic,
    /// In the body
    Body,
}

/// Runs it.
pub(super) fn run(args: ConnectArgs, context: &Context) -> Result<()> {
    if !args.value.is_empty() {
        let message = "a client secret is never an argument: it would stay in the shell's history";
        return Err(Error::new(ErrorKind::Usage, message)
            .hint("pass `--client-secret` alone; the secret is typed unseen, or piped"));
    }
    let name = args.name.clone();
    let app = context.open()?;
    let is_browser_wanted = !args.no_browser && !context.output.is_json() && prompt::somebody_is_there();
    let settings = settings(args, &app)?;
    settings.check(&name)?;

    let connection = match settings.grant {
        GrantType::ClientCredentials => for_client(&name, &settings, &app, context)?,
        GrantType::AuthorizationCode => by_consent(&name, &settings, is_browser_wanted, &app, context)?,
    };
    app.admin().connect(&name, &connection)?;
    told(&name, &connection, context)
}

/// What the arguments say, or else what is stored.
fn settings(args: ConnectArgs, app: &App) -> Result<Settings> {
    let ConnectArgs { name, token_url, client_id, port, .. } = args;
    let (Some(token_url), Some(client_id)) = (token_url, client_id) else {
        let Some(stored) = app.admin().connection(&name)? else {
            return Err(Error::new(ErrorKind::Usage, format!("`{name}` is not connected yet"))
                .hint(format!("remit secret connect {name} --token-url URL --client-id ID …")));
        };
        let settings = stored.settings().clone();
        return Ok(Settings { port: port.or(settings.port), ..settings });
    };
    let grant = if args.client_credentials { GrantType::ClientCredentials } else { GrantType::AuthorizationCode };
    let client_secret = args.client_secret.then(|| client_secret(&name)).transpose()?;
    Ok(Settings {
        grant,
        token_url,
        auth_url: args.auth_url,
        client_id,
        client_secret,
        auth: match args.auth {
            Auth::Basic => ClientAuth::Basic,
            Auth::Body => ClientAuth::Body,
        },
        scopes: args.scopes,
        audience: args.audience,
        resource: args.resource,
        issuer: args.issuer,
        port,
    })
}

fn client_secret(name: &str) -> Result<Zeroizing<String>> {
    let mut typed = prompt::secret(&format!("client secret of {name}"))?;
    match String::from_utf8(std::mem::take(&mut *typed)) {
        Ok(secret) => Ok(Zeroizing::new(secret)),
        Err(error) => {
            drop(Zeroizing::new(error.into_bytes()));
            Err(Error::new(ErrorKind::SecretInvalid, "a client secret is text"))
        }
    }
}

fn for_client(name: &str, settings: &Settings, app: &App, context: &Context) -> Result<Connection> {
    let asker = Asker::new(app.own()?.into(), name, settings);
    let now = Clock::system().now_ms();
    let obtained = context.output.during("asking for a token", || {
        on_threads(async { Ok(obtain_for_client(&asker, settings, now).await) })
    })?;
    obtained.map_err(|why| why.into_error(name))
}

fn by_consent(
    name: &str,
    settings: &Settings,
    is_browser_wanted: bool,
    app: &App,
    context: &Context,
) -> Result<Connection> {
    let asker = Asker::new(app.own()?.into(), name, settings);
    on_threads(async {
        let callback = Callback::listen(settings.port).await?;
        let request = authorize(settings, &callback.redirect_url())?;
        let auth_url = settings.auth_url.as_deref().unwrap_or_default();
        let expected = Expected::new(&request.state, settings.issuer.as_deref(), auth_url)?;
        context.output.aside(&format!("allow it in a browser:\n  {}", request.url));
        if is_browser_wanted && !open_browser(&request.url) {
            context.output.note("no browser could be opened: open the address yourself");
        }
        let _spinner = context.output.spinner("waiting for the browser");
        let waited = tokio::time::timeout(CONSENT, callback.wait(expected)).await;
        let code = waited.map_err(|_| {
            Error::new(ErrorKind::Cancelled, "nobody allowed it within 5 minutes")
                .hint(format!("begin again: remit secret connect {name}"))
        })??;
        let now = Clock::system().now_ms();
        let obtained = obtain_by_code(&asker, settings, (request, code), now).await;
        obtained.map_err(|why| why.into_error(name))
    })
}

/// Hands an address, which begins with `https://`, to the person's browser.
#[expect(clippy::disallowed_methods, reason = "a browser is a process, started for a person at a terminal")]
fn open_browser(url: &str) -> bool {
    use std::process::{Command, Stdio};
    ["xdg-open", "open"].iter().any(|opener| {
        let mut command = Command::new(opener);
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    })
}

fn told(name: &str, connection: &Connection, context: &Context) -> Result<()> {
    let output = context.output;
    if output.is_json() {
        let ends_at = connection.ends_at().map(figures::utc_time);
        return output.value(&json!({ "name": name, "connected": true, "expiresAt": ends_at }));
    }
    output.note(&match connection.ends_at() {
        Some(end) => format!("connected `{name}`; its access token ends {}", figures::local_time(end)),
        None => format!("connected `{name}`"),
    });
    Ok(())
}

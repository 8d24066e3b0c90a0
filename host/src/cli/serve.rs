//! `remit serve`: the agents' door, on stdio or over HTTP; or a registry, over HTTP.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::output::Output;
use super::token::{self, Origin};
use super::{Context, on_threads, principal, recalled};
use crate::call::Host;
use crate::config::{Config, Tools};
use crate::error::{Error, ErrorKind, Result};
use crate::mcp::{self, Auth, Exposure, HttpOptions, Issuers, Surface, Token};
use crate::policy::{HTTP, Identity, STDIO};
use crate::registries::{self, Directory};
use crate::registry::CapabilityName;

/// Serve agents over MCP
///
/// On stdin and stdout, or over HTTP. Clients of the HTTP door send a token; it is made on first use and
/// kept in the data directory. An agent sees four tools by which it finds and calls all others, unless `--tools` or the
/// path (`/mcp/direct`, `/mcp/compact`) says otherwise. Over HTTP each capability is at `/mcp/<publisher>/<slug>` too,
/// alone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit serve                                  for a client that starts this program
  remit serve --principal laptop               for one with roles and permissions of its own
  remit serve --tools direct                   every tool for itself, not four for all
  remit serve --only acme/notes                that capability alone, under its own names
  remit serve --http 127.0.0.1:7070
  remit serve --http 127.0.0.1:7070 --no-token
  remit serve --http 0.0.0.0:7070 --token-file /run/secrets/remit-token
  remit serve --http 7071 --registry /srv/registry --no-token")]
pub(super) struct ServeArgs {
    /// Serve over HTTP at this address, or at this port of 127.0.0.1
    #[arg(long, value_name = "ADDRESS", value_parser = read_address)]
    http: Option<SocketAddr>,
    /// Serve this capability alone, under its own names
    #[arg(long, value_name = "PUBLISHER/SLUG", conflicts_with = "http")]
    only: Option<CapabilityName>,
    /// What is listed where the path does not say it [default: `serve.tools` in `remit.toml`, or compact]
    #[arg(long, value_name = "SHAPE", conflicts_with = "only")]
    tools: Option<Tools>,
    /// The file that holds the token
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "no_token")]
    token_file: Option<PathBuf>,
    /// Answer without a token; at loopback addresses only
    #[arg(long, requires = "http")]
    no_token: bool,
    /// Who the client on stdin and stdout is [default: `principal` in `remit.toml`, or `stdio`]
    #[arg(long, value_name = "NAME", conflicts_with = "http")]
    principal: Option<String>,
    /// Serve the registry in this folder, and nothing to agents
    #[arg(long, value_name = "DIR", requires = "http", conflicts_with_all = ["only", "tools", "principal"])]
    registry: Option<PathBuf>,
}

/// Runs it.
#[expect(clippy::needless_pass_by_value, reason = "every command takes its arguments")]
pub(super) fn run(args: ServeArgs, context: &Context) -> Result<()> {
    let home = context.home()?;
    if let (Some(folder), Some(address)) = (&args.registry, args.http) {
        return on_threads(serve_registry(folder, address, &args, &home, context.output));
    }
    let mut config = Config::load(&home)?;
    config.serve.tools = args.tools.unwrap_or(config.serve.tools);
    let app = context.open()?;
    app.admin().remove_old_files()?;
    app.admin().installed()?.entries.values().for_each(|entry| recalled::warn(entry, context.output));
    let on_stdio = args.principal.as_deref().or(config.serve.principal.as_deref()).unwrap_or(STDIO);
    // Over HTTP each request says for itself who makes it.
    let caller = principal::known(&app, if args.http.is_some() { HTTP } else { on_stdio })?;
    let result = on_threads(async {
        let telemetry = app.telemetry().await?;
        let host = app.host()?;
        let schedules = app.scheduler()?.start()?;
        let doors = Doors { host, issuers: app.issuers()?, caller };
        let served = serve(&args, &home, config, doors, context.output).await;
        schedules.stop().await;
        app.leave_upstreams().await;
        telemetry.stop().await;
        served
    });
    app.shutdown();
    result
}

/// What is behind a door, and who comes in by it.
struct Doors {
    host: Host,
    /// Whose access tokens are taken over HTTP.
    issuers: Option<Issuers>,
    /// Who the one client on standard input and output is.
    caller: Identity,
}

/// Serves by the door that was asked for, until it closes.
async fn serve(
    args: &ServeArgs,
    home: &Path,
    config: Config,
    Doors { host, issuers, caller }: Doors,
    output: Output,
) -> Result<()> {
    let Some(address) = args.http else {
        let surface = surface(args, &host)?;
        return mcp::serve_stdio(host, surface, Exposure::of(&config.serve), caller).await;
    };
    let auth = authentication(args, home, output)?;
    let shutdown = CancellationToken::new();
    stop_on_signal(shutdown.clone())?;
    let (ready, listening) = oneshot::channel();
    let announce = async {
        if let Ok(address) = listening.await {
            output.aside(&format!("listening on http://{address}/mcp"));
        }
    };
    let sessions_per_principal = config.principals.sessions;
    let options =
        HttpOptions { address, auth, issuers, config: config.serve, sessions_per_principal, ready, shutdown };
    tokio::join!(mcp::serve_http(host, options), announce).0
}

/// Serves a registry alone: the home of whoever serves it holds their token, and nothing else is used of it.
async fn serve_registry(
    folder: &Path,
    address: SocketAddr,
    args: &ServeArgs,
    home: &Path,
    output: Output,
) -> Result<()> {
    let directory = Directory::open(folder)?;
    let auth = authentication(args, home, output)?;
    let shutdown = CancellationToken::new();
    stop_on_signal(shutdown.clone())?;
    let (ready, listening) = oneshot::channel();
    let announce = async {
        if let Ok(address) = listening.await {
            output.aside(&format!("serving the registry on http://{address}"));
        }
    };
    tokio::join!(registries::serve(directory, address, auth, ready, shutdown), announce).0
}

/// What is shown on stdin and stdout.
fn surface(args: &ServeArgs, host: &Host) -> Result<Surface> {
    let Some(name) = &args.only else { return Ok(Surface::Joint) };
    if host.snapshot()?.entries.contains_key(name) {
        return Ok(Surface::One(name.clone()));
    }
    let error = Error::new(ErrorKind::RegistryNotFound, format!("`{name}` is not installed"));
    Err(error.hint("`remit list` shows what is installed"))
}

fn authentication(args: &ServeArgs, home: &Path, output: Output) -> Result<Auth> {
    if args.no_token {
        return Ok(Auth::LoopbackWithoutToken);
    }
    let (token, origin) = token::find(args.token_file.as_deref(), home)?;
    output.note(&match origin {
        Origin::File(file) => format!("clients send the token in `{}`", file.display()),
        Origin::Environment => "clients send the token in `REMIT_TOKEN`".to_owned(),
    });
    Ok(Auth::Bearer(Token::new(&token)?))
}

/// SIGINT and SIGTERM end the service: calls that run get a moment to end, then they are dropped. Their records
/// end either way.
fn stop_on_signal(stop: CancellationToken) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).map_err(|error| Error::internal("signals cannot be received").detail(error));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stop.cancel();
    });
    Ok(())
}

fn read_address(text: &str) -> std::result::Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let named = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    named.as_deref().unwrap_or(text).parse().map_err(|_| "for example 127.0.0.1:7070, or a port".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_loopback_unless_it_says_otherwise() {
        let cases = [
            ("7070", Some("127.0.0.1:7070")),
            (":7070", Some("127.0.0.1:7070")),
            ("localhost:7070", Some("127.0.0.1:7070")),
            ("0.0.0.0:80", Some("0.0.0.0:80")),
            ("[::1]:80", Some("[::1]:80")),
            ("127.0.0.1", None),
            ("example.com:80", None),
            ("70700", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let address = read_address(text).ok().map(|address| address.to_string());
            assert_eq!(address.as_deref(), expected, "{text:?}");
        }
    }
}

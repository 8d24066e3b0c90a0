//! `remit.toml` and the environment: what the operator decided for this home.
//!
//! The only place that reads environment variables. Every setting has a default that is safe; an unknown
//! key is an error, so that a misspelt limit is not silently no limit. What the limits mean is decided
//! where they are used.

mod check;
mod environment;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
pub(crate) use self::environment::reference_is_to_be_written;
pub use self::environment::{
    ENVIRONMENT, Variable, backtrace_wanted, find_program, home, log_filter, of_programs, token,
};
use crate::error::{Error, ErrorKind, Result};

/// The file in a home that holds all this.
pub const FILE: &str = "remit.toml";

/// All settings of one home.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Upper bounds on what a manifest may ask. Without a key: 10,000,000,000 fuel, 256 MiB, 120,000 ms, 100
    /// requests.
    pub ceilings: Limits,
    /// What a call gets when its manifest asks for nothing. Without a key: 500,000,000 fuel, 64 MiB, 30,000 ms,
    /// 20 requests.
    pub defaults: Limits,
    /// How calls share this machine.
    pub runtime: RuntimeConfig,
    /// Limits of outbound requests.
    pub http: HttpConfig,
    /// Limits of schedules.
    pub loops: LoopsConfig,
    /// What each capability may keep.
    pub entities: EntitiesConfig,
    /// Files of conversations.
    pub sandbox: SandboxConfig,
    /// The agents' doors.
    pub serve: ServeConfig,
    /// How much of this host each principal may take.
    pub principals: PrincipalsConfig,
    /// How secrets are kept.
    pub secrets: SecretsConfig,
    /// What the operator's own tools are told of calls while `remit serve` runs. Without a key: nothing.
    pub telemetry: TelemetryConfig,
    /// Exceptions for one capability, by `publisher/slug`.
    pub capability: BTreeMap<String, CapabilityConfig>,
    /// Exceptions for the host's own requests for one connection, by the secret's name.
    pub secret: BTreeMap<String, SecretConfig>,
    /// How one upstream MCP server is used, by its name.
    pub upstream: BTreeMap<String, UpstreamConfig>,
    /// Where releases are published and fetched.
    pub registries: RegistriesConfig,
}

/// What one call may spend.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Limits {
    /// Units of work.
    pub fuel: Option<u64>,
    /// MiB of memory.
    pub memory_mib: Option<u32>,
    /// Milliseconds.
    pub time_ms: Option<u32>,
    /// Outbound requests.
    pub http_requests: Option<u32>,
}

/// How calls share this machine.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RuntimeConfig {
    /// Calls that run at once; more wait.
    pub calls: usize,
    /// Calls of one capability that run at once.
    pub calls_per_capability: usize,
    /// Calls that wait; more are refused with `host/busy`.
    pub queue: usize,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self { calls: 64, calls_per_capability: 16, queue: 256 }
    }
}

/// Limits of outbound requests, for every capability.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct HttpConfig {
    /// Time for DNS, in milliseconds.
    pub dns_ms: u64,
    /// Time for TCP and TLS, in milliseconds.
    pub connect_ms: u64,
    /// Time to the first byte of the answer, in milliseconds.
    pub first_byte_ms: u64,
    /// Time for the whole request, redirects included, in milliseconds.
    pub request_ms: u64,
    /// Redirects that are followed.
    pub redirects: u8,
    /// Bytes of a request's body after substitution.
    pub request_bytes: usize,
    /// Bytes of a response's body.
    pub response_bytes: usize,
    /// Requests of one capability at once.
    pub concurrent: usize,
    /// Requests of one capability in a minute.
    pub per_minute: u32,
    /// Answers to one capability in a minute that hold a secret which the request did not carry. Such an answer
    /// can confirm a guess; after so many, further requests are refused for a while, and the log says so.
    pub redactions_per_minute: u32,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            dns_ms: 2_000,
            connect_ms: 5_000,
            first_byte_ms: 10_000,
            request_ms: 30_000,
            redirects: 3,
            request_bytes: 1024 * 1024,
            response_bytes: 5 * 1024 * 1024,
            concurrent: 8,
            per_minute: 300,
            redactions_per_minute: 10,
        }
    }
}

/// Limits of schedules.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LoopsConfig {
    /// Loops that one capability may make, unless its grant says otherwise. The presets of its manifest do not
    /// count.
    pub per_capability: u32,
    /// Seconds between two firings of one loop at least, unless a grant says otherwise. Never below 60.
    pub min_period_s: u64,
    /// Seconds over which loops that fire at the same moment are spread.
    pub jitter_s: u64,
    /// Runs at once; more wait.
    pub concurrent: usize,
    /// Who is told of what runs came to.
    pub deliver: DeliverConfig,
}

impl Default for LoopsConfig {
    fn default() -> Self {
        Self {
            per_capability: 20,
            min_period_s: 60,
            jitter_s: 10,
            concurrent: 8,
            deliver: DeliverConfig::default(),
        }
    }
}

/// Who is told of what runs came to: of results, and of prompts that wait. Without a key: nobody.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct DeliverConfig {
    /// A program with its arguments, which gets JSON on its standard input: an absolute path, or a name that is
    /// found in `PATH`.
    pub command: Vec<String>,
    /// Seconds after which the program, with all it started, is killed.
    pub timeout_s: u64,
    /// An `https://` address that gets the JSON, signed as Standard Webhooks say.
    pub webhook: Option<String>,
    /// The name of the stored secret that signs for `webhook`.
    pub secret: Option<String>,
    /// Exceptions for requests to `webhook`.
    pub http: HttpExceptions,
}

impl Default for DeliverConfig {
    fn default() -> Self {
        Self { command: Vec::new(), timeout_s: 60, webhook: None, secret: None, http: HttpExceptions::default() }
    }
}

/// What each capability may keep.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct EntitiesConfig {
    /// Documents of one capability.
    pub documents: u64,
    /// Bytes of their keys and values. What documents were before may take as many again.
    pub bytes: u64,
    /// Bytes of one value.
    pub value_bytes: usize,
    /// Arrays and objects that lie in one another in one value.
    pub depth: usize,
    /// Former versions that are kept of each document.
    pub history: u32,
}

impl Default for EntitiesConfig {
    fn default() -> Self {
        Self { documents: 10_000, bytes: 64 * 1024 * 1024, value_bytes: 256 * 1024, depth: 32, history: 10 }
    }
}

/// Files of conversations.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SandboxConfig {
    /// Files of one capability in one conversation.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of one file.
    pub file_bytes: usize,
    /// Bytes of one principal, all conversations together; each file counts for 1,024 besides its own.
    pub principal_bytes: u64,
    /// Hours that the files of a conversation are kept after the last change in it.
    pub keep_hours: u32,
}

impl SandboxConfig {
    /// How long files are kept, in milliseconds.
    #[must_use]
    pub fn keep(&self) -> i64 {
        i64::from(self.keep_hours) * 60 * 60 * 1000
    }
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            files: 100,
            bytes: 64 * 1024 * 1024,
            file_bytes: 16 * 1024 * 1024,
            principal_bytes: 1024 * 1024 * 1024,
            keep_hours: 7 * 24,
        }
    }
}

/// What a door lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tools {
    /// Four tools by which an agent finds and calls all others
    #[default]
    Compact,
    /// Every tool for itself
    Direct,
    /// Direct while there are few tools, else compact
    Auto,
}

/// The agents' doors.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ServeConfig {
    /// The principal that a client on standard input and output is. Without it: `stdio`.
    pub principal: Option<String>,
    /// What `/mcp` and standard output list: `compact`, the four tools by which an agent finds and calls all others;
    /// `direct`, every tool for itself; or `auto`, which is direct while there are few. `/mcp/compact` and `/mcp/direct`
    /// say it by themselves.
    pub tools: Tools,
    /// With `auto`, as many tools at most are listed each for itself.
    pub direct_up_to: usize,
    /// Tools that stand beside the four of the compact surface: `["weather__get_forecast"]`.
    pub pins: Vec<String>,
    /// `Host` values that are answered besides loopback names.
    pub hosts: Vec<String>,
    /// `Origin` values that are answered besides loopback ones.
    pub origins: Vec<String>,
    /// Sessions of legacy clients at once.
    pub sessions: usize,
    /// Requests a second from one client, on average.
    pub requests_per_second: u32,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// The address that clients know this door by, such as `https://remit.example.com`: what access tokens are
    /// made out to.
    pub url: Option<String>,
    /// A scope that every access token must have.
    pub required_scope: Option<String>,
    /// The authorization servers whose access tokens are taken.
    pub issuer: Vec<IssuerConfig>,
}

/// An authorization server whose access tokens are taken.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct IssuerConfig {
    /// Its identifier, letter for letter as its tokens and its metadata spell it.
    pub issuer: String,
    /// The audience of tokens for this door. Without it: the address of the endpoint, or of the door.
    pub audience: Option<String>,
    /// Where its keys are. Without it: where its metadata says.
    pub jwks: Option<String>,
    /// What scopes permit: `"mcp:read" = ["weather:read"]`.
    pub permissions: BTreeMap<String, Vec<String>>,
    /// A scope that begins with this is the permission that follows. With `""`, each scope is a permission.
    pub prefix: Option<String>,
    /// The claim that names the principal: one that the issuer gives to nobody else, ever.
    pub principal: String,
    /// Exceptions for requests to the issuer.
    pub http: HttpExceptions,
}

impl Default for IssuerConfig {
    fn default() -> Self {
        Self {
            issuer: String::new(),
            audience: None,
            jwks: None,
            permissions: BTreeMap::new(),
            prefix: None,
            principal: "sub".to_owned(),
            http: HttpExceptions::default(),
        }
    }
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            principal: None,
            tools: Tools::Compact,
            direct_up_to: 20,
            pins: Vec::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
            sessions: 256,
            requests_per_second: 10_000,
            body_bytes: 4 * 1024 * 1024,
            url: None,
            required_scope: None,
            issuer: Vec::new(),
        }
    }
}

/// How much of this host each principal may take: agents, not the person at the command line and not schedules.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PrincipalsConfig {
    /// Calls at once; more are refused with `host/busy`. Below `runtime.calls`, so that one principal leaves room for
    /// others.
    pub calls: usize,
    /// Calls in a minute; more are refused with `host/busy`.
    pub calls_per_minute: u32,
    /// Sessions of legacy clients at once.
    pub sessions: usize,
}

impl Default for PrincipalsConfig {
    fn default() -> Self {
        Self { calls: 32, calls_per_minute: 60_000, sessions: 128 }
    }
}

/// How secrets are kept.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SecretsConfig {
    /// The file with the key that opens stored secrets. Without it: `key` in the data directory. It belongs to one
    /// home; a relative path starts at the home.
    pub key_file: Option<PathBuf>,
    /// Hours for which answers are searched for a value that was replaced.
    pub overlap_hours: u32,
}

impl Default for SecretsConfig {
    fn default() -> Self {
        Self { key_file: None, overlap_hours: 24 }
    }
}

/// What the operator's own tools are told of calls while `remit serve` runs. Without a key: nothing.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TelemetryConfig {
    /// Where Prometheus reads numbers at `/metrics`, as `127.0.0.1:9464`. An address that other machines can reach
    /// needs `prometheus-token-file`.
    pub prometheus: Option<SocketAddr>,
    /// The file with the token that Prometheus must send. A relative path starts at the home.
    pub prometheus_token_file: Option<PathBuf>,
    /// Where traces and numbers are sent in OpenTelemetry's protocol over HTTP, as `http://127.0.0.1:4318`; on
    /// another machine it must be `https://`.
    pub otlp: Option<String>,
    /// Exceptions for messages to `otlp` on another machine.
    pub http: HttpExceptions,
}

impl Config {
    /// Reads `remit.toml` of the home at `home`. Without one, everything is as it is by default.
    pub fn load(home: &Path) -> Result<Self> {
        let path = home.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Err(Error::new(ErrorKind::Config, format!("`{}` is not UTF-8 text", path.display())));
            }
            Err(error) => return Err(Error { kind: ErrorKind::Config, ..Error::file(&path, &error) }),
        };
        let mut config = Self::parse(&text).map_err(|problem| problem.in_file(&path))?;
        config.secrets.key_file = config.secrets.key_file.map(|file| home.join(file));
        let capabilities = config.capability.values_mut().map(|settings| &mut settings.http);
        let secrets = config.secret.values_mut().map(|settings| &mut settings.http);
        let token_file = &mut config.telemetry.prometheus_token_file;
        *token_file = token_file.take().map(|file| home.join(file));
        let own = [&mut config.loops.deliver.http, &mut config.telemetry.http];
        let upstreams = config.upstream.values_mut().map(|settings| &mut settings.http);
        let issuers = config.serve.issuer.iter_mut().map(|settings| &mut settings.http);
        let registries = config.registries.by_name.values_mut().map(|settings| &mut settings.http);
        let all = capabilities.chain(secrets).chain(own).chain(upstreams).chain(issuers).chain(registries);
        for file in all.flat_map(|exceptions| &mut exceptions.ca) {
            *file = home.join(&file);
        }
        Ok(config)
    }

    fn parse(text: &str) -> Result<Self, check::Problem> {
        let config: Self = toml::from_str(text).map_err(|error| check::Problem::of_parser(&error, text))?;
        check::values(&config).map_err(|invalid| invalid.at_line_of(text))?;
        Ok(config)
    }
}

/// Exceptions for one capability: what self-hosted APIs need.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CapabilityConfig {
    /// Exceptions to the rules of `http`.
    pub http: HttpExceptions,
}

/// Exceptions for one secret: what self-hosted authorization servers need.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SecretConfig {
    /// Exceptions for requests of the host itself to the token endpoint of the connection of this name.
    pub http: HttpExceptions,
}

/// How one upstream MCP server is used.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct UpstreamConfig {
    /// Time to start and to agree on the protocol, in milliseconds.
    pub connect_ms: u64,
    /// Time for one call, in milliseconds. The ceiling of `time-ms` counts, too.
    pub call_ms: u64,
    /// Calls at once; more wait.
    pub concurrent: usize,
    /// Seconds after which a connection that nobody uses is ended, with its program.
    pub idle_s: u64,
    /// Exceptions for requests to its address.
    pub http: HttpExceptions,
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self { connect_ms: 20_000, call_ms: 60_000, concurrent: 8, idle_s: 600, http: HttpExceptions::default() }
    }
}

/// The registries that this home knows.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct RegistriesConfig {
    /// The name of the one that is meant where none is named. Default: the only one.
    pub default: Option<String>,
    /// By name.
    #[serde(flatten)]
    pub by_name: BTreeMap<String, RegistryConfig>,
}

/// One registry.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RegistryConfig {
    /// `dir:` and an absolute path, `https://` and a host, or `http://` and a port of this machine.
    pub location: String,
    /// The stored secret that holds its token.
    pub token: Option<String>,
    /// Exceptions for requests to its address.
    pub http: HttpExceptions,
}

/// Exceptions to the address and certificate rules, written by the operator for one capability or one secret.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct HttpExceptions {
    /// Networks, as `10.1.0.0/16`, whose addresses may be reached although they are not public.
    pub private: Vec<String>,
    /// Where to connect instead of asking DNS: `"api.example.com:443" = "127.0.0.1:8443"`. TLS is still
    /// verified for the name.
    pub connect: BTreeMap<String, SocketAddr>,
    /// PEM files of further certificate authorities. A relative path starts at the home.
    pub ca: Vec<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_without_a_file_has_the_defaults() -> Result<(), Box<dyn std::error::Error>> {
        let home = tempfile::tempdir()?;
        assert_eq!(Config::load(home.path())?.runtime.calls, RuntimeConfig::default().calls);
        Ok(())
    }

    #[test]
    fn a_full_file_is_read() -> Result<(), Box<dyn std::error::Error>> {
        let home = tempfile::tempdir()?;
        let text = r#"
            [ceilings]
            fuel = 1_000_000
            memory-mib = 32
            [runtime]
            calls = 4
            [http]
            redirects = 0
            [serve]
            hosts = ["remit.example.com"]
            origins = ["https://console.example.com"]
            url = "https://remit.example.com"
            [secrets]
            key-file = "keys/key"
            [capability."acme/weather".http]
            private = ["10.1.0.0/16", "fd00::/8"]
            connect = { "api.example.com:443" = "127.0.0.1:8443" }
            ca = ["ca.pem", "/etc/ca.pem"]
            [secret.TOKEN.http]
            connect = { "login.example.com:443" = "127.0.0.1:8444" }
            ca = ["login.pem"]
            [[serve.issuer]]
            issuer = "https://login.example.com"
            permissions = { "mcp:read" = ["weather:read"] }
            http.ca = ["issuer.pem"]
        "#;
        std::fs::write(home.path().join(FILE), text)?;
        let config = Config::load(home.path())?;
        assert_eq!((config.ceilings.fuel, config.ceilings.memory_mib), (Some(1_000_000), Some(32)));
        assert_eq!((config.runtime.calls, config.runtime.queue), (4, RuntimeConfig::default().queue));
        assert_eq!(config.secrets.key_file, Some(home.path().join("keys/key")));
        assert_eq!(config.secrets.overlap_hours, 24);
        let http = &config.capability["acme/weather"].http;
        assert_eq!(http.ca, [home.path().join("ca.pem"), PathBuf::from("/etc/ca.pem")]);
        assert_eq!(http.connect["api.example.com:443"], "127.0.0.1:8443".parse()?);
        let http = &config.secret["TOKEN"].http;
        assert_eq!(http.ca, [home.path().join("login.pem")]);
        assert_eq!(http.connect["login.example.com:443"], "127.0.0.1:8444".parse()?);
        let [issuer] = &config.serve.issuer[..] else { panic!("one issuer") };
        assert_eq!((issuer.principal.as_str(), &issuer.audience), ("sub", &None));
        assert_eq!(issuer.permissions["mcp:read"], ["weather:read"]);
        assert_eq!(issuer.http.ca, [home.path().join("issuer.pem")]);
        Ok(())
    }

    #[test]
    fn mistakes_name_file_line_and_fix() {
        let cases = [
            ("[ceiling]\n", "line 1: unknown key `ceiling`", Some("did you mean `ceilings`?")),
            ("\n[ceilings]\nfule = 1\n", "line 3: unknown key `fule`", Some("did you mean `fuel`?")),
            (
                "[http]\nproxy = \"x\"\n",
                "line 2: unknown key `proxy`",
                Some(
                    "the keys here are `dns-ms`, `connect-ms`, `first-byte-ms`, `request-ms`, `redirects`, \
                     `request-bytes`, `response-bytes`, `concurrent`, `per-minute`, \
                     `redactions-per-minute`",
                ),
            ),
            ("[capability.\"acme/weather\".htpp]\n", "line 1: unknown key `htpp`", Some("did you mean `http`?")),
            ("[runtime]\ncalls = \"many\"\n", "line 2: invalid type: string \"many\", expected usize", None),
            ("[runtime]\ncalls = 0\n", "line 2: `runtime.calls` must be between 1 and 4096", None),
            ("[http]\n\nredirects = 21\n", "line 3: `http.redirects` must be between 0 and 20", None),
            ("[secrets]\nkey-file = \"\"\n", "line 2: `secrets.key-file` is empty", None),
            ("[secrets]\noverlap-hours = 0\n", "line 2: `secrets.overlap-hours` must be between 1 and 8784", None),
            (
                "[telemetry]\notlp = \"http://otel.example.com:4318\"\n",
                "line 2: `http://otel.example.com:4318` is no place for a collector",
                Some("\"http://127.0.0.1:4318\" on this machine, or an `https://` URL"),
            ),
            (
                "[telemetry]\nprometheus = \"0.0.0.0:9464\"\n",
                "line 2: `telemetry.prometheus` can be reached from other machines, so it needs a token",
                Some("set `prometheus-token-file`, or use an address as \"127.0.0.1:9464\""),
            ),
            ("[ceilings]\nmemory-mib = 5000\n", "line 2: `ceilings.memory-mib` must be between 1 and 4096", None),
            ("[loops]\nmin-period-s = 59\n", "line 2: `loops.min-period-s` must be between 60 and 31622400", None),
            (
                "[ceilings]\nfuel = 10\n[defaults]\nfuel = 11\n",
                "line 4: `defaults.fuel` is above `ceilings.fuel`",
                None,
            ),
            (
                "[capability.weather.http]\n",
                "line 1: `capability.weather` is no capability's name",
                Some("write [capability.\"publisher/slug\".http]"),
            ),
            (
                "[capability.\"a/b\".http]\nprivate = [\"10.0.0.0\"]\n",
                "line 2: `10.0.0.0` is no network",
                Some("for example \"10.1.0.0/16\" or \"fd00::/8\""),
            ),
            (
                "[capability.\"a/b\".http]\nprivate = [\"0.0.0.0/33\"]\n",
                "line 2: `0.0.0.0/33` is no network",
                Some("for example \"10.1.0.0/16\" or \"fd00::/8\""),
            ),
            (
                "[capability.\"a/b\".http.connect]\n\"api.example.com\" = \"127.0.0.1:1\"\n",
                "line 2: `api.example.com` is no host with a port",
                Some("for example \"api.example.com:443\""),
            ),
            (
                "[secret.\"acme/weather\".http]\n",
                "line 1: `secret.acme/weather` is no secret's name",
                Some("write [secret.\"NAME\".http]"),
            ),
            (
                "[secret.TOKEN.http]\nprivate = [\"10.0.0.0\"]\n",
                "line 2: `10.0.0.0` is no network",
                Some("for example \"10.1.0.0/16\" or \"fd00::/8\""),
            ),
            (
                "[loops.deliver]\ncommand = [\"bin/notify\"]\n",
                "line 2: `bin/notify` is no absolute path, and no name of a program",
                Some("for example [\"/usr/local/bin/notify\", \"--quiet\"]"),
            ),
            (
                "[loops.deliver]\ntimeout-s = 0\n",
                "line 2: `loops.deliver.timeout-s` must be between 1 and 600",
                None,
            ),
            (
                "[loops.deliver]\nwebhook = \"http://a.example/\"\nsecret = \"KEY\"\n",
                "line 2: `http://a.example/` does not begin with `https://`",
                None,
            ),
            (
                "[loops.deliver]\nwebhook = \"https://a.example/\"\n",
                "line 2: `loops.deliver.secret` is missing",
                Some("name a stored secret: remit secret set NAME"),
            ),
            (
                "[upstream.Home]\n",
                "line 1: `upstream.Home` is no name of an MCP server",
                Some("write [upstream.NAME]"),
            ),
            (
                "[upstream.home]\ncall-ms = 0\n",
                "line 2: `upstream.home.call-ms` must be between 1 and 3600000",
                None,
            ),
            (
                "[[serve.issuer]]\nissuer = \"https://login.example.com\"\n",
                "line 1: `serve.url` is missing",
                Some("for example \"https://remit.example.com\", the address that clients know this door by"),
            ),
            (
                "[serve]\norigins = [\"example.com\"]\n",
                "line 2: `example.com` is no origin",
                Some("for example \"https://app.example.com\""),
            ),
            ("calls = \n", "line 1: string values must be quoted, expected literal string", None),
        ];
        for (text, message, hint) in cases {
            let problem = match Config::parse(text) {
                Ok(_) => panic!("accepted: {text}"),
                Err(problem) => problem.in_file(Path::new("remit.toml")),
            };
            assert_eq!(problem.kind, ErrorKind::Config);
            assert_eq!(problem.message, format!("`remit.toml` {message}"));
            assert_eq!(problem.hint.as_deref(), hint, "{text}");
        }
    }
}

//! What types cannot say about `remit.toml`, and how its mistakes are told: file, line, key and fix.

mod issuers;
mod registries;

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::{Config, DeliverConfig, HttpExceptions, Limits, TelemetryConfig};
use crate::egress::is_collector;
use crate::error::{Error, ErrorKind};
use crate::manifest::check_name;
use crate::registry::CapabilityName;

/// No WebAssembly memory with 32-bit addresses is larger.
const MEMORY_MIB: RangeInclusive<u64> = 1..=4096;

/// An hour: a call that takes longer is a loop, not a tool.
const TIME_MS: RangeInclusive<u64> = 1..=3_600_000;

/// As many instances as one process can reserve address space for.
const CALLS: RangeInclusive<u64> = 1..=4096;

/// Waiting calls cost memory only.
const QUEUE: RangeInclusive<u64> = 0..=65_536;

/// Browsers stop at 20 too.
const REDIRECTS: RangeInclusive<u64> = 0..=20;

/// What is read is held in memory and searched for secrets; 256 MiB is far above any API's answer.
const BODY_BYTES: RangeInclusive<u64> = 1..=256 * 1024 * 1024;

/// A year at most: what is kept longer should be kept on purpose. None would be less than the calls that run.
const OVERLAP_HOURS: RangeInclusive<u64> = 1..=366 * 24;

/// Choosing the due ones stays fast far beyond it; nobody reads a longer list.
const LOOPS: RangeInclusive<u64> = 0..=10_000;

/// From a minute, the finest unit of a pattern, to a leap year.
const PERIOD_S: RangeInclusive<u64> = 60..=366 * 24 * 60 * 60;

/// An hour spreads even ten thousand loops.
const JITTER_S: RangeInclusive<u64> = 0..=3_600;

/// Ten minutes: what takes longer should take the news and work on by itself.
const DELIVERY_S: RangeInclusive<u64> = 1..=600;

/// SQLite and the memory of a page carry it; far above what a capability's notes need.
const KEPT_BYTES: RangeInclusive<u64> = 1..=64 * 1024 * 1024 * 1024;

/// A page of a list has a mebibyte, and always has room for one document.
const VALUE_BYTES: RangeInclusive<u64> = 1..=1024 * 1024;

/// The parser of JSON goes no deeper than 128.
const DEPTH: RangeInclusive<u64> = 1..=100;

/// More is a log, which belongs into documents of its own.
const HISTORY: RangeInclusive<u64> = 0..=1_000;

/// Files of one capability in one conversation. Each change looks at all of them.
const FILES: RangeInclusive<u64> = 1..=10_000;

/// From an hour, which is a conversation, to a year, which is an archive.
const KEEP_HOURS: RangeInclusive<u64> = 1..=24 * 365;

/// Any number but none: zero would switch the service off, and there are clearer ways to do that.
const SOME: RangeInclusive<u64> = 1..=u32::MAX as u64;

/// A mistake in the file, before it is known which file.
#[derive(Debug)]
pub(super) struct Problem {
    line: Option<usize>,
    message: String,
    hint: Option<String>,
}

/// A value that cannot be, by the path of its key.
#[derive(Debug)]
pub(super) struct InvalidValue {
    path: Vec<String>,
    message: String,
    hint: Option<String>,
}

impl Problem {
    /// What the parser found. Unknown keys get the nearest known one.
    pub(super) fn of_parser(error: &toml::de::Error, text: &str) -> Self {
        let line = error.span().map(|span| line_at(text, span.start));
        let mut words = error.message().split('`').skip(1).step_by(2);
        if !error.message().starts_with("unknown field") {
            let message = error.message().lines().next().unwrap_or_default().to_owned();
            return Self { line, message, hint: None };
        }
        let unknown = words.next().unwrap_or_default();
        let known: Vec<&str> = words.collect();
        let hint = match nearest(unknown, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the keys here are `{}`", known.join("`, `")),
        };
        Self { line, message: format!("unknown key `{unknown}`"), hint: Some(hint) }
    }

    pub(super) fn in_file(self, path: &Path) -> Error {
        let line = self.line.map_or(String::new(), |line| format!(" line {line}"));
        let error = Error::new(ErrorKind::Config, format!("`{}`{line}: {}", path.display(), self.message));
        Error { hint: self.hint, ..error }
    }
}

impl InvalidValue {
    fn new(path: &[&str], message: impl Into<String>) -> Self {
        let path = path.iter().map(|&key| key.to_owned()).collect();
        Self { path, message: message.into(), hint: None }
    }

    fn hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }

    /// Finds the line of its key.
    pub(super) fn at_line_of(self, text: &str) -> Problem {
        let line = DeTable::parse(text).ok().and_then(|table| {
            let offset = key_offset(table.get_ref(), &self.path)?;
            Some(line_at(text, offset))
        });
        Problem { line, message: self.message, hint: self.hint }
    }
}

/// Checks every value.
pub(super) fn values(config: &Config) -> Result<(), InvalidValue> {
    limits("ceilings", &config.ceilings)?;
    limits("defaults", &config.defaults)?;
    within_ceilings(&config.defaults, &config.ceilings)?;
    let runtime = &config.runtime;
    let http = &config.http;
    let entities = &config.entities;
    let sandbox = &config.sandbox;
    let serve = &config.serve;
    let principals = &config.principals;
    let loops = &config.loops;
    let numbers: &[(&str, &str, u64, RangeInclusive<u64>)] = &[
        ("runtime", "calls", runtime.calls as u64, CALLS),
        ("runtime", "calls-per-capability", runtime.calls_per_capability as u64, CALLS),
        ("runtime", "queue", runtime.queue as u64, QUEUE),
        ("http", "dns-ms", http.dns_ms, TIME_MS),
        ("http", "connect-ms", http.connect_ms, TIME_MS),
        ("http", "first-byte-ms", http.first_byte_ms, TIME_MS),
        ("http", "request-ms", http.request_ms, TIME_MS),
        ("http", "redirects", http.redirects.into(), REDIRECTS),
        ("http", "request-bytes", http.request_bytes as u64, BODY_BYTES),
        ("http", "response-bytes", http.response_bytes as u64, BODY_BYTES),
        ("http", "concurrent", http.concurrent as u64, SOME),
        ("http", "per-minute", http.per_minute.into(), SOME),
        ("http", "redactions-per-minute", http.redactions_per_minute.into(), SOME),
        ("loops", "per-capability", loops.per_capability.into(), LOOPS),
        ("loops", "min-period-s", loops.min_period_s, PERIOD_S),
        ("loops", "jitter-s", loops.jitter_s, JITTER_S),
        ("loops", "concurrent", loops.concurrent as u64, CALLS),
        ("entities", "documents", entities.documents, SOME),
        ("entities", "bytes", entities.bytes, KEPT_BYTES),
        ("entities", "value-bytes", entities.value_bytes as u64, VALUE_BYTES),
        ("entities", "depth", entities.depth as u64, DEPTH),
        ("entities", "history", entities.history.into(), HISTORY),
        ("sandbox", "files", sandbox.files, FILES),
        ("sandbox", "bytes", sandbox.bytes, KEPT_BYTES),
        ("sandbox", "file-bytes", sandbox.file_bytes as u64, BODY_BYTES),
        ("sandbox", "principal-bytes", sandbox.principal_bytes, KEPT_BYTES),
        ("sandbox", "keep-hours", sandbox.keep_hours.into(), KEEP_HOURS),
        ("serve", "sessions", serve.sessions as u64, SOME),
        ("serve", "requests-per-second", serve.requests_per_second.into(), SOME),
        ("serve", "body-bytes", serve.body_bytes as u64, BODY_BYTES),
        ("principals", "calls", principals.calls as u64, CALLS),
        ("principals", "calls-per-minute", principals.calls_per_minute.into(), SOME),
        ("principals", "sessions", principals.sessions as u64, SOME),
        ("secrets", "overlap-hours", config.secrets.overlap_hours.into(), OVERLAP_HOURS),
    ];
    for (section, key, value, range) in numbers {
        within(section, key, *value, range)?;
    }
    if config.secrets.key_file.as_ref().is_some_and(|file| file.as_os_str().is_empty()) {
        return Err(InvalidValue::new(&["secrets", "key-file"], "`secrets.key-file` is empty"));
    }
    for origin in &serve.origins {
        let is_origin = url::Url::parse(origin).is_ok_and(|url| url.origin().ascii_serialization() == *origin);
        if !is_origin {
            return Err(InvalidValue::new(&["serve", "origins"], format!("`{origin}` is no origin"))
                .hint("for example \"https://app.example.com\""));
        }
    }
    if let Some(name) = &serve.principal
        && let Some(problem) = check_name(name)
    {
        let message = format!("`{name}` is no principal's name: {problem}");
        return Err(InvalidValue::new(&["serve", "principal"], message));
    }
    issuers::check(serve)?;
    deliver(&loops.deliver)?;
    telemetry(&config.telemetry)?;
    registries::check(&config.registries)?;
    for (name, settings) in &config.upstream {
        if check_name(name).is_some() {
            let message = format!("`upstream.{name}` is no name of an MCP server");
            return Err(InvalidValue::new(&["upstream", name], message).hint("write [upstream.NAME]"));
        }
        let numbers = [
            ("connect-ms", settings.connect_ms, TIME_MS),
            ("call-ms", settings.call_ms, TIME_MS),
            ("concurrent", settings.concurrent as u64, CALLS),
            ("idle-s", settings.idle_s, SOME),
        ];
        for (key, value, range) in numbers {
            if !range.contains(&value) {
                let message =
                    format!("`upstream.{name}.{key}` must be between {} and {}", range.start(), range.end());
                return Err(InvalidValue::new(&["upstream", name, key], message));
            }
        }
        exceptions(&["upstream", name, "http"], &settings.http)?;
    }
    for (name, settings) in &config.capability {
        if name.parse::<CapabilityName>().is_err() {
            let path = ["capability", name];
            return Err(InvalidValue::new(&path, format!("`capability.{name}` is no capability's name"))
                .hint("write [capability.\"publisher/slug\".http]"));
        }
        exceptions(&["capability", name, "http"], &settings.http)?;
    }
    for (name, settings) in &config.secret {
        if !is_secret_name(name) {
            let message = format!("`secret.{name}` is no secret's name");
            return Err(InvalidValue::new(&["secret", name], message).hint("write [secret.\"NAME\".http]"));
        }
        exceptions(&["secret", name, "http"], &settings.http)?;
    }
    Ok(())
}

fn limits(section: &str, limits: &Limits) -> Result<(), InvalidValue> {
    let numbers = [
        ("fuel", limits.fuel, 1..=u64::MAX),
        ("memory-mib", limits.memory_mib.map(u64::from), MEMORY_MIB),
        ("time-ms", limits.time_ms.map(u64::from), TIME_MS),
        ("http-requests", limits.http_requests.map(u64::from), 0..=u64::from(u32::MAX)),
    ];
    for (key, value, range) in numbers {
        if let Some(value) = value {
            within(section, key, value, &range)?;
        }
    }
    Ok(())
}

fn within_ceilings(defaults: &Limits, ceilings: &Limits) -> Result<(), InvalidValue> {
    let pairs = [
        ("fuel", defaults.fuel, ceilings.fuel),
        ("memory-mib", defaults.memory_mib.map(u64::from), ceilings.memory_mib.map(u64::from)),
        ("time-ms", defaults.time_ms.map(u64::from), ceilings.time_ms.map(u64::from)),
        ("http-requests", defaults.http_requests.map(u64::from), ceilings.http_requests.map(u64::from)),
    ];
    for (key, default, ceiling) in pairs {
        if let (Some(default), Some(ceiling)) = (default, ceiling)
            && default > ceiling
        {
            return Err(InvalidValue::new(
                &["defaults", key],
                format!("`defaults.{key}` is above `ceilings.{key}`"),
            ));
        }
    }
    Ok(())
}

fn within(section: &str, key: &str, value: u64, range: &RangeInclusive<u64>) -> Result<(), InvalidValue> {
    if range.contains(&value) {
        return Ok(());
    }
    let message = if *range.end() >= u64::from(u32::MAX) {
        format!("`{section}.{key}` must be at least {}", range.start())
    } else {
        format!("`{section}.{key}` must be between {} and {}", range.start(), range.end())
    };
    Err(InvalidValue::new(&[section, key], message))
}

fn deliver(deliver: &DeliverConfig) -> Result<(), InvalidValue> {
    let wrong = |key, message: String| InvalidValue::new(&["loops", "deliver", key], message);
    if let Some(program) = deliver.command.first()
        && (program.is_empty() || program.contains('/') && !Path::new(program).is_absolute())
    {
        return Err(wrong("command", format!("`{program}` is no absolute path, and no name of a program"))
            .hint("for example [\"/usr/local/bin/notify\", \"--quiet\"]"));
    }
    if !DELIVERY_S.contains(&deliver.timeout_s) {
        let (least, most) = DELIVERY_S.into_inner();
        return Err(wrong("timeout-s", format!("`loops.deliver.timeout-s` must be between {least} and {most}")));
    }
    match (&deliver.webhook, &deliver.secret) {
        (Some(url), _) if !url.starts_with("https://") => {
            return Err(wrong("webhook", format!("`{url}` does not begin with `https://`")));
        }
        (Some(_), None) => {
            return Err(wrong("webhook", "`loops.deliver.secret` is missing".to_owned())
                .hint("name a stored secret: remit secret set NAME"));
        }
        (_, Some(name)) if !is_secret_name(name) => {
            return Err(wrong("secret", format!("`{name}` is no secret's name")));
        }
        _ => {}
    }
    exceptions(&["loops", "deliver", "http"], &deliver.http)
}

fn telemetry(telemetry: &TelemetryConfig) -> Result<(), InvalidValue> {
    if let Some(url) = telemetry.otlp.as_ref().filter(|url| !is_collector(url)) {
        return Err(InvalidValue::new(&["telemetry", "otlp"], format!("`{url}` is no place for a collector"))
            .hint("\"http://127.0.0.1:4318\" on this machine, or an `https://` URL"));
    }
    let is_open = telemetry.prometheus.is_some_and(|address| !address.ip().is_loopback());
    if is_open && telemetry.prometheus_token_file.is_none() {
        let message = "`telemetry.prometheus` can be reached from other machines, so it needs a token";
        return Err(InvalidValue::new(&["telemetry", "prometheus"], message)
            .hint("set `prometheus-token-file`, or use an address as \"127.0.0.1:9464\""));
    }
    exceptions(&["telemetry", "http"], &telemetry.http)
}

fn exceptions(section: &[&str], exceptions: &HttpExceptions) -> Result<(), InvalidValue> {
    for network in &exceptions.private {
        if !is_network(network) {
            let path = [section, &["private"]].concat();
            return Err(InvalidValue::new(&path, format!("`{network}` is no network"))
                .hint("for example \"10.1.0.0/16\" or \"fd00::/8\""));
        }
    }
    for authority in exceptions.connect.keys() {
        if !is_host_with_port(authority) {
            let path = [section, &["connect", authority.as_str()]].concat();
            return Err(InvalidValue::new(&path, format!("`{authority}` is no host with a port"))
                .hint("for example \"api.example.com:443\""));
        }
    }
    Ok(())
}

fn is_secret_name(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase())
        && text.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

fn is_network(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else { return false };
    let (Ok(address), Ok(prefix)) = (address.parse::<IpAddr>(), prefix.parse::<u8>()) else { return false };
    prefix <= if address.is_ipv4() { 32 } else { 128 }
}

fn is_host_with_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let is_name_character = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
        !host.is_empty() && host.bytes().all(is_name_character) && port.parse::<u16>().is_ok_and(|port| port != 0)
    })
}

/// The nearest known word, when it is near enough to be meant.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    /// What is less alike is another word, not a slip. The parser of the command line draws it there too.
    const ALIKE: f64 = 0.7;
    let scored = known.iter().map(|&candidate| (strsim::jaro(word, candidate), candidate));
    scored.filter(|(score, _)| *score > ALIKE).max_by(|left, right| left.0.total_cmp(&right.0)).map(|best| best.1)
}

/// Where the key at `path` begins, or the longest part of the path that is written out.
fn key_offset(table: &DeTable<'_>, path: &[String]) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
    let deeper = match value.get_ref() {
        DeValue::Table(table) => key_offset(table, rest),
        _ => None,
    };
    Some(deeper.unwrap_or(key.span().start))
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|&byte| byte == b'\n').count() + 1
}

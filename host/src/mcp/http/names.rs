//! Which `Host` and `Origin` values are answered.
//!
//! A page of a foreign site can make a browser send requests to this machine, under a name of its own that
//! it lets point here. Those requests carry the site's `Host` or `Origin`, so both are always held against
//! a list: the names of this machine, the address that is served, and what `remit.toml` adds.

use std::net::SocketAddr;

use axum::http::Uri;
use axum::http::uri::Authority;

use crate::config::ServeConfig;
use crate::error::{Error, ErrorKind, Result};

/// The names of this machine, at any port.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The `Host` values that are answered by a door at `address`.
pub(super) fn hosts(config: &ServeConfig, address: SocketAddr) -> Result<Vec<String>> {
    let mut hosts: Vec<String> = LOOPBACK.iter().map(|&name| name.to_owned()).collect();
    if !address.ip().is_unspecified() {
        // A bare address is no name that a site could let point here.
        hosts.push(match address {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        });
    }
    for host in &config.hosts {
        let is_authority = host
            .parse::<Authority>()
            .is_ok_and(|authority| authority.as_str() == host && !host.contains(['@', '*']));
        if !is_authority {
            let message =
                format!("`serve.hosts`: `{host}` is not a host name, with a port where only that one is meant");
            return Err(Error::new(ErrorKind::Config, message)
                .hint("write it as `remit.example.com` or `remit.example.com:8443`"));
        }
        hosts.push(host.clone());
    }
    // Clients know the door by it.
    let url = config.url.as_ref().and_then(|url| url.parse::<Uri>().ok());
    hosts.extend(url.and_then(|url| url.authority().map(ToString::to_string)));
    Ok(hosts)
}

/// The `Origin` values that are answered: requests without one come from no browser and need none.
pub(super) fn origins(config: &ServeConfig) -> Result<Vec<String>> {
    let mut origins = Vec::new();
    for name in LOOPBACK {
        origins.push(format!("http://{name}:*"));
        origins.push(format!("https://{name}:*"));
    }
    for origin in &config.origins {
        origins.push(with_port(origin).ok_or_else(|| {
            Error::new(ErrorKind::Config, format!("`serve.origins`: `{origin}` is not an origin"))
                .hint("write it as `https://app.example.com`, without a path")
        })?);
    }
    Ok(origins)
}

/// The origin with its port written out: without one it would stand for every port.
fn with_port(origin: &str) -> Option<String> {
    let uri: Uri = origin.parse().ok()?;
    let scheme = uri.scheme_str()?;
    let default_port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = uri.authority()?;
    let is_bare = origin.eq_ignore_ascii_case(&format!("{scheme}://{authority}"));
    if !is_bare || authority.as_str().contains(['@', '*']) {
        return None;
    }
    let port = authority.port_u16().unwrap_or(default_port);
    Some(format!("{scheme}://{}:{port}", authority.host()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(hosts: &[&str], origins: &[&str]) -> ServeConfig {
        let owned = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect();
        ServeConfig { hosts: owned(hosts), origins: owned(origins), ..ServeConfig::default() }
    }

    #[test]
    fn this_machine_and_what_is_configured() {
        let cases: [(&str, &[&str], &[&str]); 6] = [
            ("127.0.0.1:80", &[], &["127.0.0.1"]),
            ("192.168.1.5:80", &[], &["192.168.1.5"]),
            ("[fd00::5]:80", &[], &["[fd00::5]"]),
            ("0.0.0.0:80", &[], &[]),
            ("[::]:80", &["remit.example.com"], &["remit.example.com"]),
            ("0.0.0.0:80", &["a.example:8443", "[fd00::1]:80"], &["a.example:8443", "[fd00::1]:80"]),
        ];
        for (address, configured, expected) in cases {
            let hosts = hosts(&config(configured, &[]), address.parse().unwrap()).unwrap();
            assert_eq!(hosts[..3], LOOPBACK);
            assert_eq!(hosts[3..], *expected, "{address}");
        }
    }

    #[test]
    fn the_address_that_clients_know_is_answered() {
        for (url, expected) in
            [("https://remit.example.com", "remit.example.com"), ("https://a.example:8443", "a.example:8443")]
        {
            let config = ServeConfig { url: Some(url.to_owned()), ..ServeConfig::default() };
            let hosts = hosts(&config, "0.0.0.0:80".parse().unwrap()).unwrap();
            assert_eq!(hosts[3..], [expected]);
        }
    }

    #[test]
    fn a_wrong_host_is_an_error() {
        for host in ["", "*", "*.example.com", "https://example.com", "example.com/mcp", "a b", "user@example.com"]
        {
            let error = hosts(&config(&[host], &[]), "0.0.0.0:80".parse().unwrap()).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Config, "{host}");
        }
    }

    #[test]
    fn an_origin_stands_for_one_port() {
        let cases = [
            ("https://app.example.com", "https://app.example.com:443"),
            ("http://app.example.com", "http://app.example.com:80"),
            ("https://app.example.com:8443", "https://app.example.com:8443"),
            ("http://[fd00::1]:3000", "http://[fd00::1]:3000"),
        ];
        for (origin, expected) in cases {
            let origins = origins(&config(&[], &[origin])).unwrap();
            assert_eq!(origins[..2], ["http://localhost:*", "https://localhost:*"]);
            assert_eq!(origins.last().map(String::as_str), Some(expected));
        }
    }

    #[test]
    fn a_wrong_origin_is_an_error() {
        let wrong = [
            "",
            "*",
            "null",
            "app.example.com",
            "https://app.example.com/",
            "https://app.example.com/path",
            "https://*.example.com",
            "https://app.example.com:*",
            "file:///etc",
            "https://user@app.example.com",
            "https://app.example.com?x",
        ];
        for origin in wrong {
            let error = origins(&config(&[], &[origin])).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Config, "{origin}");
        }
    }
}

//! What types cannot say about `[serve]` as an OAuth resource server: identifiers that two readers would compare
//! differently, and words that would mean something else in a header field.

use std::collections::BTreeSet;

use url::Url;

use super::super::{IssuerConfig, ServeConfig};
use super::{InvalidValue, exceptions};

/// Asks an authorization server for a refresh token (OpenID Connect). It permits nothing here.
const OFFLINE_ACCESS: &str = "offline_access";

/// Checks every value that has to do with access tokens.
pub(super) fn check(serve: &ServeConfig) -> Result<(), InvalidValue> {
    match &serve.url {
        Some(url) if !is_address(url) => {
            return Err(InvalidValue::new(&["serve", "url"], format!("`{url}` is no address of a door"))
                .hint("for example \"https://remit.example.com\", without a path"));
        }
        None if !serve.issuer.is_empty() => {
            return Err(InvalidValue::new(&["serve", "url"], "`serve.url` is missing")
                .hint("for example \"https://remit.example.com\", the address that clients know this door by"));
        }
        _ => {}
    }
    if let Some(scope) = &serve.required_scope {
        is_demandable(scope, "required-scope")?;
    }
    let mut seen = BTreeSet::new();
    for settings in &serve.issuer {
        issuer(settings)?;
        if !seen.insert(&settings.issuer) {
            return Err(wrong(format!("the issuer `{}` stands here twice", settings.issuer)));
        }
    }
    Ok(())
}

fn issuer(settings: &IssuerConfig) -> Result<(), InvalidValue> {
    let name = &settings.issuer;
    if !is_issuer(name) {
        return Err(wrong(format!("`{name}` is no issuer"))
            .hint("for example issuer = \"https://login.example.com\", as its metadata spells it"));
    }
    if let Some(url) = settings.jwks.as_ref().filter(|url| !url.starts_with("https://")) {
        return Err(wrong(format!("`{url}` does not begin with `https://`")));
    }
    if let Some(audience) = settings.audience.as_ref().filter(|audience| !is_visible(audience)) {
        return Err(wrong(format!("`{audience}` is no audience")));
    }
    if !is_visible(&settings.principal) {
        return Err(wrong(format!("`{}` is no claim", settings.principal)).hint("for example principal = \"sub\""));
    }
    for (scope, permissions) in &settings.permissions {
        is_demandable(scope, "issuer")?;
        if let Some(permission) = permissions.iter().find(|permission| !is_visible(permission)) {
            return Err(wrong(format!("`{permission}` is no permission")).hint("for example \"weather:read\""));
        }
    }
    if settings.prefix.as_ref().is_some_and(|prefix| !prefix.is_empty() && !is_scope(prefix)) {
        return Err(wrong("`prefix` is not the beginning of a scope"));
    }
    exceptions(&["serve", "issuer", "http"], &settings.http)
}

fn wrong(message: impl Into<String>) -> InvalidValue {
    InvalidValue::new(&["serve", "issuer"], message)
}

/// A scope that clients are told to ask for.
fn is_demandable(scope: &str, key: &str) -> Result<(), InvalidValue> {
    if !is_scope(scope) {
        return Err(InvalidValue::new(&["serve", key], format!("`{scope}` is no scope")));
    }
    if scope == OFFLINE_ACCESS {
        return Err(InvalidValue::new(&["serve", key], format!("`{OFFLINE_ACCESS}` is no scope of this door"))
            .hint("it is between clients and their authorization server"));
    }
    Ok(())
}

/// An origin. Without TLS only on this machine.
fn is_address(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let is_loopback = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let is_safe = url.scheme() == "https" || url.scheme() == "http" && is_loopback;
    is_safe && url.origin().ascii_serialization() == text
}

/// An issuer identifier (RFC 8414, section 2), spelt as every parser of URLs spells it.
fn is_issuer(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let is_bare = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    let is_canonical = url.as_str() == text || url.as_str().strip_suffix('/') == Some(text);
    url.scheme() == "https" && url.password().is_none() && is_bare && is_canonical
}

/// `scope-token` of RFC 6749, section 3.3.
fn is_scope(text: &str) -> bool {
    is_visible(text) && !text.contains(['"', '\\'])
}

fn is_visible(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: impl FnOnce(&mut ServeConfig)) -> Result<(), InvalidValue> {
        let issuer = IssuerConfig { issuer: "https://login.example.com".to_owned(), ..IssuerConfig::default() };
        let url = Some("https://remit.example.com".to_owned());
        let mut config = ServeConfig { url, issuer: vec![issuer], ..ServeConfig::default() };
        change(&mut config);
        check(&config)
    }

    #[test]
    fn the_address_is_an_origin() {
        for url in ["https://remit.example.com", "https://remit.example.com:8443", "http://127.0.0.1:7070"] {
            assert!(with(|config| config.url = Some(url.to_owned())).is_ok(), "{url}");
        }
        for url in [
            "",
            "remit.example.com",
            "https://remit.example.com/",
            "https://remit.example.com/mcp",
            "https://remit.example.com:443",
            "https://REMIT.example.com",
            "https://a@remit.example.com",
            "https://remit.example.com?x",
            "http://remit.example.com",
            "http://127.0.0.1.example.com",
        ] {
            assert!(with(|config| config.url = Some(url.to_owned())).is_err(), "{url}");
        }
    }

    #[test]
    fn an_issuer_is_spelt_one_way() {
        for issuer in ["https://login.example.com", "https://t.example.com/", "https://login.example.com/a/v2.0"] {
            assert!(with(|config| config.issuer[0].issuer = issuer.to_owned()).is_ok(), "{issuer}");
        }
        for issuer in [
            "",
            "login.example.com",
            "http://login.example.com",
            "https://LOGIN.example.com",
            "https://login.example.com:443",
            "https://login.example.com?x",
            "https://login.example.com#x",
            "https://login.example.com/a/../b",
            "https://a:b@login.example.com",
        ] {
            assert!(with(|config| config.issuer[0].issuer = issuer.to_owned()).is_err(), "{issuer}");
        }
        assert!(with(|config| config.issuer.push(config.issuer[0].clone())).is_err(), "twice");
        assert!(with(|config| config.url = None).is_err(), "tokens would be made out to nobody");
    }

    #[test]
    fn scopes_stay_words_in_a_header_field() {
        let map = |scope: &str, permission: &str| {
            with(|config| {
                config.issuer[0].permissions.insert(scope.to_owned(), vec![permission.to_owned()]);
            })
        };
        assert!(map("mcp:read", "weather:read").is_ok());
        for scope in ["", "two words", "a\"b", "a\\b", "a\r\nb", "é", "offline_access"] {
            assert!(map(scope, "weather:read").is_err(), "{scope:?}");
            assert!(with(|config| config.required_scope = Some(scope.to_owned())).is_err(), "{scope:?}");
        }
        assert!(map("mcp:read", "").is_err());
        assert!(with(|config| config.issuer[0].prefix = Some(String::new())).is_ok());
        assert!(with(|config| config.issuer[0].prefix = Some("a b".to_owned())).is_err());
        assert!(with(|config| config.issuer[0].principal = String::new()).is_err());
        assert!(with(|config| config.issuer[0].jwks = Some("http://a.example/keys".to_owned())).is_err());
    }
}

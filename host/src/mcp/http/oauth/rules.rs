//! Whether what an issuer signed is for this door and for now, whom it names, and what it permits. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use super::object::Object;
use super::token::Signed;
use crate::config::IssuerConfig;
use crate::policy::{Authority, Identity};

/// Seconds by which the issuer's clock and ours may differ.
const LEEWAY: f64 = 30.0;

/// Characters of what names a principal. OpenID Connect allows a `sub` of 255.
const MAX_NAME: usize = 255;

/// What holds for tokens of one issuer.
#[derive(Debug)]
pub(super) struct Rules {
    issuer: String,
    audience: Option<String>,
    permissions: BTreeMap<String, Vec<String>>,
    prefix: Option<String>,
    principal: String,
}

/// What a token comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    /// Whom it names, with what it permits.
    pub(super) identity: Identity,
    /// Its scopes, as they stand in it.
    pub(super) scopes: Vec<String>,
    /// When it ends for us, in milliseconds since 1970.
    pub(super) ends_at_ms: i64,
}

impl Rules {
    /// What `settings` says of one issuer.
    pub(super) fn new(settings: &IssuerConfig) -> Self {
        Self {
            issuer: settings.issuer.clone(),
            audience: settings.audience.clone(),
            permissions: settings.permissions.clone(),
            prefix: settings.prefix.clone(),
            principal: settings.principal.clone(),
        }
    }

    /// The issuer's identifier.
    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Judges a token at a door that is known as `audiences`, at the time `now_ms`.
    pub(super) fn accept(
        &self,
        token: &Signed,
        audiences: &[String],
        now_ms: i64,
    ) -> Result<Accepted, &'static str> {
        let claims = token.claims();
        if claims.text("iss") != Some(&self.issuer) {
            return Err("another issuer signed it");
        }
        let expected = self.audience.as_ref().map_or(audiences, std::slice::from_ref);
        if !self::audiences(claims)?.iter().any(|named| expected.iter().any(|audience| audience == named)) {
            return Err("it is for another audience");
        }
        let ends_at_ms = times(claims, now_ms)?;
        // It is bound to a key that the client would have to prove (RFC 7800); bare, it proves nothing.
        if claims.get("cnf").is_some() {
            return Err("it is bound to a key");
        }
        let scopes = scopes(claims)?;
        let identity = Identity {
            principal: self.principal(claims)?,
            authority: Authority::Token(self.permissions(&scopes)),
        };
        Ok(Accepted { identity, scopes, ends_at_ms })
    }

    /// `ISSUER#NAME`. No issuer's identifier has a `#`, so two issuers never mean the same; and a name that is
    /// stored or our own has neither `#` nor `:`.
    fn principal(&self, claims: &Object) -> Result<String, &'static str> {
        let name = claims.text(&self.principal).ok_or("it names no principal")?;
        let is_plain =
            !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_plain {
            return Err("the name of its principal is not plain");
        }
        Ok(format!("{}#{name}", self.issuer))
    }

    fn permissions(&self, scopes: &[String]) -> Vec<String> {
        let mut permissions = Vec::new();
        for scope in scopes {
            permissions.extend(self.permissions.get(scope).into_iter().flatten().cloned());
            let own = self.prefix.as_ref().and_then(|prefix| scope.strip_prefix(prefix));
            permissions.extend(own.filter(|permission| !permission.is_empty()).map(str::to_owned));
        }
        permissions.sort();
        permissions.dedup();
        permissions
    }
}

/// Whom it is for: a text or a list of texts (RFC 7519, section 4.1.3).
fn audiences(claims: &Object) -> Result<Vec<&str>, &'static str> {
    match claims.get("aud") {
        Some(Value::String(one)) => Ok(vec![one]),
        Some(Value::Array(all)) => {
            all.iter().map(Value::as_str).collect::<Option<_>>().ok_or("its audience is no text")
        }
        _ => Err("it is for no audience"),
    }
}

/// When it ends. An end is needed; a beginning and a time of issue are held to when they are there.
fn times(claims: &Object, now_ms: i64) -> Result<i64, &'static str> {
    let seconds = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(value) => value.as_f64().map(Some).ok_or("a time in it is no number"),
    };
    let now = now_ms as f64 / 1000.0;
    let end = seconds("exp")?.ok_or("it has no end")?;
    if now >= end + LEEWAY {
        return Err("it has ended");
    }
    for name in ["nbf", "iat"] {
        if seconds(name)?.is_some_and(|begin| begin > now + LEEWAY) {
            return Err("it is not valid yet");
        }
    }
    // A number that is too large for us becomes the largest.
    Ok(((end + LEEWAY) * 1000.0) as i64)
}

/// `scope` (RFC 9068, section 2.2.3), or `scp` as two widespread issuers call it: words in a text, or a list.
fn scopes(claims: &Object) -> Result<Vec<String>, &'static str> {
    match claims.get("scope").or_else(|| claims.get("scp")) {
        None => Ok(Vec::new()),
        Some(Value::String(words)) => {
            Ok(words.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect())
        }
        Some(Value::Array(all)) => {
            let words = all.iter().map(|word| word.as_str().map(str::to_owned));
            words.collect::<Option<_>>().ok_or("its scope is no text")
        }
        Some(_) => Err("its scope is no text"),
    }
}

#[cfg(test)]
mod tests {
    use remit_upstream::issuer::SigningKey;
    use serde_json::json;

    use super::super::keyset::KeySet;
    use super::super::token::Presented;
    use super::*;

    const ISSUER: &str = "https://login.example.com";
    const DOOR: &str = "https://remit.example.com/mcp";
    const NOW: i64 = 1_800_000_000;

    fn settings() -> IssuerConfig {
        IssuerConfig {
            issuer: ISSUER.to_owned(),
            permissions: BTreeMap::from([
                ("mcp:read".to_owned(), vec!["weather:read".to_owned(), "notes:read".to_owned()]),
                ("mcp:write".to_owned(), vec!["notes:write".to_owned()]),
            ]),
            ..IssuerConfig::default()
        }
    }

    fn claims() -> Value {
        json!({ "iss": ISSUER, "aud": DOOR, "sub": "ada", "exp": NOW + 600, "scope": "mcp:read" })
    }

    /// What becomes of these claims.
    fn judge(settings: &IssuerConfig, claims: &Value) -> Result<Accepted, &'static str> {
        let key = SigningKey::es256("k");
        let keys = KeySet::read(json!({ "keys": [key.jwk()] }).to_string().as_bytes()).unwrap();
        let token = key.token("ES256", claims);
        let signed = Presented::read(&token).unwrap().signed_by(keys.find(Some("k")).unwrap()).unwrap();
        Rules::new(settings).accept(&signed, &[DOOR.to_owned()], NOW * 1000)
    }

    fn with(name: &str, value: Value) -> Value {
        let mut claims = claims();
        claims[name] = value;
        claims
    }

    fn without(name: &str) -> Value {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(name);
        claims
    }

    #[test]
    fn a_token_in_order_names_a_principal_and_permits_what_its_scopes_stand_for() {
        let accepted = judge(&settings(), &claims()).unwrap();
        assert_eq!(accepted.identity.principal, "https://login.example.com#ada");
        let permissions = ["notes:read", "weather:read"].map(str::to_owned).to_vec();
        assert_eq!(accepted.identity.authority, Authority::Token(permissions));
        assert_eq!(accepted.scopes, ["mcp:read"]);
        assert_eq!(accepted.ends_at_ms, (NOW + 630) * 1000);
        assert_eq!(judge(&settings(), &with("exp", json!(1.0e300))).unwrap().ends_at_ms, i64::MAX);
    }

    #[test]
    fn whoever_it_is_not_for_and_whenever_it_is_not_valid_it_is_refused() {
        for good in [
            with("aud", json!(["https://other.example.com", DOOR])),
            with("exp", json!(NOW - 29)),
            with("exp", json!(NOW as f64 + 0.5)),
            with("nbf", json!(NOW + 29)),
            with("iat", json!(NOW - 100_000)),
            with("iat", json!(NOW + 29)),
        ] {
            assert!(judge(&settings(), &good).is_ok(), "{good}");
        }
        for (bad, why) in [
            (without("iss"), "another issuer signed it"),
            (with("iss", json!("https://login.example.com/")), "another issuer signed it"),
            (with("iss", json!("https://LOGIN.example.com")), "another issuer signed it"),
            (with("iss", json!([ISSUER])), "another issuer signed it"),
            (without("aud"), "it is for no audience"),
            (with("aud", json!(null)), "it is for no audience"),
            (with("aud", json!({})), "it is for no audience"),
            (with("aud", json!([])), "it is for another audience"),
            (with("aud", json!([DOOR, 1])), "its audience is no text"),
            (with("aud", json!("https://remit.example.com/mcp/")), "it is for another audience"),
            (with("aud", json!("https://remit.example.com/mcp/acme/weather")), "it is for another audience"),
            (with("aud", json!("https://remit.example.com.evil.test/mcp")), "it is for another audience"),
            (without("exp"), "it has no end"),
            (with("exp", json!(null)), "a time in it is no number"),
            (with("exp", json!("1900000000")), "a time in it is no number"),
            (with("exp", json!(NOW - 30)), "it has ended"),
            (with("exp", json!(0)), "it has ended"),
            (with("exp", json!(-1.0e300)), "it has ended"),
            (with("nbf", json!(NOW + 31)), "it is not valid yet"),
            (with("nbf", json!("0")), "a time in it is no number"),
            (with("nbf", json!({})), "a time in it is no number"),
            (with("iat", json!(NOW + 31)), "it is not valid yet"),
            (with("cnf", json!({ "jkt": "x" })), "it is bound to a key"),
            (with("scope", json!(7)), "its scope is no text"),
            (with("scope", json!(["mcp:read", {}])), "its scope is no text"),
        ] {
            assert_eq!(judge(&settings(), &bad).unwrap_err(), why, "{bad}");
        }
    }

    #[test]
    fn an_audience_of_its_own_replaces_the_address() {
        let own = IssuerConfig { audience: Some("api://remit".to_owned()), ..settings() };
        assert!(judge(&own, &with("aud", json!("api://remit"))).is_ok());
        assert_eq!(judge(&own, &claims()).unwrap_err(), "it is for another audience");
    }

    #[test]
    fn names_of_principals_never_meet() {
        let name = |issuer: &str, claim: &str, sub: &str| {
            let own = IssuerConfig { issuer: issuer.to_owned(), principal: claim.to_owned(), ..settings() };
            let mut claims = with("iss", json!(issuer));
            claims[claim] = json!(sub);
            judge(&own, &claims).map(|accepted| accepted.identity.principal)
        };
        let names: Vec<_> = [
            name(ISSUER, "sub", "ada"),
            name(ISSUER, "sub", "Ada"),
            name("https://login.example.com/", "sub", "ada"),
            name("https://login.example.com/t", "sub", "ada"),
            name("https://other.example.com", "sub", "ada"),
            name("https://other.example.com", "sub", "https://login.example.com#ada"),
            name(ISSUER, "client_id", "agent"),
        ]
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap();
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{names:?}");
        // Names that are stored, or ours, have no such letters.
        assert!(names.iter().all(|name| name.starts_with("https://") && name.contains('#')), "{names:?}");
        for bad in ["", "two words", "a\nb", "a\0", "ä", "\u{202e}ada", &"a".repeat(256)] {
            assert!(name(ISSUER, "sub", bad).is_err(), "{bad:?}");
        }
        assert_eq!(judge(&settings(), &without("sub")).unwrap_err(), "it names no principal");
        assert_eq!(judge(&settings(), &with("sub", json!(7))).unwrap_err(), "it names no principal");
    }

    #[test]
    fn a_scope_permits_what_is_written_down_and_nothing_else() {
        let mapped = settings();
        let prefixed = IssuerConfig { prefix: Some("remit:".to_owned()), ..IssuerConfig::default() };
        let prefixed = IssuerConfig { issuer: ISSUER.to_owned(), ..prefixed };
        let as_they_are = IssuerConfig { prefix: Some(String::new()), ..prefixed.clone() };
        let cases: [(&IssuerConfig, &str, Value, &[&str]); 10] = [
            (&mapped, "scope", json!("mcp:write mcp:read"), &["notes:read", "notes:write", "weather:read"]),
            (&mapped, "scope", json!("MCP:READ mcp:read:x notes:write  "), &[]),
            (&mapped, "scope", json!(""), &[]),
            (&mapped, "scope", json!(["mcp:write"]), &["notes:write"]),
            (&mapped, "scp", json!("mcp:write"), &["notes:read", "weather:read"]),
            (&mapped, "roles", json!(["mcp:write"]), &["notes:read", "weather:read"]),
            (&prefixed, "scope", json!("remit:notes:read notes:write remit:"), &["notes:read"]),
            (&prefixed, "scope", json!("remit:notes:read remit:notes:read"), &["notes:read"]),
            (&as_they_are, "scope", json!("notes:read openid"), &["notes:read", "openid"]),
            (&IssuerConfig { permissions: BTreeMap::new(), ..settings() }, "scope", json!("mcp:read"), &[]),
        ];
        for (settings, name, scopes, expected) in cases {
            let accepted = judge(settings, &with(name, scopes.clone())).unwrap();
            let expected = expected.iter().map(|&permission| permission.to_owned()).collect();
            assert_eq!(accepted.identity.authority, Authority::Token(expected), "{scopes}");
        }
        let mut scp = without("scope");
        scp["scp"] = json!(["mcp:write"]);
        assert_eq!(judge(&mapped, &scp).unwrap().scopes, ["mcp:write"]);
    }
}

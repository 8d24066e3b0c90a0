//! Where an issuer's keys are, by its metadata: RFC 8414, or OpenID Connect Discovery.
//!
//! Metadata is believed about the issuer that it was asked of, and about nobody else: it must name that issuer letter
//! for letter. Where it leads to is judged again as any endpoint is.

use url::Url;

use super::object::Object;

/// Where metadata of `issuer` may be, in the order in which it is looked for.
pub(super) fn places(issuer: &str) -> Vec<String> {
    let Ok(url) = Url::parse(issuer) else { return Vec::new() };
    let origin = url.origin().ascii_serialization();
    let path = url.path().trim_end_matches('/');
    let mut places = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        // OpenID Connect appends, where RFC 8414 inserts.
        places.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    places
}

/// The address of the keys that this metadata of `issuer` names.
pub(super) fn jwks(metadata: &[u8], issuer: &str) -> Result<String, &'static str> {
    let metadata = Object::read(metadata).ok_or("its metadata is no object with each name once")?;
    if metadata.text("issuer") != Some(issuer) {
        return Err("its metadata names another issuer");
    }
    let url = metadata.text("jwks_uri").ok_or("its metadata names no keys")?;
    Ok(url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_looked_for_where_the_standards_say() {
        let (oauth, oidc) = (".well-known/oauth-authorization-server", ".well-known/openid-configuration");
        for issuer in ["https://login.example.com", "https://login.example.com/"] {
            let host = "https://login.example.com";
            assert_eq!(places(issuer), [format!("{host}/{oauth}"), format!("{host}/{oidc}")]);
        }
        let host = "https://login.example.com:8443";
        assert_eq!(
            places(&format!("{host}/tenant/v2.0")),
            [
                format!("{host}/{oauth}/tenant/v2.0"),
                format!("{host}/{oidc}/tenant/v2.0"),
                format!("{host}/tenant/v2.0/{oidc}"),
            ]
        );
    }

    #[test]
    fn metadata_speaks_for_its_own_issuer() {
        let issuer = "https://login.example.com";
        let metadata = |text: &str| jwks(text.as_bytes(), issuer);
        let good = r#"{"issuer":"https://login.example.com","jwks_uri":"https://keys.example.com/","x":1}"#;
        assert_eq!(metadata(good).unwrap(), "https://keys.example.com/");
        for other in ["https://login.example.com/", "https://evil.test", "https://LOGIN.example.com", ""] {
            let other = good.replace(issuer, other);
            assert_eq!(metadata(&other).unwrap_err(), "its metadata names another issuer", "{other}");
        }
        for bad in [
            "",
            "[]",
            "<html>",
            "{}",
            r#"{"jwks_uri":"https://keys.example.com/"}"#,
            r#"{"issuer":"https://login.example.com"}"#,
            r#"{"issuer":"https://login.example.com","jwks_uri":1}"#,
            r#"{"issuer":"https://evil.test","issuer":"https://login.example.com","jwks_uri":"https://a.example/"}"#,
        ] {
            assert!(metadata(bad).is_err(), "{bad}");
        }
    }
}

//! Access tokens as RFC 9068 has them: JSON Web Tokens in compact form, signed with a public key.
//!
//! [`Presented`] is a token that anybody may have written; only a key makes it [`Signed`], and only of that are
//! claims read. There is no way to say that a token needs no signature, or that its key is in it.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::keyset::Key;
use super::object::Object;

/// Bytes of a token. The largest that issuers make, full of groups, have about 8,000.
const MAX_TOKEN: usize = 16 * 1024;

/// What signs tokens. No others are read: none with a shared secret, and not `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// RSA with PKCS #1 v1.5 and SHA-256.
    Rs256,
    /// RSA with PSS and SHA-256.
    Ps256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

/// A token whose form is in order. Nothing of it is believed yet.
#[derive(Debug)]
pub(super) struct Presented<'t> {
    algorithm: Algorithm,
    kid: Option<String>,
    claims: Object,
    signed: &'t [u8],
    signature: Vec<u8>,
}

/// The claims of a token whose signature holds. Only [`Presented::signed_by`] makes one.
#[derive(Debug)]
pub(super) struct Signed(Object);

impl Algorithm {
    /// The one of this name (RFC 7518, section 3.1; RFC 8037).
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

impl<'t> Presented<'t> {
    /// Reads a token, or says why it is none.
    pub(super) fn read(token: &'t str) -> Result<Self, &'static str> {
        if token.len() > MAX_TOKEN {
            return Err("it is too long");
        }
        let form = "it is not three parts in base64url";
        let (signed, signature) = token.rsplit_once('.').ok_or(form)?;
        let (header, claims) = signed.split_once('.').ok_or(form)?;
        // A further dot is no letter of base64url, so five parts are refused here too.
        let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| form);
        let (header, claims, signature) = (decode(header)?, decode(claims)?, decode(signature)?);

        let header = Object::read(&header).ok_or("its header is no object with each name once")?;
        if header.get("crit").is_some() {
            return Err("it demands an extension");
        }
        // Tokens of other kinds (ID tokens aside, which have another audience) say so here: RFC 8725, section 3.11.
        match header.get("typ") {
            None => {}
            Some(typ) => {
                let typ = typ.as_str().unwrap_or_default().to_ascii_lowercase();
                if !matches!(typ.as_str(), "jwt" | "at+jwt" | "application/at+jwt") {
                    return Err("it is of another type");
                }
            }
        }
        let algorithm = header.text("alg").and_then(Algorithm::named).ok_or("its algorithm is not taken")?;
        let kid = match header.get("kid") {
            None => None,
            Some(kid) => Some(kid.as_str().ok_or("its key has no name")?.to_owned()),
        };
        let claims = Object::read(&claims).ok_or("its claims are no object with each name once")?;
        Ok(Self { algorithm, kid, claims, signed: signed.as_bytes(), signature })
    }

    /// Whose it says it is.
    pub(super) fn issuer(&self) -> Option<&str> {
        self.claims.text("iss")
    }

    /// The name of the key that is said to have signed it.
    pub(super) fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// Holds the signature against a key.
    pub(super) fn signed_by(self, key: &Key) -> Result<Signed, &'static str> {
        if key.verifies(self.algorithm, self.signed, &self.signature) {
            Ok(Signed(self.claims))
        } else {
            Err("its signature does not hold")
        }
    }
}

impl Signed {
    /// What its issuer said.
    pub(super) fn claims(&self) -> &Object {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str, claims: &str) -> String {
        [header, claims, "signature"].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part)).join(".")
    }

    #[test]
    fn algorithms_and_types_are_few() {
        let with = |header: &str| token(header, r#"{"iss":"i"}"#);
        for good in [
            r#"{"alg":"RS256"}"#,
            r#"{"alg":"PS256","typ":"at+jwt"}"#,
            r#"{"alg":"ES256","typ":"JWT","kid":"a"}"#,
            r#"{"alg":"EdDSA","typ":"Application/AT+JWT","jku":"https://evil.test/","x":1}"#,
        ] {
            let token = with(good);
            assert_eq!(Presented::read(&token).unwrap().issuer(), Some("i"), "{good}");
        }
        for bad in [
            r#"{"alg":"none"}"#,
            r#"{"alg":"None"}"#,
            r#"{"alg":""}"#,
            r#"{"alg":null}"#,
            r#"{"alg":["RS256"]}"#,
            "{}",
            r#"{"alg":"HS256"}"#,
            r#"{"alg":"rs256"}"#,
            r#"{"alg":"RS256 "}"#,
            r#"{"alg":"RS512"}"#,
            r#"{"alg":"RS256","alg":"none"}"#,
            r#"{"alg":"RS256","crit":["exp"],"exp":1}"#,
            r#"{"alg":"RS256","crit":null}"#,
            r#"{"alg":"RS256","b64":false,"crit":["b64"]}"#,
            r#"{"alg":"RS256","typ":"dpop+jwt"}"#,
            r#"{"alg":"RS256","typ":"logout+jwt"}"#,
            r#"{"alg":"RS256","typ":1}"#,
            r#"{"alg":"RS256","kid":1}"#,
            r#"{"alg":"RS256","kid":null}"#,
            r#"{"ALG":"RS256"}"#,
        ] {
            assert!(Presented::read(&with(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_form_is_strict() {
        let good = token(r#"{"alg":"RS256"}"#, "{}");
        assert!(Presented::read(&good).is_ok());
        let parts: Vec<&str> = good.split('.').collect();
        for bad in [
            String::new(),
            ".".to_owned(),
            "..".to_owned(),
            parts[..2].join("."),
            format!("{good}.{}", parts[0]),
            format!("{good}.a.b"),
            format!(".{good}"),
            format!("{good}="),
            format!("{good} "),
            good.replace('.', " ."),
            good.replace(parts[0], &format!("{}+", parts[0])),
            token(r#"{"alg":"RS256"}"#, r#"{"iss":"a","iss":"b"}"#),
            token(r#"{"alg":"RS256"}"#, r#"["iss"]"#),
            token("null", "{}"),
        ] {
            assert!(Presented::read(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn size_is_judged_before_anything_is_read() {
        let long = |filling: usize| token(r#"{"alg":"RS256"}"#, &format!("{{\"x\":\"{}\"}}", "a".repeat(filling)));
        assert!(Presented::read(&long(12_000)).is_ok());
        assert_eq!(Presented::read(&long(12_300)).unwrap_err(), "it is too long");
        assert_eq!(Presented::read(&"{".repeat(10_000_000)).unwrap_err(), "it is too long");
    }
}

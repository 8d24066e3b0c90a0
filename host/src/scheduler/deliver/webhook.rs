//! Tells an address on the web: a request that is signed as Standard Webhooks say, so that its receiver knows who
//! sent it and that it is fresh.
//!
//! Decides what is signed and what an answer means. The way out, with the rules for addresses, is `egress/own.rs`'s.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::hmac;

use super::Undelivered;
use crate::config::DeliverConfig;
use crate::egress::{Endpoint, Own};
use crate::error::{Error, ErrorKind, Result};
use crate::secrets::{SecretKind, Vault};

/// What a secret begins with whose rest is base64.
const IN_BASE64: &str = "whsec_";

/// The receiver says that it wants no more.
const GONE: u16 = 410;

/// The webhook of one home.
pub(super) struct Webhook {
    url: String,
    secret: String,
    vault: Arc<Vault>,
    own: Own,
}

impl Webhook {
    pub(super) fn configured(config: &DeliverConfig, vault: Arc<Vault>, own: Own) -> Result<Option<Self>> {
        let (Some(url), Some(secret)) = (config.webhook.clone(), config.secret.clone()) else { return Ok(None) };
        Endpoint::new(&url).map_err(|why| {
            Error::new(ErrorKind::Config, format!("`loops.deliver.webhook` cannot be reached: {why}"))
        })?;
        Ok(Some(Self { url, secret, vault, own }))
    }

    pub(super) fn limit(&self) -> Duration {
        self.own.limit()
    }

    /// Sends `body` under `id`, as of now.
    pub(super) async fn tell(&self, id: &str, now_ms: i64, body: String) -> Result<(), Undelivered> {
        let seconds = now_ms.div_euclid(1_000);
        let signature = sign(&self.key().await?, id, seconds, &body);
        let request = http::Request::post(&self.url)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", signature)
            .body(body.into_bytes())
            .map_err(|error| Undelivered::Failed(error.to_string()))?;
        let answer = self.own.deliver(&self.url, request).await.map_err(|unreached| {
            let hint = unreached.hint.map_or_else(String::new, |hint| format!("; {hint}"));
            Undelivered::Failed(format!("{}: {}{hint}", unreached.kind.code(), unreached.why))
        })?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status if status.as_u16() == GONE => {
                Err(Undelivered::Unwanted("the webhook is gone (410)".to_owned()))
            }
            status => Err(Undelivered::Failed(format!("the webhook answered {}", status.as_u16()))),
        }
    }

    /// Read at each attempt: a person may set another.
    async fn key(&self) -> Result<hmac::Key, Undelivered> {
        let (vault, name) = (Arc::clone(&self.vault), self.secret.clone());
        let read = tokio::task::spawn_blocking(move || vault.read(&name, SecretKind::Value)).await;
        let why = match read {
            Ok(Ok(Some(value))) => match key_of(&value) {
                Some(key) => return Ok(key),
                None => "is not base64 after `whsec_`".to_owned(),
            },
            Ok(Ok(None)) => "is not set".to_owned(),
            Ok(Err(error)) => format!("cannot be opened: {error}"),
            Err(_) => "was not read to its end".to_owned(),
        };
        Err(Undelivered::Failed(format!("the secret `{}` {why}", self.secret)))
    }
}

fn key_of(value: &[u8]) -> Option<hmac::Key> {
    let decoded = match value.strip_prefix(IN_BASE64.as_bytes()) {
        Some(text) => Some(zeroize::Zeroizing::new(BASE64_STANDARD.decode(text).ok()?)),
        None => None,
    };
    Some(hmac::Key::new(hmac::HMAC_SHA256, decoded.as_ref().map_or(value, |bytes| bytes)))
}

fn sign(key: &hmac::Key, id: &str, seconds: i64, body: &str) -> String {
    let tag = hmac::sign(key, format!("{id}.{seconds}.{body}").as_bytes());
    format!("v1,{}", BASE64_STANDARD.encode(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn a_signature_is_that_of_other_implementations() {
        let key = key_of(b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = sign(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_bytes_or_base64_that_says_so() {
        let signature = |value: &[u8]| key_of(value).map(|key| sign(&key, "a", 1, "b"));
        assert_eq!(signature(b"whsec_a2V5"), signature(b"key"));
        assert_ne!(signature(b"a2V5"), signature(b"key"));
        assert_eq!(signature(b"whsec_***"), None);
    }
}

//! What types cannot say about `[search.embeddings]`.

use std::ops::RangeInclusive;

use super::super::EmbeddingsConfig;
use super::{InvalidValue, TIME_MS, exceptions, is_secret_name};
use crate::egress::is_collector;

/// Endpoints take no more than some thousands at once.
const BATCH: RangeInclusive<u64> = 1..=2_048;

/// Whoever asks has other things to do: five seconds are a search that hangs.
const WAIT_MS: RangeInclusive<u64> = 0..=5_000;

/// As many as a vector can have here.
const DIMENSIONS: RangeInclusive<u64> = 1..=8_192;

pub(super) fn check(embeddings: &EmbeddingsConfig) -> Result<(), InvalidValue> {
    let wrong = |key: &str, message: String| InvalidValue::new(&["search", "embeddings", key], message);
    let numbers = [
        ("batch", embeddings.batch as u64, BATCH),
        ("request-ms", embeddings.request_ms, TIME_MS),
        ("wait-ms", embeddings.wait_ms, WAIT_MS),
        ("dimensions", embeddings.dimensions.map_or(1, u64::from), DIMENSIONS),
    ];
    for (key, value, range) in numbers {
        if !range.contains(&value) {
            let (least, most) = range.into_inner();
            let message = format!("`search.embeddings.{key}` must be between {least} and {most}");
            return Err(wrong(key, message));
        }
    }
    match (&embeddings.endpoint, &embeddings.folder) {
        (Some(_), Some(_)) => {
            let message = "`search.embeddings` has an endpoint and a folder".to_owned();
            return Err(wrong("folder", message).hint("keep one of them"));
        }
        (Some(url), None) if !is_collector(url) => {
            return Err(wrong("endpoint", format!("`{url}` is no place for an endpoint"))
                .hint("an `https://` URL, or \"http://127.0.0.1:8080/v1/embeddings\" on this machine"));
        }
        (Some(_), None) if embeddings.model.as_ref().is_none_or(String::is_empty) => {
            return Err(wrong("endpoint", "`search.embeddings.model` is missing".to_owned())
                .hint("the name by which the endpoint knows the model"));
        }
        (Some(_), None) => {}
        (None, _) => {
            let of_endpoint = [
                ("model", embeddings.model.is_some()),
                ("dimensions", embeddings.dimensions.is_some()),
                ("secret", embeddings.secret.is_some()),
            ];
            if let Some((key, _)) = of_endpoint.into_iter().find(|(_, is_there)| *is_there) {
                let message = format!("`search.embeddings.{key}` is of no use without `endpoint`");
                return Err(wrong(key, message));
            }
        }
    }
    if embeddings.folder.as_ref().is_some_and(|folder| folder.as_os_str().is_empty()) {
        return Err(wrong("folder", "`search.embeddings.folder` is empty".to_owned()));
    }
    if let Some(name) = embeddings.secret.as_ref().filter(|name| !is_secret_name(name)) {
        return Err(wrong("secret", format!("`{name}` is no secret's name")));
    }
    exceptions(&["search", "embeddings", "http"], &embeddings.http)
}

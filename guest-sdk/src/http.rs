//! Requests to granted hosts, over `wit/http.wit`.
//!
//! The host decides where a request may go and puts secrets in: write `{{NAME}}` in a header or in the
//! body, the value never comes here. Which hosts and secrets are asked for is in `capability.json`.
//!
//! ```no_run
//! # fn weather() -> Result<(), remit_sdk::http::Error> {
//! use remit_sdk::http;
//!
//! let response = http::get("https://api.example.com/forecast")
//!     .query(&[("place", "Oslo")])
//!     .header("authorization", "Bearer {{API_KEY}}")
//!     .send()?;
//! # Ok(()) }
//! ```
//!
//! A picture or a document need not come here to be given to the agent: [`Request::save`] and
//! [`Request::save_base64`] write it to a file of the conversation, which needs `"sandbox"` in `uses`.

mod error;
mod save;

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::remit::capability::http as wit;
pub use crate::bindings::remit::capability::http::Method;
pub use error::Error;
pub use save::{SaveError, Saved, SavedFile};

/// A request to be sent.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "nothing is sent before `send`"]
pub struct Request {
    /// Its method.
    pub method: Method,
    /// An absolute `https:` URL.
    pub url: String,
    /// Its header fields.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Option<Vec<u8>>,
    /// Time for the whole request, in milliseconds. What is left of the call's time is the upper bound.
    pub timeout_ms: Option<u32>,
    /// What made it unsendable, told by `send`.
    problem: Option<Error>,
}

/// A response, whatever its status.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Its status code.
    pub status: u16,
    /// Its header fields, in the order received.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// A GET request.
pub fn get(url: impl Into<String>) -> Request {
    request(Method::Get, url)
}

/// A POST request.
pub fn post(url: impl Into<String>) -> Request {
    request(Method::Post, url)
}

/// A PUT request.
pub fn put(url: impl Into<String>) -> Request {
    request(Method::Put, url)
}

/// A PATCH request.
pub fn patch(url: impl Into<String>) -> Request {
    request(Method::Patch, url)
}

/// A DELETE request.
pub fn delete(url: impl Into<String>) -> Request {
    request(Method::Delete, url)
}

/// A request of any method.
pub fn request(method: Method, url: impl Into<String>) -> Request {
    Request { method, url: url.into(), headers: Vec::new(), body: None, timeout_ms: None, problem: None }
}

/// Percent-encodes text for one segment of a path, or one name or value of a query.
#[must_use]
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

impl Request {
    /// Adds a header field.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds names and values to the URL's query.
    pub fn query<V: AsRef<str>>(mut self, pairs: &[(&str, V)]) -> Self {
        for (name, value) in pairs {
            self.url.push(if self.url.contains('?') { '&' } else { '?' });
            self.url.push_str(&encode(name));
            self.url.push('=');
            self.url.push_str(&encode(value.as_ref()));
        }
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets the body to a value as JSON, and the content type.
    pub fn json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.header("content-type", "application/json").body(body),
            Err(error) => {
                self.problem = Some(Error::Json(error.to_string()));
                self
            }
        }
    }

    /// Sets the time for the whole request, in milliseconds.
    pub fn timeout_ms(mut self, milliseconds: u32) -> Self {
        self.timeout_ms = Some(milliseconds);
        self
    }

    /// Sends it and waits for the response.
    ///
    /// In a dry run only GET and HEAD are sent. Any other becomes part of the plan, and the response is an
    /// empty one with status 202.
    pub fn send(self) -> Result<Response, Error> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        #[cfg(target_arch = "wasm32")]
        return exchange(self);
        #[cfg(not(target_arch = "wasm32"))]
        return crate::testing::exchange(&self);
    }
}

#[cfg(target_arch = "wasm32")]
fn exchange(request: Request) -> Result<Response, Error> {
    let response = wit::send(&wire(request))?;
    let headers = response.headers.into_iter().map(|header| (header.name, header.value)).collect();
    Ok(Response { status: response.status, headers, body: response.body })
}

#[cfg(target_arch = "wasm32")]
fn wire(request: Request) -> wit::Request {
    let headers = request.headers.into_iter();
    wit::Request {
        method: request.method,
        url: request.url,
        headers: headers.map(|(name, value)| wit::Header { name, value: value.into_bytes() }).collect(),
        body: request.body,
        timeout_ms: request.timeout_ms,
    }
}

impl Response {
    /// Whether the status says success.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..300)
    }

    /// The first header field of this name, in any case, when it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }

    /// The body as text. What is not UTF-8 becomes U+FFFD.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The body, read as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::Json(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn urls_are_encoded() {
        let request = get("https://a.example/x").query(&[("q", "a b&c=d/é"), ("page", "2")]);
        assert_eq!(request.url, "https://a.example/x?q=a%20b%26c%3Dd%2F%C3%A9&page=2");
        let request = get("https://a.example/x?y=1").query(&[("z", String::from("~"))]);
        assert_eq!(request.url, "https://a.example/x?y=1&z=~");
    }

    #[test]
    fn json_goes_both_ways() {
        testing::http(|request| {
            assert_eq!(request.method, Method::Post);
            assert_eq!(request.headers, [("content-type".to_owned(), "application/json".to_owned())]);
            Ok(Response {
                status: 200,
                headers: vec![("X-Id".into(), b"7".to_vec())],
                body: request.body.clone().unwrap_or_default(),
            })
        });
        let response = post("https://a.example/").json(&[1, 2]).send().expect("the double answers");
        assert_eq!(response.header("x-id"), Some("7"));
        assert_eq!(response.json::<Vec<u8>>(), Ok(vec![1, 2]));
        assert!(matches!(response.json::<String>(), Err(Error::Json(_))));
    }

    #[test]
    fn what_cannot_be_written_is_not_sent() {
        testing::http(|request| panic!("sent {request:?}"));
        let unwritable = std::collections::HashMap::from([(vec![1], 1)]);
        assert!(matches!(put("https://a.example/").json(&unwritable).send(), Err(Error::Json(_))));
    }
}

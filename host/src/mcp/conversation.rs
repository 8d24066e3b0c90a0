//! Which conversation a request is in: files are kept for it.
//!
//! A legacy client is in that of its session, which is its principal's alone; on standard input and output the
//! connection is the session. A modern client has no session. It names a conversation in `_meta`, or is in the one
//! that all such requests of its principal share. Whatever a client says, the conversation is its principal's: a
//! name or an id of another's leads nowhere.

use http::request::Parts;
use rmcp::ErrorData;
use rmcp::model::{Extensions, RequestMetaObject};

use crate::client::Conversation;

/// The member of `_meta` in which a client names its conversation.
pub(super) const META: &str = "remit/conversation";

/// Characters of such a name.
const NAME: usize = 128;

/// The header field that names a session.
const SESSION: &str = "mcp-session-id";

/// The conversation of a request with this `_meta`. `connection` is the id of a connection that has no session of
/// its own.
pub(super) fn of_request(
    meta: &RequestMetaObject,
    extensions: &Extensions,
    connection: Option<&str>,
) -> Result<Conversation, ErrorData> {
    if let Some(named) = meta.0.0.get(META) {
        let name = named.as_str().filter(|name| is_name(name)).ok_or_else(|| {
            let message = format!("`_meta` `{META}` must be 1 to {NAME} visible characters of ASCII");
            ErrorData::invalid_params(message, None)
        })?;
        return Ok(Conversation::Named(name.to_owned()));
    }
    if meta.protocol_version().is_some() {
        return Ok(Conversation::Own);
    }
    Ok(of_session(extensions, connection))
}

/// The conversation of a legacy client. That the session is its principal's was checked with the request.
pub(super) fn of_session(extensions: &Extensions, connection: Option<&str>) -> Conversation {
    let header = extensions.get::<Parts>().and_then(|parts| parts.headers.get(SESSION)?.to_str().ok());
    header.or(connection).map_or(Conversation::Own, |id| Conversation::Session(id.to_owned()))
}

fn is_name(name: &str) -> bool {
    (1..=NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(meta: Value, session: Option<&str>, connection: Option<&str>) -> Option<Conversation> {
        let meta: RequestMetaObject = serde_json::from_value(meta).unwrap();
        let mut extensions = Extensions::new();
        if let Some(session) = session {
            let request = http::Request::builder().header("Mcp-Session-Id", session).body(()).unwrap();
            extensions.insert(request.into_parts().0);
        }
        of_request(&meta, &extensions, connection).ok()
    }

    #[test]
    fn each_era_says_it_in_its_way() {
        let modern = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let mut named = modern.clone();
        named[META] = json!("chat-7");
        let session = |id: &str| Some(Conversation::Session(id.to_owned()));
        let name = |name: &str| Some(Conversation::Named(name.to_owned()));
        assert_eq!(of(modern.clone(), None, None), Some(Conversation::Own));
        assert_eq!(of(named.clone(), None, None), name("chat-7"));
        // A modern request has no session, whatever it says.
        assert_eq!(of(modern, Some("s"), Some("c")), Some(Conversation::Own));
        assert_eq!(of(json!({}), Some("s"), None), session("s"));
        assert_eq!(of(json!({}), None, Some("c")), session("c"));
        assert_eq!(of(json!({}), None, None), Some(Conversation::Own));
        assert_eq!(of(json!({ META: "chat-7" }), Some("s"), None), name("chat-7"));
    }

    #[test]
    fn a_name_is_short_and_plain_or_the_request_is_refused() {
        for bad in [
            json!(""),
            json!("a b"),
            json!("a\u{200b}"),
            json!("\u{e9}"),
            json!("a\n"),
            json!(7),
            json!(null),
            json!({}),
            json!("a".repeat(NAME + 1)),
        ] {
            assert_eq!(of(json!({ META: bad }), Some("s"), None), None, "{bad}");
        }
        assert!(of(json!({ META: "a".repeat(NAME) }), None, None).is_some());
    }
}

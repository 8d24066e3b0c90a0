//! The caller's span of a request, where the caller says one: in `_meta`, or in a header field of HTTP.

use http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use crate::telemetry::Parent;

/// The field, in both places.
const TRACEPARENT: &str = "traceparent";

/// The caller's span. `_meta` is of this very request; a header field may be that of a proxy on the way.
pub(super) fn parent(context: &RequestContext<RoleServer>) -> Option<Parent> {
    let in_meta = context.meta.get_traceparent();
    let parts = context.extensions.get::<Parts>();
    let in_header = || parts?.headers.get(TRACEPARENT)?.to_str().ok();
    in_meta.or_else(in_header).and_then(Parent::read)
}

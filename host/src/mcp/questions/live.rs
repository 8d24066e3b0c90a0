//! Asking a legacy client: requests of the server's own, on the session of the client's request.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{InputRequest, InputRequests, InputResponses, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions};
use tokio_util::sync::CancellationToken;

/// How long all answers to one round may take: a person reads, looks something up and types.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Asks one question after the other, as a person reads them. The error says why there are no answers.
pub(super) async fn ask(
    peer: &Peer<RoleServer>,
    requests: InputRequests,
    cancel: &CancellationToken,
) -> Result<InputResponses, &'static str> {
    let asked = async {
        let mut responses = InputResponses::new();
        for (name, request) in requests {
            responses.insert(name, answer(peer, request).await?);
        }
        Ok(responses)
    };
    tokio::select! {
        () = cancel.cancelled() => Err("the call was cancelled"),
        answered = tokio::time::timeout(PATIENCE, asked) => answered.unwrap_or(Err("it took longer than five minutes")),
    }
}

async fn answer(peer: &Peer<RoleServer>, request: InputRequest) -> Result<serde_json::Value, &'static str> {
    let request = match request {
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return Err("it is of a kind that this server does not know"),
    };
    // The timeout here also tells the client that nobody waits any more.
    let options = PeerRequestOptions::with_timeout(PATIENCE);
    let sent = peer.send_request_with_option(request, options).await.map_err(|_| "the client is gone")?;
    // What a client says instead of an answer is not repeated: it is no text of the tool's.
    let answer = sent.await_response().await.map_err(|_| "the client gave none")?;
    serde_json::to_value(answer).map_err(|_| "it cannot be read")
}

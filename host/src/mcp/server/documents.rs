//! `resources/list`, `resources/templates/list`, `resources/read`, and what can be listened to.
//!
//! Documents of the inbox, files of the conversation, kept answers and the documents of capabilities stand side by side; which is meant, an
//! address says by itself.

use rmcp::model::{
    JsonObject, ListResourceTemplatesResult, ListResourcesResult, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceTemplate,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::json;

use super::super::files::{Found, Who};
use super::super::inbox::Inbox;
use super::super::pages::{self, PAGE};
use super::super::questions::{Brought, Outcome};
use super::super::reply;
use super::super::results::Results;
use super::{Server, What, internal, visit};
use crate::call::Failure;
use crate::error::{Blame, ErrorKind};
use crate::manifest;
use crate::policy::Identity;

impl Server {
    pub(super) fn resources_page(
        &self,
        who: &Who,
        cursor: Option<&str>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut all: Vec<Resource> = self.shelf()?.resources(&who.caller);
        all.extend(self.shared.files.list(who).map_err(|error| internal(&error))?);
        if let Some(inbox) = self.inbox() {
            all.extend(inbox.list().map_err(|error| internal(&error))?);
        }
        all.sort_by(|one, other| one.uri.cmp(&other.uri));
        let page = pages::page(&all, |one| &one.uri, Clone::clone, cursor, PAGE)?;
        let mut result = ListResourcesResult::with_all_items(page.items);
        result.next_cursor = page.next;
        Ok(result)
    }

    pub(super) fn templates_page(
        &self,
        caller: &Identity,
        cursor: Option<&str>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut all: Vec<ResourceTemplate> = self.shelf()?.templates(caller);
        all.push(Results::template());
        all.extend(self.shared.files.templates(&self.surface).map_err(|error| internal(&error))?);
        if self.inbox().is_some() {
            all.extend(Inbox::templates());
        }
        all.sort_by(|one, other| one.uri_template.cmp(&other.uri_template));
        let page = pages::page(&all, |one| &one.uri_template, Clone::clone, cursor, PAGE)?;
        let mut result = ListResourceTemplatesResult::with_all_items(page.items);
        result.next_cursor = page.next;
        Ok(result)
    }

    pub(super) async fn read(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        if let Some(inbox) = self.inbox()
            && let Some(found) = inbox.read(&uri).map_err(|error| internal(&error))?
        {
            return Ok(ReadResourceResult::new(vec![found]).into());
        }
        let who = self.who(&context)?;
        match self.shared.files.read(&who, &uri).map_err(|error| internal(&error))? {
            Some(Found::Contents(contents)) => return Ok(ReadResourceResult::new(vec![contents]).into()),
            Some(Found::TooLarge(bytes)) => return Err(too_large(&uri, bytes)),
            None => {}
        }
        let caller = &who.caller;
        if let Some(page) = self.shared.results.read(&caller.principal, &uri) {
            return Ok(ReadResourceResult::new(vec![page]).into());
        }
        let Some((capability, inner)) = self.surface.find(&uri) else { return Err(not_found(&uri)) };
        let Some(entry) = self.entry(&capability)? else { return Err(not_found(&uri)) };
        let brought = Brought { state: request.request_state, responses: request.input_responses };
        let what = What { method: "resources/read", target: inner, arguments: &JsonObject::new() };
        let asker = self.asker(&context, caller, brought, &entry, what);
        let _running = self.shared.calls.token();
        let outcome = self
            .listener(&context, &capability)
            .during(|news| {
                asker.run(news, |client, _| {
                    let visit = visit(&context, &who, &capability, client);
                    self.shared.host.read(visit, inner, context.ct.clone())
                })
            })
            .await?;
        match outcome {
            Outcome::Done(documents) => {
                let address = self.address(&entry);
                let contents = documents
                    .into_iter()
                    .map(|one| reply::document(address(one.uri), one.mime_type, one.contents));
                Ok(ReadResourceResult::new(contents.collect()).into())
            }
            Outcome::Failed(failure) if is_unknown(failure.error.kind) => Err(not_found(&uri)),
            Outcome::Failed(failure) => Err(failed(&failure)),
            Outcome::Questions(questions) => Ok(ReadResourceResponse::InputRequired(questions)),
        }
    }

    /// Tells a legacy client of changes at an address from now on.
    pub(super) fn listen_to(&self, uri: String, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if !self.is_watchable(&uri) {
            return Err(not_found(&uri));
        }
        let peer = context.peer.clone();
        let too_many = || ErrorData::invalid_params("too many subscriptions of one session", None);
        if self.shared.files.is_watchable(&self.surface, &uri) {
            let is_heard = self.shared.files.listen(&peer, self.who(context)?, uri);
            return if is_heard { Ok(()) } else { Err(too_many()) };
        }
        let is_of_inbox = self.inbox().is_some() && Inbox::is_address(&uri);
        let listeners = if is_of_inbox { self.shared.inbox.legacy() } else { self.view.changes.listeners() };
        if listeners.add(peer, uri) {
            return Ok(());
        }
        Err(too_many())
    }

    /// Whether an address can be listened to: one of the inbox or of a file, whether there is such a thing now or not,
    /// or one that a capability declares.
    pub(super) fn is_watchable(&self, uri: &str) -> bool {
        if self.inbox().is_some() && Inbox::is_address(uri) {
            return true;
        }
        if self.shared.files.is_watchable(&self.surface, uri) {
            return true;
        }
        let Some((capability, inner)) = self.surface.find(uri) else { return false };
        self.entry(&capability).ok().flatten().is_some_and(|entry| {
            !entry.withdrawn.resource(inner) && manifest::declares_document(&entry.capability.manifest, inner)
        })
    }
}

/// There is nothing at an address. The library gives the code of the era.
fn not_found(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri })))
}

/// A file that is not read at once. It is read in parts, and how is said.
fn too_large(uri: &str, bytes: u64) -> ErrorData {
    let message = format!("the file has {bytes} bytes: read it in parts, from `{uri}?offset=0&length=1048576` on");
    ErrorData::invalid_params(message, Some(json!({ "uri": uri, "bytes": bytes })))
}

fn is_unknown(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnknownResource | ErrorKind::NotFound | ErrorKind::UnknownTool)
}

/// A document, a prompt or a proposal that could not be made.
pub(super) fn failed(failure: &Failure) -> ErrorData {
    let Failure { call_id, error, .. } = failure;
    let message = format!("{}: {}", error.kind.code(), error.message);
    let data = Some(json!({ "remit/code": error.kind.code(), "remit/callId": call_id }));
    match error.kind.blame() {
        Blame::Caller => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}

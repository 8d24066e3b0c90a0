//! `prompts/list`, `prompts/get` and `completion/complete`.

use std::collections::BTreeMap;

use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, ListPromptsResult, PromptMessage, Reference, Role as WireRole,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::super::pages::{self, PAGE};
use super::super::questions::{Brought, Outcome};
use super::super::reply;
use super::super::shelf::Source;
use super::documents::failed;
use super::{Server, What, visit};
use crate::call::{Draft, Role, Subject};
use crate::client::Client;
use crate::error::ErrorKind;
use crate::policy::Identity;
use crate::registry::CapabilityName;

impl Server {
    pub(super) fn prompts_page(
        &self,
        caller: &Identity,
        cursor: Option<&str>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.shelf()?.prompts(caller);
        let page = pages::page(&prompts, |one| &one.name, Clone::clone, cursor, PAGE)?;
        let mut result = ListPromptsResult::with_all_items(page.items);
        result.next_cursor = page.next;
        Ok(result)
    }

    pub(super) async fn prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let unknown = ErrorData::invalid_params(format!("there is no prompt `{}`", request.name), None);
        let shelf = self.shelf()?;
        let who = self.who(&context)?;
        let caller = &who.caller;
        let Some(shelved) = shelf.prompt(caller, &request.name) else { return Err(unknown) };
        let (capability, name) = match &shelved.source {
            Source::Guidance(text) => {
                let said = PromptMessage::new_text(WireRole::User, text.clone());
                let mut result = GetPromptResult::new(vec![said]);
                result.description.clone_from(&shelved.wire.description);
                return Ok(result.into());
            }
            Source::Made { capability, name } => (capability, name),
        };
        let Some(entry) = self.entry(capability)? else { return Err(unknown) };
        let arguments = request.arguments.unwrap_or_default();
        let texts: Option<BTreeMap<String, String>> = arguments
            .iter()
            .map(|(name, value)| value.as_str().map(|text| (name.clone(), text.to_owned())))
            .collect();
        let Some(texts) = texts else {
            return Err(ErrorData::invalid_params("the arguments of a prompt are strings", None));
        };
        let brought = Brought { state: request.request_state, responses: request.input_responses };
        let what = What { method: "prompts/get", target: name, arguments: &arguments };
        let asker = self.asker(&context, caller, brought, &entry, what);
        let _running = self.shared.calls.token();
        let outcome = self
            .listener(&context, capability)
            .during(|news| {
                asker.run(news, |client, _| {
                    let visit = visit(&context, &who, capability, client);
                    self.shared.host.prompt(visit, name, texts.clone(), context.ct.clone())
                })
            })
            .await?;
        match outcome {
            Outcome::Done(prompt) => {
                let address = self.address(&entry);
                let messages = prompt.messages.into_iter().map(|message| {
                    let role = match message.role {
                        Role::User => WireRole::User,
                        Role::Assistant => WireRole::Assistant,
                    };
                    PromptMessage::new(role, reply::block(message.content, &address))
                });
                let mut result = GetPromptResult::new(messages.collect());
                result.description = prompt.description;
                Ok(result.into())
            }
            Outcome::Failed(failure) if failure.error.kind == ErrorKind::UnknownPrompt => Err(unknown),
            Outcome::Failed(failure) => Err(failed(&failure)),
            Outcome::Questions(questions) => Ok(GetPromptResponse::InputRequired(questions)),
        }
    }

    pub(super) async fn propose(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let who = self.who(&context)?;
        let caller = &who.caller;
        let (capability, subject) = match self.subject(caller, &request.r#ref)? {
            Meant::Of(capability, subject) => (capability, subject),
            Meant::Fixed => return Ok(CompleteResult::default()),
            Meant::Nothing => {
                return Err(ErrorData::invalid_params("there is no such prompt or template", None));
            }
        };
        let others = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let (name, value) = (request.argument.name, request.argument.value);
        let draft = Draft { subject, name, value, others: others.into_iter().collect() };
        let _running = self.shared.calls.token();
        let visit = visit(&context, &who, &capability, Client::default());
        let proposals = self.shared.host.complete(visit, draft, context.ct.clone()).await;
        let proposals = proposals.map_err(|failure| failed(&failure))?;
        let mut values = proposals.values;
        let has_more = proposals.more || values.len() > CompletionInfo::MAX_VALUES;
        values.truncate(CompletionInfo::MAX_VALUES);
        let completion = CompletionInfo::with_pagination(values, proposals.total, has_more);
        completion.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
    }

    /// What a reference means here.
    fn subject(&self, caller: &Identity, reference: &Reference) -> Result<Meant, ErrorData> {
        let shelf = self.shelf()?;
        Ok(match reference {
            Reference::Prompt(prompt) => match shelf.prompt(caller, &prompt.name).map(|shelved| &shelved.source) {
                Some(Source::Made { capability, name }) => {
                    Meant::Of(capability.clone(), Subject::Prompt(name.clone()))
                }
                Some(Source::Guidance(_)) => Meant::Fixed,
                None => Meant::Nothing,
            },
            Reference::Resource(template) => {
                let is_listed = shelf.templates(caller).iter().any(|one| one.uri_template == template.uri);
                match self.surface.find(&template.uri).filter(|_| is_listed) {
                    Some((capability, inner)) => Meant::Of(capability, Subject::Template(inner.to_owned())),
                    None => Meant::Nothing,
                }
            }
            _ => Meant::Nothing,
        })
    }
}

/// What a reference of a completion means.
enum Meant {
    /// Something that a capability makes.
    Of(CapabilityName, Subject),
    /// Something without anything to fill in.
    Fixed,
    /// Nothing that is here.
    Nothing,
}

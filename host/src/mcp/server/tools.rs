//! `tools/list` and `tools/call`.

use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject, ListToolsResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::super::arguments::{self, ForHost};
use super::super::compact::{Meta, Shape};
use super::super::files::Who;
use super::super::questions::{Brought, Outcome};
use super::super::tools::ToolList;
use super::super::{large, parent, plan, reply};
use super::{Server, What, internal};
use crate::call::{CallRequest, Failure, Reply};
use crate::client::{Client, Confirmation};
use crate::error::ErrorKind;
use crate::policy::Identity;

/// A call as it was asked for.
pub(super) struct Asked<'a> {
    /// The arguments as they came: what a state is bound to.
    pub(super) given: &'a JsonObject,
    /// Those of the tool.
    pub(super) arguments: JsonObject,
    pub(super) for_host: ForHost,
    /// It fails if the tool can change something.
    pub(super) only_reads: bool,
}

impl Server {
    pub(super) fn tools_page(
        &self,
        caller: &Identity,
        cursor: Option<&str>,
    ) -> Result<ListToolsResult, ErrorData> {
        let list = self.list()?;
        if self.shape(&list, caller) == Shape::Compact {
            return self.compact_tools(&list, caller);
        }
        let page = list.page(caller, cursor)?;
        let mut result = ListToolsResult::with_all_items(page.items);
        result.next_cursor = page.next;
        Ok(result)
    }

    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let list = self.list()?;
        let who = self.who(&context)?;
        let brought = Brought { state: request.request_state, responses: request.input_responses };
        let given = request.arguments.unwrap_or_default();
        if let Some(meta) = Meta::of(&request.name)
            && self.shape(&list, &who.caller) == Shape::Compact
        {
            return self.call_meta(meta, &list, &who, given, brought, &context).await;
        }
        let unknown = || ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None);
        let Some(wire) = list.wire(&request.name) else { return Err(unknown()) };
        let is_read_only = wire.annotations.as_ref().is_some_and(|says| says.read_only_hint == Some(true));
        let mut arguments = given.clone();
        let for_host = match arguments::take(&mut arguments, is_read_only) {
            Ok(for_host) => for_host,
            Err(error) => return Ok(complete(reply::failure(&Failure::unrecorded(error)))),
        };
        let asked = Asked { given: &given, arguments, for_host, only_reads: false };
        self.run(&list, &request.name, &who, asked, brought, &context).await?.ok_or_else(unknown)
    }

    /// Calls the tool of a wire name; nothing if there is none.
    pub(super) async fn run(
        &self,
        list: &ToolList,
        wire_name: &str,
        who: &Who,
        Asked { given, arguments, for_host, only_reads }: Asked<'_>,
        brought: Brought,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<CallToolResponse>, ErrorData> {
        let Some(((tool, entry), wire)) = list.find(wire_name).zip(list.wire(wire_name)) else {
            return Ok(None);
        };
        let Who { caller, conversation, .. } = who;
        let what = What { method: "tools/call", target: &tool.tool, arguments: given };
        let asker = self.asker(context, caller, brought, entry, what);
        let ForHost { dry_run, confirmation } = for_host;
        let plain = CallRequest::new(caller.clone(), tool.clone(), arguments);
        let call = CallRequest { dry_run, confirmation, only_reads, ..plain };
        let parent = parent::parent(context);
        let _running = self.shared.calls.token();
        let outcome = self
            .listener(context, &tool.capability)
            .during(|news| {
                asker.run(news, |client, confirmation| {
                    let conversation = conversation.clone();
                    let mut call =
                        CallRequest { client: Client { parent, conversation, ..client }, ..call.clone() };
                    if confirmation != Confirmation::Missing {
                        call.confirmation = confirmation;
                    }
                    self.shared.host.call(call, context.ct.clone())
                })
            })
            .await?;
        // Another process removed it after it was found in the list.
        if let Outcome::Failed(failure) = &outcome
            && failure.error.kind == ErrorKind::UnknownTool
        {
            return Ok(None);
        }
        let has_schema = wire.output_schema.is_some();
        self.answered(outcome, dry_run, has_schema, caller, &self.address(entry)).map(Some)
    }

    /// How what became of a call looks.
    pub(super) fn answered(
        &self,
        outcome: Outcome<Reply>,
        dry_run: bool,
        has_schema: bool,
        caller: &Identity,
        address: &impl Fn(String) -> String,
    ) -> Result<CallToolResponse, ErrorData> {
        match outcome {
            Outcome::Done(answer) => {
                let planned = dry_run.then(|| answer.plan.clone());
                let mut result = reply::success(answer, address);
                if let Some(planned) = planned {
                    result = plan::of_dry_run(result, &planned, has_schema);
                }
                let fitted = large::fit(result, has_schema, &self.shared.results, &caller.principal);
                fitted.map(complete).map_err(|error| internal(&error))
            }
            Outcome::Failed(failure) => Ok(complete(reply::failure(&failure))),
            Outcome::Questions(questions) => Ok(CallToolResponse::InputRequired(questions)),
        }
    }
}

pub(super) fn complete(result: CallToolResult) -> CallToolResponse {
    CallToolResponse::Complete(result)
}

//! `tools/list` and `tools/call`.

use rmcp::model::{CallToolRequestParams, CallToolResponse, ListToolsResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::super::arguments::{self, ForHost};
use super::super::files::Who;
use super::super::questions::{Brought, Outcome};
use super::super::{large, parent, plan, reply};
use super::{Server, What, internal};
use crate::call::{CallRequest, Failure};
use crate::client::{Client, Confirmation};
use crate::error::ErrorKind;
use crate::policy::Identity;

impl Server {
    pub(super) fn tools_page(
        &self,
        caller: &Identity,
        cursor: Option<&str>,
    ) -> Result<ListToolsResult, ErrorData> {
        let page = self.list()?.page(caller, cursor)?;
        let mut result = ListToolsResult::with_all_items(page.items);
        result.next_cursor = page.next;
        Ok(result)
    }

    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let unknown = ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None);
        let list = self.list()?;
        let found = list.find(&request.name).zip(list.wire(&request.name));
        let Some((tool, wire)) = found.map(|(tool, wire)| (tool.clone(), wire)) else { return Err(unknown) };
        let Some(entry) = self.entry(&tool.capability)? else { return Err(unknown) };
        let Who { caller, conversation, .. } = self.who(&context)?;
        let mut arguments = request.arguments.unwrap_or_default();
        let brought = Brought { state: request.request_state, responses: request.input_responses };
        let what = What { method: "tools/call", target: &tool.tool, arguments: &arguments };
        let asker = self.asker(&context, &caller, brought, &entry, what);
        let is_read_only = wire.annotations.as_ref().is_some_and(|says| says.read_only_hint == Some(true));
        let ForHost { dry_run, confirmation } = match arguments::take(&mut arguments, is_read_only) {
            Ok(for_host) => for_host,
            Err(error) => return Ok(CallToolResponse::Complete(reply::failure(&Failure::unrecorded(error)))),
        };
        let principal = caller.principal.clone();
        let plain = CallRequest::new(caller, tool.clone(), arguments);
        let call = CallRequest { dry_run, confirmation, ..plain };
        let parent = parent::parent(&context);
        let _running = self.shared.calls.token();
        let outcome = self
            .listener(&context, &tool.capability)
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
        match outcome {
            Outcome::Done(answer) => {
                let planned = dry_run.then(|| answer.plan.clone());
                let has_schema = wire.output_schema.is_some();
                let mut result = reply::success(answer, &self.address(&entry));
                if let Some(planned) = planned {
                    result = plan::of_dry_run(result, &planned, has_schema);
                }
                let fitted = large::fit(result, has_schema, &self.shared.results, &principal);
                fitted.map(CallToolResponse::Complete).map_err(|error| internal(&error))
            }
            // Another process removed it after it was found in the list.
            Outcome::Failed(failure) if failure.error.kind == ErrorKind::UnknownTool => Err(unknown),
            Outcome::Failed(failure) => Ok(CallToolResponse::Complete(reply::failure(&failure))),
            Outcome::Questions(questions) => Ok(CallToolResponse::InputRequired(questions)),
        }
    }
}

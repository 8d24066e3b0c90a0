//! `tools/list` and `tools/call`.

use rmcp::model::{CallToolRequestParams, CallToolResponse, ListToolsResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::super::large;
use super::super::questions::{Brought, Outcome};
use super::super::reply;
use super::{Server, internal};
use crate::call::CallRequest;
use crate::client::Confirmation;
use crate::error::ErrorKind;

impl Server {
    pub(super) fn tools_page(&self, cursor: Option<&str>) -> Result<ListToolsResult, ErrorData> {
        let page = self.list()?.page(cursor)?;
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
        let Some(tool) = list.find(&request.name).cloned() else { return Err(unknown) };
        let Some(entry) = self.entry(&tool.capability)? else { return Err(unknown) };
        let arguments = request.arguments.unwrap_or_default();
        let brought = Brought { state: request.request_state, responses: request.input_responses };
        let asker = self.asker(&context, brought, "tools/call", &entry, &tool.tool, &arguments);
        let caller = self.caller(&context);
        let principal = caller.principal.clone();
        let call = CallRequest::new(caller, tool.clone(), arguments);
        let _running = self.shared.calls.token();
        let outcome = self
            .listener(&context, &tool.capability)
            .during(|news| {
                asker.run(news, |client, confirmation| {
                    let mut call = CallRequest { client, ..call.clone() };
                    if confirmation != Confirmation::Missing {
                        call.confirmation = confirmation;
                    }
                    self.shared.host.call(call, context.ct.clone())
                })
            })
            .await?;
        match outcome {
            Outcome::Done(answer) => {
                let result = reply::success(answer, &self.address(&entry));
                let manifest = &entry.capability.manifest;
                let promises = |promised: &&crate::manifest::Tool| promised.name == tool.tool;
                let has_schema =
                    manifest.tools.iter().find(promises).is_some_and(|tool| tool.output_schema.is_some());
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

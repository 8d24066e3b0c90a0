//! The four tools of the compact surface.

use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use super::super::compact::{Lookup, Meta, Source, Wanted, definitions};
use super::super::files::Who;
use super::super::parent;
use super::super::questions::Brought;
use super::super::tools::ToolList;
use super::tools::{Asked, complete};
use super::{Server, What, internal};
use crate::call::Program;
use crate::client::{Client, Confirmation};
use crate::engines::{self, Spelling};
use crate::error::ErrorKind;
use crate::policy::Identity;
use crate::registry::ToolName;
use crate::search::Found;
use crate::text::clean_line;

/// How many of the tools that a search found come with their input schema. The best are what an agent calls next.
const WITH_SCHEMA: usize = 3;

/// Characters of an agent's own word that is said back.
const WORD: usize = 200;

impl Server {
    /// The four, and what is pinned.
    pub(super) fn compact_tools(&self, list: &ToolList, caller: &Identity) -> Result<ListToolsResult, ErrorData> {
        let has_engine = self.shared.host.has_engine().map_err(|error| internal(&error))?;
        let mut tools = definitions(has_engine);
        tools.extend(list.chosen(caller, &self.shared.exposure.pins));
        Ok(ListToolsResult::with_all_items(tools))
    }

    /// Does one of the four.
    pub(super) async fn call_meta(
        &self,
        meta: Meta,
        list: &ToolList,
        who: &Who,
        given: JsonObject,
        brought: Brought,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match meta {
            Meta::Search => self.search(&who.caller, Lookup::read(given)?).await,
            Meta::CallRead | Meta::Call => {
                let Wanted { tool, input, for_host } = Wanted::read(given.clone(), meta)?;
                let only_reads = meta == Meta::CallRead;
                let asked = Asked { given: &given, arguments: input, for_host, only_reads };
                let Some(wire_name) = list.wire_name(&tool) else { return Ok(unknown(&tool)) };
                let answered = self.run(list, wire_name, who, asked, brought, context).await?;
                Ok(answered.unwrap_or_else(|| unknown(&tool)))
            }
            Meta::Execute => self.execute(who, &given, brought, context).await,
        }
    }

    async fn search(&self, caller: &Identity, lookup: Lookup) -> Result<CallToolResponse, ErrorData> {
        let host = &self.shared.host;
        let snapshot = host.snapshot().map_err(|error| internal(&error))?;
        let spelling = Spelling::of(&snapshot);
        let found = match lookup {
            Lookup::Query(query, limit) => {
                let found = host.search(caller, &query, limit).await.map_err(|error| internal(&error))?;
                let mut schemas = WITH_SCHEMA;
                let results = found.iter().map(|one| Value::Object(described(one, &spelling, &mut schemas)));
                json!({ "results": results.collect::<Vec<_>>() })
            }
            Lookup::Entity(id) => {
                let Some((one, details)) = host.look_up(caller, &id).map_err(|error| internal(&error))? else {
                    let text = format!(
                        "call/not-found: there is no `{}`; a search by words says what there is",
                        clean_line(&id, WORD)
                    );
                    return Ok(complete(CallToolResult::error(vec![ContentBlock::text(text)])));
                };
                let mut whole = described(&one, &spelling, &mut 0);
                whole.remove("why");
                whole.insert("details".to_owned(), details);
                Value::Object(whole)
            }
        };
        Ok(complete(CallToolResult::structured(found)))
    }

    async fn execute(
        &self,
        who: &Who,
        given: &JsonObject,
        brought: Brought,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Source { program, for_host } = Source::read(given.clone())?;
        let Who { caller, conversation, .. } = who;
        let engine = engines::official();
        let Some(entry) = self.entry(&engine)? else {
            let kind = ErrorKind::NoEngine;
            let text = format!("{}: {}", kind.code(), kind.meaning());
            return Ok(complete(CallToolResult::error(vec![ContentBlock::text(text)])));
        };
        let what = What { method: "tools/call", target: Meta::Execute.name(), arguments: given };
        let asker = self.asker(context, caller, brought, &entry, what);
        let dry_run = for_host.dry_run;
        let plain = Program::new(caller.clone(), program);
        let whole = Program { dry_run, confirmation: for_host.confirmation, ..plain };
        let parent = parent::parent(context);
        let _running = self.shared.calls.token();
        let outcome = self
            .listener(context, &engine)
            .during(|news| {
                asker.run(news, |client, confirmation| {
                    let conversation = conversation.clone();
                    let mut program =
                        Program { client: Client { parent, conversation, ..client }, ..whole.clone() };
                    if confirmation != Confirmation::Missing {
                        program.confirmation = confirmation;
                    }
                    self.shared.host.execute(program, context.ct.clone())
                })
            })
            .await?;
        self.answered(outcome, dry_run, false, caller, &|address| address)
    }
}

/// One thing that was found, in few words.
fn described(found: &Found, spelling: &Spelling, schemas: &mut usize) -> Map<String, Value> {
    let mut one = Map::new();
    one.insert("id".to_owned(), json!(found.id));
    one.insert("name".to_owned(), json!(found.name));
    one.insert("line".to_owned(), json!(found.line));
    if !found.why.is_empty() {
        one.insert("why".to_owned(), json!(found.why.join(", ")));
    }
    if let Some((entry, position)) = &found.tool {
        let tool = &entry.capability.manifest.tools[*position];
        let name = ToolName { capability: entry.capability.name.clone(), tool: tool.name.clone() };
        one.insert("by".to_owned(), json!(if tool.read_only { "call_read_tool" } else { "call_tool" }));
        if let Some(function) = spelling.function(&name) {
            one.insert("in_programs".to_owned(), json!(function));
        }
        if *schemas > 0 {
            *schemas -= 1;
            one.insert("inputSchema".to_owned(), Value::Object(tool.input_schema.clone()));
        }
    }
    one
}

fn unknown(tool: &str) -> CallToolResponse {
    let kind = ErrorKind::UnknownTool;
    let text = format!(
        "{}: there is no tool `{}`; `search` gives the ids of those there are",
        kind.code(),
        clean_line(tool, WORD)
    );
    complete(CallToolResult::error(vec![ContentBlock::text(text)]))
}

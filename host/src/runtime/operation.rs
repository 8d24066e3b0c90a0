//! What a guest can be called for, one for each export, and what it says to each.

use wasmtime::Store;
use wasmtime::component::Instance;

use super::State;
use super::bindings::{completions, program, prompts, resources, tools};
use super::function::FunctionCall;
use super::loader::Linked;

/// What a guest is called for.
pub enum Operation {
    /// One call of one tool.
    Tool(tools::ToolCall),
    /// One call of a function with types of its own, as a tool.
    Function(FunctionCall),
    /// The documents at an address.
    Read(String, tools::Context),
    /// A prompt, by its name, with its arguments.
    Prompt(String, Vec<prompts::Argument>, tools::Context),
    /// Proposals for what a person is typing.
    Complete(completions::Draft, tools::Context),
    /// A program of an agent, and whether nothing may change.
    Program(program::Source, bool),
}

/// What a guest said. Untrusted, as all that it returns.
#[derive(Debug)]
pub enum Said {
    /// A tool's answer.
    Reply(tools::Reply),
    /// Documents.
    Documents(Vec<resources::Document>),
    /// A prompt.
    Prompt(prompts::Prompt),
    /// Proposals; `None` from a guest that does not export `completions`.
    Proposals(Option<completions::Proposals>),
    /// A program's result as JSON text, or why it has none.
    Result(Result<String, program::Failure>),
}

/// What a guest said, or why it says nothing.
pub type Outcome = Result<Said, tools::Failure>;

/// The component lacks the export that was called. What its manifest declares was compared with its exports when it
/// was installed, so this one was installed before that was done.
#[derive(Debug, thiserror::Error)]
#[error("the component does not export `{0}`")]
pub(super) struct Missing(pub(super) String);

impl Operation {
    /// Whether nothing may change.
    #[must_use]
    pub(super) fn is_dry_run(&self) -> bool {
        match self {
            Self::Tool(call) => call.context.dry_run,
            Self::Function(call) => call.dry_run,
            Self::Read(_, context) | Self::Prompt(_, _, context) | Self::Complete(_, context) => context.dry_run,
            Self::Program(_, is_dry_run) => *is_dry_run,
        }
    }

    /// Calls the export. An outer error is a guest that was stopped.
    pub(super) async fn call(
        &self,
        store: &mut Store<State>,
        linked: &Linked,
        instance: &Instance,
    ) -> wasmtime::Result<Outcome> {
        match self {
            Self::Tool(call) => {
                let export = linked.tools.as_ref().ok_or_else(|| Missing("tools".to_owned()))?;
                let said = export.load(&mut *store, instance)?.call_call(store, call).await?;
                Ok(said.map(Said::Reply))
            }
            Self::Function(call) => {
                let function = linked.functions.get(&call.export).ok_or_else(|| Missing(call.export.clone()))?;
                function.call(store, instance, call).await
            }
            Self::Read(uri, context) => {
                let export = linked.resources.as_ref().ok_or_else(|| Missing("resources".to_owned()))?;
                let said = export.load(&mut *store, instance)?.call_read(store, uri, context).await?;
                Ok(said.map(Said::Documents))
            }
            Self::Prompt(name, arguments, context) => {
                let export = linked.prompts.as_ref().ok_or_else(|| Missing("prompts".to_owned()))?;
                let said = export.load(&mut *store, instance)?.call_get(store, name, arguments, context).await?;
                Ok(said.map(Said::Prompt))
            }
            Self::Complete(draft, context) => {
                let Some(export) = &linked.completions else { return Ok(Ok(Said::Proposals(None))) };
                let said = export.load(&mut *store, instance)?.call_complete(store, draft, context).await?;
                Ok(said.map(|proposals| Said::Proposals(Some(proposals))))
            }
            Self::Program(source, _) => {
                let export = linked.program.as_ref().ok_or(Missing("program".to_owned()))?;
                Ok(Ok(Said::Result(export.load(&mut *store, instance)?.call_run(store, source).await?)))
            }
        }
    }
}

//! What is asked of a capability, what that means in its manifest, and what its guest is called with.
//!
//! Pure. Nothing here runs: an address or a name that the manifest does not declare, or that was withdrawn, is
//! refused before there is a guest.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::program::{ProgramRun, Within};
use super::{CallRequest, Draft, Subject, Visit};
use crate::answer::{self, Answer, documents};
use crate::audit::CallStart;
use crate::client::{Client, Confirmation};
use crate::confirm::{Case, Word};
use crate::engines::{self, Bindings};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{Prompt, Runtime, Template, Tool, visible};
use crate::namespaces::Access;
use crate::policy::{self, Authority, Caller, Directory, Identity, Permitted};
use crate::registry::{CapabilityName, Entry, Recall, Snapshot, ToolName};
use crate::runtime::{self, FunctionCall, Lease, Outcome, Said, completions, prompts, tools};
use crate::secrets::Redactor;
use crate::telemetry::Labels;
use crate::validate::{Mismatch, ToolSchemas};

/// Characters of a name or an address that nobody declared, as it is recorded and repeated.
const SHOWN: usize = 200;

/// How the run of a program is named.
const EXECUTE: &str = "execute";

/// Bytes of a prompt's arguments, or of a draft: what a person types.
const TYPED_BYTES: usize = 256 * 1024;

/// A request for anything that a capability can be asked for.
pub(super) struct Request {
    pub(super) caller: Identity,
    pub(super) capability: CapabilityName,
    pub(super) operation: Operation,
    pub(super) dry_run: bool,
    pub(super) only_reads: bool,
    pub(super) confirmation: Confirmation,
    pub(super) client: Client,
    pub(super) locale: Option<String>,
    pub(super) run: Option<String>,
    pub(super) within: Option<Within>,
}

/// What is asked.
pub(super) enum Operation {
    /// A tool's call.
    Tool { name: String, arguments: Map<String, Value> },
    /// The documents at this address.
    Read(String),
    /// A prompt.
    Prompt { name: String, arguments: BTreeMap<String, String> },
    /// Proposals.
    Complete(Draft),
    /// A program's result.
    Execute(ProgramRun),
}

/// What a request means in the manifest of an installed capability.
pub(super) struct Found {
    pub(super) entry: Arc<Entry>,
    target: Target,
    /// Who is who at the moment when it was found.
    directory: Arc<Directory>,
}

/// Which item of the manifest it is. Tools, prompts by their position.
enum Target {
    Tool(usize),
    /// The address or the form that declares the document.
    Document(String),
    Prompt(usize),
    /// The name or the form that the proposals are for.
    Draft(String),
    /// The engine itself.
    Program,
}

impl From<CallRequest> for Request {
    fn from(request: CallRequest) -> Self {
        let CallRequest {
            caller,
            tool,
            arguments,
            dry_run,
            only_reads,
            confirmation,
            client,
            locale,
            run,
            within,
        } = request;
        let ToolName { capability, tool: name } = tool;
        let operation = Operation::Tool { name, arguments };
        Self { caller, capability, operation, dry_run, only_reads, confirmation, client, locale, run, within }
    }
}

impl Request {
    /// A visit's request.
    pub(super) fn of_visit(visit: Visit, operation: Operation) -> Self {
        let Visit { caller, capability, client, locale } = visit;
        let confirmation = Confirmation::Missing;
        Self {
            caller,
            capability,
            operation,
            dry_run: false,
            only_reads: true,
            confirmation,
            client,
            locale,
            run: None,
            within: None,
        }
    }

    /// What it means among what is installed.
    pub(super) fn find(&self, snapshot: &Snapshot) -> Result<Found> {
        let Some(entry) = snapshot.entries.get(&self.capability) else {
            let unknown = self.unknown();
            return Err(match self.operation {
                Operation::Execute(_) => unknown,
                _ => unknown.hint("remit list shows what is installed"),
            });
        };
        let found = match &self.operation {
            Operation::Tool { name, .. } => find_tool(entry, name),
            Operation::Read(uri) => find_document(entry, uri),
            Operation::Prompt { name, .. } => find_prompt(entry, name).map(Target::Prompt),
            Operation::Complete(draft) => find_subject(entry, &draft.subject),
            Operation::Execute(_) => {
                (entry.capability.manifest.runtime == Runtime::Engine).then_some(Target::Program)
            }
        };
        match found.filter(|target| self.may_know(entry, target)) {
            Some(target) => Ok(Found { entry: entry.clone(), target, directory: snapshot.directory.clone() }),
            None => Err(self.unknown().hint(format!("remit show {} lists what it has", self.capability))),
        }
    }

    /// Whether what is asked for exists for who asks: for agents, what is not published does not. A loop calls
    /// whatever its maker could set it to.
    fn may_know(&self, entry: &Entry, target: &Target) -> bool {
        let restrictions = &entry.restrictions;
        let is_published = match target {
            Target::Tool(position) => {
                policy::is_published(&entry.capability.manifest.tools[*position], restrictions)
            }
            Target::Document(_) | Target::Prompt(_) | Target::Draft(_) | Target::Program => {
                policy::is_shown(restrictions)
            }
        };
        self.run.is_some() || self.caller.authority == Authority::Operator || is_published
    }

    /// What it may change of what is kept: what its tool is declared to do, and nothing in a dry run.
    pub(super) fn access(&self, found: &Found) -> Access {
        match (found.tool().is_none_or(|tool| tool.read_only), self.dry_run) {
            (true, _) => Access::Read,
            (false, true) => Access::Plan,
            (false, false) => Access::Change,
        }
    }

    /// What is known of it when its record begins.
    pub(super) fn start(&self, found: Option<&Found>, word: &Result<Word>) -> CallStart {
        CallStart {
            principal: self.caller.principal.clone(),
            capability: self.capability.to_string(),
            tool: self.label(found),
            digest: found.map(|found| found.entry.capability.digest),
            dry_run: self.dry_run,
            can_change: found.is_some_and(|found| self.access(found) == Access::Change),
            run: self.run.clone(),
            parent: self.within.as_ref().map(|within| within.record.clone()),
            spends: match word {
                Ok(Word::Given(spend)) => Some(*spend),
                _ => None,
            },
        }
    }

    /// What a person may have to agree to: a tool's call, and nothing else can change anything.
    pub(super) fn case<'a>(&'a self, found: Option<&'a Found>) -> Option<Case<'a>> {
        let Operation::Tool { arguments, .. } = &self.operation else { return None };
        let found = found?;
        Some(Case {
            principal: &self.caller.principal,
            capability: &found.entry.capability,
            restrictions: &found.entry.restrictions,
            tool: found.tool()?,
            arguments,
            answers: &self.client.answers,
            dry_run: self.dry_run,
            confirmation: &self.confirmation,
        })
    }

    /// Whether a program that was stopped before goes on: its confirmation is one of it.
    pub(super) fn may_go_on(&self) -> Result<()> {
        match &self.operation {
            Operation::Execute(run) => run.may_go_on(),
            _ => Ok(()),
        }
    }

    /// What a program can call.
    pub(super) fn bindings(&self, call_id: &str, lease: &Lease) -> Bindings {
        match &self.operation {
            Operation::Execute(run) => run.bindings(call_id, lease),
            _ => Bindings::Nothing,
        }
    }

    /// How it is named in its record: a tool by its name, anything else by MCP's method and the name, address or
    /// form that the manifest declares. What fills a form in is an argument, and arguments are not recorded.
    pub(super) fn label(&self, found: Option<&Found>) -> String {
        let (method, asked) = match &self.operation {
            Operation::Tool { name, .. } => return name.clone(),
            Operation::Execute(_) => return EXECUTE.to_owned(),
            Operation::Read(uri) => ("resources/read", uri),
            Operation::Prompt { name, .. } => ("prompts/get", name),
            Operation::Complete(draft) => ("completion/complete", draft.subject.name()),
        };
        let declared = found.and_then(|found| match &found.target {
            Target::Document(declared) | Target::Draft(declared) => Some(declared.clone()),
            Target::Tool(_) | Target::Prompt(_) | Target::Program => None,
        });
        format!("{method} {}", declared.unwrap_or_else(|| visible(asked, SHOWN)))
    }

    /// What the guest is called with, once it is known to be in order.
    pub(super) fn operation(&self, found: &Found, call_id: &str) -> Result<runtime::Operation> {
        let context = tools::Context {
            dry_run: self.dry_run,
            run_id: self.run.clone().unwrap_or_else(|| call_id.to_owned()),
            locale: self.locale.clone(),
        };
        match (&self.operation, &found.target) {
            (Operation::Tool { name, arguments }, Target::Tool(position)) => {
                check_input(arguments, &found.entry.schemas[*position])?;
                let (input, dry_run) = (arguments.clone(), self.dry_run);
                match &found.entry.capability.manifest.tools[*position].run.export {
                    Some(export) => {
                        let export = export.clone();
                        Ok(runtime::Operation::Function(FunctionCall { export, input, dry_run }))
                    }
                    None => {
                        let (tool, input) = (name.clone(), Value::Object(input).to_string());
                        Ok(runtime::Operation::Tool(tools::ToolCall { tool, input, context }))
                    }
                }
            }
            (Operation::Read(uri), Target::Document(_)) => Ok(runtime::Operation::Read(uri.clone(), context)),
            (Operation::Prompt { name, arguments }, Target::Prompt(position)) => {
                let prompt = &found.entry.capability.manifest.prompts[*position];
                check_arguments(prompt, arguments)?;
                Ok(runtime::Operation::Prompt(name.clone(), wire_arguments(arguments), context))
            }
            (Operation::Complete(draft), Target::Draft(_)) => {
                Ok(runtime::Operation::Complete(wire_draft(draft, found)?, context))
            }
            (Operation::Execute(run), Target::Program) => {
                Ok(runtime::Operation::Program(run.source()?, self.dry_run))
            }
            _ => Err(Error::internal("a request means what it asks for")),
        }
    }

    fn unknown(&self) -> Error {
        let capability = &self.capability;
        let (kind, what) = match &self.operation {
            Operation::Tool { name, .. } => {
                return Error::new(
                    ErrorKind::UnknownTool,
                    format!("no installed capability has the tool `{capability}.{name}`"),
                );
            }
            Operation::Execute(_) => return engines::missing(),
            Operation::Read(uri) => (ErrorKind::UnknownResource, format!("document at `{}`", visible(uri, SHOWN))),
            Operation::Prompt { name, .. } => {
                (ErrorKind::UnknownPrompt, format!("prompt `{}`", visible(name, SHOWN)))
            }
            Operation::Complete(Draft { subject: Subject::Prompt(name), .. }) => {
                (ErrorKind::UnknownPrompt, format!("prompt `{}`", visible(name, SHOWN)))
            }
            Operation::Complete(Draft { subject: Subject::Template(form), .. }) => {
                (ErrorKind::UnknownResource, format!("resource template `{}`", visible(form, SHOWN)))
            }
        };
        Error::new(kind, format!("`{capability}` has no {what}"))
    }
}

impl Subject {
    /// Its name or form.
    fn name(&self) -> &String {
        match self {
            Self::Prompt(name) | Self::Template(name) => name,
        }
    }
}

impl Found {
    /// How telemetry names it: a tool by its name, anything else by MCP's method.
    pub(super) fn labels(&self) -> Labels {
        let manifest = &self.entry.capability.manifest;
        let tool = match self.target {
            Target::Tool(position) => &manifest.tools[position].name,
            Target::Document(_) => "resources/read",
            Target::Prompt(_) => "prompts/get",
            Target::Draft(_) => "completion/complete",
            Target::Program => EXECUTE,
        };
        Labels::of(&self.entry.capability.name, tool)
    }

    /// Refuses what must not run any more, whoever asks.
    pub(super) fn may_run(&self) -> Result<()> {
        let capability = &self.entry.capability;
        let refusal = |recall: &Recall| recall.refusal(&capability.name, &capability.manifest.version);
        self.entry.revoked().map_or(Ok(()), |recall| Err(refusal(recall)))
    }

    /// Whether this request may be made by who makes it.
    pub(super) fn permit(&self, request: &Request) -> Result<Permitted> {
        let (caller, restrictions) = (Caller::of(&request.caller, &self.directory), &self.entry.restrictions);
        match self.tool() {
            Some(tool) if request.only_reads && !tool.read_only => Err(Error::new(
                ErrorKind::NotAllowed,
                format!("`{}` can change something: call it by `call_tool`", tool.name),
            )),
            Some(tool) => policy::may_call(&caller, tool, restrictions),
            None => policy::may_use(&caller, restrictions),
        }
    }

    /// The tool that is called, if it is one.
    pub(super) fn tool(&self) -> Option<&Tool> {
        match self.target {
            Target::Tool(position) => Some(&self.entry.capability.manifest.tools[position]),
            _ => None,
        }
    }

    /// Makes what the guest said fit to leave, or says why it is not.
    pub(super) fn check(&self, outcome: Outcome, redactor: &Redactor) -> Result<Answer> {
        let said = outcome.map_err(|failure| answer::failed(failure, redactor))?;
        let manifest = &self.entry.capability.manifest;
        match (&self.target, said) {
            (Target::Tool(position), Said::Reply(reply)) => {
                let (tool, schemas) = (&manifest.tools[*position], &self.entry.schemas[*position]);
                answer::check(reply, tool, schemas, redactor).map(Answer::Tool)
            }
            (Target::Document(_), Said::Documents(read)) => {
                documents::documents(read, manifest, redactor).map(Answer::Documents)
            }
            (Target::Prompt(_), Said::Prompt(prompt)) => documents::prompt(prompt, redactor).map(Answer::Prompt),
            (Target::Draft(_), Said::Proposals(proposals)) => {
                Ok(Answer::Proposals(documents::proposals(proposals, redactor)))
            }
            _ => Err(Error::internal("a guest says what it was called for")),
        }
    }
}

fn find_tool(entry: &Entry, name: &str) -> Option<Target> {
    let position = entry.capability.manifest.tools.iter().position(|tool| tool.name == name)?;
    (!entry.withdrawn.tool(name)).then_some(Target::Tool(position))
}

fn find_prompt(entry: &Entry, name: &str) -> Option<usize> {
    let position = entry.capability.manifest.prompts.iter().position(|prompt| prompt.name == name)?;
    (!entry.withdrawn.prompt(name)).then_some(position)
}

/// An address that is declared as it is belongs to no template, also while it is withdrawn.
fn find_document(entry: &Entry, uri: &str) -> Option<Target> {
    let manifest = &entry.capability.manifest;
    if manifest.resources.iter().any(|resource| resource.uri == uri) {
        return (!entry.withdrawn.resource(uri)).then(|| Target::Document(uri.to_owned()));
    }
    let forms = manifest.resource_templates.iter().map(|template| &template.uri_template);
    let matches = |form: &&String| Template::parse(form).is_ok_and(|template| template.matches(uri));
    let form = forms.filter(|form| !entry.withdrawn.resource(form)).find(matches)?;
    Some(Target::Document(form.clone()))
}

fn find_subject(entry: &Entry, subject: &Subject) -> Option<Target> {
    match subject {
        Subject::Prompt(name) => find_prompt(entry, name)?,
        Subject::Template(form) if entry.withdrawn.resource(form) => return None,
        Subject::Template(form) => {
            entry.capability.manifest.resource_templates.iter().position(|known| known.uri_template == *form)?
        }
    };
    Some(Target::Draft(subject.name().clone()))
}

fn check_input(arguments: &Map<String, Value>, schemas: &ToolSchemas) -> Result<()> {
    schemas.check_input(&Value::Object(arguments.clone())).map_err(|Mismatch { path, reason }| {
        let place = if path.is_empty() { "the arguments".to_owned() } else { format!("`{path}`") };
        invalid(format!("{place}: {reason}"))
    })
}

fn check_arguments(prompt: &Prompt, arguments: &BTreeMap<String, String>) -> Result<()> {
    check_size(arguments.iter())?;
    let known = |name: &String| prompt.arguments.iter().any(|argument| argument.name == *name);
    if let Some(name) = arguments.keys().find(|name| !known(name)) {
        return Err(invalid(format!("the prompt has no argument `{}`", visible(name, SHOWN))));
    }
    let is_missing = |name: &String| arguments.get(name).is_none_or(String::is_empty);
    match prompt.arguments.iter().find(|argument| argument.required && is_missing(&argument.name)) {
        Some(argument) => Err(invalid(format!("the argument `{}` is missing", argument.name))),
        None => Ok(()),
    }
}

/// The draft as the guest gets it. Of the others it gets those that there are.
fn wire_draft(draft: &Draft, found: &Found) -> Result<completions::Draft> {
    check_size(draft.others.iter().chain(std::iter::once((&draft.name, &draft.value))))?;
    let manifest = &found.entry.capability.manifest;
    let (known, subject) = match &draft.subject {
        Subject::Prompt(name) => {
            let prompt = manifest.prompts.iter().find(|prompt| prompt.name == *name);
            let arguments = prompt.map_or(&[][..], |prompt| &prompt.arguments);
            let known: Vec<String> = arguments.iter().map(|argument| argument.name.clone()).collect();
            (known, completions::Subject::Prompt(name.clone()))
        }
        Subject::Template(form) => {
            let template = Template::parse(form).map_err(Error::internal)?;
            (template.variables().map(str::to_owned).collect(), completions::Subject::Template(form.clone()))
        }
    };
    if !known.contains(&draft.name) {
        return Err(invalid(format!("`{}` has no `{}`", draft.subject.name(), visible(&draft.name, SHOWN))));
    }
    let others = draft.others.iter().filter(|(name, _)| known.contains(name) && **name != draft.name);
    Ok(completions::Draft {
        subject,
        argument: prompts::Argument { name: draft.name.clone(), value: draft.value.clone() },
        others: wire_arguments(others),
    })
}

fn check_size<'a>(typed: impl Iterator<Item = (&'a String, &'a String)>) -> Result<()> {
    let size: usize = typed.map(|(name, value)| name.len() + value.len()).sum();
    if size <= TYPED_BYTES {
        return Ok(());
    }
    Err(invalid(format!("the arguments have {size} bytes, {TYPED_BYTES} are allowed")))
}

fn wire_arguments<'a>(arguments: impl IntoIterator<Item = (&'a String, &'a String)>) -> Vec<prompts::Argument> {
    let argument =
        |(name, value): (&String, &String)| prompts::Argument { name: name.clone(), value: value.clone() };
    arguments.into_iter().map(argument).collect()
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

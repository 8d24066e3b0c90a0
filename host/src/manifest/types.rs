//! Manifest v1: what a capability says of itself, as JSON.
//!
//! These types are the contract with publishers; the JSON Schema in `docs/reference/` is made from them,
//! so each field's comment is its documentation. Unknown fields are errors. Rules that types cannot
//! say are in `rules/`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// `capability.json`: the manifest of one capability.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Remit capability manifest, version 1")]
pub struct Manifest {
    /// Address of this schema, for editors. Ignored by the host.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Who publishes it: lower-case letters, digits and single hyphens.
    pub publisher: String,
    /// The capability's name, unique for its publisher: lower-case letters, digits and single hyphens.
    pub slug: String,
    /// Semantic version. Installs pin an exact one.
    pub version: Version,
    /// A short name for people.
    pub title: String,
    /// What it does, in a sentence or two.
    pub description: String,
    /// Words that help search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Groups capabilities in search and instructions. Default: the slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// How its tools run.
    #[serde(default)]
    pub runtime: Runtime,
    /// The namespaces it may reach. One that is not listed is not available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<NamespaceName>,
    /// What it asks of the `http` namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Http>,
    /// The secrets it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Secret>,
    /// Its operations. `remit build` fills in what the source says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Documents that agents can read. Needs the export `resources`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    /// Families of documents that agents can read. Needs the export `resources`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_templates: Vec<ResourceTemplate>,
    /// Prepared messages that a person picks in the client. Needs the export `prompts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<Prompt>,
    /// Guidance added to the agent's instructions while installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Schedules that come with it. Needs `"loops"` in `uses`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<Loop>,
    /// The collections of documents it stores. Needs `"entities"` in `uses`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// The number of the form in which it writes the documents of an entity, where that is not 1. Raise it when an
    /// earlier version could not read what this one writes: nobody goes back to that version then while there are
    /// documents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub entity_formats: BTreeMap<String, u32>,
    /// What it asks of the files of a conversation. Needs `"sandbox"` in `uses`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// What one call may spend. The operator's ceiling wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

impl Manifest {
    /// The form in which it writes the documents of an entity.
    #[must_use]
    pub fn entity_format(&self, entity: &str) -> u32 {
        self.entity_formats.get(entity).copied().unwrap_or(1)
    }
}

/// How the tools of a capability run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    /// The publisher's code, one fresh instance per call.
    #[default]
    Component,
    /// No code: the prompt documents an API, and the agent writes a small program.
    Codemode,
    /// Templates, rendered to pictures.
    RenderTemplate,
    /// An OpenAPI document; its tools are derived when it is built.
    Openapi,
    /// An upstream MCP server. Operators only.
    Mcp,
    /// Code of the host itself.
    Builtin,
    /// The interpreter of programs, `remit/codemode`. It has no tools, and reaches what the host binds.
    Engine,
}

/// The name of a host service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NamespaceName {
    /// Requests to granted hosts.
    Http,
    /// Documents that the capability stores.
    Entities,
    /// Schedules.
    Loops,
    /// Files of the conversation.
    Sandbox,
    /// Questions to the person or the model at the other end of a call.
    Ask,
    /// Lines for the operator. Always there; listing it changes nothing.
    Log,
    /// How far a call is. Always there.
    Progress,
    /// What the capability shows at the moment. Always there.
    Listing,
}

impl NamespaceName {
    /// Every namespace, in the order in which people are told of them.
    pub const ALL: &[Self] = &[
        Self::Http,
        Self::Entities,
        Self::Loops,
        Self::Sandbox,
        Self::Ask,
        Self::Log,
        Self::Progress,
        Self::Listing,
    ];

    /// Whether every capability has it, so that it is neither declared nor granted.
    #[must_use]
    pub fn is_always_there(self) -> bool {
        matches!(self, Self::Log | Self::Progress | Self::Listing)
    }

    /// The one word for it, everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Entities => "entities",
            Self::Loops => "loops",
            Self::Sandbox => "sandbox",
            Self::Ask => "ask",
            Self::Log => "log",
            Self::Progress => "progress",
            Self::Listing => "listing",
        }
    }
}

/// What a capability asks of the `http` namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Http {
    /// Hosts: `api.example.com`, `api.example.com:8443`, or `*.cdn.example.com` for subdomains at any
    /// depth. Without a port, 443.
    pub allow: Vec<String>,
    /// Whether the guest may send `Authorization` or `Cookie` values of its own. It would let it send data
    /// out under somebody else's account, so it is granted apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_credentials: bool,
}

/// What a capability asks of the `sandbox` namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sandbox {
    /// Files that it keeps in one conversation at most. Default: as many as the operator allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Their bytes. Default: as many as the operator allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Whether it reads files that other capabilities wrote in the same conversation, by their addresses: for one
    /// that sends files on. It is granted apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others: bool,
}

/// A secret that a capability needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Secret {
    /// The placeholder's name: `{{NAME}}`. Upper-case letters, digits and underscores.
    pub name: String,
    /// Whether the capability is of no use without it.
    #[serde(default)]
    pub required: bool,
    /// What it is and where a person gets it.
    pub description: String,
    /// The hosts it is for: exact names of `http.allow`, with a port where that is not 443.
    pub hosts: Vec<String>,
    /// Where it may stand: `header:NAME` in lower case, or `body`.
    #[serde(rename = "in")]
    pub places: Vec<String>,
}

/// One operation of a capability.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tool {
    /// Lower-case letters, digits and underscores, a letter first.
    pub name: String,
    /// A short name for people. Default: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the agent: key facts first.
    pub description: String,
    /// Short labels that help search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Words that help search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// JSON Schema (2020-12) of the input: a closed object.
    pub input_schema: Map<String, Value>,
    /// JSON Schema (2020-12) of the structured output: an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Map<String, Value>>,
    /// It changes nothing.
    #[serde(default)]
    pub read_only: bool,
    /// It may remove or overwrite. Default: true, unless it is read-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Calling it again with the same input changes nothing more.
    #[serde(default)]
    pub idempotent: bool,
    /// It reaches beyond this host. Default: whether the capability uses `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
    /// Published over MCP. Otherwise it is discovered, not exposed.
    #[serde(default)]
    pub expose: bool,
    /// The role a caller needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_role: Option<String>,
    /// The permission a caller needs, as `domain:action`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_permission: Option<String>,
    /// The flag that has to be on for the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature_flag: Option<String>,
    /// How it runs: must equal the capability's runtime.
    #[serde(default)]
    pub run: Run,
}

impl Tool {
    /// Whether it may remove or overwrite: what is not said is assumed.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        !self.read_only && self.destructive.unwrap_or(true)
    }
}

/// How one tool runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Run {
    /// The kind of runtime.
    pub kind: Runtime,
    /// The exported function that is called, for a component without the export `tools`: `greet`, or
    /// `acme:weather/forecast@1.0.0#get` for a function of an interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<String>,
}

/// A document at an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resource {
    /// Its address: a URI of any scheme but `remit`, `http` and `https`.
    pub uri: String,
    /// A short name: letters, digits, `.`, `-` and `_`.
    pub name: String,
    /// A short name for people. Default: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is, for the agent.
    pub description: String,
    /// Its media type (RFC 6838), such as `text/markdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// A family of documents whose addresses have one form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourceTemplate {
    /// The form of their addresses: RFC 6570 with simple variables only, such as `note:{id}`.
    pub uri_template: String,
    /// A short name: letters, digits, `.`, `-` and `_`.
    pub name: String,
    /// A short name for people. Default: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What they are, for the agent.
    pub description: String,
    /// Their media type (RFC 6838), where all have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// Prepared messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prompt {
    /// Lower-case letters, digits and underscores, a letter first.
    pub name: String,
    /// A short name for people. Default: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is good for.
    pub description: String,
    /// What a person fills in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
}

/// What a person fills in for a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptArgument {
    /// Letters, digits and underscores, a letter first.
    pub name: String,
    /// A short name for people. Default: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    pub description: String,
    /// Whether it has to be there.
    #[serde(default)]
    pub required: bool,
}

/// What one call may spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// Units of work: about one per WebAssembly instruction, and what host calls cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// Linear memory and tables, in MiB, all memories together.
    #[serde(rename = "memoryMiB", default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u32>,
    /// Wall-clock time, in milliseconds, waiting included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u32>,
    /// Outbound requests, redirects included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_requests: Option<u32>,
}

/// A schedule that comes with a capability: at each firing it calls a tool or gives the agent a prompt.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Loop {
    /// Its name inside the capability.
    pub name: String,
    /// How `scheduleExpression` is read.
    pub schedule_type: ScheduleType,
    /// A cron pattern of five fields, or an interval such as `15m`.
    pub schedule_expression: String,
    /// An IANA zone, such as `Europe/Berlin`. Default: UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Delivers nothing when there is nothing to report.
    #[serde(default)]
    pub quiet: bool,
    /// What the agent is asked to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The tool to call instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The tool's input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Map<String, Value>>,
}

/// How a schedule's expression is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleType {
    /// Five fields, as in crontab(5).
    Cron,
    /// A fixed period.
    Interval,
}

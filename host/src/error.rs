//! One error for everything that leaves a room: a stable kind, a sentence, and what to do next.
//!
//! Rooms have small enums of their own; this file decides which kind each becomes and who is to blame.
//! It does not decide how an error is shown: that is `cli/output.rs` and `mcp/reply.rs`.

use std::fmt;

/// Who has to change something for this error to go away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Whoever made the call: an agent, or a person at the command line.
    Caller,
    /// The capability's author.
    Capability,
    /// Whoever installed the capability or runs this host.
    Operator,
    /// This program.
    Host,
}

impl Blame {
    /// The word in the reference and in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Capability => "capability",
            Self::Operator => "operator",
            Self::Host => "host",
        }
    }
}

/// One row per kind: `docs/reference/errors.md` is made from it, and codes are only ever added.
macro_rules! kinds {
    ($($kind:ident $code:literal $blame:ident $exit:literal $meaning:literal)*) => {
        /// What went wrong, as a stable code `room/reason`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorKind { $(#[doc = $meaning] $kind,)* }

        impl ErrorKind {
            /// Every kind, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The stable code: `room/reason`.
            #[must_use]
            pub fn code(self) -> &'static str { match self { $(Self::$kind => $code,)* } }

            /// Who has to change something.
            #[must_use]
            pub fn blame(self) -> Blame { match self { $(Self::$kind => Blame::$blame,)* } }

            /// The exit code of the command line: 1 failed or denied, 2 usage or config, 255 internal.
            #[must_use]
            pub fn exit_code(self) -> u8 { match self { $(Self::$kind => $exit,)* } }

            /// One sentence for the reference.
            #[must_use]
            pub fn meaning(self) -> &'static str { match self { $(Self::$kind => $meaning,)* } }
        }
    };
}

kinds! {
    UnknownTool "call/unknown-tool" Caller 1 "No installed capability has a tool of this name."
    UnknownResource "call/unknown-resource" Caller 1 "The capability declares no document at this address, or has withdrawn it."
    UnknownPrompt "call/unknown-prompt" Caller 1 "The capability declares no prompt of this name, or has withdrawn it."
    InvalidInput "call/invalid-input" Caller 1 "The arguments do not fit the tool's input schema, or the tool refused them."
    InvalidOutput "call/invalid-output" Capability 1 "The tool's answer is too large or does not fit its output schema."
    AnswerTooLarge "call/answer-too-large" Caller 1 "The tool's structured answer is too large to show at once; it is kept as a document."
    NotAllowed "call/not-allowed" Operator 1 "The caller, or the capability, lacks a grant for this."
    Cancelled "call/cancelled" Caller 1 "The caller cancelled the call."
    InputRequired "call/input-required" Caller 1 "The call asks a question; call again with the answer."
    ClientCannot "call/client-cannot" Caller 1 "The call asks a question that the client cannot be asked."
    ConfirmationRequired "call/confirmation-required" Caller 1 "The call changes something that a person has to agree to first."
    ConfirmationInvalid "call/confirmation-invalid" Caller 1 "The confirmation is for another call, was used, or has ended."
    ProgramInvalid "program/invalid" Caller 1 "The program does not parse, or is too long."
    ProgramFailed "program/failed" Caller 1 "The program threw what it did not catch, went too deep, or waits for what never comes."
    NoEngine "program/no-engine" Operator 1 "No engine for programs is installed."
    Trap "capability/trap" Capability 1 "The guest stopped with a trap: a panic, an overflow, an illegal access."
    Failed "capability/failed" Capability 1 "The tool ran and answered that it failed."
    NotFound "capability/not-found" Caller 1 "The tool ran and answered that what was asked for does not exist."
    Fuel "budget/fuel" Capability 1 "The call spent its fuel."
    Memory "budget/memory" Capability 1 "The call asked for more memory than it may have."
    Time "budget/time" Capability 1 "The call ran out of time."
    HostCalls "budget/host-calls" Capability 1 "The call asked the host for too much: too many calls, or too many bytes."
    Egress "budget/egress" Capability 1 "The call sent more requests than it may."
    HttpInvalidUrl "http/invalid-url" Capability 1 "The URL is not one, or two parsers could read it differently."
    HttpSchemeNotAllowed "http/scheme-not-allowed" Capability 1 "Only `https:` is sent."
    HttpUserinfoNotAllowed "http/userinfo-not-allowed" Capability 1 "A URL must not carry a user name or password."
    HttpIpLiteralNotAllowed "http/ip-literal-not-allowed" Capability 1 "A host must be a name, not an address."
    HttpHostNotAllowed "http/host-not-allowed" Operator 1 "The host is not declared, or not granted."
    HttpPortNotAllowed "http/port-not-allowed" Operator 1 "The host is granted, but not at this port."
    HttpPrivateAddress "http/private-address" Operator 1 "The name resolves to an address that is not public."
    HttpDnsFailed "http/dns-failed" Operator 1 "The name could not be resolved."
    HttpConnectFailed "http/connect-failed" Operator 1 "No connection could be made."
    HttpTlsFailed "http/tls-failed" Operator 1 "The TLS handshake failed: no valid certificate for the name."
    HttpTimeout "http/timeout" Operator 1 "The request ran out of time."
    HttpRedirectRefused "http/redirect-refused" Operator 1 "A redirect led where the capability may not go, or went on too long."
    HttpHeaderInvalid "http/header-invalid" Capability 1 "A header field or the method is malformed."
    HttpHeaderNotAllowed "http/header-not-allowed" Capability 1 "The host sets this header field itself, or a secret must be used for it."
    HttpRequestTooLarge "http/request-too-large" Capability 1 "The request is larger than allowed."
    HttpResponseTooLarge "http/response-too-large" Operator 1 "The response is larger than allowed."
    HttpResponseInvalid "http/response-invalid" Operator 1 "The response breaks HTTP, or is coded in a way that cannot be searched for secrets."
    HttpRateLimited "http/rate-limited" Capability 1 "The capability sends too many requests."
    SecretUnset "secret/unset" Operator 2 "No value is stored under this name."
    SecretNotAvailable "secret/not-available" Operator 1 "The secret is not set or has expired, or its use is not approved."
    SecretPlacement "secret/placement" Capability 1 "A placeholder stands where none may stand."
    SecretInvalid "secret/invalid" Operator 2 "The value cannot be a secret: too short, too common, or it holds control characters."
    SecretKey "secret/key" Operator 2 "The key file is missing, readable by others, or does not open the stored secrets."
    EntityNotFound "entities/not-found" Caller 1 "No such document, or no such version of it, is kept."
    EntityInvalid "entities/invalid" Caller 1 "The key or the value cannot be stored."
    EntityConflict "entities/conflict" Caller 1 "Something else was there than was expected; nothing was changed."
    EntityQuota "entities/quota" Operator 1 "The capability would keep more than it may."
    SandboxNotFound "sandbox/not-found" Caller 1 "No such file, or no such conversation, is kept."
    SandboxInvalid "sandbox/invalid" Caller 1 "The name cannot be a file's, or another file is in its way."
    SandboxQuota "sandbox/quota" Operator 1 "More files or bytes would be kept than may be."
    RegistryNotFound "registry/not-found" Caller 1 "No such capability is installed."
    DigestMismatch "registry/digest-mismatch" Operator 1 "The stored bytes are not the bytes that were installed."
    ImportNotDeclared "registry/import-not-declared" Capability 1 "The component imports what its manifest does not declare, or what no host offers."
    VersionExists "registry/version-exists" Operator 1 "This version is installed already with other bytes."
    VersionInexact "registry/inexact-version" Caller 1 "A release is named by one exact version: no range, no tag, no build metadata."
    Yanked "registry/yanked" Operator 1 "The release was yanked: nobody should install it any more."
    Revoked "registry/revoked" Operator 1 "The release was revoked: it must not run."
    NotReviewed "registry/not-reviewed" Operator 1 "Nobody whom this home knows as a reviewer approved the release."
    ReleaseNotFound "registry/no-release" Caller 1 "The registry has no such release."
    ReleaseExists "registry/release-exists" Caller 1 "The registry has this version already; a version is published once, also when it is gone."
    RegistryUnreached "registry/unreached" Operator 1 "The registry did not answer, or not as a registry does."
    SignatureInvalid "signature/invalid" Operator 1 "A signed document is not what its signature says."
    KeyUnknown "signature/unknown-key" Operator 1 "The document was signed with a key that is not known here."
    KeyRevoked "signature/revoked-key" Operator 1 "The document was signed with a key that did not count any more."
    KeyNotAllowed "signature/not-allowed" Operator 1 "The owner of the key may not say this."
    NotKept "registry/not-kept" Caller 1 "No earlier version of this is kept."
    ManifestMismatch "registry/manifest-mismatch" Operator 1 "What is stored of a manifest is not what the component says."
    EntityFormat "entities/format" Operator 1 "The stored documents have a newer form than this version can read."
    LockInvalid "lock/invalid" Operator 2 "The lock file is not as it should be; the message names the line."
    LockDigest "lock/invalid-digest" Operator 2 "A digest in the lock file is not `sha256:` and 64 lower-case hexadecimal digits."
    LockUnpinned "lock/unpinned" Operator 2 "The lock file names a version without a digest, which is no pin."
    LockMismatch "lock/mismatch" Operator 1 "The bytes do not say what the lock file says of them."
    LockDiffers "lock/differs" Operator 1 "The home is not as the lock file says."
    LockSource "lock/no-source" Operator 1 "The bytes that the lock file names are nowhere to be had."
    BreakingChange "registry/breaking-change" Capability 1 "The version breaks what an earlier one promised to its callers, and its number does not say so."
    ReviewNothing "review/nothing-waits" Caller 1 "No release of this name and version waits for a decision."
    ReviewRole "review/not-a-reviewer" Operator 1 "Whoever decides is no reviewer of the registry, or is none any more."
    ReviewOwn "review/own-submission" Caller 1 "A release is not decided about by whoever submitted it."
    ReviewOtherBytes "review/other-bytes" Caller 1 "The release is not the one that was shown: other bytes came meanwhile."
    LoopSchedule "loops/invalid-schedule" Caller 1 "The pattern, zone or interval of a loop cannot be used."
    LoopDefinition "loops/invalid-definition" Caller 1 "The name, tool, input, prompt or window of a loop cannot be used."
    LoopNotFound "loops/not-found" Caller 1 "There is no such loop, or no such run."
    LoopExists "loops/already-exists" Caller 1 "The capability has a loop of this name."
    LoopPreset "loops/preset" Caller 1 "The loop came with the manifest: it can be paused, not changed or deleted."
    LoopLimit "loops/limit" Operator 1 "More loops, or a shorter period, than granted."
    LoopMissed "loops/missed" Operator 1 "The host was too late for a firing of a loop."
    NotComponent "component/not-a-component" Capability 1 "The file is not a WebAssembly component."
    ComponentInvalid "component/invalid" Capability 1 "The component is damaged, or uses a feature that is switched off."
    ComponentTooLarge "component/too-large" Capability 1 "The component, or a part of it, is larger than allowed."
    CompileFailed "component/compile-failed" Capability 1 "The component could not be compiled within its limits."
    ManifestMissing "manifest/missing" Capability 1 "The component has no embedded manifest."
    ManifestInvalid "manifest/invalid" Capability 1 "The manifest breaks a rule; the message names the field and the fix."
    McpUnreachable "mcp/unreachable" Operator 1 "The upstream MCP server cannot be started or reached, or went away."
    McpFailed "mcp/failed" Operator 1 "The upstream MCP server answered with an error, or with what cannot be used."
    McpDefinitionChanged "mcp/definition-changed" Operator 1 "The upstream MCP server describes the tool otherwise than was accepted."
    BuildFailed "build/failed" Caller 1 "The capability's source did not compile."
    TestFailed "build/test-failed" Caller 1 "The capability's own tests or examples fail."
    BuildToolchain "build/toolchain" Operator 2 "No toolchain that builds WebAssembly was found, and none could be brought."
    Usage "host/usage" Caller 2 "The command line is not as it should be."
    Config "host/config" Operator 2 "The configuration file cannot be used."
    Store "host/store" Operator 2 "The data directory cannot be used: damaged, full, read-only, or made by a newer version."
    Unsound "host/unsound" Operator 1 "`remit doctor` found something wrong."
    Busy "host/busy" Operator 1 "Too many calls run at once; try again."
    Unauthorized "host/unauthorized" Caller 1 "The request carries no valid token."
    Internal "host/internal" Host 255 "A bug in this program."
}

/// What went wrong, for two audiences.
#[derive(Clone, Debug)]
pub struct Error {
    /// The stable kind.
    pub kind: ErrorKind,
    /// One sentence that may leave this machine. It is redacted by whoever made it.
    pub message: String,
    /// More, for the operator's log and audit only.
    pub detail: Option<String>,
    /// What a person can do: a command or a line of configuration. Never shown to an agent.
    pub hint: Option<String>,
}

/// The result of anything that can fail in the host.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` with a sentence.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), detail: None, hint: None }
    }

    /// Adds what only the operator should read.
    #[must_use]
    pub fn detail(mut self, detail: impl fmt::Display) -> Self {
        self.detail = Some(detail.to_string());
        self
    }

    /// Adds what a person can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A bug in this program: `what` names the broken invariant.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, what)
    }

    /// The file or folder at `path` could not be used.
    pub fn file(path: &std::path::Path, error: &std::io::Error) -> Self {
        let error_kind = error.kind();
        let hint = match error_kind {
            std::io::ErrorKind::StorageFull => Some("free some disk space and run the command again"),
            std::io::ErrorKind::PermissionDenied => Some("check the owner and mode of the file"),
            _ => None,
        };
        Self {
            kind: ErrorKind::Store,
            message: format!("cannot use `{}`: {}", path.display(), reason(error_kind)),
            detail: Some(error.to_string()),
            hint: hint.map(str::to_owned),
        }
    }
}

/// What kept a file from being used, in words that name no library's.
#[must_use]
pub fn reason(kind: std::io::ErrorKind) -> String {
    match kind {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        other => other.to_string(),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.kind.code(), self.message)
    }
}

impl std::error::Error for Error {}

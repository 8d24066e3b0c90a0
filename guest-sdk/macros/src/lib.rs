//! The macros of `remit-sdk`. `capability` turns a module of functions into tools, documents and prompts, `data` types
//! into schemas. What the generated code calls is in the SDK: nothing is decided here that could be
//! decided there.

mod capability;
mod data;
mod documentation;
mod names;
mod offered;
mod prompt;
mod resource;
mod schema;
mod tool;

use proc_macro::TokenStream;
use proc_macro2::Span;
use syn::parse_macro_input;

/// Makes a module a capability: each function marked `#[tool]` is one of its tools, and those marked `#[resource]` and
/// `#[prompt]` are its documents and prompts.
///
/// See the SDK's front page for what a tool looks like. `#[tool]` takes:
///
/// | attribute | meaning |
/// |---|---|
/// | `title = "…"` | a short name for people |
/// | `read_only` | it changes nothing |
/// | `destructive = false` | it adds, and never removes or overwrites |
/// | `idempotent` | calling it again with the same input changes nothing more |
/// | `open_world = true` | it reaches beyond the host; default: whether the capability uses `http` |
/// | `keywords("…", "…")` | words that help search |
/// | `expose = false` | it can be found, but is not published |
///
/// A parameter takes a doc comment and `#[schema(…)]`: `min`, `max`, `min_length`, `max_length`,
/// `pattern`, `min_items`, `max_items`, and `default`, which makes it optional.
///
/// `#[resource(…)]` marks a function that makes a document for agents to read:
///
/// | attribute | meaning |
/// |---|---|
/// | `uri = "notes:all"` | the document at this address; the function takes nothing |
/// | `template = "note:{id}"` | all documents with such an address; the variables are the function's parameters |
/// | `name = "…"` | a short name; default: the function's |
/// | `title = "…"` | a short name for people |
/// | `mime_type = "…"` | what text or bytes of it are |
///
/// `#[prompt]`, or `#[prompt(title = "…")]`, marks a function that makes messages for people to pick. Its parameters
/// are what they fill in, each with a doc comment.
///
/// Parameters of both are texts, or any type that can be parsed from one. `#[complete(function)]` on such a parameter
/// names the function that proposes its values: it takes a `&completions::Draft`. All three can take a `Context`.
#[proc_macro_attribute]
pub fn capability(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        return refuse(
            "write `#[remit_sdk::capability]` without arguments: name and version are in `capability.json`",
        );
    }
    let module = parse_macro_input!(item as syn::ItemMod);
    capability::expand(module).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a type one that tools can take and answer with: it derives serde's `Serialize` and
/// `Deserialize`, and the JSON Schema.
///
/// A struct becomes a closed object, an enum a choice of strings. Doc comments are descriptions; serde's
/// `rename`, `rename_all`, `default` and `skip` count, and fields take the same `#[schema(…)]` as
/// parameters. A field written `Option<…>` may be missing, and is left out of answers when it is `None`.
///
/// Unknown fields are not an error when such a type is read: the host has already held the input to the
/// closed schema, and the type can then also pick what it needs from some other service's answer.
#[proc_macro_attribute]
pub fn data(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        return refuse("write `#[remit_sdk::data]` without arguments");
    }
    let item = parse_macro_input!(item as syn::Item);
    data::expand(item).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn refuse(message: &str) -> TokenStream {
    syn::Error::new(Span::call_site(), message).into_compile_error().into()
}

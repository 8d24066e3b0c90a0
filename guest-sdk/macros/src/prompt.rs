//! One function marked `#[prompt]`: what its attribute and signature say, and the code that calls it.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, ItemFn, LitStr, Meta, Result};

use crate::documentation::json_string;
use crate::offered::{self, Parameter};

/// A prompt, as generated code.
pub struct Prompt {
    /// Its entry in the manifest: JSON.
    pub entry: String,
    /// The arm of the dispatching `match`.
    pub arm: TokenStream,
    /// Arms for what is being typed.
    pub completions: Vec<TokenStream>,
}

/// Reads a marked function.
pub fn read(mark: &Attribute, function: &mut ItemFn) -> Result<Prompt> {
    let inputs = offered::inputs("prompt", function)?;
    let title = title(mark)?;
    let description = offered::described("prompt", function)?;
    let name = function.sig.ident.unraw().to_string();
    let arguments = offered::texts(&inputs).map(argument).collect::<Result<Vec<_>>>()?;
    let arguments = (!arguments.is_empty()).then(|| format!("[{}]", arguments.join(",")));
    let entry = offered::object(&[
        ("name", Some(json_string(&name))),
        ("title", title.map(|title| json_string(&title))),
        ("description", Some(json_string(&description))),
        ("arguments", arguments),
    ]);

    let call = offered::call(&function.sig.ident, &inputs, |parameter| {
        let (name, owned) = (&parameter.name, &parameter.owned);
        if parameter.required {
            quote_spanned!(owned.span()=> ::remit_sdk::__private::required::<#owned>(arguments, #name)?)
        } else {
            quote_spanned!(owned.span()=> ::remit_sdk::__private::optional::<#owned>(arguments, #name)?)
        }
    });
    let arm = quote!(#name => ::remit_sdk::prompts::Messages::prompt(#call),);
    let subject = quote!(::remit_sdk::completions::Subject::Prompt(subject));
    let completions = offered::completions(&name, &subject, &inputs);
    Ok(Prompt { entry, arm, completions })
}

fn argument(parameter: &Parameter) -> Result<String> {
    let Some(description) = &parameter.description else {
        return Err(syn::Error::new(
            parameter.span,
            "write a doc comment (`/// …`): it is what people read when they fill it in",
        ));
    };
    Ok(offered::object(&[
        ("name", Some(json_string(&parameter.name))),
        ("description", Some(json_string(description))),
        ("required", Some(parameter.required.to_string())),
    ]))
}

fn title(mark: &Attribute) -> Result<Option<String>> {
    let mut title = None;
    if !matches!(mark.meta, Meta::Path(_)) {
        mark.parse_nested_meta(|meta| {
            if !meta.path.is_ident("title") {
                return Err(meta.error("`#[prompt(…)]` takes `title = \"…\"`"));
            }
            title = Some(meta.value()?.parse::<LitStr>()?.value());
            Ok(())
        })?;
    }
    Ok(title)
}

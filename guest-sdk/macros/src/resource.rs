//! One function marked `#[resource]`: a document at an address, or a family of documents whose addresses have one
//! form. The parameters of a family are the variables of its form.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, ItemFn, LitStr, Meta, Result};

use crate::documentation::json_string;
use crate::offered::{self, Input};

/// A resource, as generated code.
pub struct Resource {
    /// Whether it is a family of documents.
    pub is_template: bool,
    /// Its entry in the manifest: JSON.
    pub entry: String,
    /// An arm of the `match` over addresses, or a statement that looks whether an address has the form.
    pub read: TokenStream,
    /// Arms for what is being typed.
    pub completions: Vec<TokenStream>,
}

/// What the attribute says.
#[derive(Default)]
struct Words {
    uri: Option<LitStr>,
    template: Option<LitStr>,
    name: Option<String>,
    title: Option<String>,
    mime_type: Option<String>,
}

/// Reads a marked function.
pub fn read(mark: &Attribute, function: &mut ItemFn) -> Result<Resource> {
    let words = Words::read(mark)?;
    let inputs = offered::inputs("resource", function)?;
    let description = offered::described("resource", function)?;
    let (address, is_template) = match (&words.uri, &words.template) {
        (Some(uri), None) => (uri.clone(), false),
        (None, Some(template)) => (template.clone(), true),
        _ => return Err(syn::Error::new(mark.span(), "write `uri = \"…\"`, or `template = \"note:{id}\"`")),
    };
    let name = words.name.unwrap_or_else(|| function.sig.ident.unraw().to_string());
    let key = if is_template { "uriTemplate" } else { "uri" };
    let entry = offered::object(&[
        (key, Some(json_string(&address.value()))),
        ("name", Some(json_string(&name))),
        ("title", words.title.map(|title| json_string(&title))),
        ("description", Some(json_string(&description))),
        ("mimeType", words.mime_type.as_ref().map(|mime_type| json_string(mime_type))),
    ]);

    let form = Form::read(&address)?;
    form.check(&address, &inputs)?;
    let mime_type = match &words.mime_type {
        Some(mime_type) => quote!(::core::option::Option::Some(#mime_type)),
        None => quote!(::core::option::Option::None),
    };
    let call = offered::call(&function.sig.ident, &inputs, |parameter| {
        let (name, owned) = (&parameter.name, &parameter.owned);
        let at = form.variables.iter().position(|variable| variable == name).unwrap_or_default();
        quote_spanned!(owned.span()=> ::remit_sdk::__private::value::<#owned>(#name, &variables[#at])?)
    });
    let documents = quote!(::remit_sdk::resources::Readable::documents(#call, uri, #mime_type));
    let text = address.value();
    let read = if is_template {
        let texts = &form.texts;
        quote! {
            if let ::core::option::Option::Some(variables) = ::remit_sdk::__private::variables(&[#(#texts),*], uri) {
                return #documents;
            }
        }
    } else {
        quote!(#text => return #documents,)
    };
    let subject = quote!(::remit_sdk::completions::Subject::Template(subject));
    let completions = offered::completions(&text, &subject, &inputs);
    Ok(Resource { is_template, entry, read, completions })
}

impl Words {
    fn read(mark: &Attribute) -> Result<Self> {
        let mut words = Self::default();
        if matches!(mark.meta, Meta::Path(_)) {
            return Ok(words);
        }
        mark.parse_nested_meta(|meta| {
            let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            match word.as_str() {
                "uri" => words.uri = Some(meta.value()?.parse()?),
                "template" => words.template = Some(meta.value()?.parse()?),
                "name" => words.name = Some(meta.value()?.parse::<LitStr>()?.value()),
                "title" => words.title = Some(meta.value()?.parse::<LitStr>()?.value()),
                "mime_type" => words.mime_type = Some(meta.value()?.parse::<LitStr>()?.value()),
                _ => {
                    return Err(meta.error(
                        "`#[resource(…)]` takes `uri = \"…\"` or `template = \"…\"`, `name`, `title` and `mime_type`",
                    ));
                }
            }
            Ok(())
        })?;
        Ok(words)
    }
}

/// A form of addresses, taken apart.
struct Form {
    /// What stands before, between and behind the variables.
    texts: Vec<String>,
    variables: Vec<String>,
}

impl Form {
    fn read(address: &LitStr) -> Result<Self> {
        let wrong = |message: &str| syn::Error::new(address.span(), message);
        let (mut texts, mut variables) = (Vec::new(), Vec::new());
        let value = address.value();
        let mut rest = value.as_str();
        while let Some((text, behind)) = rest.split_once('{') {
            let (variable, behind) =
                behind.split_once('}').ok_or_else(|| wrong("close the variable: `note:{id}`"))?;
            if text.is_empty() {
                return Err(wrong(
                    "an address begins with its scheme, and something stands between two variables",
                ));
            }
            texts.push(text.to_owned());
            variables.push(variable.to_owned());
            rest = behind;
        }
        texts.push(rest.to_owned());
        if texts.iter().any(|text| text.contains('}')) {
            return Err(wrong("`}` ends a variable: `note:{id}`"));
        }
        Ok(Self { texts, variables })
    }

    /// Whether the variables are the function's parameters.
    fn check(&self, address: &LitStr, inputs: &[Input]) -> Result<()> {
        for parameter in offered::texts(inputs) {
            if !self.variables.contains(&parameter.name) {
                let message = format!("the address has no variable `{{{}}}`", parameter.name);
                return Err(syn::Error::new(parameter.span, message));
            }
            if !parameter.required {
                let message = "a variable is always there: write its type without `Option`";
                return Err(syn::Error::new(parameter.span, message));
            }
        }
        for (index, variable) in self.variables.iter().enumerate() {
            let takes = offered::texts(inputs).any(|parameter| parameter.name == *variable);
            if !takes || self.variables[..index].contains(variable) {
                let message = format!("the function takes no parameter `{variable}`, or the address has it twice");
                return Err(syn::Error::new(address.span(), message));
            }
        }
        Ok(())
    }
}

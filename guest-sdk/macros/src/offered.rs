//! Documents and prompts as generated code: what `#[resource]` and `#[prompt]` have in common. A function of text
//! parameters, each of which may name the function that proposes its values.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, FnArg, Ident, ItemFn, Path, Result, ReturnType, Type};

use crate::documentation::{description, json_string};
use crate::schema;
use crate::tool::{is_context, name, owned};

/// A parameter that stands for text: a variable of a template, or an argument of a prompt.
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub span: proc_macro2::Span,
    /// What its doc comment says.
    pub description: Option<String>,
    /// Whether it is written without `Option`.
    pub required: bool,
    /// The type that its text is read as.
    pub owned: Type,
    /// Whether the function borrows it.
    pub borrowed: bool,
    /// The function that proposes its values.
    pub proposed_by: Option<Path>,
}

/// What a function is called with, in its order.
pub enum Input {
    /// The call's context; true when it is borrowed.
    Context(bool),
    /// A text.
    Text(Box<Parameter>),
}

/// Reads a function's parameters, and takes off them what the compiler would not accept there.
pub fn inputs(kind: &str, function: &mut ItemFn) -> Result<Vec<Input>> {
    let signature = &function.sig;
    if let Some(word) = &signature.asyncness {
        return Err(syn::Error::new(
            word.span(),
            format!("a {kind} is not `async`: requests wait for their response"),
        ));
    }
    if !signature.generics.params.is_empty() {
        return Err(syn::Error::new(signature.generics.span(), format!("a {kind} has no generics")));
    }
    if matches!(signature.output, ReturnType::Default) {
        return Err(syn::Error::new(
            signature.span(),
            format!("a {kind} has to return what it is: `String`, for one"),
        ));
    }
    function.sig.inputs.iter_mut().map(|argument| input(kind, argument)).collect()
}

fn input(kind: &str, argument: &mut FnArg) -> Result<Input> {
    let parameter = match argument {
        FnArg::Typed(parameter) => parameter,
        FnArg::Receiver(receiver) => {
            return Err(syn::Error::new(receiver.span(), format!("a {kind} is a plain function, without `self`")));
        }
    };
    let proposed_by = take_complete(&mut parameter.attrs)?;
    let docs: Vec<Attribute> =
        parameter.attrs.extract_if(.., |attribute| attribute.path().is_ident("doc")).collect();
    if is_context(&parameter.ty) {
        return Ok(Input::Context(matches!(&*parameter.ty, Type::Reference(_))));
    }
    let ident = name(parameter)?;
    let inner = schema::optional(&parameter.ty);
    let (owned, borrowed) = owned(inner.unwrap_or(&parameter.ty))?;
    Ok(Input::Text(Box::new(Parameter {
        name: ident.unraw().to_string(),
        span: ident.span(),
        description: description(&docs),
        required: inner.is_none(),
        owned,
        borrowed,
        proposed_by,
    })))
}

fn take_complete(attributes: &mut Vec<Attribute>) -> Result<Option<Path>> {
    let mut found = None;
    for attribute in attributes.extract_if(.., |attribute| attribute.path().is_ident("complete")) {
        found = Some(attribute.parse_args::<Path>().map_err(|error| {
            syn::Error::new(error.span(), "name the function that proposes values: `#[complete(towns)]`")
        })?);
    }
    Ok(found)
}

/// The parameters that stand for text.
pub fn texts(inputs: &[Input]) -> impl Iterator<Item = &Parameter> {
    inputs.iter().filter_map(|input| match input {
        Input::Text(parameter) => Some(&**parameter),
        Input::Context(_) => None,
    })
}

/// The call of the function, where `read` gives the expression that reads a parameter's text.
pub fn call(function: &Ident, inputs: &[Input], read: impl Fn(&Parameter) -> TokenStream) -> TokenStream {
    let arguments = inputs.iter().map(|input| match input {
        Input::Context(true) => quote!(context),
        Input::Context(false) => quote!(::core::clone::Clone::clone(context)),
        Input::Text(parameter) => {
            let value = read(parameter);
            match (parameter.borrowed, parameter.required) {
                (false, _) => value,
                (true, true) => quote!(&#value),
                (true, false) => quote!(#value.as_deref()),
            }
        }
    });
    quote!(#function(#(#arguments),*))
}

/// Arms of the `match` over what is being typed, for those parameters of `of` that have proposals.
pub fn completions(of: &str, subject: &TokenStream, inputs: &[Input]) -> Vec<TokenStream> {
    let proposed = texts(inputs).filter_map(|parameter| parameter.proposed_by.as_ref().map(|by| (parameter, by)));
    let arms = proposed.map(|(parameter, by)| {
        let name = &parameter.name;
        let proposals = quote_spanned!(by.span()=> ::remit_sdk::completions::Propose::proposals(#by(draft)));
        quote!((#subject, #name) if subject == #of => #proposals,)
    });
    arms.collect()
}

/// The description of a function, which it must have.
pub fn described(kind: &str, function: &ItemFn) -> Result<String> {
    description(&function.attrs).ok_or_else(|| {
        let message = format!("write a doc comment (`/// …`): it is what agents and people read of this {kind}");
        syn::Error::new(function.sig.ident.span(), message)
    })
}

/// A JSON object of these members, without those that have no value.
pub fn object(members: &[(&str, Option<String>)]) -> String {
    let present = members
        .iter()
        .filter_map(|(key, value)| value.as_ref().map(|value| format!("{}:{value}", json_string(key))));
    format!("{{{}}}", present.collect::<Vec<_>>().join(","))
}

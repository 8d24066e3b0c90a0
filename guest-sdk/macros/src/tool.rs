//! One function marked `#[tool]`: what its attribute and signature say, and the code that calls it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, LitBool, LitStr, Meta, Pat, PatType, Result, ReturnType,
    Token, Type, parse_quote,
};

use crate::documentation::{description, json_string};
use crate::schema::{self, Keywords};

/// A tool, as generated code.
pub struct Tool {
    /// The SDK's `Tool`: its part of the manifest.
    pub entry: TokenStream,
    /// The arm of the dispatching `match`.
    pub arm: TokenStream,
}

/// Reads a marked function, and takes off its parameters what the compiler would not accept there.
pub fn read(mark: &Attribute, function: &mut ItemFn) -> Result<Tool> {
    check_signature(function)?;
    let name = function.sig.ident.unraw().to_string();
    let members = members(&name, mark, function)?;
    let parameters = function.sig.inputs.iter_mut().map(Parameter::read).collect::<Result<Vec<_>>>()?;

    let ReturnType::Type(_, answer) = &function.sig.output else {
        return Err(syn::Error::new(
            function.sig.span(),
            "a tool has to answer: return `String`, `Reply` or a `#[remit_sdk::data]` struct, or a `Result` of one",
        ));
    };
    let output = quote_spanned!(answer.span()=> <#answer as ::remit_sdk::Answer>::OUTPUT);
    let fields = parameters.iter().filter_map(|parameter| parameter.field.as_ref());
    let entry = quote! {
        ::remit_sdk::schema::Tool {
            members: #members,
            input: ::remit_sdk::schema::Shape::object(&[#(#fields),*]),
            output: #output,
        }
    };

    let function_name = &function.sig.ident;
    let members = parameters.iter().filter_map(|parameter| parameter.member.as_ref());
    let arguments = parameters.iter().map(|parameter| &parameter.argument);
    let arm = quote! {
        #name => {
            #[derive(::remit_sdk::serde::Deserialize)]
            #[serde(crate = "::remit_sdk::serde")]
            struct Input { #(#members),* }
            let input: Input = ::remit_sdk::__private::input(&call)?;
            ::remit_sdk::Answer::answer(#function_name(#(#arguments),*))
        }
    };
    Ok(Tool { entry, arm })
}

fn check_signature(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if let Some(word) = &signature.asyncness {
        return Err(syn::Error::new(word.span(), "a tool is not `async`: requests wait for their response"));
    }
    if !signature.generics.params.is_empty() {
        return Err(syn::Error::new(
            signature.generics.span(),
            "a tool has no generics: its schema has to name each type",
        ));
    }
    let name = signature.ident.unraw().to_string();
    let allowed =
        |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_';
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) || !name.chars().all(allowed) {
        return Err(syn::Error::new(
            signature.ident.span(),
            "the name of a tool is made of lower-case letters, digits and `_`, a letter first",
        ));
    }
    Ok(())
}

/// The members of the tool in the manifest, but for its schemas, as JSON.
fn members(name: &str, mark: &Attribute, function: &ItemFn) -> Result<String> {
    let Some(description) = description(&function.attrs) else {
        return Err(syn::Error::new(
            function.sig.ident.span(),
            "write a doc comment (`/// …`): it is what agents read to choose this tool",
        ));
    };
    let mut members =
        vec![format!("\"name\":{}", json_string(name)), format!("\"description\":{}", json_string(&description))];
    let mut exposed = true;
    if !matches!(mark.meta, Meta::Path(_)) {
        mark.parse_nested_meta(|meta| {
            if meta.path.is_ident("expose") {
                exposed = flag(&meta)?;
            } else {
                members.push(member(&meta)?);
            }
            Ok(())
        })?;
    }
    members.push(format!("\"expose\":{exposed}"));
    Ok(members.join(","))
}

fn member(meta: &ParseNestedMeta) -> Result<String> {
    let word = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
    Ok(match word.as_str() {
        "title" => format!("\"title\":{}", json_string(&meta.value()?.parse::<LitStr>()?.value())),
        "keywords" => {
            let list;
            syn::parenthesized!(list in meta.input);
            let keywords = list.parse_terminated(<LitStr as syn::parse::Parse>::parse, Token![,])?;
            let keywords: Vec<String> = keywords.iter().map(|keyword| json_string(&keyword.value())).collect();
            format!("\"keywords\":[{}]", keywords.join(","))
        }
        "read_only" => format!("\"readOnly\":{}", flag(meta)?),
        "destructive" => format!("\"destructive\":{}", flag(meta)?),
        "idempotent" => format!("\"idempotent\":{}", flag(meta)?),
        "open_world" => format!("\"openWorld\":{}", flag(meta)?),
        _ => {
            return Err(meta.error(
                "`#[tool(…)]` takes `title = \"…\"`, `read_only`, `destructive = false`, `idempotent`, \
                 `open_world = …`, `keywords(\"…\")` and `expose = false`",
            ));
        }
    })
}

/// A word alone means true.
fn flag(meta: &ParseNestedMeta) -> Result<bool> {
    if meta.input.peek(Token![=]) { Ok(meta.value()?.parse::<LitBool>()?.value) } else { Ok(true) }
}

/// One parameter of a tool: a property of the input, or the call's context.
struct Parameter {
    /// The SDK's `Field`. `None` for the context.
    field: Option<TokenStream>,
    /// The member of the struct that the input is read into.
    member: Option<TokenStream>,
    /// What the function is called with.
    argument: TokenStream,
}

impl Parameter {
    fn read(argument: &mut FnArg) -> Result<Self> {
        let parameter = match argument {
            FnArg::Typed(parameter) => parameter,
            FnArg::Receiver(receiver) => {
                return Err(syn::Error::new(receiver.span(), "a tool is a plain function, without `self`"));
            }
        };
        let keywords = Keywords::take(&mut parameter.attrs)?;
        let docs: Vec<Attribute> =
            parameter.attrs.extract_if(.., |attribute| attribute.path().is_ident("doc")).collect();
        if is_context(&parameter.ty) {
            let borrow = matches!(&*parameter.ty, Type::Reference(_)).then(|| quote!(&));
            return Ok(Self { field: None, member: None, argument: quote!(#borrow call.context) });
        }
        let ident = name(parameter)?;
        let property = ident.unraw().to_string();
        let span = parameter.ty.span();

        let inner = schema::optional(&parameter.ty);
        let (owned, borrowed) = owned(inner.unwrap_or(&parameter.ty))?;
        let required = inner.is_none() && keywords.default.is_none();
        let field = schema::field(&property, ident.span(), &owned, &docs, &keywords, required)?;
        let member = if required {
            quote_spanned!(span=> #ident: #owned)
        } else {
            quote_spanned!(span=> #ident: ::core::option::Option<#owned>)
        };

        let mut argument = quote!(input.#ident);
        if let Some(default) = &keywords.default {
            if inner.is_some() {
                return Err(syn::Error::new(
                    span,
                    "a parameter with a default is never missing: write its type without `Option`",
                ));
            }
            let default = default_value(default);
            argument = quote! {
                match #argument {
                    ::core::option::Option::Some(value) => value,
                    ::core::option::Option::None => #default,
                }
            };
        }
        let argument = match (borrowed, inner.is_some()) {
            (false, _) => argument,
            (true, false) => quote!(&#argument),
            (true, true) => quote!(#argument.as_deref()),
        };
        Ok(Self { field: Some(field), member: Some(member), argument })
    }
}

/// Whether a parameter is the call's context.
pub fn is_context(value_type: &Type) -> bool {
    let value_type = match value_type {
        Type::Reference(reference) => &reference.elem,
        other => other,
    };
    matches!(value_type, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Context"))
}

/// The name of a parameter.
pub fn name(parameter: &PatType) -> Result<Ident> {
    match &*parameter.pat {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => Ok(pattern.ident.clone()),
        other => Err(syn::Error::new(
            other.span(),
            "a parameter needs a name, which becomes the property: write `place: Place` and take it apart inside",
        )),
    }
}

/// The type that holds a property, and whether the function borrows it: `&str` is held as `String`,
/// `&[T]` as `Vec<T>`.
pub fn owned(value_type: &Type) -> Result<(Type, bool)> {
    let Type::Reference(reference) = value_type else { return Ok((value_type.clone(), false)) };
    if let Some(word) = &reference.mutability {
        return Err(syn::Error::new(
            word.span(),
            "an input is not changed: borrow it with `&`, or take it by value",
        ));
    }
    let owned = match &*reference.elem {
        Type::Path(path) if path.path.is_ident("str") => parse_quote!(::std::string::String),
        Type::Slice(slice) => {
            let item = &slice.elem;
            parse_quote!(::std::vec::Vec<#item>)
        }
        other => other.clone(),
    };
    Ok((owned, true))
}

/// A default in Rust. A string also stands for a variant of an enum, so it is read as the input would be.
fn default_value(default: &Expr) -> TokenStream {
    match default {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
            let read = format_ident!("text", span = text.span());
            quote!(::remit_sdk::__private::#read(#text)?)
        }
        other => quote!(#other),
    }
}

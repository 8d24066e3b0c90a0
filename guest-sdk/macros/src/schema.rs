//! One property of an object: a function's parameter or a struct's field. It reads `#[schema(…)]` and
//! writes the expression for the SDK's `Field`; whether a keyword fits the type is decided there.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, ExprUnary, GenericArgument, Lit, LitStr, PathArguments, Result, Type, UnOp};

use crate::documentation::{description, json_string};

/// What `#[schema(…)]` says.
#[derive(Default)]
pub struct Keywords {
    /// Calls on the type's shape, one for each keyword.
    calls: Vec<TokenStream>,
    /// What a missing property stands for.
    pub default: Option<Expr>,
}

impl Keywords {
    /// Reads `#[schema(…)]` and removes it from the attributes.
    pub fn take(attributes: &mut Vec<Attribute>) -> Result<Self> {
        let mut keywords = Self::default();
        for attribute in attributes.extract_if(.., |attribute| attribute.path().is_ident("schema")) {
            attribute.parse_nested_meta(|meta| keywords.read(&meta))?;
        }
        Ok(keywords)
    }

    fn read(&mut self, meta: &ParseNestedMeta) -> Result<()> {
        let Some(keyword) = meta.path.get_ident() else { return Err(unknown(meta)) };
        let call = match keyword.to_string().as_str() {
            "min" | "max" => {
                let value = meta.value()?.parse::<Expr>()?;
                let json = json_number(&value)?;
                quote_spanned!(keyword.span()=> .#keyword(#json))
            }
            "min_length" | "max_length" | "min_items" | "max_items" => {
                let count = meta.value()?.parse::<syn::LitInt>()?;
                let json = count.base10_parse::<u32>()?.to_string();
                quote_spanned!(keyword.span()=> .#keyword(#json))
            }
            "pattern" => {
                let json = json_string(&meta.value()?.parse::<LitStr>()?.value());
                quote_spanned!(keyword.span()=> .pattern(#json))
            }
            "default" => {
                let value = meta.value()?.parse::<Expr>()?;
                let json = json_literal(&value)?;
                self.default = Some(value);
                quote_spanned!(keyword.span()=> .default(#json))
            }
            _ => return Err(unknown(meta)),
        };
        self.calls.push(call);
        Ok(())
    }
}

fn unknown(meta: &ParseNestedMeta) -> syn::Error {
    meta.error(
        "`#[schema(…)]` takes `min`, `max`, `min_length`, `max_length`, `pattern`, `min_items`, `max_items` and `default`",
    )
}

/// The SDK's `Field` for a property.
pub fn field(
    name: &str,
    span: Span,
    value_type: &Type,
    attributes: &[Attribute],
    keywords: &Keywords,
    required: bool,
) -> Result<TokenStream> {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    if !name.chars().all(allowed) || name.is_empty() {
        return Err(syn::Error::new(span, "the name of a property is made of letters, digits, `_`, `.` and `-`"));
    }
    let name = json_string(name);
    let describe = description(attributes).map(|text| {
        let json = json_string(&text);
        quote!(.describe(#json))
    });
    let calls = &keywords.calls;
    let schema = quote_spanned!(value_type.span()=> <#value_type as ::remit_sdk::Schema>::SCHEMA);
    Ok(quote! {
        ::remit_sdk::schema::Field { name: #name, shape: #schema #describe #(#calls)*, required: #required }
    })
}

/// The `T` of a type written `Option<T>`.
pub fn optional(value_type: &Type) -> Option<&Type> {
    let Type::Path(path) = value_type else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) if arguments.args.len() == 1 => Some(inner),
        _ => None,
    }
}

fn json_literal(value: &Expr) -> Result<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(json_string(&text.value())),
        Expr::Lit(ExprLit { lit: Lit::Bool(word), .. }) => Ok(word.value.to_string()),
        _ => json_number(value).map_err(|_| {
            syn::Error::new(
                value.span(),
                "write a number, a string, `true` or `false`; for a choice, its JSON string",
            )
        }),
    }
}

fn json_number(value: &Expr) -> Result<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => Ok(number.base10_digits().to_owned()),
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => float(number),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => Ok(format!("-{}", json_number(expr)?)),
        _ => Err(syn::Error::new(value.span(), "write a number")),
    }
}

/// Rust writes `1.` and JSON does not.
fn float(number: &syn::LitFloat) -> Result<String> {
    let value = number.base10_parse::<f64>()?;
    Ok(if value.fract() == 0.0 { format!("{value:.1}") } else { value.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn literals_become_json() {
        let check = |value: Expr, expected: Option<&str>| {
            assert_eq!(json_literal(&value).ok().as_deref(), expected);
        };
        check(parse_quote!(1_000u32), Some("1000"));
        check(parse_quote!(-5), Some("-5"));
        check(parse_quote!(1.), Some("1.0"));
        check(parse_quote!(-0.25), Some("-0.25"));
        check(parse_quote!("a\"b"), Some("\"a\\\"b\""));
        check(parse_quote!(true), Some("true"));
        check(parse_quote!(!true), None);
        check(parse_quote!(Sort::Created), None);
    }

    #[test]
    fn options_are_seen_as_written() {
        assert!(optional(&parse_quote!(Option<u32>)).is_some());
        assert!(optional(&parse_quote!(std::option::Option<Vec<u8>>)).is_some());
        assert!(optional(&parse_quote!(Vec<Option<u32>>)).is_none());
    }
}

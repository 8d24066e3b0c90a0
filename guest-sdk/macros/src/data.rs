//! A type as data: serde's derives and the schema. What serde's attributes say of names and of what may
//! be missing, the schema says too; those that change the shape in other ways are refused.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Expr, Field, Fields, Item, ItemEnum, ItemStruct, LitStr, Result, Token, Variant, parse_quote,
};

use crate::documentation::{description, json_string};
use crate::names::Case;
use crate::schema::{self, Keywords};

/// Expands `#[data]`.
pub fn expand(item: Item) -> Result<TokenStream> {
    match item {
        Item::Struct(item) => expand_struct(item),
        Item::Enum(item) => expand_enum(&item),
        other => Err(syn::Error::new(other.span(), "`#[remit_sdk::data]` marks a struct or an enum")),
    }
}

fn expand_struct(mut item: ItemStruct) -> Result<TokenStream> {
    refuse_generics(&item.generics)?;
    let serde = Serde::read(&item.attrs)?;
    let Fields::Named(fields) = &mut item.fields else {
        return Err(syn::Error::new(
            item.ident.span(),
            "a struct of data has named fields: they are its properties",
        ));
    };
    let mut properties = Vec::new();
    for field in &mut fields.named {
        properties.extend(property(field, &serde)?);
    }
    let name = &item.ident;
    let shape = quote!(::remit_sdk::schema::Shape::object(&[#(#properties),*]));
    let schema = schema_impl(name, &item.attrs, &shape);
    let derives = derives();
    Ok(quote! {
        #derives
        #item
        #schema
        impl ::remit_sdk::Answer for #name {
            const OUTPUT: ::core::option::Option<::remit_sdk::schema::Shape> =
                ::core::option::Option::Some(<Self as ::remit_sdk::Schema>::SCHEMA);

            fn answer(self) -> ::core::result::Result<::remit_sdk::Reply, ::remit_sdk::Failure> {
                ::remit_sdk::Reply::structured(&self)
            }
        }
    })
}

fn property(field: &mut Field, container: &Serde) -> Result<Option<TokenStream>> {
    let keywords = Keywords::take(&mut field.attrs)?;
    if let Some(default) = &keywords.default {
        return Err(syn::Error::new(
            default.span(),
            "a field takes its default from serde: `#[serde(default)]` or `#[serde(default = \"function\")]`",
        ));
    }
    let serde = Serde::read(&field.attrs)?;
    let Some(ident) = field.ident.clone().filter(|_| !serde.skip) else { return Ok(None) };
    let name = serde.rename.unwrap_or_else(|| {
        let name = ident.unraw().to_string();
        container.rename_all.map_or_else(|| name.clone(), |case| case.field(&name))
    });
    let inner = schema::optional(&field.ty);
    let required = inner.is_none() && !serde.default && !container.default && !serde.skip_if;
    let property =
        schema::field(&name, ident.span(), inner.unwrap_or(&field.ty), &field.attrs, &keywords, required)?;
    if inner.is_some() && !serde.skip_if {
        field.attrs.push(parse_quote!(#[serde(skip_serializing_if = "::core::option::Option::is_none")]));
    }
    let conditions = field.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    Ok(Some(quote!(#(#conditions)* #property)))
}

fn expand_enum(item: &ItemEnum) -> Result<TokenStream> {
    refuse_generics(&item.generics)?;
    let serde = Serde::read(&item.attrs)?;
    let mut choices = Vec::new();
    for variant in &item.variants {
        choices.extend(choice(variant, &serde)?);
    }
    let shape = quote!(::remit_sdk::schema::Shape::choice(&[#(#choices),*]));
    let schema = schema_impl(&item.ident, &item.attrs, &shape);
    let derives = derives();
    Ok(quote!(#derives #item #schema))
}

fn choice(variant: &Variant, container: &Serde) -> Result<Option<String>> {
    if !matches!(variant.fields, Fields::Unit) {
        return Err(syn::Error::new(
            variant.fields.span(),
            "an enum of data is a choice of names, without fields: use a struct with optional fields instead",
        ));
    }
    let serde = Serde::read(&variant.attrs)?;
    if serde.skip {
        return Ok(None);
    }
    let name = serde.rename.unwrap_or_else(|| {
        let name = variant.ident.unraw().to_string();
        container.rename_all.map_or_else(|| name.clone(), |case| case.variant(&name))
    });
    Ok(Some(json_string(&name)))
}

fn derives() -> TokenStream {
    quote! {
        #[derive(::remit_sdk::serde::Serialize, ::remit_sdk::serde::Deserialize)]
        #[serde(crate = "::remit_sdk::serde")]
    }
}

fn schema_impl(name: &syn::Ident, attributes: &[Attribute], shape: &TokenStream) -> TokenStream {
    let describe = description(attributes).map(|text| {
        let json = json_string(&text);
        quote!(.describe(#json))
    });
    quote! {
        impl ::remit_sdk::Schema for #name {
            const SCHEMA: ::remit_sdk::schema::Shape = #shape #describe;
        }
    }
}

fn refuse_generics(generics: &syn::Generics) -> Result<()> {
    if generics.params.is_empty() {
        return Ok(());
    }
    Err(syn::Error::new(generics.span(), "a type of data has no generics: its schema has to name each type"))
}

/// What serde's attributes say that a schema must say too.
#[derive(Default)]
struct Serde {
    rename: Option<String>,
    rename_all: Option<Case>,
    default: bool,
    skip: bool,
    skip_if: bool,
}

impl Serde {
    fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut serde = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| serde.read_one(&meta))?;
        }
        Ok(serde)
    }

    fn read_one(&mut self, meta: &ParseNestedMeta) -> Result<()> {
        let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match word.as_str() {
            "rename" => self.rename = Some(meta.value()?.parse::<LitStr>()?.value()),
            "rename_all" => self.rename_all = Some(Case::parse(&meta.value()?.parse()?)?),
            "default" => {
                self.default = true;
                skip_value(meta)?;
            }
            "skip" => self.skip = true,
            "skip_serializing_if" => {
                self.skip_if = true;
                skip_value(meta)?;
            }
            "alias" | "deny_unknown_fields" | "expecting" | "deserialize_with" => skip_value(meta)?,
            _ => {
                return Err(meta.error(
                    "the schema would not be true: of serde, use `rename`, `rename_all`, `default`, `skip`, \
                     `skip_serializing_if`, `alias` and `deserialize_with`",
                ));
            }
        }
        Ok(())
    }
}

fn skip_value(meta: &ParseNestedMeta) -> Result<()> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<Expr>()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_write() {
        let check = |item: Item, expected: &str| {
            let error = expand(item).expect_err(expected);
            assert!(error.to_string().contains(expected), "{error}");
        };
        check(
            parse_quote!(
                fn a() {}
            ),
            "a struct or an enum",
        );
        check(
            parse_quote!(
                struct A(u8);
            ),
            "named fields",
        );
        check(
            parse_quote!(
                struct A<T> {
                    t: T,
                }
            ),
            "no generics",
        );
        check(
            parse_quote!(
                enum A {
                    B(u8),
                }
            ),
            "without fields",
        );
        check(
            parse_quote!(
                #[serde(untagged)]
                enum A {
                    B,
                }
            ),
            "would not be true",
        );
        check(
            parse_quote!(
                struct A {
                    #[serde(flatten)]
                    b: B,
                }
            ),
            "would not be true",
        );
        check(
            parse_quote!(
                #[serde(rename_all = "Kebab")]
                struct A {
                    b: u8,
                }
            ),
            "not a rule",
        );
        check(
            parse_quote!(
                struct A {
                    #[schema(default = 1)]
                    b: u8,
                }
            ),
            "serde(default)",
        );
        check(
            parse_quote!(
                struct A {
                    #[serde(rename = "b c")]
                    b: u8,
                }
            ),
            "letters, digits",
        );
    }
}

//! A module as a capability: the table of its tools, the dispatch, and what only the wasm build has, the
//! export and the section that `remit build` reads.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned as _;
use syn::{Item, ItemMod, Result};

use crate::tool;

/// Expands `#[capability]`.
pub fn expand(mut module: ItemMod) -> Result<TokenStream> {
    let Some((_, items)) = &mut module.content else {
        return Err(syn::Error::new(
            module.span(),
            "write the module's body here, `mod name { … }`: a macro does not see into another file",
        ));
    };
    let mut tools = Vec::new();
    let mut errors: Option<syn::Error> = None;
    for item in items.iter_mut() {
        match read_item(item) {
            Ok(tool) => tools.extend(tool),
            Err(error) => match &mut errors {
                Some(errors) => errors.combine(error),
                None => errors = Some(error),
            },
        }
    }
    if let Some(errors) = errors {
        return Err(errors);
    }
    if tools.is_empty() {
        return Err(syn::Error::new(
            module.ident.span(),
            "no tools: mark at least one function of this module with `#[tool]`",
        ));
    }
    items.push(Item::Verbatim(generated(&tools)));
    Ok(quote!(#module))
}

fn read_item(item: &mut Item) -> Result<Option<tool::Tool>> {
    if let Item::Fn(function) = item {
        return match tool::take_mark(function) {
            Some(mark) => tool::read(&mark, function).map(Some),
            None => Ok(None),
        };
    }
    let attributes = match item {
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return Ok(None),
    };
    match attributes.iter().find(|attribute| attribute.path().is_ident("tool")) {
        Some(mark) => Err(syn::Error::new(mark.span(), "`#[tool]` marks a function: `pub fn name(…) -> … { … }`")),
        None => Ok(None),
    }
}

fn generated(tools: &[tool::Tool]) -> TokenStream {
    let entries = tools.iter().map(|tool| &tool.entry);
    let arms = tools.iter().map(|tool| &tool.arm);
    quote! {
        /// This module as a capability: what its export calls, and what tests ask.
        pub struct Capability;

        impl ::remit_sdk::Capability for Capability {
            const TOOLS: &'static [::remit_sdk::schema::Tool] = &[#(#entries),*];

            fn call(call: ::remit_sdk::ToolCall) -> ::core::result::Result<::remit_sdk::Reply, ::remit_sdk::Failure> {
                match call.tool.as_str() {
                    #(#arms)*
                    _ => ::core::result::Result::Err(::remit_sdk::__private::unknown(&call)),
                }
            }
        }

        #[cfg(target_arch = "wasm32")]
        const _: () = {
            const ENTRIES: &[::remit_sdk::schema::Tool] = <Capability as ::remit_sdk::Capability>::TOOLS;

            #[used]
            #[unsafe(link_section = "remit:tools")]
            static SECTION: [u8; ::remit_sdk::schema::length(ENTRIES)] = ::remit_sdk::schema::render(ENTRIES);

            ::remit_sdk::__private::export!(Capability with_types_in ::remit_sdk::__private::bindings);
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens as _;
    use syn::parse_quote;

    fn check(item: &Item, expected: &str) {
        let Item::Mod(module) = parse_quote!(mod subject { #item }) else { panic!("a module is a module") };
        let error = expand(module).expect_err(&item.to_token_stream().to_string());
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn errors_say_what_to_write() {
        check(
            &parse_quote!(
                fn a() {}
            ),
            "no tools",
        );
        check(
            &parse_quote!(
                #[tool]
                struct A;
            ),
            "marks a function",
        );
        check(
            &parse_quote!(
                #[tool]
                fn a() -> String {}
            ),
            "write a doc comment",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool]
                fn a() {}
            ),
            "has to answer",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool]
                fn A() -> String {}
            ),
            "lower-case",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool]
                async fn a() -> String {}
            ),
            "`async`",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool]
                fn a<T>(x: T) -> String {}
            ),
            "generics",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool]
                fn a(self) -> String {}
            ),
            "plain function",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool]
                fn a((x, y): Point) -> String {}
            ),
            "needs a name",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool]
                fn a(x: &mut u8) -> String {}
            ),
            "borrow it with `&`",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool(readonly)]
                fn a() -> String {}
            ),
            "takes `title",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool(read_only = 1)]
                fn a() -> String {}
            ),
            "boolean",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool]
                fn a(#[schema(least = 1)] x: u8) -> String {}
            ),
            "takes `min`",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool]
                fn a(#[schema(min = "1")] x: u8) -> String {}
            ),
            "write a number",
        );
        check(
            &parse_quote!(
                #[doc = "A."]
                #[tool]
                fn a(#[schema(default = 1)] x: Option<u8>) -> String {}
            ),
            "without `Option`",
        );
    }

    #[test]
    fn all_errors_are_told_at_once() {
        let module = parse_quote! { mod subject { #[tool] fn a() {} #[tool] fn b() {} } };
        let errors = expand(module).expect_err("both lack a comment");
        assert_eq!(errors.into_iter().count(), 2);
    }

    #[test]
    fn a_file_module_cannot_be_seen() {
        assert!(
            expand(parse_quote!(
                mod subject;
            ))
            .expect_err("no body")
            .to_string()
            .contains("body")
        );
    }
}

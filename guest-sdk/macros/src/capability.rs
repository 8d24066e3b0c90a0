//! A module as a capability: the tables of what it offers, the dispatch, and what only the wasm build has, the
//! export and the sections that `remit build` reads.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned as _;
use syn::{Attribute, Item, ItemFn, ItemMod, Result};

use crate::prompt::{self, Prompt};
use crate::resource::{self, Resource};
use crate::tool::{self, Tool};

/// The attributes that mark a function.
const MARKS: [&str; 3] = ["tool", "resource", "prompt"];

/// What the functions of a module are.
#[derive(Default)]
struct Offered {
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    prompts: Vec<Prompt>,
}

/// Expands `#[capability]`.
pub fn expand(mut module: ItemMod) -> Result<TokenStream> {
    let Some((_, items)) = &mut module.content else {
        return Err(syn::Error::new(
            module.span(),
            "write the module's body here, `mod name { … }`: a macro does not see into another file",
        ));
    };
    let mut offered = Offered::default();
    let mut errors: Option<syn::Error> = None;
    for item in items.iter_mut() {
        if let Err(error) = offered.read(item) {
            match &mut errors {
                Some(errors) => errors.combine(error),
                None => errors = Some(error),
            }
        }
    }
    if let Some(errors) = errors {
        return Err(errors);
    }
    if offered.tools.is_empty() {
        return Err(syn::Error::new(
            module.ident.span(),
            "no tools: mark at least one function of this module with `#[tool]`",
        ));
    }
    items.push(Item::Verbatim(offered.generated()));
    Ok(quote!(#module))
}

impl Offered {
    fn read(&mut self, item: &mut Item) -> Result<()> {
        if let Item::Fn(function) = item {
            match take_mark(function) {
                Some((mark, "tool")) => self.tools.push(tool::read(&mark, function)?),
                Some((mark, "resource")) => self.resources.push(resource::read(&mark, function)?),
                Some((mark, _)) => self.prompts.push(prompt::read(&mark, function)?),
                None => {}
            }
            return Ok(());
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
            _ => return Ok(()),
        };
        match attributes.iter().find_map(|attribute| Some((attribute, mark(attribute)?))) {
            Some((attribute, mark)) => {
                let message = format!("`#[{mark}]` marks a function: `pub fn name(…) -> … {{ … }}`");
                Err(syn::Error::new(attribute.span(), message))
            }
            None => Ok(()),
        }
    }

    fn generated(&self) -> TokenStream {
        let entries = self.tools.iter().map(|tool| &tool.entry);
        let arms = self.tools.iter().map(|tool| &tool.arm);
        let documents = self.documents();
        let prompts = self.prompts();
        let completions = self.completions();
        let sections = self.sections();
        let export = if self.resources.is_empty() && self.prompts.is_empty() {
            quote!(::remit_sdk::__private::export_tools!(Capability);)
        } else {
            quote!(::remit_sdk::__private::export!(Capability with_types_in ::remit_sdk::__private::bindings);)
        };
        quote! {
            /// This module as a capability: what its export calls, and what tests ask.
            pub struct Capability;

            impl ::remit_sdk::Capability for Capability {
                const TOOLS: &'static [::remit_sdk::schema::Tool] = &[#(#entries),*];

                fn call(
                    call: ::remit_sdk::ToolCall,
                ) -> ::core::result::Result<::remit_sdk::Reply, ::remit_sdk::Failure> {
                    match call.tool.as_str() {
                        #(#arms)*
                        _ => ::core::result::Result::Err(::remit_sdk::__private::unknown(&call)),
                    }
                }

                #documents
                #prompts
                #completions
            }

            #[cfg(target_arch = "wasm32")]
            const _: () = {
                const ENTRIES: &[::remit_sdk::schema::Tool] = <Capability as ::remit_sdk::Capability>::TOOLS;

                #[used]
                #[unsafe(link_section = "remit:tools")]
                static SECTION: [u8; ::remit_sdk::schema::length(ENTRIES)] = ::remit_sdk::schema::render(ENTRIES);

                #sections
                #export
            };
        }
    }

    /// The tables of documents and what reads them.
    fn documents(&self) -> TokenStream {
        if self.resources.is_empty() {
            return TokenStream::new();
        }
        let of =
            |is_template: bool| self.resources.iter().filter(move |resource| resource.is_template == is_template);
        let (resources, templates) = (of(false).map(|it| &it.entry), of(true).map(|it| &it.entry));
        let (arms, forms) = (of(false).map(|it| &it.read), of(true).map(|it| &it.read));
        quote! {
            const RESOURCES: &'static [&'static str] = &[#(#resources),*];
            const TEMPLATES: &'static [&'static str] = &[#(#templates),*];

            fn read(
                uri: &str,
                context: &::remit_sdk::Context,
            ) -> ::core::result::Result<::std::vec::Vec<::remit_sdk::resources::Document>, ::remit_sdk::Failure> {
                let _ = context;
                match uri {
                    #(#arms)*
                    _ => {}
                }
                #(#forms)*
                ::core::result::Result::Err(::remit_sdk::__private::no_document(uri))
            }
        }
    }

    /// The table of prompts and what makes them.
    fn prompts(&self) -> TokenStream {
        if self.prompts.is_empty() {
            return TokenStream::new();
        }
        let entries = self.prompts.iter().map(|prompt| &prompt.entry);
        let arms = self.prompts.iter().map(|prompt| &prompt.arm);
        quote! {
            const PROMPTS: &'static [&'static str] = &[#(#entries),*];

            fn prompt(
                name: &str,
                arguments: &[::remit_sdk::prompts::Argument],
                context: &::remit_sdk::Context,
            ) -> ::core::result::Result<::remit_sdk::prompts::Prompt, ::remit_sdk::Failure> {
                let _ = (arguments, context);
                match name {
                    #(#arms)*
                    _ => ::core::result::Result::Err(::remit_sdk::__private::no_prompt(name)),
                }
            }
        }
    }

    /// What proposes values.
    fn completions(&self) -> TokenStream {
        let of_resources = self.resources.iter().flat_map(|resource| &resource.completions);
        let arms: Vec<_> =
            of_resources.chain(self.prompts.iter().flat_map(|prompt| &prompt.completions)).collect();
        if arms.is_empty() {
            return TokenStream::new();
        }
        quote! {
            fn complete(
                draft: &::remit_sdk::completions::Draft,
                _context: &::remit_sdk::Context,
            ) -> ::core::result::Result<::remit_sdk::completions::Proposals, ::remit_sdk::Failure> {
                match (&draft.subject, draft.argument.name.as_str()) {
                    #(#arms)*
                    _ => ::core::result::Result::Ok(::remit_sdk::__private::no_proposals()),
                }
            }
        }
    }

    /// The sections of documents and prompts, each a JSON array, where there are any.
    fn sections(&self) -> TokenStream {
        let of = |is_template: bool| -> Vec<&str> {
            let resources = self.resources.iter().filter(move |resource| resource.is_template == is_template);
            resources.map(|resource| resource.entry.as_str()).collect()
        };
        let prompts: Vec<&str> = self.prompts.iter().map(|prompt| prompt.entry.as_str()).collect();
        let lists =
            [("remit:resources", of(false)), ("remit:resource-templates", of(true)), ("remit:prompts", prompts)];
        let sections = lists.iter().filter(|(_, entries)| !entries.is_empty()).map(|(name, entries)| {
            let json = format!("[{}]", entries.join(","));
            let length = json.len();
            let bytes = proc_macro2::Literal::byte_string(json.as_bytes());
            quote! {
                const _: () = {
                    #[used]
                    #[unsafe(link_section = #name)]
                    static SECTION: [u8; #length] = *#bytes;
                };
            }
        });
        quote!(#(#sections)*)
    }
}

/// Takes the mark off a function, and gives it with its word. `None` when it has none.
fn take_mark(function: &mut ItemFn) -> Option<(Attribute, &'static str)> {
    let at = function.attrs.iter().position(|attribute| mark(attribute).is_some())?;
    let attribute = function.attrs.remove(at);
    let word = mark(&attribute)?;
    Some((attribute, word))
}

/// The word of an attribute that marks a function.
fn mark(attribute: &Attribute) -> Option<&'static str> {
    let last = attribute.path().segments.last()?;
    MARKS.into_iter().find(|mark| last.ident == mark)
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
    fn errors_of_documents_and_prompts_say_what_to_write() {
        for (item, expected) in [
            (
                parse_quote!(
                    #[doc = "A."]
                    #[resource]
                    fn a() -> String {}
                ),
                "write `uri",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[resource(uri = "a:b", template = "a:{b}")]
                    fn a() -> String {}
                ),
                "write `uri",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[resource(url = "a:b")]
                    fn a() -> String {}
                ),
                "takes `uri",
            ),
            (
                parse_quote!(
                    #[resource(uri = "a:b")]
                    fn a() -> String {}
                ),
                "write a doc comment",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[resource(uri = "a:b")]
                    fn a() {}
                ),
                "has to return",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[resource(uri = "a:b")]
                    fn a(b: String) -> String {}
                ),
                "no variable `{b}`",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[resource(template = "a:{b}")]
                    fn a() -> String {}
                ),
                "no parameter `b`",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[resource(template = "a:{b}-{b}")]
                    fn a(b: String) -> String {}
                ),
                "twice",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[resource(template = "a:{b")]
                    fn a(b: String) -> String {}
                ),
                "close",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[resource(template = "a:{b}{c}")]
                    fn a(b: String, c: u8) -> String {}
                ),
                "between",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[resource(template = "a:{b}")]
                    fn a(b: Option<String>) -> String {}
                ),
                "without `Option`",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[resource(template = "a:{b}")]
                    fn a(#[complete = "c"] b: String) -> String {}
                ),
                "proposes values",
            ),
            (
                parse_quote!(
                    #[resource]
                    struct A;
                ),
                "`#[resource]` marks a function",
            ),
            (
                parse_quote!(
                    #[prompt]
                    fn a() -> String {}
                ),
                "write a doc comment",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[prompt]
                    fn a(b: String) -> String {}
                ),
                "when they fill it in",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[prompt(name = "b")]
                    fn a() -> String {}
                ),
                "takes `title",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[prompt]
                    async fn a() -> String {}
                ),
                "`async`",
            ),
            (
                parse_quote!(
                    #[doc = "A."]
                    #[prompt]
                    fn a<T>() -> String {}
                ),
                "generics",
            ),
        ] {
            check(&item, expected);
        }
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

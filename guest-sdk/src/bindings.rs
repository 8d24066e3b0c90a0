//! What `wit-bindgen` makes of the contract. `guest-sdk/wit/` is a copy of `/wit`, byte for byte, because
//! this folder is also copied into projects that stand alone.
//!
//! The contract has two worlds, and a guest is of one of them: whoever exports documents says so with the macro
//! `export`, all others say in `tools_alone` that they export `tools`.

wit_bindgen::generate!({
    path: "wit",
    world: "capability-with-documents",
    pub_export_macro: true,
    export_macro_name: "export",
    additional_derives: [Clone, PartialEq],
    additional_derives_ignore: [],
});

/// Describes the world of tools alone in a section of the module. Its types are not used: those above are the same.
#[cfg(target_arch = "wasm32")]
pub mod tools_alone {
    wit_bindgen::generate!({
        path: "wit",
        world: "capability",
        with: {
            "remit:capability/ask@0.1.0": crate::bindings::remit::capability::ask,
            "remit:capability/entities@0.1.0": crate::bindings::remit::capability::entities,
            "remit:capability/http@0.1.0": crate::bindings::remit::capability::http,
            "remit:capability/listing@0.1.0": crate::bindings::remit::capability::listing,
            "remit:capability/log@0.1.0": crate::bindings::remit::capability::log,
            "remit:capability/loops@0.1.0": crate::bindings::remit::capability::loops,
            "remit:capability/progress@0.1.0": crate::bindings::remit::capability::progress,
            "remit:capability/sandbox@0.1.0": crate::bindings::remit::capability::sandbox,
        },
    });
}

/// Exports `tools` of a type, and nothing else.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_tools {
    ($capability:ident) => {
        $crate::bindings::exports::remit::capability::tools::__export_remit_capability_tools_0_1_0_cabi!(
            $capability with_types_in $crate::bindings::exports::remit::capability::tools
        );
    };
}

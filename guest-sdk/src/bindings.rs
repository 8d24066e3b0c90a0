//! What `wit-bindgen` makes of the contract. `guest-sdk/wit/` is a copy of `/wit`, byte for byte, because
//! this folder is also copied into projects that stand alone.

wit_bindgen::generate!({
    path: "wit",
    world: "capability",
    pub_export_macro: true,
    export_macro_name: "export",
    additional_derives: [Clone, PartialEq],
    additional_derives_ignore: [],
});

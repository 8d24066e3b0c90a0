//! The languages that a project can be started in, and the files of each.
//!
//! The files' names here keep cargo, npm and git from obeying them inside our own source.

use clap::ValueEnum;

/// What a project is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust, with the SDK
    #[default]
    Rust,
    /// JavaScript, by componentize-js
    Js,
    /// Python, by componentize-py
    Python,
    /// C, by clang and wit-bindgen
    C,
}

/// A file of a project: its path there, and its text before names are put in.
type File = (&'static str, &'static str);

const RUST: &[File] = &[
    (".gitignore", include_str!("template/shared/gitignore.template")),
    ("Cargo.toml", include_str!("template/rust/Cargo.toml.template")),
    ("README.md", include_str!("template/rust/README.md.template")),
    ("capability.json", include_str!("template/rust/capability.json.template")),
    ("examples.json", include_str!("template/shared/examples.json.template")),
    ("src/lib.rs", include_str!("template/rust/lib.rs.template")),
];

const JS: &[File] = &[
    (".gitignore", include_str!("template/js/gitignore.template")),
    ("README.md", include_str!("template/js/README.md.template")),
    ("capability.json", include_str!("template/shared/capability.json.template")),
    ("examples.json", include_str!("template/shared/examples.json.template")),
    ("package.json", include_str!("template/js/package.json.template")),
    ("src/guest.js", include_str!("template/js/guest.js.template")),
    ("src/tools.js", include_str!("template/js/tools.js.template")),
    ("test/tools.test.js", include_str!("template/js/tools.test.js.template")),
    ("wit/world.wit", include_str!("template/shared/world.wit.template")),
];

const PYTHON: &[File] = &[
    (".gitignore", include_str!("template/python/gitignore.template")),
    ("Makefile", include_str!("template/python/Makefile.template")),
    ("README.md", include_str!("template/python/README.md.template")),
    ("capability.json", include_str!("template/shared/capability.json.template")),
    ("examples.json", include_str!("template/shared/examples.json.template")),
    ("requirements.txt", include_str!("template/python/requirements.txt.template")),
    ("src/app.py", include_str!("template/python/app.py.template")),
    ("src/tools.py", include_str!("template/python/tools.py.template")),
    ("tests/test_tools.py", include_str!("template/python/test_tools.py.template")),
    ("wit/world.wit", include_str!("template/shared/world.wit.template")),
];

const C: &[File] = &[
    (".gitignore", include_str!("template/shared/gitignore.template")),
    ("Makefile", include_str!("template/c/Makefile.template")),
    ("README.md", include_str!("template/c/README.md.template")),
    ("capability.json", include_str!("template/c/capability.json.template")),
    ("examples.json", include_str!("template/c/examples.json.template")),
    ("src/greet.c", include_str!("template/c/greet.c.template")),
    ("src/greet.h", include_str!("template/c/greet.h.template")),
    ("src/guest.c", include_str!("template/c/guest.c.template")),
    ("src/libc/libc.c", include_str!("template/c/libc.c.template")),
    ("src/libc/stdlib.h", include_str!("template/c/stdlib.h.template")),
    ("src/libc/string.h", include_str!("template/c/string.h.template")),
    ("test/test.c", include_str!("template/c/test.c.template")),
    ("wit/world.wit", include_str!("template/c/world.wit.template")),
];

impl Language {
    /// The files of a project.
    pub(super) fn files(self) -> &'static [File] {
        match self {
            Self::Rust => RUST,
            Self::Js => JS,
            Self::Python => PYTHON,
            Self::C => C,
        }
    }
}

//! Toolchains of other languages, and the components that they make of `tests/languages/words`: one world, three
//! languages. Versions are those that `remit new` writes into projects.

use std::path::{Path, PathBuf};

use crate::node::{LANGUAGES, Node};
use crate::shell::{self, Failed, Result, output, program, root, say, target, works};

/// For Python.
const COMPONENTIZE_PY: &str = "componentize-py==0.25.1";
/// For C: the version of `wit-bindgen`.
const WIT_BINDGEN: &str = "0.61.1";
/// What of C's library the template brings along.
const LIBC: [&str; 3] = ["libc.c", "stdlib.h", "string.h"];

/// Where toolchains and components are.
struct Languages {
    folder: PathBuf,
    sources: PathBuf,
}

/// Brings the toolchains and builds the components, where that was not done already. Gives the folder with both.
pub(crate) fn bring(target: &Path) -> Result<PathBuf> {
    let languages = Languages { folder: target.join("languages"), sources: root().join("tests/languages/words") };
    std::fs::create_dir_all(languages.folder.join("words"))?;
    languages.js(target)?;
    languages.python()?;
    languages.c()?;
    Ok(languages.folder)
}

/// The same, for a developer who runs tests by hand.
pub(crate) fn run() -> Result<()> {
    bring(&target()?).map(drop)
}

impl Languages {
    fn js(&self, target: &Path) -> Result<()> {
        let node = Node::bring(target, &LANGUAGES)?;
        self.make("js", "words.js", LANGUAGES.lock, |file| {
            let mut command = node.package("componentize-js");
            command.arg(self.sources.join("words.js")).arg("--wit").arg(self.sources.join("wit"));
            command.args([
                "--world-name",
                "words",
                "--disable",
                "stdio",
                "random",
                "clocks",
                "http",
                "fetch-event",
            ]);
            output(command.arg("--out").arg(file)).map(drop)
        })
    }

    fn python(&self) -> Result<()> {
        let folder = self.folder.join("python");
        let pip = || {
            let mut command = program(folder.join("bin/python"));
            command.args(["-m", "pip"]);
            command
        };
        let version = COMPONENTIZE_PY.replace("==", " ");
        if !output(pip().arg("list")).is_ok_and(|list| squeezed(&list).contains(&version)) {
            shell::run(program("python3").args(["-m", "venv"]).arg(&folder))?;
            shell::run(pip().args(["install", "--quiet", COMPONENTIZE_PY]))?;
        }
        self.make("python", "words_app.py", COMPONENTIZE_PY, |file| {
            // Python leaves compiled files beside what it reads.
            let work = self.folder.join("python-app");
            std::fs::create_dir_all(&work)?;
            std::fs::copy(self.sources.join("words_app.py"), work.join("words_app.py"))?;
            let mut command = program(folder.join("bin/componentize-py"));
            command.args(["--quiet", "--wit-path"]).arg(self.sources.join("wit")).args(["--world", "words"]);
            command.args(["componentize", "words_app", "--python-path"]).arg(&work).arg("--stub-wasi");
            output(command.arg("--output").arg(file)).map(drop)
        })
    }

    /// clang and lld come from the system.
    fn c(&self) -> Result<()> {
        if !works(program("clang").arg("--version")) || !works(program("wasm-ld").arg("--version")) {
            return Err(Failed("C needs clang and lld: apt-get install clang lld".to_owned()));
        }
        let cargo = self.folder.join("cargo");
        let wit_bindgen = cargo.join("bin/wit-bindgen");
        if !output(program(&wit_bindgen).arg("--version")).is_ok_and(|version| version.contains(WIT_BINDGEN)) {
            let mut install = program("cargo");
            install.args([
                "install",
                "--locked",
                "--no-default-features",
                "--features",
                "c",
                "--version",
                WIT_BINDGEN,
            ]);
            // A folder of its own: the workspace's is in use.
            install.arg("--target-dir").arg(self.folder.join("wit-bindgen")).arg("--root").arg(&cargo);
            shell::run(install.args(["--quiet", "--force", "wit-bindgen-cli"]))?;
        }
        self.make("c", "words_guest.c", WIT_BINDGEN, |file| {
            let work = self.folder.join("c");
            let libc = work.join("libc");
            std::fs::create_dir_all(&libc)?;
            for name in LIBC {
                let template = format!("host/src/build/template/c/{name}.template");
                std::fs::copy(root().join(template), libc.join(name))?;
            }
            let mut bindings = program(&wit_bindgen);
            bindings.arg("c").arg(self.sources.join("wit")).args(["--world", "words", "--out-dir"]).arg(&work);
            output(&mut bindings)?;
            let mut clang = program("clang");
            clang.args(["--target=wasm32", "-Os", "-Wall", "-mbulk-memory", "-nostdlib", "-Wl,--no-entry"]);
            clang.arg("-I").arg(&libc).arg("-I").arg(&work).arg(self.sources.join("words_guest.c"));
            clang.arg(work.join("words.c")).arg(work.join("words_component_type.o")).arg(libc.join("libc.c"));
            output(clang.arg("-o").arg(file)).map(drop)
        })
    }

    /// Makes `words/LANGUAGE.wasm`, unless it was made of the same source, world and tool.
    fn make(
        &self,
        language: &str,
        source: &str,
        tool: &str,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        let read = |path: &str| std::fs::read_to_string(self.sources.join(path));
        let made_of = format!("{tool}\n{}{}", read("wit/words.wit")?, read(source)?);
        let file = self.folder.join("words").join(format!("{language}.wasm"));
        let stamp = file.with_extension("made-of");
        if file.exists() && std::fs::read_to_string(&stamp).is_ok_and(|known| known == made_of) {
            return Ok(());
        }
        say(&format!("+ tests/languages/words/{source}"));
        make(&file)?;
        std::fs::write(stamp, made_of).map_err(Failed::from)
    }
}

/// Columns one blank apart.
fn squeezed(text: &str) -> String {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("\n")
}

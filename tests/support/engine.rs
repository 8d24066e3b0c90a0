//! Homes in which programs can be run. The engine is compiled once for all tests, in a home that each of them copies.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use remit::call::{Failure, Program, Reply};
use remit::clock::Clock;
use remit::component::inspect;
use remit::policy::Identity;
use tokio_util::sync::CancellationToken;

use super::home::{Home, built};

impl Home {
    /// A home with the engine, and with these settings.
    pub(crate) fn with_engine(settings: &str) -> Self {
        Self::with_engine_at(settings, Arc::new(Clock::system()))
    }

    /// A home with the engine, in which it is as late as this clock says.
    pub(crate) fn with_engine_at(settings: &str, clock: Arc<Clock>) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        add_engine(folder.path());
        fs::write(folder.path().join("remit.toml"), settings).expect("room for settings");
        Self::open_at(folder, clock)
    }

    /// Runs a program as the person at this host.
    pub(crate) fn execute(&self, source: &str) -> Result<Reply, Failure> {
        self.run(Program::new(Identity::operator("test"), source))
    }

    /// Runs a program.
    pub(crate) fn run(&self, program: Program) -> Result<Reply, Failure> {
        let host = self.host();
        self.threads.block_on(host.execute(program, CancellationToken::new()))
    }
}

/// Makes an empty folder a home in which the engine is installed and compiled.
pub(crate) fn add_engine(folder: &Path) {
    copy(&template(), folder);
}

/// A home with the engine of this digest.
fn template() -> PathBuf {
    let component = built("codemode");
    let digest = inspect(&component).expect("a component in order").digest.hex();
    let homes = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(homes).expect("a folder for tests");
    let home = homes.join(format!("engine-{}", &digest[..16]));
    // Held until the home is whole: other tests start at the same moment.
    let lock = File::create(homes.join("engine.lock")).expect("a lock");
    lock.lock().expect("a lock");
    if !home.exists() {
        let making = Home::open(tempfile::tempdir_in(homes).expect("a scratch folder"));
        making.threads.block_on(making.app.prepare(&component)).expect("it compiles");
        making.install(component);
        making.app.shutdown();
        let whole = tempfile::tempdir_in(homes).expect("a scratch folder").keep();
        copy(making.path(), &whole);
        fs::rename(whole, &home).expect("a name for it");
    }
    home
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            fs::create_dir_all(&target).expect("room");
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("room");
        }
    }
}

/// What a program gave in one line: its result, or the code of the error.
pub(crate) fn result(ran: &Result<Reply, Failure>) -> String {
    match ran {
        Ok(reply) => reply.structured.as_ref().map(|value| value["result"].to_string()).unwrap_or_default(),
        Err(failure) => failure.error.kind.code().to_owned(),
    }
}

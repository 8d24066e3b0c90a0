//! The only place that wires rooms.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::admin::Admin;
use crate::audit::Audit;
use crate::call::{Host, Rooms};
use crate::clock::Clock;
use crate::config::Config;
use crate::egress::Egress;
use crate::error::Result;
use crate::policy;
use crate::registry::{Artifacts, Catalog, Digest};
use crate::runtime::{Admission, CompiledCache, Compiler, Engine, Loader, Runtime};
use crate::scheduler::Scheduler;
use crate::secrets::{Vault, sealing_key};
use crate::store::Store;

/// How often a server looks whether another process changed something, to announce it. Calls do not depend on
/// it: each looks for itself.
const WATCH: Duration = Duration::from_millis(200);

/// The running program itself, also after its file was replaced by an upgrade (proc(5)).
const THIS_PROGRAM: &str = "/proc/self/exe";

/// One home, opened: its rooms, wired.
pub struct App {
    home: PathBuf,
    program: PathBuf,
    config: Config,
    clock: Arc<Clock>,
    store: Arc<Store>,
    artifacts: Artifacts,
    catalog: Arc<Catalog>,
    vault: Arc<Vault>,
    admin: Admin,
    host: OnceLock<Host>,
}

impl App {
    /// Opens the home, and makes it on first use.
    pub fn open(home: &Path, config: Config) -> Result<Self> {
        Self::open_with_compiler(home, config, PathBuf::from(THIS_PROGRAM))
    }

    /// Opens the home for a program that is not `remit`: components are compiled by the `remit` at `program`.
    pub fn open_with_compiler(home: &Path, config: Config, program: PathBuf) -> Result<Self> {
        Self::open_with_clock(home, config, program, Arc::new(Clock::system()))
    }

    /// Opens the home for a program that decides what time it is.
    pub fn open_with_clock(home: &Path, config: Config, program: PathBuf, clock: Arc<Clock>) -> Result<Self> {
        let store = Store::open(home, clock.clone())?;
        let artifacts = Artifacts::new(home);
        let catalog = Arc::new(Catalog::new(store.clone()));
        let vault = Arc::new(Vault::new(home, store.clone()));
        let admin = Admin::new(
            store.clone(),
            artifacts.clone(),
            catalog.clone(),
            vault.clone(),
            config.loops,
            config.entities,
        );
        Ok(Self {
            home: home.to_owned(),
            program,
            config,
            clock,
            store,
            artifacts,
            catalog,
            vault,
            admin,
            host: OnceLock::new(),
        })
    }

    /// The people's door.
    #[must_use]
    pub fn admin(&self) -> &Admin {
        &self.admin
    }

    /// The agents' door. The first use starts the runtime; it must come from a thread of the I/O runtime.
    pub fn host(&self) -> Result<Host> {
        if let Some(host) = self.host.get() {
            return Ok(host.clone());
        }
        let engine = self.engine()?;
        let loader = self.loader(engine.clone())?;
        let host = Host::new(Rooms {
            config: self.config.clone(),
            catalog: self.catalog.clone(),
            audit: Audit::new(self.store.clone(), self.clock.clone()),
            runtime: Runtime::new(engine, loader, Admission::new(self.config.runtime))?,
            egress: Arc::new(Egress::system(&self.config)?),
            vault: self.vault.clone(),
            store: self.store.clone(),
            changes: watch(self.store.clone()),
        });
        Ok(self.host.get_or_init(|| host).clone())
    }

    /// The schedules of this home, which nothing fires before rounds are made. From a thread of the I/O runtime.
    pub fn scheduler(&self) -> Result<Scheduler> {
        Ok(Scheduler::new(self.host()?, self.store.clone(), self.config.clone(), self.home.clone()))
    }

    /// Compiles a component that is about to be installed, so that its first call does not wait.
    pub async fn prepare(&self, component: &[u8]) -> Result<()> {
        self.loader(self.engine()?)?.prepare(component).await
    }

    /// Removes the compiled code of a component that was uninstalled. If another install pins the same bytes, they
    /// are compiled once more.
    pub fn forget(&self, digest: &Digest) -> Result<()> {
        self.compiled()?.remove(digest);
        Ok(())
    }

    /// Writes what waits to be written.
    pub fn shutdown(&self) {
        if let Err(error) = self.store.flush() {
            tracing::error!("the last records could not be written: {error}");
        }
    }

    fn engine(&self) -> Result<Engine> {
        Engine::pooling(self.config.runtime.calls, policy::memory_ceiling(&self.config))
    }

    fn loader(&self, engine: Engine) -> Result<Loader> {
        let compiler = Compiler::new(self.program.clone());
        Ok(Loader::new(engine, self.artifacts.clone(), self.compiled()?, compiler))
    }

    fn compiled(&self) -> Result<CompiledCache> {
        Ok(CompiledCache::new(&self.home, sealing_key(&self.home)?))
    }
}

/// Tells the newest generation until nobody listens any more.
fn watch(store: Arc<Store>) -> tokio::sync::watch::Receiver<u64> {
    let (tell, receiver) = tokio::sync::watch::channel(store.generation().unwrap_or_default());
    tokio::spawn(async move {
        let mut beat = tokio::time::interval(WATCH);
        loop {
            tokio::select! {
                () = tell.closed() => return,
                _ = beat.tick() => {}
            }
            match store.generation() {
                Ok(generation) => {
                    tell.send_if_modified(|known| std::mem::replace(known, generation) != generation);
                }
                Err(error) => tracing::warn!("changes by others cannot be seen: {error}"),
            }
        }
    });
    receiver
}

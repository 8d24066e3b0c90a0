//! The only place that wires rooms.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::admin::Admin;
use crate::asks::Asks;
use crate::audit::Audit;
use crate::call::{Host, Rooms};
use crate::clock::Clock;
use crate::config::Config;
use crate::confirm::Confirmations;
use crate::egress::{Collector, Egress, Outside, Own, Unsent};
use crate::engines::Paused;
use crate::error::{Error, Result};
use crate::mcp::Issuers;
use crate::policy;
use crate::registries::{self, Registry};
use crate::registry::{Artifacts, Catalog, Digest};
use crate::runtime::{Admission, CompiledCache, Compiler, Engine, Loader, Runtime};
use crate::scheduler::{Deliverer, Scheduler, Way};
use crate::search::Search;
use crate::secrets::{Connections, Vault, sealing_key};
use crate::shares::Shares;
use crate::standing::Standings;
use crate::store::Store;
use crate::telemetry::{self, Telemetry};
use crate::tokens::Tokens;
use crate::upstreams::{Connector, Definitions, Reach, Upstreams};

/// How often a server looks whether another process changed something, to announce it. Calls do not depend on
/// it: each looks for itself.
const WATCH: Duration = Duration::from_millis(200);

/// Updates of documents that wait for a listener in this process. One that is slower is told that it missed some.
const UPDATES: usize = 256;

/// The running program itself, also after its file was replaced by an upgrade (proc(5)).
const THIS_PROGRAM: &str = "/proc/self/exe";

/// What is around a home. Tests bring their own.
#[derive(Clone)]
pub struct Around {
    /// The `remit` that compiles components, in processes of its own.
    pub program: PathBuf,
    /// DNS and TCP.
    pub outside: Outside,
    /// What time it is.
    pub clock: Arc<Clock>,
}

impl Around {
    /// This program, this machine's network and its clock.
    #[must_use]
    pub fn system() -> Self {
        let program = PathBuf::from(THIS_PROGRAM);
        Self { program, outside: Outside::system(), clock: Arc::new(Clock::system()) }
    }
}

/// One home, opened: its rooms, wired.
pub struct App {
    home: PathBuf,
    program: PathBuf,
    config: Config,
    outside: Outside,
    clock: Arc<Clock>,
    store: Arc<Store>,
    artifacts: Artifacts,
    catalog: Arc<Catalog>,
    vault: Arc<Vault>,
    standings: Arc<Standings>,
    admin: Admin,
    telemetry: OnceLock<Telemetry>,
    host: OnceLock<Host>,
    upstreams: OnceLock<Arc<Upstreams>>,
}

impl App {
    /// Opens the home, and makes it on first use.
    pub fn open(home: &Path, config: Config) -> Result<Self> {
        Self::open_in(home, config, Around::system())
    }

    /// Opens the home for a program that is not `remit`: components are compiled by the `remit` at `program`.
    pub fn open_with_compiler(home: &Path, config: Config, program: PathBuf) -> Result<Self> {
        Self::open_in(home, config, Around { program, ..Around::system() })
    }

    /// Opens the home in other surroundings than this machine's.
    pub fn open_in(home: &Path, config: Config, around: Around) -> Result<Self> {
        let Around { program, outside, clock } = around;
        let store = Store::open(home, clock.clone())?;
        store.deliver(Way::configured(&config.loops.deliver));
        let artifacts = Artifacts::new(home);
        let catalog = Arc::new(Catalog::new(store.clone()));
        let vault = Arc::new(Vault::with_settings(home, store.clone(), &config.secrets));
        let standings = Arc::new(Standings::new(catalog.clone(), config.clone(), clock.clone()));
        let admin = Admin::new(
            store.clone(),
            artifacts.clone(),
            catalog.clone(),
            vault.clone(),
            standings.clone(),
            &config,
        );
        Ok(Self {
            home: home.to_owned(),
            program,
            config,
            outside,
            clock,
            store,
            artifacts,
            catalog,
            vault,
            standings,
            admin,
            telemetry: OnceLock::new(),
            host: OnceLock::new(),
            upstreams: OnceLock::new(),
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
        let telemetry = self.telemetry.get_or_init(Telemetry::default).clone();
        let engine = self.engine()?;
        let loader = self.loader(engine.clone())?.telling(telemetry.clone());
        let admission = Admission::new(self.config.runtime);
        telemetry.level("remit.calls.waiting", "Calls that wait for a place to run.", admission.waiting());
        let host = Host::new(Rooms {
            catalog: self.catalog.clone(),
            standings: self.standings.clone(),
            tokens: Tokens::new(self.store.clone(), self.catalog.clone(), self.clock.clone()),
            shares: Arc::new(Shares::new(self.config.principals)),
            asks: Asks::new(self.store.clone()),
            confirmations: Confirmations::new(self.store.clone()),
            paused: Paused::default(),
            audit: Audit::new(self.store.clone(), self.clock.clone()).telling(telemetry.clone()),
            runtime: Runtime::new(engine, loader, admission)?,
            egress: Arc::new(self.egress()?),
            vault: self.vault.clone(),
            store: self.store.clone(),
            entities: self.config.entities,
            upstreams: self.upstreams()?,
            changes: watch(self.store.clone()),
            updates: tokio::sync::broadcast::Sender::new(UPDATES),
            sandbox: self.config.sandbox,
            files: tokio::sync::broadcast::Sender::new(UPDATES),
            search: Search::default(),
            telemetry,
        });
        Ok(self.host.get_or_init(|| host).clone())
    }

    /// Connects to an upstream server once, and gives what it says of its tools: for people who decide about it.
    pub async fn look_at_upstream(&self, name: &str, reach: &Reach) -> Result<Definitions> {
        self.connector()?.look(name, reach).await
    }

    /// Ends the connections to upstream servers, with their programs.
    pub async fn leave_upstreams(&self) {
        if let Some(upstreams) = self.upstreams.get() {
            upstreams.close().await;
        }
    }

    /// Starts what tells the operator's tools of calls. Before the first use of the agents' door; without it they
    /// are told nothing.
    pub async fn telemetry(&self) -> Result<telemetry::Service> {
        let service =
            telemetry::Service::start(&self.config.telemetry, self.own()?, &self.outside, &self.clock).await?;
        self.telemetry
            .set(service.telemetry())
            .map_err(|_| Error::internal("telemetry was started after the agents' door"))?;
        Ok(service)
    }

    /// Whether the collector of telemetry takes messages; nothing when there is none.
    pub async fn reach_collector(&self) -> Result<Option<std::result::Result<(), Unsent>>> {
        let Some(url) = &self.config.telemetry.otlp else { return Ok(None) };
        let collector = Collector::configured(url, self.own()?, &self.outside)?;
        Ok(Some(telemetry::reach(&collector).await))
    }

    /// The registry of this name, or the one that is meant where none is named.
    pub fn registry(&self, name: Option<&str>) -> Result<Registry> {
        registries::open(name, &self.config, &self.home, &self.vault, &self.outside)
    }

    /// The host's own way out, to token endpoints.
    pub fn own(&self) -> Result<Own> {
        Own::configured(&self.config, &self.outside)
    }

    /// The issuers whose access tokens the HTTP door takes; `None` when the settings name none.
    pub fn issuers(&self) -> Result<Option<Issuers>> {
        Ok(Issuers::configured(&self.config.serve, self.own()?, self.clock.clone()))
    }

    /// The schedules of this home, which nothing fires before rounds are made. From a thread of the I/O runtime.
    pub fn scheduler(&self) -> Result<Scheduler> {
        let deliverer = Deliverer::new(&self.config.loops.deliver, &self.home, self.vault.clone(), self.own()?)?;
        Ok(Scheduler::new(self.host()?, self.store.clone(), self.config.clone(), self.home.clone(), deliverer))
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

    fn upstreams(&self) -> Result<Arc<Upstreams>> {
        let upstreams = Upstreams::new(Arc::new(self.connector()?), self.store.clone(), self.artifacts.clone());
        Ok(Arc::clone(self.upstreams.get_or_init(|| Arc::new(upstreams))))
    }

    fn connector(&self) -> Result<Connector> {
        let own = Arc::new(self.own()?);
        Ok(Connector::new(self.vault.clone(), own, self.home.clone(), self.config.upstream.clone()))
    }

    fn egress(&self) -> Result<Egress> {
        let connections = Connections::new(self.vault.clone(), self.own()?);
        Ok(Egress::configured(&self.config, &self.outside)?.renewing(Arc::new(connections)))
    }

    fn engine(&self) -> Result<Engine> {
        // Programs have places beside those of calls.
        let places = self.config.runtime.calls + self.config.runtime.calls_per_capability;
        Engine::pooling(places, policy::memory_ceiling(&self.config))
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

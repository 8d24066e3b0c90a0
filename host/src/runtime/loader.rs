//! From a digest to code that can be instantiated: read, verified, compiled once, linked once.
//!
//! What is linked is what is granted: the same code under other grants is another entry.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use wasmtime::component::{Component, InstancePre};

use super::bindings::{completions, program, prompts, resources, tools};
use super::cache::Sealed;
use super::function::Function;
use super::turn::Pace;
use super::{CompiledCache, Compiler, Engine, State};
use crate::clock::monotonic;
use crate::component;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::NamespaceName;
use crate::namespaces;
use crate::policy::Granted;
use crate::registry::{Artifacts, Capability, Digest};
use crate::telemetry::Telemetry;

/// Code that is kept ready in memory, in bytes of compiled code: a dozen interpreters, or thousands of
/// small capabilities. Beyond it the least recently used goes.
const READY_BYTES: usize = 512 * 1024 * 1024;

/// Loads code and keeps it ready.
pub struct Loader {
    engine: Engine,
    artifacts: Artifacts,
    cache: Arc<CompiledCache>,
    compiler: Compiler,
    ready: Mutex<Ready>,
    telemetry: Telemetry,
}

/// Code with its imports linked, for one set of namespaces.
pub(super) struct Linked {
    pub(super) instance: InstancePre<State>,
    pub(super) tools: Option<tools::GuestIndices>,
    pub(super) program: Option<program::GuestIndices>,
    /// The functions that its manifest's tools name, by their names there.
    pub(super) functions: BTreeMap<String, Function>,
    pub(super) resources: Option<resources::GuestIndices>,
    pub(super) prompts: Option<prompts::GuestIndices>,
    pub(super) completions: Option<completions::GuestIndices>,
    pub(super) pace: Pace,
}

type Key = (Digest, BTreeSet<NamespaceName>);

#[derive(Default)]
struct Ready {
    cells: HashMap<Key, Slot>,
    uses: u64,
}

struct Slot {
    cell: Arc<OnceCell<Loaded>>,
    last_use: u64,
}

#[derive(Clone)]
struct Loaded {
    linked: Arc<Linked>,
    bytes: usize,
}

impl Loader {
    /// A loader over one home's files.
    #[must_use]
    pub fn new(engine: Engine, artifacts: Artifacts, cache: CompiledCache, compiler: Compiler) -> Self {
        let (cache, ready) = (Arc::new(cache), Mutex::default());
        Self { engine, artifacts, cache, compiler, ready, telemetry: Telemetry::default() }
    }

    /// Tells how long compiling takes.
    #[must_use]
    pub fn telling(self, telemetry: Telemetry) -> Self {
        Self { telemetry, ..self }
    }

    /// The code of a granted capability with its namespaces linked. Callers that come together share one load.
    pub(super) async fn load(&self, granted: &Granted) -> Result<Arc<Linked>> {
        let digest = granted.capability().digest;
        let cell = self.cell((digest, granted.namespaces().clone()));
        if let Some(loaded) = cell.get() {
            return Ok(loaded.linked.clone());
        }
        let loaded = cell.get_or_try_init(|| self.link(granted)).await?;
        let linked = loaded.linked.clone();
        self.make_room();
        Ok(linked)
    }

    /// Compiles ahead of the first call, so that an installer waits and an agent does not, and so that what
    /// cannot be compiled, or has no place here, is not installed.
    pub async fn prepare(&self, bytes: &[u8]) -> Result<()> {
        let sealed = self.code(&Digest::of(bytes), bytes).await?;
        self.unsealed(sealed).await.map(drop)
    }

    async fn link(&self, granted: &Granted) -> Result<Loaded> {
        let component = self.component(granted.capability()).await?;
        let linker = namespaces::linker(self.engine.raw(), granted)
            .map_err(|error| Error::internal("the namespaces do not link").detail(error))?;
        let bytes = component.image_range();
        let bytes = (bytes.end as usize).saturating_sub(bytes.start as usize);
        let pre =
            linker.instantiate_pre(&component).map_err(|error| self.unlinked(&component, granted, &error))?;
        let exports = granted.capability().manifest.tools.iter().filter_map(|tool| tool.run.export.as_ref());
        let functions = exports.filter_map(|name| Some((name.clone(), Function::find(&component, name)?)));
        let linked = Linked {
            tools: tools::GuestIndices::new(&pre).ok(),
            program: program::GuestIndices::new(&pre).ok(),
            functions: functions.collect(),
            resources: resources::GuestIndices::new(&pre).ok(),
            prompts: prompts::GuestIndices::new(&pre).ok(),
            completions: completions::GuestIndices::new(&pre).ok(),
            instance: pre,
            pace: Pace::default(),
        };
        Ok(Loaded { linked: Arc::new(linked), bytes })
    }

    /// Why an import finds nothing: its namespace is not granted, or has no such function.
    fn unlinked(&self, component: &Component, granted: &Granted, error: &wasmtime::Error) -> Error {
        let name = &granted.capability().name;
        let missing = component
            .component_type()
            .imports(self.engine.raw())
            .filter_map(|(import, _)| namespaces::of_interface(import))
            .find(|namespace| !granted.namespaces().contains(namespace));
        let (kind, message, hint) = match missing {
            Some(namespace) => (
                ErrorKind::NotAllowed,
                format!("`{name}` needs the namespace `{}`, which is not granted", namespace.as_str()),
                format!("remit grant {name} {}", namespace.as_str()),
            ),
            None => (
                ErrorKind::ImportNotDeclared,
                format!("`{name}` imports a function that this version of remit does not offer"),
                "build it with the SDK of this version of remit".to_owned(),
            ),
        };
        Error::new(kind, message).hint(hint).detail(format!("{error:#}"))
    }

    async fn component(&self, capability: &Arc<Capability>) -> Result<Component> {
        // The bytes are read once and hashed on every load, also when compiled code is at hand: the pin is the
        // component, and what was decided about is what it says of itself.
        let (artifacts, capability) = (self.artifacts.clone(), capability.clone());
        let digest = capability.digest;
        let bytes = aside(move || {
            let bytes = artifacts.read(&capability.digest)?;
            component::agrees(&bytes, &capability.manifest)?;
            Ok::<_, Error>(bytes)
        });
        let bytes = bytes.await??;
        let sealed = self.code(&digest, &bytes).await?;
        self.unsealed(sealed).await
    }

    async fn unsealed(&self, sealed: Sealed) -> Result<Component> {
        let engine = self.engine.clone();
        // SAFETY: `Sealed` is code that this home's own compiler made, under a key that only it has.
        #[expect(unsafe_code, reason = "loading compiled code; the seal is checked by its type")]
        let component = aside(move || unsafe { Component::deserialize(engine.raw(), sealed.code()) }).await?;
        component.map_err(|error| does_not_fit(&error))
    }

    async fn code(&self, digest: &Digest, bytes: &[u8]) -> Result<Sealed> {
        let (cache, digest, compatibility) = (self.cache.clone(), *digest, self.engine.compatibility());
        let of_home = compatibility.clone();
        let (cached, cache) = aside(move || (cache.get(&digest, &of_home), cache)).await?;
        match cached {
            Some(sealed) => Ok(sealed),
            None => {
                let begun = monotonic();
                let code = self.compiler.compile(bytes).await;
                self.telemetry.compiled(monotonic().duration_since(begun), code.is_ok());
                let code = code?;
                aside(move || cache.put(&digest, &compatibility, code)).await
            }
        }
    }

    fn cell(&self, key: Key) -> Arc<OnceCell<Loaded>> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.uses += 1;
        let last_use = ready.uses;
        let slot = ready.cells.entry(key).or_insert_with(|| Slot { cell: Arc::default(), last_use });
        slot.last_use = last_use;
        slot.cell.clone()
    }

    fn make_room(&self) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = |slot: &Slot| slot.cell.get().map_or(0, |loaded| loaded.bytes);
        let mut total: usize = ready.cells.values().map(loaded).sum();
        while total > READY_BYTES {
            let oldest = ready
                .cells
                .iter()
                .filter(|(_, slot)| slot.cell.initialized())
                .min_by_key(|(_, slot)| slot.last_use);
            let Some((key, slot)) = oldest.map(|(key, slot)| (key.clone(), loaded(slot))) else { return };
            ready.cells.remove(&key);
            total -= slot;
        }
    }
}

/// The code is our own compiler's, for this very engine: what is left to refuse is a memory, a table or a number
/// of instances that is larger from its start than a place of the pool.
fn does_not_fit(error: &wasmtime::Error) -> Error {
    let message = "the component needs more memory, tables or instances from its start than this host gives";
    Error::new(ErrorKind::Memory, message).detail(format!("{error:#}"))
}

/// Reading, hashing and mapping megabytes is no work for a thread that does I/O.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let done = spawn_blocking(work).await;
    done.map_err(|error| Error::internal("the host failed while it loaded a component").detail(error))
}

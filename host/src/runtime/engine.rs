//! The one engine of a process and its settings.
//!
//! Everything here decides about compiled code or about where instances live; `docs/architecture.md` names the
//! reason for each switch. Per-call bounds are in `budget.rs`.

use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig, Strategy, WasmFeatures};

use crate::component::FEATURES;
use crate::error::{Error, Result};

/// Stack of a guest. Interpreters in the guest need about half of it for deep recursion of their own.
const WASM_STACK_BYTES: usize = 512 * 1024;

/// Stack of a guest's fiber: the guest's own, the host's calls above it, and room for backtraces.
const FIBER_STACK_BYTES: usize = 2 * 1024 * 1024;

/// Address space kept for one linear memory, so that compiled code needs no bounds checks.
const MEMORY_RESERVATION_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// Address space behind a memory that traps when touched.
const MEMORY_GUARD_BYTES: u64 = 32 * 1024 * 1024;

/// Core instances of one component. One made from a single core module has a handful; a Python guest links 38
/// modules, and the static gate lets no more than 64 pass.
pub(super) const CORE_INSTANCES_PER_CALL: u32 = 64;
/// Memories of one component: linked modules share one.
pub(super) const MEMORIES_PER_CALL: u32 = 4;
/// Tables of one component: linked modules share one, adapters have small ones.
pub(super) const TABLES_PER_CALL: u32 = 10;
/// Elements of one table: interpreters of 12 MiB have about 12,000 functions.
pub(super) const TABLE_ELEMENTS: usize = 20_000;

/// Memory of a slot that is zeroed by hand instead of being given back to the system: most guests touch
/// less, and a page fault costs more than zeroing a page.
const KEEP_RESIDENT_BYTES: usize = 64 * 1024;

/// Slots that stay warm while unused: enough for bursts, few enough to keep the process small.
const WARM_SLOTS: u32 = 4;

/// The engine: compiles, loads and runs.
#[derive(Clone)]
pub struct Engine {
    engine: wasmtime::Engine,
}

impl Engine {
    /// An engine whose instances live in a pool of `calls` slots, each of up to `memory_bytes`. Where the
    /// address space for a pool cannot be had, instances are allocated on demand, with a warning.
    pub fn pooling(calls: usize, memory_bytes: usize) -> Result<Self> {
        let slots = u32::try_from(calls).unwrap_or(u32::MAX);
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(slots)
            .total_core_instances(slots.saturating_mul(CORE_INSTANCES_PER_CALL))
            .max_core_instances_per_component(CORE_INSTANCES_PER_CALL)
            .total_stacks(slots)
            .total_memories(slots)
            .max_memories_per_component(MEMORIES_PER_CALL)
            .total_tables(slots.saturating_mul(2))
            .max_tables_per_component(TABLES_PER_CALL)
            .table_elements(TABLE_ELEMENTS)
            .max_memory_size(memory_bytes)
            .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
            .table_keep_resident(KEEP_RESIDENT_BYTES)
            .max_unused_warm_slots(WARM_SLOTS)
            .pagemap_scan(Enabled::Auto);
        let mut config = config();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        match wasmtime::Engine::new(&config) {
            Ok(engine) => Ok(Self { engine }),
            Err(error) => {
                tracing::warn!("no pool of instances, calls will be slower: {error}");
                Self::on_demand()
            }
        }
    }

    /// An engine that allocates each instance when it is needed.
    pub fn on_demand() -> Result<Self> {
        let engine = wasmtime::Engine::new(&config())
            .map_err(|error| Error::internal("the engine's settings do not fit this machine").detail(error))?;
        Ok(Self { engine })
    }

    /// The engine itself, for this room.
    pub(super) fn raw(&self) -> &wasmtime::Engine {
        &self.engine
    }

    /// A name for code that this engine can load: other versions and settings give other names.
    #[must_use]
    pub fn compatibility(&self) -> String {
        use std::hash::{Hash, Hasher};
        // Not a security boundary: the cache is authenticated. Two names that collide fail to load.
        let mut hasher = std::hash::DefaultHasher::new();
        self.engine.precompile_compatibility_hash().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

/// What is on: what current toolchains emit. Everything else is off, so that a fault in it is no fault
/// of ours.
fn config() -> Config {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK_BYTES)
        .async_stack_size(FIBER_STACK_BYTES)
        .memory_reservation(MEMORY_RESERVATION_BYTES)
        .memory_guard_size(MEMORY_GUARD_BYTES)
        .memory_init_cow(true)
        .wasm_backtrace_max_frames(None)
        .generate_address_map(true)
        .concurrency_support(false);
    // The same set as the static gate's: what passed it compiles, and nothing else does.
    config.wasm_features(WasmFeatures::all().difference(FEATURES), false);
    config.wasm_features(FEATURES, true);
    config
}

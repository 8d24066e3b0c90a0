//! The database: the only room that knows SQL.
//!
//! Decides how state is kept so that an acknowledged change survives a crash and other processes of the
//! same home see it on their next call. One thread writes (`writer.rs`), one connection reads. It does not
//! decide what may be written: `admin.rs` and `policy/` do. Nothing here ever deletes a file of the home:
//! a database that cannot be used is refused and left as it is.

mod asks;
mod backup;
mod calls;
mod checkup;
mod confirmations;
mod deliveries;
mod earlier;
mod entities;
mod failure;
mod files;
mod formats;
mod grants;
mod home;
mod installs;
mod loops;
mod migrations;
mod presets;
mod principals;
mod process;
mod recalls;
mod restrictions;
mod runs;
mod sandbox;
mod secrets;
mod upstreams;
mod withdrawn;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row};

use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::scheduler::Way;
use process::Process;
use writer::{Hurry, Job, Writer};

pub(crate) use asks::Known;
pub(crate) use backup::restore;
pub use backup::{Contents, Progress};
pub(crate) use checkup::Checkup;
pub use checkup::sqlite_version;
pub(crate) use confirmations::Spend;
pub(crate) use deliveries::Delivery;
pub use earlier::Earlier;
pub(crate) use earlier::not_kept;
pub(crate) use entities::{ChangedBy, Scope};
pub use entities::{EntitySums, Holding, OldDocument};
pub(crate) use files::{Existing, hold_lock as hold_lock_of, is_private, make_folder, open_regular, put_over, write_whole};
pub(crate) use installs::{Decision, Install};
pub use loops::Timed;
pub(crate) use loops::{Claim, Passed};
pub(crate) use principals::{TokenRow, no_principal};
pub use recalls::Recalled;
pub use runs::Report;
pub use sandbox::KeptConversation;
pub(crate) use sandbox::{Drawer, Room, WrittenBy};
pub(crate) use secrets::{Sealed, SealedRoster, SecretRows, Shelf};
pub use upstreams::{Held, Upstream};

/// The database's file in the data directory.
const FILE: &str = "remit.db";

/// The oldest SQLite that is used. Before 3.51.3 two connections that write and checkpoint at once could
/// lose committed changes or damage the file.
const OLDEST_SQLITE: i32 = 3_051_003;

/// How often to look again for a lock that another connection holds: about 5 s. Transactions here take milliseconds,
/// so whoever holds one for seconds is stuck.
const BUSY_LOOKS: i32 = 5_000;

/// The time between two looks. SQLite's own waiting grows to 100 ms, and then a writer that begins the next transaction
/// as soon as one has ended, as a busy `serve` does, keeps everybody else out: nobody looks in the gaps.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// The database of one home. Cheap to share; every process has one.
///
/// Dropping it writes what is queued.
pub struct Store {
    // In the order of dropping: the writer ends what is queued while the process still counts as alive.
    writer: Writer,
    reader: Mutex<Reader>,
    process: Mutex<Option<Process>>,
    home: PathBuf,
    clock: Arc<Clock>,
    /// How runs are told to somebody outside.
    ways: OnceLock<Vec<Way>>,
}

struct Reader {
    connection: Connection,
    /// SQLite's own number for "another connection committed", when `generation` was read.
    data_version: i64,
    generation: u64,
}

impl Store {
    /// Opens the database of `home`, and makes both when they are not there.
    pub fn open(home: &Path, clock: Arc<Clock>) -> Result<Arc<Self>> {
        refuse_old_sqlite(rusqlite::version_number())?;
        home::prepare(home)?;
        let path = home.join(FILE);
        files::make_private_file(&path)?;

        let mut connection = connect(&path)?;
        migrations::prepare(&mut connection, home)?;
        calls::abort_orphans(&connection, home)?;
        let reader = connect(&path)?;
        reader.pragma_update(None, "query_only", true)?;

        Ok(Arc::new(Self {
            writer: Writer::start(connection)?,
            reader: Mutex::new(Reader { connection: reader, data_version: 0, generation: 0 }),
            process: Mutex::new(None),
            home: home.to_owned(),
            clock,
            ways: OnceLock::new(),
        }))
    }

    /// A number that grows with every change of installs, grants, approvals, secrets or principals, by any process.
    /// Cheap when nothing changed: one look at a counter in shared memory.
    pub fn generation(&self) -> Result<u64> {
        let mut reader = self.lock_reader();
        // In this order: a commit between the two reads is noticed by the next call, not missed.
        let data_version =
            reader.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if data_version != reader.data_version {
            reader.generation = read_generation(&reader.connection)?;
            reader.data_version = data_version;
        }
        Ok(reader.generation)
    }

    /// Waits until everything queued so far is on disk.
    pub fn flush(&self) -> Result<()> {
        self.write(|_| Ok(()))
    }

    /// Waits for a lock of this home's processes, by its name, and holds it while the file lives.
    pub(crate) fn hold_lock(&self, name: &str) -> Result<File> {
        files::hold_lock(&self.home, name)
    }

    /// Holds the lock as well; `None` when somebody else does.
    pub(crate) fn try_lock(&self, name: &str) -> Result<Option<File>> {
        files::try_lock(&self.home, name)
    }

    /// The time by this store's clock, in milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Reads in one transaction, so that all of it is of one moment.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let reader = self.lock_reader();
        let transaction = reader.connection.unchecked_transaction()?;
        let value = read(&transaction)?;
        transaction.commit()?;
        Ok(value)
    }

    /// Reads with one statement, which is of one moment without a transaction.
    fn look<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        read(&self.lock_reader().connection)
    }

    /// Writes, and returns when it is on disk. Blocks the thread: for people's commands.
    fn write<T: Send + 'static>(&self, work: impl FnOnce(&Connection) -> Result<T> + Send + 'static) -> Result<T> {
        let (value_sender, value) = mpsc::sync_channel(1);
        let (answer_sender, answer) = mpsc::sync_channel(1);
        // A failed `send` below means that nobody waits any more.
        self.writer.push(
            Job {
                work: Box::new(move |connection| {
                    let _ = value_sender.send(work(connection)?);
                    Ok(())
                }),
                answer: Box::new(move |result| {
                    let _ = answer_sender.send(result);
                }),
            },
            Hurry::Now,
        );
        answer.recv().map_err(|_| writer::stopped())??;
        value.recv().map_err(|_| writer::stopped())
    }

    /// Like [`Store::write`], without blocking the thread.
    async fn write_async<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (value_sender, value) = tokio::sync::oneshot::channel();
        let (sender, answer) = tokio::sync::oneshot::channel();
        self.writer.push(
            Job {
                work: Box::new(move |connection| {
                    let _ = value_sender.send(work(connection)?);
                    Ok(())
                }),
                answer: Box::new(move |result| {
                    let _ = sender.send(result);
                }),
            },
            Hurry::Now,
        );
        answer.await.map_err(|_| writer::stopped())??;
        value.await.map_err(|_| writer::stopped())
    }

    /// Like [`Store::write_async`], but a write that the writer comes to after this was dropped is not made.
    async fn write_while_wanted<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (value_sender, value) = tokio::sync::oneshot::channel();
        let (sender, answer) = tokio::sync::oneshot::channel();
        // Gone when this future is.
        let waiting = Arc::new(());
        let wanted = Arc::downgrade(&waiting);
        self.writer.push(
            Job {
                work: Box::new(move |connection| {
                    if wanted.strong_count() == 0 {
                        return Err(entities::unwanted());
                    }
                    let _ = value_sender.send(work(connection)?);
                    Ok(())
                }),
                answer: Box::new(move |result| {
                    let _ = sender.send(result);
                }),
            },
            Hurry::Now,
        );
        let answer = answer.await;
        drop(waiting);
        answer.map_err(|_| writer::stopped())??;
        value.await.map_err(|_| writer::stopped())
    }

    /// Queues a write that is committed with others, soon; `answer` learns how it went.
    fn write_later(
        &self,
        work: impl FnOnce(&Connection) -> Result<()> + Send + 'static,
        answer: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        self.writer.push(Job { work: Box::new(work), answer: Box::new(answer) }, Hurry::Soon);
    }

    fn lock_reader(&self) -> MutexGuard<'_, Reader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection with the settings that every connection needs.
#[expect(clippy::disallowed_methods, reason = "this is the one gate to the database")]
fn connect(path: &Path) -> Result<Connection> {
    // The file exists: SQLite must not create it with a mode of its own, nor read the path as a URI.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(look_again))?;
    // One plan for each statement, whatever is bound to it: else SQLite prepares a cached statement anew each time
    // that it is run with other values, which costs ten times what the statement does.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA secure_delete = ON;
         PRAGMA cell_size_check = ON;",
    )?;
    Ok(connection)
}

/// Waits for the next look at a lock that was taken `looks` times; false when it is time to give up.
fn look_again(looks: i32) -> bool {
    std::thread::sleep(BUSY_PAUSE);
    looks < BUSY_LOOKS
}

fn read_generation(connection: &Connection) -> Result<u64> {
    let mut statement = connection.prepare_cached("SELECT generation FROM meta")?;
    Ok(statement.query_row([], |row| read_count(row, 0))?)
}

/// A count as it is stored: SQLite's integers have 63 bits and a sign; beyond that it stays at the top.
fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn read_count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let stored: i64 = row.get(column)?;
    u64::try_from(stored).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, stored))
}

fn refuse_old_sqlite(version: i32) -> Result<()> {
    if version >= OLDEST_SQLITE {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Store, "this program was built with an SQLite that can lose data")
        .detail(format!("SQLite {version}, needed {OLDEST_SQLITE}"))
        .hint("build with the committed `Cargo.lock`: `cargo build --locked`"))
}

#[cfg(test)]
mod tests;

//! One file that holds a whole home, but for its key.
//!
//! A backup is a database like the one it was made of, of one moment, with the bytes of the pinned components in a
//! table of their own. It carries another mark, so that neither is taken for the other. It is checked before it
//! counts as made, and again before anything of it is restored; nothing is ever written over.

use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempPath;

use super::checkup::{self, unsound};
use super::{FILE, Store, connect, files, home, migrations, refuse_old_sqlite};
use crate::error::{Error, ErrorKind, Result};
use crate::registry::Digest;

/// Marks a backup: the letters "RMBK".
pub(super) const BACKUP_ID: i32 = 0x524d_424b;

/// What a backup has besides the tables of a database.
const TABLES: &str = "
    CREATE TABLE backup_components (
        digest TEXT PRIMARY KEY,
        bytes  BLOB NOT NULL
    ) STRICT;";

/// Pages that are copied at a time: a mebibyte, so that whoever watches sees it move.
const PAGES: i32 = 256;

/// A component can be uninstalled while it is copied; the copy is then begun anew. More than a few times in a row
/// nobody uninstalls by chance.
const ATTEMPTS: usize = 5;

/// What may lie in a home that something is restored to: a backup holds none of it, and people put it there first.
const KEPT_APART: [&str; 4] = ["key", "seal", "token", "remit.toml"];

/// Told how much is done, and of how much.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// What is in a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Components, by their bytes.
    pub components: usize,
    /// Bytes of the file.
    pub bytes: u64,
    /// The ids of the keys that its secrets need.
    pub keys: Vec<String>,
}

impl Store {
    /// Writes everything of one moment to `file`, which must not exist, readable for its owner alone. Others may
    /// write meanwhile. `component` gives the bytes of a digest.
    pub(crate) fn back_up(
        &self,
        file: &Path,
        component: impl Fn(&Digest) -> Result<Vec<u8>>,
        progress: Progress<'_>,
    ) -> Result<Contents> {
        if file.symlink_metadata().is_ok() {
            return Err(exists(file));
        }
        let folder = match file.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let unusable = |error: std::io::Error| Error::file(file, &error);
        for _ in 0..ATTEMPTS {
            // A folder of its own, for the owner alone: SQLite puts files beside the one that it writes.
            let scratch = tempfile::Builder::new().prefix(".new-").tempdir_in(folder).map_err(unusable)?;
            let draft = scratch.path().join("backup");
            let mut copy = create(&draft)?;
            copy_moment(&self.home.join(FILE), &mut copy, progress)?;
            if !self.add_components(&copy, &component)? {
                continue;
            }
            let contents = check(&copy, &draft)?;
            close(copy)?;
            settle(&draft, file)?;
            return Ok(contents);
        }
        Err(Error::new(ErrorKind::Busy, "capabilities were uninstalled all the time; try again"))
    }

    /// Puts the bytes of every pinned component into the copy. `false` when one was uninstalled since the copy.
    fn add_components(&self, copy: &Connection, component: impl Fn(&Digest) -> Result<Vec<u8>>) -> Result<bool> {
        let transaction = copy.unchecked_transaction()?;
        transaction.execute_batch(TABLES)?;
        for digest in checkup::pinned(&transaction)? {
            match component(&digest) {
                Ok(bytes) => transaction
                    .prepare_cached("INSERT INTO backup_components (digest, bytes) VALUES (?1, ?2)")?
                    .execute((digest.to_string(), bytes))?,
                Err(_) if !self.read(checkup::pinned)?.contains(&digest) => return Ok(false),
                Err(error) => return Err(error),
            };
        }
        transaction.pragma_update(None, "application_id", BACKUP_ID)?;
        transaction.commit()?;
        Ok(true)
    }
}

/// Restores a backup to a home that has nothing yet. `component` writes bytes below a folder and gives their digest.
pub(crate) fn restore(
    to: &Path,
    file: &Path,
    component: impl Fn(&Path, &[u8]) -> Result<Digest>,
    progress: Progress<'_>,
) -> Result<Contents> {
    refuse_old_sqlite(rusqlite::version_number())?;
    refuse_used(to)?;
    let backup = open(file)?;
    let contents = check(&backup, file)?;
    home::prepare(to)?;
    let unusable = |error: std::io::Error| Error::file(to, &error);
    let scratch = tempfile::Builder::new().prefix(".new-").tempdir_in(to).map_err(unusable)?;
    let draft = scratch.path().join(FILE);
    let mut copy = create(&draft)?;
    copy_pages(&backup, &mut copy, progress)?;
    let mut statement = backup.prepare("SELECT bytes FROM backup_components")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        component(scratch.path(), row.get_ref(0)?.as_blob().map_err(super::failure::damaged)?)?;
    }
    copy.execute_batch("DROP TABLE backup_components")?;
    copy.pragma_update(None, "application_id", migrations::APPLICATION_ID)?;
    copy.execute_batch("VACUUM")?;
    refuse_unsound(&copy, &draft)?;
    close(copy)?;
    // Somebody may have begun to use the home meanwhile: then it is theirs.
    refuse_used_but(to, Some(scratch.path()))?;
    let components = scratch.path().join("components");
    if components.exists() {
        std::fs::rename(&components, to.join("components")).map_err(unusable)?;
    }
    settle(&draft, &to.join(FILE))?;
    Ok(contents)
}

/// Opens a backup, without changing it.
#[expect(clippy::disallowed_methods, reason = "this is the gate to backups")]
fn open(file: &Path) -> Result<Connection> {
    match std::fs::metadata(file) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(Error::new(ErrorKind::Usage, format!("`{}` is not a regular file", file.display()))),
        Err(error) => return Err(Error { kind: ErrorKind::Usage, ..Error::file(file, &error) }),
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let backup = Connection::open_with_flags(file, flags)?;
    backup.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    let mark = backup.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0));
    if mark.is_ok_and(|mark| mark == BACKUP_ID) {
        return Ok(backup);
    }
    Err(Error::new(ErrorKind::Store, format!("`{}` is no backup of this program, or is damaged", file.display()))
        .hint("`remit backup FILE` makes one"))
}

/// Everything that must be true of a backup: its version is known, its tables are as this program makes them, it is
/// sound, and each pinned component is in it with its own bytes.
fn check(backup: &Connection, file: &Path) -> Result<Contents> {
    let version = migrations::known_version(backup)?;
    let expected = migrations::reference(version)?;
    expected.execute_batch(TABLES)?;
    if checkup::schema(backup)? != checkup::schema(&expected)? {
        return Err(unsound(file, "its tables are not as this program makes them"));
    }
    refuse_unsound(backup, file)?;
    let mut statement = backup.prepare("SELECT digest, bytes FROM backup_components")?;
    let mut rows = statement.query([])?;
    let mut present = Vec::new();
    while let Some(row) = rows.next()? {
        let digest = Digest::of(row.get_ref(1)?.as_blob().map_err(super::failure::damaged)?);
        if row.get::<_, String>(0)? != digest.to_string() {
            return Err(unsound(file, "a component does not have the bytes that were installed"));
        }
        present.push(digest);
    }
    if checkup::pinned(backup)?.iter().any(|digest| !present.contains(digest)) {
        return Err(unsound(file, "a component is missing"));
    }
    let keys = backup.prepare("SELECT kek_id FROM secrets UNION SELECT kek_id FROM old_values ORDER BY kek_id")?;
    let keys = { keys }.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let bytes = std::fs::metadata(file).map_err(|error| Error::file(file, &error))?.len();
    Ok(Contents { components: present.len(), bytes, keys })
}

fn refuse_unsound(connection: &Connection, file: &Path) -> Result<()> {
    match checkup::integrity(connection)?.first() {
        None => Ok(()),
        Some(first) => Err(unsound(file, first)),
    }
}

fn create(path: &Path) -> Result<Connection> {
    files::make_private_file(path)?;
    connect(path)
}

/// Copies the database at `from` as it is now. What others write meanwhile is not seen.
fn copy_moment(from: &Path, copy: &mut Connection, progress: Progress<'_>) -> Result<()> {
    let source = connect(from)?;
    source.pragma_update(None, "query_only", true)?;
    // An open transaction that has read holds the moment; without it each step could see another one.
    let moment = source.unchecked_transaction()?;
    moment.query_row("SELECT generation FROM meta", [], |_| Ok(()))?;
    copy_pages(&moment, copy, progress)?;
    // The log belongs to a database that is written to.
    copy.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
    Ok(())
}

fn copy_pages(from: &Connection, copy: &mut Connection, progress: Progress<'_>) -> Result<()> {
    let backup = Backup::new(from, copy)?;
    loop {
        let step = backup.step(PAGES)?;
        let pages = backup.progress();
        let all = u64::try_from(pages.pagecount).unwrap_or_default();
        progress(all - u64::try_from(pages.remaining).unwrap_or_default().min(all), all);
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            // Nobody else knows the copy, and nobody who reads a log waits for one who writes it.
            _ => return Err(Error::internal("a copy that waits for a lock")),
        }
    }
}

fn close(copy: Connection) -> Result<()> {
    copy.close().map_err(|(_, error)| error.into())
}

/// Gives a finished draft its name, unless something has that name, and returns when that is on disk.
fn settle(draft: &Path, file: &Path) -> Result<()> {
    let unusable = |error: std::io::Error| Error::file(file, &error);
    std::fs::File::open(draft).and_then(|draft| draft.sync_all()).map_err(unusable)?;
    let draft = TempPath::try_from_path(draft).map_err(unusable)?;
    draft.persist_noclobber(file).map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(file),
        _ => unusable(error.error),
    })?;
    let folder = std::path::absolute(file).map_err(unusable)?;
    let folder = folder.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned);
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(unusable)
}

fn exists(file: &Path) -> Error {
    Error::new(ErrorKind::Usage, format!("`{}` is there already", file.display()))
}

fn refuse_used(home: &Path) -> Result<()> {
    refuse_used_but(home, None)
}

/// A home in which anything was decided or kept is never restored over. `ours` is what a restore itself put there.
fn refuse_used_but(home: &Path, ours: Option<&Path>) -> Result<()> {
    let entries = match std::fs::read_dir(home) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::file(home, &error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| Error::file(home, &error))?;
        let name = entry.file_name();
        let is_ours = ours.and_then(Path::file_name) == Some(name.as_os_str());
        if is_ours || KEPT_APART.iter().any(|apart| name == *apart) {
            continue;
        }
        let what = if home.join(FILE).exists() { "is in use" } else { "is not empty" };
        let message = format!("the data directory `{}` {what}", home.display());
        return Err(Error::new(ErrorKind::Usage, message)
            .detail(format!("it holds `{}`", name.display()))
            .hint("remit --home NEW-DIRECTORY restore FILE"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::clock::Clock;
    use crate::store::tests::capability;

    fn store() -> (tempfile::TempDir, Arc<Store>) {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), Arc::new(Clock::manual(Duration::ZERO))).unwrap();
        store.put_install(&capability("one", "1.0.0", b"one"), &[]).unwrap();
        store.put_install(&capability("two", "1.0.0", b"two"), &[]).unwrap();
        (home, store)
    }

    fn bytes(digest: &Digest) -> Vec<u8> {
        let all: [&[u8]; 2] = [b"one", b"two"];
        all.into_iter().find(|bytes| Digest::of(bytes) == *digest).unwrap().to_vec()
    }

    fn nothing_but(folder: &Path, names: &[&str]) -> bool {
        std::fs::read_dir(folder)
            .unwrap()
            .all(|entry| names.iter().any(|name| entry.as_ref().unwrap().file_name() == *name))
    }

    #[test]
    fn a_component_that_is_uninstalled_meanwhile_is_not_missed() {
        let (_home, store) = store();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backup");
        let asked = Cell::new(0);
        let component = |digest: &Digest| {
            asked.set(asked.get() + 1);
            if *digest == Digest::of(b"two") {
                store.remove_install(&capability("two", "1.0.0", b"two").name)?;
                return Err(Error::new(ErrorKind::DigestMismatch, "gone"));
            }
            Ok(bytes(digest))
        };
        let contents = store.back_up(&file, component, &mut |_, _| ()).unwrap();
        assert_eq!(contents.components, 1);
        assert!(asked.get() >= 2, "begun anew");
        assert!(nothing_but(folder.path(), &["backup"]));
    }

    #[test]
    fn a_component_that_is_missing_fails_the_backup() {
        let (_home, store) = store();
        let folder = tempfile::tempdir().unwrap();
        let gone = |_: &Digest| Err(Error::new(ErrorKind::DigestMismatch, "gone"));
        let error = store.back_up(&folder.path().join("backup"), gone, &mut |_, _| ()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::DigestMismatch);
        let wrong = |_: &Digest| Ok(b"other".to_vec());
        assert!(store.back_up(&folder.path().join("backup"), wrong, &mut |_, _| ()).is_err());
        assert!(nothing_but(folder.path(), &[]));
    }

    #[test]
    fn a_backup_that_somebody_added_to_is_refused() {
        let changes = [
            "CREATE TRIGGER more AFTER INSERT ON calls BEGIN DELETE FROM grants; END",
            "CREATE TABLE more (x)",
            "CREATE VIEW more AS SELECT 1",
            "DROP TRIGGER grants_deleted",
            "DELETE FROM backup_components",
            "UPDATE backup_components SET bytes = x'00'",
            "PRAGMA user_version = 99",
        ];
        let (_home, store) = store();
        for change in changes {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("backup");
            let mut seen = (0, 0);
            store.back_up(&file, |digest| Ok(bytes(digest)), &mut |done, all| seen = (done, all)).unwrap();
            assert!(seen.0 == seen.1 && seen.1 > 0, "{seen:?}");
            connect(&file).unwrap().execute_batch(change).unwrap();
            let home = folder.path().join("home");
            let error = restore(&home, &file, |_, bytes| Ok(Digest::of(bytes)), &mut |_, _| ()).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Store, "{change}: {error}");
            assert!(!home.exists(), "{change}");
        }
    }
}

//! Whether a home is in order: one finding for each thing that can be wrong, with what to do about it.
//!
//! It looks, and repairs nothing. A home that cannot be opened is examined as far as it goes: what depends on a
//! part that is broken is left out, since it could only repeat the same.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::admin::Admin;
use crate::app::{App, Embedded};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::store::{Checkup, sqlite_version};

/// Files of a home that only their owner may use, when they are there.
const PRIVATE: [&str; 7] = ["remit.db", "remit.db-wal", "remit.db-shm", "key", "key.next", "seal", "token"];

/// A log that is larger is not written back any more: somebody reads without end.
const LARGE_LOG: u64 = 64 * 1024 * 1024;

/// With less free space than this, a day's records may not fit.
const LITTLE_SPACE: u64 = 1024 * 1024 * 1024;

/// With less than this, the next log of the database may not fit.
const NO_SPACE: u64 = 64 * 1024 * 1024;

/// How one thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In order.
    Ok,
    /// It works, and should be looked at.
    Warn,
    /// Something is broken.
    Fail,
}

impl State {
    /// The word in tables and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What was found about one thing.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    /// How it is.
    pub state: State,
    /// What there is to say about it.
    pub what: String,
    /// What to do, unless it is in order.
    pub remedy: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, state: State::Ok, what: what.into(), remedy: None }
    }

    fn warn(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, state: State::Warn, what: what.into(), remedy: Some(remedy.into()) }
    }

    fn fail(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, state: State::Fail, what: what.into(), remedy: Some(remedy.into()) }
    }

    fn of(check: &'static str, error: Error) -> Self {
        let what =
            error.detail.map_or_else(|| error.message.clone(), |detail| format!("{}: {detail}", error.message));
        Self { check, state: State::Fail, what, remedy: error.hint }
    }
}

/// Looks at everything, in the order in which things depend on each other.
#[must_use]
pub fn examine(home: &Path) -> Vec<Finding> {
    let mut findings = vec![Finding::ok("sqlite", format!("version {}", sqlite_version()))];
    let directory = directory(home);
    let is_there = home.is_dir();
    findings.push(directory);
    if !is_there {
        return findings;
    }
    findings.push(files(home));
    findings.push(space(home));
    findings.push(log(home));
    let config = Config::load(home);
    findings.push(match &config {
        Ok(_) => Finding::ok("settings", "`remit.toml` is in order, or not there"),
        Err(error) => Finding::of("settings", error.clone()),
    });
    let database = database(home, &mut findings);
    if let Err(error) = database.and_then(|is_usable| match (is_usable, config) {
        (true, Ok(config)) => kept(home, config, &mut findings),
        _ => Ok(()),
    }) {
        findings.push(Finding::of("database", error));
    }
    findings
}

fn directory(home: &Path) -> Finding {
    const CHECK: &str = "directory";
    match std::fs::metadata(home) {
        Ok(metadata) if !metadata.is_dir() => {
            Finding::fail(CHECK, format!("`{}` is no directory", home.display()), "choose another with `--home`")
        }
        Ok(metadata) if mode(&metadata) & 0o022 != 0 => Finding::fail(
            CHECK,
            format!("others can write to `{}`", home.display()),
            format!("chmod 700 '{}'", home.display()),
        ),
        Ok(_) => Finding::ok(CHECK, format!("`{}`", home.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Finding::fail(
            CHECK,
            format!("there is no `{}`", home.display()),
            "`remit install FILE` makes it; or choose another with `--home`",
        ),
        Err(error) => Finding::of(CHECK, Error::file(home, &error)),
    }
}

fn files(home: &Path) -> Finding {
    const CHECK: &str = "permissions";
    for name in PRIVATE {
        let path = home.join(name);
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if !metadata.is_file() {
            return Finding::fail(CHECK, format!("`{name}` is not a regular file"), "put the file itself there");
        }
        if mode(&metadata) & 0o077 != 0 {
            let chmod = format!("chmod 600 '{}'", path.display());
            return Finding::fail(CHECK, format!("`{name}` can be used by others"), chmod);
        }
    }
    Finding::ok(CHECK, "only the owner can use the files")
}

fn space(home: &Path) -> Finding {
    const CHECK: &str = "disk";
    match rustix::fs::statvfs(home) {
        Err(error) => Finding::of(CHECK, Error::file(home, &error.into())),
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let what = format!("{} MiB are free", free / (1024 * 1024));
            match free {
                ..NO_SPACE => Finding::fail(CHECK, what, "free some disk space"),
                NO_SPACE..LITTLE_SPACE => Finding::warn(CHECK, what, "free some disk space"),
                _ => Finding::ok(CHECK, "there is room"),
            }
        }
    }
}

fn log(home: &Path) -> Finding {
    const CHECK: &str = "log";
    let size = std::fs::metadata(home.join("remit.db-wal")).map_or(0, |metadata| metadata.len());
    if size <= LARGE_LOG {
        return Finding::ok(CHECK, "`remit.db-wal` is small");
    }
    Finding::warn(
        CHECK,
        format!("`remit.db-wal` has {} MiB", size / (1024 * 1024)),
        "stop every `remit` process of this data directory; the next one starts with an empty log",
    )
}

/// The database by itself. Gives whether it can be used for more.
fn database(home: &Path, findings: &mut Vec<Finding>) -> Result<bool> {
    const CHECK: &str = "database";
    if !home.join("remit.db").exists() {
        findings.push(Finding::ok(CHECK, "there is none yet"));
        return Ok(false);
    }
    let checkup = Checkup::open(home)?;
    let problems = checkup.problems()?;
    if let Some(first) = problems.first() {
        let what = match problems.len() {
            1 => first.clone(),
            more => format!("{first}, and {} more", more - 1),
        };
        let remedy = "move `remit.db` away and restore a backup: `remit --home NEW-DIRECTORY restore FILE`";
        findings.push(Finding::fail(CHECK, what, remedy));
        return Ok(false);
    }
    if checkup.is_older() {
        findings.push(Finding::warn(
            CHECK,
            "it was made by an older version of this program",
            "back it up; the next command, as `remit list`, brings it up to date",
        ));
        return Ok(false);
    }
    findings.push(Finding::ok(CHECK, "sound"));
    findings.push(match checkup.orphans(home)? {
        0 => Finding::ok("records", "every call that began has ended, or runs"),
        orphans => Finding::warn(
            "records",
            format!("{orphans} calls were cut off when their process ended"),
            "nothing: the next command marks them `aborted`; `remit audit --outcome aborted` shows them",
        ),
    });
    let wrong = checkup.wrong_sums()?;
    findings.push(match wrong.first() {
        None => Finding::ok("documents", "as many as were counted"),
        Some(name) => Finding::fail(
            "documents",
            format!("what `{name}` keeps is not what was counted"),
            format!("report it; `remit entities export {name} FILE`, then `import` into a new data directory"),
        ),
    });
    findings.push(match checkup.files()? {
        (files, 0) => Finding::ok("files", format!("{files} with the bytes that were written")),
        (files, wrong) => Finding::fail(
            "files",
            format!("{wrong} of {files} files of conversations have not the bytes that were written"),
            "report it; `remit sandbox list` shows the conversations, `remit sandbox delete` removes their files",
        ),
    });
    Ok(true)
}

/// What the database refers to.
fn kept(home: &Path, config: Config, findings: &mut Vec<Finding>) -> Result<()> {
    let app = App::open(home, config)?;
    let admin = app.admin();
    let components = admin.check_components()?;
    findings.push(match components.iter().find_map(|(name, result)| Some((name, result.as_ref().err()?))) {
        None => Finding::ok("components", format!("{} as installed", components.len())),
        Some((name, error)) => {
            Finding { what: format!("{name}: {}", error.message), ..Finding::of("components", error.clone()) }
        }
    });
    findings.push(upstreams(admin));
    findings.push(match admin.check_secrets() {
        Err(error) => Finding::of("key", error),
        Ok(check) => match (check.id, check.closed.first()) {
            (None, _) => Finding::ok("key", "there is none yet"),
            (Some(id), None) => Finding::ok("key", format!("`{id}` opens {} of {0} secrets", check.secrets)),
            (Some(id), Some(name)) => Finding::fail(
                "key",
                format!("`{id}` does not open {} of {} secrets, as `{name}`", check.closed.len(), check.secrets),
                format!("restore the `key` that belongs to `remit.db`, or set it again: remit secret set {name}"),
            ),
        },
    });
    findings.extend(collector(&app)?);
    findings.extend(embeddings(&app));
    Ok(())
}

/// How far the vectors of searches are. Without a source there is nothing to say.
fn embeddings(app: &App) -> Option<Finding> {
    const CHECK: &str = "embeddings";
    let looked = threads().and_then(|threads| threads.block_on(app.look_at_embeddings()));
    Some(match looked.transpose()? {
        Err(error) => Finding::of(CHECK, error),
        Ok(Embedded { texts, known, reached: Err(why) }) => Finding::warn(
            CHECK,
            format!("{known} of {texts} texts have vectors; no more can be made: {why}"),
            "correct `[search.embeddings]` in `remit.toml`, or what it names; until then words alone count",
        ),
        Ok(Embedded { texts, known, .. }) if known < texts => Finding::warn(
            CHECK,
            format!("{known} of {texts} texts have vectors"),
            "nothing: `remit serve` makes the rest while it runs, and counts words alone for it until then",
        ),
        Ok(Embedded { texts, .. }) => Finding::ok(CHECK, format!("{texts} texts have vectors")),
    })
}

fn threads() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::internal("no request can be made").detail(error))
}

/// Whether the collector of telemetry answers. Without one there is nothing to say.
fn collector(app: &App) -> Result<Option<Finding>> {
    const CHECK: &str = "collector";
    let reached = threads()?.block_on(app.reach_collector())?;
    Ok(reached.map(|reached| match reached {
        Ok(()) => Finding::ok(CHECK, "it takes what telemetry sends"),
        Err(unsent) => Finding::warn(
            CHECK,
            format!("telemetry cannot be sent: {unsent}"),
            "start the collector, or correct `telemetry.otlp` in `remit.toml`; calls do not wait for it",
        ),
    }))
}

/// What upstream servers said since they were accepted.
fn upstreams(admin: &Admin) -> Finding {
    const CHECK: &str = "servers";
    let upstreams = match admin.upstreams() {
        Ok(upstreams) => upstreams,
        Err(error) => return Finding::of(CHECK, error),
    };
    match upstreams.iter().find(|upstream| upstream.held.is_some()) {
        None => Finding::ok(CHECK, format!("{} as accepted", upstreams.len())),
        Some(upstream) => Finding::warn(
            CHECK,
            format!("the MCP server `{}` describes its tools otherwise than was accepted", upstream.name),
            format!("remit mcp accept {}", upstream.name),
        ),
    }
}

fn mode(metadata: &Metadata) -> u32 {
    metadata.permissions().mode()
}

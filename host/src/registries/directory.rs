//! A registry as a folder: bytes named by their digest, documents named by their release, and who may say what.
//!
//! ```text
//! registry.toml                                         whose keys count here
//! components/sha256/<digest>.wasm                       bytes
//! releases/<publisher>/<slug>/<version>/statement.json  what was signed about them
//!                                       decision.json
//!                                       yank.json, remove.json, revoke.json
//! ```
//!
//! Each change is judged by what the folder holds under its lock, in the step that writes it. A file is there whole or
//! not at all, no link is followed, and what is read is verified again.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::State;
use crate::component::{MAX_COMPONENT_BYTES, read_manifest};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Manifest;
use crate::registry::{Artifacts, Digest, Exact};
use crate::review::{Reviewer, Submission, Word, compatible, decide};
use crate::signing::{
    Decision, Document, Owners, Release, Signed, Statement, Verified, Withdrawal, WithdrawalKind, verify,
};
use crate::store::{Existing, hold_lock_of, make_folder, open_regular, write_whole};

const OWNERS: &str = "registry.toml";
const LOCK: &str = "lock";
const RELEASES: &str = "releases";
const STATEMENT: &str = "statement.json";
const DECISION: &str = "decision.json";

/// Bytes of a file other than a component at most: the keys of some thousands of people.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A registry in a folder.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
    artifacts: Artifacts,
}

impl Directory {
    /// Makes a registry that knows nobody, where there is none.
    pub fn create(root: &Path) -> Result<Self> {
        let file = root.join(OWNERS);
        if let (Some(parent), Some(name)) = (root.parent(), root.file_name().and_then(|name| name.to_str())) {
            make_folder(if parent.as_os_str().is_empty() { Path::new(".") } else { parent }, name)?;
        }
        make_folder(root, RELEASES)?;
        write_whole(&file, b"", Existing::Keep)?;
        Self::open(root)
    }

    /// The registry that is there.
    pub fn open(root: &Path) -> Result<Self> {
        let registry = Self { root: root.to_owned(), artifacts: Artifacts::new(root) };
        registry.owners()?;
        Ok(registry)
    }

    /// Whose keys count here, as written down now.
    pub fn owners(&self) -> Result<Owners> {
        let path = self.root.join(OWNERS);
        let Some(text) = read_file(&path)? else {
            let message = format!("`{}` is no registry: it has no `{OWNERS}`", self.root.display());
            return Err(Error::new(ErrorKind::Config, message)
                .hint(format!("remit registry create '{}'", self.root.display())));
        };
        let text = String::from_utf8(text).unwrap_or_default();
        toml::from_str(&text).map_err(|error| {
            Error::new(ErrorKind::Config, format!("`{}` cannot be read: {}", path.display(), error.message()))
        })
    }

    /// Changes whose keys count here.
    pub fn change_owners<T>(&self, change: impl FnOnce(&mut Owners) -> Result<T>) -> Result<T> {
        let _lock = self.lock()?;
        let mut owners = self.owners()?;
        let changed = change(&mut owners)?;
        let text = toml::to_string(&owners).map_err(|error| Error::internal("keys are no TOML").detail(error))?;
        write_whole(&self.root.join(OWNERS), text.as_bytes(), Existing::Replace)?;
        Ok(changed)
    }

    /// Whether whoever signed a statement may bring its bytes, before they are read.
    pub fn admits(&self, statement: &Signed<Statement>) -> Result<Verified> {
        let release = statement.open()?.0.release()?;
        let only = Release { statement: statement.clone(), decision: None, withdrawals: Vec::new() };
        verify(&release, &only, &self.owners()?)
    }

    /// Takes a release, which waits for a decision from then on. The same one twice is one.
    pub fn submit(&self, statement: &Signed<Statement>, bytes: &[u8]) -> Result<State> {
        let said = self.admits(statement)?;
        if bytes.len() as u64 > MAX_COMPONENT_BYTES {
            return Err(Error::new(ErrorKind::ComponentInvalid, "the component is too large"));
        }
        super::check(&said, bytes)?;
        let manifest = read_manifest(bytes)?;

        let _lock = self.lock()?;
        if let Some(known) = self.find(&said.release)? {
            let verified = self.verify(&said.release, &known)?;
            let state = State::of(&verified);
            if verified.component == said.component && state != State::Removed {
                return Ok(state);
            }
            if !state.is_open() || verified.signed_by.1 != said.signed_by.1 {
                let message = format!("`{}` is {state} already, with other bytes", said.release);
                return Err(Error::new(ErrorKind::ReleaseExists, message)
                    .hint("a version is published once: raise it in `capability.json`"));
            }
        }
        self.require_compatible(&manifest)?;
        self.artifacts.write(bytes)?;
        let folder = self.make_release_folder(&said.release)?;
        // The decision goes first: it is about other bytes.
        remove_file(&folder.join(DECISION))?;
        write_whole(&folder.join(STATEMENT), &statement.to_json()?, Existing::Replace)?;
        Ok(State::InReview)
    }

    /// Writes down a reviewer's decision about the bytes that wait at this moment.
    pub fn decide(&self, decision: &Signed<Decision>) -> Result<State> {
        let (said, key) = decision.open()?;
        let release: Exact = said.release.parse()?;
        let _lock = self.lock()?;
        let owners = self.owners()?;
        let known = owners.find(key).filter(|known| known.revoked_at.is_none_or(|at| said.signed_at < at));
        let waiting = self.find(&release)?.map(|waiting| self.verify(&release, &waiting)).transpose()?;
        let waiting = waiting.filter(|waiting| State::of(waiting).is_open());
        let submission = waiting.as_ref().map(|waiting| Submission {
            release: &said.release,
            digest: waiting.component,
            author: &waiting.signed_by.1,
        });
        let reviewer = Reviewer {
            owner: known.map_or("somebody unknown", |known| &known.owner),
            is_reviewer: known.is_some_and(|known| known.reviewer),
        };
        let decided =
            decide(submission, reviewer, Word { shown: said.component_sha256, is_approval: said.approved })?;
        let path = self.release_folder(&release).join(DECISION);
        write_whole(&path, &decision.to_json()?, Existing::Replace)?;
        Ok(if decided.is_approval() { State::Published } else { State::Rejected })
    }

    /// Writes down that a release is no longer what it was.
    pub fn withdraw(&self, withdrawal: &Signed<Withdrawal>) -> Result<State> {
        let said = withdrawal.open()?.0;
        let release: Exact = said.release.parse()?;
        let _lock = self.lock()?;
        let mut known = self.find(&release)?.ok_or_else(|| none(&release))?;
        known.withdrawals.push(withdrawal.clone());
        let verified = self.verify(&release, &known)?;
        if !self.counts(&release, &known, withdrawal)? {
            let message = format!("only the publisher of `{release}` and reviewers withdraw it");
            return Err(Error::new(ErrorKind::KeyNotAllowed, message));
        }
        let path = self.release_folder(&release).join(file_of(said.kind));
        write_whole(&path, &withdrawal.to_json()?, Existing::Keep)?;
        if said.kind == WithdrawalKind::Remove && !self.is_needed(verified.component, &release)? {
            self.artifacts.remove(&verified.component)?;
        }
        Ok(State::of(&verified))
    }

    /// What was signed about a release.
    pub fn release(&self, wanted: &Exact) -> Result<Release> {
        self.find(wanted)?.ok_or_else(|| none(wanted))
    }

    /// A component's bytes, hashed again.
    pub fn bytes(&self, digest: &Digest) -> Result<Vec<u8>> {
        self.artifacts.read(digest)
    }

    /// Every release with its state, in the order of names and versions. One whose documents do not hold is left out
    /// and told to the operator.
    pub fn list(&self) -> Result<Vec<(Exact, State)>> {
        let mut found = Vec::new();
        for publisher in folders(&self.root.join(RELEASES))? {
            for slug in folders(&self.root.join(RELEASES).join(&publisher))? {
                for version in folders(&self.root.join(RELEASES).join(&publisher).join(&slug))? {
                    let release = format!("{publisher}/{slug}@{version}");
                    match release.parse().and_then(|release: Exact| Ok((self.state(&release)?, release))) {
                        Ok((Some(state), release)) => found.push((release, state)),
                        Ok((None, _)) => {}
                        Err(error) => tracing::warn!(%error, "`{release}` is left out"),
                    }
                }
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found)
    }

    /// The state of a release; `None` when there is none.
    pub fn state(&self, release: &Exact) -> Result<Option<State>> {
        let found = self.find(release)?;
        found.map(|found| Ok(State::of(&self.verify(release, &found)?))).transpose()
    }

    fn verify(&self, wanted: &Exact, release: &Release) -> Result<Verified> {
        verify(wanted, release, &self.owners()?)
    }

    /// Whether a withdrawal is by somebody who may.
    fn counts(&self, wanted: &Exact, release: &Release, withdrawal: &Signed<Withdrawal>) -> Result<bool> {
        let alone = Release { withdrawals: vec![withdrawal.clone()], ..release.clone() };
        Ok(self.verify(wanted, &alone)?.against.is_some())
    }

    /// Refuses what breaks callers of the published version before it, unless the number says so.
    fn require_compatible(&self, manifest: &Manifest) -> Result<()> {
        let published = self.list()?.into_iter().filter(|(release, state)| {
            release.name.publisher == manifest.publisher
                && release.name.slug == manifest.slug
                && *state == State::Published
        });
        let published: Vec<Exact> = published.map(|(release, _)| release).collect();
        let before = compatible::predecessor(published.iter().map(|release| &release.version), &manifest.version);
        let Some(before) = before.and_then(|before| published.iter().find(|release| release.version == *before)) else {
            return Ok(());
        };
        let digest = self.release(before)?.statement.open()?.0.component_sha256;
        compatible::verify(&read_manifest(&self.bytes(&digest)?)?, manifest)
    }

    fn is_needed(&self, digest: Digest, but: &Exact) -> Result<bool> {
        for (release, state) in self.list()? {
            let digest_of = self.release(&release)?.statement.open()?.0.component_sha256;
            if release != *but && state != State::Removed && digest_of == digest {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn find(&self, release: &Exact) -> Result<Option<Release>> {
        let Exact { name, version } = release;
        super::exact(&name.publisher, &name.slug, &version.to_string())?;
        let folder = self.release_folder(release);
        let Some(statement) = read_document(&folder.join(STATEMENT))? else { return Ok(None) };
        let kinds = [WithdrawalKind::Yank, WithdrawalKind::Remove, WithdrawalKind::Revoke];
        let withdrawals = kinds.into_iter().filter_map(|kind| read_document(&folder.join(file_of(kind))).transpose());
        Ok(Some(Release {
            statement,
            decision: read_document(&folder.join(DECISION))?,
            withdrawals: withdrawals.collect::<Result<_>>()?,
        }))
    }

    fn release_folder(&self, Exact { name, version }: &Exact) -> PathBuf {
        self.root.join(RELEASES).join(&name.publisher).join(&name.slug).join(version.to_string())
    }

    fn make_release_folder(&self, release: &Exact) -> Result<PathBuf> {
        let Exact { name, version } = release;
        let releases = self.root.join(RELEASES);
        make_folder(&releases, &name.publisher)?;
        make_folder(&releases.join(&name.publisher), &name.slug)?;
        make_folder(&releases.join(&name.publisher).join(&name.slug), &version.to_string())?;
        Ok(self.release_folder(release))
    }

    fn lock(&self) -> Result<File> {
        hold_lock_of(&self.root, LOCK)
    }
}

fn file_of(kind: WithdrawalKind) -> &'static str {
    match kind {
        WithdrawalKind::Yank => "yank.json",
        WithdrawalKind::Remove => "remove.json",
        WithdrawalKind::Revoke => "revoke.json",
    }
}

fn none(release: &Exact) -> Error {
    Error::new(ErrorKind::ReleaseNotFound, format!("the registry has no `{release}`"))
        .hint("`remit review list` names what it has")
}

fn read_document<T: Document>(path: &Path) -> Result<Option<Signed<T>>> {
    let Some(bytes) = read_file(path)? else { return Ok(None) };
    Signed::from_json(&bytes).map(Some)
}

fn read_file(path: &Path) -> Result<Option<Vec<u8>>> {
    let file = open_regular(path).map_err(|error| Error::file(path, &error))?;
    let Some(file) = file else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(|error| Error::file(path, &error))?;
    Ok(Some(bytes))
}

fn remove_file(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file(path, &error)),
        _ => Ok(()),
    }
}

/// The names of the folders in a folder: no links, no files.
fn folders(path: &Path) -> Result<Vec<String>> {
    let unreadable = |error: std::io::Error| Error::file(path, &error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.file_type().map_err(unreadable)?.is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    names.sort();
    Ok(names)
}

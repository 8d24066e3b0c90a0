//! Files in memory, with the semantics of the contract: names, collisions, parts, tools that only read. Quotas are the
//! operator's and not played.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{client, entities};
use crate::bindings::remit::capability::sandbox::{Error, File};

/// Before the addresses of files.
const ADDRESS: &str = "remit://sandbox/";

/// Bytes of a name, its parts, and bytes of one read, by the contract.
const NAME_BYTES: usize = 200;
const PARTS: usize = 8;
const PART_BYTES: usize = 1024 * 1024;

/// When every file is written, in milliseconds since 1970.
const WRITTEN_MS: u64 = 1_767_225_600_000;

/// Names that some systems give to devices.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

#[derive(Clone, Default)]
struct Memory {
    /// `publisher/slug` of the capability under test.
    owner: Option<String>,
    /// By address.
    files: BTreeMap<String, Vec<u8>>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// This thread's files from now on: none, of the capability `publisher/slug`.
pub fn sandbox(owner: &str) {
    MEMORY.set(Memory { owner: Some(owner.to_owned()), ..Memory::default() });
}

/// A file that another capability of the conversation wrote: as if `others` were granted.
pub fn file_of(owner: &str, name: &str, bytes: impl AsRef<[u8]>) {
    let address = format!("{ADDRESS}{owner}/{name}");
    MEMORY.with_borrow_mut(|memory| memory.files.insert(address, bytes.as_ref().to_vec()));
}

/// Does this and forgets what it changed.
pub(super) fn rehearsed<T>(work: impl FnOnce() -> T) -> T {
    let before = MEMORY.with_borrow(Memory::clone);
    let result = work();
    MEMORY.set(before);
    result
}

/// Whether a file could be written: for `http::save`, which asks before it sends.
pub(crate) fn check(name: &str) -> Result<(), Error> {
    MEMORY.with_borrow(|memory| memory.check(name).map(drop))
}

pub(crate) fn write(name: &str, bytes: &[u8]) -> Result<File, Error> {
    let file = MEMORY.with_borrow_mut(|memory| {
        let address = memory.check(name)?;
        memory.files.insert(address.clone(), bytes.to_vec());
        memory.file(&address).ok_or(Error::Unavailable)
    })?;
    client::changed_if(true);
    Ok(file)
}

pub(crate) fn read(file: &str, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
    MEMORY.with_borrow(|memory| {
        let bytes = memory.files.get(&memory.address(file)?).ok_or_else(|| Error::NotFound(file.to_owned()))?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let until = from.saturating_add((length as usize).min(PART_BYTES)).min(bytes.len());
        Ok(bytes[from..until].to_vec())
    })
}

pub(crate) fn find(file: &str) -> Result<Option<File>, Error> {
    MEMORY.with_borrow(|memory| Ok(memory.file(&memory.address(file)?)))
}

pub(crate) fn list(prefix: &str) -> Result<Vec<File>, Error> {
    MEMORY.with_borrow(|memory| {
        let own = memory.address_of("");
        let from = memory.address_of(prefix);
        let addresses =
            memory.files.keys().filter(|address| address.starts_with(&own) && address.starts_with(&from));
        Ok(addresses.filter_map(|address| memory.file(address)).collect())
    })
}

pub(crate) fn delete(name: &str) -> Result<bool, Error> {
    check_name(name)?;
    if entities::is_read_only() {
        return Err(Error::ReadOnly);
    }
    let gone = MEMORY.with_borrow_mut(|memory| {
        let address = memory.address_of(name);
        memory.files.remove(&address).is_some()
    });
    client::changed_if(gone);
    Ok(gone)
}

impl Memory {
    /// The address of a file of the capability's own.
    fn address_of(&self, name: &str) -> String {
        let owner = self.owner.as_deref().unwrap_or_else(|| {
            panic!("no files: call `remit_sdk::testing::sandbox(\"publisher/slug\")` first");
        });
        format!("{ADDRESS}{owner}/{name}")
    }

    /// The address of a file by its name or its address.
    fn address(&self, file: &str) -> Result<String, Error> {
        if file.starts_with(ADDRESS) {
            return Ok(file.to_owned());
        }
        check_name(file)?;
        Ok(self.address_of(file))
    }

    fn check(&self, name: &str) -> Result<String, Error> {
        check_name(name)?;
        if entities::is_read_only() {
            return Err(Error::ReadOnly);
        }
        let own = self.address_of("");
        let others = self.files.keys().filter_map(|address| address.strip_prefix(&own));
        match others.into_iter().find(|other| collide(other, name)) {
            Some(other) => Err(Error::Collision(other.to_owned())),
            None => Ok(self.address_of(name)),
        }
    }

    fn file(&self, address: &str) -> Option<File> {
        let bytes = self.files.get(address)?.len() as u64;
        let name = address.strip_prefix(ADDRESS)?.splitn(3, '/').nth(2)?.to_owned();
        let media_type = media_type(&name).to_owned();
        Some(File { name, uri: address.to_owned(), bytes, media_type, written_at: WRITTEN_MS })
    }
}

fn collide(one: &str, other: &str) -> bool {
    let (small, other_small) = (one.to_ascii_lowercase(), other.to_ascii_lowercase());
    let is_folder = |folder: &str, file: &str| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    (small == other_small && one != other) || is_folder(&small, &other_small) || is_folder(&other_small, &small)
}

fn check_name(name: &str) -> Result<(), Error> {
    let is_part = |part: &str| {
        let stem = part.split('.').next().unwrap_or(part).to_ascii_lowercase();
        let is_port = |word: &str| {
            stem.strip_prefix(word)
                .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        part.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
            && !part.ends_with('.')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            && !DEVICES.contains(&stem.as_str())
            && !is_port("com")
            && !is_port("lpt")
    };
    let is_name = name.len() <= NAME_BYTES && name.split('/').count() <= PARTS && name.split('/').all(is_part);
    if is_name { Ok(()) } else { Err(Error::InvalidName(format!("`{name}` is no name of a file"))) }
}

/// Some of those that the host knows.
fn media_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "txt" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    }
}

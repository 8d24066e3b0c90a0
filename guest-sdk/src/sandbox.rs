//! Files of the conversation, over `wit/sandbox.wit`.
//!
//! What is written here the agent reads at the file's address: give it as a link. A change is on disk when its
//! function returns; in a dry run it becomes part of the plan, and a tool need not know.
//!
//! ```
//! use remit_sdk::{Failure, Reply, sandbox};
//!
//! fn chart() -> Result<Reply, Failure> {
//!     let file = sandbox::write("charts/rain.svg", "<svg/>")?;
//!     Ok(Reply::new().text("Here is the chart.").with(file.link()))
//! }
//!
//! # fn main() -> Result<(), Failure> {
//! # remit_sdk::testing::sandbox("acme/weather");
//! chart()?;
//! assert_eq!(sandbox::read("charts/rain.svg")?, b"<svg/>");
//! # Ok(()) }
//! ```

mod error;

use crate::bindings::remit::capability::sandbox as wit;
#[cfg(not(target_arch = "wasm32"))]
use crate::testing::sandbox as host;
use crate::tools::{Content, Link};
#[cfg(target_arch = "wasm32")]
use wit as host;

pub use error::Error;
pub use wit::File;

/// Bytes of one part, by the contract.
const PART: u32 = 1024 * 1024;

/// Writes a file whole, in place of one of this name.
pub fn write(name: &str, bytes: impl AsRef<[u8]>) -> Result<File, Error> {
    Ok(host::write(name, bytes.as_ref())?)
}

/// All bytes of a file, by its name or its address. They come into the guest: a large file is better
/// [linked](File::link), or read [in parts](read_part).
pub fn read(file: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    loop {
        let part = host::read(file, bytes.len() as u64, PART)?;
        if part.is_empty() {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&part);
    }
}

/// Up to `length` bytes of a file, and up to 1 MiB, from `offset` on. None at its end and behind it.
pub fn read_part(file: &str, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
    Ok(host::read(file, offset, length)?)
}

/// What there is to know of a file, by its name or its address.
pub fn find(file: &str) -> Result<Option<File>, Error> {
    Ok(host::find(file)?)
}

/// This capability's files whose names begin with `prefix`, in the order of their names.
pub fn list(prefix: &str) -> Result<Vec<File>, Error> {
    Ok(host::list(prefix)?)
}

/// Removes a file and tells whether it was there.
pub fn delete(name: &str) -> Result<bool, Error> {
    Ok(host::delete(name)?)
}

impl File {
    /// A link to it for an answer: the agent reads the file there.
    #[must_use]
    pub fn link(&self) -> Content {
        link(&self.uri, &self.name, &self.media_type)
    }
}

/// A link to a file at an address.
pub(crate) fn link(uri: &str, name: &str, media_type: &str) -> Content {
    let (uri, name, mime_type) = (uri.to_owned(), name.to_owned(), Some(media_type.to_owned()));
    Content::ResourceLink(Link { uri, name, description: None, mime_type })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        testing::sandbox("acme/images");
        let bytes: Vec<u8> =
            (0..PART as usize + 9).map(|number| u8::try_from(number % 251).unwrap_or(0)).collect();
        let file = write("a/cat.png", &bytes).expect("a good name");
        assert_eq!((file.uri.as_str(), file.bytes), ("remit://sandbox/acme/images/a/cat.png", bytes.len() as u64));
        assert_eq!(read("a/cat.png").as_ref(), Ok(&bytes));
        assert_eq!(read(&file.uri).as_ref(), Ok(&bytes), "by its address, too");
        assert_eq!(read_part("a/cat.png", 5, 2), Ok(bytes[5..7].to_vec()));
        assert_eq!(find("a/cat.png"), Ok(Some(file.clone())));
        let link = file.link();
        assert!(matches!(&link, Content::ResourceLink(link) if link.mime_type.as_deref() == Some("image/png")));
        assert_eq!(list("a/").expect("a list"), [file]);
        assert_eq!(list("b"), Ok(Vec::new()));
        assert_eq!(delete("a/cat.png"), Ok(true));
        assert_eq!(delete("a/cat.png"), Ok(false));
        assert_eq!(read("a/cat.png"), Err(Error::NotFound("a/cat.png".to_owned())));
    }

    #[test]
    fn what_cannot_be_a_name_is_refused_as_on_the_host() {
        testing::sandbox("acme/images");
        for bad in ["", "..", "../a", "/a", "a b", "nul.txt", "a.", ".a", "\u{e9}"] {
            assert!(matches!(write(bad, "1"), Err(Error::InvalidName(_))), "{bad}");
        }
        write("cat.png", "1").expect("a good name");
        assert_eq!(write("Cat.png", "1"), Err(Error::Collision("cat.png".to_owned())));
        assert_eq!(write("cat.png/b", "1"), Err(Error::Collision("cat.png".to_owned())));
        let other = "remit://sandbox/acme/other/cat.png";
        assert_eq!(read(other), Err(Error::NotFound(other.to_owned())));
        testing::file_of("acme/other", "cat.png", "meow");
        assert_eq!(read(other), Ok(b"meow".to_vec()));
    }
}

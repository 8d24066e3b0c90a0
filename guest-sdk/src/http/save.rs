//! Requests whose answers become files: what comes back goes into the sandbox and never into the guest.

use std::fmt;

use super::{Error, Request, wit};
use crate::sandbox;
use crate::tools::Content;

/// What came back, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// Its status code.
    pub status: u16,
    /// Its header fields, in the order received.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The file, when the status says success.
    pub file: Option<SavedFile>,
    /// The body of any other answer; else nothing.
    pub body: Vec<u8>,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFile {
    /// Its name in the sandbox.
    pub name: String,
    /// Where the agent reads it.
    pub uri: String,
    /// Its bytes.
    pub bytes: u64,
    /// What the ending of its name says.
    pub media_type: String,
}

/// Why nothing was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveError {
    /// The request has no answer, or none that holds what was asked for.
    Request(Error),
    /// The file cannot be written. Nothing was sent, unless there was too much of it.
    Sandbox(sandbox::Error),
    /// The server answered with a status that is no success. It comes from this SDK, not from the host.
    Status(u16),
}

impl Request {
    /// Sends it and writes the body of the answer to a file. A success has a file; any other answer has a body.
    pub fn save(self, to: &str) -> Result<Saved, SaveError> {
        self.save_to(to, None)
    }

    /// The same for an answer in JSON that holds the file in base64: in the field of this name, or at this JSON
    /// Pointer, such as `/data/0/b64_json`.
    pub fn save_base64(self, to: &str, field: &str) -> Result<Saved, SaveError> {
        self.save_to(to, Some(field))
    }

    fn save_to(self, to: &str, field: Option<&str>) -> Result<Saved, SaveError> {
        if let Some(problem) = self.problem {
            return Err(SaveError::Request(problem));
        }
        #[cfg(target_arch = "wasm32")]
        return exchange(self, to, field);
        #[cfg(not(target_arch = "wasm32"))]
        return crate::testing::save(&self, to, field);
    }
}

#[cfg(target_arch = "wasm32")]
fn exchange(request: Request, to: &str, field: Option<&str>) -> Result<Saved, SaveError> {
    let saving = wit::Saving { to: to.to_owned(), base64_field: field.map(str::to_owned) };
    let saved = wit::save(&super::wire(request), &saving)?;
    let headers = saved.headers.into_iter().map(|header| (header.name, header.value)).collect();
    let file = saved.file.map(|file| {
        let wit::SavedFile { name, uri, bytes, media_type } = file;
        SavedFile { name, uri, bytes, media_type }
    });
    Ok(Saved { status: saved.status, headers, file, body: saved.body })
}

impl Saved {
    /// The file, or that the server did not answer with success.
    pub fn into_file(self) -> Result<SavedFile, SaveError> {
        self.file.ok_or(SaveError::Status(self.status))
    }
}

impl SavedFile {
    /// A link to it for an answer: the agent reads the file there.
    #[must_use]
    pub fn link(&self) -> Content {
        sandbox::link(&self.uri, &self.name, &self.media_type)
    }
}

impl fmt::Display for SaveError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(formatter),
            Self::Sandbox(error) => error.fmt(formatter),
            Self::Status(status) => write!(formatter, "the server answered with status {status}"),
        }
    }
}

impl std::error::Error for SaveError {}

impl From<wit::SaveError> for SaveError {
    fn from(error: wit::SaveError) -> Self {
        use sandbox::Error as File;
        match error {
            wit::SaveError::Request(error) => Self::Request(error.into()),
            wit::SaveError::NotAvailable => Self::Sandbox(File::NotAvailable),
            wit::SaveError::InvalidName(why) => Self::Sandbox(File::InvalidName(why)),
            wit::SaveError::Collision(file) => Self::Sandbox(File::Collision(file)),
            wit::SaveError::Quota(why) => Self::Sandbox(File::Quota(why)),
            wit::SaveError::ReadOnly => Self::Sandbox(File::ReadOnly),
            wit::SaveError::Unavailable => Self::Sandbox(File::Unavailable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Response, get};
    use crate::testing;

    #[test]
    fn a_success_is_a_file_and_an_error_is_a_body() {
        testing::sandbox("acme/images");
        testing::http(|request| {
            let status = if request.url.ends_with("/good") { 200 } else { 404 };
            Ok(Response { status, headers: Vec::new(), body: br#"{"data": [{"b64": "Y2F0"}]}"#.to_vec() })
        });
        let saved = get("https://a.example/good").save_base64("cat.txt", "/data/0/b64").expect("saved");
        assert_eq!((saved.status, saved.body.as_slice()), (200, &b""[..]));
        let file = saved.into_file().expect("a success");
        assert_eq!((file.uri.as_str(), file.bytes), ("remit://sandbox/acme/images/cat.txt", 3));
        assert_eq!(sandbox::read("cat.txt"), Ok(b"cat".to_vec()));

        let whole = get("https://a.example/good").save("cat.json").and_then(Saved::into_file).expect("saved");
        assert_eq!(sandbox::read(&whole.uri).map(|bytes| bytes.len()), Ok(27));

        let error = get("https://a.example/bad").save("other.txt").expect("an answer");
        assert!(error.body.starts_with(b"{\"data\""));
        assert_eq!(error.into_file(), Err(SaveError::Status(404)));
        assert_eq!(sandbox::find("other.txt"), Ok(None));

        let missing = get("https://a.example/good").save_base64("x.txt", "image");
        assert!(matches!(missing, Err(SaveError::Request(Error::ResponseInvalid(_)))), "{missing:?}");
    }

    #[test]
    fn nothing_is_sent_for_a_file_that_cannot_be() {
        testing::sandbox("acme/images");
        testing::http(|request| panic!("sent {request:?}"));
        let refused = get("https://a.example/").save("../cat.png");
        assert!(matches!(refused, Err(SaveError::Sandbox(sandbox::Error::InvalidName(_)))), "{refused:?}");
    }
}

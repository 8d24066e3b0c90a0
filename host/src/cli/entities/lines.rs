//! Documents as lines of JSON, for copies that people keep. Pure.
//!
//! A value's text goes out and comes in as it is: reading it into numbers and writing it again could lose digits.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::figures;
use crate::error::{Error, ErrorKind, Result};
use crate::namespaces::entities::document::Document;

/// One line. On the way in only the place and the value count: versions are given anew.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line {
    entity: String,
    key: String,
    value: Box<RawValue>,
    #[serde(default)]
    version: u64,
    #[serde(default)]
    changed_at: String,
}

/// A document with its entity, with the line's end.
pub(super) fn write(entity: &str, document: &Document) -> Result<String> {
    let invalid = |error| Error::internal("a stored value is JSON").detail(error);
    // JSON has line ends between its parts only, where they mean nothing.
    let value = document.value.replace(['\n', '\r'], " ");
    let line = Line {
        entity: entity.to_owned(),
        key: document.key.clone(),
        value: RawValue::from_string(value).map_err(invalid)?,
        version: document.version,
        changed_at: figures::utc_time(document.changed_at),
    };
    Ok(serde_json::to_string(&line).map_err(invalid)? + "\n")
}

/// Entity, key and value of every line.
pub(super) fn read(text: &str) -> Result<Vec<(String, String, String)>> {
    let mut documents = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line).map_err(|error| {
            let message = format!("line {} is no document: {error}", number + 1);
            Error::new(ErrorKind::Usage, message).hint("write what `remit entities export` writes")
        })?;
        documents.push((line.entity, line.key, line.value.get().to_owned()));
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_survives_a_copy() {
        for value in [
            "123456789012345678901234567890",
            "1.10",
            "{\"b\":1,\"a\":[ 2 ]}",
            "\"\\u0000\\n\"",
            "{\r\n \"a\":\n1}",
        ] {
            let document =
                Document { key: "k\u{2028}".to_owned(), value: value.to_owned(), version: 7, changed_at: 0 };
            let line = write("notes", &document).unwrap();
            assert_eq!((line.lines().count(), line.ends_with('\n')), (1, true), "{line}");
            let [(entity, key, copied)] = read(&line).unwrap().try_into().unwrap();
            assert_eq!((entity.as_str(), key.as_str()), ("notes", "k\u{2028}"));
            assert_eq!(copied, value.replace(['\r', '\n'], " "));
        }
    }

    #[test]
    fn a_line_is_whole_and_knows_no_more() {
        assert_eq!(read("\n \n").unwrap(), []);
        assert_eq!(read("{\"entity\":\"a\",\"key\":\"b\",\"value\":null}").unwrap().len(), 1);
        for bad in [
            "{}",
            "[]",
            "{\"entity\":\"a\",\"key\":\"b\"}",
            "{\"entity\":\"a\",\"key\":\"b\",\"value\":1,\"x\":1}",
            "x",
        ] {
            let error = read(&format!("\n{bad}\n")).unwrap_err();
            assert!(error.message.starts_with("line 2 is no document"), "{bad}: {error}");
        }
    }
}

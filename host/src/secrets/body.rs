//! How a value is written into a body, by the kind of the body: so that it cannot end the string, field or
//! part that it stands in. Whether it may stand in the body at all is not decided here.

use std::ops::Range;

use zeroize::Zeroizing;

/// The kind of a body, by its `content-type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BodyKind {
    /// JSON: a value goes inside a string and is escaped.
    Json,
    /// `application/x-www-form-urlencoded`: a value is percent-encoded.
    Form,
    /// `multipart/…`: a value goes into text parts as it is, when it holds no line break.
    Multipart {
        /// What separates the parts.
        boundary: Vec<u8>,
    },
    /// Anything else: a value is written as it is.
    Raw,
}

/// A value cannot be written into this kind of body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unwritable(pub(super) &'static str);

impl BodyKind {
    /// Reads the kind from the value of a `content-type` field (RFC 9110, 8.3.1).
    pub(super) fn of(content_type: Option<&[u8]>) -> Self {
        let text = String::from_utf8_lossy(content_type.unwrap_or_default());
        let (essence, parameters) = text.split_once(';').unwrap_or((&text, ""));
        let essence = essence.trim().to_ascii_lowercase();
        if essence == "application/json" || essence.ends_with("+json") {
            return Self::Json;
        }
        if essence == "application/x-www-form-urlencoded" {
            return Self::Form;
        }
        match boundary_of(parameters) {
            Some(boundary) if essence.starts_with("multipart/") => Self::Multipart { boundary },
            _ => Self::Raw,
        }
    }

    /// The ranges of `body` in which placeholders count. In a multipart body these are the text parts:
    /// what is in a file is data.
    pub(super) fn ranges(&self, body: &[u8]) -> Vec<Range<usize>> {
        match self {
            Self::Multipart { boundary } => text_parts(body, boundary),
            Self::Json | Self::Form | Self::Raw => std::iter::once(0..body.len()).collect(),
        }
    }

    /// Writes `value` at the end of `out`.
    pub(super) fn write(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), Unwritable> {
        match self {
            Self::Json => write_json(value, out),
            Self::Form => {
                for byte in value {
                    match byte {
                        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(*byte),
                        _ => {
                            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                            let digit = |half: u8| DIGITS[usize::from(half & 0xF)];
                            out.extend([b'%', digit(byte >> 4), digit(*byte)]);
                        }
                    }
                }
                Ok(())
            }
            Self::Multipart { .. } if value.iter().any(|byte| matches!(byte, b'\r' | b'\n')) => {
                Err(Unwritable("its value has a line break, which could end a part of a multipart body"))
            }
            Self::Multipart { .. } | Self::Raw => {
                out.extend_from_slice(value);
                Ok(())
            }
        }
    }
}

/// Whether the byte at each of `offsets`, which ascend, is inside a JSON string.
pub(super) fn are_inside_json_strings(body: &[u8], offsets: impl IntoIterator<Item = usize>) -> bool {
    let (mut at, mut inside, mut escaped) = (0, false, false);
    offsets.into_iter().all(|offset| {
        for byte in &body[at..offset] {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if inside => escaped = true,
                b'"' => inside = !inside,
                _ => {}
            }
        }
        at = offset;
        inside && !escaped
    })
}

fn write_json(value: &[u8], out: &mut Vec<u8>) -> Result<(), Unwritable> {
    let Ok(text) = std::str::from_utf8(value) else {
        return Err(Unwritable("its value is not text, which a JSON body needs"));
    };
    let quoted = Zeroizing::new(serde_json::to_vec(text).map_err(|_| Unwritable("its value is not text"))?);
    out.extend_from_slice(&quoted[1..quoted.len() - 1]);
    Ok(())
}

fn boundary_of(parameters: &str) -> Option<Vec<u8>> {
    parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        let named = name.trim().eq_ignore_ascii_case("boundary") && !value.is_empty();
        named.then(|| value.as_bytes().to_vec())
    })
}

/// The contents of the parts that are text: no file name, and no content type or a textual one (RFC 7578).
fn text_parts(body: &[u8], boundary: &[u8]) -> Vec<Range<usize>> {
    let mut delimiter = b"--".to_vec();
    delimiter.extend_from_slice(boundary);
    let starts: Vec<usize> = aho_corasick::AhoCorasick::new([&delimiter])
        .map(|finder| finder.find_iter(body).map(|found| found.start()).collect())
        .unwrap_or_default();
    let at_line_start = |start: &usize| *start == 0 || body[..*start].ends_with(b"\n");
    let starts: Vec<usize> = starts.into_iter().filter(at_line_start).collect();
    starts
        .windows(2)
        .filter_map(|pair| {
            let part = pair[0] + delimiter.len()..pair[1];
            let head_length = body[part.clone()].windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
            let head = String::from_utf8_lossy(&body[part.start..part.start + head_length]).to_ascii_lowercase();
            is_text(&head).then_some(part.start + head_length..part.end)
        })
        .collect()
}

fn is_text(head: &str) -> bool {
    let content_type = head.lines().find_map(|line| line.strip_prefix("content-type:"));
    let textual = content_type.is_none_or(|value| {
        let value = value.trim();
        value.starts_with("text/") || value.starts_with("application/json")
    });
    textual && !head.contains("filename")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_read_from_the_content_type() {
        for (content_type, kind) in [
            ("application/json", BodyKind::Json),
            ("Application/JSON; charset=utf-8", BodyKind::Json),
            ("application/vnd.api+json", BodyKind::Json),
            ("application/x-www-form-urlencoded", BodyKind::Form),
            ("multipart/form-data; boundary=\"x y\"", BodyKind::Multipart { boundary: b"x y".to_vec() }),
            ("multipart/form-data; charset=a; Boundary=b", BodyKind::Multipart { boundary: b"b".to_vec() }),
            ("multipart/form-data", BodyKind::Raw),
            ("text/plain", BodyKind::Raw),
            ("", BodyKind::Raw),
        ] {
            assert_eq!(BodyKind::of(Some(content_type.as_bytes())), kind, "{content_type}");
        }
        assert_eq!(BodyKind::of(None), BodyKind::Raw);
    }

    #[test]
    fn a_value_cannot_leave_where_it_stands() {
        let multipart = BodyKind::Multipart { boundary: b"b".to_vec() };
        for (kind, value, written) in [
            (BodyKind::Json, "a\"b\\c", "a\\\"b\\\\c"),
            (BodyKind::Json, "é\n", "é\\n"),
            (BodyKind::Form, "a&x=1 +%é", "a%26x%3D1%20%2B%25%C3%A9"),
            (BodyKind::Raw, "a\"&", "a\"&"),
            (multipart.clone(), "a\"&--b", "a\"&--b"),
        ] {
            let mut out = Vec::new();
            kind.write(value.as_bytes(), &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), written);
        }
        assert!(multipart.write(b"x\r\n--b", &mut Vec::new()).is_err());
        assert!(BodyKind::Json.write(b"\xFF\xFE", &mut Vec::new()).is_err());
    }

    #[test]
    fn only_text_parts_of_a_multipart_body_count() {
        let body = b"--b\r\nContent-Disposition: form-data; name=a\r\n\r\nONE\r\n\
            --b\r\nContent-Disposition: form-data; name=f; filename=x.bin\r\n\r\nTWO --b\r\n\
            --b\r\nContent-Disposition: form-data; name=g\r\nContent-Type: image/png\r\n\r\nTHREE\r\n\
            --b\r\nContent-Disposition: form-data; name=h\r\nContent-Type: text/plain\r\n\r\nFOUR\r\n--b--\r\n";
        let kind = BodyKind::Multipart { boundary: b"b".to_vec() };
        let parts: Vec<_> =
            kind.ranges(body).into_iter().map(|range| String::from_utf8_lossy(&body[range])).collect();
        assert_eq!(parts, ["ONE\r\n", "FOUR\r\n"]);
    }

    #[test]
    fn the_inside_of_json_strings_is_told_from_the_outside() {
        for (body, inside) in [
            (r#"{"k":"@"}"#, true),
            (r#"{"k":@}"#, false),
            (r#"{"k\"":"a\\", "b": @}"#, false),
            (r#"{"k":"a\"@"}"#, true),
            (r#"{"k":"\@"}"#, false),
        ] {
            let offset = body.find('@').unwrap();
            assert_eq!(are_inside_json_strings(body.as_bytes(), [offset]), inside, "{body}");
        }
    }
}

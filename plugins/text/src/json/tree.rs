//! A JSON document as a tree of slices of its text.

use remit_sdk::serde::de::IgnoredAny;
use remit_sdk::serde_json;

use super::Style;

/// How deep arrays and objects may lie in each other: as deep as serde_json reads, and far from the end of
/// a guest's stack.
const MAX_DEPTH: usize = 128;

/// A value.
#[derive(Debug)]
pub enum Node<'a> {
    /// A string, number, `true`, `false` or `null`, as it is written.
    Scalar(&'a str),
    /// The items of an array.
    Array(Vec<Self>),
    /// The members of an object.
    Object(Vec<Member<'a>>),
}

/// A member of an object.
#[derive(Debug)]
pub struct Member<'a> {
    /// Its key, as it is written.
    raw_key: &'a str,
    /// Its key, as it is meant.
    pub key: String,
    /// Its value.
    pub value: Node<'a>,
}

/// Reads a document.
pub fn parse(json: &str) -> Result<Node<'_>, String> {
    serde_json::from_str::<IgnoredAny>(json).map_err(|error| format!("not JSON: {error}"))?;
    Reader { rest: json }.value(0)
}

/// Writes a document.
pub fn write(node: &Node, style: Style) -> String {
    let mut text = String::new();
    write_at(node, style, 0, &mut text);
    text
}

/// Puts the keys of each object in order.
pub fn sort(node: &mut Node) {
    match node {
        Node::Scalar(_) => {}
        Node::Array(items) => items.iter_mut().for_each(sort),
        Node::Object(members) => {
            members.sort_by(|left, right| left.key.cmp(&right.key));
            members.iter_mut().for_each(|member| sort(&mut member.value));
        }
    }
}

/// Takes apart a text that is already known to be JSON.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Node<'a>, String> {
        if depth > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} arrays and objects lie in each other"));
        }
        self.skip_space();
        if self.take('[') {
            let mut items = Vec::new();
            while !self.take(']') {
                items.push(self.value(depth + 1)?);
                self.take(',');
            }
            return Ok(Node::Array(items));
        }
        if self.take('{') {
            let mut members = Vec::new();
            while !self.take('}') {
                let raw_key = self.scalar();
                let key =
                    serde_json::from_str(raw_key).map_err(|error| format!("not JSON: key {raw_key}: {error}"))?;
                self.take(':');
                members.push(Member { raw_key, key, value: self.value(depth + 1)? });
                self.take(',');
            }
            return Ok(Node::Object(members));
        }
        Ok(Node::Scalar(self.scalar()))
    }

    fn take(&mut self, mark: char) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn scalar(&mut self) -> &'a str {
        let length = match self.rest.strip_prefix('"') {
            Some(inside) => string_length(inside) + 1,
            None => self.rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(self.rest.len()),
        };
        let (scalar, rest) = self.rest.split_at(length);
        self.rest = rest;
        scalar
    }
}

/// How long a string is from behind its opening quote to behind its closing one.
fn string_length(inside: &str) -> usize {
    let mut escaped = false;
    let end = inside.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(inside.len(), |end| end + 1)
}

fn write_at(node: &Node, style: Style, depth: usize, text: &mut String) {
    let empty = match node {
        Node::Scalar(scalar) => return text.push_str(scalar),
        Node::Array(items) => items.is_empty(),
        Node::Object(members) => members.is_empty(),
    };
    let break_line = |depth: usize, text: &mut String| {
        if matches!(style, Style::Pretty) && !empty {
            text.push('\n');
            text.push_str(&"  ".repeat(depth));
        }
    };
    let next = |at: usize, text: &mut String| {
        if at > 0 {
            text.push(',');
        }
        break_line(depth + 1, text);
    };
    if let Node::Array(items) = node {
        text.push('[');
        for (at, item) in items.iter().enumerate() {
            next(at, text);
            write_at(item, style, depth + 1, text);
        }
        break_line(depth, text);
        text.push(']');
    }
    if let Node::Object(members) = node {
        text.push('{');
        for (at, member) in members.iter().enumerate() {
            next(at, text);
            text.push_str(member.raw_key);
            text.push_str(if matches!(style, Style::Pretty) { ": " } else { ":" });
            write_at(&member.value, style, depth + 1, text);
        }
        break_line(depth, text);
        text.push('}');
    }
}

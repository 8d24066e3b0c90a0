//! Writes schemas as JSON while compiling: once to count the bytes, once into an array of that length.

use super::{Field, Kind, Shape, Tool};

/// How many bytes `render` needs.
#[must_use]
pub const fn length(tools: &[Tool]) -> usize {
    let mut writer = Writer { out: None, at: 0, first: true };
    writer.tools(tools);
    writer.at
}

/// The tools as a JSON array, in the form of the manifest.
#[must_use]
pub const fn render<const LENGTH: usize>(tools: &[Tool]) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    Writer { out: Some(&mut bytes), at: 0, first: true }.tools(tools);
    bytes
}

#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn to_text(tools: &[Tool]) -> String {
    let mut bytes = vec![0; length(tools)];
    Writer { out: Some(&mut bytes), at: 0, first: true }.tools(tools);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A form's schema: closed already, so that it says neither that nor what its type is about.
pub(crate) fn form(shape: &Shape) -> String {
    let write = |out| {
        let mut writer = Writer { out, at: 0, first: true };
        writer.form(shape);
        writer.at
    };
    let mut bytes = vec![0; write(None)];
    write(Some(&mut bytes));
    String::from_utf8(bytes).unwrap_or_default()
}

struct Writer<'a> {
    /// Where to write. `None` only counts.
    out: Option<&'a mut [u8]>,
    at: usize,
    /// Whether the next member or item is the first, and takes no comma.
    first: bool,
}

impl Writer<'_> {
    const fn text(&mut self, text: &str) {
        if let Some(out) = &mut self.out {
            let (_, free) = out.split_at_mut(self.at);
            let (slot, _) = free.split_at_mut(text.len());
            slot.copy_from_slice(text.as_bytes());
        }
        self.at += text.len();
    }

    const fn open(&mut self, bracket: &str) {
        self.text(bracket);
        self.first = true;
    }

    const fn close(&mut self, bracket: &str) {
        self.text(bracket);
        self.first = false;
    }

    const fn next(&mut self) {
        if !self.first {
            self.text(",");
        }
        self.first = false;
    }

    /// A key, as JSON text.
    const fn key(&mut self, key: &str) {
        self.next();
        self.text(key);
        self.text(":");
    }

    const fn member(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.key(key);
            self.text(value);
        }
    }

    const fn tools(&mut self, tools: &[Tool]) {
        self.open("[");
        let mut rest = tools;
        while let [tool, others @ ..] = rest {
            self.next();
            self.open("{");
            self.next();
            self.text(tool.members);
            self.key("\"inputSchema\"");
            self.shape(&tool.input);
            if let Some(output) = &tool.output {
                self.key("\"outputSchema\"");
                self.shape(output);
            }
            self.close("}");
            rest = others;
        }
        self.close("]");
    }

    const fn shape(&mut self, shape: &Shape) {
        self.open("{");
        self.member("\"type\"", type_name(shape.kind));
        self.member("\"description\"", shape.description);
        self.member("\"minimum\"", shape.minimum);
        self.member("\"maximum\"", shape.maximum);
        self.member("\"minLength\"", shape.min_length);
        self.member("\"maxLength\"", shape.max_length);
        self.member("\"pattern\"", shape.pattern);
        self.member("\"minItems\"", shape.min_items);
        self.member("\"maxItems\"", shape.max_items);
        self.member("\"default\"", shape.default);
        match shape.kind {
            Kind::Any | Kind::Boolean | Kind::Integer | Kind::Number | Kind::String => {}
            Kind::Choice(names) => self.choice(names),
            Kind::Array(items) => {
                self.key("\"items\"");
                self.shape(items);
            }
            Kind::Map(values) => {
                self.key("\"additionalProperties\"");
                self.shape(values);
            }
            Kind::Object(fields) => {
                self.fields(fields);
                self.member("\"additionalProperties\"", "false");
            }
        }
        self.close("}");
    }

    const fn form(&mut self, shape: &Shape) {
        self.open("{");
        self.member("\"type\"", type_name(shape.kind));
        if let Kind::Object(fields) = shape.kind {
            self.fields(fields);
        }
        self.close("}");
    }

    const fn choice(&mut self, names: &[&str]) {
        self.key("\"enum\"");
        self.open("[");
        let mut rest = names;
        while let [name, others @ ..] = rest {
            self.next();
            self.text(name);
            rest = others;
        }
        self.close("]");
    }

    const fn fields(&mut self, fields: &[Field]) {
        self.key("\"properties\"");
        self.open("{");
        let mut required = false;
        let mut rest = fields;
        while let [field, others @ ..] = rest {
            self.key(field.name);
            self.shape(&field.shape);
            required |= field.required;
            rest = others;
        }
        self.close("}");
        if required {
            self.key("\"required\"");
            self.open("[");
            let mut rest = fields;
            while let [field, others @ ..] = rest {
                if field.required {
                    self.next();
                    self.text(field.name);
                }
                rest = others;
            }
            self.close("]");
        }
    }
}

const fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Any => "",
        Kind::Boolean => "\"boolean\"",
        Kind::Integer => "\"integer\"",
        Kind::Number => "\"number\"",
        Kind::String | Kind::Choice(_) => "\"string\"",
        Kind::Array(_) => "\"array\"",
        Kind::Map(_) | Kind::Object(_) => "\"object\"",
    }
}

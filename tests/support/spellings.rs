//! How a value can be spelt, written down without a look at the host's own list: what the functions of common
//! languages make of a string. The tests send values back in these spellings, and search files for them.

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// A value as a server or a program could write it.
#[derive(Clone, Debug)]
pub(crate) struct Spelling {
    /// What it is.
    pub(crate) name: String,
    /// The bytes.
    pub(crate) whole: Vec<u8>,
    /// The part that depends on the value alone, and tells it.
    pub(crate) core: Vec<u8>,
}

impl Spelling {
    /// Whether these bytes tell the value.
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        bytes.windows(self.core.len()).any(|window| window == self.core)
    }

    /// Whether it can stand in a header field.
    pub(crate) fn is_visible(&self) -> bool {
        self.whole.iter().all(|byte| (0x20..=0x7E).contains(byte))
    }
}

fn spelling(name: &str, text: impl Into<Vec<u8>>) -> Spelling {
    let whole = text.into();
    Spelling { name: name.to_owned(), core: whole.clone(), whole }
}

/// Spellings of one kind.
pub(crate) type Family = fn(&str) -> Vec<Spelling>;

const FAMILIES: [Family; 7] = [raw, base64, hex, percent, json, entities, utf16];

/// Every spelling there is here.
pub(crate) fn all(value: &str) -> Vec<Spelling> {
    FAMILIES.iter().flat_map(|family| family(value)).collect()
}

/// As it is.
pub(crate) fn raw(value: &str) -> Vec<Spelling> {
    vec![spelling("as it is", value)]
}

/// Base64 in both alphabets, padded and not, alone and after and before other bytes.
pub(crate) fn base64(value: &str) -> Vec<Spelling> {
    let mut all = Vec::new();
    for (alphabet, engine) in [
        ("base64", &STANDARD),
        ("base64 without padding", &STANDARD_NO_PAD),
        ("base64url", &URL_SAFE),
        ("base64url without padding", &URL_SAFE_NO_PAD),
    ] {
        for (before, after) in [
            ("", ""),
            ("u", ""),
            ("ab", ""),
            ("user:", ""),
            ("user:", ":x"),
            ("a", "bc"),
            ("ab", "cd"),
            ("", "yz"),
        ] {
            all.push(Spelling {
                name: format!("{alphabet} of `{before}…{after}`"),
                whole: engine.encode(format!("{before}{value}{after}")).into_bytes(),
                core: stable(engine, before.len(), value),
            });
        }
    }
    all
}

/// The letters of base64 that stay the same whatever stands around the value, `before` bytes of it in front.
fn stable(engine: &GeneralPurpose, before: usize, value: &str) -> Vec<u8> {
    let among = |byte: u8| {
        let around = vec![byte; before];
        engine.encode([&around[..], value.as_bytes(), &[byte; 3]].concat()).into_bytes()
    };
    let (zeros, ones) = (among(0), among(0xFF));
    let same = |(one, other): (&u8, &u8)| one == other;
    let first = zeros.iter().zip(&ones).position(same).expect("a value of some length");
    let last = zeros.iter().zip(&ones).rposition(same).expect("a value of some length");
    zeros[first..=last].to_vec()
}

/// Hexadecimal digits, and as escapes of a string.
pub(crate) fn hex(value: &str) -> Vec<Spelling> {
    let each = |form: &dyn Fn(u8) -> String| value.bytes().map(form).collect::<String>();
    vec![
        spelling("hex", each(&|byte| format!("{byte:02x}"))),
        spelling("HEX", each(&|byte| format!("{byte:02X}"))),
        spelling("\\x", each(&|byte| format!("\\x{byte:02x}"))),
        spelling("\\X", each(&|byte| format!("\\x{byte:02X}"))),
    ]
}

/// Percent-encoding: of what is reserved to different languages, of every byte, in both cases, and twice.
pub(crate) fn percent(value: &str) -> Vec<Spelling> {
    let except =
        |kept: &'static str| move |byte: u8| byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte);
    let encode = |keeps: &dyn Fn(u8) -> bool, upper: bool, sign: &str| {
        let letter = |byte: u8| match (keeps(byte), upper) {
            (true, _) => char::from(byte).to_string(),
            (false, true) => format!("{sign}{byte:02X}"),
            (false, false) => format!("{sign}{byte:02x}"),
        };
        value.bytes().map(letter).collect::<String>()
    };
    let mut all = Vec::new();
    for (name, kept, space) in [
        ("Python's `quote`", "_.-~/", "%20"),
        ("Python's `quote_plus`", "_.-~", "+"),
        ("PHP's `urlencode`", "-_.", "+"),
        ("RFC 3986", "_.-~", "%20"),
        ("`encodeURIComponent`", "-_.!~*'()", "%20"),
        ("`encodeURI`", "-_.!~*'();/?:@&=+$,#", "%20"),
        ("a form", "*-._", "+"),
    ] {
        let keeps = except(kept);
        for upper in [true, false] {
            for (times, sign) in [("once", "%"), ("twice", "%25")] {
                let text = encode(&keeps, upper, sign);
                let text = if space == "+" { text.replace(&format!("{sign}20"), space) } else { text };
                all.push(spelling(&format!("{name}, {times}"), text));
            }
        }
    }
    for upper in [true, false] {
        for (times, sign) in [("once", "%"), ("twice", "%25")] {
            all.push(spelling(&format!("every byte as percent, {times}"), encode(&|_| false, upper, sign)));
        }
    }
    all
}

/// JSON strings.
pub(crate) fn json(value: &str) -> Vec<Spelling> {
    let quoted = serde_json::to_string(value).expect("text");
    let least = &quoted[1..quoted.len() - 1];
    let unit = |letter: char, upper: bool| {
        let code = u32::from(letter);
        if upper { format!("\\u{code:04X}") } else { format!("\\u{code:04x}") }
    };
    let html = |upper: bool| {
        let escape = |letter: char| match letter {
            '<' | '>' | '&' => unit(letter, upper),
            _ => letter.to_string(),
        };
        least.chars().map(escape).collect::<String>()
    };
    let with_quotes = |upper: bool| {
        let escape = |letter: char| match letter {
            '<' | '>' | '&' | '\'' | '"' => unit(letter, upper),
            '\\' => "\\\\".to_owned(),
            _ => letter.to_string(),
        };
        value.chars().map(escape).collect::<String>()
    };
    let twice = serde_json::to_string(least).expect("text");
    vec![
        spelling("JSON", least),
        spelling("JSON in JSON", &twice[1..twice.len() - 1]),
        spelling("JSON with `\\/`", least.replace('/', "\\/")),
        spelling("JSON for HTML", html(false)),
        spelling("JSON for HTML, upper case", html(true)),
        spelling("JSON for HTML with quotes", with_quotes(false)),
        spelling("JSON for HTML with quotes, upper case", with_quotes(true)),
        spelling("JSON, every letter", value.chars().map(|letter| unit(letter, false)).collect::<String>()),
        spelling(
            "JSON, every letter, upper case",
            value.chars().map(|letter| unit(letter, true)).collect::<String>(),
        ),
    ]
}

/// HTML and XML.
pub(crate) fn entities(value: &str) -> Vec<Spelling> {
    let named = |double: &str, single: &str| {
        let text = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        text.replace('"', double).replace('\'', single)
    };
    let number = |form: &dyn Fn(u32) -> String, all: bool| {
        let letter = |letter: char| {
            if all || !letter.is_ascii_alphanumeric() { form(letter.into()) } else { letter.to_string() }
        };
        value.chars().map(letter).collect::<String>()
    };
    let mut found = vec![
        spelling("text of HTML", named("\"", "'")),
        spelling("Python's `html.escape`", named("&quot;", "&#x27;")),
        spelling("Go's `html.EscapeString`", named("&#34;", "&#39;")),
        spelling("PHP's `htmlspecialchars`", named("&quot;", "&#039;")),
        spelling("XML", named("&quot;", "&apos;")),
    ];
    for all in [true, false] {
        found.push(spelling("decimal references", number(&|code| format!("&#{code};"), all)));
        found.push(spelling("hexadecimal references", number(&|code| format!("&#x{code:x};"), all)));
        found.push(spelling("hexadecimal references, upper case", number(&|code| format!("&#x{code:X};"), all)));
    }
    found
}

/// UTF-16 in both orders.
pub(crate) fn utf16(value: &str) -> Vec<Spelling> {
    let units = || value.encode_utf16();
    vec![
        spelling("UTF-16LE", units().flat_map(u16::to_le_bytes).collect::<Vec<_>>()),
        spelling("UTF-16BE", units().flat_map(u16::to_be_bytes).collect::<Vec<_>>()),
    ]
}

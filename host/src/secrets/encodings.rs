//! The spellings of a value in which an answer is searched for it: what APIs, web frameworks and log lines do
//! to a string that they echo. A list, and nothing else. It can never be complete: see the room's top.
//!
//! Spellings are made one after the other in the same memory, which is cleared at the end.

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

const DIGITS: &[u8; 16] = b"0123456789abcdef";
const UPPER_DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// No spelling here is longer, for each byte of the value, unless it has control characters.
const GROWTH: usize = 16;

/// Where encoders of base64 break lines: Ruby, PEM, MIME.
const WIDTHS: [usize; 3] = [60, 64, 76];

/// What ends these lines, and the same in a JSON string.
const BREAKS: [&str; 4] = ["\n", "\r\n", "\\n", "\\r\\n"];

/// What JSON encoders write as `\u00XX` though they need not, for the sake of HTML around it: none; Go and
/// Rails; Gson; PHP with its flags; .NET.
const JSON_AS_UNITS: [&str; 5] = ["", "<>&", "<>&='", "<>&'\"", "<>&'\"+`"];

/// What HTML and XML encoders replace besides `&`, `<` and `>`, and by what.
const HTML: [&[(char, &str)]; 12] = [
    &[],
    &[('"', "&quot;")],
    &[('"', "&quot;"), ('\'', "&#39;")],
    &[('"', "&quot;"), ('\'', "&#039;")],
    &[('"', "&quot;"), ('\'', "&#x27;")],
    &[('"', "&quot;"), ('\'', "&apos;")],
    &[('"', "&#34;"), ('\'', "&#39;")],
    &[('"', "&#34;"), ('\'', "&#39;"), ('+', "&#43;")],
    &[('"', "&#x22;"), ('\'', "&#x27;")],
    &[('"', "&quot;"), ('\'', "&#x27;"), ('+', "&#x2B;"), ('`', "&#x60;")],
    &[('"', "&quot;"), ('\'', "&#x27;"), ('`', "&#x60;"), ('=', "&#x3D;")],
    &[('"', "&quot;"), ('\'', "&#39;"), ('`', "&#x60;"), ('=', "&#x3D;"), ('/', "&#x2F;")],
];

/// How a plus of base64 comes back from a JSON or HTML encoder that replaces it.
const PLUS: [&str; 4] = ["\\u002B", "\\u002b", "&#43;", "&#x2B;"];

/// Gives every spelling of `value` to `take`. Some come more than once, none is empty.
pub(super) fn each(value: &[u8], take: &mut dyn FnMut(&[u8])) {
    let room = || Zeroizing::new(Vec::with_capacity(value.len() * GROWTH));
    let mut spellings = Spellings { value, text: room(), slashed: room(), take };
    spellings.give(value);
    // The names of header fields come in lower case.
    spellings.spell(|text| text.extend(value.to_ascii_lowercase()));
    base64(&mut spellings);
    hex(&mut spellings);
    percent(value, &mut spellings);
    if let Ok(letters) = std::str::from_utf8(value) {
        json(letters, &mut spellings);
        html(letters, &mut spellings);
        references(letters, &mut spellings);
        for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            spellings.spell(|text| text.extend(letters.encode_utf16().flat_map(to_bytes)));
        }
        let mut in_json = room();
        escape_json(letters, "", false, DIGITS, &mut in_json);
        if let Ok(in_json) = std::str::from_utf8(&in_json)
            && in_json != letters
        {
            percent(in_json.as_bytes(), &mut spellings);
            html(in_json, &mut spellings);
        }
    }
}

struct Spellings<'a> {
    value: &'a [u8],
    text: Zeroizing<Vec<u8>>,
    slashed: Zeroizing<Vec<u8>>,
    take: &'a mut dyn FnMut(&[u8]),
}

impl Spellings<'_> {
    /// Gives what `write` writes, unless that is the value as it is.
    fn spell(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        write(&mut text);
        if *text != self.value {
            self.give(&text);
        }
        self.text = text;
    }

    /// PHP's `json_encode` and others write `\/`, which base64 text is full of.
    fn give(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        (self.take)(text);
        if text.contains(&b'/') {
            self.slashed.clear();
            replace(text, b'/', "\\/", &mut self.slashed);
            (self.take)(&self.slashed);
        }
    }
}

/// Base64 of the value alone, and what stays the same of it when other bytes stand before and after.
fn base64(spellings: &mut Spellings<'_>) {
    let value = spellings.value;
    for (padded, plain) in [(&STANDARD, &STANDARD_NO_PAD), (&URL_SAFE, &URL_SAFE_NO_PAD)] {
        in_links(&encode(padded, value), spellings);
        in_links(&encode(plain, value), spellings);
        for before in 0..3 {
            let mut shifted = Zeroizing::new(Vec::with_capacity(before + value.len()));
            shifted.resize(before, 0);
            shifted.extend_from_slice(value);
            // Six bits a letter: those that hold only bits of the value are in the middle.
            let first = (before * 8).div_ceil(6);
            let last = shifted.len() * 8 / 6;
            in_links(&encode(plain, &shifted)[first.min(last)..last], spellings);
        }
    }
    // Where a longer text is broken depends on what stands before the value: only that of the value alone is
    // known.
    let text = encode(&STANDARD, value);
    for width in WIDTHS.into_iter().filter(|width| text.len() > *width) {
        for line_break in BREAKS {
            spellings.spell(|out| {
                for (number, line) in text.chunks(width).enumerate() {
                    out.extend_from_slice(if number == 0 { b"" } else { line_break.as_bytes() });
                    out.extend_from_slice(line);
                }
            });
        }
    }
}

fn encode(engine: &GeneralPurpose, bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(engine.encode(bytes).into_bytes())
}

/// Base64 as it is, in a URL's query, and in JSON and HTML.
fn in_links(text: &[u8], spellings: &mut Spellings<'_>) {
    spellings.spell(|out| out.extend_from_slice(text));
    if text.iter().any(|byte| b"+/=".contains(byte)) {
        for sign in ["%", "%25"] {
            for digits in [UPPER_DIGITS, DIGITS] {
                spellings.spell(|out| escape_bytes(text, u8::is_ascii_alphanumeric, sign, digits, out));
            }
        }
    }
    if text.contains(&b'+') {
        for plus in PLUS {
            spellings.spell(|out| replace(text, b'+', plus, out));
        }
    }
}

/// Hexadecimal digits; and as the strings of programming languages and the lines of servers' logs have them,
/// for all bytes or for those that need it.
fn hex(spellings: &mut Spellings<'_>) {
    let value = spellings.value;
    let shown = |byte: &u8| matches!(byte, b' '..=b'~') && !b"\"\\".contains(byte);
    for digits in [DIGITS, UPPER_DIGITS] {
        for sign in ["", "\\x", "\\\\x"] {
            spellings.spell(|out| escape_bytes(value, |_| false, sign, digits, out));
        }
        for sign in ["\\x", "\\\\x"] {
            spellings.spell(|out| escape_bytes(value, shown, sign, digits, out));
        }
    }
}

/// Percent-encoding as the URL functions of the common languages do it, once and twice.
fn percent(text: &[u8], spellings: &mut Spellings<'_>) {
    let unreserved = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let component = |byte: &u8| unreserved(byte) || b"!*'()".contains(byte);
    let whole_url = |byte: &u8| component(byte) || b";/?:@&=+$,#".contains(byte);
    let form = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._*".contains(byte);
    // Python's `quote`, and PHP's `urlencode`.
    let path = |byte: &u8| unreserved(byte) || *byte == b'/';
    let words = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    let nothing = |_: &u8| false;
    let kept: [&dyn Fn(&u8) -> bool; 7] = [&unreserved, &component, &whole_url, &form, &path, &words, &nothing];
    for keep in kept {
        if text.iter().all(keep) {
            continue;
        }
        for sign in ["%", "%25"] {
            for digits in [UPPER_DIGITS, DIGITS] {
                spellings.spell(|out| escape_bytes(text, keep, sign, digits, out));
                if text.contains(&b' ') {
                    // A space is the one byte that a form writes in another way.
                    spellings.spell(|out| {
                        escape_bytes(text, |byte| *byte == b' ' || keep(byte), sign, digits, out);
                        out.iter_mut().filter(|byte| **byte == b' ').for_each(|byte| *byte = b'+');
                    });
                }
            }
        }
    }
}

/// JSON strings: what must be escaped, what is escaped for other reasons, everything; and a string in a string.
fn json(letters: &str, spellings: &mut Spellings<'_>) {
    let mut give = |as_units: &str, not_ascii: bool, digits: &[u8; 16]| {
        let mut once = Zeroizing::new(Vec::with_capacity(letters.len() * GROWTH));
        escape_json(letters, as_units, not_ascii, digits, &mut once);
        spellings.spell(|out| out.extend_from_slice(&once));
        spellings.spell(|out| quote(&once, b"&", out));
    };
    for digits in [DIGITS, UPPER_DIGITS] {
        for as_units in JSON_AS_UNITS {
            if as_units.is_empty() || letters.contains(|letter| as_units.contains(letter)) {
                give(as_units, false, digits);
            }
            if !letters.is_ascii() {
                give(as_units, true, digits);
            }
        }
        give(letters, true, digits);
    }
}

/// `letters` as in a JSON string, those in `as_units` by their number.
fn escape_json(letters: &str, as_units: &str, not_ascii: bool, digits: &[u8; 16], out: &mut Vec<u8>) {
    for letter in letters.chars() {
        let short = match letter {
            '"' | '\\' => Some(letter),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        let by_number = as_units.contains(letter) || (not_ascii && !letter.is_ascii());
        match short {
            _ if by_number || (short.is_none() && letter < ' ') => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(b"\\u");
                    for byte in unit.to_be_bytes() {
                        out.extend(hex_digits(byte, digits));
                    }
                }
            }
            Some(short) => out.extend([b'\\', short as u8]),
            None => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// HTML and XML: named references where there are any, else as it is.
fn html(letters: &str, spellings: &mut Spellings<'_>) {
    for others in HTML {
        let reference = |letter: char| others.iter().find(|(replaced, _)| *replaced == letter);
        // Most values hold none of them.
        if letters.contains(|letter| "&<>".contains(letter) || reference(letter).is_some()) {
            in_html(letters, spellings, |letter, out| match reference(letter) {
                Some((_, reference)) => out.extend_from_slice(reference.as_bytes()),
                None => named(letter, out),
            });
        }
    }
}

/// HTML and XML: every letter, or every symbol, as a number.
fn references(letters: &str, spellings: &mut Spellings<'_>) {
    for (sign, radix, digits) in
        [("&#", 10, DIGITS), ("&#x", 16, DIGITS), ("&#x", 16, UPPER_DIGITS), ("&#X", 16, UPPER_DIGITS)]
    {
        for keep in [|_: char| false, |letter: char| letter.is_ascii_alphanumeric()] {
            in_html(letters, spellings, |letter, out| {
                if keep(letter) {
                    return out.push(letter as u8);
                }
                out.extend_from_slice(sign.as_bytes());
                number(letter.into(), radix, digits, out);
                out.push(b';');
            });
        }
    }
}

/// Without zeros before it.
fn number(number: u32, radix: u32, digits: &[u8; 16], out: &mut Vec<u8>) {
    if number >= radix {
        self::number(number / radix, radix, digits, out);
    }
    out.push(digits[(number % radix) as usize]);
}

fn named(letter: char, out: &mut Vec<u8>) {
    match letter {
        '&' => out.extend_from_slice(b"&amp;"),
        '<' => out.extend_from_slice(b"&lt;"),
        '>' => out.extend_from_slice(b"&gt;"),
        _ => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// What `write` makes of the letters; the same twice; and in a JSON string, whose encoder may escape HTML.
fn in_html(letters: &str, spellings: &mut Spellings<'_>, write: impl Fn(char, &mut Vec<u8>)) {
    let mut once = Zeroizing::new(Vec::with_capacity(letters.len() * GROWTH));
    letters.chars().for_each(|letter| write(letter, &mut once));
    spellings.spell(|out| out.extend_from_slice(&once));
    if once.contains(&b'&') {
        spellings.spell(|out| replace(&once, b'&', "&amp;", out));
        spellings.spell(|out| quote(&once, b"\\u0026", out));
    }
    if once.iter().any(|byte| b"\"\\".contains(byte)) {
        spellings.spell(|out| quote(&once, b"&", out));
    }
}

/// Text without control characters in a JSON string.
fn quote(text: &[u8], ampersand: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'&' => out.extend_from_slice(ampersand),
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            _ => out.push(*byte),
        }
    }
}

fn replace(text: &[u8], byte: u8, by: &str, out: &mut Vec<u8>) {
    for part in text.split_inclusive(|other| *other == byte) {
        match part.split_last() {
            Some((last, before)) if *last == byte => {
                out.extend_from_slice(before);
                out.extend_from_slice(by.as_bytes());
            }
            _ => out.extend_from_slice(part),
        }
    }
}

/// Every byte that is not kept as `sign` and two digits.
fn escape_bytes(text: &[u8], keep: impl Fn(&u8) -> bool, sign: &str, digits: &[u8; 16], out: &mut Vec<u8>) {
    for byte in text {
        if keep(byte) {
            out.push(*byte);
        } else {
            out.extend_from_slice(sign.as_bytes());
            out.extend(hex_digits(*byte, digits));
        }
    }
}

fn hex_digits(byte: u8, digits: &[u8; 16]) -> [u8; 2] {
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &[u8]) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        each(value, &mut |spelling| all.push(spelling.to_vec()));
        all
    }

    #[test]
    fn the_stable_middle_of_base64_is_in_every_encoding() {
        let value = b"sk-0123456789abcdef";
        let spellings = of(value);
        for before in 0..7 {
            for after in 0..4 {
                let text = [&b"user:pw"[..before], value, &b"tail"[..after]].concat();
                for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
                    let encoded = engine.encode(&text).into_bytes();
                    let found = spellings.iter().any(|one| contains(&encoded, one));
                    assert!(found, "{before} bytes before and {after} after");
                }
            }
        }
    }

    #[test]
    fn no_spelling_is_shorter_than_the_value_or_outgrows_its_memory() {
        for value in [&b"12345678"[..], b"\xFF\x00\x01\x02\x03\x04\x05\x06", b"\"\\&<>'+=/ ", b"''\"\"\\\\&&++"] {
            for spelling in of(value) {
                let lengths = value.len()..=value.len() * GROWTH;
                assert!(lengths.contains(&spelling.len()), "{:?}", String::from_utf8_lossy(&spelling));
            }
        }
    }

    fn contains(text: &[u8], part: &[u8]) -> bool {
        text.windows(part.len()).any(|window| window == part)
    }
}

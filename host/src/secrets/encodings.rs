//! The spellings of a value in which an answer is searched for it: what APIs, web frameworks and log lines do
//! to a string that they echo. A list, and nothing else. It can never be complete: see the room's top.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// Every spelling of `value`, each once, without empty ones.
pub(super) fn of(value: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut all = Vec::new();
    all.push(value.to_vec());
    base64(value, &mut all);
    hex(value, &mut all);
    percent(value, &mut all);
    if let Ok(text) = std::str::from_utf8(value) {
        json(text, &mut all);
        entities(text, &mut all);
        let units = || text.encode_utf16();
        all.push(units().flat_map(u16::to_le_bytes).collect());
        all.push(units().flat_map(u16::to_be_bytes).collect());
    }
    // PHP's `json_encode` and others write `\/`, which base64 text is full of.
    let slashes: Vec<_> =
        all.iter().filter(|text| text.contains(&b'/')).map(|text| escape_slashes(text)).collect();
    all.extend(slashes);
    all.sort();
    all.dedup();
    all.into_iter().filter(|text| !text.is_empty()).map(Zeroizing::new).collect()
}

/// Base64 of the value alone, and what stays the same of it when other bytes stand before and after.
fn base64(value: &[u8], all: &mut Vec<Vec<u8>>) {
    for (padded, engine) in [(&STANDARD, &STANDARD_NO_PAD), (&URL_SAFE, &URL_SAFE_NO_PAD)] {
        all.push(padded.encode(value).into_bytes());
        all.push(engine.encode(value).into_bytes());
        for before in 0..3 {
            let mut shifted = Zeroizing::new(vec![0; before]);
            shifted.extend_from_slice(value);
            let text = engine.encode(&shifted).into_bytes();
            // Six bits a letter: those that hold only bits of the value are in the middle.
            let first = (before * 8).div_ceil(6);
            let last = shifted.len() * 8 / 6;
            all.push(text[first.min(last)..last].to_vec());
        }
    }
}

fn hex(value: &[u8], all: &mut Vec<Vec<u8>>) {
    for prefix in ["", "\\x"] {
        all.push(value.iter().flat_map(|byte| format!("{prefix}{byte:02x}").into_bytes()).collect());
        all.push(value.iter().flat_map(|byte| format!("{prefix}{byte:02X}").into_bytes()).collect());
    }
}

/// Percent-encoding as the URL functions of the common languages do it, once and twice.
fn percent(value: &[u8], all: &mut Vec<Vec<u8>>) {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let component = |byte: u8| unreserved(byte) || b"!*'()".contains(&byte);
    let whole_url = |byte: u8| component(byte) || b";/?:@&=+$,#".contains(&byte);
    let form = |byte: u8| byte.is_ascii_alphanumeric() || b"-._* ".contains(&byte);
    let nothing = |_: u8| false;
    let kept: [&dyn Fn(u8) -> bool; 5] = [&unreserved, &component, &whole_url, &form, &nothing];
    for keep in kept {
        for upper in [true, false] {
            for sign in ["%", "%25"] {
                let text: Vec<u8> = value
                    .iter()
                    .flat_map(|byte| match (keep(*byte), upper) {
                        (true, _) => vec![*byte],
                        (false, true) => format!("{sign}{byte:02X}").into_bytes(),
                        (false, false) => format!("{sign}{byte:02x}").into_bytes(),
                    })
                    .collect();
                all.push(text.iter().map(|byte| if *byte == b' ' { b'+' } else { *byte }).collect());
                all.push(text);
            }
        }
    }
}

/// JSON strings: what must be escaped, what is escaped for HTML's sake, everything, and once more around.
fn json(text: &str, all: &mut Vec<Vec<u8>>) {
    let plain = |_: char| false;
    let html = |letter: char| "<>&'\"".contains(letter);
    let not_ascii = |letter: char| !letter.is_ascii();
    let both = |letter: char| html(letter) || not_ascii(letter);
    let everything = |_: char| true;
    let as_unit: [&dyn Fn(char) -> bool; 5] = [&plain, &html, &not_ascii, &both, &everything];
    for as_unit in as_unit {
        for upper in [true, false] {
            let escaped = escape_json(text, as_unit, upper);
            all.push(escape_json(&escaped, &plain, upper).into_bytes());
            all.push(escaped.into_bytes());
        }
    }
}

fn escape_json(text: &str, as_unit: &dyn Fn(char) -> bool, upper: bool) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            _ if as_unit(letter) || (letter < ' ' && !"\n\r\t".contains(letter)) => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    out += &if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
                }
            }
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            _ => out.push(letter),
        }
    }
    out
}

/// HTML and XML: named references where there are any, else as it is; and every letter as a number.
fn entities(text: &str, all: &mut Vec<Vec<u8>>) {
    let quotes = [
        ("&quot;", "&#39;"),
        ("&#34;", "&#39;"),
        ("&#34;", "&apos;"),
        ("&quot;", "&apos;"),
        ("&quot;", "&#x27;"),
        ("&#x22;", "&#x27;"),
        ("&quot;", "'"),
        ("\"", "'"),
    ];
    for (double, single) in quotes {
        let letters = text.chars().map(|letter| match letter {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => double.to_owned(),
            '\'' => single.to_owned(),
            _ => letter.to_string(),
        });
        all.push(letters.collect::<String>().into_bytes());
    }
    let numbers: [&dyn Fn(u32) -> String; 4] = [
        &|code| format!("&#{code};"),
        &|code| format!("&#x{code:x};"),
        &|code| format!("&#x{code:X};"),
        &|code| format!("&#X{code:X};"),
    ];
    for number in numbers {
        all.push(text.chars().map(|letter| number(letter.into())).collect::<String>().into_bytes());
    }
    // Symbols as numbers, letters and digits as they are.
    for number in numbers {
        let letters = text
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_string() } else { number(letter.into()) });
        all.push(letters.collect::<String>().into_bytes());
    }
}

fn escape_slashes(text: &[u8]) -> Vec<u8> {
    text.iter().flat_map(|byte| if *byte == b'/' { b"\\/".to_vec() } else { vec![*byte] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn no_spelling_is_much_shorter_than_the_value() {
        for value in [&b"12345678"[..], b"\xFF\x00\x01\x02\x03\x04\x05\x06"] {
            for spelling in of(value) {
                assert!(spelling.len() >= value.len(), "{:?}", String::from_utf8_lossy(&spelling));
            }
        }
    }

    fn contains(text: &[u8], part: &[u8]) -> bool {
        text.windows(part.len()).any(|window| window == part)
    }
}

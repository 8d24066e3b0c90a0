//! Reading the little language of the cases' free texts: addresses, sizes, numbers, header lines.

use std::net::IpAddr;

/// All addresses in a text, in order.
pub(super) fn addresses(text: &str) -> Vec<IpAddr> {
    let pieces = text.split(|letter: char| !(letter.is_ascii_hexdigit() || letter == '.' || letter == ':'));
    pieces.filter_map(|piece| piece.trim_end_matches(['.', ':']).parse().ok()).collect()
}

/// Whether one of these words stands in a text.
pub(super) fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// The first number in a text.
pub(super) fn number(text: &str) -> Option<usize> {
    let digits = text.split(|letter: char| !letter.is_ascii_digit()).find(|piece| !piece.is_empty())?;
    digits.parse().ok()
}

/// The first size in a text, in bytes: `10 MiB`, `16 KiB+`, `1000 bytes`.
pub(super) fn size(text: &str) -> Option<u64> {
    let words: Vec<_> = text.split_whitespace().collect();
    words.windows(2).find_map(|pair| {
        let number: u64 = pair[0].parse().ok()?;
        let factor = match pair[1].trim_end_matches(['+', ',', '.', ';']) {
            "B" | "byte" | "bytes" => 1,
            "KiB" | "KB" | "kB" => 1 << 10,
            "MiB" | "MB" => 1 << 20,
            "GiB" | "GB" => 1 << 30,
            _ => return None,
        };
        number.checked_mul(factor)
    })
}

/// The `Name: value` pairs of a text, which commas, plus signs or semicolons part.
pub(super) fn header_lines(text: &str) -> Vec<(String, String)> {
    let pieces = text.split([',', ';', '+', '\n']).map(str::trim);
    let pairs = pieces.filter_map(|piece| {
        let (name, value) = piece.split_once(": ")?;
        let name = name.rsplit(' ').next().unwrap_or(name);
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_name.then(|| (name.to_owned(), value.trim().to_owned()))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read() {
        assert_eq!(
            addresses("request 1 ok with 93.184.215.14; then ::1, [fd00::5]:443. End of a face."),
            ["93.184.215.14", "::1", "fd00::5"].map(|text| text.parse::<IpAddr>().expect("an address"))
        );
        assert_eq!(number("guest opens 1000 requests at once"), Some(1000));
        assert_eq!(size("10 MiB gzip -> 10 GiB"), Some(10 << 20));
        assert_eq!(size("16 KiB+ list"), Some(16 << 10));
        assert_eq!(size("no size in 7 words"), None);
        let pairs = header_lines("Content-Length: 5, Content-Length: 6");
        assert_eq!(
            pairs,
            [("Content-Length".to_owned(), "5".to_owned()), ("Content-Length".to_owned(), "6".to_owned())]
        );
        assert_eq!(header_lines("one byte per second"), []);
    }
}

//! Text out of what feeds put into titles: without HTML, on one line, not too long. Pure.

/// Makes plain text of at most so many characters.
pub fn plain(text: &str, most: usize) -> String {
    let mut plain = String::new();
    let mut characters = 0;
    for word in decoded(&without_tags(text)).split_whitespace() {
        let length = word.chars().count() + usize::from(!plain.is_empty());
        if characters + length > most {
            let left = most.saturating_sub(characters + 1 + usize::from(!plain.is_empty()));
            if !plain.is_empty() {
                plain.push(' ');
            }
            plain.extend(word.chars().take(left));
            plain.truncate(plain.trim_end().len());
            plain.push('…');
            break;
        }
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
        characters += length;
    }
    plain
}

/// What stands between tags. A `<` that begins none stays: `a < b` is no HTML.
fn without_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        let begins_tag = from[1..].starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next));
        match from.find('>').filter(|_| begins_tag) {
            Some(end) => {
                // Words on both sides of a `<br>` stay two.
                kept.push(' ');
                rest = &from[end + 1..];
            }
            None => {
                kept.push('<');
                rest = &from[1..];
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Replaces character references, and what is not to be seen by white space.
fn decoded(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, from) = rest.split_at(at);
        decoded.push_str(before);
        // No reference is longer than this.
        let end = from.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((character(&from[1..end])?, end))) {
            Some((character, end)) => {
                decoded.push(character);
                rest = &from[end + 1..];
            }
            None => {
                decoded.push('&');
                rest = &from[1..];
            }
        }
    }
    decoded.push_str(rest);
    decoded.chars().map(|character| if is_hidden(character) { ' ' } else { character }).collect()
}

fn character(reference: &str) -> Option<char> {
    Some(match reference {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        _ => {
            let number = reference.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    })
}

/// Control characters, and those that change the direction of text or take no room: they can make a title look like
/// another, or hide words in it.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(character, '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn text_is_what_people_would_read() {
        let check = |text, expected| assert_eq!(plain(text, 40), expected);
        check("  One\n\ttwo ", "One two");
        check("<b>Bold</b> &amp; <i class='x'>slanted</i>", "Bold & slanted");
        check("one<br/>two<script>three", "one two three");
        check("a < b && c > d", "a < b && c > d");
        check("caf&#233; &#xe9; &#X41;&hellip;", "café é A…");
        check("&unknown; &#0; &#x110000; &; & &am", "&unknown; &#x110000; &; & &am");
        check("&lt;script&gt;", "<script>");
        check("in\u{202e}vis\u{200b}ible", "in vis ible");
        check("unclosed <b", "unclosed <b");
        check("<", "<");
        check("é&é;", "é&é;");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(plain("one two three", 13), "one two three");
        assert_eq!(plain("one two three", 12), "one two thr…");
        assert_eq!(plain("one two three", 8), "one two…");
        assert_eq!(plain(&"é".repeat(100), 10), format!("{}…", "é".repeat(9)));
    }
}

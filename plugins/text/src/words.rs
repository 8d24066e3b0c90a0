//! Counting, cases and shortening: text as characters and words.

/// How long a text is.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Count {
    /// Bytes, as UTF-8.
    bytes: usize,
    /// Unicode characters (scalar values).
    characters: usize,
    /// Runs of characters other than white space.
    words: usize,
    /// Lines, the last one counted even without its end.
    lines: usize,
}

/// A way to write a name.
#[remit_sdk::data]
#[serde(rename_all = "snake_case")]
#[derive(Clone, Copy)]
pub enum Case {
    /// `helloWorld`
    Camel,
    /// `HelloWorld`
    Pascal,
    /// `hello_world`
    Snake,
    /// `HELLO_WORLD`
    ScreamingSnake,
    /// `hello-world`
    Kebab,
    /// `Hello World`
    Title,
    /// `hello-world`, of letters and digits of ASCII only
    Slug,
    /// `hello, world`: the text as it is, in lower case
    Lower,
    /// `HELLO, WORLD`: the text as it is, in upper case
    Upper,
}

/// A text that was cut where it had to be.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Shortened {
    /// The text.
    text: String,
    /// How many characters are missing.
    characters_cut: usize,
}

/// Counts.
pub fn count(text: &str) -> Count {
    Count {
        bytes: text.len(),
        characters: text.chars().count(),
        words: text.split_whitespace().count(),
        lines: text.lines().count(),
    }
}

/// Writes the words of a text in another case.
pub fn convert_case(text: &str, case: Case) -> String {
    let joined = |separator: &str, write: fn(&str) -> String| {
        words(text).iter().map(|word| write(word)).collect::<Vec<_>>().join(separator)
    };
    match case {
        Case::Camel => uncapitalized(&joined("", capitalized)),
        Case::Pascal => joined("", capitalized),
        Case::Snake => joined("_", str::to_lowercase),
        Case::ScreamingSnake => joined("_", str::to_uppercase),
        Case::Kebab => joined("-", str::to_lowercase),
        Case::Title => joined(" ", capitalized),
        Case::Slug => words(&text.chars().map(to_ascii).collect::<String>()).join("-").to_lowercase(),
        Case::Lower => text.to_lowercase(),
        Case::Upper => text.to_uppercase(),
    }
}

/// The words of a text or an identifier: `parseHTTPBody_v2` is `parse`, `HTTP`, `Body`, `v2`.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let characters: Vec<char> = text.chars().collect();
    for (at, &character) in characters.iter().enumerate() {
        let apostrophe = matches!(character, '\'' | '’') && words.last().is_some_and(|word| !word.is_empty());
        if apostrophe {
            continue;
        }
        if !character.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = at.checked_sub(1).map(|index| characters[index]);
        let after = characters.get(at + 1);
        let starts_hump = character.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || before.is_some_and(char::is_uppercase) && after.is_some_and(|after| after.is_lowercase()));
        if starts_hump {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(character);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    let Some(first) = characters.next() else { return String::new() };
    first.to_uppercase().chain(characters.flat_map(char::to_lowercase)).collect()
}

fn uncapitalized(word: &str) -> String {
    let mut characters = word.chars();
    let Some(first) = characters.next() else { return String::new() };
    first.to_lowercase().chain(characters).collect()
}

/// The plain letter of the common accented ones of Latin-1. What has none ends a word of a slug.
fn to_ascii(character: char) -> char {
    match character {
        'à'..='å' => 'a',
        'À'..='Å' => 'A',
        'ç' => 'c',
        'Ç' => 'C',
        'è'..='ë' => 'e',
        'È'..='Ë' => 'E',
        'ì'..='ï' => 'i',
        'Ì'..='Ï' => 'I',
        'ñ' => 'n',
        'Ñ' => 'N',
        'ò'..='ö' | 'ø' => 'o',
        'Ò'..='Ö' | 'Ø' => 'O',
        'ù'..='ü' => 'u',
        'Ù'..='Ü' => 'U',
        'ý' | 'ÿ' => 'y',
        'Ý' => 'Y',
        '\'' | '’' => '\'',
        plain if plain.is_ascii() => plain,
        _ => ' ',
    }
}

/// Shortens a text to a number of characters, the mark included.
pub fn truncate(text: &str, max_characters: u32, mark: &str) -> Shortened {
    let length = text.chars().count();
    let limit = max_characters as usize;
    if length <= limit {
        return Shortened { text: text.to_owned(), characters_cut: 0 };
    }
    let mark: String = mark.chars().take(limit).collect();
    let room = limit - mark.chars().count();
    let kept: String = text.chars().take(room).collect();
    let in_word = kept.chars().next_back().is_some_and(|last| !last.is_whitespace())
        && text.chars().nth(room).is_some_and(|next| !next.is_whitespace());
    let kept = match kept.rfind(char::is_whitespace) {
        Some(end) if in_word => kept[..end].trim_end(),
        _ => kept.trim_end(),
    };
    Shortened { characters_cut: length - kept.chars().count(), text: format!("{kept}{mark}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let check = |text, [bytes, characters, words, lines]: [usize; 4]| {
            assert_eq!(count(text), Count { bytes, characters, words, lines }, "{text:?}");
        };
        check("", [0, 0, 0, 0]);
        check("é", [2, 1, 1, 1]);
        check("one  two\nthree\n", [15, 15, 3, 2]);
        check("\r\n\r\n", [4, 4, 0, 2]);
    }

    #[test]
    fn cases() {
        let check = |text, case, expected| assert_eq!(convert_case(text, case), expected, "{text:?}");
        check("parse HTTP body", Case::Camel, "parseHttpBody");
        check("parseHTTPBody_v2", Case::Snake, "parse_http_body_v2");
        check("hello_world", Case::Pascal, "HelloWorld");
        check("helloWorld", Case::ScreamingSnake, "HELLO_WORLD");
        check("Hello,  World!", Case::Kebab, "hello-world");
        check("don’t stop", Case::Title, "Dont Stop");
        check("Crème brûlée: 3 façons / 東京", Case::Slug, "creme-brulee-3-facons");
        check("Straße", Case::Upper, "STRASSE");
        check("ÀB c", Case::Lower, "àb c");
        check("", Case::Camel, "");
        check("--", Case::Slug, "");
    }

    #[test]
    fn cuts() {
        let check = |text, limit, mark, expected: &str, cut| {
            let expected = Shortened { text: expected.to_owned(), characters_cut: cut };
            assert_eq!(truncate(text, limit, mark), expected, "{text:?} to {limit}");
        };
        check("one two three", 13, "…", "one two three", 0);
        check("one two three", 8, "…", "one two…", 6);
        check("one two three", 7, "…", "one…", 10);
        check("unbreakable", 5, "…", "unbr…", 7);
        check("éééé", 2, "", "éé", 2);
        check("long", 2, "[cut]", "[c", 4);
        check("long", 1, "…", "…", 4);
    }
}

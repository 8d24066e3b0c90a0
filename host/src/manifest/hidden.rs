//! Characters that a person cannot see but a model or a terminal obeys.

/// Whether a character does not show, or changes how others show. Ordinary spaces, joined emoji apart, and
/// letters of every script do show.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    match character {
        // The two variation selectors that choose between text and picture are part of common emoji.
        '\u{fe0e}' | '\u{fe0f}' => false,
        // Soft hyphen, combining joiner, Arabic letter mark, fillers, Khmer inherent vowels, Mongolian
        // selectors, zero-width and direction marks, line and paragraph separators, embeddings and
        // overrides, invisible operators and isolates, variation selectors, byte order mark, annotations,
        // musical beams, and the whole block of tags and further variation selectors.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => character.is_control(),
    }
}

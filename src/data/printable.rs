//! Text of unknown origin, made safe to print on one line of a terminal.

use std::borrow::Cow;

/// Replaces what moves the cursor, hides text or reverses its direction by its escape: `\n`, `\u{1b}`, `\u{202e}`.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_unsafe(character) { safe.extend(character.escape_default()) } else { safe.push(character) }
    }
    Cow::Owned(safe)
}

/// The text in quotes, printable, cut to 60 characters.
#[must_use]
pub(super) fn quoted(text: &str) -> String {
    let mut cut: String = text.chars().take(60).collect();
    if text.chars().nth(60).is_some() {
        cut.push('…');
    }
    format!("\"{}\"", printable(&cut))
}

fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_direction_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31m\r\nb\u{202e}c"), "a\\u{1b}[31m\\r\\nb\\u{202e}c");
        assert_eq!(printable("视频 – ok"), "视频 – ok");
    }

    #[test]
    fn quotes_are_cut() {
        assert_eq!(quoted(&"x".repeat(61)), format!("\"{}…\"", "x".repeat(60)));
        assert_eq!(quoted(&"x".repeat(60)), format!("\"{}\"", "x".repeat(60)));
    }
}

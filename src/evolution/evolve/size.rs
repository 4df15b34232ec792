//! How long a text is for a model.

/// An estimate of tokens: one per character of scripts without spaces, one per four characters of all others,
/// rounded up. Within about a quarter of what common tokenizers count for prose; it needs none of them.
#[must_use]
pub fn estimate_tokens(text: &str) -> usize {
    let dense = text.chars().filter(|char| is_dense(*char)).count();
    let other = text.chars().count() - dense;
    dense + other.div_ceil(4)
}

/// Whether a character belongs to a script that writes without spaces: Chinese, Japanese, Korean.
pub(super) fn is_dense(char: char) -> bool {
    matches!(char, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_without_spaces_count_by_character() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("abcde"), 2);
        assert_eq!(estimate_tokens("先看字幕 ok"), 4 + 1);
    }
}

//! Small rules about text: how much of it fits, and how it is cut.

/// A cautious estimate of the tokens of a text: about 3.5 ASCII characters each, one for every other character.
pub(super) fn estimated_tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - ascii;
    (ascii * 2).div_ceil(7) + others
}

/// The text cut to at most `limit` characters, with a mark that says so. Never inside a character.
pub(super) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
    }
}

/// The text cut so that its estimate is at most `tokens`.
pub(super) fn cut_to_tokens(text: &str, tokens: usize) -> String {
    if estimated_tokens(text) <= tokens {
        return text.to_owned();
    }
    // Sevenths of a token, so that the sum stays exact: 2 for an ASCII character, 7 for any other.
    let budget = tokens.saturating_mul(7);
    let mut used = 0;
    let mut kept: usize = 0;
    for char in text.chars() {
        used += if char.is_ascii() { 2 } else { 7 };
        if used > budget {
            break;
        }
        kept += 1;
    }
    cut(text, kept.saturating_sub(4))
}

/// One line: white space of any kind becomes single spaces.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `12.5`, `60`: seconds without a needless fraction.
pub(super) fn seconds(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.fract() == 0.0 { format!("{rounded:.0}") } else { format!("{rounded:.1}") }
}

/// `[12.5–60 s]`.
pub(super) fn time_range(range: (f64, f64)) -> String {
    format!("[{}–{} s]", seconds(range.0), seconds(range.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cutting_keeps_characters_whole_and_says_so() {
        assert_eq!(cut("视频问答", 2), "视频…");
        assert_eq!(cut("ab", 2), "ab");
        assert_eq!(time_range((0.0, 12.54)), "[0–12.5 s]");
    }

    proptest! {
        #[test]
        fn a_text_cut_to_tokens_fits(text in any::<String>(), tokens in 1_usize..60) {
            prop_assert!(estimated_tokens(&cut_to_tokens(&text, tokens)) <= tokens);
        }
    }
}

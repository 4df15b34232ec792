//! Hostile text made plain: one Unicode form, no control sequences, no reasoning.

use unicode_normalization::UnicodeNormalization;

/// Tags in which models think aloud; what they enclose is never the answer.
const REASONING_TAGS: [&str; 5] = ["think", "thinking", "reasoning", "thought", "scratchpad"];

/// The text without the parts in which the model thinks aloud.
///
/// `<think> … </think>` is cut out; an unclosed opening tag hides all that follows, and a closing tag
/// without an opening one (chat templates swallow it) hides all that precedes.
#[must_use]
pub fn strip_reasoning(text: &str) -> String {
    let mut rest = text.to_owned();
    for tag in REASONING_TAGS {
        rest = strip_tag(&rest, tag);
    }
    rest
}

/// One pass over the tags in order, so that a text of nothing but tags stays linear.
fn strip_tag(text: &str, tag: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let openings = lower.match_indices(&open).map(|(at, _)| (at, true));
    let closings = lower.match_indices(&close).map(|(at, _)| (at, false));
    let mut tags: Vec<_> = openings.chain(closings).collect();
    tags.sort_unstable();
    let mut kept = String::new();
    let mut from = 0;
    let mut inside = false;
    for (at, opens) in tags {
        if opens {
            if !inside {
                kept.push_str(text.get(from..at).unwrap_or_default());
                kept.push(' ');
            }
            inside = true;
        } else {
            if !inside {
                kept.clear();
            }
            inside = false;
            from = at + close.len();
        }
    }
    if !inside {
        kept.push_str(text.get(from..).unwrap_or_default());
    }
    kept
}

/// One line-preserving form: compatibility-composed (so that `Ｃ`, `Ⓒ` and `𝐂` are `C`), without terminal
/// escapes, control and invisible characters.
pub(super) fn plain(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut chars = text.nfkc().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => {
                // A control sequence: `ESC [ parameters letter`. A lone escape is dropped.
                if chars.peek() == Some(&'[') {
                    chars.next();
                    while chars.next_if(|next| matches!(next, '0'..='9' | ';' | '?')).is_some() {}
                    chars.next_if(char::is_ascii_alphabetic);
                }
            }
            '\n' | '\r' => kept.push('\n'),
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{ad}'
            | '\u{fe00}'..='\u{fe0f}' => {}
            other if other.is_control() || other.is_whitespace() => kept.push(' '),
            other => kept.push(other),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_is_cut_however_its_tags_are_paired() {
        assert_eq!(strip_reasoning("<think>A</think>B<THINK>C</THINK>D").replace(' ', ""), "BD");
        assert_eq!(strip_reasoning("it is A</think>B"), "B");
        assert_eq!(strip_reasoning("B<think>no, A").trim(), "B");
        assert_eq!(strip_reasoning("no tags < here >"), "no tags < here >");
    }

    #[test]
    fn escapes_and_invisible_characters_vanish() {
        assert_eq!(plain("\u{1b}[1;31mＣ\u{1b}[0m\u{200b}\0"), "C ");
        assert_eq!(plain("a\r\nb"), "a\n\nb");
    }
}

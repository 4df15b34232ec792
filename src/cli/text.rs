//! Text from outside, made safe for a terminal.

use unicode_width::UnicodeWidthStr;

/// One line of text without anything that could act on a terminal: control characters and characters that change
/// the direction of writing are shown as escapes.
pub(super) fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut line, c| {
        if c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
        line
    })
}

/// The same for a line of a text with its indentation.
pub(super) fn printable_keeping_tabs(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// Text in lines of at most `width` columns, none for one line, each behind `indent` spaces.
pub(super) fn wrapped(text: &str, width: Option<u16>, indent: usize) -> String {
    let space = " ".repeat(indent);
    let limit = width.map_or(usize::MAX, usize::from);
    let mut lines = vec![space.clone()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        let is_empty = line.len() == indent;
        if is_empty || line.width() + 1 + word.width() <= limit {
            line.push_str(if is_empty { "" } else { " " });
            line.push_str(word);
        } else {
            lines.push(format!("{space}{word}"));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}d 视频"), "a\\u{1b}[2Jb\\nc\\u{202e}d 视频");
    }

    #[test]
    fn wrapped_lines_keep_to_the_width_and_lose_no_word() {
        let text = "E = 31.88 reaches 20, which without an improvement happens in at most 5 % of gates";
        let lines = wrapped(text, Some(40), 2);
        assert!(lines.lines().all(|line| line.width() <= 40 && line.starts_with("  ")), "{lines}");
        assert_eq!(lines.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
        assert_eq!(wrapped(text, None, 0), text);
    }
}

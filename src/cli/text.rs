//! Text from outside, made safe for a terminal.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}d 视频"), "a\\u{1b}[2Jb\\nc\\u{202e}d 视频");
    }
}

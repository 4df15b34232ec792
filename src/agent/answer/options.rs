//! The options of a question, ready for comparison.

use super::clean::plain;
use crate::domain::Choice;

/// Letters and comparable texts of one question's options.
pub(super) struct Options {
    choices: Vec<(char, String)>,
    longest: usize,
}

/// What a text is among the options.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// No option's text.
    None,
    /// Exactly one option's text.
    One(char),
    /// The text of several options.
    Several,
}

impl Options {
    pub(super) fn new(choices: &[Choice]) -> Self {
        let choices: Vec<_> = choices.iter().map(|choice| (choice.letter, comparable(&choice.text))).collect();
        let longest = choices.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        Self { choices, longest }
    }

    /// More characters than any option's text has with its decoration: a longer text is none of them.
    pub(super) fn reach(&self) -> usize {
        self.longest + 16
    }

    /// Whether an option has this upper-case letter.
    pub(super) fn has(&self, letter: char) -> bool {
        self.choices.iter().any(|(candidate, _)| *candidate == letter)
    }

    /// How many options there are.
    pub(super) fn len(&self) -> usize {
        self.choices.len()
    }

    /// Which option's text this is, letter case, spacing, quotes and a final full stop aside.
    pub(super) fn exact(&self, text: &str) -> Match {
        let wanted = comparable(text);
        if wanted.is_empty() {
            return Match::None;
        }
        let mut found = self.choices.iter().filter(|(_, candidate)| *candidate == wanted);
        match (found.next(), found.next()) {
            (None, _) => Match::None,
            (Some((letter, _)), None) => Match::One(*letter),
            (Some(_), Some(_)) => Match::Several,
        }
    }

    /// Whether `text` begins with the text of the option of this letter.
    pub(super) fn starts_with_option(&self, text: &str, letter: char) -> bool {
        let text = comparable(text);
        self.choices
            .iter()
            .any(|(candidate, option)| *candidate == letter && !option.is_empty() && text.starts_with(option.as_str()))
    }
}

/// Lower case, single spaces, no decoration at the ends.
fn comparable(text: &str) -> String {
    let plain = plain(text).to_lowercase();
    let trimmed = plain.trim_matches(|char: char| {
        char.is_whitespace() || matches!(char, '*' | '_' | '`' | '"' | '\'' | '.' | '。' | '“' | '”' | '‘' | '’' | '!')
    });
    trimmed.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_of_two_options_name_none_of_them() {
        let choices =
            [('A', "Red."), ('B', "blue"), ('C', "red")].map(|(letter, text)| Choice { letter, text: text.to_owned() });
        let options = Options::new(&choices);
        assert_eq!(options.exact(" \"Blue\" "), Match::One('B'));
        assert_eq!(options.exact("RED"), Match::Several);
        assert_eq!(options.exact("blu"), Match::None);
        assert_eq!(options.exact("  "), Match::None);
    }
}

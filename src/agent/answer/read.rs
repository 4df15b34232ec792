//! The order in which the rules of answer extraction are tried.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::clean::{plain, strip_reasoning};
use super::decorated::{in_prose, only_letter};
use super::head::{Head, read_head};
use super::markers::last_marked;
use super::options::{Match, Options};
use crate::domain::Choice;

/// The letter, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Extraction {
    /// One option was named.
    Letter {
        /// Its letter, upper case, always one of the question's.
        letter: char,
        /// How it was found.
        rule: AnswerRule,
    },
    /// No option, or more than one.
    Unparsed {
        /// Why.
        reason: UnparsedReason,
    },
}

impl Extraction {
    /// The letter, if there is one.
    #[must_use]
    pub fn letter(self) -> Option<char> {
        match self {
            Self::Letter { letter, .. } => Some(letter),
            Self::Unparsed { .. } => None,
        }
    }
}

/// How a letter was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerRule {
    /// The text is a letter and nothing else.
    OnlyLetter,
    /// The text is exactly that of one option.
    OptionText,
    /// An answer field that begins with the letter.
    Field,
    /// The last explicit marker.
    Marker,
    /// A decorated letter in prose.
    Decorated,
}

/// Why no letter was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnparsedReason {
    /// Nothing was written.
    Empty,
    /// Everything written was reasoning.
    OnlyReasoning,
    /// The text names no option.
    NoAnswer,
    /// The text says that no option fits or that it does not know.
    Declined,
    /// The text names several options.
    Ambiguous,
    /// The letter named is none of the options.
    NotAnOption,
    /// Nothing was submitted before the steps ran out.
    NotSubmitted,
}

impl UnparsedReason {
    /// The stable name, snake_case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::OnlyReasoning => "only_reasoning",
            Self::NoAnswer => "no_answer",
            Self::Declined => "declined",
            Self::Ambiguous => "ambiguous",
            Self::NotAnOption => "not_an_option",
            Self::NotSubmitted => "not_submitted",
        }
    }
}

/// Reads a whole reply: a JSON object's `answer` field if it has one, else the text.
#[must_use]
pub fn from_reply(text: &str, choices: &[Choice]) -> Extraction {
    let stripped = strip_reasoning(text);
    if stripped.trim().is_empty() {
        let reason = if text.trim().is_empty() { UnparsedReason::Empty } else { UnparsedReason::OnlyReasoning };
        return Extraction::Unparsed { reason };
    }
    if let Some(field) = answer_field(&stripped) {
        return from_value(&field, choices);
    }
    from_text(&plain(&stripped), &Options::new(choices), false)
}

/// Reads the value of an explicit answer field, whatever its JSON type.
#[must_use]
pub fn from_value(value: &Value, choices: &[Choice]) -> Extraction {
    match value {
        Value::Null => Extraction::Unparsed { reason: UnparsedReason::Empty },
        Value::String(text) => {
            let stripped = strip_reasoning(text);
            from_text(&plain(&stripped), &Options::new(choices), true)
        }
        Value::Bool(_) | Value::Number(_) => from_text(&value.to_string(), &Options::new(choices), true),
        Value::Array(items) => match items.as_slice() {
            [] => Extraction::Unparsed { reason: UnparsedReason::Empty },
            [one] => from_value(one, choices),
            _ => Extraction::Unparsed { reason: UnparsedReason::Ambiguous },
        },
        Value::Object(fields) => ["answer", "letter", "option", "choice", "value", "text"]
            .iter()
            .find_map(|name| fields.get(*name))
            .map_or(Extraction::Unparsed { reason: UnparsedReason::NoAnswer }, |inner| from_value(inner, choices)),
    }
}

/// The `answer` field of a reply that is one JSON object, fenced or not.
fn answer_field(text: &str) -> Option<Value> {
    let trimmed = text.trim();
    let body = trimmed
        .strip_prefix("```json")
        .or_else(|| trimmed.strip_prefix("```"))
        .map_or(trimmed, |rest| rest.trim_end().trim_end_matches("```"))
        .trim();
    if !body.starts_with('{') {
        return None;
    }
    let value: Value = serde_json::from_str(body).ok()?;
    let fields = value.as_object()?;
    ["answer", "final_answer", "Answer", "best_answer"].iter().find_map(|name| fields.get(*name)).cloned()
}

fn from_text(text: &str, options: &Options, is_field: bool) -> Extraction {
    let found = |letter, rule| Extraction::Letter { letter, rule };
    let unparsed = |reason| Extraction::Unparsed { reason };
    if text.trim().is_empty() {
        return unparsed(UnparsedReason::Empty);
    }
    if let Some(letter) = only_letter(text) {
        return if options.has(letter) {
            found(letter, AnswerRule::OnlyLetter)
        } else {
            match options.exact(text) {
                Match::One(letter) => found(letter, AnswerRule::OptionText),
                Match::None | Match::Several => unparsed(UnparsedReason::NotAnOption),
            }
        };
    }
    match options.exact(text) {
        Match::One(letter) => return found(letter, AnswerRule::OptionText),
        Match::Several => return unparsed(UnparsedReason::Ambiguous),
        Match::None => {}
    }
    let chars: Vec<char> = text.trim().chars().collect();
    if is_field || begins_with_labelled_option(&chars, options) {
        match read_head(&chars, 0, false, options) {
            Head::Letter(letter) => return found(letter, AnswerRule::Field),
            Head::Text(letter) => return found(letter, AnswerRule::OptionText),
            Head::Ambiguous => return unparsed(UnparsedReason::Ambiguous),
            Head::Retracted => return unparsed(UnparsedReason::Declined),
            Head::NotAnOption(_) | Head::Nothing => {}
        }
    }
    let marked = last_marked(text, options);
    let (head, rule) = match marked {
        Some(head) => (head, AnswerRule::Marker),
        None => (in_prose(text, options), AnswerRule::Decorated),
    };
    match head {
        Head::Letter(letter) => found(letter, rule),
        Head::Text(letter) => found(letter, AnswerRule::OptionText),
        Head::Ambiguous => unparsed(UnparsedReason::Ambiguous),
        Head::NotAnOption(_) => unparsed(UnparsedReason::NotAnOption),
        Head::Retracted => unparsed(UnparsedReason::Declined),
        Head::Nothing => unparsed(UnparsedReason::NoAnswer),
    }
}

/// A reply of one line that is an option with its letter: "C. 10 cars", "(C) 10 cars".
fn begins_with_labelled_option(chars: &[char], options: &Options) -> bool {
    if chars.contains(&'\n') {
        return false;
    }
    let text: String = chars.iter().collect();
    let text = text.trim_start_matches(['*', '(', '[', '_', '`', '"', ' ']);
    let mut rest = text.chars();
    let Some(letter) = rest.next().filter(|letter| options.has(letter.to_ascii_uppercase())) else { return false };
    let Some(body) = rest.as_str().strip_prefix(['.', ')', ':', ']', '、']) else { return false };
    let body = body.trim_start_matches(['*', ')', ']', '.', ':', ' ']);
    options.exact(body) == Match::One(letter.to_ascii_uppercase())
}

//! The words of text that is almost JSON: quoted texts, bare words, blanks and comments.
//!
//! Every look at a character is counted, so that a test can show that the work is linear in the text.

use serde_json::{Number, Value};

/// A key or a value that is no container.
#[derive(Debug)]
pub(super) enum Token {
    /// With quotation marks, or a key without.
    Text(String),
    /// Without quotation marks.
    Value(Value),
    /// The end of the text fell into it.
    Cut,
}

/// The kinds of quotation marks, and what ends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    Double,
    Single,
    CurlyDouble,
    CurlySingle,
    Backtick,
}

impl Quote {
    /// The kind that this character opens.
    pub(super) fn of(char: char) -> Option<Self> {
        match char {
            '"' => Some(Self::Double),
            '\'' => Some(Self::Single),
            '\u{201c}' | '\u{201d}' | '\u{201e}' => Some(Self::CurlyDouble),
            '\u{2018}' | '\u{2019}' => Some(Self::CurlySingle),
            '`' => Some(Self::Backtick),
            _ => None,
        }
    }

    fn ends_with(self, char: char) -> bool {
        match self {
            Self::Double => char == '"',
            Self::Single => char == '\'',
            // Often only one of the two was made curly.
            Self::CurlyDouble => matches!(char, '\u{201c}' | '\u{201d}' | '"'),
            Self::CurlySingle => matches!(char, '\u{2018}' | '\u{2019}' | '\''),
            Self::Backtick => char == '`',
        }
    }
}

/// A place in the text, which counts how often it looks.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    text: &'a str,
    position: usize,
    looked_at: usize,
}

impl<'a> Reader<'a> {
    /// A place in a text.
    pub(super) fn at(text: &'a str, position: usize) -> Self {
        Self { text, position, looked_at: position }
    }

    /// How many characters were looked at so far.
    pub(super) fn looked_at(&self) -> usize {
        self.looked_at
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or_default()
    }

    /// The next character, which stays.
    pub(super) fn peek(&mut self) -> Option<char> {
        self.looked_at += 1;
        self.rest().chars().next()
    }

    /// The next character, which is passed.
    pub(super) fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.position += char.len_utf8();
        Some(char)
    }

    /// Passes over white space, byte order marks and comments.
    pub(super) fn skip_blank(&mut self) {
        while let Some(char) = self.peek() {
            if char.is_whitespace() || char == '\u{feff}' {
                self.next();
            } else if char == '#' || self.rest().starts_with("//") {
                while self.peek().is_some_and(|char| char != '\n') {
                    self.next();
                }
            } else if self.rest().starts_with("/*") {
                let end = self.rest().find("*/").map_or(self.rest().len(), |end| end + 2);
                self.looked_at += end;
                self.position += end;
            } else {
                return;
            }
        }
    }

    /// A quoted text, from its opening mark to past its closing one.
    pub(super) fn quoted(&mut self, quote: Quote, wants_key: bool, in_object: bool) -> String {
        let tripled = match quote {
            Quote::Double => Some("\"\"\""),
            Quote::Single => Some("'''"),
            Quote::CurlyDouble | Quote::CurlySingle | Quote::Backtick => None,
        };
        if let Some(mark) = tripled.filter(|mark| self.rest().starts_with(*mark)) {
            return self.tripled(mark);
        }
        self.next();
        let mut text = String::new();
        while let Some(char) = self.next() {
            if char == '\\' {
                self.escape(&mut text);
            } else if quote.ends_with(char) && self.closes(wants_key, in_object) {
                break;
            } else {
                text.push(char);
            }
        }
        text
    }

    fn tripled(&mut self, mark: &str) -> String {
        self.position += mark.len();
        let rest = self.rest();
        let (text, used) = match rest.split_once(mark) {
            Some((text, _)) => (text.to_owned(), text.len() + mark.len()),
            None => (rest.to_owned(), rest.len()),
        };
        self.looked_at += used;
        self.position += used;
        text
    }

    /// Whether a quotation mark that was just passed ends its text: what follows it decides.
    fn closes(&mut self, wants_key: bool, in_object: bool) -> bool {
        let mut ahead = self.rest().chars().inspect(|_| self.looked_at += 1);
        let mut next = || ahead.by_ref().find(|char| !char.is_whitespace());
        match next() {
            None | Some('}' | ']' | ')') => true,
            Some(':' | '=') => wants_key,
            // After a comma in an object a key must follow, or the comma belongs to the text.
            Some(',') if in_object => match next() {
                None | Some('}' | ',' | '/' | '#') => true,
                Some(char) => Quote::of(char).is_some() || char.is_alphabetic() || char == '_',
            },
            Some(',') => true,
            // A comma is missing, and the next key or item begins.
            Some(char) => Quote::of(char).is_some() && self.rest().starts_with(char::is_whitespace),
        }
    }

    /// What follows a backslash.
    fn escape(&mut self, text: &mut String) {
        let Some(char) = self.next() else { return };
        match char {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            '"' | '\'' | '\\' | '/' | '\n' => text.push(char),
            'u' => self.unicode_escape(text),
            other => {
                text.push('\\');
                text.push(other);
            }
        }
    }

    fn unicode_escape(&mut self, text: &mut String) {
        let Some(unit) = self.hex_unit() else {
            text.push_str("\\u");
            return;
        };
        if (0xD800..0xDC00).contains(&unit) && self.rest().starts_with("\\u") {
            let back = self.position;
            self.position += 2;
            if let Some(low) = self.hex_unit().filter(|low| (0xDC00..0xE000).contains(low)) {
                let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                return;
            }
            self.position = back;
        }
        text.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    }

    /// Four hexadecimal digits, if they are there.
    fn hex_unit(&mut self) -> Option<u32> {
        self.looked_at += 4;
        let digits = self.rest().get(..4)?;
        let unit =
            digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())??;
        self.position += 4;
        Some(unit)
    }

    /// A word or number without quotation marks.
    pub(super) fn bare(&mut self, wants_key: bool) -> Token {
        let start = self.position;
        while let Some(char) = self.peek() {
            let ends = match char {
                ',' | '}' | ']' | ')' | '\n' | '{' | '[' => true,
                ':' | '=' => wants_key,
                _ => false,
            };
            if ends {
                break;
            }
            self.next();
        }
        let word = self.text.get(start..self.position).unwrap_or_default().trim();
        if wants_key {
            return Token::Text(word.to_owned());
        }
        if self.rest().is_empty() {
            // "0.9" cut to "0" would be a wrong figure, "false" cut to "f" a wrong text.
            return Token::Cut;
        }
        Token::Value(bare_value(word))
    }
}

/// The value of a word without quotation marks: literal, number, else text.
fn bare_value(word: &str) -> Value {
    let word = word.trim_end_matches(';').trim_end();
    match word {
        "true" | "True" | "TRUE" | "yes" | "Yes" => return Value::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" => return Value::Bool(false),
        "null" | "None" | "NULL" | "Null" | "undefined" | "NaN" | "nan" | "Infinity" | "-Infinity" | "inf" => {
            return Value::Null;
        }
        _ => {}
    }
    // Comments on the same line belong to nobody.
    let word =
        word.split_once("//").filter(|(before, _)| before.ends_with(' ')).map_or(word, |(before, _)| before.trim_end());
    if let Ok(integer) = word.parse::<i64>() {
        return Value::Number(integer.into());
    }
    let number = word.parse::<f64>().ok().filter(|_| word.contains(|char: char| char.is_ascii_digit()));
    number.and_then(Number::from_f64).map_or_else(|| Value::String(word.to_owned()), Value::Number)
}

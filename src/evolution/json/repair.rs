//! Reading objects that are almost JSON: Python dictionaries, missing quotes and commas, cut replies.
//!
//! One pass, no recursion: the containers being read stand on a stack of bounded height. Each
//! character is looked at a bounded number of times, so the work is linear in the text.

use serde_json::{Number, Value};

use super::{JsonError, Object};

/// How deep containers may nest: the limit of the strict parser too.
const MAX_DEPTH: usize = 128;

/// The object that starts at the first opening brace, repaired.
///
/// What is repaired: single, curly and missing quotes; unescaped quotes and line ends inside strings; unknown
/// escapes; lone surrogates (as U+FFFD); missing, doubled and trailing commas; `=` for `:`; comments; `True`,
/// `False`, `None`, `NaN`; tuples; wrong or missing closing brackets. A number, literal or key that the end of
/// the text cuts is dropped, a string that it cuts is kept.
///
/// # Errors
/// [`JsonError`] if there is no brace, no key after it, or nesting beyond 128.
pub fn repair_object(text: &str) -> Result<Object, JsonError> {
    repair_counted(text).0
}

/// The same, and how many characters were looked at.
fn repair_counted(text: &str) -> (Result<Object, JsonError>, usize) {
    if text.trim().is_empty() {
        return (Err(JsonError::Empty), text.len());
    }
    let Some(start) = text.find('{') else {
        return (Err(JsonError::NoObject { excerpt: JsonError::excerpt(text) }), text.len());
    };
    let mut reader = Reader { text, position: start, looked_at: start };
    let result = Parser::default().run(&mut reader);
    let result = match result {
        Ok(object) if object.is_empty() && !is_empty_object(text, start) => {
            Err(JsonError::NoKey { excerpt: JsonError::excerpt(text) })
        }
        other => other,
    };
    (result, reader.looked_at)
}

fn is_empty_object(text: &str, start: usize) -> bool {
    text.get(start..).and_then(|rest| rest.strip_prefix('{')).is_some_and(|rest| rest.trim_start().starts_with('}'))
}

/// A container that is being filled.
#[derive(Debug)]
enum Open {
    Object { fields: Object, key: Option<String> },
    Array { items: Vec<Value> },
}

impl Open {
    fn object() -> Self {
        Self::Object { fields: Object::new(), key: None }
    }

    /// Takes a value. In an object, one without a key is dropped, except that the fields of an object without a
    /// name (doubled braces) become fields of the outer one.
    fn push(&mut self, value: Value) {
        match self {
            Self::Object { fields, key } => match (key.take(), value) {
                (Some(key), value) => {
                    fields.insert(key, value);
                }
                (None, Value::Object(inner)) => fields.extend(inner),
                (None, _) => {}
            },
            Self::Array { items } => items.push(value),
        }
    }

    fn close(self) -> Value {
        match self {
            Self::Object { fields, .. } => Value::Object(fields),
            Self::Array { items } => Value::Array(items),
        }
    }
}

#[derive(Debug, Default)]
struct Parser {
    /// The containers being read, outermost first; the outermost is an object.
    stack: Vec<Open>,
    finished: Option<Object>,
}

impl Parser {
    fn run(mut self, reader: &mut Reader<'_>) -> Result<Object, JsonError> {
        loop {
            reader.skip_blank();
            let Some(char) = reader.peek() else { break };
            match char {
                '{' => {
                    reader.next();
                    self.open(Open::object())?;
                }
                '[' | '(' => {
                    reader.next();
                    self.open(Open::Array { items: Vec::new() })?;
                }
                '}' => {
                    reader.next();
                    self.close_until(|open| matches!(open, Open::Object { .. }));
                }
                ']' | ')' => {
                    reader.next();
                    self.close_until(|open| matches!(open, Open::Array { .. }));
                }
                ',' => {
                    reader.next();
                    self.drop_lone_key();
                }
                ';' | ':' | '=' | '>' => {
                    reader.next();
                }
                _ => self.scalar(char, reader),
            }
            if let Some(object) = self.finished.take() {
                return Ok(object);
            }
        }
        // Whatever is still open was cut: it is closed here.
        self.fold(0);
        Ok(self.finished.unwrap_or_default())
    }

    fn open(&mut self, open: Open) -> Result<(), JsonError> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(JsonError::TooDeep { limit: MAX_DEPTH });
        }
        self.stack.push(open);
        Ok(())
    }

    /// Closes containers up to and including the nearest that `fits`; a closer that fits none is passed over.
    fn close_until(&mut self, fits: impl Fn(&Open) -> bool) {
        if let Some(depth) = self.stack.iter().rposition(fits) {
            self.fold(depth);
        }
    }

    /// Closes containers until `height` are left.
    fn fold(&mut self, height: usize) {
        while self.stack.len() > height {
            let Some(closed) = self.stack.pop() else { return };
            match (self.stack.last_mut(), closed) {
                (Some(parent), closed) => parent.push(closed.close()),
                (None, Open::Object { fields, .. }) => self.finished = Some(fields),
                (None, Open::Array { .. }) => {}
            }
        }
    }

    /// A comma after a key without a value: the key is dropped.
    fn drop_lone_key(&mut self) {
        if let Some(Open::Object { key, .. }) = self.stack.last_mut() {
            *key = None;
        }
    }

    fn scalar(&mut self, char: char, reader: &mut Reader<'_>) {
        let Some(open) = self.stack.last_mut() else { return };
        let in_object = matches!(open, Open::Object { .. });
        let wants_key = matches!(open, Open::Object { key: None, .. });
        let token = match Quote::of(char) {
            Some(quote) => Token::Text(reader.quoted(quote, wants_key, in_object)),
            None => reader.bare(wants_key),
        };
        match (token, open) {
            (Token::Text(text), Open::Object { key: key @ None, .. }) => *key = Some(text),
            (Token::Cut, _) => {}
            (Token::Text(text), open) => open.push(Value::String(text)),
            (Token::Value(value), open) => open.push(value),
        }
    }
}

#[derive(Debug)]
enum Token {
    Text(String),
    Value(Value),
    /// The end of the text fell into it.
    Cut,
}

/// The kinds of quotation marks, and what ends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    Double,
    Single,
    CurlyDouble,
    CurlySingle,
    Backtick,
}

impl Quote {
    fn of(char: char) -> Option<Self> {
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
struct Reader<'a> {
    text: &'a str,
    position: usize,
    looked_at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or_default()
    }

    fn peek(&mut self) -> Option<char> {
        self.looked_at += 1;
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.position += char.len_utf8();
        Some(char)
    }

    /// Passes over white space, byte order marks and comments.
    fn skip_blank(&mut self) {
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
    fn quoted(&mut self, quote: Quote, wants_key: bool, in_object: bool) -> String {
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
    fn bare(&mut self, wants_key: bool) -> Token {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn repaired(text: &str) -> Value {
        Value::Object(repair_object(text).unwrap_or_else(|error| panic!("{text:?}: {error}")))
    }

    #[test]
    fn python_dictionaries_are_read() {
        assert_eq!(
            repaired(r#"{'a': True, 'b': None, 'c': (1, 2.5), 'd': 'it\'s', 'e': "x"}"#),
            json!({"a": true, "b": null, "c": [1, 2.5], "d": "it's", "e": "x"})
        );
        assert_eq!(repaired("{'note': \"\"\"two\nlines\"\"\", 'n': -3}"), json!({"note": "two\nlines", "n": -3}));
    }

    #[test]
    fn quotes_line_ends_and_commas_are_mended() {
        assert_eq!(repaired("{\"a\": \"one\ntwo\",}"), json!({"a": "one\ntwo"}));
        assert_eq!(
            repaired("{a: 1, b_c: two words, d: [x, y,, ],}"),
            json!({"a": 1, "b_c": "two words", "d": ["x", "y"]})
        );
        assert_eq!(repaired("{\"a\": 1, \"b\": \"2\" \"c\": 3}"), json!({"a": 1, "b": "2", "c": 3}));
        assert_eq!(repaired("{\u{201c}a\u{201d}: \u{201c}b\u{201d}}"), json!({"a": "b"}));
        assert_eq!(repaired("{\"a\" = \"b\", \"c\" => 1}"), json!({"a": "b", "c": 1}));
    }

    #[test]
    fn unescaped_quotes_belong_to_their_text() {
        assert_eq!(
            repaired(r#"{"a": "He said "yes" and left", "b": "the "x", 2 or so"}"#),
            json!({"a": "He said \"yes\" and left", "b": "the \"x\", 2 or so"})
        );
        assert_eq!(repaired("{'a': 'it's here', 'b': 1}"), json!({"a": "it's here", "b": 1}));
    }

    #[test]
    fn a_cut_reply_keeps_what_is_certain() {
        assert_eq!(repaired("{\"a\": 0.5, \"b\": 0."), json!({"a": 0.5}));
        assert_eq!(repaired("{\"a\": [1, {\"b\": \"tex"), json!({"a": [1, {"b": "tex"}]}));
        assert_eq!(repaired("{\"a\": 1, \"biased\": fal"), json!({"a": 1}));
        assert_eq!(repaired("{\"a\": 1, \"b\""), json!({"a": 1}));
        assert_eq!(repaired("{\"a\": 1, \"b\":"), json!({"a": 1}));
    }

    #[test]
    fn escapes_are_decoded_and_lone_surrogates_replaced() {
        assert_eq!(
            repaired(r#"{"a": "\ud83d\ude00 \ud83d \ude00 \u00e9 \u12 \q \\n", x: 1}"#),
            json!({"a": "\u{1f600} \u{fffd} \u{fffd} \u{e9} \\u12 \\q \\n", "x": 1})
        );
    }

    #[test]
    fn wrong_and_doubled_brackets_are_mended() {
        assert_eq!(repaired("{\"a\": [1, 2}, \"b\": 1}"), json!({"a": [1, 2]}));
        assert_eq!(repaired("{{\"a\": 1}}"), json!({"a": 1}));
        assert_eq!(repaired("{\"a\": 1]]} tail"), json!({"a": 1}));
        assert_eq!(repaired("{\"a\": /* why */ 1, // so\n# or so\n\"b\": 2}"), json!({"a": 1, "b": 2}));
        assert_eq!(repaired("{ }"), json!({}));
    }

    #[test]
    fn what_is_no_object_is_a_typed_error() {
        assert_eq!(repair_object(" "), Err(JsonError::Empty));
        assert!(matches!(repair_object("[1]"), Err(JsonError::NoObject { .. })));
        assert!(matches!(repair_object("{"), Err(JsonError::NoKey { .. })));
        assert!(matches!(repair_object("{ a"), Err(JsonError::NoKey { .. })));
        let deep = "{\"a\":".repeat(129);
        assert_eq!(repair_object(&deep), Err(JsonError::TooDeep { limit: 128 }));
        assert!(repair_object(&"{\"a\":".repeat(128)).is_ok_and(|object| object.contains_key("a")));
    }

    #[test]
    fn the_work_is_linear_in_the_text() {
        let patterns = [
            "{",
            "[",
            "{[",
            "(",
            "\"",
            "'",
            "{\"",
            "{\"a\":\"",
            "\\",
            "\\u",
            "\\ud800",
            "/*",
            "//",
            "/",
            "#",
            "\n",
            " ",
            "\" ",
            "\" , ",
            "'''",
            "\"\"\"",
            "{a",
            "a:",
            ",",
            ":",
            "{'a':[",
            "]",
            "}",
            "\u{201c}",
            "x",
            "\" \"",
            "{\"a\":1,",
            "é ",
            "[[],",
            "{\"a\":{},",
        ];
        for pattern in patterns {
            for start in ["{", "{\"a\":", "{\"a\": \"", "{\"a\": [\""] {
                let text = format!("{start}{}", pattern.repeat(20_000 / pattern.len()));
                let (_, looked_at) = repair_counted(&text);
                assert!(looked_at <= 6 * text.len(), "{start}{pattern}…: {looked_at} looks");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_in_linear_work(parts in proptest::collection::vec(
            prop_oneof![r#"[{}\[\]()"',:\\/#*= \n]{1,6}"#, "[a-z0-9. ]{1,6}", any::<String>()], 0..40)) {
            let text = parts.concat();
            let (_, looked_at) = repair_counted(&text);
            prop_assert!(looked_at <= 6 * text.len() + 32);
        }

        #[test]
        fn valid_objects_come_through_unchanged(
            fields in proptest::collection::btree_map("[a-z]{1,5}", "[ -!#-~äß🙂\n\t]{0,12}", 0..6),
            number in -1e9..1e9_f64, flag in any::<bool>()) {
            let value = json!({"fields": fields, "number": number, "list": [flag, null, 7]});
            let text = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(Value::Object(repair_object(&text).unwrap()), value);
        }
    }
}

//! Reading objects that are almost JSON: Python dictionaries, missing quotes and commas, cut replies.
//!
//! One pass, no recursion: the containers being read stand on a stack of bounded height. Each
//! character is looked at a bounded number of times, so the work is linear in the text.

use serde_json::Value;

use super::reader::{Quote, Reader, Token};
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
    let mut reader = Reader::at(text, start);
    let result = Parser::default().run(&mut reader);
    let result = match result {
        Ok(object) if object.is_empty() && !is_empty_object(text, start) => {
            Err(JsonError::NoKey { excerpt: JsonError::excerpt(text) })
        }
        other => other,
    };
    (result, reader.looked_at())
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

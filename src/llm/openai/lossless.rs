//! Bytes of a reply as text that a JSON parser accepts, whatever surrogates they hold.

use std::borrow::Cow;

/// U+FFFD in the form of a JSON escape.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// The body as text: bytes that are no UTF-8 and escapes of lone surrogates become U+FFFD.
///
/// JSON allows `"\ud800"`, Rust's strings do not hold it. The bytes themselves are kept elsewhere.
pub(super) fn readable(body: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(body);
    if !text.as_bytes().windows(3).any(|three| matches!(three, [b'\\', b'u', b'd' | b'D'])) {
        return text;
    }
    let mut bytes = text.into_owned().into_bytes();
    replace_lone_surrogates(&mut bytes);
    // Only six ASCII bytes were exchanged for six others.
    Cow::Owned(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

fn replace_lone_surrogates(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(rest) = bytes.get_mut(at..) {
        let Some(offset) = rest.iter().position(|byte| *byte == b'\\') else { return };
        at += offset;
        let Some(rest) = bytes.get_mut(at..) else { return };
        at += match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                if let Some(escape) = rest.get_mut(..6) {
                    escape.copy_from_slice(REPLACEMENT);
                }
                6
            }
            (Some(_), _) => 6,
            // Another escape: what follows the backslash is no start of one.
            (None, _) => 2,
        };
    }
}

/// The UTF-16 unit that these bytes begin with as an escape.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let text = std::str::from_utf8(digits).ok()?;
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(json: &str) -> String {
        serde_json::from_str(&readable(json.as_bytes())).unwrap()
    }

    #[test]
    fn lone_surrogates_become_the_replacement_character() {
        assert_eq!(parsed(r#""a\ud800b""#), "a\u{fffd}b");
        assert_eq!(parsed(r#""\uDC00""#), "\u{fffd}");
        assert_eq!(parsed(r#""\ud83d\ud83d\ude00""#), "\u{fffd}\u{1f600}");
        assert_eq!(parsed(r#""\ud800\n""#), "\u{fffd}\n");
    }

    #[test]
    fn pairs_and_escaped_backslashes_stay() {
        assert_eq!(parsed(r#""\ud83d\ude00""#), "\u{1f600}");
        assert_eq!(parsed(r#""\\ud800""#), r"\ud800");
        assert_eq!(parsed(r#""\\\ud800""#), "\\\u{fffd}");
        assert_eq!(parsed(r#""\u0000é""#), "\0é");
    }

    #[test]
    fn bytes_that_are_no_text_become_the_replacement_character() {
        assert_eq!(readable(b"\"\xff\xfe\""), "\"\u{fffd}\u{fffd}\"");
    }

    proptest! {
        #[test]
        fn any_bytes_give_text_and_valid_json_keeps_its_value(bytes: Vec<u8>, text: String) {
            let _text = readable(&bytes);
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<String>(&readable(json.as_bytes())).unwrap(), text);
        }

        #[test]
        fn any_sequence_of_units_becomes_readable_json(units: Vec<u16>) {
            let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let read: String = serde_json::from_str(&readable(format!("\"{escapes}\"").as_bytes())).unwrap();
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }
    }
}

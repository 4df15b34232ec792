//! Points in time as people and tools write them.

/// The longest video that makes sense, in seconds: a thousand hours.
pub(super) const LONGEST_SECONDS: f64 = 3_600_000.0;

/// Seconds from `SS`, `SS.mmm`, `MM:SS,mmm`, `HH:MM:SS.mmm`; none for anything else, negative or beyond a thousand
/// hours. Minutes and seconds after a colon are below 60.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let (whole, fraction) = match text.split_once(['.', ',']) {
        Some((whole, fraction)) => (whole, digits(fraction, 9)?),
        None => (text, ""),
    };
    let mut parts = whole.rsplit(':');
    let last = digits(parts.next()?, 10)?;
    let seconds: f64 = format!("{last}.{fraction}0").parse().ok()?;
    let mut total = seconds;
    let mut unit = 60.0;
    let mut colons = 0;
    for part in parts {
        let value: f64 = digits(part, 6)?.parse().ok()?;
        total += value * unit;
        unit *= 60.0;
        colons += 1;
        if colons == 1 && seconds >= 60.0 || colons == 2 && total - value * 3_600.0 >= 3_600.0 || colons > 2 {
            return None;
        }
    }
    (total <= LONGEST_SECONDS).then_some(total)
}

/// The text if it is 1 to `most` digits.
fn digits(text: &str, most: usize) -> Option<&str> {
    ((1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_form_is_read() {
        for (text, expected) in [
            ("7", 7.0),
            ("7.5", 7.5),
            ("90", 90.0),
            ("01:02", 62.0),
            ("00:01,500", 1.5),
            ("01:02:03.004", 3_723.004),
            ("100:00:00,1", 360_000.1),
            (" 00:00:01.000 ", 1.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            ":",
            "1:",
            ":1",
            "-1",
            "1e3",
            "NaN",
            "inf",
            "00:60",
            "00:75:00",
            "1:2:3:4",
            "1.",
            ".5",
            "1.2.3",
            "１",
            "99999999999",
            "9999:00:00",
            "1,5,5",
            "00:00:01.1234567890",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}

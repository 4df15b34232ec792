//! How long an endpoint asks to be left alone.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The wait that the reply's head asks for, uncapped; `None` if it asks for none or for nonsense.
///
/// `Retry-After` is a number of seconds or a date (RFC 9110 §10.2.3, all three forms of dates); a date is
/// measured against the endpoint's own `Date`, so that a wrong clock on this side does no harm. A date in the past
/// asks for nothing. `retry-after-ms` is a common extension and wins, being finer.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let milliseconds = text("retry-after-ms").and_then(|text| seconds(text, 1e-3));
    milliseconds.or_else(|| {
        let value = text(RETRY_AFTER.as_str())?;
        seconds(value, 1.0).or_else(|| {
            let until = httpdate::parse_http_date(value).ok()?;
            let their_now = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
            until.duration_since(their_now).ok()
        })
    })
}

/// A non-negative decimal number, as a duration.
fn seconds(text: &str, unit: f64) -> Option<Duration> {
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    Some(Duration::try_from_secs_f64(number * unit).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(pairs: &[(&'static str, &str)]) -> Option<u64> {
        let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        retry_after(&headers, now).map(|wait| wait.as_secs())
    }

    #[test]
    fn every_legal_form_is_read() {
        assert_eq!(wait(&[("retry-after", "7")]), Some(7));
        assert_eq!(wait(&[("retry-after", "99999")]), Some(99_999));
        assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")]), Some(60));
        assert_eq!(wait(&[("retry-after", "Sunday, 06-Nov-94 08:50:37 GMT")]), Some(60));
        assert_eq!(wait(&[("retry-after", "Sun Nov  6 08:50:37 1994")]), Some(60));
        assert_eq!(wait(&[("retry-after-ms", "2500"), ("retry-after", "9")]), Some(2));
    }

    #[test]
    fn a_date_is_measured_against_the_endpoints_clock() {
        let later = "Sun, 06 Nov 1994 09:00:00 GMT";
        assert_eq!(wait(&[("retry-after", later), ("date", "Sun, 06 Nov 1994 08:59:50 GMT")]), Some(10));
    }

    #[test]
    fn the_past_and_nonsense_ask_for_nothing() {
        for value in ["Sun, 06 Nov 1994 08:49:00 GMT", "-1", "NaN", "inf", "", "soon", "1e", "+5"] {
            assert_eq!(wait(&[("retry-after", value)]), None, "{value:?}");
        }
        assert_eq!(wait(&[("retry-after", "1e400")]), Some(u64::MAX));
    }
}

//! Addresses of endpoints, and how credentials inside them are kept from sight.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What stands in the place of a secret.
pub const REDACTED: &str = "***";

/// Base addresses of one role, each up to and including `/v1`; one address may be written without a list.
///
/// Every printed or stored form passes through [`redact_urls`]; validation refuses credentials anyway.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct BaseUrls(Vec<String>);

impl BaseUrls {
    /// These addresses, in this order.
    #[must_use]
    pub fn new(urls: Vec<String>) -> Self {
        Self(urls)
    }

    /// The addresses, in the order given.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for BaseUrls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|url| redact_urls(url))).finish()
    }
}

impl Serialize for BaseUrls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|url| redact_urls(url)))
    }
}

impl<'de> Deserialize<'de> for BaseUrls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum OneOrMany {
            One(String),
            Many(Vec<String>),
        }

        Ok(Self(match OneOrMany::deserialize(deserializer)? {
            OneOrMany::One(url) => vec![url],
            OneOrMany::Many(urls) => urls,
        }))
    }
}

impl JsonSchema for BaseUrls {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BaseUrls".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let url = serde_json::json!({"type": "string", "pattern": "^https?://"});
        json_schema!({"anyOf": [{"type": "array", "items": url}, url]})
    }
}

/// Why a text is no base address; the reason never repeats the text.
///
/// # Errors
/// No URL, another scheme than http or https, no host, or credentials in it.
pub fn check_base_url(text: &str) -> Result<(), &'static str> {
    let url = url::Url::parse(text).map_err(|_| "must be an address such as http://127.0.0.1:8080/v1")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("must begin with http:// or https://");
    }
    if !url.has_host() {
        return Err("must name a host");
    }
    if url.fragment().is_some() {
        return Err("must not have a fragment (#…)");
    }
    if !url.username().is_empty() || url.password().is_some() || redact_urls(text) != text {
        return Err("must not hold credentials: they would end up in the store");
    }
    Ok(())
}

/// The text with the credentials of every URL in it replaced by [`REDACTED`]: what stands before an `@` in the
/// authority, and the values of query parameters that are named like a secret.
#[must_use]
pub fn redact_urls(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        result.push_str(before);
        result.push_str("://");
        let (authority, tail) = split_before(after, |c| matches!(c, '/' | '?' | '#') || ends_url(c));
        // A password may hold an unescaped '@' or '/': everything up to the last '@' of the URL is hidden.
        let (url_rest, outside) = split_before(tail, ends_url);
        match (authority.rsplit_once('@'), url_rest.rsplit_once('@')) {
            (_, Some((hidden, shown))) if !hidden.contains('?') && looks_like_host(shown) => {
                result.push_str(REDACTED);
                result.push('@');
                push_query_redacted(&mut result, shown);
            }
            (Some((_, host)), _) => {
                result.push_str(REDACTED);
                result.push('@');
                result.push_str(host);
                push_query_redacted(&mut result, url_rest);
            }
            (None, _) => {
                result.push_str(authority);
                push_query_redacted(&mut result, url_rest);
            }
        }
        rest = outside;
    }
    result.push_str(rest);
    result
}

/// Whether the name of a field or parameter says that its value is a secret.
#[must_use]
pub fn names_a_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    ["apikey", "password", "passwd", "secret", "authorization", "accesstoken", "authtoken", "bearer", "credential"]
        .iter()
        .any(|word| plain.contains(word))
        || matches!(plain.as_str(), "token" | "key" | "auth" | "sig" | "signature")
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')' | ']' | '}' | '|' | '\\')
}

/// Splits before the first character that matches.
fn split_before(text: &str, matches: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(matches).unwrap_or(text.len()))
}

/// Only then is an `@` inside a path taken for the end of a password: `https://host/@scope/name` stays as it is.
fn looks_like_host(text: &str) -> bool {
    let (host, _) = split_before(text, |c| matches!(c, '/' | '?' | '#'));
    let (name, port) = host.split_once(':').unwrap_or((host, ""));
    let is_address = name.contains('.') || name == "localhost" || !port.is_empty();
    is_address && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
}

fn push_query_redacted(result: &mut String, url_rest: &str) {
    let (path, query) = split_before(url_rest, |c| c == '?');
    result.push_str(path);
    for (index, part) in query.split('&').enumerate() {
        if index > 0 {
            result.push('&');
        }
        match part.split_once('=') {
            Some((name, _)) if names_a_secret(name) => {
                result.push_str(name);
                result.push('=');
                result.push_str(REDACTED);
            }
            _ => result.push_str(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn credentials_in_urls_are_hidden() {
        for (text, expected) in [
            ("http://user:pass@host/v1", "http://***@host/v1"),
            ("redis://:pass@host:6379/0", "redis://***@host:6379/0"),
            (
                "connect to http://u:p@h:1/ and https://x@y failed",
                "connect to http://***@h:1/ and https://***@y failed",
            ),
            ("redis://:pa/ss@host:6379", "redis://***@host:6379"),
            ("redis://:pa@ss@host:6379", "redis://***@host:6379"),
            ("https://host/v1?api-key=abc&version=2", "https://host/v1?api-key=***&version=2"),
            ("https://host/@scope/name", "https://host/@scope/name"),
            ("mail a@b.c about http://host", "mail a@b.c about http://host"),
            ("(\"http://u:p@h\")", "(\"http://***@h\")"),
            ("no url", "no url"),
            ("://", "://"),
        ] {
            assert_eq!(redact_urls(text), expected, "{text}");
        }
    }

    #[test]
    fn only_plain_http_addresses_are_base_urls() {
        for good in ["http://127.0.0.1:8080/v1", "https://api.example.com/v1", "http://[::1]:8000/v1"] {
            assert_eq!(check_base_url(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "api.example.com/v1",
            "ftp://h/v1",
            "file:///etc",
            "http://",
            "http://u:p@h",
            "https://h?key=1",
            "http://h/#x",
        ] {
            assert!(check_base_url(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_password_survives(user in "[a-z]{0,5}", secret in "[A-Za-z0-9:@/!$%^*+=-]{8,20}", tail in "(/v1)?") {
            let text = format!("failed: redis://{user}:{secret}@cache.example.com:6379{tail} is gone");
            prop_assert!(!redact_urls(&text).contains(&secret), "{}", redact_urls(&text));
        }

        #[test]
        fn any_text_is_taken(text in "\\PC*(://)?\\PC*@?\\PC*") {
            let once = redact_urls(&text);
            prop_assert_eq!(redact_urls(&once).len(), once.len());
        }
    }
}

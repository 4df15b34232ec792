//! Keys and passwords: only from the environment or `.env`, never shown.

use std::collections::BTreeMap;
use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use super::urls::REDACTED;

/// The variable that holds the address of the Redis server.
pub(super) const REDIS_URL: &str = "REDIS_URL";

/// Shorter values are no secrets but accidents, and would be found in any text.
const MIN_SCRUBBED: usize = 8;

/// The secrets that the configuration refers to, by the name of their variable.
#[derive(Clone, Default)]
pub struct Secrets(BTreeMap<String, SecretString>);

impl Secrets {
    /// These values; empty ones are dropped.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        let kept = values.into_iter().filter(|(_, value)| !value.trim().is_empty());
        Self(kept.map(|(name, value)| (name, SecretString::from(value.trim()))).collect())
    }

    /// The value of the variable of this name, as `api_key_env` gives it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&SecretString> {
        self.0.get(name)
    }

    /// The address of the Redis server, `REDIS_URL`: may hold a password.
    #[must_use]
    pub fn redis_url(&self) -> Option<&SecretString> {
        self.get(REDIS_URL)
    }

    /// The text with every secret in it replaced: the last line of defence for what is printed or stored.
    #[must_use]
    pub fn scrub(&self, text: &str) -> String {
        let mut values: Vec<&str> =
            self.0.values().map(ExposeSecret::expose_secret).filter(|value| value.len() >= MIN_SCRUBBED).collect();
        // A secret that holds another must go first.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.into_iter().fold(text.to_owned(), |text, value| text.replace(value, REDACTED))
    }

    /// The name of a secret whose value occurs in the text.
    pub(super) fn found_in(&self, text: &str) -> Option<&str> {
        let occurs = |secret: &SecretString| {
            let value = secret.expose_secret();
            value.len() >= MIN_SCRUBBED && text.contains(value)
        };
        self.0.iter().find(|(_, secret)| occurs(secret)).map(|(name, _)| name.as_str())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_named_and_never_shown() {
        let secrets = Secrets::new([
            ("KEY".to_owned(), " sk-canary-12345 ".to_owned()),
            ("LONG".to_owned(), "sk-canary-12345-more".to_owned()),
            ("EMPTY".to_owned(), " ".to_owned()),
        ]);
        assert_eq!(secrets.get("KEY").unwrap().expose_secret(), "sk-canary-12345");
        assert!(secrets.get("EMPTY").is_none());
        assert_eq!(format!("{secrets:?}"), r#"{"KEY", "LONG"}"#);
        assert!(!format!("{:?}", secrets.get("KEY")).contains("canary"));
        assert_eq!(secrets.scrub("a sk-canary-12345-more b sk-canary-12345 c"), "a *** b *** c");
        assert_eq!(secrets.found_in("x sk-canary-12345 y"), Some("KEY"));
    }
}

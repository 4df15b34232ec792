//! Content hashes: SHA-256 over length-prefixed parts, so that no two inputs collide by concatenation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A SHA-256 content hash, shown as 64 lower-case hexadecimal digits.
///
/// Serialised as text for people (JSON), as 32 bytes in binary formats.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of one byte string.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes.as_ref()).into())
    }

    /// The raw 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A hash from its raw bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The first 12 hexadecimal digits, for people.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({})", self.short())
    }
}

/// The text is not 64 hexadecimal digits.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("read {0:?} as a content hash: 64 hexadecimal digits expected")]
pub struct HashParseError(String);

impl FromStr for ContentHash {
    type Err = HashParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || HashParseError(text.chars().take(80).collect());
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0_u8; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
        } else {
            <[u8; 32]>::deserialize(deserializer).map(Self)
        }
    }
}

/// Hashes a sequence of parts; each part is preceded by its length.
#[derive(Debug, Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// A hasher whose result also depends on `domain`, which names what is hashed.
    #[must_use]
    pub fn new(domain: &str) -> Self {
        let mut hasher = Self::default();
        hasher.part(domain);
        hasher
    }

    /// Adds one part.
    pub fn part(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let bytes = bytes.as_ref();
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// The hash of all parts so far.
    #[must_use]
    pub fn finish(&self) -> ContentHash {
        ContentHash(self.0.clone().finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_collide_by_concatenation() {
        let one = Hasher::new("t").part("ab").part("c").finish();
        let other = Hasher::new("t").part("a").part("bc").finish();
        assert_ne!(one, other);
    }

    #[test]
    fn text_form_round_trips() {
        let hash = ContentHash::of("abc");
        assert!(hash.to_string().starts_with("ba7816bf"));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert!("zz".parse::<ContentHash>().is_err());
        let json = serde_json::to_value(hash).unwrap();
        assert_eq!(json, hash.to_string());
        assert_eq!(serde_json::from_value::<ContentHash>(json).unwrap(), hash);
    }
}

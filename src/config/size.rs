//! Sizes that are a count or a share.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How large a pool shall be: a whole number counts units, a number with a fraction (`0.2`, `1.0`) is a share of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PoolSize {
    /// So many units.
    Count(usize),
    /// This share of all units, 0 to 1.
    Share(f64),
}

impl Serialize for PoolSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u64(*count as u64),
            Self::Share(share) => serializer.serialize_f64(*share),
        }
    }
}

impl<'de> Deserialize<'de> for PoolSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;

        impl Visitor<'_> for SizeVisitor {
            type Value = PoolSize;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count of units or a share between 0 and 1")
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<PoolSize, E> {
                usize::try_from(count).map(PoolSize::Count).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<PoolSize, E> {
                usize::try_from(count).map(PoolSize::Count).map_err(|_| E::custom("a negative count"))
            }

            fn visit_f64<E: de::Error>(self, share: f64) -> Result<PoolSize, E> {
                Ok(PoolSize::Share(share))
            }
        }

        deserializer.deserialize_any(SizeVisitor)
    }
}

impl JsonSchema for PoolSize {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PoolSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A count of units (a whole number) or a share of them (0 to 1, written with a point).",
            "type": "number",
            "exclusiveMinimum": 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_makes_the_difference_between_one_unit_and_all() {
        let read = |text: &str| serde_json::from_str::<PoolSize>(text).unwrap();
        assert_eq!(read("1"), PoolSize::Count(1));
        assert_eq!(read("1.0"), PoolSize::Share(1.0));
        assert_eq!(serde_json::to_string(&PoolSize::Share(1.0)).unwrap(), "1.0");
        assert!(serde_json::from_str::<PoolSize>("-3").is_err());
        assert!(serde_json::from_str::<PoolSize>("\"3\"").is_err());
    }
}

//! Enums in stored rows are written by their stable names: reordering variants changes no meaning.

use serde::{Deserialize, Deserializer, Serializer};

use crate::domain::{Arm, Phase, Role, StopReason};

/// An enum with one stable name per variant.
pub(crate) trait Named: Copy + 'static {
    /// What it is, for messages.
    const WHAT: &'static str;
    /// All variants.
    const VARIANTS: &'static [Self];
    /// The stable name.
    fn stable_name(self) -> &'static str;

    fn from_stable_name(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|variant| variant.stable_name() == name)
    }
}

macro_rules! named_domain_enum {
    ($type:ty, $what:literal, $variants:expr) => {
        impl Named for $type {
            const WHAT: &'static str = $what;
            const VARIANTS: &'static [Self] = $variants;

            fn stable_name(self) -> &'static str {
                self.name()
            }
        }
    };
}

named_domain_enum!(Phase, "phase", &Phase::ALL);
named_domain_enum!(Role, "role", &Role::ALL);
named_domain_enum!(Arm, "arm", &[Arm::Base, Arm::Cand]);
named_domain_enum!(
    StopReason,
    "stop reason",
    &[StopReason::Finished, StopReason::BudgetExceeded, StopReason::ParseError, StopReason::Error]
);

fn lookup<T: Named, E: serde::de::Error>(name: &str) -> Result<T, E> {
    T::from_stable_name(name).ok_or_else(|| {
        let shown: String = name.chars().take(80).collect();
        E::custom(format!("{shown:?} is no {}", T::WHAT))
    })
}

pub(crate) fn serialize<T: Named, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(value.stable_name())
}

pub(crate) fn deserialize<'de, T: Named, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    lookup(&String::deserialize(deserializer)?)
}

/// Declares an enum of the storage layer that is written by name.
macro_rules! stored_enum {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All variants, in order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable name, as stored and exported.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The variant of this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                $crate::store::names::Named::from_stable_name(name)
            }
        }

        impl $crate::store::names::Named for $name {
            const WHAT: &'static str = $what;
            const VARIANTS: &'static [Self] = Self::ALL;

            fn stable_name(self) -> &'static str {
                self.name()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::store::names::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::store::names::deserialize(deserializer)
            }
        }
    };
}

pub(crate) use stored_enum;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_domain_is_found_again() {
        fn all<T: Named + PartialEq + std::fmt::Debug>() {
            for variant in T::VARIANTS {
                assert_eq!(T::from_stable_name(variant.stable_name()), Some(*variant));
            }
        }
        all::<Phase>();
        all::<Role>();
        all::<Arm>();
        all::<StopReason>();
    }
}

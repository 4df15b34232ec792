//! Ids as types: a question id is never taken for a video id, and none carries a path.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest id that is accepted, in bytes: file systems end at 255, and suffixes need room.
pub(crate) const ID_MAX_BYTES: usize = 200;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Nothing, or white space only.
    #[error("use an empty id")]
    Empty,
    /// Longer than [`ID_MAX_BYTES`].
    #[error("use an id of {0} bytes (at most {ID_MAX_BYTES})")]
    TooLong(usize),
    /// A character that could leave the folder, end a C string or hide in a terminal.
    #[error("use {id:?} as an id: it contains {what}")]
    Forbidden {
        /// The id, cut to 80 characters.
        id: String,
        /// What is wrong in it.
        what: &'static str,
    },
    /// Text of another form than this kind of id has.
    #[error("use {id:?} as {kind}: {expected} expected")]
    Form {
        /// The id, cut to 80 characters.
        id: String,
        /// The kind of id.
        kind: &'static str,
        /// The form it should have.
        expected: &'static str,
    },
}

/// Refuses what is empty, too long, or could act as a path or as a control sequence.
fn check_opaque(text: &str) -> Result<(), IdError> {
    if text.trim().is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > ID_MAX_BYTES {
        return Err(IdError::TooLong(text.len()));
    }
    let lower = text.to_ascii_lowercase();
    let what = if text.contains(['/', '\\']) {
        "a path separator"
    } else if lower.contains("%2f") || lower.contains("%5c") || lower.contains("%00") {
        "a percent-encoded path separator or NUL"
    } else if text == "." || text == ".." {
        "nothing but dots"
    } else if text.contains('\0') {
        "a NUL character"
    } else if text.chars().any(char::is_control) {
        "a control character"
    } else if text != text.trim() {
        "white space at an end"
    } else {
        return Ok(());
    };
    Err(IdError::Forbidden { id: text.chars().take(80).collect(), what })
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $check:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks the text and makes the id.
            ///
            /// # Errors
            /// [`IdError`] names what is wrong with the text.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                $check(&text)?;
                Ok(Self(text))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

id_type!(
    /// One question.
    QuestionId, check_opaque
);
id_type!(
    /// One video; also the name of its folder below `videos_dir`.
    VideoId, check_opaque
);
id_type!(
    /// One node of a video tree. Opaque: structure never comes from parsing it.
    NodeId, check_opaque
);
id_type!(
    /// An AR pair: two questions that are right only together.
    PairId, check_opaque
);
id_type!(
    /// What the statistics count: a question id, or the pair id of two questions.
    UnitId, check_opaque
);
id_type!(
    /// The category of a question, which maps to one skill file; see [`TaskType::slug`].
    TaskType, check_task_type
);
id_type!(
    /// One run: training, inference or evaluation. `[A-Za-z0-9._-]{1,64}`.
    RunId, check_run_id
);
id_type!(
    /// The name of a skill or prompt file, such as `action-reasoning.md`.
    FileName, check_file_name
);

impl From<QuestionId> for UnitId {
    /// The unit id of a single question is its question id (design 12).
    fn from(id: QuestionId) -> Self {
        Self(id.0)
    }
}

impl From<PairId> for UnitId {
    /// The unit id of a pair is its pair id (design 12).
    fn from(id: PairId) -> Self {
        Self(id.0)
    }
}

impl TaskType {
    /// Lower case, spaces to `-` (design 01): `Action Reasoning` → `action-reasoning`.
    #[must_use]
    pub fn slug(&self) -> String {
        self.0.to_lowercase().replace(' ', "-")
    }

    /// The skill file of this task type: the slug and `.md`.
    #[must_use]
    pub fn skill_file(&self) -> FileName {
        FileName(format!("{}.md", self.slug()))
    }
}

fn check_task_type(text: &str) -> Result<(), IdError> {
    check_opaque(text)?;
    if text.len() > 100 {
        return Err(IdError::TooLong(text.len()));
    }
    Ok(())
}

fn check_run_id(text: &str) -> Result<(), IdError> {
    let fits = (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        && text != "."
        && text != "..";
    if fits {
        return Ok(());
    }
    Err(IdError::Form {
        id: text.chars().take(80).collect(),
        kind: "a run id",
        expected: "1 to 64 letters, digits, '.', '_' or '-'",
    })
}

fn check_file_name(text: &str) -> Result<(), IdError> {
    check_opaque(text)?;
    if text.starts_with('.') || !text.ends_with(".md") || text.len() <= 3 {
        return Err(IdError::Form {
            id: text.chars().take(80).collect(),
            kind: "a skill or prompt file name",
            expected: "a Markdown file name such as 'action-reasoning.md'",
        });
    }
    Ok(())
}

/// A skill or prompt version: `v` and a number from 1, ordered by that number (`v10` after `v9`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VersionName(u32);

impl VersionName {
    /// The version every workspace starts from.
    pub const FIRST: Self = Self(1);

    /// The version of this number; none for 0.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        (number > 0).then_some(Self(number))
    }

    /// Its number, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }

    /// The version after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for VersionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("v{}", self.0))
    }
}

impl FromStr for VersionName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.strip_prefix('v')
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0'))
            .and_then(|digits| digits.parse().ok())
            .and_then(Self::from_number)
            .ok_or_else(|| IdError::Form {
                id: text.chars().take(80).collect(),
                kind: "a version",
                expected: "'v' and a number such as 'v3'",
            })
    }
}

impl TryFrom<String> for VersionName {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<VersionName> for String {
    fn from(version: VersionName) -> Self {
        version.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_leave_the_folder_are_refused() {
        for bad in ["", "  ", "a/b", "../x", "a\\b", "x%2Fy", "x%5cy", "..", ".", "a\0b", "a\u{1b}[2J", " a"] {
            assert!(VideoId::new(bad).is_err(), "{bad:?} was accepted");
        }
        assert_eq!(VideoId::new("x".repeat(10_240)), Err(IdError::TooLong(10_240)));
        for good in ["abc_L1_000", "视频-1", "a b", "50%25", "..."] {
            assert!(VideoId::new(good).is_ok(), "{good:?} was refused");
        }
    }

    #[test]
    fn slugs_follow_the_design() {
        let task_type = TaskType::new("OCR Problems").unwrap();
        assert_eq!(task_type.slug(), "ocr-problems");
        assert_eq!(task_type.skill_file().as_str(), "ocr-problems.md");
    }

    #[test]
    fn versions_order_by_number() {
        let v9: VersionName = "v9".parse().unwrap();
        assert!(v9 < v9.next());
        assert_eq!(v9.next().to_string(), "v10");
        for bad in ["v0", "v", "9", "v01", "v1.2", "V1", "v-1", "v99999999999", ""] {
            assert!(bad.parse::<VersionName>().is_err(), "{bad:?} was accepted");
        }
    }
}

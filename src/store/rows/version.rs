//! Skill and prompt versions, their contents, the manifest and seeds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::answer::Prediction;
use super::run::MadeBy;
use super::v1::SeedV1;
use super::{record, stored_enum};
use crate::domain::{ContentHash, FileName, QuestionId, RunId, VersionName};
use crate::store::codec::Form;
use crate::store::rows::VersionPair;

stored_enum!(
    /// What a version names; each has its own counter.
    VersionKind, "kind of version" {
        /// Skills.
        Skills = "skills",
        /// Prompts.
        Prompts = "prompts",
    }
);

impl VersionKind {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Skills => 0,
            Self::Prompts => 1,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Skills),
            1 => Some(Self::Prompts),
            _ => None,
        }
    }
}

/// A text, addressed by the hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The text as it is.
    pub text: String,
}

record!(Content, "content", FORM = Form::Zstd);

/// An immutable named set of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// File name → hash of its text.
    pub files: BTreeMap<FileName, ContentHash>,
    /// The version it was made from.
    pub parent: Option<VersionName>,
    /// Where it comes from: `built-in`, `import`, `accept`, `rollback`, `momentum`, `system-tool`, `seed` …
    pub source: String,
    /// In words.
    pub note: String,
    /// The run and the part of it that made it.
    pub made_by: Option<MadeBy>,
    /// When, in milliseconds since 1970.
    pub created_ms: i64,
}

record!(Version, "version");

/// Where `current` or `best` points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pointer {
    /// The versions it names.
    pub versions: VersionPair,
    /// Their validation accuracy, where it is known.
    pub val_acc: Option<f64>,
    /// What moved it there.
    pub moved_by: Option<MadeBy>,
}

record!(Pointer, "pointer");

stored_enum!(
    /// The two pointers of the manifest, independent of each other.
    PointerName, "pointer" {
        /// What is trained on.
        Current = "current",
        /// What is delivered.
        Best = "best",
    }
);

/// A named, self-contained starting point (design 12).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seed {
    /// Skills: file name → hash of its text.
    pub skills: BTreeMap<FileName, ContentHash>,
    /// Prompts: file name → hash of its text.
    pub prompts: BTreeMap<FileName, ContentHash>,
    /// The question set it was evaluated on.
    pub data_fingerprint: ContentHash,
    /// What its answers depend on beside skill and prompts.
    pub environment_fingerprint: ContentHash,
    /// The evaluation that vouches for it.
    pub eval_run: RunId,
    /// Which versions that evaluation answered with.
    pub eval_versions: VersionPair,
    /// Its answers.
    pub predictions: Vec<(QuestionId, Prediction)>,
    /// When it was promoted, in milliseconds since 1970.
    pub created_ms: i64,
}

record!(Seed, "seed", FORM = Form::Zstd, VERSION = 2; 1 => SeedV1);

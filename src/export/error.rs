//! What can fail while exporting.

use std::io;
use std::path::{Path, PathBuf};

use crate::domain::{ExitClass, Fault};
use crate::store::StoreError;

/// Why an export did not happen. The folder is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be written.
    #[error("write {}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The columnar encoder failed.
    #[error("encode {dataset} as Parquet")]
    Encode {
        /// The dataset.
        dataset: &'static str,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No dataset has this name.
    #[error("export {name:?}: there is no such table")]
    UnknownDataset {
        /// What was asked for.
        name: String,
        /// The nearest name there is.
        nearest: Option<&'static str>,
    },
    /// The store holds no such run.
    #[error("export run {0}: the store holds no such run")]
    UnknownRun(String),
}

impl ExportError {
    pub(super) fn write(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Write { path, source }
    }
}

impl Fault for ExportError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Store(error) => error.class(),
            Self::Write { .. } | Self::Encode { .. } => ExitClass::Internal,
            Self::UnknownDataset { .. } => ExitClass::Usage,
            Self::UnknownRun(_) => ExitClass::Data,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Write { .. } => "export.write",
            Self::Encode { .. } => "export.encode",
            Self::UnknownDataset { .. } => "export.unknown_table",
            Self::UnknownRun(_) => "export.unknown_run",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Write { source, .. } if source.kind() == io::ErrorKind::StorageFull => Some(
                "the disk is full: free space or export to another folder; what was there before is untouched".into(),
            ),
            Self::Write { .. } => Some("check that the folder exists and may be written".into()),
            Self::Encode { .. } => None,
            Self::UnknownDataset { nearest, .. } => Some(nearest.map_or_else(
                || "`trm export --list` shows all tables".into(),
                |nearest| format!("did you mean '{nearest}'? `trm export --list` shows all tables"),
            )),
            Self::UnknownRun(_) => Some("`trm inspect runs` lists the runs".into()),
        }
    }
}

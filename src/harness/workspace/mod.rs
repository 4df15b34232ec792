//! A workspace: a folder with `trm.yaml`, the store, the videos (design 08).

mod error;
mod find;
mod init;
mod paths;

pub use error::WorkspaceError;
pub use find::{CONFIG_FILE, Settings, Workspace};
pub use init::{InitReport, InitRequest, init};

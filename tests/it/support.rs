//! Shared by the integration tests: running the real binary.

use assert_cmd::Command;

/// The real `trm` with a clean environment: no colours, no keys, no settings of the machine.
pub(crate) fn trm() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trm"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("NO_COLOR", "1");
    command
}

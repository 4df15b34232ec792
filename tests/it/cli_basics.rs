//! The command line's conventions: streams, exit codes, help.

use crate::support::trm;

#[test]
fn unknown_commands_are_usage_errors() {
    trm().arg("tarin").assert().code(2);
}

#[test]
fn completions_go_to_stdout() {
    let output = trm().args(["completions", "bash"]).assert().success();
    assert!(String::from_utf8_lossy(&output.get_output().stdout).contains("_trm"));
}

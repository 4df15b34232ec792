//! Making and finding workspaces with the real program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::trm;

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = trm().current_dir(folder).args(arguments).assert().get_output().clone();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Every file below a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { drop(found.insert(path.clone(), fs::read(path).unwrap())) }
        }
    }
    found
}

#[test]
fn a_workspace_is_made_once_and_found_from_below() {
    let root = tempfile::tempdir().unwrap();
    let (code, out, _) = run(root.path(), &["init", "work"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("made the workspace work: videos/, .env.example, .gitignore, trm.redb, trm.yaml"), "{out}");
    let deep = root.path().join("work/videos");
    assert_eq!(run(&deep, &["config", "validate"]).0, 0);
    assert_eq!(run(root.path(), &["-C", "work", "store", "check"]).0, 0);
    assert_eq!(run(root.path(), &["config", "validate"]).0, 2);

    let before = files(root.path());
    let (code, out, _) = run(root.path(), &["init", "work"]);
    assert_eq!((code, out.as_str()), (0, "work is a workspace already; nothing was changed\n"));
    assert_eq!(files(root.path()), before);
}

#[test]
fn a_workspace_in_use_is_refused_without_damage() {
    let root = tempfile::tempdir().unwrap();
    run(root.path(), &["init", "."]);
    fs::write(root.path().join("questions.jsonl"), "{}\n").unwrap();
    let before = files(root.path());
    for arguments in [&["init", ".", "--json"][..], &["init", ".", "--example", "--json"]] {
        let (code, out, err) = run(root.path(), arguments);
        assert_eq!((code, out.as_str()), (2, ""));
        let error: Value = serde_json::from_str(&err).unwrap();
        assert_eq!(error["code"], "workspace.exists");
        assert!(error["hint"].as_str().unwrap().contains("questions"), "{error}");
    }
    assert_eq!(files(root.path()), before);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    let (code, _, err) = run(root.path(), &["init", "file/below"]);
    assert_eq!(code, 1);
    assert!(err.contains("[workspace.io]") && err.contains("file/below"), "{err}");
}

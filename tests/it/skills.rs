//! Versions of skills and prompts with the real program.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::trm;

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = trm().current_dir(folder).args(arguments).assert().get_output().clone();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let (code, out, err) = run(folder, &[arguments, &["--json"]].concat());
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

fn workspace() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(run(root.path(), &["init"]).0, 0);
    root
}

/// Changes one line of a checked-out file.
fn edit(path: &Path, add: &str) {
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, text.replacen("## Decide\n", &format!("## Decide\n{add}\n"), 1)).unwrap();
}

#[test]
fn checkout_edit_import_makes_the_next_version_and_says_what_changed() {
    let root = workspace();
    let path = root.path();
    assert_eq!(run(path, &["skills", "checkout", "v1", "skills"]).0, 0);
    let same = json(path, &["skills", "import", "skills"]);
    assert_eq!((same["version"].as_str(), same["new"].as_bool()), (Some("v1"), Some(false)));

    edit(&path.join("skills/counting-problem.md"), "- Count twice.");
    fs::remove_file(path.join("skills/object-reasoning.md")).unwrap();
    let (code, out, _) = run(path, &["skills", "import", "skills", "--note", "count twice"]);
    assert_eq!(code, 0);
    assert_eq!(out.lines().next(), Some("made skills v2"));
    assert!(
        out.contains("  changed counting-problem.md (+1 −0)") && out.contains("  removed object-reasoning.md"),
        "{out}"
    );

    let listed = json(path, &["skills", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!((listed[1]["parent"].as_str(), listed[1]["changed_files"].as_u64()), (Some("v1"), Some(2)));
    assert_eq!(listed[0]["current"], true);
    let (_, diff, _) = run(path, &["skills", "diff", "v1", "v2", "counting-problem.md"]);
    assert!(diff.contains("+++ v2/counting-problem.md") && diff.contains("\n+- Count twice.\n"), "{diff}");
    let (_, text, _) = run(path, &["skills", "show", "v2", "counting-problem.md"]);
    assert_eq!(text, fs::read_to_string(path.join("skills/counting-problem.md")).unwrap(), "to the byte");
    assert_eq!(run(path, &["store", "check"]).0, 0);
}

#[test]
fn versions_are_listed_by_number() {
    let root = workspace();
    let path = root.path();
    run(path, &["skills", "checkout", "v1", "skills"]);
    for number in 2..=11 {
        edit(&path.join("skills/default-strategy.md"), &format!("- Rule {number}."));
        assert_eq!(run(path, &["skills", "import", "skills"]).0, 0);
    }
    let listed = json(path, &["skills", "list"]);
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|row| row["version"].as_str().unwrap()).collect();
    assert_eq!((names[1], names[8], names[9], names[10]), ("v2", "v9", "v10", "v11"));
}

#[test]
fn one_file_goes_over_the_newest_version() {
    let root = workspace();
    let path = root.path();
    run(path, &["skills", "checkout", "v1", "skills"]);
    edit(&path.join("skills/counting-problem.md"), "- Count twice.");
    let done = json(path, &["skills", "import", "skills/counting-problem.md"]);
    assert_eq!(done["version"], "v2");
    assert_eq!(done["changes"].as_array().unwrap().len(), 1, "the other files stay");
}

#[test]
fn what_is_no_skill_is_refused_with_every_problem() {
    let root = workspace();
    let path = root.path();
    run(path, &["skills", "checkout", "v1", "skills"]);
    fs::write(path.join("skills/wrong-name.md"), "---\nname: n\ndescription: d\ntask_type: Counting\n---\n").unwrap();
    fs::write(path.join("skills/broken.md"), "<!-- APPENDIX_START -->\n").unwrap();
    fs::write(path.join("skills/binary.md"), [0xff, 0xfe]).unwrap();
    let (code, _, err) = run(path, &["skills", "import", "skills"]);
    assert_eq!(code, 3);
    assert!(err.contains("4 problems found [versions.invalid]"), "{err}");
    for expected in
        ["wrong-name.md: is the skill of the task type", "broken.md: has no front matter", "binary.md: is not UTF-8"]
    {
        assert!(err.contains(expected), "{err}");
    }
    assert_eq!(json(path, &["skills", "list"]).as_array().unwrap().len(), 1, "nothing was imported");
}

#[test]
fn prompts_have_versions_of_their_own() {
    let root = workspace();
    let path = root.path();
    assert_eq!(run(path, &["skills", "checkout", "initial", "prompts", "--prompts"]).0, 0);
    let system = path.join("prompts/system.md");
    fs::write(&system, format!("{}\nBe brief.\n", fs::read_to_string(&system).unwrap())).unwrap();
    let done = json(path, &["skills", "import", "--prompts", "prompts"]);
    assert_eq!((done["version"].as_str(), done["parent"].as_str()), (Some("v2"), Some("v1")));
    assert_eq!(json(path, &["skills", "list"]).as_array().unwrap().len(), 1);
    fs::remove_file(&system).unwrap();
    let (code, _, err) = run(path, &["skills", "import", "--prompts", "prompts"]);
    assert_eq!(code, 3);
    assert!(err.contains("system.md: is missing"), "{err}");
}

#[test]
fn missing_skills_are_scaffolded_once() {
    let root = workspace();
    let path = root.path();
    let arguments = ["skills", "scaffold", "--task-type", "Causal Why", "--task-type", "Counting Problem"];
    let (code, out, _) = run(path, &arguments);
    assert_eq!((code, out.as_str()), (0, "made skills v2\n  added causal-why.md for Causal Why\n"));
    assert!(run(path, &arguments).1.ends_with("nothing was changed\n"));
    let (_, text, _) = run(path, &["skills", "show", "initial", "causal-why.md"]);
    assert!(text.starts_with("---\nname: Causal Why\n"), "{text}");
}

#[test]
fn without_types_those_of_the_questions_are_scaffolded() {
    let root = workspace();
    let question = |id: &str, task_type: &str| {
        format!(
            r#"{{"question_id":"{id}","video_id":"v","task_type":"{task_type}","question":"Which?","options":["a","b"],"answer":"A"}}"#
        )
    };
    let lines = [question("q1", "Causal Why"), question("q2", "Counting Problem"), question("q3", "Causal How")];
    fs::write(root.path().join("questions.jsonl"), lines.join("\n") + "\n").unwrap();
    let done = json(root.path(), &["skills", "scaffold"]);
    assert_eq!(done["created"].as_object().unwrap().keys().collect::<Vec<_>>(), ["Causal How", "Causal Why"]);
}

#[test]
fn what_does_not_exist_is_a_usage_error() {
    let root = workspace();
    let path = root.path();
    for (arguments, code) in [
        (&["skills", "show", "v7"][..], "versions.unknown"),
        (&["skills", "show", "best"], "versions.none"),
        (&["skills", "show", "v1", "nothing.md"], "versions.no_file"),
        (&["skills", "checkout", "v1", "videos/.."], "versions.occupied"),
    ] {
        let (exit, _, err) = run(path, arguments);
        assert_eq!(exit, 2, "{err}");
        assert!(err.contains(&format!("[{code}]")), "{err}");
    }
    assert_eq!(run(path, &["skills", "show", "latest"]).0, 2);
}

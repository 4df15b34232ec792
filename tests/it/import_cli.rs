//! `trm import` and `trm tree build` as people and programs meet them.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::data_support::{lines, question, question_with, tree};
use crate::support::trm;

/// A workspace in `demo`, and a place for sources beside it.
fn desk() -> TempDir {
    let folder = TempDir::new().unwrap();
    trm().arg("init").arg(folder.path().join("demo")).assert().success();
    folder
}

fn import(desk: &TempDir, arguments: &[&str]) -> Command {
    let mut command = trm();
    command.current_dir(desk.path()).args(["-C", "demo", "import"]).args(arguments);
    command
}

fn stdout(command: &mut Command) -> String {
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

fn json_of(command: &mut Command) -> Value {
    serde_json::from_str(&stdout(command.arg("--json"))).unwrap()
}

#[test]
fn an_import_says_what_is_there_and_the_same_again_changes_nothing() {
    let desk = desk();
    let records = [question("q1"), question_with("q2", json!({"task_type": "Counting Sheep", "video_id": "v2"}))];
    fs::write(desk.path().join("q.jsonl"), lines(&records)).unwrap();
    fs::write(desk.path().join("t.json"), tree("v1").to_string()).unwrap();
    let text = stdout(&mut import(&desk, &["trees", "t.json"]));
    assert!(text.contains("1 tree with 3 nodes") && text.contains("1 new"), "{text}");
    let text = stdout(&mut import(&desk, &["questions", "q.jsonl"]));
    for expected in [
        "2 questions on 2 videos",
        "2 units (0 pairs), fingerprint ",
        "Action Reasoning  1",
        "Counting Sheep    1",
        "made skills v2 with copies of the default strategy: counting-sheep.md",
        "1 of the questions are about 1 videos without a tree: v2",
    ] {
        assert!(text.contains(expected), "{expected} is missing in:\n{text}");
    }
    let text = stdout(&mut import(&desk, &["questions", "q.jsonl"]));
    assert!(text.contains("nothing was changed") && !text.contains("made skills"), "{text}");
    let report = json_of(&mut import(&desk, &["questions", "q.jsonl"]));
    assert_eq!((&report["imported"], &report["changed"]), (&json!(true), &json!(false)));
    assert_eq!(report["questions"]["outcome"], "unchanged");
    assert_eq!(report["questions"]["task_types"], json!({"Action Reasoning": 1, "Counting Sheep": 1}));
    assert_eq!(report["without_tree"], json!({"questions": 1, "videos": ["v2"]}));
}

#[test]
fn bad_data_is_listed_and_counted_for_people_and_whole_for_programs() {
    let desk = desk();
    let bad: Vec<Value> = (0..30).map(|number| question_with(&format!("q{number}"), json!({"answer": "Z"}))).collect();
    fs::write(desk.path().join("q.jsonl"), lines(&bad)).unwrap();
    let failed = import(&desk, &["questions", "q.jsonl"]).assert().code(3);
    let text = String::from_utf8(failed.get_output().stderr.clone()).unwrap();
    assert!(text.starts_with("error: use q.jsonl: 30 errors [data.invalid]\n"), "{text}");
    assert!(text.contains("  q.jsonl, line 1, /answer: the answer \"Z\" is no letter from A to B"), "{text}");
    assert!(text.contains("  … and 10 more; --json lists all\n"), "{text}");
    assert!(text.contains("\nhint: correct what is listed"), "{text}");

    let failed = import(&desk, &["questions", "q.jsonl", "--json"]).assert().code(3);
    let report: Value = serde_json::from_slice(&failed.get_output().stdout).unwrap();
    assert_eq!((&report["imported"], &report["problems"]["errors"]), (&json!(false), &json!(30)));
    let last = &report["problems"]["list"][29];
    assert_eq!((&last["rule"], &last["place"]["line"]), (&json!("question.answer_unknown"), &json!(30)));
    let error: Value = serde_json::from_slice(&failed.get_output().stderr).unwrap();
    assert_eq!((&error["code"], error["problems"].as_array().unwrap().len()), (&json!("data.invalid"), 30));
    assert!(!desk.path().join("demo/questions.jsonl").exists());
}

#[test]
fn names_of_hostile_files_and_texts_do_not_reach_the_terminal_raw() {
    let desk = desk();
    let name = "q\u{1b}[31m.jsonl";
    fs::write(desk.path().join(name), lines(&[question_with("q\u{1b}[2J", json!({}))])).unwrap();
    let failed = import(&desk, &["questions", name]).assert().code(3);
    assert!(!failed.get_output().stderr.contains(&0x1b));
}

#[test]
fn missing_files_and_wrong_arguments_have_their_own_codes() {
    let desk = desk();
    let failed = import(&desk, &["questions", "none.jsonl", "--json"]).assert().code(3);
    let error: Value = serde_json::from_slice(&failed.get_output().stderr).unwrap();
    assert_eq!(error["code"], "data.not_found");
    import(&desk, &["next-qa", ".", "--types", "XX"]).assert().code(2);
    import(&desk, &["nonsense", "."]).assert().code(2);
    trm().current_dir(desk.path()).args(["import", "questions", "x"]).assert().code(2);
    trm().current_dir(desk.path()).args(["-C", "demo", "tree", "build"]).assert().code(2);
}

#[test]
fn video_mme_is_read_in_its_own_shapes() {
    let desk = desk();
    let flat = json!([{
        "video_id": "001", "videoID": "fFjv93ACGo8x", "duration": "short", "domain": "Made Up", "sub_category": "None",
        "url": "https://example.org/1", "question_id": "001-1", "task_type": "Counting Problem",
        "question": "How many made-up things are there?", "options": ["A. 1.", "B. 2.", "C. 3.", "D. 4."], "answer": "C",
    }]);
    fs::write(desk.path().join("flat.json"), flat.to_string()).unwrap();
    let report = json_of(&mut import(&desk, &["video-mme", "flat.json"]));
    assert_eq!(report["without_tree"]["videos"], json!(["fFjv93ACGo8x"]));
    assert_eq!(report["problems"]["errors"], 0);
    let report = json_of(&mut import(&desk, &["video-mme", "flat.json", "--video-id", "number"]));
    assert_eq!(report["without_tree"]["videos"], json!(["001"]));

    let nested = json!([{
        "video_id": "001", "duration": "short", "domain": "Made Up", "sub_category": "None",
        "questions": [
            {"question_id": "001-1", "task_type": "Counting Problem", "question": "How many?",
             "options": ["A. 1.", "B. 2.", "C. 3.", "D. 4."], "answer": "C", "response": ""},
            {"question_id": "001-2", "task_type": "OCR Problems", "question": "Which word?",
             "options": ["A. x.", "B. y.", "C. z.", "D. w."], "answer": "A", "response": ""},
        ],
    }]);
    fs::write(desk.path().join("nested.json"), nested.to_string()).unwrap();
    let report = json_of(&mut import(&desk, &["video-mme", "nested.json"]));
    assert_eq!(report["questions"]["task_types"], json!({"Counting Problem": 1, "OCR Problems": 1}));
    assert_eq!(report["without_tree"]["videos"], json!(["001"]));
}

#[test]
fn trees_are_built_from_captions_and_subtitles_of_a_folder() {
    let desk = desk();
    let write = |name: &str, text: &str| {
        let path = desk.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("caps/v1.json", r#"{"0": "A cook stands.", "1": "A cook cuts bread.", "2": "The bread is gone."}"#);
    write("caps/v2.csv", "start,end,text\n0,5,A river.\n5,9,A boat.\n");
    write("subs/v1.en.srt", "1\n00:00:01,000 --> 00:00:02,000\n<i>Fresh bread!</i>\n");
    write("subs/v3.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nOnly words.\n");
    let build = |extra: &[&str]| {
        let mut command = trm();
        command.current_dir(desk.path()).args(["-C", "demo", "tree", "build", "--json"]).args(extra);
        command
    };
    let report: Value =
        serde_json::from_str(&stdout(&mut build(&["--captions", "caps", "--subtitles", "subs"]))).unwrap();
    assert_eq!((&report["trees"]["new"], &report["changed"]), (&json!(3), &json!(true)));
    let read = |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let tree = read(&desk.path().join("demo/videos/v1/tree.json"));
    let spoken: Vec<_> = tree["nodes"]
        .as_object()
        .unwrap()
        .values()
        .filter(|node| node["level"] == 3)
        .map(|node| &node["subtitle"])
        .collect();
    assert_eq!(spoken, [&Value::Null, &json!("Fresh bread!"), &Value::Null]);
    let report: Value =
        serde_json::from_str(&stdout(&mut build(&["--captions", "caps", "--subtitles", "subs"]))).unwrap();
    assert_eq!((&report["trees"]["unchanged"], &report["changed"]), (&json!(3), &json!(false)));

    let one = [
        "--captions",
        "caps/v2.csv",
        "--video",
        "boat",
        "--duration",
        "12.5",
        "--scenes",
        "1",
        "--output",
        "boat.json",
    ];
    let report: Value = serde_json::from_str(&stdout(&mut build(&one))).unwrap();
    assert_eq!(
        (&report["scenes"], &report["frames"], &report["duration_seconds"]),
        (&json!(1), &json!(2), &json!(12.5))
    );
    assert_eq!(read(&desk.path().join("boat.json"))["videoID"], "boat");

    write("bad/v4.srt", "1\n00:00:01,000 --> soon\nx\n");
    write("bad/v5.vtt", "WEBVTT\n\n00:01.000 --> 00:99:02.000\ny\n");
    let failed = build(&["--subtitles", "bad"]).assert().code(3);
    let report: Value = serde_json::from_slice(&failed.get_output().stdout).unwrap();
    assert_eq!(report["problems"]["errors"], 2);
    build(&["--captions", "caps", "--video", "v1"]).assert().code(3);
}

#[test]
fn a_kill_at_any_moment_leaves_what_was_there_or_what_the_same_command_completes() {
    let desk = desk();
    let videos = 60;
    let mut table = "video,question,answer,qid,type,a0,a1,a2,a3,a4\n".to_owned();
    fs::create_dir(desk.path().join("caps")).unwrap();
    for video in 0..videos {
        table.push_str(&format!("v{video},why,1,0,CW,a,b,c,d,e\n"));
        fs::write(desk.path().join(format!("caps/v{video}_cap.json")), r#"["One thing.", "Another.", "A third."]"#)
            .unwrap();
    }
    fs::write(desk.path().join("val.csv"), table).unwrap();
    fs::write(desk.path().join("q.jsonl"), lines(&[question("q1")])).unwrap();
    import(&desk, &["questions", "q.jsonl"]).assert().success();
    let questions = desk.path().join("demo/questions.jsonl");
    let before = fs::read(&questions).unwrap();

    let rounds: u64 = std::env::var("TRM_KILL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    for round in 0..rounds {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_trm"))
            .current_dir(desk.path())
            .args(["-C", "demo", "import", "next-qa", "."])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5 + round * 37 % 400));
        child.kill().unwrap();
        child.wait().unwrap();
        let set = trm::data::load_questions(&questions).unwrap();
        let trees = trm::data::TreeSet::new(desk.path().join("demo/videos"));
        for video in trees.videos().unwrap() {
            trees.get(&video).unwrap();
        }
        if set.questions.len() == 1 {
            assert_eq!(fs::read(&questions).unwrap(), before);
        } else {
            assert_eq!((set.questions.len(), trees.videos().unwrap().len()), (videos, videos));
        }
    }
    import(&desk, &["next-qa", "."]).assert().success();
    let report = json_of(&mut import(&desk, &["next-qa", "."]));
    assert_eq!((&report["changed"], &report["questions"]["questions"]), (&json!(false), &json!(videos)));
    assert_eq!(report["trees"]["unchanged"], json!(videos));
    let leftovers = fs::read_dir(desk.path().join("demo")).unwrap().filter_map(Result::ok);
    let leftovers: Vec<_> = leftovers
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().contains(".trm-import"))
        .collect();
    assert_eq!(leftovers, Vec::<std::ffi::OsString>::new());
    assert!(!desk.path().join("demo/videos/.trm-import").exists());
}

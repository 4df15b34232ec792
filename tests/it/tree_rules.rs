//! Trees in: every rule of a tree, every kind of damage.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::data_support::{load_tree, tree, tree_with};

fn load(bytes: impl AsRef<[u8]>) -> (Option<usize>, Vec<String>) {
    let videos = TempDir::new().unwrap();
    fs::create_dir(videos.path().join("v1")).unwrap();
    fs::write(videos.path().join("v1/tree.json"), bytes).unwrap();
    load_tree(videos.path())
}

#[track_caller]
fn accepted(tree: &Value, nodes: usize, warnings: &[&str]) {
    assert_eq!(load(tree.to_string()), (Some(nodes), warnings.iter().map(ToString::to_string).collect()));
}

#[track_caller]
fn refused(tree: &Value, problems: &[&str]) {
    assert_eq!(load(tree.to_string()), (None, problems.iter().map(ToString::to_string).collect()));
}

#[test]
fn a_small_tree_is_accepted() {
    accepted(&tree("v1"), 3, &[]);
    assert_eq!(load(format!("\u{feff}{}\r\n", tree("v1"))), (Some(3), vec![]));
}

#[test]
fn children_must_exist_and_have_one_parent_one_level_above() {
    refused(
        &tree_with("v1", json!({"nodes": {"s": {"children_ids": ["e", "ghost"]}}})),
        &["error tree.unknown_child line 1, /nodes/s/children_ids/1"],
    );
    refused(
        &tree_with("v1", json!({"nodes": {"s": {"children_ids": ["e", "e"]}}})),
        &["error tree.two_parents line 1, /nodes/s/children_ids/1"],
    );
    refused(
        &tree_with(
            "v1",
            json!({"nodes": {"e2": {"level": 2, "time_range": [0, 1], "card": "x", "children_ids": ["f"]},
            "s": {"children_ids": ["e", "e2"]}}}),
        ),
        &["error tree.two_parents line 1, /nodes/e2/children_ids/0"],
    );
    refused(
        &tree_with("v1", json!({"nodes": {"e": {"children_ids": []}, "s": {"children_ids": ["e", "f"]}}})),
        &["error tree.child_level line 1, /nodes/s/children_ids/1"],
    );
}

#[test]
fn nodes_without_a_parent_and_trees_without_a_root_are_refused() {
    refused(&tree_with("v1", json!({"nodes": {"e": {"children_ids": []}}})), &["error tree.orphan line 1, /nodes/f"]);
    refused(
        &tree_with("v1", json!({"nodes": {"s": null}})),
        &["error tree.orphan line 1, /nodes/e", "error tree.no_root"],
    );
    refused(&json!({"videoID": "v1", "duration_seconds": 1, "nodes": {}}), &["error tree.no_nodes line 1, /nodes"]);
}

#[test]
fn cycles_are_found_wherever_they_are() {
    let (none, problems) = load(tree_with("v1", json!({"nodes": {"f": {"children_ids": ["s"]}}})).to_string());
    assert_eq!(none, None);
    assert!(problems.iter().any(|problem| problem.starts_with("error tree.cycle")), "{problems:?}");
    let (none, problems) = load(tree_with("v1", json!({"nodes": {"s": {"children_ids": ["s", "e"]}}})).to_string());
    assert_eq!(none, None);
    assert!(problems.contains(&"error tree.cycle line 1, /nodes/s".to_owned()), "{problems:?}");
}

#[test]
fn times_are_numbers_in_order_and_inside() {
    for range in
        [json!([5.0, 1.0]), json!([-1.0, 2.0]), json!([1.0]), json!([1, 2, 3]), json!(["0", 1]), json!([null, 1])]
    {
        let tree = tree_with("v1", json!({"nodes": {"f": {"time_range": range}}}));
        refused(&tree, &["error tree.time_range line 1, /nodes/f/time_range"]);
    }
    let text = tree("v1").to_string();
    for number in ["NaN", "1e999", "-Infinity"] {
        let (none, problems) = load(text.replace("[1.0,2.0]", &format!("[{number},2.0]")));
        assert!(
            none.is_none() && problems.len() == 1 && problems[0].starts_with("error json.syntax line 1"),
            "{problems:?}"
        );
    }
    accepted(&tree_with("v1", json!({"nodes": {"f": {"time_range": [0.0, 31.0]}}})), 3, &[]);
    accepted(
        &tree_with("v1", json!({"nodes": {"f": {"time_range": [0.0, 31.1]}}})),
        3,
        &["warning tree.child_time line 1, /nodes/f/time_range"],
    );
    accepted(
        &tree_with("v1", json!({"duration_seconds": 50})),
        3,
        &["warning tree.beyond_end line 1, /nodes/s/time_range"],
    );
    for duration in [json!(0), json!(-1.5)] {
        refused(
            &tree_with("v1", json!({"duration_seconds": duration})),
            &["error tree.duration line 1, /duration_seconds"],
        );
    }
}

#[test]
fn a_tree_without_text_is_refused_and_a_node_without_text_told() {
    let mut silent = tree("v1");
    for (node, card) in [("s", json!({"n": 3})), ("e", json!({})), ("f", json!(null))] {
        silent["nodes"][node]["card"] = card;
    }
    silent["nodes"]["f"]["subtitle"] = json!(" ");
    refused(&silent, &["error tree.no_text"]);
    accepted(
        &tree_with("v1", json!({"nodes": {"e": {"card": {"event_description": ""}}}})),
        3,
        &["warning tree.node_without_text line 1, /nodes/e"],
    );
}

#[test]
fn ids_and_frames_that_could_act_as_paths_are_refused() {
    for id in ["a/b", "../x", "x%2Fy", "nul\0", &"x".repeat(10_240)] {
        let mut tree = tree("v1");
        tree["nodes"][id] = json!({"level": 1, "time_range": [0, 1], "card": "x"});
        let (none, problems) = load(tree.to_string());
        assert!(none.is_none() && problems.len() == 1 && problems[0].starts_with("error id.refused"), "{problems:?}");
    }
    for frame in ["../../etc/passwd", "a/b.jpg", "..", "", "x\0.jpg"] {
        let tree = tree_with("v1", json!({"nodes": {"f": {"frame": frame}}}));
        refused(&tree, &["error tree.frame line 1, /nodes/f/frame"]);
    }
}

#[test]
fn every_problem_of_a_tree_is_reported_with_its_line() {
    let text = r#"{
  "videoID": "v1",
  "duration_seconds": 0,
  "nodes": {
    "s": {"level": 4, "time_range": [0, 1], "card": "x", "children_ids": ["ghost", 3]},
    "t": [],
    "u": {"level": 1, "time_range": [0, 1], "card": "\ud800"},
    "v": {"card": "x", "weight": 3}
  }
}"#;
    let (none, problems) = load(text);
    let expected = [
        "error tree.duration line 3, /duration_seconds",
        "error tree.level line 5, /nodes/s/level",
        "error tree.wrong_type line 5, /nodes/s/children_ids/1",
        "error tree.wrong_type line 6, /nodes/t",
        "error json.syntax line 7, /nodes/u",
        "warning tree.unknown_field line 8, /nodes/v/weight",
        "error tree.missing_field line 8, /nodes/v",
        "error tree.missing_field line 8, /nodes/v",
        "error tree.unknown_child line 5, /nodes/s/children_ids/0",
    ];
    assert_eq!((none, problems), (None, expected.map(str::to_owned).to_vec()));
}

#[test]
fn a_tree_of_another_video_or_shape_is_refused() {
    refused(&tree("v2"), &["error tree.other_video /videoID"]);
    refused(&json!([1, 2]), &["error tree.shape"]);
    let missing = ["error tree.missing_field", "error tree.missing_field", "error tree.missing_field"];
    refused(&json!({}), &missing);
    assert_eq!(load("").1, ["error file.empty"]);
    assert!(load("{\"videoID\": \"v1\", ").1[0].starts_with("error json.syntax line 1"));
    let twice = tree("v1").to_string().replace("\"videoID\":", "\"videoID\":\"v1\",\"videoID\":");
    assert_eq!(load(twice).1, ["error json.repeated_key line 1, /videoID"]);
}

#[test]
fn deep_cards_are_an_error_and_no_stack_overflow() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = tree("v1").to_string().replace("{\"frame_summary\":\"a knife\"}", &deep);
    assert_eq!(load(text), (None, vec!["error json.syntax line 1, /nodes/f".to_owned()]));
}

#[test]
fn fifty_thousand_nodes_are_fine_in_any_order() {
    let mut nodes = serde_json::Map::new();
    for scene in 0..50 {
        let events: Vec<String> = (0..30).map(|event| format!("z{scene}_{event}")).collect();
        for (index, event) in events.iter().enumerate() {
            let frames: Vec<String> = (0..33).map(|frame| format!("f{scene}_{index}_{frame}")).collect();
            for frame in &frames {
                nodes.insert(frame.clone(), json!({"level": 3, "time_range": [0, 1], "card": {"frame_summary": "x"}}));
            }
            nodes.insert(event.clone(), json!({"level": 2, "time_range": [0, 9], "card": "y", "children_ids": frames}));
        }
        nodes.insert(
            format!("s{scene}"),
            json!({"level": 1, "time_range": [0, 9], "card": "z", "children_ids": events}),
        );
    }
    let count = nodes.len();
    assert!(count > 50_000);
    let tree = json!({"videoID": "v1", "duration_seconds": 9, "nodes": nodes});
    assert_eq!(load(tree.to_string()), (Some(count), vec![]));
}

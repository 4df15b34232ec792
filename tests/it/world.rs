//! The generated world: what must hold for every seed and size, and `trm sim world`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;
use trm::data::{TreeSet, load_questions};
use trm::domain::Fault;
use trm::sim::world::{Channel, Truth, World, WorldSpec, generate};

use crate::support::trm;

/// Questions and videos of the sizes under test; the last is the default.
const SIZES: [(usize, usize); 4] = [(3, 3), (6, 6), (12, 12), (24, 30)];

fn spec(seed: u64, (videos, questions_per_type): (usize, usize)) -> WorldSpec {
    WorldSpec { videos, seed, questions_per_type, ..WorldSpec::default() }
}

fn seeds() -> u64 {
    std::env::var("TRM_WORLD_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// Every seed with one of the sizes, in turn; made once for all tests.
fn worlds() -> &'static [(String, WorldSpec, World)] {
    static WORLDS: LazyLock<Vec<(String, WorldSpec, World)>> = LazyLock::new(|| {
        let of_seed = |seed: u64| {
            let size = SIZES[usize::try_from(seed).unwrap() % SIZES.len()];
            let spec = spec(seed * 7919, size);
            let world = generate(&spec).unwrap();
            (format!("seed {}, {} videos, {} questions a type", spec.seed, size.0, size.1), spec, world)
        };
        (0..seeds()).map(of_seed).collect()
    });
    &WORLDS
}

fn load(folder: &Path, name: &str, spec: &WorldSpec) {
    let set = load_questions(&folder.join("questions.jsonl")).unwrap();
    assert_eq!(set.warnings.list(), [], "{name}");
    assert_eq!(set.questions.len(), 12 * spec.questions_per_type, "{name}");
    let types = set.task_types();
    assert_eq!(types.len(), 12, "{name}: {types:?}");
    assert!(types.values().all(|count| *count == spec.questions_per_type), "{name}: {types:?}");
    let trees = TreeSet::new(folder.join("videos"));
    let videos = trees.videos().unwrap();
    assert_eq!(videos.len(), spec.videos, "{name}");
    for video in &videos {
        let stored = trees.get(video).unwrap();
        assert_eq!(stored.warnings.list(), [], "{name}, {video}");
        let minutes = stored.tree.duration_seconds / 60.0;
        assert!((9.5..=61.0).contains(&minutes), "{name}, {video}: {minutes} minutes");
        let frames = trees.frames_dir(video);
        for (id, node) in stored.tree.nodes.iter().filter(|(_, node)| node.level == 3 && node.frame.is_some()) {
            assert!(frames.join(stored.tree.frame_file(id, node)).is_file(), "{name}, {video}: the frame of {id}");
        }
    }
    for question in &set.questions {
        let tree = &trees.get(&question.video_id).unwrap().tree;
        assert!(!question.source_nodes.is_empty(), "{name}: {}", question.question_id);
        assert!(question.source_nodes.iter().all(|node| tree.nodes.contains_key(node)), "{name}: {question:?}");
    }
}

#[test]
fn every_world_loads_without_a_warning_and_its_frames_are_there() {
    for (name, spec, world) in worlds() {
        let folder = TempDir::new().unwrap();
        world.write_to(folder.path(), false).unwrap();
        load(folder.path(), name, spec);
    }
}

#[test]
fn every_question_has_one_right_option_that_its_evidence_carries() {
    for (name, _, world) in worlds() {
        let trees: BTreeMap<_, _> = world.trees.iter().map(|tree| (&tree.video_id, tree)).collect();
        let mut asked = BTreeSet::new();
        for question in &world.questions {
            let id = &question.question_id;
            let folded: BTreeSet<String> =
                question.options.iter().map(|choice| choice.text.trim().to_lowercase()).collect();
            assert_eq!(folded.len(), question.options.len(), "{name}, {id}: options are equal but for their case");
            assert!(question.answer_text().is_some(), "{name}, {id}");
            let truth = &world.truth.questions[id];
            assert_ne!(truth.lure, question.answer, "{name}, {id}: the lure is the answer");
            assert!(question.options.iter().any(|choice| choice.letter == truth.lure), "{name}, {id}");
            assert!(!truth.evidence.is_empty() && !truth.strategies.is_empty(), "{name}, {id}");
            for evidence in &truth.evidence {
                let node = trees[&question.video_id].nodes.get(&evidence.node);
                let node = node.unwrap_or_else(|| panic!("{name}, {id}: {} is no node", evidence.node));
                match evidence.channel {
                    Channel::Card => {
                        assert!(
                            node.card.to_string().contains(&json_inner(&evidence.text)),
                            "{name}, {id}: {evidence:?}"
                        );
                    }
                    Channel::Subtitle => {
                        assert!(
                            node.subtitle.as_ref().is_some_and(|text| text.contains(&evidence.text)),
                            "{name}, {id}"
                        );
                    }
                    Channel::Picture => {
                        assert!(!node.card.to_string().contains(&evidence.text), "{name}, {id}: also in the card");
                    }
                    Channel::Time => {}
                }
            }
            let options: Vec<_> = question.options.iter().map(|choice| choice.text.as_str()).collect();
            let key = (question.video_id.as_str(), question.question.as_str(), options);
            assert!(asked.insert(key), "{name}, {id}: the same question twice");
        }
        assert_eq!(world.truth.questions.len(), world.questions.len(), "{name}");
    }
}

/// The text as it stands inside of a JSON string.
fn json_inner(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap().to_owned()
}

/// Within a type the counts of the four letters differ by one question at most, and over the world by next to nothing.
#[test]
fn letters_of_right_answers_are_even() {
    for (name, spec, world) in worlds() {
        let mut all: BTreeMap<char, usize> = BTreeMap::new();
        let mut by_type: BTreeMap<_, BTreeMap<char, usize>> = BTreeMap::new();
        for question in &world.questions {
            assert_eq!(question.options.len(), 4, "{name}, {}", question.question_id);
            *all.entry(question.answer).or_default() += 1;
            *by_type.entry(&question.task_type).or_default().entry(question.answer).or_default() += 1;
        }
        let count = |counts: &BTreeMap<char, usize>, letter| counts.get(&letter).copied().unwrap_or(0);
        for letter in 'A'..='D' {
            let share = count(&all, letter) as f64 / world.questions.len() as f64;
            assert!((0.24..=0.26).contains(&share), "{name}: {letter} has a share of {share:.3}");
            for (task_type, counts) in &by_type {
                let even = spec.questions_per_type as f64 / 4.0;
                let found = count(counts, letter) as f64;
                assert!((found - even).abs() <= 1.0, "{name}, {task_type}: {letter} is right {found} times");
            }
        }
    }
}

#[test]
fn equal_seeds_give_equal_bytes_and_other_seeds_give_others() {
    for (name, spec, world) in worlds().iter().step_by(5) {
        assert!(generate(spec).unwrap().files().unwrap() == world.files().unwrap(), "{name}");
    }
    let questions = |world: &World| {
        let files = world.files().unwrap();
        files.into_iter().find(|(path, _)| path == Path::new("questions.jsonl")).unwrap().1
    };
    let different: BTreeSet<Vec<u8>> = worlds().iter().map(|(_, _, world)| questions(world)).collect();
    assert_eq!(different.len(), worlds().len());
}

#[test]
fn the_default_world_is_below_two_megabytes_for_every_seed() {
    for seed in 0..seeds() {
        let files = generate(&spec(seed * 31 + 42, SIZES[3])).unwrap().files().unwrap();
        let bytes: usize =
            files.iter().filter(|(path, _)| path != Path::new("sim-truth.json")).map(|(_, b)| b.len()).sum();
        assert!(bytes < 2_000_000, "seed {}: {bytes} bytes", seed * 31 + 42);
    }
}

#[test]
fn pairs_are_two_questions_of_one_video_and_type() {
    for (name, _, world) in worlds() {
        let mut pairs: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for question in &world.questions {
            if let Some(pair) = &question.pair_id {
                pairs.entry(pair).or_default().push((&question.video_id, &question.task_type));
            }
        }
        assert!(!pairs.is_empty(), "{name}");
        assert!(pairs.values().all(|members| members.len() == 2 && members[0] == members[1]), "{name}");
    }
}

#[test]
fn what_cannot_be_generated_is_refused_with_the_numbers() {
    let error = generate(&WorldSpec { videos: 1, questions_per_type: 500, ..WorldSpec::default() }).unwrap_err();
    assert_eq!(error.code(), "sim.too_few_facts");
    assert!(error.to_string().contains("500") && error.hint().unwrap().contains("--videos"), "{error}");
    let wrong = [
        WorldSpec { videos: 0, ..WorldSpec::default() },
        WorldSpec { min_minutes: 1, ..WorldSpec::default() },
        WorldSpec { min_minutes: 60, max_minutes: 10, ..WorldSpec::default() },
        WorldSpec { pair_share: f64::NAN, ..WorldSpec::default() },
        WorldSpec { pair_share: 1.5, ..WorldSpec::default() },
    ];
    for spec in wrong {
        assert_eq!(generate(&spec).unwrap_err().code(), "sim.spec", "{spec:?}");
    }
}

#[test]
fn a_truth_file_comes_back_as_it_was() {
    let world = generate(&spec(5, SIZES[0])).unwrap();
    let files = world.files().unwrap();
    let (_, bytes) = files.iter().find(|(path, _)| path == Path::new("sim-truth.json")).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert_eq!(Truth::from_json(&text).unwrap(), world.truth);
    assert_eq!(Truth::from_json(&text.replacen("\"version\":1", "\"version\":9", 1)).unwrap_err().code(), "sim.spec");
    assert_eq!(Truth::from_json("{").unwrap_err().code(), "sim.json");
}

#[test]
fn sim_world_writes_says_repeats_and_refuses() {
    let folder = TempDir::new().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = trm();
        command.current_dir(folder.path()).args(["sim", "world", "--videos", "4", "--questions", "4"]).args(arguments);
        command
    };
    let output = run(&["--seed", "9", "-o", "w", "--json"]).assert().success();
    let report: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!((&report["videos"], &report["questions"]), (&Value::from(4), &Value::from(48)));
    let world = folder.path().join("w");
    load(&world, "command line", &spec(9, (4, 4)));
    let count = walk(&world);
    assert_eq!(report["files"], count.len());
    // The same again changes nothing, without --force.
    let output = run(&["--seed", "9", "-o", "w"]).assert().success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.starts_with("4 videos, 48 questions ("), "{text}");
    assert_eq!(walk(&world), count);
    // Another world does not overwrite this one unasked, and nothing of it is written.
    let output = run(&["--seed", "10", "-o", "w", "--json"]).assert().code(2);
    let error: Value = serde_json::from_slice(&output.get_output().stderr).unwrap();
    assert_eq!(error["code"], "sim.file_exists");
    assert_eq!(walk(&world), count);
    run(&["--seed", "10", "-o", "w", "--force"]).assert().success();
    assert_ne!(walk(&world), count);
    // What it wrote can be imported.
    trm().current_dir(folder.path()).args(["init", "demo"]).assert().success();
    let import = |what: &str, path: &str| {
        trm().current_dir(folder.path()).args(["-C", "demo", "import", what, path]).assert().success();
    };
    import("trees", "w/videos");
    import("questions", "w/questions.jsonl");
    run(&["--videos", "0"]).assert().code(2);
}

fn walk(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

//! A writer whose edits help, and whose notes and prompts only ever do harm: they pass no gate, and none of them reaches the
//! best pointer.

use serde_json::json;
use trm::domain::RunId;
use trm::sim::world::{Damage, Strategy, damages_in};
use trm::store::Snapshot;
use trm::store::rows::{PointerName, VersionKind};

use crate::llm_support::{Act, Hostile, completion};
use crate::train_support::{check, json, store, workspace};

/// As the small training, with the writer elsewhere.
fn config(writer: &str) -> String {
    format!(
        "\
data: {{questions: questions.jsonl, videos_dir: videos}}
llm:
  default: {{provider: sim}}
  vision: {{provider: sim}}
  evolve: {{provider: openai, base_urls: [{writer:?}], model: harm}}
run: {{seed: 42}}
agent: {{tool_summaries: raw, concurrency: 16, max_steps: 8}}
pools: {{eval_min_per_class: 1}}
minibatch: {{batch_size: 16, max_steps_per_epoch: 2}}
epochs: {{epochs: 2}}
slow: {{momentum_sample: 6}}
"
    )
}

/// What the writer replies: helpful edits of skills, harmful guidance and prompts.
fn reply(request: &[u8]) -> String {
    let text = String::from_utf8_lossy(request);
    let is_prompt = text.contains("The system prompt as it is") || text.contains("`extract` as it is");
    let help: Vec<&str> = Strategy::ALL.iter().filter_map(|strategy| strategy.canonical().first().copied()).collect();
    let harm: Vec<&str> = Damage::ALL.iter().filter_map(|damage| damage.sentences().first().copied()).collect();
    let (edit, guidance) = (if is_prompt { &harm } else { &help }.join("\n- "), harm[..4].join(" "));
    let edit = json!({"op": "append", "target": "", "content": format!("- {edit}"), "file": "extract"});
    completion(&json!({"edits": [edit], "selected": [0], "guidance": guidance, "notes": ["Look twice."]}).to_string())
}

fn harm_in(snapshot: &Snapshot<'_>, kind: VersionKind, name: trm::domain::VersionName) -> bool {
    snapshot.version_texts(kind, name).unwrap().values().any(|text| !damages_in(text).is_empty())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harmful_note_or_prompt_never_moves_the_best_pointer() {
    let writer = Hostile::start(|_, request| Act::ok(reply(request))).await;
    let folder = tempfile::tempdir().unwrap();
    let text = config(&writer.url);
    let (ws, summary) = tokio::task::spawn_blocking({
        let folder = folder.path().to_owned();
        move || {
            let ws = workspace(&folder, 10, &text);
            let summary = json(&ws, &["train"]);
            (ws, summary)
        }
    })
    .await
    .unwrap();
    assert_eq!(summary["finished"], true);
    assert!(writer.hits() > 10, "the writer was asked");
    check(&ws);
    let store = store(&ws);
    let snapshot = store.snapshot().unwrap();
    let best = snapshot.pointer(PointerName::Best).unwrap().unwrap().versions;
    let start = snapshot.run(&run_id()).unwrap().unwrap().versions;
    assert_ne!(best.skills, start.skills, "edits that help did move it: {summary}");
    assert!(!harm_in(&snapshot, VersionKind::Skills, best.skills), "no note");
    assert_eq!(best.prompts, start.prompts, "no prompt");

    // It is no empty claim: the harm was there, in notes of the skills and in prompts that R2 measured.
    let harmful = |kind| {
        let versions = snapshot.versions(kind).unwrap();
        versions.into_iter().filter(|(name, _)| harm_in(&snapshot, kind, *name)).count()
    };
    assert!(harmful(VersionKind::Skills) > 0, "notes were written");
    assert!(harmful(VersionKind::Prompts) > 0, "prompts were tried");
    let current = snapshot.pointer(PointerName::Current).unwrap().unwrap().versions;
    assert!(!harm_in(&snapshot, VersionKind::Prompts, current.prompts), "and taken back");
}

fn run_id() -> RunId {
    "train1".parse().unwrap()
}

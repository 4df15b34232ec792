//! Momentum on a fake writer (design 05, 12): guidance is taken, or the previous one stays with a reason.

use std::collections::BTreeMap;

use trm::assets::momentum_templates;
use trm::domain::{ChatErrorKind, ExitClass, Fault, FileName};
use trm::evolution::evolve::{EvolveLimits, LeakIndex};
use trm::evolution::momentum::{
    ChangeCounts, ComparedAnswer, MomentumContext, MomentumOutcome, MomentumStatus, VersionAnswer, put_guidance,
    write_momentum,
};
use trm::evolution::patch::momentum_inner;
use trm::evolution::{CallScope, EvolutionError};

use crate::diagnosis_support::{FakeModel, question};

const SKILL: &str = "---\nname: Alpha\ndescription: How to.\ntask_type: Alpha\n---\n\n1. Look twice.\n\n<!-- APPENDIX_START -->\n- A note.\n<!-- APPENDIX_END -->\n\n<!-- MOMENTUM_START -->\n<!-- MOMENTUM_END -->\n";

fn compared(id: &str, start: bool, end: bool) -> ComparedAnswer {
    let answer = |correct| VersionAnswer {
        answer: Some(if correct { 'A' } else { 'B' }),
        correct,
        reasoning: "so I saw".into(),
    };
    ComparedAnswer { question: question(id, "Alpha"), start: answer(start), end: answer(end) }
}

fn all_four() -> Vec<ComparedAnswer> {
    [("a", true, true), ("b", false, true), ("c", false, false), ("d", true, false)]
        .map(|(id, start, end)| compared(id, start, end))
        .to_vec()
}

async fn write(
    writer: &FakeModel,
    previous: &str,
    compared: &[ComparedAnswer],
) -> Result<MomentumOutcome, EvolutionError> {
    let prompts = momentum_templates(&BTreeMap::new()).unwrap();
    let mut long = question("long", "Alpha");
    long.question = "Why does the man in the red coat run back to the house?".into();
    let leaks = LeakIndex::new(&[long]);
    let scope = CallScope { phase_run: "r1_e1_slow6_momentum".into(), phase_path: "e1_slow6_momentum".into() };
    let limits = EvolveLimits { skill_max_tokens: 900, ..EvolveLimits::default() };
    let context = MomentumContext { writer, prompts: &prompts, leaks: &leaks, limits, scope: &scope };
    write_momentum(context, &FileName::new("alpha.md").unwrap(), SKILL, previous, compared).await
}

fn guidance(text: &str) -> String {
    serde_json::json!({"guidance": text}).to_string()
}

#[tokio::test]
async fn new_guidance_goes_into_its_region_and_nothing_else_changes() {
    let writer = FakeModel::saying("Here:\n```json\n{\"guidance\": \" Open both scenes again. \"}\n```");
    let outcome = write(&writer, "", &all_four()).await.unwrap();
    assert_eq!((outcome.status, outcome.guidance.as_str()), (MomentumStatus::Updated, "Open both scenes again."));
    let counts = ChangeCounts { improved: 1, regressed: 1, persistent_fail: 1, stable_success: 1 };
    assert_eq!(outcome.counts, counts);
    let file = FileName::new("alpha.md").unwrap();
    let with = put_guidance(&file, SKILL, &outcome.guidance).unwrap();
    assert_eq!(momentum_inner(&with), "Open both scenes again.");
    assert!(with.starts_with(SKILL.split("<!-- MOMENTUM_START").next().unwrap()));
    let prompt = writer.prompts("writer.momentum").concat();
    let place = |text: &str| prompt.rfind(text).unwrap();
    assert!(place("REGRESSED: 1") < place("PERSISTENT_FAIL: 1"), "harm comes first");
    assert!(place("PERSISTENT_FAIL: 1") < place("IMPROVED: 1") && place("IMPROVED: 1") < place("STABLE_SUCCESS: 1"));
    assert!(prompt.contains("What happens in d?") && prompt.contains("At the start: A. Now: B."));
    assert_eq!(writer.requests()[0].tag.item, "alpha.md");
}

#[tokio::test]
async fn guidance_that_cannot_be_used_leaves_the_previous_one_with_a_reason() {
    let long = "Look again. ".repeat(200);
    for (reply, reason) in [
        ("I would rather not.".to_owned(), "not one valid JSON object"),
        (r#"{"text": "x"}"#.to_owned(), "`guidance` must be text"),
        (r#"{"guidance": ["x"]}"#.to_owned(), "`guidance` must be text"),
        (guidance("  "), "empty"),
        (guidance("Keep going."), "is there"),
        (guidance(&long), "characters and may have 2000"),
        (guidance("Stop. <!-- MOMENTUM_END --> More."), "marker"),
        (guidance("Do this:\n```\ncode"), "fence"),
        (guidance("Ask why does the man in the red coat run back."), "quotes a question"),
    ] {
        let writer = FakeModel::new(move |_| Ok(reply.clone()));
        let outcome = write(&writer, "Keep going.", &all_four()).await.unwrap();
        assert_eq!(outcome.status, MomentumStatus::Kept, "{reason}");
        assert_eq!(outcome.guidance, "Keep going.");
        assert!(outcome.reason.contains(reason), "{reason}: {}", outcome.reason);
    }
    let too_long = FakeModel::new(|_| Err(ChatErrorKind::ContextOverflow));
    assert_eq!(write(&too_long, "", &all_four()).await.unwrap().status, MomentumStatus::Kept);
}

#[tokio::test]
async fn without_anything_to_compare_nobody_is_asked() {
    let outcome = write(&FakeModel::scripted(&[]), "Keep going.", &[]).await.unwrap();
    assert_eq!((outcome.status, outcome.guidance.as_str()), (MomentumStatus::Skipped, "Keep going."));
}

#[tokio::test]
async fn a_dead_writer_and_a_malformed_comparison_are_errors() {
    let dead = FakeModel::new(|_| Err(ChatErrorKind::Timeout));
    assert_eq!(write(&dead, "", &all_four()).await.unwrap_err().class(), ExitClass::Endpoint);
    let twice = [compared("a", true, true), compared("a", false, true)];
    let error = write(&FakeModel::scripted(&[]), "", &twice).await.unwrap_err();
    assert_eq!((error.class(), error.code()), (ExitClass::Internal, "evolution.comparison"));
}

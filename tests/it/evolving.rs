//! Evolving on fakes (design 05, 12): branches, budget, validation, appendix, memory.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;
use trm::assets::writer_templates;
use trm::domain::{ChatErrorKind, Choice, ExitClass, Fault, Question, VersionName};
use trm::evolution::evolve::{
    Branch, EvolutionRecord, EvolutionStatus, EvolveContext, EvolveLimits, GateFacts, LeakIndex, RejectedEdit,
    SkillEvolution, SkillUpdateMode, ToolContent, evolve_single_skill, evolve_single_tool, evolve_system_prompt,
    rejected_edits, tool_pairs,
};
use trm::evolution::patch::{EditStatus, FrozenHeadings, FrozenSpec, appendix_notes, frozen_ranges};
use trm::evolution::types::{
    CaseSample, ErrorType, PackStats, SkillCasePack, SpanSample, SystemCase, SystemCasePack, ToolCasePack,
};
use trm::evolution::{CallScope, EvolutionError};

use crate::diagnosis_support::{FakeModel, Files, question};

const SKILL: &str = "---\nname: Alpha\ndescription: How to.\ntask_type: Alpha\n---\n\n# Alpha\n\n1. Look at the scene that fits best.\n2. Compare all the options with it.\n\n<!-- APPENDIX_START -->\n- Old note.\n<!-- APPENDIX_END -->\n\n<!-- MOMENTUM_START -->\n<!-- MOMENTUM_END -->\n";

const SYSTEM: &str =
    "You answer questions about videos.\n\nTake your time.\n\n## Output format\n\nJSON with {{options}}.\n";

fn case(id: &str, correct: bool) -> CaseSample {
    let Question { question_id, task_type, question, options, answer, .. } = question(id, "Alpha");
    CaseSample {
        question_id,
        task_type,
        question,
        options,
        answer,
        agent_answer: Some('B'),
        correct,
        error_type: (!correct).then_some(ErrorType::Search),
        reasoning_sub: None,
        confidence: None,
        budget_use: 0.5,
        agent_reasoning: "so".into(),
        missed_nodes: vec![],
        steps: vec![],
    }
}

/// A pack with two failures if `defects`, and these notes.
fn pack(defects: bool, notes: &[&str]) -> SkillCasePack {
    SkillCasePack {
        task_type: "Alpha".parse().unwrap(),
        n_questions: 4,
        accuracy: 0.5,
        failure_cases: if defects { vec![case("q1", false), case("q2", false)] } else { vec![] },
        success_cases: vec![case("q3", true)],
        lapse_notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        lapse_questions: vec![],
    }
}

struct Settings<'a> {
    mode: SkillUpdateMode,
    edit_budget: u32,
    threshold: usize,
    rejected: &'a [RejectedEdit],
    limits: EvolveLimits,
    skill: &'a str,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            mode: SkillUpdateMode::Patch,
            edit_budget: 2,
            threshold: 6,
            rejected: &[],
            limits: EvolveLimits::default(),
            skill: SKILL,
        }
    }
}

/// The questions of the run: none may be quoted.
fn leaks() -> LeakIndex {
    let mut known = question("secret", "Alpha");
    known.question = "Why does the man in the red coat run back to the burning house?".into();
    known.options = vec![
        Choice { letter: 'A', text: "because his little dog is inside".into() },
        Choice { letter: 'B', text: "he forgot".into() },
    ];
    LeakIndex::new(&[known])
}

async fn with_context<T>(writer: &FakeModel, limits: EvolveLimits, run: impl AsyncFnOnce(EvolveContext<'_>) -> T) -> T {
    let (prompts, leaks, headings) = (writer_templates(&BTreeMap::new()).unwrap(), leaks(), FrozenHeadings::default());
    let scope = CallScope { phase_run: "r1_e1_s0_evolve".into(), phase_path: "e1_s0_evolve".into() };
    run(EvolveContext { writer, prompts: &prompts, leaks: &leaks, headings: &headings, limits, scope: &scope }).await
}

async fn evolve(
    writer: &FakeModel,
    pack: &SkillCasePack,
    settings: Settings<'_>,
) -> Result<EvolutionRecord, EvolutionError> {
    let skills = Files::new(&[("alpha.md", settings.skill), ("default-strategy.md", SKILL)]);
    let evolution = SkillEvolution {
        source_version: VersionName::FIRST,
        edit_budget: settings.edit_budget,
        consolidate_threshold: settings.threshold,
        mode: settings.mode,
        rejected: settings.rejected,
    };
    with_context(writer, settings.limits, async |context| evolve_single_skill(context, pack, &skills, evolution).await)
        .await
}

const ONE_EDIT: &str =
    r#"{"edits": [{"op": "replace", "target": "the scene that fits best", "content": "every scene that could fit"}]}"#;

fn statuses(record: &EvolutionRecord) -> Vec<EditStatus> {
    record.report.iter().map(|row| row.status).collect()
}

#[tokio::test]
async fn a_lapse_only_pack_grows_the_appendix_without_asking_the_writer() {
    let writer = FakeModel::scripted(&[]);
    let record = evolve(&writer, &pack(false, &["New  note."]), Settings::default()).await.unwrap();
    assert_eq!((record.branch, record.status), (Branch::LapseOnly, EvolutionStatus::Evolved));
    assert_eq!(statuses(&record), [EditStatus::AppliedAppend]);
    assert_eq!(appendix_notes(&record.evolved_content), ["Old note.", "New note."]);
    assert!(record.is_real_change());
    assert!(writer.requests().is_empty());
    assert_eq!(record.evolved_content.replace("- New note.\n", ""), SKILL);
}

#[tokio::test]
async fn a_patch_is_applied_and_notes_are_added_to_it() {
    let writer = FakeModel::saying(ONE_EDIT);
    let record = evolve(&writer, &pack(true, &["New note."]), Settings::default()).await.unwrap();
    assert_eq!((record.branch, record.status), (Branch::Patch, EvolutionStatus::Evolved));
    assert!(record.evolved_content.contains("1. Look at every scene that could fit.\n"));
    assert_eq!(appendix_notes(&record.evolved_content).len(), 2);
    assert_eq!(statuses(&record), [EditStatus::Applied]);
    assert_eq!((record.clip_info.triggered, record.clip_info.before, record.clip_info.after), (false, 1, 1));
    assert_eq!(writer.requests().len(), 1, "within the budget nothing is ranked");
    assert_eq!((record.cost.calls, record.cost.prompt_tokens), (1, 10));
    let tag = &writer.requests()[0].tag;
    assert_eq!((tag.item.as_str(), tag.purpose.as_str(), tag.attempt), ("Alpha", "writer.skill", 0));
}

const FOUR_EDITS: &str = r#"{"edits": [
    {"op": "append", "target": "", "content": "3. First."}, {"op": "append", "target": "", "content": "4. Second."},
    {"op": "append", "target": "", "content": "5. Third."}, {"op": "append", "target": "", "content": "6. Fourth."}]}"#;

#[tokio::test]
async fn more_edits_than_the_budget_are_ranked_and_clipped() {
    for (reply, kept) in [
        (r#"{"selected": [3, 1, 0]}"#, ["4. Second.", "6. Fourth."]),
        (r#"{"selected": [true, 9, 1.5]}"#, ["3. First.", "4. Second."]),
        ("no idea", ["3. First.", "4. Second."]),
    ] {
        let writer = FakeModel::new(move |request| {
            Ok(if request.tag.purpose == "writer.rank" { reply.into() } else { FOUR_EDITS.into() })
        });
        let record = evolve(&writer, &pack(true, &[]), Settings::default()).await.unwrap();
        assert_eq!((record.clip_info.triggered, record.clip_info.before, record.clip_info.after), (true, 4, 2));
        let contents: Vec<&str> = record.edits.iter().map(|proposed| proposed.edit.content.as_str()).collect();
        assert_eq!(contents, kept, "{reply}");
    }
}

#[tokio::test]
async fn a_failed_attempt_is_repeated_once_with_what_was_wrong() {
    for (first, told) in [
        ("Sure: {'edits': []}", "it was not one valid JSON object"),
        (r#"{"edits": [{"op": "append"}, {"op": "replace", "target": 1}]}"#, "`target` of edit 1 must be text"),
        (
            r#"{"edits": [{"op": "delete", "target": "nowhere"}]}"#,
            "edit 0 (delete \"nowhere\"): skipped_target_not_found",
        ),
        (r#"{"edits": [{"op": "delete", "target": "- Old note."}]}"#, "skipped_frozen"),
        (r#"{"edits": [{"op": "append", "content": "```"}]}"#, "a code fence is opened"),
        (
            r#"{"edits": [{"op": "append", "content": "E.g. why does the man in the red coat run back."}]}"#,
            "\"why does the man in the red coat\"",
        ),
        (
            r#"{"edits": [{"op": "append", "content": "Say: because his little dog is inside!"}]}"#,
            "an option of a question",
        ),
    ] {
        let writer = FakeModel::new(move |request| Ok(if request.tag.attempt == 0 { first } else { ONE_EDIT }.into()));
        let record = evolve(&writer, &pack(true, &[]), Settings::default()).await.unwrap();
        assert_eq!(record.status, EvolutionStatus::Evolved, "{first}");
        assert_eq!(record.failed_attempts.len(), 1);
        assert!(record.failed_attempts[0].contains(told), "{first}: {:?}", record.failed_attempts);
        let prompts = writer.prompts("writer.skill");
        assert!(!prompts[0].contains("could not be used"));
        assert!(prompts[1].contains(told), "{first}");
    }
}

#[tokio::test]
async fn after_two_failed_attempts_the_candidate_is_rejected_with_the_reason() {
    let bad = r#"{"edits": [{"op": "append", "target": "", "content": "~~~"}]}"#;
    let record = evolve(&FakeModel::saying(bad), &pack(true, &[]), Settings::default()).await.unwrap();
    assert_eq!(record.status, EvolutionStatus::Rejected);
    assert_eq!(record.reason, "a code fence is opened and not closed");
    assert_eq!(record.failed_attempts.len(), 2);
    assert_eq!(record.evolved_content, SKILL);
    assert!(!record.is_real_change());
    assert_eq!(statuses(&record), [EditStatus::SkippedCandidateFailed]);
    // With lapses, these alone are a candidate; what failed is not among its edits.
    let record = evolve(&FakeModel::saying(bad), &pack(true, &["New note."]), Settings::default()).await.unwrap();
    assert_eq!((record.branch, record.status), (Branch::LapseOnly, EvolutionStatus::Evolved));
    assert_eq!(statuses(&record), [EditStatus::SkippedCandidateFailed, EditStatus::AppliedAppend]);
    let remembered = rejected_edits(&record, "e1 s0", None);
    assert_eq!(remembered.len(), 1);
    assert_eq!(remembered[0].edit.as_ref().unwrap().content, "New note.");
}

#[tokio::test]
async fn nothing_to_change_is_skipped() {
    let empty = evolve(&FakeModel::saying(r#"{"edits": []}"#), &pack(true, &[]), Settings::default()).await.unwrap();
    assert_eq!(empty.status, EvolutionStatus::Skipped);
    let nothing = evolve(&FakeModel::scripted(&[]), &pack(false, &[]), Settings::default()).await.unwrap();
    assert_eq!(nothing.status, EvolutionStatus::Skipped);
    let known = evolve(&FakeModel::scripted(&[]), &pack(false, &["old NOTE."]), Settings::default()).await.unwrap();
    assert_eq!(known.status, EvolutionStatus::Skipped);
    assert_eq!(known.notes_dropped[0].reason, "it is there already");
}

#[tokio::test]
async fn a_rewrite_keeps_the_frozen_parts_and_never_grows() {
    let rewrite = |content: &str| json!({"content": content}).to_string();
    let settings = || Settings { mode: SkillUpdateMode::Rewrite, ..Settings::default() };
    let run = async |content: String, notes: &[&str]| {
        let writer = FakeModel::new(move |request| {
            Ok(if request.tag.purpose == "writer.rewrite" { content.clone() } else { ONE_EDIT.into() })
        });
        evolve(&writer, &pack(true, notes), settings()).await.unwrap()
    };
    let record = run(rewrite("# Alpha\n\n1. Look at every scene.\n2. Compare."), &["New note."]).await;
    assert_eq!((record.branch, record.status), (Branch::Rewrite, EvolutionStatus::Evolved));
    assert!(record.evolved_content.starts_with(
        "---\nname: Alpha\ndescription: How to.\ntask_type: Alpha\n---\n\n# Alpha\n\n1. Look at every scene."
    ));
    assert_eq!(appendix_notes(&record.evolved_content), ["Old note.", "New note."]);
    assert_eq!(statuses(&record), [EditStatus::Applied]);

    let whole = SKILL.replace("the scene that fits best", "each scene");
    assert_eq!(run(rewrite(&whole), &[]).await.status, EvolutionStatus::Evolved, "a whole file is understood");
    for (content, reason) in [
        (rewrite(&"Look again and again. ".repeat(10)), "more than"),
        (rewrite(&SKILL.replace("name: Alpha", "name: Beta")), "front matter"),
        (rewrite("x"), "times as long"),
        ("{\"text\": \"x\"}".to_owned(), "`content` must be text"),
        ("sorry".to_owned(), "not one valid JSON object"),
    ] {
        let record = run(content.clone(), &[]).await;
        assert_eq!(record.status, EvolutionStatus::Rejected, "{content}");
        assert!(record.reason.contains(reason), "{content}: {}", record.reason);
        let record = run(content, &["New note."]).await;
        assert_eq!((record.branch, record.status), (Branch::LapseOnly, EvolutionStatus::Evolved));
    }
}

#[tokio::test]
async fn a_dead_writer_is_an_error_and_never_no_improvement() {
    let dead =
        |purpose: &'static str| {
            FakeModel::new(move |request| {
                if request.tag.purpose == purpose { Err(ChatErrorKind::Timeout) } else { Ok(FOUR_EDITS.into()) }
            })
        };
    for purpose in ["writer.skill", "writer.rank"] {
        let error = evolve(&dead(purpose), &pack(true, &["n"]), Settings::default()).await.unwrap_err();
        assert_eq!(error.class(), ExitClass::Endpoint, "{purpose}");
    }
    let rewriting = Settings { mode: SkillUpdateMode::Rewrite, edit_budget: 9, ..Settings::default() };
    assert!(evolve(&dead("writer.rewrite"), &pack(true, &["n"]), rewriting).await.is_err());
    let consolidating = Settings { threshold: 2, ..Settings::default() };
    assert!(evolve(&dead("writer.consolidate"), &pack(false, &["New note."]), consolidating).await.is_err());
    let too_long = FakeModel::new(|_| Err(ChatErrorKind::ContextOverflow));
    let record = evolve(&too_long, &pack(true, &[]), Settings::default()).await.unwrap();
    assert_eq!((record.status, record.failed_attempts.len()), (EvolutionStatus::Rejected, 1));
}

#[tokio::test]
async fn the_appendix_is_consolidated_from_the_threshold_on() {
    let consolidating = || Settings { threshold: 3, ..Settings::default() };
    let notes = ["Second note here.", "Third note here."];
    let run = async |reply: &'static str| {
        evolve(&FakeModel::saying(reply), &pack(false, &notes), consolidating()).await.unwrap()
    };
    let record = run(r#"{"notes": ["All in one."]}"#).await;
    assert_eq!(appendix_notes(&record.evolved_content), ["All in one."]);
    assert_eq!(record.consolidation.as_ref().map(|found| (found.before, found.after)), Some((3, 1)));
    for (reply, why) in [
        (r#"{"notes": ["a", "b", "c"]}"#, "no fewer"),
        (r#"{"notes": []}"#, "no list"),
        (r#"{"notes": ["a", 2]}"#, "no list"),
        ("nothing", "could not be read"),
        (r#"{"notes": ["why does the man in the red coat run"]}"#, "quotes"),
        (r#"{"notes": ["a <!-- APPENDIX_END --> b"]}"#, "marker"),
        (r#"{"notes": ["a note that is longer than all the three notes are together, and then some"]}"#, "longer"),
    ] {
        let record = run(reply).await;
        assert_eq!(appendix_notes(&record.evolved_content).len(), 3, "{reply}: the notes stay");
        assert!(record.consolidation.unwrap().refused.contains(why), "{reply}");
    }
    let below = evolve(&FakeModel::scripted(&[]), &pack(false, &["Second note."]), consolidating()).await.unwrap();
    assert_eq!(below.consolidation, None);
}

#[tokio::test]
async fn a_full_appendix_drops_its_oldest_whole_notes() {
    let long = |letter: &str| letter.repeat(900);
    let (first, second) = (long("a"), long("b"));
    let record = evolve(
        &FakeModel::saying("no"),
        &pack(false, &[&first, &second, &long("c"), &"d".repeat(1_500)]),
        Settings { threshold: 100, ..Settings::default() },
    )
    .await
    .unwrap();
    assert_eq!(appendix_notes(&record.evolved_content), [second, long("c")]);
    assert!(record.consolidation.is_some(), "it was tried first");
    let dropped: Vec<(char, bool)> = record
        .notes_dropped
        .iter()
        .map(|dropped| (dropped.note.chars().next().unwrap(), dropped.reason.contains("oldest")))
        .collect();
    assert_eq!(dropped, [('d', false), ('O', true), ('a', true)]);
    assert_eq!(record.notes_added.len(), 2);
}

#[tokio::test]
async fn a_note_that_quotes_a_question_is_dropped() {
    let notes = ["Recall why does the man in the red coat run back.", "Look twice."];
    let record = evolve(&FakeModel::scripted(&[]), &pack(false, &notes), Settings::default()).await.unwrap();
    assert_eq!(record.notes_added, ["Look twice."]);
    assert!(record.notes_dropped[0].reason.contains("quotes a question"));
}

#[tokio::test]
async fn a_skill_at_its_size_cap_takes_no_more() {
    let limits = EvolveLimits { skill_max_tokens: 1, ..EvolveLimits::default() };
    let grow = r#"{"edits": [{"op": "append", "target": "", "content": "3. And more."}]}"#;
    let record =
        evolve(&FakeModel::saying(grow), &pack(true, &["New note."]), Settings { limits, ..Settings::default() })
            .await
            .unwrap();
    assert_eq!(record.status, EvolutionStatus::Rejected);
    assert!(record.reason.contains("tokens"));
    assert!(record.notes_dropped[0].reason.contains("tokens"));
    let shrink = r#"{"edits": [{"op": "replace", "target": "the scene that fits best", "content": "all scenes"}]}"#;
    let record =
        evolve(&FakeModel::saying(shrink), &pack(true, &[]), Settings { limits, ..Settings::default() }).await.unwrap();
    assert_eq!(record.status, EvolutionStatus::Evolved);
}

#[tokio::test]
async fn only_applied_edits_are_remembered_and_shown_to_the_writer() {
    let two = r#"{"edits": [{"op": "replace", "target": "the scene that fits best", "content": "all scenes"},
        {"op": "delete", "target": "nowhere", "content": ""}]}"#;
    let record = evolve(&FakeModel::saying(two), &pack(true, &[]), Settings::default()).await.unwrap();
    let gate = GateFacts { stop_reason: "futility".into(), e_value: 0.4, w: 1, l: 3, n_used: 9 };
    let remembered = rejected_edits(&record, "e1 s0", Some(&gate));
    assert_eq!(remembered.len(), 1);
    assert_eq!(remembered[0].edit.as_ref().unwrap().content, "all scenes");

    let writer = FakeModel::saying(ONE_EDIT);
    evolve(&writer, &pack(true, &[]), Settings { rejected: &remembered, ..Settings::default() }).await.unwrap();
    let prompt = writer.prompts("writer.skill").concat();
    assert!(
        prompt.contains(
            "replace \"the scene that fits best\" with \"all scenes\" (futility: 1 questions gained, 3 lost)"
        )
    );

    let none = EvolutionRecord { edits: vec![], report: vec![], ..record };
    let remembered = rejected_edits(&none, "e1 s0", None);
    assert_eq!((remembered.len(), remembered[0].note.as_str(), &remembered[0].gate), (1, "no edit was applied", &None));
}

#[tokio::test]
async fn what_must_not_be_evolved_is_not() {
    let always = SKILL.replace("task_type: Alpha", "task_type: Alpha\nalways: true");
    let settings = Settings { skill: &always, ..Settings::default() };
    let record = evolve(&FakeModel::scripted(&[]), &pack(true, &["n"]), settings).await.unwrap();
    assert_eq!(record.status, EvolutionStatus::Skipped);

    let mut other = pack(true, &["n"]);
    other.task_type = "Beta".parse().unwrap();
    let error = evolve(&FakeModel::scripted(&[]), &other, Settings::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "read beta.md: the version in use has no such file");

    let broken = SKILL.replace("<!-- APPENDIX_END -->", "");
    let settings = Settings { skill: &broken, ..Settings::default() };
    let error = evolve(&FakeModel::scripted(&[]), &pack(true, &["n"]), settings).await.unwrap_err();
    assert_eq!(error.code(), "patch.unpaired_marker");
}

fn system_pack() -> SystemCasePack {
    use trm::evolution::types::BehaviourPattern;
    SystemCasePack {
        failure_cases: vec![SystemCase { pattern: BehaviourPattern::EarlySubmit, case: case("q1", false) }],
        success_cases: vec![case("q2", true)],
        stats: PackStats::default(),
    }
}

async fn evolve_system(reply: &'static str) -> (EvolutionRecord, FakeModel) {
    let (writer, prompts) = (FakeModel::saying(reply), Files::new(&[("system.md", SYSTEM)]));
    let run = async |context: EvolveContext<'_>| {
        evolve_system_prompt(context, &system_pack(), &prompts, VersionName::FIRST, 2).await.unwrap()
    };
    let record = with_context(&writer, EvolveLimits::default(), run).await;
    (record, writer)
}

#[tokio::test]
async fn the_system_prompt_evolves_around_its_frozen_sections() {
    let (record, writer) =
        evolve_system(r#"{"edits": [{"op": "append", "target": "", "content": "Do not submit early."}]}"#).await;
    assert_eq!(record.status, EvolutionStatus::Evolved);
    assert!(record.evolved_content.contains("Take your time.\n\nDo not submit early.\n\n## Output format\n\nJSON"));
    let prompt = writer.prompts("writer.system").concat();
    assert!(prompt.contains("early_submit") && prompt.contains("Output format, Video tree structure"));
    let (record, _) = evolve_system(r#"{"edits": [{"op": "replace", "target": "JSON", "content": "XML"}]}"#).await;
    assert_eq!(record.status, EvolutionStatus::Rejected);
    assert!(record.reason.contains("skipped_frozen"));
    let (record, _) = evolve_system(r#"{"edits": [{"op": "append", "target": "", "content": "Use {{more}}."}]}"#).await;
    assert!(record.reason.contains("{{more}}"));
    let (record, _) = evolve_system(r#"{"edits": []}"#).await;
    assert_eq!(record.status, EvolutionStatus::Skipped);
}

#[tokio::test]
async fn both_prompts_of_a_tool_share_one_budget() {
    assert_eq!(tool_pairs("view_node").len(), 2);
    assert!(tool_pairs("submit_answer").is_empty());
    let pair = tool_pairs("view_node")[1];
    let text = "Read the node with care and say what matters.\n\n## Output format\n\nPlain text.\n";
    let files = Files::new(&[("view_node_children_extract.md", text), ("view_node_children_verify.md", text)]);
    let span = SpanSample {
        question_id: "q1".parse().unwrap(),
        question: "What?".into(),
        span_index: 0,
        args: "{}".into(),
        output: "nothing".into(),
        completeness: 0.1,
        hallucination: 0.0,
        tags: vec![],
    };
    let tool_pack = ToolCasePack { tool: "view_node".into(), failure_spans: vec![span], success_spans: vec![] };
    let writer = FakeModel::scripted(&[
        (
            "writer.tool",
            &[r#"{"edits": [
            {"file": "verify", "op": "append", "target": "", "content": "Check the times."},
            {"file": "extract", "op": "append", "target": "", "content": "Name the times."},
            {"file": "verify", "op": "replace", "target": "with care", "content": "twice"}]}"#],
        ),
        ("writer.rank", &[r#"{"selected": [2, 1]}"#]),
    ]);
    let run = async |context: EvolveContext<'_>| {
        evolve_single_tool(context, &tool_pack, pair, &files, VersionName::FIRST, 2).await.unwrap()
    };
    let record = with_context(&writer, EvolveLimits::default(), run).await;
    assert_eq!((record.subject.as_str(), record.status), ("view_node_children", EvolutionStatus::Evolved));
    let content = ToolContent::from_json(&record.evolved_content).unwrap();
    assert_eq!(content.extract, text.replace("## Out", "Name the times.\n\n## Out"));
    assert_eq!(content.verify, text.replace("with care", "twice"));
    let rows: Vec<(usize, &str)> =
        record.report.iter().zip(&record.edits).map(|(row, edit)| (row.index, edit.file.as_str())).collect();
    assert_eq!(rows, [(0, "view_node_children_extract.md"), (1, "view_node_children_verify.md")]);
    assert_eq!(record.clip_info.after, 2);
}

/// What a hostile or clumsy writer may send as an edit.
fn any_edit() -> impl Strategy<Value = serde_json::Value> {
    let op = prop_oneof![Just("append"), Just("insert_after"), Just("replace"), Just("delete"), Just("other")];
    let text = prop_oneof![
        Just(String::new()),
        Just("1. Look".to_owned()),
        Just("Alpha".to_owned()),
        Just("\n".to_owned()),
        Just("Old note.".to_owned()),
        Just("<!-- APPENDIX_END -->".to_owned()),
        Just("---\nname: x\n---".to_owned()),
        Just("```".to_owned()),
        any::<String>(),
    ];
    (op, text.clone(), text).prop_map(|(op, target, content)| json!({"op": op, "target": target, "content": content}))
}

proptest! {
    #[test]
    fn whatever_the_writer_writes_the_frozen_parts_of_a_candidate_stay(edits in proptest::collection::vec(any_edit(), 0..5)) {
        let reply = json!({"edits": edits}).to_string();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let writer = FakeModel::new(move |_| Ok(reply.clone()));
        let settings = Settings { edit_budget: 9, ..Settings::default() };
        let record = runtime.block_on(evolve(&writer, &pack(true, &[]), settings)).unwrap();
        let frozen = |text: &str| -> Vec<String> {
            let ranges = frozen_ranges(text, &FrozenSpec::skill()).unwrap();
            ranges.into_iter().map(|frozen| text.get(frozen.range).unwrap().to_owned()).collect()
        };
        prop_assert_eq!(frozen(&record.evolved_content), frozen(SKILL));
        prop_assert_eq!(record.is_real_change(), record.status == EvolutionStatus::Evolved);
        prop_assert_eq!(record.edits.len(), record.report.len());
    }
}

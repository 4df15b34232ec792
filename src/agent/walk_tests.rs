//! The loop's rules, on a scripted model.

use std::sync::Arc;

use serde_json::{Value, json};

use super::testing::{Line, Scripted, calls, fails, question, says, texts, video, video_with_frames};
use super::*;
use crate::domain::{ChatErrorKind, MessageRole, Role, StopReason, ToolCall};

fn settings() -> AgentSettings {
    AgentSettings {
        reply_form: ReplyForm::Text,
        tool_summaries: ToolSummaries::Raw,
        max_steps: 5,
        ..AgentSettings::default()
    }
}

fn place() -> CallPlace {
    CallPlace { phase_run: "r_eval".into(), phase_path: "eval".into(), sample: 0 }
}

async fn run_on(video: &VideoEnvironment, settings: AgentSettings, lines: Vec<Line>) -> (AgentRecord, Arc<Scripted>) {
    let model = Arc::new(Scripted::new(lines));
    let agent = Agent::new(Arc::clone(&model) as _, texts(), settings);
    let record = answer_question(&agent, video, &question(), &place()).await.unwrap();
    (record, model)
}

async fn run(settings: AgentSettings, lines: Vec<Line>) -> (AgentRecord, Arc<Scripted>) {
    run_on(&video(), settings, lines).await
}

fn view(id: &str) -> Line {
    calls("view_node", &json!({"node_id": id, "question": "ball?"}))
}

fn submit(answer: &str) -> Line {
    calls("submit_answer", &json!({"answer": answer, "evidence": ["v_L3_000", "v_L1_001"], "reasoning": "seen"}))
}

fn kinds(record: &AgentRecord) -> Vec<SpanKind> {
    record.trace.iter().map(|span| span.kind).collect()
}

fn last_user(model: &Scripted, request: usize) -> String {
    model.requests()[request].messages.last().unwrap().content.clone()
}

#[tokio::test]
async fn a_walk_opens_nodes_and_submits() {
    let (record, model) = run(settings(), vec![view("v_L1_000"), view("v_L3_000"), submit("A")]).await;
    assert_eq!(
        (record.answer(), record.outcome, record.stop_reason),
        (Some('A'), Outcome::Correct, StopReason::Finished)
    );
    assert_eq!((record.steps, record.max_steps, record.error.as_deref()), (3, 5, None));
    assert_eq!(kinds(&record), [SpanKind::Tool, SpanKind::Tool, SpanKind::Submit]);
    assert_eq!(record.confidence, Some(0.6));
    assert_eq!(record.anchor_check.unvisited, ["v_L1_001"]);
    assert_eq!((record.spent.calls, record.spent.usage.prompt_tokens), (3, 30));
    assert!(last_user(&model, 1).contains("A dog in the garden") && last_user(&model, 1).contains("v_L2_001"));
    assert!(last_user(&model, 1).ends_with("Steps used: 1 of 5."));
    let tag = &model.requests()[0].tag;
    assert_eq!((tag.item.as_str(), tag.purpose.as_str(), tag.phase_run.as_str()), ("q1", "turn", "r_eval"));
}

#[tokio::test]
async fn the_prompt_holds_skill_tools_question_and_level_1_nodes() {
    let (_, model) = run(settings(), vec![submit("A")]).await;
    let request = &model.requests()[0];
    let system = &request.messages[0].content;
    for part in ["## Output format", "# Strategy for this question: Action reasoning", "`view_node`", "\"action\""] {
        assert!(system.contains(part), "{part} in {system}");
    }
    for absent in ["observe_frame", "read_skill", "APPENDIX_START", "task_type:"] {
        assert!(!system.contains(absent), "{absent} in {system}");
    }
    let first = &request.messages[1].content;
    assert!(first.contains("Question: Which colour has the ball?") && first.contains("C. green"));
    assert!(first.contains("v_L1_001 [20–40 s]") && !first.contains("v_L2_000"));
}

#[tokio::test]
async fn the_last_step_is_announced_and_then_the_steps_are_over() {
    let limited = AgentSettings { max_steps: 2, ..settings() };
    let (record, model) = run(limited, vec![view("v_L1_000"), view("v_L1_001")]).await;
    assert!(last_user(&model, 1).contains("This is your last step"));
    assert_eq!((record.stop_reason, record.outcome, record.steps), (StopReason::BudgetExceeded, Outcome::Unparsed, 2));
    assert_eq!(record.correctness(), Some(false));
    assert!(record.trace[1].output.contains("not run"));
}

#[tokio::test]
async fn a_single_allowed_step_is_the_last_one() {
    let (record, model) = run(AgentSettings { max_steps: 1, ..settings() }, vec![submit("B")]).await;
    assert!(last_user(&model, 0).contains("This is your last step"));
    assert_eq!((record.outcome, record.stop_reason), (Outcome::Wrong, StopReason::Finished));
}

#[tokio::test]
async fn unreadable_replies_in_a_row_end_as_a_parse_error() {
    let (record, model) = run(settings(), vec![says("hm"), says(""), says("<think>so</think>")]).await;
    assert_eq!((record.stop_reason, record.outcome), (StopReason::ParseError, Outcome::Infra));
    assert_eq!(record.correctness(), None);
    assert_eq!(kinds(&record), [SpanKind::ParseError; 3]);
    assert_eq!(record.steps, 0);
    assert!(last_user(&model, 1).contains("held no JSON object"));
    assert!(record.error.unwrap().contains("3 times in a row"));
}

#[tokio::test]
async fn a_readable_reply_resets_the_count() {
    let lines = vec![says("hm"), says("hm"), view("v_L1_000"), says("hm"), says("hm"), submit("A")];
    let (record, _) = run(settings(), lines).await;
    assert_eq!((record.outcome, record.steps), (Outcome::Correct, 2));
}

#[tokio::test]
async fn an_answer_in_prose_counts_when_nothing_else_comes() {
    let (record, _) = run(settings(), vec![says("The answer is A.")]).await;
    assert_eq!((record.outcome, record.stop_reason), (Outcome::Correct, StopReason::Finished));
    assert_eq!(record.validation_flags, ["answered_in_prose"]);
    assert_eq!(record.trace.len(), 3, "it was asked for the form first");
}

#[tokio::test]
async fn invalid_calls_cost_no_step_and_end_too() {
    let lines = vec![calls("fly", &json!({})), view("v_L9_999"), submit("A")];
    let (record, model) = run(settings(), lines).await;
    assert_eq!((record.outcome, record.steps), (Outcome::Correct, 1));
    assert_eq!(kinds(&record), [SpanKind::InvalidCall, SpanKind::InvalidCall, SpanKind::Submit]);
    assert!(last_user(&model, 1).contains("there is no tool \"fly\""));
    assert!(last_user(&model, 2).contains("no node"));

    let (record, _) = run(settings(), vec![calls("fly", &json!({}))]).await;
    assert_eq!((record.stop_reason, record.trace.len()), (StopReason::ParseError, 3));
}

#[tokio::test]
async fn invalid_and_unreadable_replies_in_turn_end_as_well() {
    let lines = [says("hm"), calls("fly", &json!({}))].into_iter().cycle().take(20).collect();
    let (record, _) = run(settings(), lines).await;
    assert_eq!((record.stop_reason, record.trace.len()), (StopReason::ParseError, 5));
}

#[tokio::test]
async fn a_repeated_call_costs_a_step_and_is_answered_from_memory() {
    let (record, _) = run(settings(), vec![view("v_L1_000"), view("v_L1_000"), submit("A")]).await;
    assert_eq!(record.steps, 3);
    assert!(record.trace[1].output.starts_with("(the same call as in step 1"));
}

#[tokio::test]
async fn an_answer_that_names_no_option_is_unparsed_and_counts_as_wrong() {
    let (record, _) = run(settings(), vec![submit("Z")]).await;
    assert_eq!((record.outcome, record.stop_reason, record.answer()), (Outcome::Unparsed, StopReason::Finished, None));
    assert_eq!((record.correctness(), record.raw_answer.as_str()), (Some(false), "Z"));
    assert!(record.validation_flags.contains(&"answer_unparsed".to_owned()));
}

#[tokio::test]
async fn evidence_and_reasoning_that_are_no_text_are_stored_as_json() {
    let submission =
        calls("submit_answer", &json!({"answer": {"letter": "A"}, "evidence": ["v_L3_000"], "reasoning": {"a": 1}}));
    let (record, _) = run(settings(), vec![submission]).await;
    assert_eq!(record.outcome, Outcome::Correct);
    assert_eq!((record.evidence.as_str(), record.reasoning.as_str()), ("[\"v_L3_000\"]", "{\"a\":1}"));
    assert_eq!(record.validation_flags, ["answer_not_text", "reasoning_not_text"]);
}

#[tokio::test]
async fn a_failed_call_is_infra_and_keeps_the_trace() {
    let (record, _) = run(settings(), vec![view("v_L1_000"), fails(ChatErrorKind::Server)]).await;
    assert_eq!((record.stop_reason, record.outcome, record.correctness()), (StopReason::Error, Outcome::Infra, None));
    assert_eq!(kinds(&record), [SpanKind::Tool, SpanKind::Error]);
    assert!(record.error.unwrap().contains("search model"));
}

#[tokio::test]
async fn a_context_overflow_is_infra() {
    let (record, _) = run(settings(), vec![fails(ChatErrorKind::ContextOverflow)]).await;
    assert_eq!((record.stop_reason, record.outcome), (StopReason::Error, Outcome::Infra));
}

#[tokio::test]
async fn budget_and_cancellation_leave_no_record() {
    for (kind, by_budget) in [(ChatErrorKind::Budget, true), (ChatErrorKind::Cancelled, false)] {
        for mode in [AgentMode::Tree, AgentMode::Direct] {
            let model = Arc::new(Scripted::new([fails(kind)]));
            let agent = Agent::new(model, texts(), AgentSettings { mode, ..settings() });
            let interrupted = answer_question(&agent, &video(), &question(), &place()).await.unwrap_err();
            assert_eq!(interrupted.by_budget, by_budget);
        }
    }
}

#[tokio::test]
async fn a_tool_that_fails_for_technical_reasons_makes_the_question_infra() {
    let llm = AgentSettings { tool_summaries: ToolSummaries::Llm, ..settings() };
    let (record, _) = run(llm, vec![view("v_L1_001"), fails(ChatErrorKind::Timeout)]).await;
    assert_eq!((record.outcome, record.trace[0].kind), (Outcome::Infra, SpanKind::Error));
    assert_eq!(record.trace[0].tool.as_deref(), Some("view_node"));
}

#[tokio::test]
async fn summaries_are_extracted_and_verified_by_the_tool_role() {
    let llm = AgentSettings { tool_summaries: ToolSummaries::Llm, ..settings() };
    // A leaf: extract, verify; then the submission.
    let (record, model) = run(llm, vec![view("v_L1_001"), says("- draft"), says("- salt is added"), submit("A")]).await;
    let asked: Vec<(Role, String)> =
        model.requests().iter().map(|request| (request.role, request.tag.purpose.clone())).collect();
    let expected = [
        (Role::Search, "turn"),
        (Role::Tool, "view_node.extract"),
        (Role::Tool, "view_node.verify"),
        (Role::Search, "turn"),
    ];
    assert_eq!(asked, expected.map(|(role, purpose)| (role, purpose.to_owned())));
    assert!(last_user(&model, 2).contains("- draft"));
    assert!(record.trace[0].output.contains("- salt is added") && !record.trace[0].output.contains("draft"));
    assert_eq!(record.trace[0].spent.calls, 3, "the tool's calls belong to the turn");
}

#[tokio::test]
async fn empty_summaries_fall_back_to_the_text_and_unrated_children_stay_listed() {
    let llm = AgentSettings { tool_summaries: ToolSummaries::Llm, ..settings() };
    let lines = vec![view("v_L1_000"), says(""), says("v_L2_001: low — rain"), says(""), submit("A")];
    let (record, _) = run(llm, lines).await;
    let output = &record.trace[0].output;
    assert!(output.contains("A dog in the garden."), "{output}");
    assert!(
        output.contains("- v_L2_001 [10–20 s] low — rain") && output.contains("- v_L2_000 [0–10 s] unrated"),
        "{output}"
    );
}

#[tokio::test]
async fn search_drops_ancestors_and_visits_its_hits() {
    let search = calls("search_similar", &json!({"query": "dog", "question": "ball?"}));
    let (record, _) = run(settings(), vec![search, submit("A")]).await;
    let output = &record.trace[0].output;
    assert!(output.contains("1. v_L3_000") && !output.contains("v_L1_000"), "{output}");
    assert_eq!(record.anchor_check.unvisited, ["v_L1_001"]);
}

#[tokio::test]
async fn frames_are_shown_to_the_vision_role_and_their_health_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let video = video_with_frames(folder.path());
    let seeing = AgentSettings { vision: true, ..settings() };
    let observe = calls("observe_frame", &json!({"node_ids": ["v_L2_000"], "question": "ball?"}));
    let lines = vec![observe.clone(), says("- a red ball"), says("- a red ball, left"), submit("A")];
    let (record, model) = run_on(&video, seeing.clone(), lines).await;
    let look = &model.requests()[1];
    assert_eq!((look.role, look.messages[1].images.len()), (Role::Vision, 1));
    assert!(look.messages[1].content.contains("A brown dog"), "the card is the context");
    assert!(record.trace[0].output.contains("a red ball, left"));
    let health = record.observe_frame_health.unwrap();
    assert_eq!((health.asked, health.found, health.read, health.failed, health.failures.len()), (2, 1, 1, 0, 1));

    // Without a vision model, or without frames, there is no such tool.
    for (video, settings) in [(&video, settings()), (&testing::video(), seeing)] {
        let (record, model) = run_on(video, settings, vec![observe.clone(), submit("A")]).await;
        assert_eq!(record.trace[0].kind, SpanKind::InvalidCall);
        assert!(!model.requests()[0].messages[0].content.contains("observe_frame"));
    }
}

#[tokio::test]
async fn what_the_vision_model_refuses_is_a_finding_and_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let video = video_with_frames(folder.path());
    let observe = calls("observe_frame", &json!({"node_ids": ["v_L3_000"]}));
    let seeing = AgentSettings { vision: true, ..settings() };
    let (record, _) = run_on(&video, seeing, vec![observe, fails(ChatErrorKind::Refused), submit("A")]).await;
    assert_eq!(record.outcome, Outcome::Correct);
    assert_eq!(record.observe_frame_health.unwrap().failed, 1);
}

#[tokio::test]
async fn manual_mode_shows_a_catalogue_and_reads_skills() {
    let manual = AgentSettings { skill_mode: SkillMode::Manual, ..settings() };
    let read = calls("read_skill", &json!({"name": "Action Reasoning"}));
    let (record, model) = run(manual, vec![read, calls("read_skill", &json!({"name": "x"})), submit("A")]).await;
    let system = &model.requests()[0].messages[0].content;
    assert!(system.contains("- Action reasoning: ") && system.contains("`read_skill`"));
    assert!(!system.contains("# Strategy for this question"));
    assert!(record.trace[0].output.starts_with("# Skill: Action reasoning"));
    assert!(record.trace[1].output.contains("no skill \"x\""));

    let none = AgentSettings { skill_mode: SkillMode::None, ..settings() };
    let (_, model) = run(none, vec![submit("A")]).await;
    assert!(!model.requests()[0].messages[0].content.contains("# Strateg"));
}

#[tokio::test]
async fn native_calls_work_and_are_written_down_in_the_history() {
    let native = AgentSettings { reply_form: ReplyForm::Tools, ..settings() };
    let mut call = says("I look at the scene.").unwrap();
    call.tool_calls = vec![ToolCall { name: "view_node".into(), arguments: r#"{"node_id": "v_L1_000"}"#.into() }];
    let (record, model) = run(native, vec![Ok(call), submit("A")]).await;
    assert_eq!((record.outcome, record.trace[0].kind), (Outcome::Correct, SpanKind::Tool));
    assert_eq!(record.trace[0].thought, "I look at the scene.");
    let second = &model.requests()[1];
    assert_eq!(second.tools.len(), 3);
    let said = &second.messages[2];
    assert!(said.role == MessageRole::Assistant && said.content.contains(r#""tool":"view_node""#), "{}", said.content);
}

#[tokio::test]
async fn hostile_replies_are_kept_as_they_are_and_break_nothing() {
    let hostile = format!("\u{0}\u{1b}[2J</data>\u{fffd}{}", "x".repeat(1_000_000));
    let (record, model) = run(settings(), vec![says(&hostile), submit("A\u{0}")]).await;
    assert_eq!(record.trace[0].raw, hostile.as_bytes());
    assert_eq!(record.outcome, Outcome::Correct);
    assert!(model.requests()[1].messages.iter().map(|message| message.content.len()).sum::<usize>() < 40_000);
}

#[tokio::test]
async fn a_small_context_is_never_exceeded() {
    let small = AgentSettings { context_tokens: 4_096, reply_tokens: 512, max_steps: 30, ..settings() };
    let ids = ["v_L1_000", "v_L1_001", "v_L2_000", "v_L2_001", "v_L3_000", "v_L3_001"];
    let mut lines: Vec<Line> = Vec::new();
    for round in 0..4 {
        lines.extend(ids.iter().map(|id| {
            calls("view_node", &json!({"node_id": id, "question": format!("{round} {}", "why ".repeat(100))}))
        }));
    }
    lines.push(submit("A"));
    let (record, model) = run(small, lines).await;
    assert_eq!(record.steps, 25);
    for request in model.requests() {
        let tokens: usize = request.messages.iter().map(|message| text::estimated_tokens(&message.content) + 6).sum();
        assert!(tokens <= 4_096 - 512, "{tokens}");
    }
}

#[tokio::test]
async fn direct_mode_asks_once_with_skill_captions_and_options() {
    let direct = AgentSettings { mode: AgentMode::Direct, ..settings() };
    let reply = says(r#"{"analysis": "red ball", "answer": "A", "confidence": 0.9}"#);
    let (record, model) = run(direct.clone(), vec![reply]).await;
    assert_eq!(
        (record.outcome, record.confidence, record.reasoning.as_str()),
        (Outcome::Correct, Some(0.9), "red ball")
    );
    assert_eq!((record.spent.calls, record.trace.len(), record.steps), (1, 1, 1));
    let request = &model.requests()[0];
    assert!(request.messages[0].content.contains("# Strategy for this question: Action reasoning"));
    let user = &request.messages[1].content;
    assert!(user.contains("A hole in the lawn.") && user.contains("said: Add more salt.") && user.contains("D. none"));

    let (record, _) = run(direct.clone(), vec![says("I would say so.")]).await;
    assert_eq!((record.outcome, record.stop_reason), (Outcome::Unparsed, StopReason::Finished));
    let (record, _) = run(direct.clone(), vec![says(" ")]).await;
    assert_eq!((record.outcome, record.stop_reason, record.trace.len()), (Outcome::Infra, StopReason::ParseError, 3));
    let (record, _) = run(direct, vec![says(""), says("**A**")]).await;
    assert_eq!((record.outcome, record.error), (Outcome::Correct, None));
}

#[tokio::test]
async fn the_schema_of_a_turn_offers_what_the_prompt_offers() {
    let schema = AgentSettings { reply_form: ReplyForm::JsonSchema, max_steps: 2, ..settings() };
    let (_, model) = run(schema, vec![view("v_L1_000"), submit("A")]).await;
    let tools = |request: usize| -> Vec<Value> {
        let crate::domain::ResponseFormat::JsonSchema { schema, .. } = &model.requests()[request].response_format
        else {
            panic!("a schema was asked for")
        };
        let actions = schema.pointer("/properties/action/anyOf").unwrap().as_array().unwrap();
        actions.iter().map(|action| action.pointer("/properties/tool/enum/0").unwrap().clone()).collect()
    };
    assert_eq!(tools(0), ["view_node", "search_similar", "submit_answer"]);
    assert_eq!(tools(1), ["submit_answer"]);
}

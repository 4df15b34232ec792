//! The text of a trace as a judge sees it, and what the agent visited.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::domain::{NodeId, Question, VideoTree};
use crate::evolution::json::stored_object;
use crate::evolution::ports::{PredictionRecord, TraceSpan};

/// The tools whose reports are judged, and whose outputs are "all that was seen".
pub(super) const SPAN_TOOLS: [&str; 3] = ["view_node", "search_similar", "observe_frame"];

/// The most characters of source text that a report is compared with.
const SOURCE_MAX_CHARS: usize = 6_000;

/// How much of a trace is shown, in characters; none means all.
#[derive(Debug, Clone, Copy)]
pub(super) struct TraceCut {
    pub(super) thought: Option<usize>,
    pub(super) output: Option<usize>,
}

impl TraceCut {
    /// For the metric judges.
    pub(super) const METRICS: Self = Self { thought: Some(100), output: Some(200) };
    /// For defect or lapse, and for reasoning failures: nothing is cut.
    pub(super) const WHOLE: Self = Self { thought: None, output: None };
}

/// The start of a text, with an ellipsis if it was cut.
pub(super) fn cut(text: &str, max: Option<usize>) -> String {
    match max {
        Some(max) if text.chars().count() > max => text.chars().take(max).chain(['…']).collect(),
        _ => text.to_owned(),
    }
}

/// The turns of a trace, one after another.
pub(super) fn trace_text(spans: &[&TraceSpan], limits: TraceCut) -> String {
    let mut text = String::new();
    for span in spans {
        let tool = span.tool.as_deref().unwrap_or("(unreadable turn)");
        text.push_str(&format!("[step {}] {tool} {}\n", span.step, span.args));
        for (name, value, max) in [
            ("thought", &span.thought, limits.thought),
            ("plan", &span.plan, limits.thought),
            ("output", &span.output, limits.output),
        ] {
            if !value.trim().is_empty() {
                text.push_str(&format!("{name}: {}\n", cut(value.trim(), max)));
            }
        }
    }
    text
}

/// The outputs of the three span tools, whole.
pub(super) fn tool_outputs(spans: &[&TraceSpan]) -> String {
    let mut text = String::new();
    for span in judged_spans(spans) {
        let tool = span.tool.as_deref().unwrap_or_default();
        text.push_str(&format!("[step {}] {tool} {}\n{}\n", span.step, span.args, span.output.trim()));
    }
    text
}

/// The spans whose reports are judged.
pub(super) fn judged_spans<'a>(spans: &'a [&'a TraceSpan]) -> impl Iterator<Item = &'a TraceSpan> {
    spans.iter().copied().filter(|span| span.tool.as_deref().is_some_and(|tool| SPAN_TOOLS.contains(&tool)))
}

/// The question with its options.
pub(super) fn question_text(question: &Question) -> String {
    let mut text = question.question.clone();
    for option in &question.options {
        text.push_str(&format!("\n{}. {}", option.letter, option.text));
    }
    text
}

/// The right option.
pub(super) fn answer_text(question: &Question) -> String {
    option_text(question, question.answer)
}

fn option_text(question: &Question, letter: char) -> String {
    let option = question.options.iter().find(|option| option.letter == letter);
    format!("{letter}. {}", option.map_or("", |option| option.text.as_str()))
}

/// What the agent answered, and why.
pub(super) fn agent_answer_text(question: &Question, prediction: &PredictionRecord) -> String {
    let mut text = match prediction.answer {
        Some(letter) => option_text(question, letter),
        None => "(no option could be read from the reply)".to_owned(),
    };
    for (name, value) in [("reasoning", &prediction.reasoning), ("evidence", &prediction.evidence)] {
        if !value.trim().is_empty() {
            text.push_str(&format!("\n{name}: {}", value.trim()));
        }
    }
    if let Some(confidence) = prediction.confidence {
        text.push_str(&format!("\nconfidence: {confidence}"));
    }
    text
}

/// The nodes that a span opened by its arguments (`node_id`, `node_ids`), in order; those that exist.
pub(super) fn opened_nodes(span: &TraceSpan, tree: &VideoTree) -> Vec<NodeId> {
    let Some(args) = stored_object(&span.args) else { return Vec::new() };
    let mut names: Vec<&str> = args.get("node_id").and_then(Value::as_str).into_iter().collect();
    if let Some(Value::Array(items)) = args.get("node_ids") {
        names.extend(items.iter().filter_map(Value::as_str));
    }
    names
        .into_iter()
        .filter_map(|name| NodeId::new(name.trim()).ok())
        .filter(|id| tree.nodes.contains_key(id))
        .collect()
}

/// All nodes that the agent saw: opened ones, and those that a search returned.
pub(super) fn seen_nodes(spans: &[&TraceSpan], tree: &VideoTree) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::new();
    for span in spans {
        seen.extend(opened_nodes(span, tree));
        if span.tool.as_deref() == Some("search_similar") {
            seen.extend(nodes_named_in(&span.output, tree));
        }
    }
    seen
}

/// The nodes of the tree whose ids stand in a text as words.
fn nodes_named_in(text: &str, tree: &VideoTree) -> BTreeSet<NodeId> {
    // Ids are opaque, but no id of a tree contains what separates words in a report.
    let separates = |char: char| {
        char.is_whitespace() || matches!(char, ',' | ';' | '"' | '\'' | '[' | ']' | '(' | ')' | '`' | '{' | '}' | '|')
    };
    text.split(separates)
        .map(|word| word.trim_end_matches([':', '.']))
        .filter_map(|word| NodeId::new(word).ok())
        .filter(|id| tree.nodes.contains_key(id))
        .collect()
}

/// What the tool could read: cards and subtitles of the nodes that the span opened or found.
pub(super) fn source_text(span: &TraceSpan, tree: &VideoTree) -> String {
    let mut ids = opened_nodes(span, tree);
    if ids.is_empty() {
        ids = nodes_named_in(&span.output, tree).into_iter().collect();
    }
    let mut text = String::new();
    for id in ids {
        let Some(node) = tree.nodes.get(&id) else { continue };
        text.push_str(&format!("[{id}] {}\n", node.card_text()));
        if let Some(subtitle) = node.subtitle.as_deref().filter(|subtitle| !subtitle.trim().is_empty()) {
            text.push_str(&format!("subtitle: {subtitle}\n"));
        }
    }
    if text.is_empty() {
        return "(the source of this report is not known; judge what can be judged without it)".to_owned();
    }
    cut(&text, Some(SOURCE_MAX_CHARS))
}

/// The spans of each question, by span index.
pub(super) fn spans_by_question(spans: &[TraceSpan]) -> BTreeMap<&str, Vec<&TraceSpan>> {
    let mut sorted: BTreeMap<&str, Vec<&TraceSpan>> = BTreeMap::new();
    for span in spans {
        sorted.entry(span.question_id.as_str()).or_default().push(span);
    }
    for spans in sorted.values_mut() {
        spans.sort_by_key(|span| span.span_index);
    }
    sorted
}

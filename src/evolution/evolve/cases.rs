//! Cases as text for the writer.

use crate::domain::Choice;
use crate::evolution::templates::limited;
use crate::evolution::types::{CaseSample, CaseStep, PackStats, SpanSample};

/// All cases of a block; each has an even share of `max` characters, its middle left out if it needs more.
pub(super) fn cases_text<'a>(cases: impl IntoIterator<Item = (&'a str, &'a CaseSample)>, max: Option<usize>) -> String {
    joined(&cases.into_iter().map(|(label, case)| case_text(label, case)).collect::<Vec<_>>(), max)
}

/// All tool calls of a block, in the same way.
pub(super) fn spans_text(spans: &[SpanSample], max: Option<usize>) -> String {
    joined(&spans.iter().map(span_text).collect::<Vec<_>>(), max)
}

fn joined(texts: &[String], max: Option<usize>) -> String {
    let share = max.map(|max| max / texts.len().max(1));
    let shown: Vec<String> =
        texts.iter().enumerate().map(|(index, text)| format!("Case {}. {}", index + 1, limited(text, share))).collect();
    shown.join("\n")
}

fn case_text(label: &str, case: &CaseSample) -> String {
    let mut text = String::new();
    let kind = [case.error_type.map(|kind| kind.name()), case.reasoning_sub.map(|sub| sub.name())];
    let kind: Vec<&str> = kind.into_iter().flatten().chain([label]).filter(|word| !word.is_empty()).collect();
    if !kind.is_empty() {
        text.push_str(&format!("Kind: {}\n", kind.join(", ")));
    }
    text.push_str(&format!("Question: {}\n", case.question));
    for Choice { letter, text: option } in &case.options {
        text.push_str(&format!("{letter}. {option}\n"));
    }
    let given = case.agent_answer.map_or_else(|| "nothing readable".to_owned(), |letter| letter.to_string());
    text.push_str(&format!("Right: {}. Given: {given}. Steps used: {:.0} %.", case.answer, case.budget_use * 100.0));
    if let Some(confidence) = case.confidence {
        text.push_str(&format!(" Confidence: {confidence:.2}."));
    }
    text.push('\n');
    if !case.agent_reasoning.trim().is_empty() {
        text.push_str(&format!("Reasoning: {}\n", case.agent_reasoning.trim()));
    }
    if !case.missed_nodes.is_empty() {
        text.push_str(&format!("Nodes with needed evidence that were never opened: {}\n", case.missed_nodes.len()));
    }
    for CaseStep { step, thought, tool, args, output } in &case.steps {
        let tool = tool.as_deref().unwrap_or("(unreadable turn)");
        text.push_str(&format!("[step {step}] {tool} {args}\n"));
        for (name, value) in [("thought", thought), ("output", output)] {
            if !value.trim().is_empty() {
                text.push_str(&format!("{name}: {}\n", value.trim()));
            }
        }
    }
    text
}

fn span_text(span: &SpanSample) -> String {
    let tags: Vec<&str> = span.tags.iter().map(|tag| tag.name()).collect();
    let mut text = format!("Completeness {:.2}, hallucination {:.2}", span.completeness, span.hallucination);
    if !tags.is_empty() {
        text.push_str(&format!(" ({})", tags.join(", ")));
    }
    text.push_str(&format!("\nQuestion: {}\nCall: {}\nReport: {}\n", span.question, span.args, span.output));
    text
}

/// How often each pattern was seen, step by step.
pub(super) fn patterns_text(stats: &PackStats) -> String {
    let mut text = String::new();
    for (index, step) in stats.per_step.iter().enumerate() {
        let counts: Vec<String> =
            step.patterns.iter().map(|pattern| format!("{} {} times", pattern.pattern.name(), pattern.count)).collect();
        text.push_str(&format!(
            "Batch {}: {} of {} answers wrong; {}\n",
            index + 1,
            step.n_wrong,
            step.n_questions,
            counts.join(", ")
        ));
    }
    text.push_str(
        "early_submit: wrong, with less than 30 % of the steps used. high_conf_wrong: wrong, with a confidence of at \
         least 0.7. confirmation_bias: wrong, after looking only for what supports the first guess.",
    );
    text
}

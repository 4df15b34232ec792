//! Momentum: what an epoch's changes of a skill did, as guidance inside the skill (design 05, 07, 12).
//!
//! The skills of the epoch's start and end answered the same questions; the writer sees what became better and what
//! became worse, and rewrites the guidance. What it writes can only leave the previous guidance in place; a writer
//! that cannot be reached is an error.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::json;

use super::EvolutionError;
use super::asking::{Ask, CallScope, Form, reply_text};
use super::evolve::{EvolveLimits, LeakIndex, WriterCost, estimate_tokens};
use super::json::{Object, writer_object};
use super::patch::{MOMENTUM_MAX_CHARS, PatchError, fences_closed, momentum_inner, replace_momentum};
use super::templates::{MomentumPrompts, data_block, limited};
use crate::domain::{ChatModel, FileName, FinishReason, Message, Question, Role};

/// The most characters shown of why an answer was given.
const REASONING_CHARS: usize = 400;

/// What became of a question between two versions of a skill. This is the only place that tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// Right with the old skill, wrong with the new one: shown first, since it tells of harm.
    Regressed,
    /// Wrong with both.
    PersistentFail,
    /// Wrong with the old skill, right with the new one.
    Improved,
    /// Right with both.
    StableSuccess,
}

impl Change {
    /// All values, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Regressed, Self::PersistentFail, Self::Improved, Self::StableSuccess];

    /// The category of a pair of outcomes.
    #[must_use]
    pub fn of(right_at_start: bool, right_at_end: bool) -> Self {
        match (right_at_start, right_at_end) {
            (true, false) => Self::Regressed,
            (false, false) => Self::PersistentFail,
            (false, true) => Self::Improved,
            (true, true) => Self::StableSuccess,
        }
    }

    /// The stable name, in capitals.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Regressed => "REGRESSED",
            Self::PersistentFail => "PERSISTENT_FAIL",
            Self::Improved => "IMPROVED",
            Self::StableSuccess => "STABLE_SUCCESS",
        }
    }
}

/// One answer to a compared question. A technical failure is none: its question is not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionAnswer {
    /// The chosen option; none if none could be read.
    pub answer: Option<char>,
    /// Whether it is right.
    pub correct: bool,
    /// Why the agent chose it.
    pub reasoning: String,
}

/// One question, answered with the skills of the epoch's start and with those of its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedAnswer {
    /// The question.
    pub question: Question,
    /// With the skill as it was.
    pub start: VersionAnswer,
    /// With the skill as it is.
    pub end: VersionAnswer,
}

impl ComparedAnswer {
    /// What became of the question.
    #[must_use]
    pub fn change(&self) -> Change {
        Change::of(self.start.correct, self.end.correct)
    }
}

/// How many questions of each category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChangeCounts {
    /// Wrong, then right.
    pub improved: u32,
    /// Right, then wrong.
    pub regressed: u32,
    /// Wrong twice.
    pub persistent_fail: u32,
    /// Right twice.
    pub stable_success: u32,
}

impl ChangeCounts {
    /// Counts the compared answers.
    #[must_use]
    pub fn of(compared: &[ComparedAnswer]) -> Self {
        let mut counts = Self::default();
        for answer in compared {
            *match answer.change() {
                Change::Improved => &mut counts.improved,
                Change::Regressed => &mut counts.regressed,
                Change::PersistentFail => &mut counts.persistent_fail,
                Change::StableSuccess => &mut counts.stable_success,
            } += 1;
        }
        counts
    }
}

/// How the guidance came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentumStatus {
    /// There is new guidance.
    Updated,
    /// The writer gave nothing that can be used: the previous guidance stays.
    Kept,
    /// There was nothing to compare, and nobody was asked.
    Skipped,
}

/// The guidance of one skill after an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MomentumOutcome {
    /// How it came out.
    pub status: MomentumStatus,
    /// Why the previous guidance stays; empty if it does not.
    pub reason: String,
    /// The guidance before; empty if there was none.
    pub previous: String,
    /// The guidance from now on; the previous one unless `Updated`.
    pub guidance: String,
    /// What was compared.
    pub counts: ChangeCounts,
    /// What the writer has cost.
    pub cost: WriterCost,
}

/// What writing momentum needs.
#[derive(Clone, Copy)]
pub struct MomentumContext<'a> {
    /// The writer.
    pub writer: &'a dyn ChatModel,
    /// What it is asked.
    pub prompts: &'a MomentumPrompts,
    /// All questions of the run: none may be quoted.
    pub leaks: &'a LeakIndex,
    /// How long texts may be.
    pub limits: EvolveLimits,
    /// Where the writer's calls belong.
    pub scope: &'a CallScope,
}

// By hand: the writer is a trait object.
impl fmt::Debug for MomentumContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MomentumContext")
            .field("limits", &self.limits)
            .field("scope", self.scope)
            .finish_non_exhaustive()
    }
}

/// Asks the writer for the guidance of one skill file, once.
///
/// `previous` is the guidance that stays if nothing better comes, usually [`momentum_inner`] of the skill. The skill
/// itself is not changed: see [`put_guidance`].
///
/// # Errors
/// The writer could not be reached, or a question is compared twice. What the writer writes never leads to an error.
pub async fn write_momentum(
    context: MomentumContext<'_>,
    file: &FileName,
    skill: &str,
    previous: &str,
    compared: &[ComparedAnswer],
) -> Result<MomentumOutcome, EvolutionError> {
    let shown = comparison_text(compared, context.limits.max_block_chars)?;
    let mut outcome = MomentumOutcome {
        status: MomentumStatus::Skipped,
        reason: String::new(),
        previous: previous.to_owned(),
        guidance: previous.to_owned(),
        counts: ChangeCounts::of(compared),
        cost: WriterCost::default(),
    };
    if compared.is_empty() {
        outcome.reason = "there was nothing to compare".into();
        return Ok(outcome);
    }
    let max_chars = MOMENTUM_MAX_CHARS.to_string();
    let values = [
        ("file", file.as_str().to_owned()),
        ("skill", data_block(skill)),
        ("previous", data_block(previous)),
        ("comparison", data_block(&shown)),
        ("max_chars", max_chars),
    ];
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let messages = vec![Message::user(context.prompts.momentum.fill(&values)?)];
    match ask(context, file, messages, &mut outcome.cost).await?.and_then(|text| admit(context, skill, previous, &text))
    {
        Ok(guidance) => {
            outcome.status = MomentumStatus::Updated;
            outcome.guidance = guidance;
        }
        Err(reason) => {
            outcome.status = MomentumStatus::Kept;
            outcome.reason = reason;
        }
    }
    Ok(outcome)
}

/// The skill with this guidance in its momentum region; everything else stays byte by byte.
///
/// # Errors
/// The regions of the skill are broken, or the guidance contains a marker or is too long.
pub fn put_guidance(file: &FileName, skill: &str, guidance: &str) -> Result<String, EvolutionError> {
    replace_momentum(skill, guidance)
        .map_err(|source: PatchError| EvolutionError::Regions { file: file.to_string(), source })
}

/// The guidance that a skill has now; empty if it has none.
#[must_use]
pub fn guidance_of(skill: &str) -> &str {
    momentum_inner(skill)
}

/// The reply's guidance, or why there is none that can be read.
async fn ask(
    context: MomentumContext<'_>,
    file: &FileName,
    messages: Vec<Message>,
    cost: &mut WriterCost,
) -> Result<Result<String, String>, EvolutionError> {
    let text = json!({"type": "string", "maxLength": MOMENTUM_MAX_CHARS});
    let schema = json!({"type": "object", "properties": {"guidance": text}, "required": ["guidance"],
        "additionalProperties": false});
    let form = Form { purpose: "writer.momentum", schema };
    let ask = Ask { role: Role::Evolve, form: &form, item: file.as_str(), sample: 0, messages };
    let Some(reply) = ask.once(context.writer, context.scope, 0, None).await? else {
        return Ok(Err("the writer's model cannot take this prompt".into()));
    };
    cost.calls += 1;
    cost.prompt_tokens += reply.usage.prompt_tokens;
    cost.completion_tokens += reply.usage.completion_tokens;
    Ok(match writer_object(reply_text(&reply)) {
        Some(object) => read_guidance(&object),
        None if reply.finish == FinishReason::Length => Err("the reply was cut off".into()),
        None => Err("the reply was not one valid JSON object".into()),
    })
}

fn read_guidance(reply: &Object) -> Result<String, String> {
    let text = reply.get("guidance").and_then(serde_json::Value::as_str);
    text.map(str::to_owned).ok_or_else(|| "`guidance` must be text".to_owned())
}

/// The guidance if it can be used, else why not.
fn admit(context: MomentumContext<'_>, skill: &str, previous: &str, text: &str) -> Result<String, String> {
    let clean: String = text.chars().filter(|char| !char.is_control() || matches!(char, '\n' | '\t')).collect();
    // Read back through the region, so that what is stored is what the next epoch finds.
    let put = |guidance: &str| replace_momentum(skill, guidance).map_err(|error| format!("could not {error}"));
    let chars = clean.trim().chars().count();
    if chars > MOMENTUM_MAX_CHARS {
        return Err(format!("the guidance has {chars} characters and may have {MOMENTUM_MAX_CHARS}"));
    }
    let with = put(clean.trim())?;
    let guidance = momentum_inner(&with);
    if guidance.is_empty() {
        return Err("the guidance was empty".into());
    }
    if guidance == previous.trim() {
        return Err("the guidance is the one that is there".into());
    }
    if !fences_closed(guidance) {
        return Err("a code fence of the guidance is opened and not closed".into());
    }
    let (tokens, limit) = (estimate_tokens(&with), context.limits.skill_max_tokens.max(estimate_tokens(skill)));
    if tokens > limit {
        return Err(format!("with the guidance the skill has about {tokens} tokens and may have {limit}"));
    }
    match context.leaks.find(guidance, skill) {
        Some(leak) => Err(format!("the guidance quotes a question: {:?}", leak.quote)),
        None => Ok(guidance.to_owned()),
    }
}

/// The compared answers as the writer sees them: most worrying first, then by question id.
fn comparison_text(compared: &[ComparedAnswer], max: Option<usize>) -> Result<String, EvolutionError> {
    let mut sorted: Vec<(Change, &ComparedAnswer)> = compared.iter().map(|answer| (answer.change(), answer)).collect();
    sorted.sort_by(|a, b| (a.0, &a.1.question.question_id).cmp(&(b.0, &b.1.question.question_id)));
    let mut seen = BTreeSet::new();
    for (_, answer) in &sorted {
        if !seen.insert(&answer.question.question_id) {
            let question = answer.question.question_id.clone();
            return Err(EvolutionError::Comparison { question, what: "it is there twice" });
        }
    }
    let share = max.map(|max| max / sorted.len().max(1));
    let mut text = String::new();
    for change in Change::ALL {
        let of_change: Vec<&ComparedAnswer> =
            sorted.iter().filter(|(found, _)| *found == change).map(|(_, answer)| *answer).collect();
        text.push_str(&format!("{}: {}\n", change.name(), of_change.len()));
        for answer in of_change {
            text.push_str(&limited(&answer_text(answer), share));
        }
    }
    Ok(text)
}

fn answer_text(compared: &ComparedAnswer) -> String {
    let question = &compared.question;
    let mut text = format!("Question: {}\n", question.question);
    for option in &question.options {
        text.push_str(&format!("{}. {}\n", option.letter, option.text));
    }
    let letter = |answer: Option<char>| answer.map_or_else(|| "nothing readable".to_owned(), String::from);
    let (start, end) = (letter(compared.start.answer), letter(compared.end.answer));
    text.push_str(&format!("Right: {}. At the start: {start}. Now: {end}.\n", question.answer));
    for (name, answer) in [("at the start", &compared.start), ("now", &compared.end)] {
        let why: String = answer.reasoning.split_whitespace().collect::<Vec<_>>().join(" ");
        if !why.is_empty() {
            text.push_str(&format!("Reasoning {name}: {}\n", why.chars().take(REASONING_CHARS).collect::<String>()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_come_from_the_two_outcomes_and_harm_is_shown_first() {
        assert_eq!(Change::of(true, false), Change::Regressed);
        assert_eq!(Change::of(false, false), Change::PersistentFail);
        assert_eq!(Change::of(false, true), Change::Improved);
        assert_eq!(Change::of(true, true), Change::StableSuccess);
        assert!(Change::ALL.is_sorted());
    }
}

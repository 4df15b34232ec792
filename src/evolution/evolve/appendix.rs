//! Lapse notes into the appendix: added, consolidated, kept within their limit. Never is a note cut.

use super::forms::{consolidate_form, read_notes};
use super::record::{Consolidation, DroppedNote};
use super::writer::{EvolveContext, Writer, WriterReply};
use crate::domain::Message;
use crate::evolution::EvolutionError;
use crate::evolution::patch::{
    APPENDIX_MAX_CHARS, PatchError, Region, append_notes, appendix_notes, region_inner, replace_notes,
};
use crate::evolution::templates::data_block;

/// What became of the notes.
#[derive(Debug)]
pub(super) struct AppendixResult {
    pub(super) content: String,
    pub(super) added: Vec<String>,
    pub(super) dropped: Vec<DroppedNote>,
    pub(super) consolidation: Option<Consolidation>,
}

/// Adds the notes that are new and quote nothing; consolidates from `threshold` notes on, and when the appendix is
/// too long; then drops the oldest whole notes until it fits. `base` is the text in use.
///
/// # Errors
/// The model could not be reached; broken markers.
pub(super) async fn add_notes(
    context: EvolveContext<'_>,
    writer: &mut Writer<'_>,
    content: &str,
    base: &str,
    notes: &[String],
    threshold: usize,
) -> Result<Result<AppendixResult, PatchError>, EvolutionError> {
    let (added, mut dropped) = admitted(context, content, base, notes);
    let grown = match append_notes(content, &added) {
        Ok(grown) => grown,
        Err(error) => return Ok(Err(error)),
    };
    let mut result = AppendixResult { content: grown, added, dropped: Vec::new(), consolidation: None };
    let all = appendix_notes(&result.content);
    if !result.added.is_empty() && (all.len() >= threshold || is_too_long(&result.content)) {
        let (consolidation, shorter) = consolidate(context, writer, &all, base).await?;
        if let Some(text) = shorter.and_then(|shorter| replace_notes(&result.content, &shorter).ok()) {
            result.content = text;
        }
        result.consolidation = Some(consolidation);
    }
    drop_oldest(&mut result.content, &mut dropped);
    result.dropped = dropped;
    result.added.retain(|note| !result.dropped.iter().any(|dropped| dropped.note == *note));
    Ok(Ok(result))
}

/// The notes that are new, short enough, without markers and without quotations; and the others.
fn admitted(
    context: EvolveContext<'_>,
    content: &str,
    base: &str,
    notes: &[String],
) -> (Vec<String>, Vec<DroppedNote>) {
    let key = |note: &str| note.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let mut known: Vec<String> = appendix_notes(content).iter().map(|note| key(note)).collect();
    let (mut added, mut dropped) = (Vec::new(), Vec::new());
    for note in notes {
        let line = note.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() {
            continue;
        }
        let reason = if known.contains(&key(&line)) {
            "it is there already".to_owned()
        } else if line.chars().count() > APPENDIX_MAX_CHARS / 2 {
            "it is longer than half of the appendix".to_owned()
        } else if append_notes("", std::slice::from_ref(&line)).is_err() {
            "it contains a region marker".to_owned()
        } else if let Some(leak) = context.leaks.find(&line, base) {
            format!("it quotes a question: {:?}", leak.quote)
        } else {
            known.push(key(&line));
            added.push(line);
            continue;
        };
        dropped.push(DroppedNote { note: line, reason });
    }
    (added, dropped)
}

/// Fewer notes that say the same; none if the model gave nothing that may be used. Guards: at least two notes to
/// begin with; a result that is readable, not empty, not more notes than before, strictly fewer, without quotations.
async fn consolidate(
    context: EvolveContext<'_>,
    writer: &mut Writer<'_>,
    notes: &[String],
    base: &str,
) -> Result<(Consolidation, Option<Vec<String>>), EvolutionError> {
    let before = notes.len();
    let refused = |why: &str| Consolidation { before, after: before, refused: why.to_owned() };
    if before < 2 {
        return Ok((refused("there are fewer than two notes"), None));
    }
    let (max_notes, max_chars) = ((before - 1).to_string(), (APPENDIX_MAX_CHARS - 100).to_string());
    let system = context.prompts.consolidate_system.fill(&[("max_notes", &max_notes), ("max_chars", &max_chars)])?;
    let list: Vec<String> = notes.iter().map(|note| format!("- {note}")).collect();
    let messages = vec![Message::system(system), Message::user(data_block(&list.join("\n")))];
    let reply = match writer.ask(&consolidate_form(before - 1), messages, 0).await? {
        WriterReply::Object(reply) => reply,
        WriterReply::Unreadable(_) | WriterReply::Impossible => {
            return Ok((refused("the reply could not be read"), None));
        }
    };
    let Some(shorter) = read_notes(&reply).filter(|shorter| !shorter.is_empty()) else {
        return Ok((refused("the reply was no list of notes"), None));
    };
    if shorter.len() >= before {
        return Ok((refused("the result has no fewer notes"), None));
    }
    let text = shorter.join("\n");
    if text.chars().count() > notes.join("\n").chars().count() {
        return Ok((refused("the result is longer"), None));
    }
    if replace_notes("", &shorter).is_err() {
        return Ok((refused("the result does not fit or contains a region marker"), None));
    }
    if context.leaks.find(&text, &format!("{base}\n{}", notes.join("\n"))).is_some() {
        return Ok((refused("the result quotes a question"), None));
    }
    Ok((Consolidation { before, after: shorter.len(), refused: String::new() }, Some(shorter)))
}

fn is_too_long(content: &str) -> bool {
    region_inner(content, Region::Appendix).chars().count() > APPENDIX_MAX_CHARS
}

/// Drops the oldest whole notes until the appendix fits.
fn drop_oldest(content: &mut String, dropped: &mut Vec<DroppedNote>) {
    if !is_too_long(content) {
        return;
    }
    let mut notes = appendix_notes(content);
    while !notes.is_empty() {
        let note = notes.remove(0);
        dropped.push(DroppedNote { note, reason: "it was the oldest, and the appendix was full".into() });
        if let Ok(shorter) = replace_notes(content, &notes) {
            *content = shorter;
            return;
        }
    }
}

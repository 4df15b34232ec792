//! The question record as files hold it: its schema, its reading, its writing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::{RecordFields, Reported};
use super::normalise::{RawQuestion, normalise};
use crate::data::json::Fields;
use crate::data::problem::{Problems, Spot};
use crate::domain::Question;

/// One multiple-choice question on one video, as a line of `questions.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Question")]
pub struct QuestionRecord {
    /// Unique in the set; at most 200 bytes, no path separators, no control characters.
    #[schemars(length(min = 1))]
    pub question_id: String,
    /// The video it is about: the name of a folder in `videos_dir`.
    #[schemars(length(min = 1))]
    pub video_id: String,
    /// Its category, such as `Action Reasoning`; each category has one skill file.
    #[schemars(length(min = 1))]
    pub task_type: String,
    /// The question.
    #[schemars(length(min = 1))]
    pub question: String,
    /// The options in order, each with or without its letter: `A. x`, `(A) x`, `A) x`, `x`.
    #[schemars(length(min = 2, max = 26))]
    pub options: Vec<String>,
    /// The letter of the right option, or its text if exactly one option has it.
    #[schemars(length(min = 1))]
    pub answer: String,
    /// Shared by exactly two questions that count as right only together.
    #[serde(default)]
    pub pair_id: Option<String>,
    /// Ids of the nodes from which it can be answered, where known.
    #[serde(default)]
    pub source_nodes: Vec<String>,
    /// A free label such as `medium`.
    #[serde(default)]
    pub difficulty: Option<String>,
}

impl From<&Question> for QuestionRecord {
    /// The form that `trm` writes: every option carries its letter, the answer is a letter.
    fn from(question: &Question) -> Self {
        Self {
            question_id: question.question_id.to_string(),
            video_id: question.video_id.to_string(),
            task_type: question.task_type.to_string(),
            question: question.question.clone(),
            options: question.options.iter().map(|choice| format!("{}. {}", choice.letter, choice.text)).collect(),
            answer: question.answer.to_string(),
            pair_id: question.pair_id.as_ref().map(ToString::to_string),
            source_nodes: question.source_nodes.iter().map(ToString::to_string).collect(),
            difficulty: question.difficulty.clone(),
        }
    }
}

/// Which field names the video when a record has both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VideoIdField {
    /// `video_id`, the project's own; in Video-MME the running number of the video.
    #[default]
    VideoId,
    /// `videoID`, in Video-MME the id on the video platform, by which its files are named.
    PlatformId,
}

/// Fields of Video-MME that say nothing about the question itself.
const KNOWN_AND_UNUSED: [&str; 7] = ["videoID", "video_id", "url", "duration", "domain", "sub_category", "response"];

/// Reads one record; `folder_video` is the video that the file's name implies.
///
/// None if anything in it is wrong, all of which is reported. Names of fields that nothing reads go to `unknown`.
pub(super) fn read_record(
    fields: Fields<Value>,
    spot: &Spot,
    prefer: VideoIdField,
    folder_video: Option<&str>,
    problems: &mut Problems,
    mut unknown: impl FnMut(&str, &Spot),
) -> Option<Question> {
    let before = problems.errors();
    let mut fields = RecordFields::new(fields, spot, problems);
    let raw = RawQuestion {
        question_id: fields.text("question_id", problems).ok(),
        video_id: video_id(&mut fields, prefer, folder_video, problems).ok(),
        task_type: fields.text("task_type", problems).ok(),
        question: fields.text("question", problems).ok(),
        options: match fields.texts("options", problems) {
            Ok(Some(options)) => Some(options),
            Ok(None) => {
                fields.missing("options", problems);
                None
            }
            Err(Reported) => None,
        },
        answer: fields.text("answer", problems).ok(),
        pair_id: fields.optional_text("pair_id", problems).ok().flatten(),
        source_nodes: fields.texts("source_nodes", problems).ok().flatten().unwrap_or_default(),
        difficulty: fields.optional_text("difficulty", problems).ok().flatten(),
    };
    for name in fields.left().filter(|name| !KNOWN_AND_UNUSED.contains(name)) {
        unknown(name, fields.spot());
    }
    let question = normalise(raw, spot, problems);
    question.filter(|_| problems.errors() == before)
}

fn video_id(
    fields: &mut RecordFields<'_>,
    prefer: VideoIdField,
    folder_video: Option<&str>,
    problems: &mut Problems,
) -> Result<String, Reported> {
    let (first, second) = match prefer {
        VideoIdField::VideoId => ("video_id", "videoID"),
        VideoIdField::PlatformId => ("videoID", "video_id"),
    };
    if let Some(video) = fields.optional_text(first, problems)? {
        return Ok(video);
    }
    if let Some(video) = fields.optional_text(second, problems)? {
        return Ok(video);
    }
    match folder_video {
        Some(video) => Ok(video.to_owned()),
        None => Err(fields.missing("video_id", problems)),
    }
}

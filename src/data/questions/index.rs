//! What must hold across questions: unique ids, whole pairs, one skill file per task type.
//!
//! Keeps about a hundred bytes per question, so that a file is checked in one pass without holding its texts.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher as StdHasher};
use std::path::Path;
use std::sync::Arc;

use crate::data::printable::quoted;
use crate::data::problem::{Place, Problem, Problems, Spot};
use crate::domain::{ContentHash, Hasher, PairId, Question, TaskType, VideoId};

/// Everything known about the questions seen so far.
#[derive(Debug, Default)]
pub(in crate::data) struct SetCheck {
    ids: HashMap<IdKey, Seen, BuildHasherDefault<KeyHasher>>,
    pairs: BTreeMap<PairId, Pair>,
    types: BTreeMap<TaskType, (u64, Spot)>,
    videos: BTreeMap<VideoId, u64>,
    unknown_fields: BTreeMap<String, (u64, Spot)>,
}

/// 128 bits of the id's SHA-256: no two ids of one set share them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct IdKey(u128);

#[derive(Debug)]
struct Seen {
    content: ContentHash,
    file: Arc<Path>,
    line: Option<u64>,
    record: Option<u64>,
}

#[derive(Debug)]
struct Pair {
    spot: Spot,
    count: u64,
    task_type: TaskType,
    video: VideoId,
    types_differ: bool,
    videos_differ: bool,
}

/// What the set looks like as a whole.
#[derive(Debug)]
pub(in crate::data) struct SetFacts {
    contents: HashMap<IdKey, ContentHash, BuildHasherDefault<KeyHasher>>,
    /// How many pairs of two.
    pub(in crate::data) pairs: u64,
    /// Questions by task type.
    pub(in crate::data) types: BTreeMap<TaskType, u64>,
    /// Questions by video.
    pub(in crate::data) videos: BTreeMap<VideoId, u64>,
    /// The hash of the contents of all questions in any order.
    pub(in crate::data) fingerprint: ContentHash,
}

impl SetFacts {
    /// How many questions.
    pub(in crate::data) fn questions(&self) -> u64 {
        self.contents.len() as u64
    }

    /// How many questions are new, gone and different, seen from the set before.
    pub(in crate::data) fn compare(&self, before: &Self) -> (u64, u64, u64) {
        let both = self.contents.iter().filter_map(|(id, content)| Some((content, before.contents.get(id)?)));
        let (mut common, mut changed) = (0, 0);
        for (now, then) in both {
            common += 1;
            changed += u64::from(now != then);
        }
        (self.questions() - common, before.questions() - common, changed)
    }
}

impl SetCheck {
    /// Takes note of a question. False if its id was seen before, which is reported.
    pub(in crate::data) fn add(&mut self, question: &Question, spot: &Spot, problems: &mut Problems) -> bool {
        let content = content_hash(question);
        let Place { line, record, .. } = spot.place;
        let seen = Seen { content, file: spot.file.clone(), line, record };
        if let Some(first) = self.ids.get(&IdKey::of(question.question_id.as_str())) {
            problems.push(duplicate(question, first, content, spot));
            return false;
        }
        self.ids.insert(IdKey::of(question.question_id.as_str()), seen);
        self.types.entry(question.task_type.clone()).or_insert_with(|| (0, spot.clone())).0 += 1;
        *self.videos.entry(question.video_id.clone()).or_default() += 1;
        if let Some(pair) = &question.pair_id {
            let known = self.pairs.entry(pair.clone()).or_insert_with(|| Pair {
                spot: spot.clone(),
                count: 0,
                task_type: question.task_type.clone(),
                video: question.video_id.clone(),
                types_differ: false,
                videos_differ: false,
            });
            known.count += 1;
            known.types_differ |= known.task_type != question.task_type;
            known.videos_differ |= known.video != question.video_id;
        }
        true
    }

    /// Takes note of a field that nothing reads.
    pub(super) fn unknown_field(&mut self, name: &str, spot: &Spot) {
        if let Some((count, _)) = self.unknown_fields.get_mut(name) {
            *count += 1;
        } else if self.unknown_fields.len() < 1_000 {
            self.unknown_fields.insert(name.to_owned(), (1, spot.clone()));
        }
    }

    /// Checks what only the whole set shows.
    pub(in crate::data) fn finish(self, problems: &mut Problems) -> SetFacts {
        for (name, (count, spot)) in &self.unknown_fields {
            problems.push(Problem::warning(
                "record.unknown_field",
                &spot.at(name),
                format!("the field {} is not kept ({count} records have it)", quoted(name)),
                "check its spelling if it was meant for a known field",
            ));
        }
        self.check_pairs(problems);
        self.check_types(problems);
        let contents: HashMap<_, _, _> = self.ids.into_iter().map(|(id, seen)| (id, seen.content)).collect();
        let mut sorted: Vec<&ContentHash> = contents.values().collect();
        sorted.sort_unstable();
        let mut hasher = Hasher::new("trm.questions.v1");
        for content in sorted {
            hasher.part(content.as_bytes());
        }
        SetFacts {
            fingerprint: hasher.finish(),
            contents,
            pairs: self.pairs.len() as u64,
            types: self.types.into_iter().map(|(name, (count, _))| (name, count)).collect(),
            videos: self.videos,
        }
    }

    fn check_pairs(&self, problems: &mut Problems) {
        for (id, pair) in &self.pairs {
            let spot = pair.spot.at("pair_id");
            let name = quoted(id.as_str());
            if pair.count != 2 {
                problems.push(Problem::error(
                    "pair.size",
                    &spot,
                    format!("the pair {name} has {} question{}", pair.count, if pair.count == 1 { "" } else { "s" }),
                    "a pair is two questions: give the same pair_id to exactly two, or none",
                ));
            }
            for (differs, what) in [(pair.types_differ, "task type"), (pair.videos_differ, "video")] {
                if differs {
                    problems.push(Problem::error(
                        "pair.differs",
                        &spot,
                        format!("the questions of pair {name} differ in their {what}"),
                        "both questions of a pair must have one task type and one video",
                    ));
                }
            }
            if self.ids.contains_key(&IdKey::of(id.as_str())) {
                problems.push(Problem::error(
                    "pair.named_like_question",
                    &spot,
                    format!("the pair {name} has the id of a question"),
                    "rename the pair: units of one and of two questions share one name space",
                ));
            }
        }
    }

    /// Two task types with one skill file could not be trained apart.
    fn check_types(&self, problems: &mut Problems) {
        let mut slugs: BTreeMap<String, &TaskType> = BTreeMap::new();
        for (task_type, (_, spot)) in &self.types {
            let Some(other) = slugs.insert(task_type.slug(), task_type) else {
                continue;
            };
            problems.push(Problem::error(
                "question.task_types_share_file",
                &spot.at("task_type"),
                format!(
                    "the task types {} and {} share the skill file {}",
                    quoted(other.as_str()),
                    quoted(task_type.as_str()),
                    task_type.skill_file()
                ),
                "spell the task type the same way everywhere",
            ));
        }
    }
}

fn duplicate(question: &Question, first: &Seen, content: ContentHash, spot: &Spot) -> Problem {
    let name = quoted(question.question_id.as_str());
    let mut place = Place { line: first.line, record: first.record, pointer: None }.to_string();
    if first.file != spot.file {
        place = format!("{}, {place}", first.file.display());
    }
    let spot = spot.at("question_id");
    if first.content == content {
        let what = format!("the question {name} stands here again (first at {place}), with equal content: one is kept");
        Problem::warning("question.duplicate_equal", &spot, what, "remove one of the two")
    } else {
        let what = format!("the id {name} is taken already (first at {place}) by a question of other content");
        Problem::error("question.duplicate", &spot, what, "give each question an id of its own")
    }
}

/// The hash of everything that makes a question what it is.
pub(super) fn content_hash(question: &Question) -> ContentHash {
    let mut hasher = Hasher::new("trm.question.v1");
    hasher.part(question.question_id.as_str());
    hasher.part(question.video_id.as_str());
    hasher.part(question.task_type.as_str());
    hasher.part(&question.question);
    hasher.part((question.options.len() as u64).to_le_bytes());
    for choice in &question.options {
        hasher.part(&choice.text);
    }
    hasher.part(question.answer.to_string());
    hasher.part(question.pair_id.as_ref().map_or("", |pair| pair.as_str()));
    hasher.part((question.source_nodes.len() as u64).to_le_bytes());
    for node in &question.source_nodes {
        hasher.part(node.as_str());
    }
    hasher.part(question.difficulty.as_deref().unwrap_or(""));
    hasher.finish()
}

impl IdKey {
    fn of(id: &str) -> Self {
        let hash = ContentHash::of(id);
        let bytes = hash.as_bytes().iter().take(16);
        Self(bytes.fold(0, |key, byte| key << 8 | u128::from(*byte)))
    }
}

/// The keys are hashes already: their low bits serve as they are.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl StdHasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = (key >> 64) as u64 ^ key as u64;
    }
}

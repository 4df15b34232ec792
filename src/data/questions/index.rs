//! What must hold across questions: unique ids, whole pairs, one skill file per task type.
//!
//! Keeps about a hundred bytes per question, so that a file is checked in one pass without holding its texts.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;

use crate::data::printable::quoted;
use crate::data::problem::{Place, Problem, Problems, Spot};
use crate::domain::{ContentHash, Hasher, PairId, Question, TaskType, VideoId};

/// Everything known about the questions seen so far.
#[derive(Debug, Default)]
pub(in crate::data) struct SetCheck {
    /// A tree and no hash table: a table doubles, and holds three times its entries in memory while it does.
    ids: BTreeMap<IdKey, Seen>,
    files: Vec<Arc<Path>>,
    pairs: BTreeMap<PairId, Pair>,
    types: BTreeMap<TaskType, (u64, Spot)>,
    videos: BTreeMap<VideoId, u64>,
    unknown_fields: BTreeMap<String, (u64, Spot)>,
}

/// 128 bits of the id's SHA-256: no two ids of one set share them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct IdKey([u8; 16]);

/// What is kept of a question: one of these per question is most of the memory that a large file takes.
#[derive(Debug)]
struct Seen {
    content: ContentHash,
    /// Where in the list of files.
    file: u32,
    line: SmallNumber,
    record: SmallNumber,
}

/// A line or record in four bytes: 0 stands for none, and for numbers beyond four billion, which are left unsaid.
#[derive(Debug, Clone, Copy)]
struct SmallNumber(u32);

impl SmallNumber {
    fn of(number: Option<u64>) -> Self {
        Self(number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0))
    }

    fn get(self) -> Option<u64> {
        (self.0 > 0).then_some(self.0.into())
    }
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
    seen: BTreeMap<IdKey, Seen>,
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
        self.seen.len() as u64
    }

    /// How many questions are new, gone and different, seen from the set before.
    pub(in crate::data) fn compare(&self, before: &Self) -> (u64, u64, u64) {
        let both = self.seen.iter().filter_map(|(id, now)| Some((now, before.seen.get(id)?)));
        let (mut common, mut changed) = (0, 0);
        for (now, then) in both {
            common += 1;
            changed += u64::from(now.content != then.content);
        }
        (self.questions() - common, before.questions() - common, changed)
    }
}

impl SetCheck {
    /// Takes note of a question. False if its id was seen before, which is reported.
    pub(in crate::data) fn add(&mut self, question: &Question, spot: &Spot, problems: &mut Problems) -> bool {
        let content = content_hash(question);
        let file = self.file(&spot.file);
        let Place { line, record, .. } = spot.place;
        let seen = Seen { content, file, line: SmallNumber::of(line), record: SmallNumber::of(record) };
        match self.ids.entry(IdKey::of(question.question_id.as_str())) {
            Entry::Vacant(free) => {
                free.insert(seen);
            }
            Entry::Occupied(first) => {
                problems.push(duplicate(question, first.get(), &self.files, content, spot));
                return false;
            }
        }
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

    /// The place of a file in the list; the same as last time, unless a folder of files is read.
    fn file(&mut self, file: &Arc<Path>) -> u32 {
        if self.files.last() != Some(file) {
            self.files.push(Arc::clone(file));
        }
        u32::try_from(self.files.len()).unwrap_or(u32::MAX).saturating_sub(1)
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
        let mut sorted: Vec<&ContentHash> = self.ids.values().map(|seen| &seen.content).collect();
        sorted.sort_unstable();
        let mut hasher = Hasher::new("trm.questions.v1");
        for content in sorted {
            hasher.part(content.as_bytes());
        }
        SetFacts {
            fingerprint: hasher.finish(),
            seen: self.ids,
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

fn duplicate(question: &Question, first: &Seen, files: &[Arc<Path>], content: ContentHash, spot: &Spot) -> Problem {
    let name = quoted(question.question_id.as_str());
    let mut place = Place { line: first.line.get(), record: first.record.get(), pointer: None }.to_string();
    if let Some(file) = files.get(first.file as usize)
        && *file != spot.file
    {
        place = format!("{}, {place}", file.display());
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
        let mut key = [0; 16];
        key.iter_mut().zip(ContentHash::of(id).as_bytes()).for_each(|(to, from)| *to = *from);
        Self(key)
    }
}

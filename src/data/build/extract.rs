//! Summaries by extraction: sentences of the parts, spread over all of them, near-identical ones once, within a bound.

/// Sentences looked at per summary; machine-made captions repeat themselves, and more would add nothing.
const MOST_SENTENCES: usize = 2_000;

/// Two sentences are near-identical if they share this part of the shorter one's words.
const NEAR: f64 = 0.8;

/// A summary of `parts` (in order of time) of at most `limit` characters.
///
/// Sentences are taken in rounds: the first of every part, then the second of every part, and so on, so that a bound
/// cuts detail and not the end of the video; they stand in order of time.
pub(super) fn summary(parts: &[&str], limit: usize) -> String {
    let sentences: Vec<Vec<&str>> = parts.iter().map(|part| sentences(part)).collect();
    let rounds = sentences.iter().map(Vec::len).max().unwrap_or(0);
    let step = parts.len().div_ceil(MOST_SENTENCES).max(1);
    let in_rounds = (0..rounds).flat_map(|round| {
        let parts = sentences.iter().enumerate().step_by(step);
        parts.filter_map(move |(part, sentences)| Some((part, round, *sentences.get(round)?)))
    });
    let mut kept: Vec<Kept<'_>> = Vec::new();
    let mut length = 0;
    for (part, round, text) in in_rounds.take(MOST_SENTENCES) {
        let characters = text.chars().count() + 1;
        if length + characters > limit + 1 {
            continue;
        }
        let words = Words::of(text);
        if kept.iter().any(|kept| near(&kept.words, &words)) {
            continue;
        }
        length += characters;
        kept.push(Kept { part, round, text, words });
    }
    if kept.is_empty() {
        return parts.iter().find(|part| !part.is_empty()).map(|part| cut(part, limit)).unwrap_or_default();
    }
    kept.sort_by_key(|kept| (kept.part, kept.round));
    kept.iter().map(|kept| kept.text).collect::<Vec<_>>().join(" ")
}

/// All parts in order, equal neighbours once, cut at a word within `limit` characters.
pub(super) fn joined(parts: &[&str], limit: usize) -> String {
    let mut text = String::new();
    let mut previous = "";
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if *part == previous {
            continue;
        }
        previous = part;
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(part);
    }
    cut(&text, limit)
}

struct Kept<'a> {
    part: usize,
    round: usize,
    text: &'a str,
    words: Words,
}

/// Split after `.`, `!`, `?` before white space, and after their full-width forms.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        let next_is_space = characters.peek().is_none_or(|(_, next)| next.is_whitespace());
        let ends = matches!(character, '.' | '!' | '?') && next_is_space || matches!(character, '。' | '！' | '？');
        if ends {
            let end = place + character.len_utf8();
            sentences.extend(text.get(start..end).map(str::trim).filter(|sentence| !sentence.is_empty()));
            start = end;
        }
    }
    sentences.extend(text.get(start..).map(str::trim).filter(|sentence| !sentence.is_empty()));
    sentences
}

/// The words of a sentence, as sorted hashes of their lower case; of writing without spaces, the characters.
#[derive(Debug, Default)]
struct Words {
    all: Vec<u64>,
    numbers: Vec<u64>,
}

impl Words {
    fn of(sentence: &str) -> Self {
        let mut words = Self::default();
        let mut word = Word::default();
        for character in sentence.chars() {
            let is_ideograph =
                matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}');
            if character.is_alphanumeric() && !is_ideograph {
                word.add(character);
                continue;
            }
            words.add(&std::mem::take(&mut word));
            if is_ideograph {
                word.add(character);
                words.add(&std::mem::take(&mut word));
            }
        }
        words.add(&word);
        words.all.sort_unstable();
        words.all.dedup();
        words.numbers.sort_unstable();
        words
    }

    fn add(&mut self, word: &Word) {
        if word.length > 0 {
            self.all.push(word.hash);
        }
        if word.has_digit {
            self.numbers.push(word.hash);
        }
    }
}

/// A word as it is read: its FNV-1a hash, which is quick and collides too rarely to matter for a summary.
#[derive(Debug, Clone, Copy)]
struct Word {
    hash: u64,
    length: usize,
    has_digit: bool,
}

impl Default for Word {
    fn default() -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, length: 0, has_digit: false }
    }
}

impl Word {
    fn add(&mut self, character: char) {
        self.length += 1;
        self.has_digit |= character.is_ascii_digit();
        if character.is_ascii() {
            self.mix(character.to_ascii_lowercase());
        } else {
            character.to_lowercase().for_each(|character| self.mix(character));
        }
    }

    fn mix(&mut self, character: char) {
        self.hash = (self.hash ^ u64::from(u32::from(character))).wrapping_mul(0x0100_0000_01b3);
    }
}

/// Whether two sentences say nearly the same; a difference in a number is never small.
fn near(one: &Words, other: &Words) -> bool {
    let (shorter, longer) = (one.all.len().min(other.all.len()), one.all.len().max(other.all.len()));
    if shorter == 0 || shorter * 2 < longer {
        return shorter == longer;
    }
    shared(&one.all, &other.all) as f64 >= NEAR * shorter as f64 && one.numbers == other.numbers
}

/// How many elements two sorted lists have in common.
fn shared(one: &[u64], other: &[u64]) -> usize {
    let mut other = other.iter().peekable();
    let mut count = 0;
    for word in one {
        while other.next_if(|candidate| *candidate < word).is_some() {}
        count += usize::from(other.next_if(|candidate| *candidate == word).is_some());
    }
    count
}

/// At most `limit` characters, cut after a word and marked.
fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(2);
    let head: String = text.chars().take(room + 1).collect();
    match head.rsplit_once(' ') {
        // Writing without spaces has its only space far from the end, if any.
        Some((words, _)) if words.chars().count() * 2 >= room => format!("{} …", words.trim_end()),
        _ => format!("{} …", text.chars().take(room).collect::<String>().trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn near_identical_sentences_stand_once_and_time_orders_the_rest() {
        let parts = [
            "A man cuts bread. The room is bright.",
            "A man cuts the bread. He smiles.",
            "A man is cutting bread on a board. The man leaves.",
        ];
        assert_eq!(
            summary(&parts, 500),
            "A man cuts bread. The room is bright. He smiles. A man is cutting bread on a board. The man leaves."
        );
    }

    #[test]
    fn numbers_keep_sentences_apart() {
        assert_eq!(
            summary(&["There are 2 red cups on it.", "There are 3 red cups on it."], 500).matches("cups").count(),
            2
        );
    }

    #[test]
    fn a_bound_cuts_detail_and_not_the_end() {
        let parts =
            ["Alpha begins. Alpha detail follows here.", "Beta goes on. Beta detail.", "Gamma ends. Gamma detail."];
        assert_eq!(summary(&parts, 40), "Alpha begins. Beta goes on. Gamma ends.");
    }

    #[test]
    fn a_single_long_sentence_is_cut_at_a_word() {
        assert_eq!(summary(&["one two three four five"], 15), "one two three …");
        assert_eq!(joined(&["one two", "one two", "three four five"], 15), "one two three …");
    }

    #[test]
    fn writing_without_spaces_works() {
        let parts = ["男人切面包。房间很亮。", "男人在切面包。他笑了。"];
        assert_eq!(summary(&parts, 100), "男人切面包。 房间很亮。 他笑了。");
    }

    proptest! {
        #[test]
        fn summaries_are_bounded_and_empty_only_for_nothing(parts in prop::collection::vec("[a-c.!。 ]{0,30}", 0..12), limit in 3_usize..60) {
            let trimmed: Vec<&str> = parts.iter().map(|part| part.trim()).collect();
            let text = summary(&trimmed, limit);
            prop_assert!(text.chars().count() <= limit, "{text:?}");
            prop_assert_eq!(text.is_empty(), trimmed.iter().all(|part| part.is_empty()));
        }
    }
}

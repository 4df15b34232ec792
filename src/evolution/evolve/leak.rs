//! The leak lint: a candidate must teach a method, not quote the questions it will be tested on.

use std::collections::{BTreeMap, HashMap};

use super::size::is_dense;
use crate::domain::{Question, QuestionId};

/// So many consecutive words of a question are a quotation.
const QUESTION_WORDS: usize = 8;
/// So many consecutive characters of one in a script without spaces are.
const QUESTION_CHARS: usize = 20;
/// Options of so many words are looked for whole.
const OPTION_WORDS: usize = 5;
/// Options of so many characters in a script without spaces are.
const OPTION_CHARS: usize = 12;
/// The most characters of a quotation that are shown.
const SHOWN_CHARS: usize = 160;

/// A quotation in a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// The question it is from.
    pub question_id: QuestionId,
    /// Whether it is one of its options.
    pub is_option: bool,
    /// The words, lower case and without punctuation.
    pub quote: String,
}

/// All questions and options, prepared for comparison. Made once, used for every candidate.
#[derive(Debug, Clone, Default)]
pub struct LeakIndex {
    words: HashMap<String, u32>,
    texts: Vec<Text>,
}

#[derive(Debug, Clone)]
struct Text {
    question_id: QuestionId,
    is_option: bool,
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, Copy)]
struct Token {
    id: u32,
    dense: bool,
}

impl LeakIndex {
    /// Prepares questions and options; options too short to be told from common words are left out.
    #[must_use]
    pub fn new(questions: &[Question]) -> Self {
        let mut index = Self::default();
        for question in questions {
            index.add(&question.question_id, false, &question.question);
            for option in &question.options {
                index.add(&question.question_id, true, &option.text);
            }
        }
        index
    }

    fn add(&mut self, question_id: &QuestionId, is_option: bool, text: &str) {
        let mut tokens = Vec::new();
        for (word, dense) in words(text) {
            let next = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
            tokens.push(Token { id: *self.words.entry(word).or_insert(next), dense });
        }
        let (words, chars) = if is_option { (OPTION_WORDS, OPTION_CHARS) } else { (QUESTION_WORDS, QUESTION_CHARS) };
        let dense = tokens.iter().filter(|token| token.dense).count();
        if tokens.len() - dense >= words || dense >= chars {
            self.texts.push(Text { question_id: question_id.clone(), is_option, tokens });
        }
    }

    /// The first quotation in `candidate` that `base` does not contain: at least 8 consecutive words (20 characters
    /// of a script without spaces) of a question, or a whole option of at least 5 words (12 characters). Case and
    /// punctuation do not count. Linear in all texts.
    #[must_use]
    pub fn find(&self, candidate: &str, base: &str) -> Option<Leak> {
        let (candidate, base) = (self.automaton(candidate), self.automaton(base));
        self.texts.iter().find_map(|text| {
            let range = if text.is_option {
                quoted_option(&text.tokens, &candidate, &base)?
            } else {
                quoted_run(&text.tokens, &candidate, &base)?
            };
            let tokens = text.tokens.get(range).unwrap_or_default();
            Some(Leak { question_id: text.question_id.clone(), is_option: text.is_option, quote: self.shown(tokens) })
        })
    }

    fn automaton(&self, text: &str) -> Automaton {
        let mut automaton = Automaton::new();
        for (word, _) in words(text) {
            // Words of no question end every match.
            automaton.push(self.words.get(&word).copied().unwrap_or(u32::MAX));
        }
        automaton
    }

    fn shown(&self, tokens: &[Token]) -> String {
        let names: HashMap<u32, &str> = self.words.iter().map(|(word, id)| (*id, word.as_str())).collect();
        let mut text = String::new();
        let mut after_dense = true;
        for token in tokens {
            if !(text.is_empty() || token.dense && after_dense) {
                text.push(' ');
            }
            text.push_str(names.get(&token.id).copied().unwrap_or_default());
            after_dense = token.dense;
        }
        text.chars().take(SHOWN_CHARS).collect()
    }
}

/// The whole option, if the candidate has it and the base has not.
fn quoted_option(tokens: &[Token], candidate: &Automaton, base: &Automaton) -> Option<std::ops::Range<usize>> {
    let whole = |automaton: &Automaton| automaton.matches(tokens).last() == Some(tokens.len());
    (whole(candidate) && !whole(base)).then_some(0..tokens.len())
}

/// The first run of a question that is long enough, which the candidate has and the base has not.
fn quoted_run(tokens: &[Token], candidate: &Automaton, base: &Automaton) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    let (mut plain, mut dense) = (0, 0);
    let long_enough = |plain: usize, dense: usize| plain >= QUESTION_WORDS || dense >= QUESTION_CHARS;
    let lengths = candidate.matches(tokens).zip(base.matches(tokens));
    for (end, (token, (in_candidate, in_base))) in tokens.iter().zip(lengths).enumerate() {
        *(if token.dense { &mut dense } else { &mut plain }) += 1;
        // The shortest run that ends here and is long enough starts at `start`.
        while let Some(first) = tokens.get(start) {
            let (plain_after, dense_after) = (plain - usize::from(!first.dense), dense - usize::from(first.dense));
            if !long_enough(plain_after, dense_after) {
                break;
            }
            (plain, dense) = (plain_after, dense_after);
            start += 1;
        }
        let needed = end + 1 - start;
        if long_enough(plain, dense) && in_candidate >= needed && in_candidate > in_base {
            return Some(end + 1 - in_candidate..end + 1);
        }
    }
    None
}

/// Lower-case words without punctuation; every character of a script without spaces is one. The flag tells them apart.
fn words(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut word = String::new();
    for char in text.chars().chain([' ']) {
        if is_dense(char) && char.is_alphanumeric() {
            if !word.is_empty() {
                found.push((std::mem::take(&mut word), false));
            }
            found.push((char.to_string(), true));
        } else if char.is_alphanumeric() {
            word.extend(char.to_lowercase());
        } else if matches!(char, '\'' | '\u{2019}') {
            // "it's" is one word, however its apostrophe is written.
        } else if !word.is_empty() {
            found.push((std::mem::take(&mut word), false));
        }
    }
    found
}

/// A suffix automaton: knows every run of tokens of a text, in space and time linear in it.
#[derive(Debug)]
struct Automaton {
    states: Vec<State>,
    last: usize,
}

#[derive(Debug, Clone, Default)]
struct State {
    length: usize,
    link: Option<usize>,
    next: BTreeMap<u32, usize>,
}

impl Automaton {
    fn new() -> Self {
        Self { states: vec![State::default()], last: 0 }
    }

    fn state(&self, index: usize) -> Option<&State> {
        self.states.get(index)
    }

    fn next(&self, index: usize, token: u32) -> Option<usize> {
        self.state(index)?.next.get(&token).copied()
    }

    fn length(&self, index: usize) -> usize {
        self.state(index).map_or(0, |state| state.length)
    }

    /// Appends a token.
    fn push(&mut self, token: u32) {
        let new = self.states.len();
        self.states.push(State { length: self.length(self.last) + 1, link: Some(0), next: BTreeMap::new() });
        let mut place = Some(self.last);
        self.last = new;
        while let Some(index) = place {
            let Some(state) = self.states.get_mut(index) else { return };
            if let Some(target) = state.next.get(&token).copied() {
                let link = self.split(index, target, token);
                if let Some(state) = self.states.get_mut(new) {
                    state.link = Some(link);
                }
                return;
            }
            state.next.insert(token, new);
            place = state.link;
        }
    }

    /// The state of the longest run through `index` and `token`: `target`, or a copy of it that is short enough.
    fn split(&mut self, index: usize, target: usize, token: u32) -> usize {
        let length = self.length(index) + 1;
        if self.length(target) == length {
            return target;
        }
        let copy = self.states.len();
        let state = self.states.get(target).cloned().unwrap_or_default();
        self.states.push(State { length, ..state });
        if let Some(state) = self.states.get_mut(target) {
            state.link = Some(copy);
        }
        let mut place = Some(index);
        while let Some(index) = place {
            let Some(state) = self.states.get_mut(index) else { break };
            if state.next.get(&token) != Some(&target) {
                break;
            }
            state.next.insert(token, copy);
            place = state.link;
        }
        copy
    }

    /// For each token, how many tokens that end with it stand in the automaton's text as one run.
    fn matches(&self, tokens: &[Token]) -> impl Iterator<Item = usize> {
        let mut index = 0;
        let mut length = 0;
        tokens.iter().map(move |token| {
            loop {
                if let Some(next) = self.next(index, token.id) {
                    index = next;
                    length += 1;
                    return length;
                }
                match self.state(index).and_then(|state| state.link) {
                    Some(link) => {
                        index = link;
                        length = self.length(link);
                    }
                    None => {
                        length = 0;
                        return 0;
                    }
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Choice;

    fn index(question: &str, options: &[&str]) -> LeakIndex {
        let options = ('A'..).zip(options).map(|(letter, text)| Choice { letter, text: (*text).into() }).collect();
        LeakIndex::new(&[Question {
            question_id: "q".parse().unwrap(),
            video_id: "v".parse().unwrap(),
            task_type: "T".parse().unwrap(),
            question: question.into(),
            options,
            answer: 'A',
            pair_id: None,
            source_nodes: vec![],
            difficulty: None,
        }])
    }

    const QUESTION: &str = "Why does the man in red, who can't swim, jump into the lake?";

    #[test]
    fn eight_consecutive_words_are_a_quotation() {
        let index = index(QUESTION, &[]);
        let leak = index.find("Ask: WHY does the man in\nred - who can\u{2019}t?", "").unwrap();
        assert_eq!(leak.quote, "why does the man in red who cant");
        assert!(!leak.is_option);
        assert_eq!(index.find("why does the man in red who", ""), None, "seven are not");
        assert_eq!(index.find("why does the man in blue who cant swim jump into", ""), None, "nor an interrupted run");
        assert_eq!(index.find("", ""), None);
    }

    #[test]
    fn what_the_base_contains_is_no_leak() {
        let index = index(QUESTION, &["a bright red ball of wool"]);
        let base = "Why does the man in red who can't swim jump? A bright red ball of wool!";
        assert_eq!(index.find(&format!("{base} More."), base), None);
        let longer = index.find("why does the man in red who can't swim jump into", base);
        assert!(longer.is_some(), "a longer quotation than the base's is one");
    }

    #[test]
    fn an_option_counts_as_a_whole() {
        let index = index("What?", &["a bright red ball of wool", "two red balls"]);
        let leak = index.find("Look for a bright, red ball of wool.", "").unwrap();
        assert!(leak.is_option);
        assert_eq!(index.find("a bright red ball of", ""), None);
        assert_eq!(index.find("two red balls", ""), None, "too short to be told from common words");
    }

    #[test]
    fn scripts_without_spaces_are_counted_by_character() {
        let question = "视频中穿红色衣服的男人为什么突然跳进湖里呢";
        let index = index(question, &["因为他想要救起落水的小狗"]);
        assert!(index.find(&format!("比如：{question}"), "").is_some());
        assert_eq!(index.find("视频中穿红色衣服的男人为什么突然跳进", ""), None);
        assert_eq!(index.find("因为他想要，救起落水的小狗。", "").unwrap().quote, "因为他想要救起落水的小狗");
    }

    proptest! {
        /// The automaton agrees with looking for every run of eight words.
        #[test]
        fn runs_are_found_exactly(
            question in proptest::collection::vec(0_u8..3, 8..20),
            candidate in proptest::collection::vec(0_u8..3, 0..40),
            base in proptest::collection::vec(0_u8..3, 0..40),
        ) {
            let text = |words: &[u8]| words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
            let contains = |text: &[u8], run: &[u8]| text.windows(run.len()).any(|window| window == run);
            let expected = (8..=question.len()).any(|length| question.windows(length)
                .any(|run| contains(&candidate, run) && !contains(&base, run)));
            let found = index(&text(&question), &[]).find(&text(&candidate), &text(&base));
            prop_assert_eq!(found.is_some(), expected);
        }
    }
}

//! Small patterns of words that tell whether a sentence instructs something.
//!
//! A pattern is a verb and what must follow it, e.g. `read|check; the|all; subtitle*`. Parts are separated by
//! `;`, alternatives by `|`, and `*` ends a stem. A part that begins with `+` may stand anywhere in the
//! sentence; one that begins with `!` must stand nowhere. The verb matches in its base, `-ing` and participle
//! forms, and only where it really instructs: "agents compare", "if you compare" and "a check" do not.

use std::sync::LazyLock;

use super::sentence::{Sentence, Token, omits};

/// What a sentence does with the thing that a pattern describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mood {
    /// It says not to do it.
    Forbidden,
    /// It says to do it.
    Asked,
}

/// How many words may stand between two parts.
const GAP: usize = 9;

/// One alternative of a part: one word or several in a row.
#[derive(Debug, Clone)]
struct Alternative(Vec<Stem>);

#[derive(Debug, Clone)]
struct Stem {
    text: String,
    open: bool,
}

/// A parsed pattern.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    verbs: Vec<Verb>,
    follow: Vec<Vec<Alternative>>,
    anywhere: Vec<Vec<Alternative>>,
    nowhere: Vec<Alternative>,
}

#[derive(Debug, Clone)]
struct Verb {
    base: String,
    ing: Vec<String>,
    participle: Vec<String>,
    particle: Option<String>,
    omits: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Base,
    Ing,
    Participle,
}

impl Pattern {
    /// Reads the notation of this module.
    pub(super) fn parse(notation: &str) -> Self {
        let mut parts = notation.split(';').map(str::trim);
        let verbs = parts.next().unwrap_or_default().split('|').map(|verb| Verb::new(verb.trim())).collect();
        let mut pattern = Self { verbs, follow: vec![], anywhere: vec![], nowhere: vec![] };
        for part in parts {
            if let Some(rest) = part.strip_prefix('+') {
                pattern.anywhere.push(alternatives(rest));
            } else if let Some(rest) = part.strip_prefix('!') {
                pattern.nowhere.extend(alternatives(rest));
            } else {
                pattern.follow.push(alternatives(part));
            }
        }
        pattern
    }

    /// What the sentence does with it; none if it does not speak of it.
    pub(super) fn mood(&self, sentence: &Sentence) -> Option<Mood> {
        let tokens = sentence.tokens.as_slice();
        let somewhere = |alternative: &Alternative| (0..tokens.len()).any(|at| alternative.matches(tokens, at));
        if self.nowhere.iter().any(somewhere) || !self.anywhere.iter().all(|part| part.iter().any(somewhere)) {
            return None;
        }
        let verbs = || self.verbs.iter().chain(OMISSIONS.iter());
        (0..tokens.len()).flat_map(|at| verbs().filter_map(move |verb| self.mood_at(tokens, at, verb))).max()
    }

    fn mood_at(&self, tokens: &[Token], at: usize, verb: &Verb) -> Option<Mood> {
        let form = verb.form_at(tokens, at)?;
        if !instructs(tokens, at, form) {
            return None;
        }
        let omission = verb.omits && !self.verbs.iter().any(|own| own.base == verb.base);
        // "Do not skip the subtitles" asks for them; the object of "skip" is negated by the very verb.
        let mut positive = tokens.get(at)?.positive != omission;
        let passive = form == Form::Participle && back(tokens, at).any(|word| word == "be" || word == "been");
        let mut from = at + 1;
        for part in &self.follow {
            let reach = from..(from + GAP).min(reason_at(tokens, from));
            let range = if passive { 0..tokens.len() } else { reach };
            let (place, length) = range
                .filter_map(|place| part.iter().find(|a| a.matches(tokens, place)).map(|a| (place, a.0.len())))
                .next()?;
            positive &= verb.omits || tokens.get(place)?.positive;
            from = place + length;
        }
        let dismissed = dismissed(tokens);
        Some(if positive && !dismissed { Mood::Asked } else { Mood::Forbidden })
    }
}

/// Verbs of omission, which turn any pattern into its opposite.
static OMISSIONS: LazyLock<Vec<Verb>> = LazyLock::new(|| {
    ["skip", "ignore", "omit", "neglect", "forget", "overlook", "disregard", "bypass", "avoid"].map(Verb::new).into()
});

/// Where a subordinate reason begins: what it names is not what is asked for.
fn reason_at(tokens: &[Token], from: usize) -> usize {
    let reason = |token: &Token| token.after_break && ["because", "since", "as"].contains(&token.word.as_str());
    tokens.iter().skip(from).position(reason).map_or(tokens.len(), |offset| from + offset)
}

fn alternatives(part: &str) -> Vec<Alternative> {
    let stem = |word: &str| Stem { text: word.trim_end_matches('*').to_owned(), open: word.ends_with('*') };
    part.split('|').map(|words| Alternative(words.split_whitespace().map(stem).collect())).collect()
}

impl Alternative {
    fn matches(&self, tokens: &[Token], at: usize) -> bool {
        self.0.iter().enumerate().all(|(offset, stem)| {
            tokens.get(at + offset).is_some_and(|token| {
                if stem.open { token.word.starts_with(&stem.text) } else { token.word == stem.text }
            })
        })
    }
}

impl Verb {
    fn new(notation: &str) -> Self {
        let (base, particle) = match notation.split_once(' ') {
            Some((base, particle)) => (base, Some(particle.to_owned())),
            None => (notation, None),
        };
        let mut ing = vec![format!("{base}ing")];
        let mut participle = vec![format!("{base}ed")];
        if let Some(stem) = base.strip_suffix('e') {
            ing.push(format!("{stem}ing"));
            participle.push(format!("{stem}ed"));
        }
        if let Some(stem) = base.strip_suffix('y') {
            participle.push(format!("{stem}ied"));
        }
        if let Some(last) = base.chars().last() {
            ing.push(format!("{base}{last}ing"));
            participle.push(format!("{base}{last}ed"));
        }
        participle.extend(IRREGULAR.iter().filter(|(of, _)| *of == base).map(|(_, form)| (*form).to_owned()));
        Self { base: base.to_owned(), ing, participle, particle, omits: omits(base) }
    }

    fn form_at(&self, tokens: &[Token], at: usize) -> Option<Form> {
        let word = tokens.get(at)?.word.as_str();
        if let Some(particle) = &self.particle
            && !tokens.iter().skip(at + 1).take(3).any(|token| token.word == *particle)
        {
            return None;
        }
        let is = |form: &String| form == word;
        if word == self.base {
            let perfect = self.participle.iter().any(is) && back(tokens, at).any(|word| AUXILIARY.contains(&word));
            return Some(if perfect { Form::Participle } else { Form::Base });
        }
        if self.ing.iter().any(is) {
            return Some(Form::Ing);
        }
        self.participle.iter().any(is).then_some(Form::Participle)
    }
}

const IRREGULAR: [(&str, &str); 22] = [
    ("read", "read"),
    ("set", "set"),
    ("put", "put"),
    ("take", "taken"),
    ("see", "seen"),
    ("find", "found"),
    ("hold", "held"),
    ("keep", "kept"),
    ("write", "written"),
    ("make", "made"),
    ("go", "gone"),
    ("seek", "sought"),
    ("get", "got"),
    ("give", "given"),
    ("draw", "drawn"),
    ("lay", "laid"),
    ("run", "run"),
    ("choose", "chosen"),
    ("say", "said"),
    ("tell", "told"),
    ("hear", "heard"),
    ("lead", "led"),
];

const AUXILIARY: [&str; 7] = ["have", "has", "had", "having", "be", "been", "being"];

/// Words that may stand between a verb and what makes it an instruction.
const ADVERBS: [&str; 22] = [
    "always",
    "also",
    "first",
    "just",
    "only",
    "once",
    "again",
    "not",
    "never",
    "even",
    "still",
    "all",
    "explicitly",
    "now",
    "then",
    "next",
    "instead",
    "therefore",
    "both",
    "best",
    "at",
    "last",
];

/// The words before a place, nearest first, without adverbs, up to three; a break in the sentence ends them.
fn back(tokens: &[Token], at: usize) -> impl Iterator<Item = &str> {
    let mut broken = tokens.get(at).is_some_and(|token| token.after_break);
    tokens
        .get(..at)
        .unwrap_or_default()
        .iter()
        .rev()
        .take_while(move |token| {
            let go_on = !broken;
            broken |= token.after_break;
            go_on
        })
        .map(|token| token.word.as_str())
        .filter(|word| !ADVERBS.contains(word) && !word.ends_with("ly"))
        .take(3)
}

fn instructs(tokens: &[Token], at: usize, form: Form) -> bool {
    let mut before = back(tokens, at);
    let (one, two, three) = (before.next(), before.next(), before.next());
    let has = |words: &[&str]| tokens.iter().any(|token| words.contains(&token.word.as_str()));
    let before_has =
        |words: &[&str]| tokens.get(..at).unwrap_or_default().iter().any(|token| words.contains(&token.word.as_str()));
    match form {
        Form::Base => match one {
            None => true,
            Some("you") => match two {
                Some("that") => {
                    three.is_some_and(|word| ["sure", "ensure", "certain", "check", "rule"].contains(&word))
                }
                Some(word) => {
                    !["if", "when", "while", "whenever", "as", "because", "what", "which", "how", "where", "why"]
                        .contains(&word)
                }
                None => true,
            },
            Some(
                "and" | "or" | "but" | "so" | "to" | "must" | "should" | "shall" | "do" | "please" | "will" | "let"
                | "us" | "need" | "ought" | "can" | "better" | "rather" | "than" | "afterwards" | "finally" | "step"
                | "nor",
            ) => true,
            Some(_) => opens_with_preposition(tokens, at),
        },
        Form::Ing => match one {
            None => {
                at == 0
                    && has(&["must", "mandatory", "essential", "required", "crucial", "obligatory", "pays", "vital"])
            }
            Some(word) => {
                [
                    "by",
                    "without",
                    "before",
                    "after",
                    "start",
                    "begin",
                    "keep",
                    "try",
                    "of",
                    "on",
                    "for",
                    "insist",
                    "worth",
                    "consider",
                    "recommend",
                    "means",
                    "than",
                    "and",
                    "or",
                    "to",
                    "from",
                    "stop",
                    "in",
                ]
                .contains(&word)
                    || LEXICAL_LEAD.contains(&word)
            }
        },
        Form::Participle => {
            let auxiliary = back(tokens, at).any(|word| AUXILIARY.contains(&word));
            let due = [
                "until", "till", "once", "after", "unless", "before", "only", "must", "should", "needs", "need", "are",
                "is", "sure", "ensure", "to", "has",
            ];
            auxiliary && before_has(&due) && !before_has(&["if"])
        }
    }
}

/// Verbs of omission that take an `-ing` form: the polarity says whether they negate.
const LEXICAL_LEAD: [&str; 8] = ["avoid", "skip", "neglect", "resist", "omit", "forget", "avoiding", "skipping"];

/// "Before you submit compare every option": a lead-in without a comma.
fn opens_with_preposition(tokens: &[Token], at: usize) -> bool {
    const LEAD: [&str; 14] = [
        "before", "for", "in", "on", "when", "once", "after", "with", "where", "whenever", "at", "during", "as", "per",
    ];
    let opens = tokens.first().is_some_and(|token| LEAD.contains(&token.word.as_str()));
    let broken = tokens.iter().take(at + 1).skip(1).any(|token| token.after_break);
    let previous = at.checked_sub(1).and_then(|index| tokens.get(index)).map_or("", |token| token.word.as_str());
    opens && !broken && !["the", "a", "an", "you", "they", "it", "i", "we", "of"].contains(&previous)
}

/// "… is a waste of time": the sentence takes back what it seems to ask for.
fn dismissed(tokens: &[Token]) -> bool {
    const ENDINGS: [&[&str]; 22] = [
        &["waste", "of"],
        &["unnecessary"],
        &["pointless"],
        &["useless"],
        &["superfluous"],
        &["not", "needed"],
        &["not", "necessary"],
        &["not", "required"],
        &["not", "worth"],
        &["not", "help"],
        &["no", "help"],
        &["no", "use"],
        &["be", "skipped"],
        &["be", "ignored"],
        &["be", "omitted"],
        &["gains", "nothing"],
        &["wastes"],
        &["is", "optional"],
        &["never", "helps"],
        &["never", "pays"],
        &["be", "avoided"],
        &["not", "pay"],
    ];
    ENDINGS.iter().any(|ending| {
        tokens.windows(ending.len()).any(|window| window.iter().zip(*ending).all(|(token, word)| token.word == *word))
    })
}

#[cfg(test)]
mod tests {
    use super::super::sentence::sentences;
    use super::*;

    fn mood(pattern: &str, text: &str) -> Option<Mood> {
        let pattern = Pattern::parse(pattern);
        sentences(text).iter().filter_map(|sentence| pattern.mood(sentence)).max()
    }

    const READ: &str = "read|look at; subtitle*";

    #[test]
    fn forms_that_instruct() {
        for text in [
            "Read the subtitles.",
            "Then read the subtitles of the event.",
            "You should always read the subtitles.",
            "Start by reading the subtitles.",
            "The subtitles must be read.",
            "Answer only once you have read the subtitles.",
            "Make sure that you read the subtitles.",
            "Before you submit read all subtitles.",
            "Look closely at the subtitles.",
            "Never submit without reading the subtitles.",
            "Do not hesitate to read the subtitles.",
        ] {
            assert_eq!(mood(READ, text), Some(Mood::Asked), "{text}");
        }
    }

    #[test]
    fn forms_that_forbid() {
        for text in [
            "Do not read the subtitles.",
            "There is no need to read the subtitles.",
            "Avoid reading the subtitles.",
            "Answer without reading the subtitles.",
            "Reading the subtitles must be avoided.",
            "Read the card rather than the subtitles.",
        ] {
            assert_eq!(mood(READ, text), Some(Mood::Forbidden), "{text}");
        }
    }

    #[test]
    fn forms_that_only_describe() {
        for text in [
            "Some agents read the subtitles.",
            "If you read the subtitles, be quick.",
            "Earlier runs read the subtitles and lost time.",
            "The people who read the subtitles were wrong.",
            "Should you read the subtitles?",
            "The subtitles are short.",
        ] {
            assert_eq!(mood(READ, text), None, "{text}");
        }
    }
}

//! Phrases that announce an answer: "Answer: C", "答案是C", "C is correct", `\boxed{C}`.

use super::head::{Head, read_head, starts_with};
use super::options::Options;

/// How a marker word is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The answer follows, with or without a connector.
    Noun,
    /// The answer follows only after a connector: "option C" mentions, "option: C" answers.
    StrictNoun,
    /// A verb of choosing: what follows is an answer only if it is one letter.
    Verb,
    /// The answer precedes.
    Suffix,
}

/// All marker words, lower case. ASCII words count only as whole words.
const MARKERS: &[(&str, Kind)] = &[
    ("answer", Kind::Noun),
    ("answers", Kind::StrictNoun),
    ("ans", Kind::Noun),
    ("<answer>", Kind::Noun),
    ("\\boxed", Kind::Noun),
    ("option", Kind::StrictNoun),
    ("choice", Kind::StrictNoun),
    ("solution", Kind::StrictNoun),
    ("response", Kind::StrictNoun),
    ("prediction", Kind::StrictNoun),
    ("conclusion", Kind::StrictNoun),
    ("respuesta", Kind::Noun),
    ("réponse", Kind::Noun),
    ("antwort", Kind::Noun),
    ("resposta", Kind::Noun),
    ("ответ", Kind::Noun),
    ("答案", Kind::Noun),
    ("正确选项", Kind::Noun),
    ("选项", Kind::StrictNoun),
    ("答え", Kind::Noun),
    ("正解", Kind::Noun),
    ("回答", Kind::StrictNoun),
    ("정답", Kind::Noun),
    ("답", Kind::StrictNoun),
    ("choose", Kind::Verb),
    ("chose", Kind::Verb),
    ("select", Kind::Verb),
    ("selected", Kind::Verb),
    ("pick", Kind::Verb),
    ("go with", Kind::Verb),
    ("going with", Kind::Verb),
    ("选择", Kind::Verb),
    ("选", Kind::Verb),
    ("is correct", Kind::Suffix),
    ("is the correct", Kind::Suffix),
    ("is right", Kind::Suffix),
    ("is the right", Kind::Suffix),
    ("is the best", Kind::Suffix),
    ("is the answer", Kind::Suffix),
    ("是正确", Kind::Suffix),
    ("是对的", Kind::Suffix),
    ("가 정답", Kind::Suffix),
    ("이 정답", Kind::Suffix),
];

/// What the last marker that says anything says; none if no marker says anything.
pub(super) fn last_marked(text: &str, options: &Options) -> Option<Head> {
    let lower = lower_same_length(text);
    let chars: Vec<char> = text.chars().collect();
    let mut last: Option<(usize, Head)> = None;
    for &(marker, kind) in MARKERS {
        for at in places(&lower, &chars, marker) {
            let head = match kind {
                Kind::Suffix => before_suffix(&chars, at, marker, options),
                Kind::Noun | Kind::StrictNoun | Kind::Verb => {
                    after_marker(&chars, at, marker.chars().count(), kind, options)
                }
            };
            let says = match head {
                Head::Nothing => false,
                // "choose between" and "select A, B or C" are instructions, not answers.
                Head::Ambiguous | Head::Retracted | Head::NotAnOption(_) | Head::Text(_) => {
                    matches!(kind, Kind::Noun | Kind::StrictNoun)
                }
                Head::Letter(_) => true,
            };
            if says && !is_negated(&chars, at) && last.is_none_or(|(place, _)| at >= place) {
                last = Some((at, head));
            }
        }
    }
    last.map(|(_, head)| head)
}

/// ASCII lower case, character by character, so that places agree with the original.
fn lower_same_length(text: &str) -> Vec<char> {
    text.chars().map(|char| char.to_ascii_lowercase()).collect()
}

/// Where the marker stands as a whole word.
fn places<'a>(lower: &'a [char], chars: &'a [char], marker: &'a str) -> impl Iterator<Item = usize> + 'a {
    let first = marker.chars().next().unwrap_or(' ');
    let length = marker.chars().count();
    let is_word = marker.is_ascii() && first.is_ascii_alphabetic();
    lower.iter().enumerate().filter(move |(_, char)| **char == first).map(|(at, _)| at).filter(move |at| {
        starts_with(lower, *at, marker)
            && !(is_word
                && (at.checked_sub(1).and_then(|before| chars.get(before)).is_some_and(|char| char.is_alphanumeric())
                    || chars.get(at + length).is_some_and(char::is_ascii_alphanumeric)))
    })
}

fn after_marker(chars: &[char], at: usize, length: usize, kind: Kind, options: &Options) -> Head {
    let mut from = at + length;
    // Polite and plural endings that belong to the marker: "답은", "정답은", "answer(s)".
    if starts_with(chars, from, "(s)") {
        from += 3;
    }
    read_head(chars, from, kind == Kind::StrictNoun, options)
}

/// "C is correct", "(C) is the right answer", "Option **C** is the best".
fn before_suffix(chars: &[char], at: usize, marker: &str, options: &Options) -> Head {
    let before = |place: usize| place.checked_sub(1).and_then(|place| chars.get(place));
    let mut end = at;
    while before(end)
        .is_some_and(|char| matches!(char, ' ' | '*' | ')' | ']' | '"' | '\'' | '`' | '_' | '}' | '$' | '」' | '】'))
    {
        end -= 1;
    }
    let Some(letter) = before(end).copied().filter(char::is_ascii_uppercase) else { return Head::Nothing };
    let start = end - 1;
    if before(start).is_some_and(|char| char.is_ascii_alphanumeric() || matches!(char, '\'' | '’' | '/' | '&')) {
        return Head::Nothing;
    }
    let after = at + marker.chars().count();
    let rest: String =
        chars.iter().skip(after).take(40).take_while(|char| !matches!(char, '.' | '\n' | '。')).collect();
    if rest.contains('?') || !options.has(letter) {
        return Head::Nothing;
    }
    // "A and B are" never matches; "neither A nor B is correct" does.
    let clause = clause_before(chars, start);
    if ["neither", " nor", "none", " and", " or"].iter().any(|word| clause.contains(word)) {
        return Head::Nothing;
    }
    Head::Letter(letter)
}

/// The words of the same clause before `at`, lower case, at most 60 characters.
fn clause_before(chars: &[char], at: usize) -> String {
    let from = at.saturating_sub(60);
    let window: Vec<char> = chars.get(from..at).unwrap_or_default().to_vec();
    let start = window
        .iter()
        .rposition(|char| matches!(char, '.' | '!' | '?' | ';' | ',' | '\n' | '。' | '，' | '；' | '！' | '？'))
        .map_or(0, |place| place + 1);
    let clause: String = window.get(start..).unwrap_or_default().iter().collect();
    let clause = clause.to_lowercase().replace('’', "'");
    match clause.rfind(" but ") {
        Some(place) => clause.get(place..).unwrap_or_default().to_owned(),
        None => clause,
    }
}

/// "I don't think the answer is C", "if the answer is A, then", "the wrong option is: B".
fn is_negated(chars: &[char], at: usize) -> bool {
    const DENIALS: [&str; 19] = [
        "n't think",
        "not think",
        "n't believe",
        "not believe",
        "n't say",
        "not say",
        "n't the",
        "not the",
        "doubt",
        "unlikely",
        "whether",
        "incorrect",
        "wrong",
        "不认为",
        "不是",
        "如果",
        "是否",
        "错误",
        "만약",
    ];
    let clause = clause_before(chars, at);
    let start = clause.trim_start();
    DENIALS.iter().any(|denial| clause.contains(denial))
        || start.starts_with("if ")
        || ["not", "never", "n't"].iter().any(|denial| clause.trim_end().ends_with(denial))
}

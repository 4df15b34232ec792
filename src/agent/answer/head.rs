//! Whether a letter stands where an answer is expected, and whether it is a letter or a word.

use super::options::{Match, Options};

/// What stands at a place where an answer is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// One option's letter.
    Letter(char),
    /// The exact text of one option.
    Text(char),
    /// More than one option.
    Ambiguous,
    /// A letter that no option has.
    NotAnOption(char),
    /// A refusal such as "none of these".
    Retracted,
    /// Nothing that can be read as an answer.
    Nothing,
}

/// Between a marker and its letter these words say nothing.
const FILLERS: &[&str] = &[
    "is",
    "are",
    "be",
    "would",
    "should",
    "will",
    "must",
    "was",
    "to",
    "the",
    "therefore",
    "thus",
    "most",
    "likely",
    "probably",
    "definitely",
    "clearly",
    "option",
    "choice",
    "letter",
    "answer",
    "correct",
    "best",
    "right",
    "with",
    "for",
    "question",
    "final",
    "being",
    "seems",
    "appears",
    "following",
    "indeed",
    "hence",
    "simply",
    "es",
    "est",
    "ist",
    "la",
    "it",
    "one",
    "this",
    "that",
    "my",
    "remains",
    "still",
    "here",
];

/// The same in scripts without spaces; longer ones first.
const CJK_FILLERS: &[&str] = &[
    "应该", "应当", "选择", "选项", "可能", "就是", "最", "是", "为", "应", "该", "选", "就", "은", "는", "이", "가",
    "は", "が", "のは", "선택", "번",
];

/// LaTeX commands that wrap a letter.
const LATEX: [&str; 9] = ["\\boxed", "\\textbf", "\\text", "\\mathbf", "\\mathrm", "\\mathsf", "\\fbox", "\\(", "\\["];

/// After `A`, `I` or a lower-case letter and a space, these words show that the letter is one and no article or pronoun.
const AFTER_LETTER: [&str; 14] =
    ["because", "since", "as", "for", "which", "and", "or", "due", "based", "given", "is", "but", "so", "if"];

/// Answers that are none.
const RETRACTIONS: [&str; 15] = [
    "none",
    "neither",
    "unknown",
    "unclear",
    "not",
    "cannot",
    "can't",
    "n/a",
    "undetermined",
    "impossible",
    "没有",
    "无",
    "以上都不",
    "不",
    "모르",
];

/// Reads what stands at `chars[from..]`, which follows a marker or begins an answer field.
///
/// `strict` demands a connector (`:`, `=`, a filler word) before the letter: "option C" alone mentions, "option: C" answers.
pub(super) fn read_head(chars: &[char], from: usize, strict: bool, options: &Options) -> Head {
    let start = skip_fillers(chars, from);
    if strict && !has_connector(chars, from, start) {
        return Head::Nothing;
    }
    // An option's own text may begin with a word that was skipped as a filler.
    for place in [start, skip_marks(chars, from)] {
        let line = line_at(chars, place, options);
        let inner = line.split(['}', '<', '*', '$']).next().unwrap_or_default();
        for text in [line.as_str(), inner] {
            if let Match::One(letter) = options.exact(text) {
                return Head::Text(letter);
            }
        }
    }
    if starts_with_any(chars, start, &RETRACTIONS) {
        return Head::Retracted;
    }
    let Some(char) = chars.get(start).copied().filter(char::is_ascii_alphabetic) else {
        return Head::Nothing;
    };
    let letter = char.to_ascii_uppercase();
    if !is_whole_letter(chars, start, options) {
        return Head::Nothing;
    }
    if names_second_letter(chars, start, letter, options) {
        return Head::Ambiguous;
    }
    if options.has(letter) { Head::Letter(letter) } else { Head::NotAnOption(letter) }
}

/// The rest of the line from `start`, as far as an option could reach: a text full of markers stays linear.
fn line_at(chars: &[char], start: usize, options: &Options) -> String {
    chars.iter().skip(start).take(options.reach()).take_while(|char| **char != '\n').collect()
}

/// Whether something between marker and letter connects them.
fn has_connector(chars: &[char], from: usize, start: usize) -> bool {
    let between: String = chars.get(from..start).unwrap_or_default().iter().collect();
    let between = between.to_lowercase();
    between.contains([':', '=', '：'])
        || ["is", "是", "为", "은", "는", "は", "would", "should"].iter().any(|word| between.contains(word))
}

/// Skips decoration, at most 80 characters of it: a letter stands near its marker, and a text of nothing but
/// wrappers stays linear.
fn skip_marks(chars: &[char], from: usize) -> usize {
    let end = from.saturating_add(80);
    let mut at = from;
    while at < end {
        let before = at;
        while at < end && chars.get(at).is_some_and(|char| is_mark(*char)) {
            at += 1;
        }
        for command in LATEX {
            if starts_with(chars, at, command) {
                at += command.chars().count();
            }
        }
        if at == before {
            break;
        }
    }
    at
}

/// White space and what decorates or connects; a `<` opens a tag such as `<b>`, which is skipped as a whole.
fn is_mark(char: char) -> bool {
    char.is_whitespace()
        || matches!(
            char,
            '*' | '_'
                | '`'
                | '"'
                | '\''
                | '('
                | '['
                | '{'
                | '$'
                | '#'
                | ':'
                | '='
                | '-'
                | '–'
                | '—'
                | '>'
                | '→'
                | '|'
                | '~'
                | '】'
                | '」'
                | '』'
        )
        || matches!(char, '「' | '『' | '【' | '《' | '〈' | '“' | '‘' | '«' | '〔' | '✅' | '☑' | '✓' | '✔' | '👉')
}

fn skip_fillers(chars: &[char], from: usize) -> usize {
    let mut at = skip_marks(chars, from);
    // Bounded: an answer stands near its marker.
    for _ in 0..12 {
        let next = skip_marks(chars, skip_tag(chars, skip_filler(chars, at)));
        if next == at {
            break;
        }
        at = next;
    }
    at
}

/// `<b>`, `</b>` and their like: at most 12 characters.
fn skip_tag(chars: &[char], at: usize) -> usize {
    if chars.get(at) != Some(&'<') {
        return at;
    }
    let length = chars.iter().skip(at).take(12).position(|char| *char == '>');
    length.map_or(at, |length| at + length + 1)
}

fn skip_filler(chars: &[char], at: usize) -> usize {
    for filler in CJK_FILLERS {
        if starts_with(chars, at, filler) {
            return at + filler.chars().count();
        }
    }
    let word: String = word_at(chars, at);
    if FILLERS.contains(&word.to_ascii_lowercase().as_str()) { at + word.chars().count() } else { at }
}

/// The ASCII word at `at`, at most 20 characters of it.
pub(super) fn word_at(chars: &[char], at: usize) -> String {
    chars.iter().skip(at).take(20).take_while(|char| char.is_ascii_alphabetic()).collect()
}

pub(super) fn starts_with(chars: &[char], at: usize, needle: &str) -> bool {
    needle
        .chars()
        .enumerate()
        .all(|(offset, wanted)| chars.get(at + offset).is_some_and(|char| char.to_ascii_lowercase() == wanted))
}

fn starts_with_any(chars: &[char], at: usize, words: &[&str]) -> bool {
    words.iter().any(|word| {
        let end = at + word.chars().count();
        // `not` is a word of its own; `notable` begins an option's text.
        starts_with(chars, at, word) && !(word.is_ascii() && chars.get(end).is_some_and(char::is_ascii_alphanumeric))
    })
}

/// Whether the ASCII letter at `at` stands alone, as a letter and not as a word.
fn is_whole_letter(chars: &[char], at: usize, options: &Options) -> bool {
    let Some(char) = chars.get(at) else { return false };
    let Some(next) = chars.get(at + 1) else { return true };
    let after = chars.get(at + 2);
    match next {
        '\n' => true,
        '\'' | '’' | '-' | '/' | '&' => {
            !after.is_some_and(|after| after.is_ascii_alphanumeric()) || is_slash_list(chars, at, options)
        }
        '?' => false,
        // "A.M." is no answer; "C.red" is.
        '.' => {
            let initialism = after.is_some_and(char::is_ascii_alphabetic) && chars.get(at + 3) == Some(&'.');
            !initialism
        }
        next if next.is_whitespace() => stands_alone(chars, at, *char, options),
        next if next.is_alphanumeric() => is_cjk(*next),
        _ => true,
    }
}

/// `A/B` names two options, `N/A` none.
fn is_slash_list(chars: &[char], at: usize, options: &Options) -> bool {
    chars.get(at + 1).is_some_and(|sign| matches!(sign, '/' | '&'))
        && chars.get(at).is_some_and(|first| options.has(first.to_ascii_uppercase()))
        && chars.get(at + 2).is_some_and(|second| options.has(*second))
        && !chars.get(at + 3).is_some_and(char::is_ascii_alphanumeric)
}

/// A letter before a space: `A man` and `I think` are words, `C because` is a letter.
fn stands_alone(chars: &[char], at: usize, char: char, options: &Options) -> bool {
    if char.is_ascii_uppercase() && !matches!(char, 'A' | 'I') {
        return true;
    }
    let next = at + 1 + chars.iter().skip(at + 1).take_while(|char| char.is_whitespace() && **char != '\n').count();
    let Some(following) = chars.get(next) else { return true };
    if !following.is_ascii_alphanumeric() {
        return true;
    }
    let rest: String = line_at(chars, next, options);
    AFTER_LETTER.contains(&word_at(chars, next).to_ascii_lowercase().as_str())
        || options.starts_with_option(&rest, char.to_ascii_uppercase())
}

/// Scripts written without spaces between words: a Latin letter before them stands alone.
fn is_cjk(char: char) -> bool {
    matches!(char, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// "B or C", "A/B", "A, B", "A和B": the answer names two options.
fn names_second_letter(chars: &[char], at: usize, letter: char, options: &Options) -> bool {
    let mut next = at + 1;
    while chars.get(next).is_some_and(|char| matches!(char, ')' | ']' | '*' | '}' | '"' | '\'' | '_' | '`' | '$' | ' '))
    {
        next += 1;
    }
    const SIGNS: [&str; 10] = [",", "/", "&", "+", "、", "和", "或", "及", "또는", "와"];
    let sign = SIGNS.iter().find(|sign| starts_with(chars, next, sign));
    let word = word_at(chars, next).to_ascii_lowercase();
    let by_word = matches!(word.as_str(), "and" | "or");
    next += match sign {
        Some(sign) => sign.chars().count(),
        None if by_word => word.len(),
        None => return false,
    };
    while chars.get(next).is_some_and(|char| is_mark(*char) && *char != '\n') {
        next += 1;
    }
    let Some(second) = chars.get(next).filter(|second| options.has(**second) && **second != letter) else {
        return false;
    };
    match chars.get(next + 1) {
        None => true,
        Some(after) if after.is_ascii_alphanumeric() => false,
        // "B, A is wrong" explains; "B or C are" names two.
        Some(' ') => by_word && !matches!(second, 'A' | 'I'),
        Some('\'' | '’') => false,
        Some(_) => true,
    }
}

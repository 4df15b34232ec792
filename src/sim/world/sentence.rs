//! Sentences of a skill as tokens, each with its polarity: is it asked for, or warned against?

/// One word of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// Lower case. A negating word that is only *mentioned* ("the question says NOT") begins with `=`.
    pub(super) word: String,
    /// Whether the words before it leave it asked for (`true`) or negate it.
    pub(super) positive: bool,
    /// Whether a comma, colon, dash or bracket stands before it.
    pub(super) after_break: bool,
}

/// One sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    /// Its words in order.
    pub(super) tokens: Vec<Token>,
}

/// The sentences of a Markdown text that can instruct: no front matter, headings, code, tables, comments,
/// questions or bare lists of keywords.
pub(super) fn sentences(markdown: &str) -> Vec<Sentence> {
    blocks(markdown)
        .iter()
        .flat_map(|block| split_block(block))
        .filter_map(|text| {
            let raw = tokenize(&text);
            let keep = !is_keyword_list(&raw);
            keep.then(|| Sentence { tokens: with_polarity(raw) })
        })
        .collect()
}

/// Paragraphs and list items, each on one line.
fn blocks(markdown: &str) -> Vec<String> {
    let text = without_comments(without_front_matter(markdown));
    let mut blocks = Vec::new();
    let mut current = String::new();
    let mut in_code = false;
    for line in text.lines() {
        let line = line.trim_start_matches(['>', ' ', '\t']).trim_end();
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
            blocks.push(std::mem::take(&mut current));
            continue;
        }
        if in_code || line.is_empty() || line.starts_with(['#', '|']) {
            blocks.push(std::mem::take(&mut current));
            continue;
        }
        let item = list_item(line);
        if item.is_some() {
            blocks.push(std::mem::take(&mut current));
        }
        if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(item.unwrap_or(line));
    }
    blocks.push(current);
    blocks.retain(|block| !block.trim().is_empty());
    blocks
}

fn without_front_matter(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}');
    let Some(rest) = text.strip_prefix("---\n") else { return text };
    rest.split_once("\n---\n").map_or(text, |(_, body)| body)
}

fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        kept.push('\n');
        rest = after.split_once("-->").map_or("", |(_, tail)| tail);
    }
    kept.push_str(rest);
    kept
}

/// The text of a list item without its bullet or number.
fn list_item(line: &str) -> Option<&str> {
    for bullet in ["- ", "* ", "+ ", "• "] {
        if let Some(item) = line.strip_prefix(bullet) {
            return Some(item);
        }
    }
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() == line.len() {
        return None;
    }
    digits.strip_prefix(". ").or_else(|| digits.strip_prefix(") "))
}

/// Splits at full stops, exclamation marks and semicolons. Questions are dropped: they instruct nobody.
fn split_block(block: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut chars = block.chars().peekable();
    while let Some(c) = chars.next() {
        let ends = match c {
            '!' | '?' | ';' => true,
            '.' => {
                chars.peek().is_none_or(|next| next.is_whitespace() || "\"”')*".contains(*next))
                    && !abbreviated(&current)
            }
            _ => false,
        };
        if !ends {
            current.push(c);
            continue;
        }
        let sentence = std::mem::take(&mut current);
        if c != '?' {
            found.push(sentence);
        }
    }
    found.push(current);
    found
}

fn abbreviated(text: &str) -> bool {
    ["e.g", "i.e", " vs", " cf", "e. g", "i. e"].iter().any(|ending| text.to_lowercase().ends_with(ending))
}

/// A token before its polarity is known.
struct Raw {
    word: String,
    after_break: bool,
    mentioned: bool,
}

const MENTIONABLE: [&str; 7] = ["not", "except", "never", "least", "no", "without", "none"];

fn tokenize(sentence: &str) -> Vec<Raw> {
    let mut tokens: Vec<Raw> = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut after_break = false;
    for c in sentence.chars().chain([' ']) {
        let c = if c == '’' || c == '‘' { '\'' } else { c };
        if c.is_alphanumeric() || matches!(c, '_' | '-' | '\'') {
            word.push(c);
            continue;
        }
        push_word(&mut tokens, &word, after_break, quoted);
        if !word.is_empty() {
            after_break = false;
        }
        word.clear();
        match c {
            '"' | '“' | '”' => quoted = !quoted,
            ',' | ':' | '(' | ')' | '–' | '—' | '/' | '+' | '·' | '|' => after_break = true,
            _ => {}
        }
    }
    tokens
}

fn push_word(tokens: &mut Vec<Raw>, word: &str, after_break: bool, quoted: bool) {
    // A lone dash between spaces separates clauses like a comma: the next word tells.
    let single_quoted = word.len() > 2 && word.starts_with('\'') && word.ends_with('\'');
    let trimmed = word.trim_matches(['\'', '_', '-']);
    if trimmed.is_empty() {
        return;
    }
    let upper = trimmed.len() > 2 && trimmed.chars().all(char::is_uppercase);
    let lower = trimmed.to_lowercase();
    let last = tokens.last().map_or("", |token| token.word.as_str());
    let instructs = ["do", "must", "should", "shall", "need", "can", "may", "will"].contains(&last);
    let mentioned =
        MENTIONABLE.contains(&lower.as_str()) && (quoted || single_quoted || (upper && lower != "never" && !instructs));
    let mut push = |word: &str, after_break| tokens.push(Raw { word: word.to_owned(), after_break, mentioned });
    if lower == "cannot" {
        push("can", after_break);
        push("not", false);
    } else if let Some(stem) = lower.strip_suffix("n't") {
        push(if stem == "wo" { "will" } else { stem.trim_end_matches('n') }, after_break);
        push("not", false);
    } else {
        push(lower.strip_suffix("'s").unwrap_or(&lower).trim_end_matches('\''), after_break);
    }
}

/// Very short texts, and lists of one- or two-word items.
fn is_keyword_list(tokens: &[Raw]) -> bool {
    const DETERMINERS: [&str; 12] =
        ["the", "a", "an", "every", "each", "all", "both", "any", "what", "which", "your", "its"];
    let words = tokens.len();
    if words < 3 {
        return true;
    }
    let determined = tokens.iter().any(|token| DETERMINERS.contains(&token.word.as_str()));
    if words == 3 && !determined {
        return true;
    }
    let breaks = tokens.iter().skip(1).filter(|token| token.after_break).count();
    breaks >= 2 && words * 2 <= (breaks + 1) * 5 && !determined || breaks >= 3 && words <= (breaks + 1) * 2
}

/// What ended or began a negation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Not negated.
    Open,
    /// By "not", "never" and the like: reaches to the end of the clause.
    Grammar,
    /// By a verb such as "skip": reaches to the next "and".
    Lexical,
}

fn with_polarity(raw: Vec<Raw>) -> Vec<Token> {
    let words: Vec<String> = raw.iter().map(|token| token.word.clone()).collect();
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let mut scope = Scope::Open;
    let mut since = 0_usize;
    let mut clause_start = 0_usize;
    let mut tokens = Vec::with_capacity(raw.len());
    for (index, token) in raw.into_iter().enumerate() {
        if token.after_break {
            // "Never, ever, guess": a comma right after the adverb does not end the negation.
            let adverb = since == 0 && ["never", "not"].contains(&word(index.saturating_sub(1)));
            if !adverb && !continues_as_negated_list(&words, index) {
                scope = Scope::Open;
            }
            clause_start = index;
        }
        if resets(word(index), word(index + 1), scope) {
            scope = Scope::Open;
        }
        since += 1;
        let positive = scope == Scope::Open;
        if !token.mentioned {
            let ended =
                words.get(clause_start..index).unwrap_or_default().iter().any(|word| ENDING.contains(&word.as_str()));
            let ends_before = index > clause_start && (ended || scope == Scope::Grammar);
            if let Some(kind) = negates(&words, index, ends_before) {
                scope = if scope == Scope::Open { kind } else { Scope::Open };
                since = 0;
            }
        }
        let word = if token.mentioned { format!("={}", token.word) } else { token.word };
        tokens.push(Token { word, positive, after_break: token.after_break });
    }
    tokens
}

/// "Do not read the subtitles, compare the options or open frames": the comma does not end the negation.
fn continues_as_negated_list(words: &[String], from: usize) -> bool {
    for word in words.iter().skip(from) {
        match word.as_str() {
            "or" | "nor" => return true,
            "but" | "and" | "then" | "instead" | "until" | "always" | "unless" | "before" => return false,
            _ => {}
        }
    }
    false
}

fn resets(word: &str, next: &str, scope: Scope) -> bool {
    match word {
        "but" | "until" | "till" | "unless" => true,
        "instead" => next != "of",
        "and" | "then" => scope == Scope::Lexical,
        _ => false,
    }
}

/// Verbs that end the work on a question.
const ENDING: [&str; 15] = [
    "answer", "submit", "decide", "choose", "commit", "conclude", "settle", "guess", "pick", "select", "finalise",
    "finalize", "finish", "stop", "reply",
];

fn negates(words: &[String], index: usize, ends_before: bool) -> Option<Scope> {
    let word = |offset: usize| words.get(index + offset).map_or("", String::as_str);
    let previous = index.checked_sub(1).and_then(|before| words.get(before)).map_or("", String::as_str);
    let grammar = match word(0) {
        "not" => !["only", "just", "merely", "simply", "until"].contains(&word(1)),
        "no" => !["matter", "later", "fewer", "less", "more", "doubt"].contains(&word(1)),
        "little" => ["point", "use", "sense", "value", "reason"].contains(&word(1)),
        "never" | "neither" | "nor" | "without" | "nothing" | "hardly" | "rarely" | "seldom" | "needless"
        | "unnecessary" | "pointless" | "useless" | "superfluous" => true,
        "than" => previous == "rather",
        "instead" => word(1) == "of",
        "before" => ends_before && (["you", "having", "it"].contains(&word(1)) || word(1).ends_with("ing")),
        _ => false,
    };
    if grammar {
        return Some(Scope::Grammar);
    }
    let stem = word(0);
    let lexical = match stem {
        "stop" | "stops" => word(1).ends_with("ing"),
        "leave" | "leaving" => words
            .iter()
            .skip(index)
            .any(|word| ["out", "aside", "alone", "unread", "unopened", "closed"].contains(&word.as_str())),
        _ => LEXICAL.contains(&stem),
    };
    lexical.then_some(Scope::Lexical)
}

/// Verbs that say "do not" about their object.
const LEXICAL: [&str; 30] = [
    "avoid",
    "avoiding",
    "skip",
    "skipping",
    "skipped",
    "ignore",
    "ignoring",
    "ignored",
    "omit",
    "omitting",
    "neglect",
    "neglecting",
    "forget",
    "forgetting",
    "fail",
    "hesitate",
    "refrain",
    "disregard",
    "disregarding",
    "bypass",
    "overlook",
    "overlooking",
    "resist",
    "refuse",
    "forgo",
    "forbid",
    "dismiss",
    "dismissing",
    "disable",
    "spare",
];

/// Whether a verb in its base form says "do not" about its object.
pub(super) fn omits(verb: &str) -> bool {
    LEXICAL.contains(&verb) || verb == "leave"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn negated(text: &str) -> Vec<String> {
        let found = sentences(text);
        found.iter().flat_map(|s| &s.tokens).filter(|t| !t.positive).map(|t| t.word.clone()).collect()
    }

    #[test]
    fn only_prose_counts() {
        let text = "---\nname: Read the subtitles now\n---\n# Read the subtitles of each\n\n<!-- read\nthe subtitles -->\n\
                    ```\nread the subtitles\n```\n| read the subtitles |\nOpen the\nfirst node. Shall you read it?\n- Go on, e.g. to the end";
        let texts: Vec<String> = sentences(text)
            .iter()
            .map(|s| s.tokens.iter().map(|t| t.word.as_str()).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(texts, ["open the first node", "go on e g to the end"]);
    }

    #[test]
    fn a_negation_reaches_to_the_end_of_its_clause() {
        assert_eq!(negated("Do not compare the options, read on."), ["compare", "the", "options"]);
        assert_eq!(negated("Do not skip the subtitles."), ["skip"]);
        assert_eq!(negated("Never answer without reading the subtitles."), ["answer", "without"]);
        assert_eq!(negated("Do not answer until you have read it."), ["answer"]);
        assert_eq!(negated("Don't submit before comparing the options."), ["submit", "before"]);
        assert_eq!(negated("Answer before comparing the options."), ["comparing", "the", "options"]);
        assert_eq!(negated("Read not only the card."), [""; 0]);
        assert_eq!(negated("Skip the card and read the rest."), ["the", "card"]);
    }

    #[test]
    fn a_mentioned_negation_negates_nothing() {
        assert_eq!(negated("Check whether the question says NOT or \"never\" somewhere."), [""; 0]);
        assert_eq!(negated("Do NOT compare the options."), ["compare", "the", "options"]);
    }

    #[test]
    fn lists_of_keywords_are_no_sentences() {
        for list in [
            "comparison, subtitles, frames",
            "compare / read subtitles / open frames",
            "Compare options",
            "search, count, verify, order, subtitles, frames, negation",
        ] {
            assert!(sentences(list).is_empty(), "{list}");
        }
        assert_eq!(sentences("Read the subtitles.").len(), 1);
    }
}

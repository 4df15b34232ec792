//! What counts as a word: for scripts with spaces the word, for scripts without them single characters and pairs.

use bm25::Tokenizer;
use unicode_normalization::UnicodeNormalization;

/// Words that every caption has: they rank nothing.
const STOP_WORDS: [&str; 38] = [
    "a", "an", "the", "of", "in", "on", "at", "to", "and", "or", "is", "are", "was", "were", "be", "been", "it", "its",
    "this", "that", "with", "for", "by", "as", "from", "what", "which", "who", "does", "do", "did", "how", "when",
    "where", "why", "there", "his", "her",
];

/// Splits text for the index.
///
/// The crate's own tokenizer turns Chinese into romanised syllables and stems one language only. This one is
/// compatibility-composing and lower-casing; words of alphabets lose a plural `s` and a possessive, Chinese,
/// Japanese and Korean runs become characters and overlapping pairs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Words;

impl Tokenizer for Words {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        let mut word = String::new();
        let mut run: Vec<char> = Vec::new();
        for char in text.nfkc().flat_map(char::to_lowercase) {
            if is_unspaced(char) {
                push_word(&mut word, &mut tokens);
                run.push(char);
            } else if char.is_alphanumeric() || (char == '\'' && !word.is_empty()) {
                push_run(&mut run, &mut tokens);
                word.push(char);
            } else {
                push_word(&mut word, &mut tokens);
                push_run(&mut run, &mut tokens);
            }
        }
        push_word(&mut word, &mut tokens);
        push_run(&mut run, &mut tokens);
        tokens
    }
}

fn push_word(word: &mut String, tokens: &mut Vec<String>) {
    let taken = std::mem::take(word);
    let bare = taken.trim_end_matches('\'');
    let bare = bare.strip_suffix("'s").unwrap_or(bare);
    if !bare.is_empty() && !STOP_WORDS.contains(&bare) {
        tokens.push(stem(bare));
    }
}

/// The weakest stemmer that helps: `cars` and `car`, `boxes` and `box`, `berries` and `berry` meet; `glass` stays.
fn stem(word: &str) -> String {
    if word.chars().count() <= 3 || !word.is_ascii() {
        return word.to_owned();
    }
    if let Some(root) = word.strip_suffix("ies") {
        return format!("{root}y");
    }
    for ending in ["sses", "shes", "ches", "xes", "zes"] {
        if word.ends_with(ending) {
            return word.strip_suffix("es").unwrap_or(word).to_owned();
        }
    }
    match word.strip_suffix('s') {
        Some(root) if !root.ends_with(['s', 'u', 'i']) => root.to_owned(),
        _ => word.to_owned(),
    }
}

fn push_run(run: &mut Vec<char>, tokens: &mut Vec<String>) {
    tokens.extend(run.iter().map(char::to_string));
    tokens.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
    run.clear();
}

/// Han, kana, Hangul: a word is not delimited by spaces, or carries particles.
fn is_unspaced(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        Words.tokenize(text)
    }

    #[test]
    fn words_of_alphabets_lose_case_plural_and_possessive() {
        assert_eq!(
            tokens("The Cars' boxes, the man's berries; glass bus"),
            ["car", "box", "man", "berry", "glass", "bus"]
        );
        assert_eq!(tokens("Größe ２０ Cars"), ["größe", "20", "car"]);
    }

    #[test]
    fn chinese_becomes_characters_and_pairs() {
        assert_eq!(tokens("红色汽车"), ["红", "色", "汽", "车", "红色", "色汽", "汽车"]);
        assert_eq!(tokens("一辆car在"), ["一", "辆", "一辆", "car", "在"]);
    }
}

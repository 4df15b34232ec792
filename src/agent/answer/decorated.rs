//! Letters that stand out by their decoration alone: `**C**`, `(C)`, `$C$`, a last line that is only `C`.

use super::head::Head;
use super::options::Options;

/// Decorations: what opens and what closes.
const PAIRS: [(&str, &str); 7] =
    [("**", "**"), ("(", ")"), ("$", "$"), ("[", "]"), ("【", "】"), ("`", "`"), ("「", "」")];

/// The letter of a text that is nothing else: `C`, `(c).`, `**C**`, `$C$`, `\boxed{C}`, "Option C".
pub(super) fn only_letter(text: &str) -> Option<char> {
    let mut rest = text.trim();
    // Each round strips one layer; a text has few.
    for _ in 0..6 {
        let before = rest;
        rest = rest.trim_matches(|char: char| !char.is_alphanumeric() && char != '\\');
        for wrapper in ["\\boxed{", "\\text{", "\\textbf{", "\\mathbf{", "\\mathrm{", "\\(", "\\[", "\\"] {
            rest = rest.strip_prefix(wrapper).unwrap_or(rest);
        }
        for word in ["option ", "choice ", "letter ", "选项", "选择", "选"] {
            if rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)) {
                rest = rest.get(word.len()..).unwrap_or_default();
            }
        }
        for ending in ["입니다", "です", "选项", "번"] {
            rest = rest.strip_suffix(ending).unwrap_or(rest);
        }
        if rest == before {
            break;
        }
    }
    let mut chars = rest.chars();
    match (chars.next(), chars.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => Some(letter.to_ascii_uppercase()),
        _ => None,
    }
}

/// The decorated letter in prose, if the prose decorates one option only, or two and ends with the second.
pub(super) fn in_prose(text: &str, options: &Options) -> Head {
    if let Some(letter) = last_line_letter(text) {
        return if options.has(letter) { Head::Letter(letter) } else { Head::NotAnOption(letter) };
    }
    let mut found: Vec<(usize, char)> = Vec::new();
    for (open, close) in PAIRS {
        collect(text, open, close, options, &mut found);
    }
    found.sort_unstable();
    let mut distinct: Vec<char> = found.iter().map(|(_, letter)| *letter).collect();
    distinct.sort_unstable();
    distinct.dedup();
    match (distinct.as_slice(), found.last()) {
        ([], _) | (_, None) => Head::Nothing,
        ([letter], _) => Head::Letter(*letter),
        // "Not (A), so (C)." ends with its answer; a list of the options does not count.
        ([_, _], Some((at, letter))) if options.len() > 2 && ends_after(text, *at) => Head::Letter(*letter),
        _ => Head::Ambiguous,
    }
}

/// A last line that is only an upper-case or decorated letter, unless the line before it is one too (a list).
fn last_line_letter(text: &str) -> Option<char> {
    let mut lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    let last = lines.next()?;
    let before = lines.next()?;
    let letter = only_letter(last)?;
    let undecorated_lower = last.trim().chars().all(|char| char.is_ascii_lowercase());
    (only_letter(before).is_none() && !undecorated_lower).then_some(letter)
}

/// Finds `open LETTER close`, where the bold form may also hold the option's text: `**C. red**`.
fn collect(text: &str, open: &str, close: &str, options: &Options, found: &mut Vec<(usize, char)>) {
    for (at, _) in text.match_indices(open) {
        let inner = text.get(at + open.len()..).unwrap_or_default();
        let inner = inner.trim_start_matches([' ', '(']);
        let mut chars = inner.chars();
        let Some(letter) = chars.next().filter(|letter| options.has(letter.to_ascii_uppercase())) else { continue };
        let rest = chars.as_str().trim_start_matches(' ');
        let closed = rest.starts_with(close) || rest.trim_start_matches([')', '.', ':']).starts_with(close);
        let bold_text = open == "**" && rest.starts_with(['.', ')', ':']) && letter.is_ascii_uppercase();
        // A lower-case letter in brackets numbers a list; only bold and dollars make it an answer.
        let enough = letter.is_ascii_uppercase() || matches!(open, "**" | "$");
        // "f(A)" and "section(B)" are calls, not answers.
        let attached = open == "("
            && text
                .get(..at)
                .and_then(|before| before.chars().next_back())
                .is_some_and(|char| char.is_ascii_alphanumeric());
        if (closed || bold_text) && enough && !attached {
            found.push((at, letter.to_ascii_uppercase()));
        }
    }
}

/// Whether nothing but decoration follows the letter decorated at `at`.
fn ends_after(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    rest.chars().filter(|char| char.is_alphanumeric()).count() == 1
}

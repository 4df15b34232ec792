//! What a candidate must still be (design 05): the same skill or prompt, only better.

use std::collections::BTreeSet;

use super::leak::LeakIndex;
use super::size::estimate_tokens;
use crate::evolution::diagnosis::share;
use crate::evolution::patch::{FrozenKind, FrozenSpec, fences_closed, front_matter, frozen_ranges};

/// The length of a candidate relative to the current text, both without what is frozen.
const LENGTH_RATIO: std::ops::RangeInclusive<f64> = 0.3..=2.0;

/// Which checks a kind of text undergoes, beside those that all do.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// What is frozen.
    pub(super) spec: FrozenSpec,
    /// Whether `name`, `description`, `task_type` and `always` must stay.
    pub(super) front_matter: bool,
    /// Whether code fences must be closed.
    pub(super) fences: bool,
    /// The most tokens; a current text that is longer is the limit instead.
    pub(super) max_tokens: Option<usize>,
}

impl Rules {
    pub(super) fn skill(max_tokens: usize) -> Self {
        Self { spec: FrozenSpec::skill(), front_matter: true, fences: true, max_tokens: Some(max_tokens) }
    }

    pub(super) fn system(spec: FrozenSpec) -> Self {
        Self { spec, front_matter: false, fences: true, max_tokens: None }
    }

    pub(super) fn tool(spec: FrozenSpec) -> Self {
        Self { spec, front_matter: false, fences: false, max_tokens: None }
    }
}

/// Checks a candidate against the current text.
///
/// # Errors
/// What is wrong with it, as a fragment that can be told to the writer.
pub(super) fn validate(candidate: &str, current: &str, rules: &Rules, leaks: &LeakIndex) -> Result<(), String> {
    if rules.front_matter {
        same_front_matter(candidate, current)?;
    }
    same_sections(candidate, current, rules)?;
    fitting_length(candidate, current, rules)?;
    if rules.fences && fences_closed(current) && !fences_closed(candidate) {
        return Err("a code fence is opened and not closed".into());
    }
    same_placeholders(candidate, current)?;
    if let Some(max) = rules.max_tokens {
        let (tokens, limit) = (estimate_tokens(candidate), max.max(estimate_tokens(current)));
        if tokens > limit {
            return Err(format!("the text has about {tokens} tokens and may have {limit}; shorten it"));
        }
    }
    match leaks.find(candidate, current) {
        Some(leak) => {
            let what = if leak.is_option { "an option of a question" } else { "a question" };
            Err(format!("the text quotes {what}: {:?}; write a method that holds for any video", leak.quote))
        }
        None => Ok(()),
    }
}

fn same_front_matter(candidate: &str, current: &str) -> Result<(), String> {
    let fields = |text: &str| front_matter(text).map(|front| front.fields).unwrap_or_default();
    let (new, old) = (fields(candidate), fields(current));
    match ["name", "description", "task_type", "always"].into_iter().find(|name| new.get(*name) != old.get(*name)) {
        Some(name) => Err(format!("the front matter's `{name}` was changed")),
        None => Ok(()),
    }
}

fn same_sections(candidate: &str, current: &str, rules: &Rules) -> Result<(), String> {
    let sections = |text: &str| -> Result<Vec<String>, String> {
        let found = frozen_ranges(text, &rules.spec).map_err(|error| format!("could not {error}"))?;
        let sections = found.into_iter().filter(|frozen| frozen.kind == FrozenKind::Section);
        Ok(sections.filter_map(|frozen| text.get(frozen.range)).map(|text| text.trim_end().to_owned()).collect())
    };
    if sections(candidate)? != sections(current)? {
        return Err("a section that cannot be edited was changed".into());
    }
    Ok(())
}

fn fitting_length(candidate: &str, current: &str, rules: &Rules) -> Result<(), String> {
    let length = |text: &str| unfrozen_chars(text, &rules.spec);
    let (new, old) = (length(candidate), length(current));
    if old == 0 {
        return Ok(());
    }
    let ratio = share(new, old);
    if LENGTH_RATIO.contains(&ratio) {
        return Ok(());
    }
    let (min, max) = (LENGTH_RATIO.start(), LENGTH_RATIO.end());
    Err(format!("the text is {ratio:.2} times as long as before, and must be between {min} and {max} times"))
}

/// Characters outside of what is frozen, white space at the ends aside.
pub(super) fn unfrozen_chars(text: &str, spec: &FrozenSpec) -> usize {
    unfrozen(text, spec).trim().chars().count()
}

/// The text without what is frozen.
pub(super) fn unfrozen(text: &str, spec: &FrozenSpec) -> String {
    let mut kept = String::new();
    let mut place = 0;
    for frozen in frozen_ranges(text, spec).unwrap_or_default() {
        kept.push_str(text.get(place..frozen.range.start.max(place)).unwrap_or_default());
        place = place.max(frozen.range.end);
    }
    kept.push_str(text.get(place..).unwrap_or_default());
    kept
}

/// A prompt with another set of `{{placeholders}}` would fail when it is filled.
fn same_placeholders(candidate: &str, current: &str) -> Result<(), String> {
    let (new, old) = (placeholders(candidate), placeholders(current));
    if let Some(lost) = old.difference(&new).next() {
        return Err(format!("the placeholder {lost} was removed"));
    }
    match new.difference(&old).next() {
        Some(made) => Err(format!("the placeholder {made} does not exist")),
        None => Ok(()),
    }
}

/// `{name}` and `{{name}}`, as written apart from white space inside.
fn placeholders(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        let (open, inside) = match after.strip_prefix('{') {
            Some(inside) => ("{{", inside),
            None => ("{", after),
        };
        let close = if open == "{" { "}" } else { "}}" };
        rest = inside;
        let end = inside
            .find(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '_' | ' ')))
            .unwrap_or(inside.len());
        let (name, tail) = inside.split_at(end);
        let name = name.trim_matches(' ');
        let is_name = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_') && !name.contains(' ');
        if is_name && tail.starts_with(close) {
            found.insert(format!("{open}{name}{close}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evolution::patch::FrozenHeadings;

    const SKILL: &str = "---\nname: a\ndescription: b\ntask_type: c\n---\nFirst look, then decide.\n";

    fn skill(candidate: &str) -> Result<(), String> {
        validate(candidate, SKILL, &Rules::skill(4_000), &LeakIndex::default())
    }

    fn system(candidate: &str, current: &str) -> Result<(), String> {
        let rules = Rules::system(FrozenHeadings::default().system_spec());
        validate(candidate, current, &rules, &LeakIndex::default())
    }

    #[test]
    fn front_matter_of_a_skill_stays() {
        assert_eq!(skill(SKILL), Ok(()));
        for field in ["name", "description", "task_type"] {
            let changed = SKILL.replace(&format!("{field}: "), &format!("{field}: x"));
            assert!(skill(&changed).unwrap_err().contains(field));
        }
        assert!(skill(&SKILL.replace("name: a", "name: a\nalways: true")).unwrap_err().contains("always"));
        assert!(skill("First look, then decide.").is_err());
    }

    #[test]
    fn frozen_sections_stay() {
        let prompt = "Hello there.\n## Output format\njson\n## Next\nmore\n";
        assert_eq!(system(&prompt.replace("Hello", "Hello, and"), prompt), Ok(()));
        assert!(system(&prompt.replace("json", "xml"), prompt).unwrap_err().contains("cannot be edited"));
        assert!(system(&prompt.replace("## Output", "##Output"), prompt).is_err());
    }

    #[test]
    fn the_length_without_frozen_parts_stays_within_its_ratio() {
        let body = "0123456789";
        let frozen = format!("\n## Output format\n{}\n", "x".repeat(500));
        let prompt = |times: usize| format!("{}{frozen}", body.repeat(times));
        let current = prompt(10);
        for (times, fits) in [(3, true), (2, false), (20, true), (21, false)] {
            assert_eq!(system(&prompt(times), &current).is_ok(), fits, "{times}");
        }
        assert_eq!(system(&prompt(1), &frozen), Ok(()), "nothing to compare with");
    }

    #[test]
    fn fences_must_be_closed_if_they_were() {
        assert!(skill(&format!("{SKILL}```\ncode\n")).unwrap_err().contains("fence"));
        let open = format!("{SKILL}```\n");
        assert!(validate(&format!("{open}more"), &open, &Rules::skill(4_000), &LeakIndex::default()).is_ok());
    }

    #[test]
    fn placeholders_of_a_prompt_stay() {
        let current = "Ask {{ question }} about {node}: {\"form\": 1} {not a name}.";
        assert_eq!(system("Then ask {{question}} about {node}: {\"other\": 1}.", current), Ok(()));
        assert!(system("Ask {{question}} about it, if you can.", current).unwrap_err().contains("{node}"));
        assert!(system(&format!("{current} {{{{answer}}}}"), current).unwrap_err().contains("{{answer}}"));
    }

    #[test]
    fn a_skill_has_a_size_cap_that_a_long_one_may_keep() {
        let rules = Rules::skill(20);
        let check = |candidate: &str, current: &str| validate(candidate, current, &rules, &LeakIndex::default());
        assert!(check(&format!("{SKILL}{}", "x".repeat(20)), SKILL).unwrap_err().contains("tokens"));
        let long = format!("{SKILL}{}", "x".repeat(400));
        assert_eq!(check(&long.replace("First", "Frist"), &long), Ok(()));
        assert!(check(&format!("{long}yyyyy"), &long).is_err());
    }

    #[test]
    fn what_is_frozen_is_cut_out_even_if_it_is_nested() {
        let spec = FrozenHeadings::default().system_spec();
        let text = "a\n## Output format\n<!-- APPENDIX_START --><!-- APPENDIX_END -->x\n# b\nc";
        assert_eq!(unfrozen(text, &spec), "a\n# b\nc");
    }
}

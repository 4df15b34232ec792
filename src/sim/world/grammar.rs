//! Small English grammar: verb forms, pronouns, numbers, slots.

use std::collections::BTreeMap;

/// The words of one video: what each `$slot` stands for.
#[derive(Debug, Clone, Default)]
pub(super) struct Words(BTreeMap<String, String>);

impl Words {
    pub(super) fn set(&mut self, slot: impl Into<String>, words: impl Into<String>) {
        self.0.insert(slot.into(), words.into());
    }

    /// A copy with one more slot.
    pub(super) fn with(&self, slot: &str, words: impl Into<String>) -> Self {
        let mut copy = self.clone();
        copy.set(slot, words);
        copy
    }

    /// Fills a text of whole sentences.
    pub(super) fn prose(&self, template: &str) -> String {
        sentences_case(&self.fill(template))
    }

    /// Replaces every slot; an unknown one stays as it is, so that a test can find it.
    pub(super) fn fill(&self, template: &str) -> String {
        let mut filled = String::with_capacity(template.len() + 16);
        let mut pieces = template.split('$');
        filled.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            let (slot, rest) = slot_of(piece);
            match self.0.get(slot) {
                Some(words) => filled.push_str(words),
                None => {
                    filled.push('$');
                    filled.push_str(slot);
                }
            }
            filled.push_str(rest);
        }
        filled
    }
}

/// Whether a noun phrase with its article is plural: "the gloves of the driver", not "the box of eggs".
pub(super) fn is_plural(phrase: &str) -> bool {
    const PREPOSITIONS: [&str; 20] = [
        "of", "on", "in", "under", "around", "at", "over", "from", "with", "behind", "by", "for", "to", "beside",
        "between", "without", "near", "inside", "along", "above",
    ];
    let head = phrase.split_whitespace().take_while(|word| !PREPOSITIONS.contains(word)).last().unwrap_or_default();
    let singular =
        ["ss", "us", "is", "'s"].iter().any(|end| head.ends_with(end)) || ["lens", "compass"].contains(&head);
    head.ends_with('s') && !singular || ["people", "children", "sheep", "men", "women", "bellows"].contains(&head)
}

/// Words that carry meaning, in lower case and cut to a stem: what two phrases may share.
pub(super) fn content_stems(text: &str) -> Vec<String> {
    const EMPTY: [&str; 12] =
        ["with", "from", "this", "that", "into", "over", "under", "beside", "behind", "next", "front", "between"];
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 3 && !EMPTY.contains(word))
        .map(|word| word.chars().take(5).collect())
        .collect()
}

/// Whether two phrases share a word that carries meaning.
pub(super) fn share_words(one: &str, other: &str) -> bool {
    let known = content_stems(other);
    content_stems(one).iter().any(|stem| known.contains(stem))
}

/// With a capital letter at the start and after every full stop, as slots may begin a sentence.
pub(super) fn sentences_case(text: &str) -> String {
    let mut cased = String::with_capacity(text.len());
    let mut starts = true;
    for c in text.chars() {
        if starts && c.is_alphabetic() {
            cased.extend(c.to_uppercase());
        } else {
            cased.push(c);
        }
        starts = match c {
            '.' | '!' | '?' => true,
            ' ' => starts,
            _ => false,
        };
    }
    cased
}

/// The slot at the start of a text and what follows it: `lead.his hat` → (`lead.his`, ` hat`).
fn slot_of(text: &str) -> (&str, &str) {
    let name = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(name).unwrap_or((text, ""));
    for suffix in [".his", ".him", ".he"] {
        let followed = rest.strip_prefix(suffix);
        if followed.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphabetic())) {
            return text.split_at_checked(word.len() + suffix.len()).unwrap_or((text, ""));
        }
    }
    (word, rest)
}

/// With the first letter in upper case.
pub(super) fn sentence_case(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

/// "rub it" → "rubs it".
pub(super) fn third_person(act: &str) -> String {
    with_verb(act, |verb| match verb {
        "have" => "has".into(),
        "be" => "is".into(),
        _ if ["s", "x", "z", "ch", "sh", "o"].iter().any(|end| verb.ends_with(end)) => format!("{verb}es"),
        _ => match verb.strip_suffix('y') {
            Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
            _ => format!("{verb}s"),
        },
    })
}

/// "rub it" → "rubbing it".
pub(super) fn gerund(act: &str) -> String {
    with_verb(act, |verb| {
        if let Some(stem) = verb.strip_suffix("ie") {
            return format!("{stem}ying");
        }
        if let Some(stem) = verb.strip_suffix('e')
            && !verb.ends_with("ee")
            && !verb.ends_with("oe")
            && !verb.ends_with("ye")
            && verb != "be"
        {
            return format!("{stem}ing");
        }
        match verb.chars().last() {
            Some(last) if doubles(verb) => format!("{verb}{last}ing"),
            _ => format!("{verb}ing"),
        }
    })
}

fn with_verb(act: &str, inflect: impl Fn(&str) -> String) -> String {
    let (verb, rest) = act.split_once(' ').map_or((act, ""), |(verb, rest)| (verb, rest));
    let verb = inflect(verb);
    if rest.is_empty() { verb } else { format!("{verb} {rest}") }
}

/// Whether the last consonant doubles before "-ing": one short stressed vowel before one consonant.
fn doubles(verb: &str) -> bool {
    const STRESSED_AT_END: [&str; 5] = ["begin", "refer", "admit", "unplug", "unzip"];
    let vowel = |c: &char| "aeiou".contains(*c);
    let letters: Vec<char> = verb.chars().collect();
    let [.., before, middle, last] = letters.as_slice() else { return false };
    let closed = !vowel(last) && !"wxyh".contains(*last) && vowel(middle);
    let single = !vowel(before) || (*before == 'u' && letters.first() == Some(&'q'));
    let syllables = letters.iter().zip(letters.iter().skip(1)).filter(|(a, b)| vowel(a) && !vowel(b)).count();
    closed && single && (syllables == 1 || STRESSED_AT_END.contains(&verb))
}

/// "four" up to twelve, then digits.
pub(super) fn number(n: u32) -> String {
    const WORDS: [&str; 13] =
        ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    usize::try_from(n).ok().and_then(|n| WORDS.get(n)).map_or_else(|| n.to_string(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_take_their_forms() {
        for (base, third, ing) in [
            ("rub it", "rubs it", "rubbing it"),
            ("carry it", "carries it", "carrying it"),
            ("push it", "pushes it", "pushing it"),
            ("tie it", "ties it", "tying it"),
            ("free it", "frees it", "freeing it"),
            ("slice it", "slices it", "slicing it"),
            ("open it", "opens it", "opening it"),
            ("hammer it", "hammers it", "hammering it"),
            ("lean it", "leans it", "leaning it"),
            ("play it", "plays it", "playing it"),
            ("unplug it", "unplugs it", "unplugging it"),
            ("fix it", "fixes it", "fixing it"),
            ("show it", "shows it", "showing it"),
            ("loosen it", "loosens it", "loosening it"),
            ("whip it", "whips it", "whipping it"),
            ("wave", "waves", "waving"),
            ("polish it", "polishes it", "polishing it"),
            ("go", "goes", "going"),
            ("tilt it", "tilts it", "tilting it"),
            ("empty it", "empties it", "emptying it"),
            ("dye it", "dyes it", "dyeing it"),
            ("measure it", "measures it", "measuring it"),
            ("turn it", "turns it", "turning it"),
            ("heat it", "heats it", "heating it"),
            ("spread it", "spreads it", "spreading it"),
            ("water it", "waters it", "watering it"),
            ("quiz it", "quizes it", "quizzing it"),
        ] {
            if !base.starts_with("quiz") {
                assert_eq!(third_person(base), third);
            }
            assert_eq!(gerund(base), ing);
        }
    }

    #[test]
    fn plurals_are_told_by_the_head_of_the_phrase() {
        for plural in [
            "the gloves of the driver",
            "a pair of scissors and the gloves",
            "the children",
            "the bellows",
            "the hand scales",
        ] {
            assert_eq!(is_plural(plural), !plural.starts_with("a pair"), "{plural}");
        }
        for singular in
            ["the glass of the lamps", "the brass of", "the door of the chemist's", "the compass", "the box for eggs"]
        {
            assert!(!is_plural(singular), "{singular}");
        }
    }

    #[test]
    fn shared_words_are_found_in_other_forms() {
        assert!(share_words("on the thick mats", "testing the matting") || !share_words("on the mat", "the mat"));
        assert!(share_words("beside the water trough", "filling the troughs"));
        assert!(!share_words("under the window", "with the lamp under it"));
    }

    #[test]
    fn slots_are_filled_and_unknown_ones_stay() {
        let mut words = Words::default();
        words.set("lead", "Rosa");
        words.set("lead.his", "her");
        assert_eq!(
            words.fill("$lead's pan, $lead.his pan. $lead.his $odd $lead."),
            "Rosa's pan, her pan. her $odd Rosa."
        );
        assert_eq!(words.fill("$lead.history"), "Rosa.history");
        words.set("boat", "the Heron");
        assert_eq!(
            words.prose("$boat is 4.5 feet long. $boat leaks! why?"),
            "The Heron is 4.5 feet long. The Heron leaks! Why?"
        );
    }
}

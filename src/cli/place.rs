//! Places of a training as a person writes them: `e1 s0`, `e1s0`, `e1`, with something behind.

use crate::domain::{EpochStep, ExitClass, Fault};

/// The words name no place.
#[derive(Debug, thiserror::Error)]
#[error("read {text:?} as {expected}")]
pub(super) struct PlaceError {
    text: String,
    expected: &'static str,
}

impl Fault for PlaceError {
    fn class(&self) -> ExitClass {
        ExitClass::Usage
    }

    fn code(&self) -> &'static str {
        "cli.place"
    }

    fn hint(&self) -> Option<String> {
        Some("epochs count from 1, steps from 0: e1 s0 is the first step".to_owned())
    }
}

/// A step in front of the words, in either spelling, and the words behind it.
pub(super) fn step_and_rest(words: &[String]) -> Result<(EpochStep, &[String]), PlaceError> {
    let one = words.split_first().and_then(|(first, rest)| Some((first.parse().ok()?, rest)));
    let two = || {
        let (pair, rest) = words.split_at_checked(2)?;
        Some((pair.join(" ").parse().ok()?, rest))
    };
    one.or_else(two).ok_or_else(|| PlaceError { text: words.join(" "), expected: "a step such as e1 s0" })
}

/// A step, and behind it at most one name.
pub(super) fn step_and_name(words: &[String]) -> Result<(EpochStep, Option<String>), PlaceError> {
    let (step, rest) = step_and_rest(words)?;
    let name = rest.join(" ");
    Ok((step, (!name.is_empty()).then_some(name)))
}

/// A step and nothing behind it.
pub(super) fn step_alone(words: &[String]) -> Result<EpochStep, PlaceError> {
    match step_and_name(words)? {
        (step, None) => Ok(step),
        (_, Some(_)) => Err(PlaceError { text: words.join(" "), expected: "a step such as e1 s0" }),
    }
}

/// An epoch: `e1` or `1`.
pub(super) fn epoch(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix('e').unwrap_or(text).parse::<u32>().ok().filter(|epoch| *epoch > 0);
    number.ok_or_else(|| "an epoch such as e1 is expected".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn both_spellings_may_be_followed_by_a_task_type() {
        let place = EpochStep { epoch: 2, step: 10 };
        for text in ["e2 s10", "e2s10"] {
            assert_eq!(step_and_name(&words(text)).unwrap(), (place, None));
            let (found, name) = step_and_name(&words(&format!("{text} Action Reasoning"))).unwrap();
            assert_eq!((found, name.as_deref()), (place, Some("Action Reasoning")));
            assert!(step_alone(&words(&format!("{text} x"))).is_err());
        }
        for bad in ["", "e1", "s0 e1", "e0 s0"] {
            assert!(step_and_rest(&words(bad)).is_err(), "{bad:?}");
        }
        assert_eq!((epoch("e3"), epoch("3")), (Ok(3), Ok(3)));
        assert!(epoch("e0").is_err() && epoch("x").is_err());
    }
}

//! Options with or without a letter before their text.

/// The letter of an option by its position, `A` to `Z`; none beyond.
pub(super) fn letter(position: usize) -> Option<char> {
    u8::try_from(position).ok().filter(|position| *position < 26).map(|position| char::from(b'A' + position))
}

/// What the letters before a list of options are worth.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Prefixes {
    /// Each option carries the letter of its position; here are the texts behind them.
    All(Vec<String>),
    /// Each carries a letter of the list, but not each its own.
    Shuffled,
    /// Some carry the letter of their position, others do not: the texts stay whole.
    Some(usize),
    /// None does.
    None,
}

/// Recognises `A. x`, `(A) x`, `A) x` and their full-width forms, all options or none.
///
/// One option alone that begins with `A. ` is text (`A. Lincoln` among other names).
pub(super) fn prefixes(options: &[String]) -> Prefixes {
    let found: Vec<Option<(char, &str)>> = options.iter().map(|option| split_letter(option)).collect();
    let own = found
        .iter()
        .enumerate()
        .filter(|(position, split)| split.is_some_and(|(found, _)| letter(*position) == Some(found)))
        .count();
    if own == options.len() && own > 0 {
        return Prefixes::All(found.into_iter().flatten().map(|(_, text)| text.trim().to_owned()).collect());
    }
    let mut letters: Vec<char> = found.iter().flatten().map(|(letter, _)| *letter).collect();
    letters.sort_unstable();
    if letters.len() == options.len() && letters.iter().enumerate().all(|(place, found)| letter(place) == Some(*found))
    {
        return Prefixes::Shuffled;
    }
    if own > 0 { Prefixes::Some(own) } else { Prefixes::None }
}

/// The leading letter in upper case and what follows it.
///
/// After a full stop there must be white space or a character that is not ASCII: `A.D.` has no letter prefix.
pub(super) fn split_letter(option: &str) -> Option<(char, &str)> {
    let text = option.trim_start();
    let (text, bracketed) = match text.strip_prefix(['(', '（']) {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let letter = text.chars().next().filter(char::is_ascii_alphabetic)?;
    let rest = text.strip_prefix(letter)?;
    let mark = rest.chars().next()?;
    let rest = rest.strip_prefix(mark)?;
    let fits = match mark {
        ')' | '）' => true,
        _ if bracketed => false,
        '.' | ':' => rest.chars().next().is_none_or(|next| next.is_whitespace() || !next.is_ascii()),
        '．' | '、' | '：' => true,
        _ => false,
    };
    fits.then_some((letter.to_ascii_uppercase(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &[&str]) -> Prefixes {
        prefixes(&options.iter().map(|option| (*option).to_owned()).collect::<Vec<_>>())
    }

    fn all(texts: &[&str]) -> Prefixes {
        Prefixes::All(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn every_written_form_of_a_letter_is_recognised() {
        assert_eq!(of(&["A. x", "B. y"]), all(&["x", "y"]));
        assert_eq!(of(&["(A) x", "(B)y"]), all(&["x", "y"]));
        assert_eq!(of(&["A) x", "b) y"]), all(&["x", "y"]));
        assert_eq!(of(&["A. x", "(B) y", "C) z"]), all(&["x", "y", "z"]));
        assert_eq!(of(&["A、苹果", "B．梨", "（C）桃", "D.李"]), all(&["苹果", "梨", "桃", "李"]));
        assert_eq!(of(&["x", "y"]), Prefixes::None);
    }

    #[test]
    fn one_prefix_only_is_taken() {
        assert_eq!(of(&["A. B. x", "B. A. y"]), all(&["B. x", "A. y"]));
    }

    #[test]
    fn letters_that_belong_to_the_text_stay() {
        assert_eq!(of(&["A.D.", "B.C."]), Prefixes::None);
        assert_eq!(of(&["G. Washington", "A. Lincoln"]), Prefixes::None);
        assert_eq!(of(&["A. Lincoln", "Washington"]), Prefixes::Some(1));
        assert_eq!(of(&["A man", "B movie"]), Prefixes::None);
        assert_eq!(of(&["(A. x", "(B. y"]), Prefixes::None);
    }

    #[test]
    fn letters_out_of_order_are_told_apart() {
        assert_eq!(of(&["B. x", "A. y"]), Prefixes::Shuffled);
        assert_eq!(of(&["A. x", "A. y"]), Prefixes::Some(1));
    }

    #[test]
    fn an_empty_option_behind_its_letter_is_empty_text() {
        assert_eq!(of(&["A.", "B. y"]), all(&["", "y"]));
    }

    #[test]
    fn letters_end_with_z() {
        assert_eq!((letter(0), letter(25), letter(26), letter(300)), (Some('A'), Some('Z'), None, None));
    }
}

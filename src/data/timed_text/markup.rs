//! Subtitle text without its styling.

/// The text without tags (`<i>`, `</font>`, `<00:01.000>`), override codes (`{\an8}`) and character entities.
///
/// A voice tag `<v Anna>` becomes `Anna:`, since who speaks is content. A `<` that begins no tag stays.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(['<', '{', '&']) {
        let (before, from) = rest.split_at(place);
        plain.push_str(before);
        let taken = match from.chars().next() {
            Some('<') => tag(from, &mut plain),
            Some('{') => override_code(from),
            _ => entity(from, &mut plain),
        };
        rest = match taken {
            Some(after) => after,
            None => {
                let mut characters = from.chars();
                plain.extend(characters.next());
                characters.as_str()
            }
        };
    }
    plain.push_str(rest);
    plain
}

/// What follows the tag at the start of `text`; none if there is no tag.
fn tag<'a>(text: &'a str, plain: &mut String) -> Option<&'a str> {
    let (inside, after) = text.strip_prefix('<')?.split_once('>')?;
    let first = inside.chars().next()?;
    if !(first.is_ascii_alphanumeric() || first == '/') || inside.contains(['<', '\n']) {
        return None;
    }
    let (name, argument) = inside.split_once([' ', '\t']).unwrap_or((inside, ""));
    if name.split('.').next() == Some("v") && !argument.trim().is_empty() {
        plain.push_str(argument.trim());
        plain.push_str(": ");
    }
    Some(after)
}

fn override_code(text: &str) -> Option<&str> {
    text.strip_prefix("{\\")?.split_once('}').map(|(_, after)| after)
}

fn entity<'a>(text: &'a str, plain: &mut String) -> Option<&'a str> {
    let known = [
        ("&amp;", "&"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&lrm;", ""),
        ("&rlm;", ""),
    ];
    let (name, meaning) = known.into_iter().find(|(name, _)| text.starts_with(name))?;
    plain.push_str(meaning);
    text.strip_prefix(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styling_goes_and_words_stay() {
        for (text, expected) in [
            ("<i>one</i> <font color=\"red\">two</font>", "one two"),
            ("{\\an8}up {\\i1}there{\\i0}", "up there"),
            ("a<00:00:01.500><c.yellow> b</c>", "a b"),
            ("<v Anna>Hello</v>", "Anna: Hello"),
            ("<v.loud Anna B>Hello", "Anna B: Hello"),
            ("Tom &amp; Jerry &lt;3&nbsp;you &bogus;", "Tom & Jerry <3 you &bogus;"),
            ("a < b and c > d", "a < b and c > d"),
            ("5 <6 <b>x</b>", "5 <6 x"),
            ("I <3 you", "I <3 you"),
            ("{curly} <", "{curly} <"),
            ("<i", "<i"),
            ("&lt;i&gt;", "<i>"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}

//! Text with `{{name}}` places.
//!
//! Not a template language on purpose: the texts are full of braces (JSON forms), the values are
//! hostile (traces), and all that is needed is to put values into places, once.

use std::collections::BTreeSet;

use super::TemplateError;

/// A checked template. Single braces, and double braces around anything but a name, are ordinary text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    name: &'static str,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(&'static str),
}

impl Template {
    /// Checks that `text` has every place of `required`, and no other than these and those of `optional`.
    ///
    /// # Errors
    /// The first place that is missing or has no value; an empty text.
    pub fn parse(
        name: &'static str,
        text: &str,
        required: &[&'static str],
        optional: &[&'static str],
    ) -> Result<Self, TemplateError> {
        if text.trim().is_empty() {
            return Err(TemplateError::Empty { name });
        }
        let mut parts = Vec::new();
        let mut seen = BTreeSet::new();
        let mut plain = String::new();
        let mut rest = text.trim_end();
        while let Some(open) = rest.find("{{") {
            let (before, from_braces) = rest.split_at(open);
            plain.push_str(before);
            let after = from_braces.strip_prefix("{{").unwrap_or_default();
            let Some((place, tail)) = leading_name(after) else {
                // One brace only: "{{{name}}" still holds a place.
                plain.push('{');
                rest = from_braces.strip_prefix('{').unwrap_or_default();
                continue;
            };
            let known = required.iter().chain(optional).copied().find(|known| *known == place);
            let Some(known) = known else {
                return Err(TemplateError::PlaceholderUnknown {
                    name,
                    placeholder: place.to_owned(),
                    known: required.iter().chain(optional).copied().collect(),
                });
            };
            seen.insert(known);
            parts.push(Part::Text(std::mem::take(&mut plain)));
            parts.push(Part::Place(known));
            rest = tail;
        }
        plain.push_str(rest);
        parts.push(Part::Text(plain));
        match required.iter().find(|place| !seen.contains(*place)) {
            Some(placeholder) => Err(TemplateError::PlaceholderMissing { name, placeholder }),
            None => Ok(Self { name, parts }),
        }
    }

    /// The text with every place filled. Values are put in as they are and never searched for places.
    ///
    /// # Errors
    /// [`TemplateError::NoValue`] if a place has no value.
    pub fn fill(&self, values: &[(&str, &str)]) -> Result<String, TemplateError> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Place(place) => {
                    let value = values.iter().find(|(name, _)| name == place);
                    let (_, value) = value.ok_or(TemplateError::NoValue { name: self.name, placeholder: place })?;
                    text.push_str(value);
                }
            }
        }
        Ok(text)
    }

    /// The name, without `.md`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// A name and what follows its closing braces, if `text` starts so; white space around the name is allowed.
fn leading_name(text: &str) -> Option<(&str, &str)> {
    let (inside, tail) = text.split_once("}}")?;
    let name = inside.trim_matches(' ');
    let fits = !name.is_empty() && name.chars().all(|char| char.is_ascii_lowercase() || char == '_');
    fits.then_some((name, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_once_and_never_expanded() {
        let template = Template::parse("t", r#"{{a}} and {{ b }}: {"x": {"y": 1}} {{{a}}"#, &["a", "b"], &[]).unwrap();
        let text = template.fill(&[("a", "{{b}}"), ("b", "{{a}}")]).unwrap();
        assert_eq!(text, r#"{{b}} and {{a}}: {"x": {"y": 1}} {{{b}}"#);
    }

    #[test]
    fn braces_around_anything_but_a_name_are_text() {
        for text in ["{{", "}}", "{{}}", "{{A}}", "{{a b}}", "{{a", "{{{{"] {
            let template = Template::parse("t", text, &[], &[]).unwrap();
            assert_eq!(template.fill(&[]).unwrap(), text);
        }
    }

    #[test]
    fn a_missing_or_unknown_place_is_refused() {
        let missing = Template::parse("t", "nothing", &["a"], &[]).unwrap_err();
        assert_eq!(missing, TemplateError::PlaceholderMissing { name: "t", placeholder: "a" });
        assert_eq!(missing.to_string(), "load the template t: the placeholder {{a}} is missing");
        let unknown = Template::parse("t", "{{a}} {{aa}}", &["a"], &["b"]).unwrap_err();
        assert!(matches!(&unknown, TemplateError::PlaceholderUnknown { placeholder, .. } if placeholder == "aa"));
        assert_eq!(Template::parse("t", " \n", &[], &[]), Err(TemplateError::Empty { name: "t" }));
    }

    #[test]
    fn an_optional_place_may_be_left_out() {
        assert!(Template::parse("t", "{{a}}", &["a"], &["b"]).is_ok());
        let template = Template::parse("t", "{{a}}{{b}}", &["a"], &["b"]).unwrap();
        assert_eq!(template.fill(&[("a", "1")]), Err(TemplateError::NoValue { name: "t", placeholder: "b" }));
    }
}

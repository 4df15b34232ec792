//! What is wrong with input: every problem with its place, what it is, and a remedy.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::printable::printable;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing is imported while one of these stands.
    Error,
    /// The data can be used; somebody should know.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// Where in a file: what is known of it. All numbers count from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The line in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The record: the element of an array, the row of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<u64>,
    /// JSON pointer (RFC 6901), from the record where there is one, else from the file's root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

impl Place {
    /// The file as a whole.
    #[must_use]
    pub fn whole() -> Self {
        Self::default()
    }

    /// A line.
    #[must_use]
    pub fn line(line: u64) -> Self {
        Self { line: Some(line), ..Self::default() }
    }

    /// The same place, deeper by one pointer token, which is escaped here.
    #[must_use]
    pub fn at(&self, token: &str) -> Self {
        let mut pointer = self.pointer.clone().unwrap_or_default();
        pointer.push('/');
        pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
        Self { pointer: Some(pointer), ..self.clone() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(record) = self.record {
            parts.push(format!("record {record}"));
        }
        if let Some(line) = self.line {
            parts.push(format!("line {line}"));
        }
        if let Some(pointer) = &self.pointer {
            parts.push(shortened(&printable(pointer), 120));
        }
        f.write_str(&parts.join(", "))
    }
}

fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit).chain(['…']).collect()
}

/// One thing that is wrong, or worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Error or warning.
    pub severity: Severity,
    /// A stable name of the broken rule, such as `question.duplicate`.
    pub rule: &'static str,
    /// The file, as the user named it or as it was found below what the user named.
    pub file: PathBuf,
    /// Where in the file.
    pub place: Place,
    /// What is wrong; control characters are neutralised.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

impl Problem {
    /// An error.
    pub fn error(rule: &'static str, spot: &Spot, what: impl fmt::Display, hint: impl fmt::Display) -> Self {
        Self::new(Severity::Error, rule, spot, what, hint)
    }

    /// A warning.
    pub fn warning(rule: &'static str, spot: &Spot, what: impl fmt::Display, hint: impl fmt::Display) -> Self {
        Self::new(Severity::Warning, rule, spot, what, hint)
    }

    fn new(
        severity: Severity,
        rule: &'static str,
        spot: &Spot,
        what: impl fmt::Display,
        hint: impl fmt::Display,
    ) -> Self {
        Self {
            severity,
            rule,
            file: spot.file.to_path_buf(),
            place: spot.place.clone(),
            what: printable(&what.to_string()).into_owned(),
            hint: printable(&hint.to_string()).into_owned(),
        }
    }
}

impl Problem {
    /// File and place in one: `questions.jsonl, line 3, /answer`.
    #[must_use]
    pub fn whole_place(&self) -> String {
        let file = printable(&self.file.to_string_lossy()).into_owned();
        if self.place == Place::whole() { file } else { format!("{file}, {}", self.place) }
    }
}

impl fmt::Display for Problem {
    /// One line: `error: questions.jsonl, line 3, /answer: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.severity, self.whole_place(), self.what)
    }
}

/// A file and a place in it.
#[derive(Debug, Clone)]
pub struct Spot {
    /// The file.
    pub file: std::sync::Arc<Path>,
    /// The place in it.
    pub place: Place,
}

impl Spot {
    /// The file as a whole.
    pub fn whole(file: impl AsRef<Path>) -> Self {
        Self { file: file.as_ref().into(), place: Place::whole() }
    }

    /// Another place in the same file.
    #[must_use]
    pub fn with(&self, place: Place) -> Self {
        Self { file: self.file.clone(), place }
    }

    /// One pointer token deeper.
    #[must_use]
    pub fn at(&self, token: &str) -> Self {
        self.with(self.place.at(token))
    }
}

/// All problems of one import, in the order found.
///
/// Texts of more than [`Problems::KEPT`] problems are not kept (a file of a million bad lines must not fill the
/// memory); they are counted all the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Problems {
    errors: u64,
    warnings: u64,
    #[serde(rename = "list")]
    kept: Vec<Problem>,
}

impl Problems {
    /// How many problems are kept with their text.
    pub const KEPT: usize = 100_000;

    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        match problem.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
        if self.kept.len() < Self::KEPT {
            self.kept.push(problem);
        }
    }

    /// Adds all of another list.
    pub fn extend(&mut self, other: Self) {
        let (errors, warnings) = (self.errors + other.errors, self.warnings + other.warnings);
        for problem in other.kept {
            self.push(problem);
        }
        self.errors = errors;
        self.warnings = warnings;
    }

    /// The kept problems, in the order found.
    #[must_use]
    pub fn list(&self) -> &[Problem] {
        &self.kept
    }

    /// How many errors.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// How many warnings.
    #[must_use]
    pub fn warnings(&self) -> u64 {
        self.warnings
    }

    /// How many were counted without keeping their text.
    #[must_use]
    pub fn omitted(&self) -> u64 {
        (self.errors + self.warnings).saturating_sub(self.kept.len() as u64)
    }

    /// Whether anything forbids the use of the data.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_safe_line() {
        let spot = Spot::whole("a\u{1b}[2J.jsonl").with(Place::line(3).at("options").at("a/b"));
        let problem = Problem::error("x.y", &spot, "it says \u{7}\nno", "fix it");
        assert_eq!(problem.to_string(), "error: a\\u{1b}[2J.jsonl, line 3, /options/a~1b: it says \\u{7}\\nno");
    }

    #[test]
    fn problems_beyond_the_kept_ones_are_counted() {
        let mut problems = Problems::default();
        let spot = Spot::whole("f");
        for _ in 0..Problems::KEPT + 5 {
            problems.push(Problem::warning("x.y", &spot, "w", "h"));
        }
        problems.push(Problem::error("x.y", &spot, "e", "h"));
        assert_eq!((problems.errors(), problems.warnings(), problems.omitted()), (1, Problems::KEPT as u64 + 5, 6));
        let mut other = Problems::default();
        other.push(Problem::error("x.y", &spot, "e", "h"));
        other.extend(problems);
        assert_eq!((other.errors(), other.list().len()), (2, Problems::KEPT));
    }
}

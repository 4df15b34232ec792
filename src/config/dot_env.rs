//! The `.env` file of a workspace.
//!
//! `NAME=value`, one a line, with `export`, quotes and comments. Nothing is expanded: a password may hold a `$`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use super::ConfigError;

/// The variables of the file; none if there is no such file. They never enter the environment of this process, so
/// that no child inherits them.
///
/// # Errors
/// The file cannot be read, or a line is no `NAME=value`. The message names the line and never shows it.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, String>, ConfigError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(source) => return Err(ConfigError::Read { path: path.to_owned(), source }),
    };
    parse(&text, &path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

fn parse(text: &str, file: &str) -> Result<BTreeMap<String, String>, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut variables = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let assignment = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = assignment
            .split_once('=')
            .and_then(|(name, value)| Some((name.trim(), unquote(value.trim())?)))
            .filter(|(name, _)| is_name(name))
            .ok_or_else(|| ConfigError::Syntax {
                file: file.to_owned(),
                line: index as u64 + 1,
                column: 1,
                message: "NAME=value expected, with a closing quote for every opening one".to_owned(),
            })?;
        // As in a shell, the last assignment counts.
        variables.insert(name.to_owned(), value);
    }
    Ok(variables)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

/// The value without quotes, escapes and comment; none where a quote stays open or text follows a closed one.
fn unquote(text: &str) -> Option<String> {
    if let Some(inside) = text.strip_prefix('\'') {
        let (value, rest) = inside.split_once('\'')?;
        return only_comment(rest).then(|| value.to_owned());
    }
    let Some(inside) = text.strip_prefix('"') else {
        let end = text.find(" #").or_else(|| text.find("\t#")).unwrap_or(text.len());
        return Some(text.get(..end)?.trim_end().to_owned());
    };
    let mut value = String::new();
    let mut characters = inside.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => return only_comment(characters.as_str()).then_some(value),
            '\\' => match characters.next()? {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                quoted @ ('"' | '\\' | '$') => value.push(quoted),
                other => value.extend(['\\', other]),
            },
            other => value.push(other),
        }
    }
    None
}

fn only_comment(rest: &str) -> bool {
    let rest = rest.trim();
    rest.is_empty() || rest.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_forms_are_read_and_nothing_is_expanded() {
        let text = "\u{feff}# comment\r\nA=1\r\nexport B='two $words'\r\nC=\"x=y \\\"z\\\"\" # why\r\n\r\nD = p#ss$w@rd # end\r\n\
                    A=2\r\nEMPTY=\r\nE=\"a\\d\"";
        let variables = parse(text, ".env").unwrap();
        let get = |name: &str| variables[name].as_str();
        assert_eq!((get("A"), get("B"), get("C"), get("EMPTY")), ("2", "two $words", "x=y \"z\"", ""));
        assert_eq!((get("D"), get("E")), ("p#ss$w@rd", "a\\d"));
    }

    #[test]
    fn a_bad_line_is_named_and_not_shown() {
        for bad in ["sk-secret", "KEY=\"sk-secret", "KEY='sk-secret' more", "1KEY=sk-secret", "=sk-secret"] {
            let error = parse(&format!("A=1\n{bad}\n"), ".env").unwrap_err().to_string();
            assert!(error.contains(".env:2"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}

//! The skills and prompts of one pair of versions, read once and shared by all questions of a phase.

use std::collections::BTreeMap;

use super::error::AgentTextError;
use crate::domain::{FileName, TaskType};
use crate::evolution::ports::{PromptStore, SkillStore};

/// The system prompt's file.
pub const SYSTEM_PROMPT: &str = "system.md";

/// The skill that is read where a task type has no file of its own (design 02).
pub const DEFAULT_SKILL: &str = "default-strategy.md";

/// One skill file, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The file.
    pub file: FileName,
    /// `name` of the front matter, else the file name without `.md`.
    pub name: String,
    /// `description` of the front matter; may be empty.
    pub description: String,
    /// Whether it goes into every system prompt.
    pub always: bool,
    /// The Markdown below the front matter, without the markers of the managed regions.
    pub body: String,
}

/// The two prompts of a tool's summary: extract, then verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPair {
    /// Asks for what bears on the question.
    pub extract: String,
    /// Asks to check the extract against the source.
    pub verify: String,
}

/// All texts that the agent of one pair of versions can load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTexts {
    /// The body of `system.md`.
    pub system: String,
    /// Of the node itself.
    pub view_node: PromptPair,
    /// Of the node's children.
    pub view_node_children: PromptPair,
    /// Of each hit.
    pub search_similar: PromptPair,
    /// Of frames.
    pub observe_frame: PromptPair,
    skills: BTreeMap<FileName, Skill>,
}

impl AgentTexts {
    /// Reads everything from the two ports.
    ///
    /// # Errors
    /// A port failed, or a prompt file is missing.
    pub fn load(skills: &dyn SkillStore, prompts: &dyn PromptStore) -> Result<Self, AgentTextError> {
        let available = prompts.list_prompt_files()?;
        let prompt = |name: &str| -> Result<String, AgentTextError> {
            let file = available.iter().find(|file| file.as_str() == name);
            match (file, FileName::new(name)) {
                (Some(file), _) => Ok(without_markers(&prompts.read_prompt(file)?)),
                (None, Ok(file)) => Err(AgentTextError::MissingPrompt { file }),
                // The names below are file names: this arm is never reached.
                (None, Err(_)) => Ok(String::new()),
            }
        };
        let pair = |tool: &str| -> Result<PromptPair, AgentTextError> {
            let (extract, verify) = (prompt(&format!("{tool}_extract.md"))?, prompt(&format!("{tool}_verify.md"))?);
            Ok(PromptPair { extract, verify })
        };
        let mut loaded = BTreeMap::new();
        for file in skills.list_skill_files()? {
            let text = skills.read_skill(&file)?;
            loaded.insert(file.clone(), parse_skill(file, &text));
        }
        Ok(Self {
            system: prompt(SYSTEM_PROMPT)?,
            view_node: pair("view_node")?,
            view_node_children: pair("view_node_children")?,
            search_similar: pair("search_similar")?,
            observe_frame: pair("observe_frame")?,
            skills: loaded,
        })
    }

    /// The skill of a task type: its own file, else the fallback; none if neither exists.
    #[must_use]
    pub fn skill_for(&self, task_type: &TaskType) -> Option<&Skill> {
        self.skills
            .get(&task_type.skill_file())
            .or_else(|| self.skills.values().find(|skill| skill.file.as_str() == DEFAULT_SKILL))
    }

    /// The skills that go into every system prompt, by file name.
    pub fn always(&self) -> impl Iterator<Item = &Skill> {
        self.skills.values().filter(|skill| skill.always)
    }

    /// What `read_skill` offers: all skills that are not in the system prompt anyway, by file name.
    pub fn catalogue(&self) -> impl Iterator<Item = &Skill> {
        self.skills.values().filter(|skill| !skill.always)
    }

    /// A skill by its front-matter name or its file name, with or without `.md`, letter case and spaces aside.
    #[must_use]
    pub fn find_skill(&self, wanted: &str) -> Option<&Skill> {
        let wanted = skill_key(wanted);
        self.skills.values().find(|skill| skill_key(skill.file.as_str()) == wanted || skill_key(&skill.name) == wanted)
    }
}

fn skill_key(text: &str) -> String {
    let lower = text.trim().to_lowercase();
    lower.strip_suffix(".md").unwrap_or(&lower).split([' ', '-', '_']).collect::<Vec<_>>().join("-")
}

/// Takes a skill file apart; front matter that cannot be read leaves the whole text as body.
fn parse_skill(file: FileName, text: &str) -> Skill {
    let (front, body) = split_front_matter(text);
    let field = |name: &str| front_field(front, name);
    let stem = file.as_str().trim_end_matches(".md").to_owned();
    Skill {
        name: field("name").unwrap_or(stem),
        description: field("description").unwrap_or_default(),
        always: field("always").is_some_and(|value| value.eq_ignore_ascii_case("true")),
        body: without_markers(body),
        file,
    }
}

/// The lines between a first line `---` and the next such line, and the rest.
fn split_front_matter(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches('\u{feff}');
    let Some(rest) = text.strip_prefix("---").filter(|rest| rest.starts_with(['\n', '\r'])) else {
        return ("", text);
    };
    let mut from = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (rest.get(..from).unwrap_or_default(), rest.get(from + line.len()..).unwrap_or_default());
        }
        from += line.len();
    }
    ("", text)
}

/// The one-line value of a front-matter field, without quotes.
fn front_field(front: &str, name: &str) -> Option<String> {
    front.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        let value = value.trim().trim_matches(['"', '\'']).trim();
        (key.trim() == name && !value.is_empty()).then(|| value.to_owned())
    })
}

/// The text as the model sees it: the markers of the managed regions are for the editor, what they enclose is not.
fn without_markers(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| {
            let line = line.trim();
            !(line.starts_with("<!--")
                && line.ends_with("-->")
                && (line.contains("APPENDIX_") || line.contains("MOMENTUM_")))
        })
        .collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(text: &str) -> Skill {
        parse_skill(FileName::new("action-reasoning.md").unwrap(), text)
    }

    #[test]
    fn front_matter_is_read_and_kept_out_of_the_body() {
        let text = "---\nname: \"Why\"\ndescription: When asked: why\nalways: true\n---\n\nLook.\n<!-- APPENDIX_START -->\nNote.\n<!-- APPENDIX_END -->\n";
        let skill = skill(text);
        assert_eq!((skill.name.as_str(), skill.description.as_str()), ("Why", "When asked: why"));
        assert!(skill.always);
        assert_eq!(skill.body, "Look.\nNote.");
    }

    #[test]
    fn a_file_without_front_matter_is_all_body() {
        let skill = skill("---\nno end");
        assert_eq!((skill.name.as_str(), skill.always), ("action-reasoning", false));
        assert_eq!(skill.body, "---\nno end");
    }

    #[test]
    fn skills_are_found_by_any_spelling_of_their_name() {
        for wanted in ["action-reasoning.md", "Action Reasoning", "action_reasoning", " ACTION-REASONING "] {
            assert_eq!(skill_key(wanted), "action-reasoning");
        }
    }
}

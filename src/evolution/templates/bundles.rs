//! The bundles of templates.

use std::collections::BTreeMap;

use super::{Template, TemplateError};

/// Declares a bundle: a struct of templates, their names, and the loader that checks them all.
macro_rules! bundle {
    (
        $(#[$doc:meta])* $bundle:ident, $names:ident,
        $($(#[$field_doc:meta])* $name:ident: [$($required:literal),*] + [$($optional:literal),*];)*
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $bundle {
            $($(#[$field_doc])* pub $name: Template,)*
        }

        #[doc = concat!("The names of all templates of [`", stringify!($bundle), "`]; the files add `.md`.")]
        pub const $names: &[&str] = &[$(stringify!($name)),*];

        impl $bundle {
            /// Checks the texts, given by name without `.md`.
            ///
            /// # Errors
            /// A name that is missing or unknown, or a text with a missing or unknown placeholder.
            pub fn from_texts(texts: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
                if let Some(name) = texts.keys().find(|name| !$names.contains(&name.as_str())) {
                    return Err(TemplateError::Unknown { name: name.clone(), known: $names.to_vec() });
                }
                Ok(Self {
                    $($name: {
                        let name = stringify!($name);
                        let text = texts.get(name).ok_or(TemplateError::Missing { name })?;
                        Template::parse(name, text, &[$($required),*], &[$($optional),*])?
                    },)*
                })
            }
        }
    };
}

bundle! {
    /// What the judge is asked.
    DiagnosePrompts, JUDGE_TEMPLATE_NAMES,
    /// Was the skill wrong, or right and not followed?
    defect_vs_lapse: ["question", "answer", "agent_answer", "error_type", "skill", "trace"] + [];
    /// What went wrong in reasoning over sufficient evidence.
    reasoning_sub: ["question", "answer", "agent_answer", "trace"] + [];
    /// How one tool call is judged.
    span_eval_system: [] + [];
    /// The tool call to judge.
    span_eval_user: ["question", "tool", "args", "source", "output"] + [];
    /// Which nodes should have been opened.
    missed_nodes: ["question", "answer", "visited", "candidates"] + [];
    /// Which steps of the skill were followed.
    skill_adherence: ["skill_steps", "trace"] + ["question"];
    /// Whether the agent looked only for what supports its first guess.
    confirmation_bias: ["question", "trace", "agent_answer"] + ["tool_outputs"];
    /// Whether what was seen is enough for the right answer.
    evidence_sufficiency: ["question", "answer", "tool_outputs"] + [];
}

bundle! {
    /// What the writer is asked.
    EvolvePrompts, WRITER_TEMPLATE_NAMES,
    /// Edits of a skill.
    evolve_skill: ["skill", "failures", "budget", "feedback", "rejected"]
        + ["task_type", "successes", "lapse_notes"];
    /// The whole body of a skill, from edits (`skill_update_mode = rewrite`).
    rewrite_skill: ["skill", "edits", "max_chars"] + ["task_type"];
    /// Edits of the system prompt.
    evolve_system: ["prompt", "patterns", "failures", "budget", "feedback"] + ["successes", "frozen"];
    /// Edits of a tool's two prompts.
    evolve_tool: ["extract", "verify", "failures", "budget", "feedback"]
        + ["tool", "pair", "successes", "frozen"];
    /// Which edits are made if there are more than the budget.
    evolve_rank: ["edits", "budget"] + ["target", "text"];
    /// How the appendix is shortened; the notes follow in a message of their own.
    consolidate_system: [] + ["max_notes", "max_chars"];
}

bundle! {
    /// What the writer is asked about the momentum of a skill.
    MomentumPrompts, MOMENTUM_TEMPLATE_NAMES,
    /// Guidance from the comparison of the skills of an epoch's start and end.
    momentum: ["skill", "comparison", "previous"] + ["file", "max_chars"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_and_an_unknown_template_are_named() {
        let error = DiagnosePrompts::from_texts(&BTreeMap::new()).unwrap_err();
        assert_eq!(error, TemplateError::Missing { name: "defect_vs_lapse" });
        let texts = BTreeMap::from([("span_eval".to_owned(), "x".to_owned())]);
        let error = DiagnosePrompts::from_texts(&texts).unwrap_err();
        assert!(matches!(&error, TemplateError::Unknown { name, .. } if name == "span_eval"));
    }
}

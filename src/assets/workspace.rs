//! The files of a new workspace.

/// A commented `trm.yaml`: everything not behind `#` is what a person will want to change first.
pub const CONFIG_TEMPLATE: &str = include_str!("../../config/workspace/trm.yaml");

/// `trm.yaml` of the bundled example: the simulated model on generated videos.
pub const EXAMPLE_TEMPLATE: &str = include_str!("../../config/workspace/example.yaml");

/// `.env.example`: the names of keys and passwords.
pub const ENV_EXAMPLE: &str = include_str!("../../config/workspace/env.example");

/// `.gitignore`: secrets, stores, logs.
pub const GITIGNORE: &str = include_str!("../../config/workspace/gitignore");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Provider, RunConfig};
    use crate::domain::Role;

    /// The template with everything in force that stands behind `#`, except what is no default.
    fn uncommented(template: &str) -> String {
        let lines = template.lines().filter(|line| !line.contains("model}") && !line.contains("#api_key_env"));
        let lines = lines.map(|line| match line.trim_start().strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => line.replacen('#', "", 1),
            _ => line.to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_example_is_valid_needs_no_key_and_shows_defaults() {
        let plain = RunConfig::from_yaml(EXAMPLE_TEMPLATE, "trm.yaml").unwrap();
        assert_eq!(RunConfig::from_yaml(&uncommented(EXAMPLE_TEMPLATE), "trm.yaml").unwrap(), plain);
        for role in [Role::Search, Role::Tool, Role::Judge, Role::Evolve, Role::Vision] {
            assert_eq!(plain.llm.role(role).provider, Provider::Sim);
        }
    }

    #[test]
    fn the_template_is_valid_and_sets_nothing_but_the_model() {
        let mut config = RunConfig::from_yaml(CONFIG_TEMPLATE, "trm.yaml").unwrap();
        config.llm = RunConfig::default().llm;
        assert_eq!(config, RunConfig::default());
    }

    #[test]
    fn every_setting_behind_a_hash_exists_and_shows_its_default() {
        let mut config = RunConfig::from_yaml(&uncommented(CONFIG_TEMPLATE), "trm.yaml").unwrap();
        for role in ["search", "tool", "judge", "evolve"] {
            let changed = crate::config::diff(&RunConfig::default(), &config);
            let of_role: Vec<_> = changed.iter().filter_map(|c| c.key.strip_prefix(&format!("llm.{role}."))).collect();
            assert_eq!(of_role, ["base_urls", "model"]);
        }
        assert_eq!(config.llm.cache, RunConfig::default().llm.cache);
        assert_eq!(config.llm.budget, RunConfig::default().llm.budget);
        config.llm = RunConfig::default().llm;
        assert_eq!(config, RunConfig::default());
    }

    #[test]
    fn the_example_names_every_variable() {
        for name in ["REDIS_URL", "REDIS_CACHE_TTL", "OPENAI_API_KEY"] {
            assert!(ENV_EXAMPLE.contains(name));
        }
        assert!(GITIGNORE.lines().any(|line| line == ".env"));
    }
}

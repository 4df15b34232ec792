//! The files of a new workspace.

/// A commented `trm.yaml`: everything not behind `#` is what a person will want to change first.
pub const CONFIG_TEMPLATE: &str = include_str!("../../config/workspace/trm.yaml");

/// `.env.example`: the names of keys and passwords.
pub const ENV_EXAMPLE: &str = include_str!("../../config/workspace/env.example");

/// `.gitignore`: secrets, stores, logs.
pub const GITIGNORE: &str = include_str!("../../config/workspace/gitignore");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RunConfig;

    #[test]
    fn the_template_is_valid_and_sets_nothing_but_the_model() {
        let mut config = RunConfig::from_yaml(CONFIG_TEMPLATE, "trm.yaml").unwrap();
        config.llm = RunConfig::default().llm;
        assert_eq!(config, RunConfig::default());
    }

    #[test]
    fn every_setting_behind_a_hash_exists_and_shows_its_default() {
        let uncommented: Vec<String> = CONFIG_TEMPLATE
            .lines()
            .filter(|line| !line.contains("model}"))
            .map(|line| match line.trim_start().strip_prefix('#') {
                Some(rest) if !rest.starts_with(' ') => line.replacen('#', "", 1),
                _ => line.to_owned(),
            })
            .filter(|line| !line.contains("api_key_env"))
            .collect();
        let mut config = RunConfig::from_yaml(&uncommented.join("\n"), "trm.yaml").unwrap();
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

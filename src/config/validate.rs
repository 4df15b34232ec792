//! The four layers of checks before anything is spent (design 02): shape, edit budget, mini-batch, gate.
//!
//! Each returns every rule that is broken. What needs the data, such as whether the pools can be cut and each
//! ladder is long enough, is the preflight's business, not this module's.

use super::groups::{LadderOrder, RunMode, SkillMode};
use super::models::{Provider, RoleGroup};
use super::urls::{check_base_url, names_a_secret};
use super::{PoolSize, RunConfig};
use crate::domain::Role;

/// One rule that a configuration breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The key to blame.
    pub key: String,
    /// What is wrong, as the rest of a sentence that begins with the key.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Collects violations.
#[derive(Debug, Default)]
struct Check(Vec<Violation>);

impl Check {
    fn that(&mut self, holds: bool, key: &str, message: impl Into<String>) {
        if !holds {
            self.0.push(Violation { key: key.to_owned(), message: message.into(), hint: None });
        }
    }

    fn that_or(&mut self, holds: bool, key: &str, message: impl Into<String>, hint: &str) {
        if !holds {
            self.0.push(Violation { key: key.to_owned(), message: message.into(), hint: Some(hint.to_owned()) });
        }
    }
}

/// All four layers, in their order.
#[must_use]
pub fn all(config: &RunConfig) -> Vec<Violation> {
    [shape(config), edit_budget(config), minibatch(config), gate(config)].concat()
}

/// Layer 1: ranges of single values, addresses, and what only makes sense together.
#[must_use]
pub fn shape(config: &RunConfig) -> Vec<Violation> {
    let mut check = Check::default();
    agent_shape(config, &mut check);
    pools_shape(config, &mut check);
    for role in Role::ALL {
        role_shape(role, config.llm.role(role), &mut check);
    }
    spending_shape(config, &mut check);
    sim_shape(config, &mut check);
    let (data, epochs) = (&config.data, &config.epochs);
    check.that(!config.run.workspace.as_os_str().is_empty(), "run.workspace", "must not be empty");
    check.that(!data.questions.as_os_str().is_empty(), "data.questions", "must not be empty");
    check.that(!data.videos_dir.as_os_str().is_empty(), "data.videos_dir", "must not be empty");
    check.that(epochs.epochs >= 1, "epochs.epochs", "must be at least 1");
    check.that(epochs.early_stop_patience_epochs >= 1, "epochs.early_stop_patience_epochs", "must be at least 1");
    check.that(config.slow.momentum_sample >= 1, "slow.momentum_sample", "must be at least 1");
    check.0
}

/// Layer 2: the budget falls, and never to nothing.
#[must_use]
pub fn edit_budget(config: &RunConfig) -> Vec<Violation> {
    let mut check = Check::default();
    let edits = &config.edits;
    check.that(edits.edit_budget_end >= 1, "edits.edit_budget_end", "must be at least 1");
    check.that(
        edits.edit_budget_start >= edits.edit_budget_end,
        "edits.edit_budget_start",
        format!("({}) must not be below edits.edit_budget_end ({})", edits.edit_budget_start, edits.edit_budget_end),
    );
    check.that(edits.appendix_consolidate_threshold >= 2, "edits.appendix_consolidate_threshold", "must be at least 2");
    check.that(edits.max_skill_tokens >= 1, "edits.max_skill_tokens", "must be at least 1");
    for (key, headings) in [
        ("edits.frozen_system_headings", &edits.frozen_system_headings),
        ("edits.frozen_tool_headings", &edits.frozen_tool_headings),
    ] {
        check.that(headings.iter().all(|heading| !heading.trim().is_empty()), key, "must not hold an empty heading");
    }
    check.0
}

/// Layer 3: a batch has room for what it must hold.
#[must_use]
pub fn minibatch(config: &RunConfig) -> Vec<Violation> {
    let mut check = Check::default();
    let batch = &config.minibatch;
    check.that(batch.batch_size >= 1, "minibatch.batch_size", "must be at least 1");
    check.that(batch.min_class_per_batch >= 1, "minibatch.min_class_per_batch", "must be at least 1");
    check.that(
        batch.min_class_per_batch < batch.batch_size,
        "minibatch.min_class_per_batch",
        format!("({}) must be below minibatch.batch_size ({})", batch.min_class_per_batch, batch.batch_size),
    );
    check.that(batch.max_steps_per_epoch != Some(0), "minibatch.max_steps_per_epoch", "must be at least 1, or null");
    let ratio = batch.mix_correct_ratio;
    check.that((0.0..1.0).contains(&ratio), "minibatch.mix_correct_ratio", "must be at least 0 and below 1");
    check.0
}

/// Layer 4: the thresholds are in order.
#[must_use]
pub fn gate(config: &RunConfig) -> Vec<Violation> {
    let mut check = Check::default();
    let gate = &config.gate;
    for (name, value) in [
        ("gate.e_confirm", gate.e_confirm),
        ("gate.e_provisional", gate.e_provisional),
        ("gate.e_rollback", gate.e_rollback),
    ] {
        check.that(value.is_finite() && value > 1.0, name, "must be above 1: E is 1 before anything is seen");
    }
    check.that(
        gate.e_provisional < gate.e_confirm,
        "gate.e_provisional",
        format!("({}) must be below gate.e_confirm ({})", gate.e_provisional, gate.e_confirm),
    );
    check.that(
        gate.e_rollback < gate.e_confirm,
        "gate.e_rollback",
        format!("({}) must be below gate.e_confirm ({})", gate.e_rollback, gate.e_confirm),
    );
    check.that_or(
        gate.lambda_dir.is_finite() && gate.lambda_dir < 0.0,
        "gate.lambda_dir",
        "must be below 0",
        "it is the lambda at which a candidate is rejected: at 0 or above, before any loss was seen",
    );
    check.that(gate.w_net_min >= 0, "gate.w_net_min", "must be at least 0");
    check.that((0.0..=1.0).contains(&gate.delta_min), "gate.delta_min", "must be between 0 and 1");
    check.that(gate.n_max > 0, "gate.n_max", "must be above 0");
    let ordered = (0.0..=1.0).contains(&gate.p_low) && gate.p_low < gate.p_high && gate.p_high <= 1.0;
    check.that(
        ordered,
        "gate.p_low",
        format!("({}) and gate.p_high ({}) must keep 0 ≤ p_low < p_high ≤ 1", gate.p_low, gate.p_high),
    );
    check.that((0.0..=1.0).contains(&gate.ema_gamma), "gate.ema_gamma", "must be between 0 and 1");
    check.that(gate.guard_err > 0.0 && gate.guard_err <= 1.0, "gate.guard_err", "must be above 0 and at most 1");
    check.that((0.0..=1.0).contains(&gate.need_tau), "gate.need_tau", "must be between 0 and 1");
    check.0
}

/// What works and is probably not meant.
#[must_use]
pub fn warnings(config: &RunConfig) -> Vec<Violation> {
    let mut check = Check::default();
    let repeats_itself = config.llm.search.temperature == Some(0.0);
    check.that_or(
        !(repeats_itself && config.gate.ladder_order == LadderOrder::Information),
        "llm.search.temperature",
        "is 0: the model repeats the very answers by which the ladder chose its units, which inflates false accepts",
        "set gate.ladder_order to hashed, or a temperature above 0",
    );
    let searched = &config.agent.search_backend;
    check.that_or(
        *searched != super::SearchBackend::Embedding || config.llm.embed.is_configured(),
        "agent.search_backend",
        "is embedding, but the role embed has no model",
        "set llm.embed.model and llm.embed.base_urls",
    );
    check.0
}

fn agent_shape(config: &RunConfig, check: &mut Check) {
    let agent = &config.agent;
    check.that(agent.max_steps > 0, "agent.max_steps", "must be above 0");
    check.that(agent.max_parse_retries > 0, "agent.max_parse_retries", "must be above 0");
    check.that(agent.concurrency > 0, "agent.concurrency", "must be above 0");
    check.that(agent.samples > 0, "agent.samples", "must be above 0");
    let trains_skills = config.run.mode == RunMode::Train && config.edits.evolve_skills;
    check.that_or(
        !(trains_skills && agent.skill_mode == SkillMode::None),
        "agent.skill_mode",
        "is none, so skills cannot be trained: both arms of a gate would be the same agent",
        "set it to auto or manual, or edits.evolve_skills to false to train prompts only",
    );
}

fn pools_shape(config: &RunConfig, check: &mut Check) {
    let pools = &config.pools;
    let sizes = [
        ("pools.test_size", pools.test_size),
        ("pools.val_size", pools.val_size),
        ("pools.diag_size", pools.diag_size),
    ];
    let mut shares = 0.0;
    for (name, size) in sizes {
        let fits = match size {
            PoolSize::Count(count) => count > 0,
            PoolSize::Share(share) => {
                shares += share;
                share > 0.0 && share <= 1.0
            }
        };
        check.that(fits, name, "must be a count of at least 1, or a share above 0 and at most 1");
    }
    // 0.2 + 0.4 + 0.4 is not exactly 1 in binary.
    check.that(shares <= 1.0 + 1e-9, "pools.diag_size", "together with the other shares must not exceed 1");
    check.that(pools.eval_min_per_class > 0, "pools.eval_min_per_class", "must be above 0");
    if let PoolSize::Count(count) = pools.val_size {
        check.that(
            count >= pools.eval_min_per_class,
            "pools.val_size",
            format!(
                "({count}) must be at least pools.eval_min_per_class ({}) for each task type",
                pools.eval_min_per_class
            ),
        );
    }
    check.that((0.0..=1.0).contains(&pools.correct_ratio), "pools.correct_ratio", "must be between 0 and 1");
}

fn role_shape(role: Role, settings: &RoleGroup, check: &mut Check) {
    let key = |name: &str| format!("llm.{}.{name}", role.name());
    for url in settings.base_urls.as_slice() {
        if let Err(reason) = check_base_url(url) {
            check.that(false, &key("base_urls"), reason);
        }
    }
    let needs_address = settings.provider == Provider::Openai && settings.model.is_some();
    check.that_or(
        !needs_address || !settings.base_urls.is_empty(),
        &key("base_urls"),
        "needs at least one address, since the role has a model",
        "set it, or llm.default.base_urls for all text roles",
    );
    for (name, text) in [("model", &settings.model), ("endpoint_group", &settings.endpoint_group)] {
        check.that(text.as_ref().is_none_or(|text| !text.trim().is_empty()), &key(name), "must not be empty");
    }
    check.that_or(
        settings.api_key_env.as_deref().is_none_or(is_variable_name),
        &key("api_key_env"),
        "must be the name of an environment variable",
        "it names the variable, such as OPENAI_API_KEY; the key itself belongs into the environment or .env",
    );
    let seconds = [
        ("timeout_s", settings.timeout_s),
        ("connect_timeout_s", settings.connect_timeout_s),
        ("first_byte_timeout_s", settings.first_byte_timeout_s.unwrap_or(settings.timeout_s)),
    ];
    for (name, value) in seconds {
        // A year is beyond any call and far below what a clock can hold.
        check.that(value > 0.0 && value <= 31_536_000.0, &key(name), "must be above 0 (seconds)");
    }
    check.that(settings.max_tokens > 0, &key("max_tokens"), "must be above 0");
    check.that(
        settings.context_tokens > settings.max_tokens || role == Role::Embed,
        &key("context_tokens"),
        format!(
            "({}) must be above max_tokens ({}): the prompt needs room too",
            settings.context_tokens, settings.max_tokens
        ),
    );
    check.that(
        settings.temperature.is_none_or(|value| (0.0..=5.0).contains(&value)),
        &key("temperature"),
        "must be between 0 and 5, or null",
    );
    check.that(settings.rpm != Some(0), &key("rpm"), "must be above 0, or null: a rate of 0 lets no call through");
    check.that(settings.tpm != Some(0), &key("tpm"), "must be above 0, or null: a rate of 0 lets no call through");
    check.that(settings.max_concurrency > 0, &key("max_concurrency"), "must be above 0");
    if let Some(name) = settings.extra_body.iter().find_map(|(name, value)| secret_field(name, value)) {
        check.that_or(
            false,
            &key("extra_body"),
            format!("holds the field {name}, which looks like a secret, and settings are stored and shown"),
            "put API keys into the environment or .env and name the variable in api_key_env",
        );
    }
}

fn spending_shape(config: &RunConfig, check: &mut Check) {
    let (cache, budget) = (&config.llm.cache, &config.llm.budget);
    check.that(cache.ttl_days > 0.0 && cache.ttl_days <= 36_500.0, "llm.cache.ttl_days", "must be above 0 (days)");
    check.that(budget.max_usd.is_none_or(|cap| cap.is_finite() && cap > 0.0), "llm.budget.max_usd", "must be above 0");
    check.that(budget.max_tokens != Some(0), "llm.budget.max_tokens", "must be above 0, or null");
    for (model, price) in &budget.prices {
        let figures = [Some(price.prompt), price.cached, Some(price.completion)];
        let fits = figures.into_iter().flatten().all(|figure| figure.is_finite() && figure >= 0.0);
        check.that(fits, "llm.budget.prices", format!("of {model} must be at least 0 (US dollars per million tokens)"));
    }
    if budget.max_usd.is_none() {
        return;
    }
    for role in Role::ALL {
        let settings = config.llm.role(role);
        let Some(model) = settings.model.as_ref().filter(|_| settings.provider == Provider::Openai) else { continue };
        check.that_or(
            budget.prices.contains_key(model),
            "llm.budget.prices",
            format!("lacks {model} (role {}), so llm.budget.max_usd could not be kept", role.name()),
            "add it as 'name: {prompt: …, completion: …}' in US dollars per million tokens; 0 for a model of your own",
        );
    }
}

fn sim_shape(config: &RunConfig, check: &mut Check) {
    for row in config.keys().into_iter().filter(|row| row.key.starts_with("sim.")) {
        let value = row.value.as_f64().unwrap_or(-1.0);
        match row.key.as_str() {
            "sim.latency_ms" | "sim.latency_sigma" | "sim.wrong_latency_factor" => {
                check.that((0.0..=1e9).contains(&value), &row.key, "must be at least 0");
            }
            _ => check.that((0.0..=1.0).contains(&value), &row.key, "must be a probability, 0 to 1"),
        }
    }
    let writer = &config.sim.writer;
    check.that(
        writer.miss + writer.damage <= 1.0,
        "sim.writer.miss",
        "and sim.writer.damage must not exceed 1 together",
    );
}

/// Letters, digits and `_`, not beginning with a digit. A key pasted here by mistake mostly has a `-`.
fn is_variable_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 100
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// The name of a field, at any depth, whose text value looks like a secret by its name.
fn secret_field(name: &str, value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(_) => names_a_secret(name).then(|| name.to_owned()),
        serde_json::Value::Object(fields) => fields.iter().find_map(|(name, value)| secret_field(name, value)),
        serde_json::Value::Array(items) => items.iter().find_map(|item| secret_field(name, item)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::models::PriceGroup;
    use crate::config::{BaseUrls, RunMode, SearchBackend};

    type Layer = fn(&RunConfig) -> Vec<Violation>;
    type Change = fn(&mut RunConfig);

    /// Each change breaks one rule of one layer, and is told under its key.
    fn assert_refused(layer: Layer, cases: &[(&str, Change)]) {
        for (key, change) in cases {
            let mut config = RunConfig::default();
            change(&mut config);
            let keys: Vec<String> = layer(&config).into_iter().map(|violation| violation.key).collect();
            assert!(keys.iter().any(|found| found == key), "{key}: {keys:?}");
            assert_eq!(all(&config).len(), keys.len(), "{key}: another layer speaks as well");
        }
    }

    #[test]
    fn the_defaults_break_no_rule_and_give_no_warning() {
        assert_eq!(all(&RunConfig::default()), []);
        assert_eq!(warnings(&RunConfig::default()), []);
    }

    #[test]
    fn shape_refuses_values_out_of_range() {
        assert_refused(
            shape,
            &[
                ("agent.max_steps", |c| c.agent.max_steps = 0),
                ("agent.max_parse_retries", |c| c.agent.max_parse_retries = 0),
                ("agent.concurrency", |c| c.agent.concurrency = 0),
                ("agent.samples", |c| c.agent.samples = 0),
                ("agent.skill_mode", |c| c.agent.skill_mode = SkillMode::None),
                ("pools.test_size", |c| c.pools.test_size = PoolSize::Count(0)),
                ("pools.val_size", |c| c.pools.val_size = PoolSize::Share(0.0)),
                ("pools.val_size", |c| c.pools.val_size = PoolSize::Count(4)),
                ("pools.diag_size", |c| c.pools.diag_size = PoolSize::Share(0.41)),
                ("pools.correct_ratio", |c| c.pools.correct_ratio = 1.1),
                ("epochs.epochs", |c| c.epochs.epochs = 0),
                ("epochs.early_stop_patience_epochs", |c| c.epochs.early_stop_patience_epochs = 0),
                ("slow.momentum_sample", |c| c.slow.momentum_sample = 0),
                ("data.questions", |c| c.data.questions = "".into()),
                ("llm.search.base_urls", |c| c.llm.search.base_urls = BaseUrls::new(vec!["ftp://h".into()])),
                ("llm.judge.base_urls", |c| c.llm.judge.model = Some("m".into())),
                ("llm.tool.timeout_s", |c| c.llm.tool.timeout_s = 0.0),
                ("llm.tool.context_tokens", |c| c.llm.tool.context_tokens = 100),
                ("llm.evolve.temperature", |c| c.llm.evolve.temperature = Some(-0.1)),
                ("llm.vision.rpm", |c| c.llm.vision.rpm = Some(0)),
                ("llm.embed.max_concurrency", |c| c.llm.embed.max_concurrency = 0),
                ("llm.search.api_key_env", |c| c.llm.search.api_key_env = Some("sk-1".into())),
                ("llm.cache.ttl_days", |c| c.llm.cache.ttl_days = 0.0),
                ("llm.budget.max_usd", |c| c.llm.budget.max_usd = Some(0.0)),
                ("sim.writer.miss", |c| c.sim.writer.miss = 0.9),
                ("sim.use_described", |c| c.sim.use_described = 1.5),
            ],
        );
    }

    #[test]
    fn edit_budget_falls_and_never_to_nothing() {
        assert_refused(
            edit_budget,
            &[
                ("edits.edit_budget_start", |c| c.edits.edit_budget_start = 1),
                ("edits.edit_budget_end", |c| c.edits.edit_budget_end = 0),
                ("edits.appendix_consolidate_threshold", |c| c.edits.appendix_consolidate_threshold = 1),
                ("edits.frozen_tool_headings", |c| c.edits.frozen_tool_headings.push(" ".into())),
            ],
        );
    }

    #[test]
    fn a_batch_is_strictly_larger_than_what_it_must_hold() {
        assert_refused(
            minibatch,
            &[
                ("minibatch.min_class_per_batch", |c| c.minibatch.batch_size = 4),
                ("minibatch.min_class_per_batch", |c| c.minibatch.min_class_per_batch = 0),
                ("minibatch.max_steps_per_epoch", |c| c.minibatch.max_steps_per_epoch = Some(0)),
                ("minibatch.mix_correct_ratio", |c| c.minibatch.mix_correct_ratio = 1.0),
            ],
        );
        let mut config = RunConfig::default();
        config.minibatch.batch_size = 5;
        assert_eq!(minibatch(&config), []);
    }

    #[test]
    fn thresholds_of_the_gate_are_in_order() {
        assert_refused(
            gate,
            &[
                ("gate.lambda_dir", |c| c.gate.lambda_dir = 0.0),
                ("gate.e_provisional", |c| c.gate.e_provisional = 20.0),
                ("gate.e_rollback", |c| c.gate.e_rollback = 20.0),
                ("gate.e_confirm", |c| c.gate.e_confirm = f64::INFINITY),
                ("gate.p_low", |c| c.gate.p_low = 0.9),
                ("gate.p_low", |c| c.gate.p_high = 1.1),
                ("gate.n_max", |c| c.gate.n_max = 0),
                ("gate.guard_err", |c| c.gate.guard_err = 0.0),
                ("gate.ema_gamma", |c| c.gate.ema_gamma = f64::NAN),
                ("gate.need_tau", |c| c.gate.need_tau = 1.5),
                ("gate.w_net_min", |c| c.gate.w_net_min = -1),
                ("gate.delta_min", |c| c.gate.delta_min = -0.1),
            ],
        );
    }

    #[test]
    fn without_skills_only_prompts_may_be_trained() {
        let mut config = RunConfig::default();
        config.agent.skill_mode = SkillMode::None;
        assert_eq!(all(&config).len(), 1);
        config.edits.evolve_skills = false;
        assert_eq!(all(&config), []);
        config.edits.evolve_skills = true;
        config.run.mode = RunMode::Infer;
        assert_eq!(all(&config), []);
    }

    #[test]
    fn a_cap_in_dollars_needs_a_price_for_every_model() {
        let mut config = RunConfig::default();
        config.llm.search.base_urls = BaseUrls::new(vec!["http://h/v1".into()]);
        config.llm.search.model = Some("m".into());
        config.llm.budget.max_usd = Some(5.0);
        assert_eq!(all(&config).len(), 1);
        config.llm.budget.prices.insert("m".into(), PriceGroup { prompt: 0.0, cached: None, completion: 0.0 });
        assert_eq!(all(&config), []);
    }

    #[test]
    fn what_is_probably_not_meant_is_warned_of() {
        let mut config = RunConfig::default();
        config.llm.search.temperature = Some(0.0);
        config.agent.search_backend = SearchBackend::Embedding;
        assert_eq!(warnings(&config).len(), 2);
        config.gate.ladder_order = LadderOrder::Hashed;
        assert_eq!(warnings(&config).len(), 1);
    }
}

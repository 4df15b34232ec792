//! Every key with its class: what a change of it means for a run that is resumed (design 02).
//!
//! Each group is taken apart without `..`: a new field does not compile until it is classed here.

use serde::Serialize;
use serde_json::Value;

use super::RunConfig;
use super::groups::{
    AgentGroup, DataGroup, EditsGroup, EpochsGroup, GateGroup, MinibatchGroup, PoolsGroup, RunGroup, SlowGroup,
};
use super::models::{BudgetGroup, CacheGroup, LlmGroup, RoleGroup};
use crate::domain::Role;
use crate::sim::model::{FaultRates, SimSettings, WriterRates};

/// What a changed key means for a run that is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyClass {
    /// It changes answers, pools, batches or the number of steps: resuming is refused.
    Structural,
    /// Thresholds, budgets, limits, patience, cache: a warning, and the run's history records it.
    Decision,
}

/// One key with its class and value.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyRow {
    /// Dotted path, such as `gate.e_confirm`.
    pub key: String,
    /// Its class.
    pub class: KeyClass,
    /// Its value as JSON.
    pub value: Value,
}

impl RunConfig {
    /// All keys, in the order of the groups.
    #[must_use]
    pub fn keys(&self) -> Vec<KeyRow> {
        let Self { run, data, agent, pools, minibatch, edits, gate, epochs, slow, llm, sim } = self;
        let mut rows = Vec::with_capacity(192);
        run_keys(run, &mut Walk::new(&mut rows, "run"));
        data_keys(data, &mut Walk::new(&mut rows, "data"));
        agent_keys(agent, &mut Walk::new(&mut rows, "agent"));
        pools_keys(pools, &mut Walk::new(&mut rows, "pools"));
        minibatch_keys(minibatch, &mut Walk::new(&mut rows, "minibatch"));
        edits_keys(edits, &mut Walk::new(&mut rows, "edits"));
        gate_keys(gate, &mut Walk::new(&mut rows, "gate"));
        epochs_keys(epochs, &mut Walk::new(&mut rows, "epochs"));
        slow_keys(slow, &mut Walk::new(&mut rows, "slow"));
        llm_keys(llm, &mut rows);
        sim_keys(sim, &mut rows);
        rows
    }
}

/// Collects the keys of one group.
struct Walk<'a> {
    rows: &'a mut Vec<KeyRow>,
    group: String,
}

impl<'a> Walk<'a> {
    fn new(rows: &'a mut Vec<KeyRow>, group: impl Into<String>) -> Self {
        Self { rows, group: group.into() }
    }

    fn structural(&mut self, name: &str, value: &impl Serialize) {
        self.push(name, KeyClass::Structural, value);
    }

    fn decision(&mut self, name: &str, value: &impl Serialize) {
        self.push(name, KeyClass::Decision, value);
    }

    fn push(&mut self, name: &str, class: KeyClass, value: &impl Serialize) {
        // Settings have a JSON form by construction; a test rebuilds the whole configuration from these rows.
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.rows.push(KeyRow { key: format!("{}.{name}", self.group), class, value });
    }
}

fn run_keys(group: &RunGroup, walk: &mut Walk<'_>) {
    let RunGroup { run_id, seed, workspace, mode } = group;
    // Which run, where and what for is no property of the run's results.
    walk.decision("run_id", run_id);
    walk.structural("seed", seed);
    walk.decision("workspace", workspace);
    walk.decision("mode", mode);
}

fn data_keys(group: &DataGroup, walk: &mut Walk<'_>) {
    let DataGroup { questions, videos_dir, skills_version, prompts_version } = group;
    walk.structural("questions", questions);
    walk.structural("videos_dir", videos_dir);
    walk.structural("skills_version", skills_version);
    walk.structural("prompts_version", prompts_version);
}

fn agent_keys(group: &AgentGroup, walk: &mut Walk<'_>) {
    let AgentGroup {
        mode,
        max_steps,
        max_parse_retries,
        skill_mode,
        concurrency,
        tool_summaries,
        samples,
        search_backend,
    } = group;
    walk.structural("mode", mode);
    walk.structural("max_steps", max_steps);
    walk.structural("max_parse_retries", max_parse_retries);
    walk.structural("skill_mode", skill_mode);
    walk.decision("concurrency", concurrency);
    walk.structural("tool_summaries", tool_summaries);
    walk.structural("samples", samples);
    walk.structural("search_backend", search_backend);
}

fn pools_keys(group: &PoolsGroup, walk: &mut Walk<'_>) {
    let PoolsGroup { test_size, val_size, diag_size, eval_min_per_class, correct_ratio, split_by } = group;
    walk.structural("test_size", test_size);
    walk.structural("val_size", val_size);
    walk.structural("diag_size", diag_size);
    walk.structural("eval_min_per_class", eval_min_per_class);
    walk.structural("correct_ratio", correct_ratio);
    walk.structural("split_by", split_by);
}

fn minibatch_keys(group: &MinibatchGroup, walk: &mut Walk<'_>) {
    let MinibatchGroup { batch_size, min_class_per_batch, max_steps_per_epoch, mix_correct_ratio } = group;
    walk.structural("batch_size", batch_size);
    walk.structural("min_class_per_batch", min_class_per_batch);
    walk.structural("max_steps_per_epoch", max_steps_per_epoch);
    walk.structural("mix_correct_ratio", mix_correct_ratio);
}

fn edits_keys(group: &EditsGroup, walk: &mut Walk<'_>) {
    let EditsGroup {
        edit_budget_start,
        edit_budget_end,
        appendix_consolidate_threshold,
        skill_update_mode,
        evolve_skills,
        max_skill_tokens,
        leak_lint,
        frozen_system_headings,
        frozen_tool_headings,
    } = group;
    walk.decision("edit_budget_start", edit_budget_start);
    walk.decision("edit_budget_end", edit_budget_end);
    walk.decision("appendix_consolidate_threshold", appendix_consolidate_threshold);
    walk.decision("skill_update_mode", skill_update_mode);
    walk.decision("evolve_skills", evolve_skills);
    walk.decision("max_skill_tokens", max_skill_tokens);
    walk.decision("leak_lint", leak_lint);
    walk.decision("frozen_system_headings", frozen_system_headings);
    walk.decision("frozen_tool_headings", frozen_tool_headings);
}

fn gate_keys(group: &GateGroup, walk: &mut Walk<'_>) {
    let GateGroup {
        e_confirm,
        e_provisional,
        w_net_min,
        delta_min,
        lambda_dir,
        e_rollback,
        n_max,
        p_low,
        p_high,
        ema_gamma,
        probe_every,
        guard_err,
        cooldown_steps,
        launch_policy,
        ladder_order,
        need_tau,
    } = group;
    walk.decision("e_confirm", e_confirm);
    walk.decision("e_provisional", e_provisional);
    walk.decision("w_net_min", w_net_min);
    walk.decision("delta_min", delta_min);
    walk.decision("lambda_dir", lambda_dir);
    walk.decision("e_rollback", e_rollback);
    walk.decision("n_max", n_max);
    walk.decision("p_low", p_low);
    walk.decision("p_high", p_high);
    walk.decision("ema_gamma", ema_gamma);
    walk.decision("probe_every", probe_every);
    walk.decision("guard_err", guard_err);
    walk.decision("cooldown_steps", cooldown_steps);
    walk.decision("launch_policy", launch_policy);
    walk.decision("ladder_order", ladder_order);
    walk.decision("need_tau", need_tau);
}

fn epochs_keys(group: &EpochsGroup, walk: &mut Walk<'_>) {
    let EpochsGroup { epochs, early_stop_patience_epochs } = group;
    // The number of epochs is a factor of total_steps, hence of every edit budget.
    walk.structural("epochs", epochs);
    walk.decision("early_stop_patience_epochs", early_stop_patience_epochs);
}

fn slow_keys(group: &SlowGroup, walk: &mut Walk<'_>) {
    let SlowGroup { momentum_sample, system, tools, shadow_gate, holdout } = group;
    walk.decision("momentum_sample", momentum_sample);
    walk.decision("system", system);
    walk.decision("tools", tools);
    walk.decision("shadow_gate", shadow_gate);
    walk.decision("holdout", holdout);
}

fn llm_keys(group: &LlmGroup, rows: &mut Vec<KeyRow>) {
    let LlmGroup { search, tool, judge, evolve, vision, embed, cache, budget } = group;
    let roles = [
        (Role::Search, search),
        (Role::Tool, tool),
        (Role::Judge, judge),
        (Role::Evolve, evolve),
        (Role::Vision, vision),
        (Role::Embed, embed),
    ];
    for (role, settings) in roles {
        role_keys(settings, answer_class(role), &mut Walk::new(rows, format!("llm.{}", role.name())));
    }
    cache_keys(cache, &mut Walk::new(rows, "llm.cache"));
    budget_keys(budget, &mut Walk::new(rows, "llm.budget"));
}

/// Models and sampling of what takes part in answering change answers; those of judge and writer do not.
fn answer_class(role: Role) -> KeyClass {
    match role {
        Role::Search | Role::Tool | Role::Vision | Role::Embed => KeyClass::Structural,
        Role::Judge | Role::Evolve => KeyClass::Decision,
    }
}

fn role_keys(group: &RoleGroup, answers: KeyClass, walk: &mut Walk<'_>) {
    let RoleGroup {
        provider,
        base_urls,
        endpoint_group,
        model,
        api_key_env,
        timeout_s,
        connect_timeout_s,
        first_byte_timeout_s,
        max_tokens,
        context_tokens,
        temperature,
        extra_body,
        response_format,
        send_seed,
        rpm,
        tpm,
        max_concurrency,
        retries,
    } = group;
    walk.push("provider", answers, provider);
    // The same model at another address gives the same answers.
    walk.decision("base_urls", base_urls);
    walk.decision("endpoint_group", endpoint_group);
    walk.push("model", answers, model);
    walk.decision("api_key_env", api_key_env);
    walk.decision("timeout_s", timeout_s);
    walk.decision("connect_timeout_s", connect_timeout_s);
    walk.decision("first_byte_timeout_s", first_byte_timeout_s);
    walk.push("max_tokens", answers, max_tokens);
    walk.push("context_tokens", answers, context_tokens);
    walk.push("temperature", answers, temperature);
    walk.push("extra_body", answers, extra_body);
    walk.push("response_format", answers, response_format);
    walk.push("send_seed", answers, send_seed);
    walk.decision("rpm", rpm);
    walk.decision("tpm", tpm);
    walk.decision("max_concurrency", max_concurrency);
    walk.decision("retries", retries);
}

fn cache_keys(group: &CacheGroup, walk: &mut Walk<'_>) {
    let CacheGroup { backend, mode, ttl_days, salt } = group;
    walk.decision("backend", backend);
    walk.decision("mode", mode);
    walk.decision("ttl_days", ttl_days);
    walk.decision("salt", salt);
}

fn budget_keys(group: &BudgetGroup, walk: &mut Walk<'_>) {
    let BudgetGroup { max_usd, max_tokens, prices } = group;
    walk.decision("max_usd", max_usd);
    walk.decision("max_tokens", max_tokens);
    walk.decision("prices", prices);
}

fn sim_keys(group: &SimSettings, rows: &mut Vec<KeyRow>) {
    let SimSettings {
        use_described,
        use_undescribed,
        use_suppressed,
        right_with_all,
        right_without,
        broken_format,
        judge_garbage,
        writer,
        latency_ms,
        latency_sigma,
        wrong_latency_factor,
        faults,
    } = group;
    let WriterRates { miss, damage } = writer;
    let FaultRates { rate_limited, server_error, timeout, malformed, truncated, permanent } = faults;
    let mut walk = Walk::new(rows, "sim");
    walk.structural("use_described", use_described);
    walk.structural("use_undescribed", use_undescribed);
    walk.structural("use_suppressed", use_suppressed);
    walk.structural("right_with_all", right_with_all);
    walk.structural("right_without", right_without);
    walk.structural("broken_format", broken_format);
    walk.decision("judge_garbage", judge_garbage);
    walk.decision("latency_ms", latency_ms);
    walk.decision("latency_sigma", latency_sigma);
    walk.decision("wrong_latency_factor", wrong_latency_factor);
    let mut walk = Walk::new(rows, "sim.writer");
    walk.decision("miss", miss);
    walk.decision("damage", damage);
    let mut walk = Walk::new(rows, "sim.faults");
    walk.structural("rate_limited", rate_limited);
    walk.structural("server_error", server_error);
    walk.structural("timeout", timeout);
    walk.structural("malformed", malformed);
    walk.structural("truncated", truncated);
    walk.structural("permanent", permanent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tree::insert;

    #[test]
    fn the_keys_rebuild_the_whole_configuration() {
        let config = RunConfig::default();
        let mut tree = Value::Object(serde_json::Map::new());
        for row in config.keys() {
            insert(&mut tree, &row.key, row.value);
        }
        assert_eq!(tree, serde_json::to_value(&config).unwrap());
    }

    #[test]
    fn models_of_answering_roles_are_structural_and_thresholds_are_not() {
        let rows = RunConfig::default().keys();
        let class = |key: &str| rows.iter().find(|row| row.key == key).unwrap().class;
        for key in ["run.seed", "llm.search.model", "llm.tool.temperature", "llm.vision.model", "llm.embed.model"] {
            assert_eq!(class(key), KeyClass::Structural, "{key}");
        }
        for key in ["agent.max_steps", "agent.skill_mode", "agent.tool_summaries", "pools.val_size", "epochs.epochs"] {
            assert_eq!(class(key), KeyClass::Structural, "{key}");
        }
        for key in ["gate.e_confirm", "edits.edit_budget_start", "gate.cooldown_steps", "agent.concurrency"] {
            assert_eq!(class(key), KeyClass::Decision, "{key}");
        }
        for key in ["llm.judge.model", "llm.cache.ttl_days", "llm.search.rpm", "epochs.early_stop_patience_epochs"] {
            assert_eq!(class(key), KeyClass::Decision, "{key}");
        }
    }
}

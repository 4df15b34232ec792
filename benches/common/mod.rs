//! What the benchmarks of gates share.

use trm::domain::Unit;
use trm::evolution::scheduler::GateSpec;

/// Gates of so many task types, each with a ladder of so many units of one question.
pub(crate) fn specs(types: usize, units: usize) -> Vec<GateSpec> {
    let unit = |index: usize, rank: usize| Unit {
        unit_id: format!("{index}-{rank}").parse().unwrap(),
        task_type: format!("Type {index}").parse().unwrap(),
        video_id: "video".parse().unwrap(),
        question_ids: vec![format!("{index}-{rank}").parse().unwrap()],
    };
    let spec = |index: usize| GateSpec {
        task_type: format!("Type {index}").parse().unwrap(),
        target_file: format!("type-{index}.md").parse().unwrap(),
        base_content: "".into(),
        candidate_content: "".into(),
        units: (0..units).map(|rank| unit(index, rank)).collect(),
        run_prefix: format!("bench_gate_{index}"),
    };
    (0..types).map(spec).collect()
}

//! The settlement of a step: from verdicts to versions, state and reports, in one transaction (design 07, 12).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::candidates::Candidate;
use super::evidence::{gated_report, put_evidence};
use super::material::{Material, accuracy, validation_of};
use super::memory::{gate_facts, remembered};
use super::state::{Answers, snapshot_of, take_answers, tick_cooldown};
use crate::domain::{ContentHash, EpochStep, FileName, TaskType, VersionName};
use crate::evolution::gate::GateAction;
use crate::evolution::scheduler::SettledGate;
use crate::harness::inference::now_ms;
use crate::harness::versions::DEFAULT_SKILL;
use crate::store::rows::{
    Checkpoint, MadeBy, Pointer, PointerName, Pools, Probation, Progress, ScopeMark, StepAction, StepReport, Version,
    VersionKind, VersionPair,
};
use crate::store::{Batch, Scope, Snapshot, StoreError};

/// How one task type's part of a step ended.
pub(super) struct Verdict {
    pub(super) task_type: TaskType,
    pub(super) outcome: Outcome,
}

/// See [`Verdict`].
pub(super) enum Outcome {
    /// Nothing was gated.
    Idle { action: StepAction, note: String, edit_budget: Option<u32> },
    /// The gate decided.
    Gated { candidate: Box<Candidate>, gate: Box<SettledGate>, wall_ms: u64 },
}

/// Everything that a settlement needs; verdicts are in alphabetical order of their types.
pub(super) struct Settlement {
    pub(super) made_by: MadeBy,
    pub(super) place: EpochStep,
    pub(super) global_step: u32,
    /// The state of the step's start.
    pub(super) state: Checkpoint,
    /// The versions that the step began with.
    pub(super) current: VersionPair,
    /// The step's mark, settled.
    pub(super) mark: ScopeMark,
    /// The rollout's answers, pending until now.
    pub(super) answers: Answers,
    pub(super) system_pack: Option<String>,
    pub(super) tool_packs: BTreeMap<String, String>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) pools: Pools,
    pub(super) material: Arc<Material>,
}

/// What a settlement made.
pub(super) struct Settled {
    pub(super) state: Checkpoint,
    pub(super) reports: Vec<(TaskType, StepReport)>,
}

impl Settlement {
    /// The one transaction, and the state after it.
    pub(super) fn plan(self, snapshot: &Snapshot<'_>) -> Result<(Batch, Settled), StoreError> {
        let scope = Scope::Step(self.place);
        let mut work = Work {
            batch: Batch::new(),
            versions: Versions::begin(snapshot, self.current.skills, self.made_by.clone())?,
            state: self.state.clone(),
            reports: Vec::new(),
            step: &self,
        };
        take_answers(&mut work.state, &self.material, self.answers.clone());
        work.state.system_packs.extend(self.system_pack.clone());
        for (tool, pack) in &self.tool_packs {
            work.state.tool_packs.entry(tool.clone()).or_default().push(pack.clone());
        }
        for verdict in &self.verdicts {
            work.take(snapshot, verdict)?;
        }
        tick_cooldown(&mut work.state);
        work.state.steps_since_best_improved = work.state.steps_since_best_improved.saturating_add(1);
        work.state.progress = Progress::InEpoch { step: self.place, global_step: self.global_step };
        let Work { mut batch, versions, state, reports, .. } = work;
        batch.label("settlement");
        if versions.current != self.current.skills {
            let pair = VersionPair { skills: versions.current, ..self.current };
            // No validation was answered with these skills yet: the slow update does that.
            let pointer = Pointer { versions: pair, val_acc: None, moved_by: Some(self.made_by.clone()) };
            batch.put_pointer(PointerName::Current, &pointer);
        }
        for (task_type, report) in &reports {
            batch.put(&self.made_by.run, scope, task_type, report);
        }
        batch.put(&self.made_by.run, scope, &(), &self.mark);
        batch.put_checkpoint(&self.made_by.run, &state);
        Ok((batch, Settled { state, reports }))
    }

    fn report(&self, action: StepAction, source_version: VersionName) -> StepReport {
        StepReport {
            global_step: self.global_step,
            action,
            stop_reason: None,
            note: None,
            baseline_acc: None,
            candidate_acc: None,
            wins: None,
            losses: None,
            e_value: None,
            lambda: None,
            delta_hat: None,
            delta_shrunk: None,
            n_plan: None,
            n_used: None,
            n_excluded: None,
            errors: None,
            inferences: None,
            wasted_runs: None,
            wall_ms: None,
            edit_budget: None,
            clipped: None,
            source_version,
            new_version: None,
            target_file: None,
        }
    }
}

struct Work<'s> {
    batch: Batch,
    versions: Versions,
    state: Checkpoint,
    reports: Vec<(TaskType, StepReport)>,
    step: &'s Settlement,
}

impl Work<'_> {
    fn take(&mut self, snapshot: &Snapshot<'_>, verdict: &Verdict) -> Result<(), StoreError> {
        let (step, task_type) = (self.step, &verdict.task_type);
        let report = match &verdict.outcome {
            Outcome::Idle { action, note, edit_budget } => StepReport {
                note: Some(note.clone()),
                baseline_acc: accuracy(validation_of(&step.pools, task_type), &self.state.correctness),
                edit_budget: *edit_budget,
                ..step.report(*action, step.current.skills)
            },
            Outcome::Gated { candidate, gate, wall_ms } => {
                let run = &step.made_by.run;
                put_evidence(&mut self.batch, run, Scope::Step(step.place), &candidate.units, gate);
                let plain = step.report(StepAction::Reject, step.current.skills);
                let mut report = gated_report(&plain, candidate, gate, *wall_ms, task_type);
                match gate.outcome.action {
                    GateAction::AcceptConfirmed | GateAction::AcceptProvisional => {
                        report.new_version = Some(self.accept(snapshot, task_type, candidate, gate)?);
                    }
                    GateAction::Reject => self.reject(task_type, candidate, gate),
                }
                report
            }
        };
        self.reports.push((task_type.clone(), report));
        Ok(())
    }

    fn accept(
        &mut self,
        snapshot: &Snapshot<'_>,
        task_type: &TaskType,
        candidate: &Candidate,
        gate: &SettledGate,
    ) -> Result<VersionName, StoreError> {
        let (step, file) = (self.step, task_type.skill_file());
        let anchor = self.versions.current;
        // The snapshot for a rollback is taken before the candidate's own answers are merged.
        let (correctness_snapshot, unit_snapshot) = snapshot_of(&self.state, &step.material, task_type);
        let note = format!("{} {} {task_type}", step.place, gate.outcome.action.name());
        let text = &candidate.record.evolved_content;
        let version =
            self.versions.advance(snapshot, &mut self.batch, [(file.clone(), text.as_str())], "accept", note)?;
        let answers = gate.outcome.candidate_correctness.iter();
        let answers = answers.map(|(question, correct)| (question.clone(), Some(*correct)));
        take_answers(&mut self.state, &step.material, answers.collect::<Vec<_>>());
        self.state.rejected_edits.remove(task_type);
        if !self.state.changed_task_types.contains(task_type) {
            self.state.changed_task_types.push(task_type.clone());
            self.state.changed_task_types.sort();
        }
        let provisional = gate.outcome.action == GateAction::AcceptProvisional;
        if !provisional {
            // A confirmed accept is the new anchor.
            self.state.probations.remove(task_type);
        } else if file.as_str() != DEFAULT_SKILL {
            let edits = remembered(&candidate.record, &step.place.to_string(), step.global_step, None);
            let account = self.state.probations.entry(task_type.clone()).or_insert_with(|| Probation {
                anchor_skills_version: anchor,
                target_file: file,
                correctness_snapshot,
                unit_snapshot,
                opened_step: step.global_step,
                pending_edits: Vec::new(),
            });
            account.pending_edits.extend(edits);
        }
        Ok(version)
    }

    fn reject(&mut self, task_type: &TaskType, candidate: &Candidate, gate: &SettledGate) {
        let step = self.step;
        let facts = gate_facts(gate);
        let edits = remembered(&candidate.record, &step.place.to_string(), step.global_step, Some(&facts));
        self.state.rejected_edits.entry(task_type.clone()).or_default().extend(edits);
    }
}

/// New versions of one kind within one transaction: each copies the one before it and replaces some files.
pub(super) struct Versions {
    kind: VersionKind,
    pub(super) current: VersionName,
    files: BTreeMap<FileName, ContentHash>,
    next: VersionName,
    made_by: MadeBy,
}

impl Versions {
    /// Of skills, from the version that is current.
    pub(super) fn begin(snapshot: &Snapshot<'_>, current: VersionName, made_by: MadeBy) -> Result<Self, StoreError> {
        Self::of(VersionKind::Skills, snapshot, current, made_by)
    }

    /// Of either kind.
    pub(super) fn of(
        kind: VersionKind,
        snapshot: &Snapshot<'_>,
        current: VersionName,
        made_by: MadeBy,
    ) -> Result<Self, StoreError> {
        let files = snapshot.version(kind, current)?.map(|version| version.files).unwrap_or_default();
        Ok(Self { kind, current, files, next: snapshot.next_version(kind)?, made_by })
    }

    /// The next version, with these files replaced. A step that runs again finds the version that it made before.
    pub(super) fn advance<'t>(
        &mut self,
        snapshot: &Snapshot<'_>,
        batch: &mut Batch,
        replaced: impl IntoIterator<Item = (FileName, &'t str)>,
        source: &str,
        note: String,
    ) -> Result<VersionName, StoreError> {
        let mut files = self.files.clone();
        for (file, text) in replaced {
            files.insert(file, batch.put_content(text));
        }
        let parent = self.current;
        let same = |version: &Version| {
            version.files == files && version.parent == Some(parent) && version.made_by.as_ref() == Some(&self.made_by)
        };
        let existing = snapshot.versions(self.kind)?.into_iter().find(|(_, version)| same(version));
        let name = match existing {
            Some((name, _)) => name,
            None => {
                let version = Version {
                    files: files.clone(),
                    parent: Some(parent),
                    source: source.to_owned(),
                    note,
                    made_by: Some(self.made_by.clone()),
                    created_ms: now_ms(),
                };
                let name = self.next;
                batch.put_version(self.kind, name, &version);
                self.next = name.next();
                name
            }
        };
        self.current = name;
        self.files = files;
        Ok(name)
    }
}

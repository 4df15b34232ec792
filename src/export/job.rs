//! One export, from the request to the manifest.

use std::path::PathBuf;

use serde::Serialize;

use super::dataset::{Dataset, Filter};
use super::error::ExportError;
use super::manifest::{DatasetEntry, Manifest};
use super::sink::DatasetSink;
use super::staging::Staging;
use super::tables::all_datasets;
use crate::store::{SCHEMA_VERSION, StoreReader};

/// The file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Parquet, zstd.
    Parquet,
    /// JSON Lines.
    JsonLines,
}

impl Format {
    /// The file name's extension, which is also the format's name.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::JsonLines => "jsonl",
        }
    }
}

/// How rows are divided among files; by default one file holds a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartitionBy {
    /// One folder per run.
    pub run: bool,
    /// One folder per epoch.
    pub epoch: bool,
}

/// What to export.
#[derive(Debug, Clone)]
pub struct ExportRequest {
    /// Where to; made if it does not exist.
    pub folder: PathBuf,
    /// In which format.
    pub format: Format,
    /// Only these datasets; all if empty.
    pub tables: Vec<String>,
    /// Only these rows.
    pub filter: Filter,
    /// How to divide them.
    pub partition_by: PartitionBy,
}

/// What was exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportReport {
    /// The folder.
    pub folder: PathBuf,
    /// What the manifest says.
    #[serde(flatten)]
    pub manifest: Manifest,
}

/// Exports; `progress` learns the name of each dataset before it is written.
///
/// # Errors
/// [`ExportError`]; the folder is then as it was.
pub fn export(
    reader: &StoreReader,
    request: &ExportRequest,
    mut progress: impl FnMut(&'static str),
) -> Result<ExportReport, ExportError> {
    let datasets = chosen(&request.tables)?;
    if let Some(run) = &request.filter.run
        && reader.snapshot()?.run(run)?.is_none()
    {
        return Err(ExportError::UnknownRun(run.to_string()));
    }
    let staging = Staging::new(&request.folder)?;
    let mut entries = Vec::new();
    for dataset in &datasets {
        progress(dataset.name());
        let columns = dataset.columns();
        let mut sink = DatasetSink::new(dataset.name(), &columns, staging.path(), request.format, request.partition_by);
        dataset.stream(reader, &request.filter, &mut sink)?;
        sink.finish()?;
        let mut files: Vec<String> = sink.files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
        files.sort();
        entries.push(DatasetEntry { name: dataset.name().to_owned(), rows: sink.rows, files });
    }
    let manifest = Manifest {
        manifest_version: 1,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        store_schema: SCHEMA_VERSION,
        format: request.format.extension().to_owned(),
        run: request.filter.run.as_ref().map(ToString::to_string),
        epoch: request.filter.epoch,
        datasets: entries,
    };
    let names: Vec<&str> = datasets.iter().map(|dataset| dataset.name()).collect();
    let text = serde_json::to_vec_pretty(&manifest).map_err(std::io::Error::from);
    staging.publish(&names, &text.map_err(ExportError::write(&request.folder))?)?;
    Ok(ExportReport { folder: request.folder.clone(), manifest })
}

/// The datasets of these names, in the order of the documented schema; all if none is named.
fn chosen(names: &[String]) -> Result<Vec<Box<dyn Dataset>>, ExportError> {
    let all = all_datasets();
    for name in names {
        if !all.iter().any(|dataset| dataset.name() == name) {
            let distance = |known: &str| strsim::damerau_levenshtein(known, name);
            let nearest = all.iter().map(|dataset| dataset.name()).min_by_key(|known| distance(known));
            let nearest = nearest.filter(|known| distance(known) <= 3);
            return Err(ExportError::UnknownDataset { name: name.clone(), nearest });
        }
    }
    Ok(all.into_iter().filter(|dataset| names.is_empty() || names.iter().any(|name| name == dataset.name())).collect())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;

    use arrow::array::{Array, AsArray};
    use arrow::datatypes::UInt64Type;
    use arrow::record_batch::RecordBatch;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::domain::{ContentHash, Phase, RunId, StopReason, VersionName};
    use crate::store::rows::{Outcome, Prediction, Run, RunMode, RunState, Tokens, Version, VersionKind, VersionPair};
    use crate::store::{AnswerKey, Batch, PhaseKey, Scope, Store};

    const PAIR: VersionPair = VersionPair { skills: VersionName::FIRST, prompts: VersionName::FIRST };

    fn prediction(index: u32) -> Prediction {
        let infra = index.is_multiple_of(5);
        Prediction {
            task_type: "Action Reasoning".parse().unwrap(),
            video_id: "v1".parse().unwrap(),
            unit_id: format!("q{index:04}").parse().unwrap(),
            answer: (!infra).then(|| "B".into()),
            read_by: None,
            outcome: if infra { Outcome::Infra } else { Outcome::Correct },
            stop_reason: if infra { StopReason::Error } else { StopReason::Finished },
            raw_answer: "B \u{0}\u{1b}[31m <b>".into(),
            evidence: String::new(),
            reasoning: "because".into(),
            confidence: index.is_multiple_of(2).then_some(0.5),
            graded_credit: None,
            samples: 1,
            steps: 3,
            max_steps: 40,
            spans: 0,
            calls: 4,
            cached_calls: 1,
            tokens: Tokens { prompt: u64::from(index), cached: 0, completion: 7, estimated: false },
            latency_ms: 12,
            skills_version: VersionName::FIRST,
            prompts_version: VersionName::FIRST,
            error: infra.then(|| "timeout".into()),
            finished_ms: 1_700_000_000_000,
        }
    }

    /// A store with `count` predictions in each of three scopes of run `r1`.
    fn store(folder: &Path, count: u32) -> Store {
        let store = Store::create(folder.join("trm.redb")).unwrap();
        let run: RunId = "r1".parse().unwrap();
        let hash = ContentHash::of("x");
        let row = Run {
            sequence: 0,
            mode: RunMode::Train,
            state: RunState::Unfinished,
            config: "{}".into(),
            config_fingerprint: hash,
            data_fingerprint: hash,
            environment_fingerprint: hash,
            seed: 42,
            versions: PAIR,
            program_version: "0.1.0".into(),
            created_ms: 1,
            finished_ms: None,
            history: vec![],
            summary: None,
        };
        let mut batch = Batch::new();
        let hash = batch.put_content("# Text");
        for (kind, file) in [(VersionKind::Skills, "default-strategy.md"), (VersionKind::Prompts, "system.md")] {
            let version = Version {
                files: [(file.parse().unwrap(), hash)].into(),
                parent: None,
                source: "built-in".into(),
                note: String::new(),
                made_by: None,
                created_ms: 1,
            };
            batch.put_version(kind, VersionName::FIRST, &version);
        }
        batch.create_run(&run, row);
        for (scope, phase) in [
            (Scope::Baseline, Phase::Baseline),
            (Scope::step(1, 0), Phase::Rollout),
            (Scope::step(2, 10), Phase::Rollout),
        ] {
            for index in 0..count {
                let key =
                    AnswerKey { phase: PhaseKey::plain(phase), question: format!("q{index:04}").parse().unwrap() };
                batch.put(&run, scope, &key, &prediction(index));
            }
        }
        store.write_blocking(batch).unwrap();
        store
    }

    fn request(folder: &Path, format: Format) -> ExportRequest {
        ExportRequest {
            folder: folder.join("out"),
            format,
            tables: vec![],
            filter: Filter::default(),
            partition_by: PartitionBy::default(),
        }
    }

    fn read(path: &Path) -> Vec<RecordBatch> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
        reader.map(Result::unwrap).collect()
    }

    #[test]
    fn every_row_arrives_with_its_nulls_and_a_second_export_is_identical() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), 3_000);
        let request = request(folder.path(), Format::Parquet);
        let report = export(&store.reader().unwrap(), &request, |_| ()).unwrap();
        let entry = report.manifest.datasets.iter().find(|entry| entry.name == "predictions").unwrap();
        assert_eq!(entry.rows, 9_000);
        let path = request.folder.join("predictions.parquet");
        let batches = read(&path);
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 9_000);
        let nulls = |name: &str| batches.iter().map(|b| b.column_by_name(name).unwrap().null_count()).sum::<usize>();
        assert_eq!(nulls("correct"), 1_800, "INFRA is null, never false");
        assert_eq!(nulls("epoch"), 3_000);
        assert_eq!(nulls("graded_credit"), 9_000, "null is never 0");
        let tokens = |b: &RecordBatch| {
            b.column_by_name("prompt_tokens").unwrap().as_primitive::<UInt64Type>().values().iter().sum::<u64>()
        };
        assert_eq!(batches.iter().map(tokens).sum::<u64>(), 3 * 2_999 * 3_000 / 2);
        let before = fs::read(&path).unwrap();
        let manifest = fs::read(request.folder.join("_manifest.json")).unwrap();
        export(&store.reader().unwrap(), &request, |_| ()).unwrap();
        assert_eq!(before, fs::read(&path).unwrap());
        assert_eq!(manifest, fs::read(request.folder.join("_manifest.json")).unwrap());
        let left: Vec<_> = fs::read_dir(&request.folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with('.')), "{left:?}");
    }

    #[test]
    fn partitions_replace_the_single_file_and_filters_hold() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), 10);
        let mut request = request(folder.path(), Format::Parquet);
        export(&store.reader().unwrap(), &request, |_| ()).unwrap();
        request.partition_by = PartitionBy { run: true, epoch: true };
        export(&store.reader().unwrap(), &request, |_| ()).unwrap();
        assert!(!request.folder.join("predictions.parquet").exists(), "two layouts would be read twice");
        assert_eq!(read(&request.folder.join("predictions/run=r1/epoch=2/part-0.parquet"))[0].num_rows(), 10);
        request.partition_by = PartitionBy::default();
        request.filter.epoch = Some(2);
        request.tables = vec!["predictions".into()];
        let report = export(&store.reader().unwrap(), &request, |_| ()).unwrap();
        assert_eq!(report.manifest.datasets[0].rows, 10);
        assert!(!request.folder.join("predictions").exists());
    }

    #[test]
    fn json_lines_say_null_and_escape_control_characters() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), 10);
        let request = request(folder.path(), Format::JsonLines);
        export(&store.reader().unwrap(), &request, |_| ()).unwrap();
        let text = fs::read_to_string(request.folder.join("predictions.jsonl")).unwrap();
        assert_eq!(text.lines().count(), 30);
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["correct"], serde_json::Value::Null);
        assert_eq!(first["finished_at"], "2023-11-14T22:13:20Z");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn unknown_names_are_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), 1);
        let mut request = request(folder.path(), Format::Parquet);
        request.tables = vec!["prediction".into()];
        let error = export(&store.reader().unwrap(), &request, |_| ()).unwrap_err();
        assert!(matches!(error, ExportError::UnknownDataset { nearest: Some("predictions"), .. }));
        request.tables.clear();
        request.filter.run = Some("nope".parse().unwrap());
        assert!(matches!(export(&store.reader().unwrap(), &request, |_| ()), Err(ExportError::UnknownRun(_))));
        assert!(!request.folder.exists());
    }
}

//! Questions from Parquet tables: every column type that pandas, Polars, DuckDB and Arrow write, and damage.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Float64Array, Int64Array, LargeListArray,
    LargeStringArray, ListArray, RecordBatch, StringArray, StringViewArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;
use trm::data::load_questions;

use crate::data_support::{lines, load, question_with};

const OPTIONS: [[&str; 3]; 3] =
    [["A. red", "B. blue", "C. green"], ["one", "two", "three"], ["(A) x", "(B) y", "(C) z"]];

/// The columns of three questions as texts.
fn texts() -> Vec<(&'static str, Vec<Option<&'static str>>)> {
    vec![
        ("question_id", vec![Some("q1"), Some("q2"), Some("q3")]),
        ("video_id", vec![Some("v1"), Some("v1"), Some("v2")]),
        ("task_type", vec![Some("Action Reasoning"), Some("Action Reasoning"), Some("OCR Problems")]),
        ("question", vec![Some("Which colour?"), Some("How\u{2028}many?"), Some("Which letter?")]),
        ("answer", vec![Some("B"), Some("three"), Some("(A) x")]),
        ("pair_id", vec![Some("p"), Some("p"), None]),
        ("difficulty", vec![None, Some("hard"), None]),
    ]
}

/// Equal questions as lines of JSON.
fn same_as_lines() -> String {
    use serde_json::json;
    lines(&[
        question_with("q1", json!({"question": "Which colour?", "options": OPTIONS[0], "answer": "B", "pair_id": "p"})),
        question_with(
            "q2",
            json!({"question": "How\u{2028}many?", "options": OPTIONS[1], "answer": "C", "pair_id": "p",
                "difficulty": "hard"}),
        ),
        question_with(
            "q3",
            json!({"video_id": "v2", "task_type": "OCR Problems", "question": "Which letter?", "options": OPTIONS[2],
                "answer": "A"}),
        ),
    ])
}

type TextColumn = fn(Vec<Option<&'static str>>) -> ArrayRef;
type ListColumn = fn() -> ArrayRef;

fn utf8(values: Vec<Option<&'static str>>) -> ArrayRef {
    Arc::new(StringArray::from(values))
}

fn flat() -> Vec<&'static str> {
    OPTIONS.concat()
}

fn item(kind: DataType) -> Arc<Field> {
    Arc::new(Field::new_list_field(kind, true))
}

fn offsets<O: arrow::array::OffsetSizeTrait>() -> OffsetBuffer<O> {
    OffsetBuffer::from_lengths([3, 3, 3])
}

fn list(values: ArrayRef) -> ArrayRef {
    Arc::new(ListArray::new(item(values.data_type().clone()), offsets(), values, None))
}

fn large_list(values: ArrayRef) -> ArrayRef {
    Arc::new(LargeListArray::new(item(values.data_type().clone()), offsets(), values, None))
}

fn write(path: &Path, columns: &[(&str, ArrayRef)], properties: WriterProperties) {
    let fields: Vec<Field> =
        columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let batch =
        RecordBatch::try_new(schema.clone(), columns.iter().map(|(_, column)| column.clone()).collect()).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema, Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn table(text: TextColumn, options: ArrayRef) -> Vec<(&'static str, ArrayRef)> {
    let mut columns: Vec<(&str, ArrayRef)> = texts().into_iter().map(|(name, values)| (name, text(values))).collect();
    columns.push(("options", options));
    columns
}

struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

#[test]
fn every_layout_of_texts_and_lists_gives_the_same_questions_as_lines_do() {
    let desk = Desk::new();
    std::fs::write(desk.path("q.jsonl"), same_as_lines()).unwrap();
    let expected = load_questions(&desk.path("q.jsonl")).unwrap();
    assert_eq!((expected.questions.len(), expected.units.len()), (3, 2));
    let text_columns: [(&str, TextColumn); 4] = [
        ("utf8", utf8),
        ("large", |values| Arc::new(LargeStringArray::from(values))),
        ("view", |values| Arc::new(StringViewArray::from(values))),
        ("dictionary", |values| Arc::new(values.into_iter().collect::<DictionaryArray<Int32Type>>())),
    ];
    let list_columns: [(&str, ListColumn); 6] = [
        ("list", || list(Arc::new(StringArray::from(flat())))),
        ("list of large", || list(Arc::new(LargeStringArray::from(flat())))),
        ("list of views", || list(Arc::new(StringViewArray::from(flat())))),
        ("list of dictionary", || list(Arc::new(flat().into_iter().collect::<DictionaryArray<Int32Type>>()))),
        ("large list", || large_list(Arc::new(LargeStringArray::from(flat())))),
        ("fixed", || {
            let values = Arc::new(StringArray::from(flat()));
            Arc::new(FixedSizeListArray::new(item(DataType::Utf8), 3, values, None))
        }),
    ];
    for (text_name, text) in text_columns {
        for (list_name, options) in list_columns {
            let path = desk.path("q.parquet");
            write(&path, &table(text, options()), WriterProperties::default());
            let set = load_questions(&path).unwrap_or_else(|error| panic!("{text_name}, {list_name}: {error:?}"));
            assert_eq!(set.warnings.list(), [], "{text_name}, {list_name}");
            assert_eq!(
                (set.fingerprint, &set.questions),
                (expected.fingerprint, &expected.questions),
                "{text_name}, {list_name}"
            );
            assert_eq!(set.units, expected.units);
        }
    }
}

#[test]
fn the_usual_compressions_pages_and_row_groups_are_read() {
    let desk = Desk::new();
    let rows = 5_000;
    let ids: Vec<String> = (0..rows).map(|row| format!("q{row:05}")).collect();
    let same = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text; rows])) };
    let values: ArrayRef = Arc::new(StringArray::from(["left", "right"].repeat(rows)));
    let options = ListArray::new(item(DataType::Utf8), OffsetBuffer::from_lengths(vec![2; rows]), values, None);
    let mut fingerprints = Vec::new();
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())] {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("question_id", Arc::new(StringArray::from(ids.clone()))),
            ("video_id", same("v1")),
            ("task_type", same("Spatial Reasoning")),
            ("question", same("On which side?")),
            ("options", Arc::new(options.clone())),
            ("answer", same("right")),
        ];
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_max_row_group_row_count(Some(700))
            .set_data_page_row_count_limit(100)
            .build();
        let path = desk.path("many.parquet");
        write(&path, &columns, properties);
        let set = load_questions(&path).unwrap();
        assert_eq!(set.questions.iter().map(|q| q.question_id.as_str()).collect::<Vec<_>>(), ids);
        assert!(set.questions.iter().all(|question| question.answer == 'B'));
        fingerprints.push(set.fingerprint);
    }
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), 1);
}

#[test]
fn wrong_rows_are_named_by_record_and_column() {
    let desk = Desk::new();
    let path = desk.path("q.parquet");
    let mut columns = table(utf8, list(Arc::new(StringArray::from(flat()))));
    columns[4].1 = utf8(vec![Some("B"), None, Some("Q")]);
    columns[5].1 = utf8(vec![None, None, None]);
    columns[1].1 = utf8(vec![Some("v1"), Some("a/b"), Some("v2")]);
    write(&path, &columns, WriterProperties::default());
    let expected = [
        "error record.missing_field record 2",
        "error id.refused record 2, /video_id",
        "error question.answer_unknown record 3, /answer",
    ];
    assert_eq!(load(&path), (None, expected.map(str::to_owned).to_vec()));

    // A null list and a null inside a list.
    let mut columns = table(utf8, list(Arc::new(StringArray::from(flat()))));
    columns[5].1 = utf8(vec![None, None, None]);
    let mut with_null: Vec<Option<&str>> = flat().into_iter().map(Some).collect();
    with_null[4] = None;
    let nulls = NullBuffer::from(vec![false, true, true]);
    let values: ArrayRef = Arc::new(StringArray::from(with_null));
    columns[7].1 = Arc::new(ListArray::new(item(DataType::Utf8), offsets(), values, Some(nulls)));
    write(&path, &columns, WriterProperties::default());
    let (none, problems) = load(&path);
    assert_eq!(none, None);
    assert_eq!(problems, ["error record.missing_field record 1", "error record.wrong_type record 2, /options/1"]);
}

#[test]
fn numbers_flags_and_structures_are_refused_where_texts_belong_and_passed_over_elsewhere() {
    let desk = Desk::new();
    let path = desk.path("q.parquet");
    let options = || list(Arc::new(StringArray::from(flat())));
    let pairless = |mut columns: Vec<(&'static str, ArrayRef)>| {
        columns[5].1 = utf8(vec![None, None, None]);
        columns
    };
    let mut columns = pairless(table(utf8, options()));
    columns[0].1 = Arc::new(Int64Array::from(vec![1, 2, 3]));
    columns[4].1 = Arc::new(Float64Array::from(vec![f64::NAN, 1.0, 0.0]));
    write(&path, &columns, WriterProperties::default());
    let (none, problems) = load(&path);
    assert_eq!((none, problems.len()), (None, 6), "{problems:?}");
    assert_eq!(problems[0], "error record.wrong_type record 1, /question_id");

    let inner: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let structure = StructArray::from(vec![(Arc::new(Field::new("a", DataType::Utf8, false)), inner)]);
    let mut columns = pairless(table(utf8, options()));
    columns.push(("views", Arc::new(Int64Array::from(vec![1, 2, 3]))));
    columns.push(("checked", Arc::new(BooleanArray::from(vec![true, false, true]))));
    columns.push(("meta", Arc::new(structure)));
    write(&path, &columns, WriterProperties::default());
    let (count, warnings) = load(&path);
    assert_eq!(count, Some(3), "{warnings:?}");
    let told: Vec<_> =
        warnings.iter().filter(|text| text.starts_with("warning record.unknown_field record 1")).collect();
    assert_eq!((warnings.len(), told.len()), (3, 3), "{warnings:?}");
}

#[test]
fn a_cut_or_overwritten_table_is_a_problem_and_no_panic() {
    let desk = Desk::new();
    let path = desk.path("q.parquet");
    write(&path, &table(utf8, list(Arc::new(StringArray::from(flat())))), WriterProperties::default());
    let whole = std::fs::read(&path).unwrap();
    let mut refused = 0;
    for place in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        if place % 2 == 0 {
            damaged.truncate(place);
        } else {
            damaged[place] ^= 0x5a;
        }
        std::fs::write(&path, damaged).unwrap();
        // A changed byte inside a text may pass: what is refused is refused with its file.
        if let Err(error) = load_questions(&path) {
            let problems = error.report().unwrap();
            assert!(problems.list().iter().all(|problem| problem.file == path && !problem.hint.is_empty()));
            refused += 1;
        }
    }
    assert!(refused > whole.len() / 20, "{refused} of {} damages were refused", whole.len() / 7);
}

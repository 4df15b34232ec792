//! Parquet tables of questions, batch by batch.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use crate::data::intake::Intake;
use crate::data::json::Fields;
use crate::data::problem::{Place, Problem, Spot};

/// Rows per batch: a few megabytes at most in ordinary tables.
const BATCH_ROWS: usize = 1_024;

/// Reads all rows.
pub(super) fn read(file: File, spot: &Spot, intake: &mut dyn Intake) -> io::Result<()> {
    // The Parquet reader panics on some damaged files; no damaged file may end the process.
    let result = catch_unwind(AssertUnwindSafe(|| read_batches(file, spot, intake)));
    let failure = match result {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error,
        Err(_panic) => "its structure is damaged".to_owned(),
    };
    let what = format!("not a readable Parquet file: {failure}");
    intake.problem(Problem::error(
        "parquet.unreadable",
        spot,
        what,
        "write the file again, or give JSON Lines instead",
    ));
    Ok(())
}

fn read_batches(file: File, spot: &Spot, intake: &mut dyn Intake) -> Result<(), String> {
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| error.to_string())?;
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0).max(1);
    let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(|error| error.to_string())?;
    let mut record = 0;
    for batch in reader {
        let batch = batch.map_err(|error| error.to_string())?;
        let columns = columns(&batch)?;
        for row in 0..batch.num_rows() {
            record += 1;
            let fields = columns.iter().map(|(name, column)| (name.clone(), column.value(row))).collect();
            let place = Place { record: Some(record), ..Place::whole() };
            intake.record(&spot.with(place), Fields(fields));
        }
        intake.advance((bytes / rows).saturating_mul(batch.num_rows() as u64));
    }
    Ok(())
}

/// A column as the reader of records needs it.
enum Column {
    Text(ArrayRef),
    Texts(ArrayRef),
    Number(ArrayRef),
    Bool(ArrayRef),
    Other(ArrayRef),
}

fn columns(batch: &RecordBatch) -> Result<Vec<(String, Column)>, String> {
    batch
        .schema()
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, array)| column(array).map(|column| (field.name().clone(), column)))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

/// Strings of every layout become `Utf8`, lists of them `List<Utf8>`; what is neither keeps its own type.
fn column(array: &ArrayRef) -> Result<Column, arrow::error::ArrowError> {
    let kind = array.data_type();
    if is_text(kind) {
        return cast(array, &DataType::Utf8).map(Column::Text);
    }
    if let DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) = kind
        && is_text(item.data_type())
    {
        let list = DataType::List(Field::new_list_field(DataType::Utf8, true).into());
        return cast(array, &list).map(Column::Texts);
    }
    if kind.is_numeric() {
        return cast(array, &DataType::Float64).map(Column::Number);
    }
    Ok(if *kind == DataType::Boolean { Column::Bool(array.clone()) } else { Column::Other(array.clone()) })
}

fn is_text(kind: &DataType) -> bool {
    if let DataType::Dictionary(_, value) = kind {
        return is_text(value);
    }
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl Column {
    /// The value in JSON's terms, so that one reader of records serves all formats.
    fn value(&self, row: usize) -> Value {
        let (Self::Text(array) | Self::Texts(array) | Self::Number(array) | Self::Bool(array) | Self::Other(array)) =
            self;
        if row >= array.len() || array.is_null(row) {
            return Value::Null;
        }
        match self {
            Self::Text(array) => {
                array.as_string_opt::<i32>().map_or(Value::Null, |texts| Value::from(texts.value(row)))
            }
            Self::Texts(array) => array.as_list_opt::<i32>().map_or(Value::Null, |lists| texts(&lists.value(row))),
            Self::Number(array) => array
                .as_primitive_opt::<arrow::datatypes::Float64Type>()
                .map_or(Value::Null, |numbers| Value::from(numbers.value(row))),
            Self::Bool(array) => array.as_boolean_opt().map_or(Value::Null, |flags| Value::from(flags.value(row))),
            // A structure or a list of something else: reported where a text is expected, else an unknown field.
            Self::Other(_) => Value::Object(serde_json::Map::new()),
        }
    }
}

fn texts(items: &ArrayRef) -> Value {
    let Some(items) = items.as_string_opt::<i32>() else {
        return Value::Null;
    };
    items.iter().map(|item| item.map_or(Value::Null, Value::from)).collect()
}

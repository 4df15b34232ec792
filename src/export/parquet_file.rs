//! One Parquet file: batches of 8,192 rows, row groups of 65,536, zstd (measured: design 10).

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Float64Builder, ListBuilder, StringBuilder, StringDictionaryBuilder,
    TimestampMillisecondBuilder, UInt32Builder, UInt64Builder,
};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, TimeUnit};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::column::{Cell, ColumnDoc, ColumnType};
use super::error::ExportError;
use super::sink::RowFile;

const BATCH_ROWS: usize = 8_192;
const ROW_GROUP_ROWS: usize = 65_536;

/// A Parquet file under construction.
pub(super) struct ParquetFile {
    path: PathBuf,
    dataset: &'static str,
    schema: Arc<Schema>,
    builders: Vec<Builder>,
    rows: usize,
    writer: ArrowWriter<File>,
}

impl ParquetFile {
    pub(super) fn create(path: &Path, dataset: &'static str, columns: &[ColumnDoc]) -> Result<Self, ExportError> {
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let level = ZstdLevel::try_new(3).map_err(|error| encode(dataset, error))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_created_by("trm".to_owned())
            .set_key_value_metadata(Some(vec![KeyValue::new("trm.dataset".to_owned(), Some(dataset.to_owned()))]))
            .build();
        let file = File::create(path).map_err(ExportError::write(path))?;
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))
            .map_err(|error| encode(dataset, error))?;
        let builders = columns.iter().map(|column| Builder::new(column.kind)).collect();
        Ok(Self { path: path.to_path_buf(), dataset, schema, builders, rows: 0, writer })
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        if self.rows == 0 {
            return Ok(());
        }
        let arrays = self.builders.iter_mut().map(Builder::finish).collect();
        let batch =
            RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(|error| encode(self.dataset, error))?;
        self.rows = 0;
        self.writer.write(&batch).map_err(|error| encode(self.dataset, error))
    }
}

impl RowFile for ParquetFile {
    fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        for (builder, cell) in self.builders.iter_mut().zip(cells) {
            builder.push(cell);
        }
        self.rows += 1;
        if self.rows >= BATCH_ROWS { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        self.flush()?;
        let file = self.writer.into_inner().map_err(|error| encode(self.dataset, error))?;
        file.sync_all().map_err(ExportError::write(&self.path))
    }
}

fn encode(dataset: &'static str, error: impl std::error::Error + Send + Sync + 'static) -> ExportError {
    ExportError::Encode { dataset, source: Box::new(error) }
}

fn field(column: &ColumnDoc) -> Field {
    let metadata = HashMap::from([("doc".to_owned(), column.doc.to_owned())]);
    Field::new(column.name, data_type(column.kind), column.nullable).with_metadata(metadata)
}

fn data_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::UInt32 => DataType::UInt32,
        ColumnType::UInt64 => DataType::UInt64,
        ColumnType::Float64 => DataType::Float64,
        ColumnType::Text => DataType::Utf8,
        ColumnType::Label => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        ColumnType::TextList => DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))),
        ColumnType::Bytes => DataType::Binary,
    }
}

enum Builder {
    Bool(BooleanBuilder),
    UInt32(UInt32Builder),
    UInt64(UInt64Builder),
    Float64(Float64Builder),
    Text(StringBuilder),
    Label(StringDictionaryBuilder<Int32Type>),
    Timestamp(TimestampMillisecondBuilder),
    TextList(ListBuilder<StringBuilder>),
    Bytes(BinaryBuilder),
}

impl Builder {
    fn new(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnType::UInt32 => Self::UInt32(UInt32Builder::new()),
            ColumnType::UInt64 => Self::UInt64(UInt64Builder::new()),
            ColumnType::Float64 => Self::Float64(Float64Builder::new()),
            ColumnType::Text => Self::Text(StringBuilder::new()),
            ColumnType::Label => Self::Label(StringDictionaryBuilder::new()),
            ColumnType::Timestamp => Self::Timestamp(TimestampMillisecondBuilder::new().with_timezone("UTC")),
            ColumnType::TextList => Self::TextList(ListBuilder::new(StringBuilder::new())),
            ColumnType::Bytes => Self::Bytes(BinaryBuilder::new()),
        }
    }

    /// A cell of another type becomes a null, which the batch then refuses in a column without nulls:
    /// a wrong column table fails loudly and never shifts values.
    fn push(&mut self, cell: &Cell<'_>) {
        match (self, cell) {
            (Self::Bool(builder), Cell::Bool(value)) => builder.append_value(*value),
            (Self::Bool(builder), _) => builder.append_null(),
            (Self::UInt32(builder), Cell::UInt(value)) => builder.append_option(u32::try_from(*value).ok()),
            (Self::UInt32(builder), _) => builder.append_null(),
            (Self::UInt64(builder), Cell::UInt(value)) => builder.append_value(*value),
            (Self::UInt64(builder), _) => builder.append_null(),
            (Self::Float64(builder), Cell::Float(value)) => builder.append_value(*value),
            (Self::Float64(builder), _) => builder.append_null(),
            (Self::Text(builder), Cell::Text(value)) => builder.append_value(value),
            (Self::Text(builder), _) => builder.append_null(),
            (Self::Label(builder), Cell::Text(value)) => builder.append_value(value),
            (Self::Label(builder), _) => builder.append_null(),
            (Self::Timestamp(builder), Cell::Timestamp(value)) => builder.append_value(*value),
            (Self::Timestamp(builder), _) => builder.append_null(),
            (Self::TextList(builder), Cell::Texts(values)) => {
                for value in values {
                    builder.values().append_value(value);
                }
                builder.append(true);
            }
            (Self::TextList(builder), _) => builder.append(false),
            (Self::Bytes(builder), Cell::Bytes(value)) => builder.append_value(value),
            (Self::Bytes(builder), _) => builder.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::UInt32(builder) => Arc::new(builder.finish()),
            Self::UInt64(builder) => Arc::new(builder.finish()),
            Self::Float64(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Label(builder) => Arc::new(builder.finish()),
            Self::Timestamp(builder) => Arc::new(builder.finish()),
            Self::TextList(builder) => Arc::new(builder.finish()),
            Self::Bytes(builder) => Arc::new(builder.finish()),
        }
    }
}

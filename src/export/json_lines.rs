//! One JSON Lines file, for people without Parquet.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::column::{Cell, ColumnDoc};
use super::error::ExportError;
use super::sink::RowFile;

/// A JSON Lines file under construction.
pub(super) struct JsonLinesFile {
    path: PathBuf,
    names: Vec<&'static str>,
    out: BufWriter<File>,
}

impl JsonLinesFile {
    pub(super) fn create(path: &Path, columns: &[ColumnDoc]) -> Result<Self, ExportError> {
        let file = File::create(path).map_err(ExportError::write(path))?;
        let names = columns.iter().map(|column| column.name).collect();
        Ok(Self { path: path.to_path_buf(), names, out: BufWriter::new(file) })
    }
}

impl RowFile for JsonLinesFile {
    fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        let object: Map<String, Value> =
            self.names.iter().zip(cells).map(|(name, cell)| ((*name).to_owned(), value(cell))).collect();
        let line = Value::Object(object).to_string();
        self.out
            .write_all(line.as_bytes())
            .and_then(|()| self.out.write_all(b"\n"))
            .map_err(ExportError::write(&self.path))
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        let file = self.out.into_inner().map_err(|error| error.into_error()).map_err(ExportError::write(&self.path))?;
        file.sync_all().map_err(ExportError::write(&self.path))
    }
}

fn value(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Bool(value) => Value::from(*value),
        Cell::UInt(value) => Value::from(*value),
        Cell::Float(value) => Value::from(*value),
        Cell::Text(text) => Value::from(text.as_ref()),
        Cell::Timestamp(milliseconds) => {
            Timestamp::from_millisecond(*milliseconds).map_or(Value::Null, |time| Value::from(time.to_string()))
        }
        Cell::Texts(texts) => texts.iter().map(|text| Value::from(text.as_ref())).collect(),
        Cell::Bytes(bytes) => Value::from(STANDARD.encode(bytes)),
    }
}

//! A JSON list of objects, element by element: a list of 300 MB never stands in memory.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use super::jsonl::not_an_object;
use crate::data::intake::Intake;
use crate::data::json::{Element, syntax_problem};
use crate::data::lines::RECORD_LIMIT;
use crate::data::problem::{Place, Problem, Spot};

/// Reads all elements; a syntax error ends the reading, since nobody knows where the next element begins.
pub(super) fn read(reader: impl BufRead, file: &Spot, intake: &mut dyn Intake) -> io::Result<()> {
    let meter = Rc::new(Meter::default());
    let metered = Metered { reader, meter: meter.clone() };
    let mut deserializer = serde_json::Deserializer::from_reader(metered);
    let result =
        Elements { file, intake, meter: &meter }.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    let Err(error) = result else {
        return Ok(());
    };
    let record = meter.records.get();
    let place = Place { record: (record > 0).then_some(record), ..Place::line(error.line() as u64) };
    if meter.too_long() {
        intake.problem(Problem::error(
            "record.too_long",
            &file.with(place),
            format!("the record is longer than {} MiB", RECORD_LIMIT >> 20),
            "one question takes a few kilobytes; is this the right file?",
        ));
        return Ok(());
    }
    if error.is_io() {
        return Err(error.into());
    }
    intake.problem(syntax_problem(&error, &file.with(place), 0));
    Ok(())
}

/// Where the parser is: it reads byte by byte, so the counts are exact.
#[derive(Debug, Default)]
struct Meter {
    lines: Cell<u64>,
    bytes: Cell<u64>,
    record_start: Cell<u64>,
    records: Cell<u64>,
}

impl Meter {
    fn too_long(&self) -> bool {
        self.bytes.get() - self.record_start.get() > RECORD_LIMIT as u64
    }
}

struct Metered<R> {
    reader: R,
    meter: Rc<Meter>,
}

impl<R: BufRead> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.meter.too_long() {
            return Err(io::Error::other("the record is too long"));
        }
        let count = self.reader.read(buffer)?;
        let lines = buffer.iter().take(count).filter(|byte| **byte == b'\n').count();
        self.meter.lines.set(self.meter.lines.get() + lines as u64);
        self.meter.bytes.set(self.meter.bytes.get() + count as u64);
        Ok(count)
    }
}

struct Elements<'a> {
    file: &'a Spot,
    intake: &'a mut dyn Intake,
    meter: &'a Meter,
}

impl<'de> DeserializeSeed<'de> for Elements<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of questions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Elements { file, intake, meter } = self;
        loop {
            let begun = meter.bytes.get();
            meter.record_start.set(begun);
            let line = Cell::new(0);
            let Some(element) = elements.next_element_seed(Numbered { meter, line: &line })? else {
                return Ok(());
            };
            let record = meter.records.get();
            let spot = file.with(Place { record: Some(record), ..Place::line(line.get()) });
            match element {
                Element::Object(fields) => intake.record(&spot, fields),
                Element::Other(found) => intake.problem(not_an_object(found, &spot)),
            }
            intake.advance(meter.bytes.get() - begun);
        }
    }
}

/// Counts the element and notes its first line before reading it.
struct Numbered<'a> {
    meter: &'a Meter,
    line: &'a Cell<u64>,
}

impl<'de> DeserializeSeed<'de> for Numbered<'_> {
    type Value = Element;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Element, D::Error> {
        self.meter.records.set(self.meter.records.get() + 1);
        self.line.set(self.meter.lines.get() + 1);
        serde::Deserialize::deserialize(deserializer)
    }
}

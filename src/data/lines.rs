//! Lines of a file in bounded memory: split at `\n` only, so that U+0085 and U+2028 stay inside their text.

use std::io::{self, BufRead, Read};

/// The longest line or record that is read, in bytes.
pub(super) const RECORD_LIMIT: usize = 16 << 20;

/// A reader of lines that never holds more than one, and never more than a limit.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
    limit: usize,
    read: u64,
}

/// One line, its number counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) number: u64,
    pub(super) text: LineText<'a>,
}

/// What a line holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineText<'a> {
    /// Its bytes without the line end (`\n` or `\r\n`) and, in the first line, without a byte order mark.
    Bytes(&'a [u8]),
    /// It is longer than the limit and was skipped.
    TooLong,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self::with_limit(reader, RECORD_LIMIT)
    }

    fn with_limit(reader: R, limit: usize) -> Self {
        Self { reader, buffer: Vec::new(), number: 0, limit, read: 0 }
    }

    /// The next line; none at the end.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let limit = self.limit as u64 + 1;
        let count = (&mut self.reader).take(limit).read_until(b'\n', &mut self.buffer)?;
        if count == 0 {
            return Ok(None);
        }
        self.read += count as u64;
        self.number += 1;
        if count > self.limit && self.buffer.last() != Some(&b'\n') {
            self.read += self.reader.skip_until(b'\n')? as u64;
            return Ok(Some(Line { number: self.number, text: LineText::TooLong }));
        }
        let mut text = self.buffer.as_slice();
        text = text.strip_suffix(b"\n").unwrap_or(text);
        text = text.strip_suffix(b"\r").unwrap_or(text);
        if self.number == 1 {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        Ok(Some(Line { number: self.number, text: LineText::Bytes(text) }))
    }

    /// Bytes read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read
    }
}

/// What some editors put before UTF-8 text.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], limit: usize) -> Vec<(u64, Option<String>)> {
        let mut lines = Lines::with_limit(bytes, limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            let text = match line.text {
                LineText::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
                LineText::TooLong => None,
            };
            found.push((line.number, text));
        }
        assert_eq!(lines.bytes_read(), bytes.len() as u64);
        found
    }

    #[test]
    fn only_line_feeds_end_a_line() {
        let found = lines("\u{feff}a\u{85}b\u{2028}c\r\n\nd\re".as_bytes(), 100);
        let expected = [(1, "a\u{85}b\u{2028}c"), (2, ""), (3, "d\re")];
        assert_eq!(found, expected.map(|(number, text)| (number, Some(text.to_owned()))));
    }

    #[test]
    fn a_line_beyond_the_limit_is_skipped_whole() {
        let found = lines(b"12345678\n1234567\nx", 7);
        assert_eq!(found, [(1, None), (2, Some("1234567".into())), (3, Some("x".into()))]);
        assert_eq!(lines(b"12345678", 7), [(1, None)]);
    }
}

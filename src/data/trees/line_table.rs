//! Line numbers of offsets, without counting from the start each time.

use std::cell::OnceCell;

/// Where the lines of a text begin; made when first asked.
#[derive(Debug, Default)]
pub(super) struct LineTable(OnceCell<Vec<usize>>);

impl LineTable {
    /// The line, from 1, in which this offset of `bytes` lies. Always give the same bytes.
    pub(super) fn line_of(&self, bytes: &[u8], offset: usize) -> u64 {
        let ends = self.0.get_or_init(|| {
            bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(place, _)| place).collect()
        });
        ends.partition_point(|end| *end < offset) as u64 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_lie_in_their_lines() {
        let table = LineTable::default();
        let lines: Vec<u64> = (0..5).map(|offset| table.line_of(b"a\nb\n\n", offset)).collect();
        assert_eq!(lines, [1, 1, 2, 2, 3]);
    }
}

//! Tables that fit the terminal.

use comfy_table::presets;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};
use unicode_width::UnicodeWidthStr;

use super::text::printable;

/// Spaces between columns.
const GAP: u16 = 2;

/// A table without lines. If it is wider than `width` columns (none for no limit), cells wrap between words; where words
/// would break, each row becomes a block of lines, a column a line.
pub(super) fn table<const N: usize>(header: [&str; N], rows: Vec<[String; N]>, width: Option<u16>) -> String {
    if let Some(width) = width.filter(|width| !rows.is_empty() && breaks_words(&header, &rows, *width)) {
        let block = |row: [String; N]| {
            in_columns(
                None,
                header.map(str::to_owned).into_iter().zip(row).map(<[String; 2]>::from).collect(),
                Some(width),
            )
        };
        return rows.into_iter().map(block).collect::<Vec<_>>().join("\n\n");
    }
    in_columns(Some(header), rows, width)
}

/// Whether a column would be narrower than its longest word; the first one never wraps.
fn breaks_words<const N: usize>(header: &[&str; N], rows: &[[String; N]], width: u16) -> bool {
    let longest_word = |text: &str| text.split_whitespace().map(UnicodeWidthStr::width).max().unwrap_or(0);
    let needed = |(column, name): (usize, &&str)| {
        let of = |text: &str| if column == 0 { text.width() } else { longest_word(text) };
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| of(&printable(cell)));
        cells.chain([of(name)]).max().unwrap_or(0)
    };
    let gaps = usize::from(GAP) * N.saturating_sub(1);
    header.iter().enumerate().map(needed).sum::<usize>() + gaps > usize::from(width)
}

fn in_columns<const N: usize>(header: Option<[&str; N]>, rows: Vec<[String; N]>, width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if let Some(header) = header {
        table.set_header(header);
    }
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for row in rows {
        table.add_row(row.map(|cell| printable(&cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    // The first column names the row: it is what one copies.
    if let Some(column) = table.column_mut(0) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_wraps_and_loses_nothing() {
        let rows = vec![["gate.e_confirm".to_owned(), "20.0 and some more words".to_owned(), "default".to_owned()]];
        let text = table(["KEY", "VALUE", "ORIGIN"], rows.clone(), Some(40));
        assert!(text.lines().all(|line| line.width() <= 40), "{text}");
        assert!(text.contains("words"));
        assert!(text.starts_with("KEY"), "a table still: {text}");
        let wide = table(["KEY", "VALUE", "ORIGIN"], rows, None);
        assert_eq!(wide.lines().count(), 2);
    }

    #[test]
    fn where_words_would_break_a_row_is_a_block_of_lines() {
        let row = |step: &str| [step, "52.5 %", "1", "v2 Spatial Perception"].map(str::to_owned);
        let text = table(["STEP", "BATCH", "CONFIRMED", "NEW VERSIONS"], vec![row("e1 s0"), row("e1 s1")], Some(32));
        let block = |step: &str| {
            format!(
                "STEP          {step}\nBATCH         52.5 %\nCONFIRMED     1\nNEW VERSIONS  v2 Spatial\n              Perception"
            )
        };
        assert_eq!(text, format!("{}\n\n{}", block("e1 s0"), block("e1 s1")));
    }
}

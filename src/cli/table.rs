//! Tables that fit the terminal.

use comfy_table::presets;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};

use super::text::printable;

/// A table without lines; cells wrap if it is wider than `width` columns, none for no limit.
pub(super) fn table<const N: usize>(header: [&str; N], rows: Vec<[String; N]>, width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for row in rows {
        table.add_row(row.map(|cell| printable(&cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
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
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn a_narrow_terminal_wraps_and_loses_nothing() {
        let rows = vec![["gate.e_confirm".to_owned(), "20.0 and some more words".to_owned(), "default".to_owned()]];
        let text = table(["KEY", "VALUE", "ORIGIN"], rows.clone(), Some(40));
        assert!(text.lines().all(|line| line.width() <= 40), "{text}");
        assert!(text.contains("words"));
        let wide = table(["KEY", "VALUE", "ORIGIN"], rows, None);
        assert_eq!(wide.lines().count(), 2);
    }
}

//! Small pictures of numbers in text.

/// E along the ladder as one line of eight heights, on a logarithmic scale from 0 to the threshold; a dot where a unit
/// was excluded.
pub(super) fn sparkline(values: &[Option<f64>], full: f64) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let top = full.max(f64::MIN_POSITIVE).ln_1p();
    values
        .iter()
        .map(|value| match value {
            None => '·',
            Some(value) => {
                let share = (value.max(0.0).ln_1p() / top).clamp(0.0, 1.0);
                let place = HEIGHTS.iter().zip(1_u8..).find(|(_, upper)| share * 8.0 <= f64::from(*upper));
                place.map_or('█', |(height, _)| *height)
            }
        })
        .collect()
}

/// Values over their ranks on a logarithmic scale, with labelled thresholds; as many columns as fit.
pub(super) fn plot(values: &[Option<f64>], thresholds: &[(f64, &str)], width: Option<u16>) -> Vec<String> {
    const ROWS: u8 = 9;
    const MARGIN: usize = 9;
    let known = values.iter().flatten().copied().chain(thresholds.iter().map(|(value, _)| *value));
    let (mut low, mut high) = (1.0_f64, 1.0_f64);
    for value in known.filter(|value| value.is_finite() && *value > 0.0) {
        low = low.min(value);
        high = high.max(value);
    }
    // E falls without a floor on losses: what is far below 1 says the same as 0.01.
    let (low, high) = (low.max(0.01).ln(), high.max(2.0).ln());
    let columns = usize::from(width.unwrap_or(100)).saturating_sub(MARGIN + 2).max(8);
    let every = values.len().div_ceil(columns).max(1);
    let kept: Vec<Option<f64>> =
        values.chunks(every).map(|chunk| chunk.iter().rev().flatten().next().copied()).collect();
    let row_of = |value: f64| {
        let share = (value.max(f64::MIN_POSITIVE).ln().clamp(low, high) - low) / (high - low);
        (share * f64::from(ROWS - 1)).round()
    };
    // What is short of a threshold must not be drawn upon it.
    let row_of_value = |value: f64| {
        let row = row_of(value);
        let short =
            thresholds.iter().any(|(threshold, _)| value < *threshold && (row_of(*threshold) - row).abs() < 0.5);
        if short { row - 1.0 } else { row }
    };
    (0..ROWS)
        .rev()
        .map(|row| {
            let is_here = |row_of: f64| (row_of - f64::from(row)).abs() < 0.5;
            let threshold = thresholds.iter().find(|(value, _)| is_here(row_of(*value)));
            let level = (low + (high - low) * f64::from(row) / f64::from(ROWS - 1)).exp();
            let label = threshold.map_or(level, |(value, _)| *value);
            let line: String = kept
                .iter()
                .map(|value| match (value, threshold) {
                    (Some(value), _) if is_here(row_of_value(*value)) => '●',
                    (_, Some(_)) => '┄',
                    (_, None) => ' ',
                })
                .collect();
            let name = threshold.map_or("", |(_, name)| *name);
            format!("{label:>7.2} │{line} {name}").trim_end().to_owned()
        })
        .chain([format!("        └{} rank 0 to {}", "─".repeat(kept.len()), values.len().saturating_sub(1))])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_e_rises_and_an_excluded_unit_is_a_dot() {
        let line = sparkline(&[Some(1.0), None, Some(4.0), Some(32.0)], 20.0);
        let heights: Vec<char> = line.chars().collect();
        assert_eq!((heights[1], heights[3]), ('·', '█'));
        assert!(heights[0] < heights[2] && heights[2] < heights[3], "{line}");
    }

    #[test]
    fn any_number_of_units_fits_the_width() {
        for count in [0_usize, 1, 7, 40, 5_000] {
            let values: Vec<Option<f64>> = (0..60).cycle().take(count).map(|place| Some(1.1_f64.powi(place))).collect();
            let lines = plot(&values, &[(20.0, "confirmed"), (3.0, "on probation")], Some(60));
            assert_eq!(lines.len(), 10);
            assert!(lines.iter().all(|line| line.chars().count() <= 60 + 14), "{lines:#?}");
            assert!(lines.iter().any(|line| line.contains("20.00") && line.ends_with("confirmed")));
        }
        let odd = [Some(0.0), Some(f64::INFINITY), Some(f64::NAN), None];
        assert_eq!(plot(&odd, &[], None).len(), 10);
    }
}

//! How many edits a step may make.

/// The edit budget of a step: linear from `start` at the first to `end` at the last step, halves to even.
///
/// budget(g) = round_half_even(start + (end − start) · min(g, T−1) / (T−1)), T = `total_steps`, g = `global_step`
/// (design 12); `start` if T ≤ 1. Exact in integers.
#[must_use]
pub fn edit_budget_at(global_step: u32, total_steps: u32, start: u32, end: u32) -> u32 {
    if total_steps <= 1 {
        return start;
    }
    let span = i128::from(total_steps) - 1;
    let step = i128::from(global_step).min(span);
    let numerator = i128::from(start) * span + (i128::from(end) - i128::from(start)) * step;
    let (whole, rest) = (numerator / span, numerator % span);
    let up = match (2 * rest).cmp(&span) {
        std::cmp::Ordering::Greater => 1,
        std::cmp::Ordering::Equal => whole % 2,
        std::cmp::Ordering::Less => 0,
    };
    // Between start and end, hence it fits.
    u32::try_from(whole + up).unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_defaults_fall_from_six_to_two() {
        let budgets: Vec<u32> = (0..10).map(|step| edit_budget_at(step, 9, 6, 2)).collect();
        // 6, 5.5, 5, 4.5, 4, 3.5, 3, 2.5, 2: halves go to the even neighbour.
        assert_eq!(budgets, [6, 6, 5, 4, 4, 4, 3, 2, 2, 2]);
    }

    #[test]
    fn a_single_step_has_the_start_budget() {
        assert_eq!(edit_budget_at(0, 1, 6, 2), 6);
        assert_eq!(edit_budget_at(5, 0, 6, 2), 6);
    }

    proptest! {
        #[test]
        fn the_budget_never_grows_and_stays_within_its_ends(end in 1_u32..50, more in 0_u32..50, total in 0_u32..500, step in 0_u32..600) {
            let start = end + more;
            let now = edit_budget_at(step, total, start, end);
            prop_assert!((end..=start).contains(&now));
            prop_assert!(edit_budget_at(step + 1, total, start, end) <= now);
        }

        #[test]
        fn it_equals_rounding_in_floating_point(end in 1_u32..30, more in 0_u32..30, total in 2_u32..200, step in 0_u32..200) {
            let start = end + more;
            let share = f64::from(step.min(total - 1)) / f64::from(total - 1);
            let exact = f64::from(start) + (f64::from(end) - f64::from(start)) * share;
            // Products that are not exact may land on the other side of a half.
            let near_half = (exact.fract() - 0.5).abs() < 1e-9;
            if !near_half {
                prop_assert_eq!(f64::from(edit_budget_at(step, total, start, end)), exact.round_ties_even());
            }
        }
    }
}

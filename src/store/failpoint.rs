//! Places where a crash test ends the process, as `kill -9` would; nothing without the feature `failpoints`.
//!
//! `TRM_FAILPOINT=NAME:N` aborts at the N-th passage (from 1) of the point NAME. The store has
//! `store.before_commit` and `store.after_commit`; a commit that contains a labelled batch also
//! passes `store.before_commit/LABEL` and `store.after_commit/LABEL`, and so does the creation of a store
//! (`initialise`) and the way from an older schema (`migrate`).

/// Passes a point.
#[cfg(feature = "failpoints")]
pub fn hit(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static PLAN: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let plan = PLAN.get_or_init(|| {
        let text = std::env::var("TRM_FAILPOINT").ok()?;
        let (point, count) = text.rsplit_once(':')?;
        Some((point.to_owned(), count.parse().ok()?))
    });
    if let Some((point, count)) = plan
        && point == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *count
    {
        std::process::abort();
    }
}

/// Passes a point: nothing in a program without the feature.
#[cfg(not(feature = "failpoints"))]
pub fn hit(_name: &str) {}

//! From the configured name to a launch policy.

use crate::config::LaunchPolicy as Name;
use crate::evolution::scheduler::{ExpectedNeed, LaunchPolicy, RoundRobin};

/// The policy of this name; `need_tau` matters to `expected_need` only.
#[must_use]
pub fn launch_policy(name: Name, need_tau: f64) -> Box<dyn LaunchPolicy> {
    match name {
        Name::RoundRobin => Box::new(RoundRobin::default()),
        Name::ExpectedNeed => Box::new(ExpectedNeed::new(need_tau)),
    }
}

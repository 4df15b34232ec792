//! What stands around every model call, in this order: cache, single flight, budget, concurrency and rates, one retry
//! loop, circuit breaker, endpoint (design 06).

mod bucket;
mod budget;
mod endpoints;
mod flight;
mod gate;
mod governed;
mod retry;

pub(super) use budget::{Amount, Budget};
pub(super) use endpoints::Endpoints;
pub(super) use governed::{Governed, Surroundings};

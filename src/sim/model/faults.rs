//! Technical failures on purpose: which request fails follows from its seed, never from the order of arrival.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::noise::rng;
use super::settings::FaultRates;
use crate::domain::{ChatErrorKind, ContentHash};

/// How a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    RateLimited,
    ServerError,
    Timeout,
    Malformed,
    Truncated,
}

impl Fault {
    /// The class of the failure in process; a truncated reply is no failure of the call.
    pub(super) fn kind(self) -> Option<ChatErrorKind> {
        match self {
            Self::RateLimited => Some(ChatErrorKind::RateLimited),
            Self::ServerError => Some(ChatErrorKind::Server),
            Self::Timeout => Some(ChatErrorKind::Timeout),
            Self::Malformed => Some(ChatErrorKind::Malformed),
            Self::Truncated => None,
        }
    }
}

/// Remembers which transient failures have already happened.
#[derive(Debug, Default)]
pub(super) struct Faults {
    happened: Mutex<HashMap<ContentHash, u32>>,
}

/// A transient failure happens so often before the same request succeeds.
const TRANSIENT_TRIES: u32 = 1;

impl Faults {
    /// Whether and how this try of the request fails.
    pub(super) fn draw(&self, seed: u32, request: ContentHash, turn: usize, rates: &FaultRates) -> Option<Fault> {
        let mut dice = rng(seed, &["fault", &turn.to_string()]);
        let mut roll = rand::RngExt::random::<f64>(&mut dice);
        let kinds = [
            (rates.permanent, Fault::ServerError, true),
            (rates.truncated, Fault::Truncated, true),
            (rates.rate_limited, Fault::RateLimited, false),
            (rates.server_error, Fault::ServerError, false),
            (rates.timeout, Fault::Timeout, false),
            (rates.malformed, Fault::Malformed, false),
        ];
        for (rate, fault, always) in kinds {
            if roll < rate {
                return (always || self.first_time(request)).then_some(fault);
            }
            roll -= rate;
        }
        None
    }

    fn first_time(&self, request: ContentHash) -> bool {
        let mut happened = self.happened.lock().unwrap_or_else(PoisonError::into_inner);
        let count = happened.entry(request).or_default();
        *count += 1;
        *count <= TRANSIENT_TRIES
    }
}

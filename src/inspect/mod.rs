//! Reading views over the store, for people and as JSON.

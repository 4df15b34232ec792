//! `trm` trains the *text* of an agent instead of its weights.
//!
//! The agent answers multiple-choice questions about long videos by walking a
//! video tree; what it knows about *how* to search is Markdown. `trm` evolves
//! that Markdown and accepts an edit only when a paired, anytime-valid
//! statistical test says that it helps.
//!
//! Layers, from the outside in (see `ARCHITECTURE.md`):
//! [`cli`] → [`harness`] → [`evolution`] (pure), [`agent`] → [`llm`], all of
//! them over [`store`] and the words of [`domain`].

pub mod agent;
pub mod assets;
pub mod cli;
pub mod config;
pub mod data;
pub mod domain;
pub mod evolution;
pub mod export;
pub mod harness;
pub mod inspect;
pub mod llm;
pub mod runtime;
pub mod sim;
pub mod store;

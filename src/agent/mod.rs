//! The agent: walks a video tree with tools and answers one question.

pub mod answer;

//! Access to language models: client, governor, cache, accounting.

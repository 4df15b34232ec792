//! The store: one transactional redb file that holds all state of a workspace.

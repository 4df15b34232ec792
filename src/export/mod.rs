//! Analysis leaves the store here: Parquet and JSON Lines.

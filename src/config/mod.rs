//! The run configuration: layered sources, origins, validation, schema.

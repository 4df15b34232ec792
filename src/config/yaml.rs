//! The configuration as YAML, complete and without comments.

use super::{ConfigError, RunConfig};

impl RunConfig {
    /// Every key as YAML; reading it back gives the same configuration. Holds no secret.
    ///
    /// # Errors
    /// [`ConfigError::Write`], if a value has no YAML form.
    pub fn to_yaml(&self) -> Result<String, ConfigError> {
        serde_saphyr::to_string(self).map_err(|error| ConfigError::Write(error.to_string()))
    }
}

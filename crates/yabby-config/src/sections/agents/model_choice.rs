//! A model and those to fall back to.

use yabby_config_derive::section;

/// A model, and those to fall back to.
#[section]
pub struct ModelChoice {
    /// The model, as `provider/model` or by its short name.
    pub primary: Option<String>,
    /// The models to try when it fails, in this order.
    pub fallbacks: Option<Vec<String>>,
}

/// A model, alone or with the models to fall back to.
#[section]
#[serde(untagged)]
pub enum ModelReference {
    Primary(String),
    Choice(ModelChoice),
}

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

impl ModelReference {
    /// The model itself.
    pub fn primary(&self) -> Option<&str> {
        match self {
            Self::Primary(model) => Some(model),
            Self::Choice(choice) => choice.primary.as_deref(),
        }
    }

    /// The models to try when it fails, if that is said at all.
    pub fn fallbacks(&self) -> Option<&[String]> {
        match self {
            Self::Primary(_) => None,
            Self::Choice(choice) => choice.fallbacks.as_deref(),
        }
    }
}

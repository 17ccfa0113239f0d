//! What the configuration and the rules both stand on: JSON and text as the reference's language has them, ids, paths,
//! durations, names of models and of secrets.

pub mod duration;
pub mod id;
pub mod json;
pub mod model_ref;
pub mod path;
pub mod secret_name;
pub mod text;

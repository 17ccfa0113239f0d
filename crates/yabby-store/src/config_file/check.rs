//! From a resolved value to a configuration: legacy keys, the schema, defaults (`config.md` §2, §3).

use yabby_config::environment::Environment;
use yabby_config::home;
use yabby_config::issue::Issue;
use yabby_domain::json::{Object, Value};

use crate::paths::Place;

pub(super) struct Checked {
    /// With the defaults that are shown and written.
    pub config: Value,
    /// With those of a run as well; empty if there are issues.
    pub for_run: Value,
    pub issues: Vec<Issue>,
    pub warnings: Vec<Issue>,
    pub legacy: Vec<Issue>,
    pub notices: Vec<String>,
}

pub(super) fn check(value: &Value, place: &Place, _environment: &Environment) -> Checked {
    let mut config = value.clone();
    home::expand(&mut config, &place.home.to_string_lossy(), &place.current.to_string_lossy());
    Checked {
        for_run: config.clone(),
        config,
        issues: vec![],
        warnings: vec![],
        legacy: vec![],
        notices: vec![],
    }
}

/// What is shown where there is no file.
pub(super) fn defaults_of_nothing(_environment: &Environment) -> Value {
    Value::Object(Object::new())
}

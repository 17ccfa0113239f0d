//! From a resolved value to a configuration: legacy keys, the schema, defaults (`config.md` §2, §3).

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use yabby_config::environment::Environment;
use yabby_config::issue::Issue;
use yabby_config::read::read;
use yabby_config::sections::Sections;
use yabby_config::validate::{World, validate};
use yabby_config::{defaults, home, legacy};
use yabby_domain::json::{self, Object, Value};
use yabby_domain::text;

use super::{VERSION, plugins};
use crate::paths::Place;

pub(super) struct Checked {
    /// With the defaults that are shown and written; as it was given if there are issues.
    pub config: Value,
    /// With those of a run as well; empty if there are issues.
    pub for_run: Value,
    pub issues: Vec<Issue>,
    pub warnings: Vec<Issue>,
    pub legacy: Vec<Issue>,
    pub notices: Vec<String>,
}

pub(super) fn check(value: Value, place: &Place, environment: &Environment) -> Checked {
    let (home, current) = (place.home.to_string_lossy(), place.current.to_string_lossy());
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let plugins = plugins::found(&value, place);
    let validation = validate(
        &value,
        &World {
            home: &home,
            state: &place.folder.path().to_string_lossy(),
            working_folder: &current,
            env: &variable,
            exists: &|path| Path::new(path).exists(),
            plugins: &plugins,
        },
    );
    let mut checked = Checked {
        legacy: legacy::issues(&value),
        notices: notices(&value),
        config: value,
        for_run: Value::Object(Object::new()),
        issues: validation.issues,
        warnings: validation.warnings,
    };
    if checked.issues.is_empty() {
        checked.for_run = validation.config.clone();
        defaults::fill_for_run(&mut checked.for_run, &variable);
        checked.config = validation.config;
        defaults::fill(&mut checked.config);
        for value in [&mut checked.config, &mut checked.for_run] {
            home::expand(value, &home, &current);
        }
    }
    checked
}

/// What is shown where there is no file.
pub(super) fn without_file(environment: &Environment) -> Value {
    defaults::without_file(&|name| environment.get(name).map(str::to_owned))
}

/// What the reference says about a configuration without refusing it.
fn notices(value: &Value) -> Vec<String> {
    let mut notices = Vec::new();
    if json::at(value, &["gateway", "token"]).is_some() {
        notices.push(
            "Config uses \"gateway.token\". This key is ignored; use \"gateway.auth.token\" instead."
                .to_owned(),
        );
    }
    let config: Sections = read(value).unwrap_or_default();
    if config.session.main_key.as_deref().and_then(text::non_blank).is_some_and(|key| key != "main") {
        notices.push("session.mainKey is ignored; main session is always \"main\".".to_owned());
    }
    let touched = config.meta.last_touched_version.as_deref();
    if let Some(touched) = touched.filter(|touched| version(touched) > version(VERSION)) {
        notices.push(format!(
            "Config was last written by a newer OpenClaw ({touched}); current version is {VERSION}."
        ));
    }
    notices
}

/// Year, month, day and revision; `None` if it is no version.
fn version(text: &str) -> Option<[u64; 4]> {
    static FORM: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^\s*v?([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9]+))?").ok());
    let found = FORM.as_ref()?.captures(text)?;
    let part = |number: usize| found.get(number).and_then(|part| part.as_str().parse().ok());
    Some([part(1)?, part(2)?, part(3)?, part(4).unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_newer_openclaw_is_pointed_out() {
        for (touched, is_newer) in [
            ("2026.2.3", false),
            ("2026.2.3-1", true),
            ("v2026.10.0", true),
            ("2025.12.31", false),
            ("2027.1.1", true),
            ("tomorrow", false),
        ] {
            let value = json::parse(&format!(r#"{{"meta":{{"lastTouchedVersion":"{touched}"}}}}"#)).unwrap();
            assert_eq!(!notices(&value).is_empty(), is_newer, "{touched}");
        }
    }
}

//! The variables that a configuration is read with: those of the process, then those of dotenv files
//! and of the `env` section that it does not have (`config.md` §1, §2.2).
//!
//! The process keeps its own; ours are a value that is handed on.

use std::collections::BTreeMap;

use yabby_base::json::{self, Value};
use yabby_base::text;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value without the blanks around it, unless there is nothing else.
    pub fn non_blank(&self, name: &str) -> Option<&str> {
        text::non_blank(self.get(name)?)
    }

    /// The first of these variables that has a value.
    pub fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.non_blank(name))
    }

    /// Takes in a dotenv file: a variable that is there, even an empty one, stays as it is.
    pub fn add(&mut self, variables: impl IntoIterator<Item = (String, String)>) {
        for (name, value) in variables {
            self.0.entry(name).or_insert(value);
        }
    }

    /// Takes in the `env` section of a configuration: a variable with a value stays as it is.
    pub fn add_section(&mut self, config: &Value) {
        for (name, value) in section(config) {
            if self.non_blank(&name).is_none() {
                self.0.insert(name, value);
            }
        }
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Sets a variable that has no value.
    pub fn set_if_blank(&mut self, name: &str, value: &str) {
        if self.non_blank(name).is_none() {
            self.0.insert(name.to_owned(), value.to_owned());
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        Self(variables.into_iter().collect())
    }
}

/// The variables of an `env` section: `vars`, and the texts beside it.
fn section(config: &Value) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let Some(env) = json::at(config, &["env"]).and_then(Value::as_object) else { return variables };
    if let Some(vars) = env.get("vars").and_then(Value::as_object) {
        for (name, value) in vars.iter().filter(|(_, value)| json::truthy(value)) {
            let text = value.as_str().map_or_else(|| json::stringify(value), str::to_owned);
            variables.insert(name.clone(), text);
        }
    }
    for (name, value) in env.iter().filter(|(name, _)| *name != "shellEnv" && *name != "vars") {
        if let Some(value) = value.as_str().filter(|value| text::non_blank(value).is_some()) {
            variables.insert(name.clone(), value.to_owned());
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_env_section_fills_what_is_blank() {
        let config = json::parse(
            r#"{"env":{"A":"direct","B":" ","C":1,"shellEnv":{"enabled":true},
                "vars":{"A":"vars","D":"${A}z","E":"","F":"new","G":5,"H":"new"}}}"#,
        );
        let mut it = environment(&[("F", " \t"), ("H", "old")]);
        it.add_section(&config.unwrap());
        //  name  value
        let table = [
            ("A", Some("direct")),
            ("B", None),
            ("C", None),
            ("D", Some("${A}z")),
            ("E", None),
            ("F", Some("new")),
            ("G", Some("5")),
            ("H", Some("old")),
            ("shellEnv", None),
        ];
        for (name, value) in table {
            assert_eq!(it.get(name), value, "{name}");
        }
    }

    #[test]
    fn dotenv_files_never_override() {
        let mut it = environment(&[("A", "process"), ("B", "")]);
        let file = |pairs: [(&str, &str); 3]| pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        it.add(file([("A", "1"), ("B", "1"), ("C", "1")]));
        it.add(file([("C", "2"), ("D", "2"), ("A", "2")]));
        assert_eq!(it, environment(&[("A", "process"), ("B", ""), ("C", "1"), ("D", "2")]));
        assert_eq!((it.first(&["B", "D", "A"]), it.first(&["B"])), (Some("2"), None));
    }
}

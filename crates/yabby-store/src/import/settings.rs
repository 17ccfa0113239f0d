//! `config.yaml` of another program: settings that have a place here (seed 003).

use std::path::Path;

use yabby_domain::json::{self, Value};

use super::{ImportError, Source, read_text};

/// A setting that is taken over.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Where it was.
    pub from: String,
    /// Where it goes, as `session.reset`.
    pub path: &'static str,
    pub value: Value,
}

/// Reads the settings of a folder, if it has any.
pub fn read(folder: &Path, source: &mut Source) -> Result<(), ImportError> {
    let names = ["config.yaml", "config.yml", "openbot.yaml", "openclaudecode.yaml"];
    let Some(path) = names.iter().map(|name| folder.join(name)).find(|path| path.is_file()) else {
        return Ok(());
    };
    let text = read_text(&path)?;
    let options = serde_saphyr::options! { strict_booleans: true };
    let parsed: Value = serde_saphyr::from_str_with_options(&text, options).map_err(|error| {
        ImportError::Unreadable { path: path.display().to_string(), why: error.to_string() }
    })?;
    let mut leaves = Vec::new();
    collect(&parsed, String::new(), &mut leaves);
    for (from, value) in leaves {
        match place(&from, value) {
            Some((path, value)) => source.settings.push(Setting { from, path, value }),
            None => source.left.push(format!("{from} in {}: has no place here", path.display())),
        }
    }
    Ok(())
}

/// Every value with its path, `a.b.c`.
fn collect<'v>(value: &'v Value, path: String, leaves: &mut Vec<(String, &'v Value)>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(value, path, leaves);
            }
        }
        Value::Null => {}
        _ => leaves.push((path, value)),
    }
}

fn place(from: &str, value: &Value) -> Option<(&'static str, Value)> {
    const MINUTE: f64 = 60_000.0;
    let from = from.strip_prefix("gateway.").unwrap_or(from);
    let token = |path| value.as_str().filter(|token| !token.is_empty()).map(|token| (path, token.into()));
    match from {
        "autoResponder.maxConcurrent" => Some(("agents.defaults.maxConcurrent", value.clone())),
        "autoResponder.debounceMs" => Some(("messages.inbound.debounceMs", value.clone())),
        "autoResponder.sessionMaxAgeMs" => {
            let minutes = (value.as_f64()? / MINUTE).round().max(1.0);
            let mut reset = json::Object::new();
            reset.insert("mode".to_owned(), "idle".into());
            reset.insert("idleMinutes".to_owned(), json::number(minutes));
            Some(("session.reset", Value::Object(reset)))
        }
        "telegram.botToken" | "telegram.token" | "channels.telegram.botToken" | "channels.telegram.token" => {
            token("channels.telegram.botToken")
        }
        "discord.token" | "discord.botToken" | "channels.discord.token" | "channels.discord.botToken" => {
            token("channels.discord.token")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_setting_goes_where_it_is_understood() {
        let table = [
            (
                "gateway.autoResponder.maxConcurrent",
                json!(3),
                Some(("agents.defaults.maxConcurrent", json!(3))),
            ),
            (
                "gateway.autoResponder.debounceMs",
                json!(1500),
                Some(("messages.inbound.debounceMs", json!(1500))),
            ),
            (
                "gateway.autoResponder.sessionMaxAgeMs",
                json!(14_400_000),
                Some(("session.reset", json!({"mode": "idle", "idleMinutes": 240}))),
            ),
            ("channels.telegram.token", json!("1:a"), Some(("channels.telegram.botToken", json!("1:a")))),
            ("telegram.botToken", json!(""), None),
            ("gateway.autoResponder.memoryFtsEnabled", json!(true), None),
        ];
        for (from, value, expected) in table {
            assert_eq!(place(from, &value), expected, "{from}");
        }
    }
}

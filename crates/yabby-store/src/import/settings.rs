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
        // The lines after the first show the file, which has tokens in it.
        let why = error.to_string().lines().next().unwrap_or_default().to_owned();
        ImportError::Unreadable { path: path.display().to_string(), why }
    })?;
    let mut leaves = Vec::new();
    collect(&parsed, String::new(), &mut leaves);
    let talks = |name: &str| {
        let is_with = |key: &str| key.split(':').next() == Some(name);
        leaves.iter().any(|(from, _)| channel_of(from) == Some(name))
            || source.sessions.iter().any(|session| is_with(&session.key))
    };
    let channels: Vec<&str> = ["telegram", "discord"].into_iter().filter(|name| talks(name)).collect();
    let says_whether_it_searches = leaves.iter().any(|(from, _)| bare(from) == SEARCHES);
    for (from, value) in &leaves {
        // Who answers by itself remembers, unless it is said that nothing is searched.
        if bare(from) == "autoResponder.enabled" && **value == Value::Bool(true) && says_whether_it_searches {
            continue;
        }
        let places = places(from, value, &channels);
        if places.is_empty() {
            source.left.push(format!("{from} in {}: has no place here", path.display()));
        }
        let setting = |(path, value)| Setting { from: from.clone(), path, value };
        source.settings.extend(places.into_iter().map(setting));
    }
    Ok(())
}

/// Whether what is remembered is looked for.
const SEARCHES: &str = "autoResponder.memoryFtsEnabled";

/// A setting may stand below `gateway` or beside it.
fn bare(from: &str) -> &str {
    from.strip_prefix("gateway.").unwrap_or(from)
}

/// The channel that a setting is about.
fn channel_of(from: &str) -> Option<&str> {
    let from = bare(from);
    from.strip_prefix("channels.").unwrap_or(from).split('.').next()
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

/// Where a setting goes; one may go to several places, and most have none.
fn places(from: &str, value: &Value, channels: &[&str]) -> Vec<(&'static str, Value)> {
    let from = bare(from);
    if from != "autoResponder.maxHistoryMessages" {
        return place(from, value).into_iter().collect();
    }
    // How much of a conversation is told is a matter of each channel here.
    let known =
        [("telegram", "channels.telegram.dmHistoryLimit"), ("discord", "channels.discord.dmHistoryLimit")];
    let known = known.into_iter().filter(|(name, _)| channels.contains(name)).map(|(_, path)| path);
    known.chain(["messages.groupChat.historyLimit"]).map(|path| (path, value.clone())).collect()
}

fn place(from: &str, value: &Value) -> Option<(&'static str, Value)> {
    const MINUTE: f64 = 60_000.0;
    let token = |path| value.as_str().filter(|token| !token.is_empty()).map(|token| (path, token.into()));
    match from {
        // Who does not answer by itself says nothing; who does, remembers.
        "autoResponder.enabled" if *value == Value::Bool(false) => {
            Some(("session.sendPolicy.default", "deny".into()))
        }
        "autoResponder.enabled" | SEARCHES => Some(("memory.autoRecall.enabled", value.as_bool()?.into())),
        "autoResponder.memorySearchMaxResults" => Some(("memory.autoRecall.maxResults", value.clone())),
        "autoResponder.memoryIndexIntervalMessages" => {
            Some(("agents.defaults.memorySearch.sync.sessions.deltaMessages", value.clone()))
        }
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
            (
                "gateway.autoResponder.memoryFtsEnabled",
                json!(true),
                Some(("memory.autoRecall.enabled", json!(true))),
            ),
            ("gateway.autoResponder.enabled", json!(true), Some(("memory.autoRecall.enabled", json!(true)))),
            (
                "gateway.autoResponder.enabled",
                json!(false),
                Some(("session.sendPolicy.default", json!("deny"))),
            ),
            (
                "gateway.autoResponder.memorySearchMaxResults",
                json!(5),
                Some(("memory.autoRecall.maxResults", json!(5))),
            ),
            (
                "gateway.autoResponder.memoryIndexIntervalMessages",
                json!(5),
                Some(("agents.defaults.memorySearch.sync.sessions.deltaMessages", json!(5))),
            ),
            ("gateway.autoResponder.unheardOf", json!(1), None),
        ];
        for (from, value, expected) in table {
            assert_eq!(places(from, &value, &[]), Vec::from_iter(expected), "{from}");
        }
    }

    #[test]
    fn the_length_of_histories_goes_to_every_channel() {
        let places = places("gateway.autoResponder.maxHistoryMessages", &json!(20), &["telegram"]);
        let paths: Vec<&str> = places.iter().map(|(path, _)| *path).collect();
        assert_eq!(paths, ["channels.telegram.dmHistoryLimit", "messages.groupChat.historyLimit"]);
        assert_eq!(channel_of("gateway.channels.telegram.token"), Some("telegram"));
        assert_eq!(channel_of("telegram.token"), Some("telegram"));
    }

    #[test]
    fn who_searches_nothing_remembers_nothing_in_whatever_order_it_is_said() {
        //  settings                                              what is remembered
        let table = [
            ("enabled: true", Some(true)),
            ("enabled: true\n  memoryFtsEnabled: true", Some(true)),
            ("enabled: true\n  memoryFtsEnabled: false", Some(false)),
            ("memoryFtsEnabled: false\n  enabled: true", Some(false)),
            ("maxConcurrent: 3", None),
        ];
        for (settings, expected) in table {
            let folder = tempfile::tempdir().unwrap();
            let text = format!("autoResponder:\n  {settings}\n");
            std::fs::write(folder.path().join("config.yaml"), text).unwrap();
            let mut source = Source::default();
            read(folder.path(), &mut source).unwrap();
            let remembers = source.settings.iter().filter(|one| one.path == "memory.autoRecall.enabled");
            let remembers: Vec<bool> = remembers.filter_map(|one| one.value.as_bool()).collect();
            assert_eq!(remembers, Vec::from_iter(expected), "{settings}");
            assert_eq!(source.left, [""; 0], "{settings}");
        }
    }
}

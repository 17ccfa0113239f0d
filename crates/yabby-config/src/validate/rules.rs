//! The rules that types have beyond their form (`config.md` §3), by the name of the type.

use serde_json::Value;
use yabby_base::{duration, json, text};

/// A broken rule, and where below the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Breach {
    pub path: Vec<String>,
    pub message: String,
}

/// Holds a well-formed value against the rule of its type; brings it into the form it is kept in.
pub fn check(name: &str, value: &mut Value) -> Vec<Breach> {
    match name {
        "Config" => broadcast(value),
        "Heartbeat" => heartbeat(value),
        "Tools" => tool_lists(value, "tools"),
        "AgentTools" => tool_lists(value, "agent tools"),
        "ToolPolicy" => tool_lists(value, "tools policy"),
        "ProviderToolPolicy" => tool_lists(value, "tools.byProvider policy"),
        "BrowserProfile" => browser_profile(value),
        "Executable" => executable(Some(value), Vec::new()),
        "TranscriptionCommand" => executable(value.get(0), vec!["0".to_owned()]),
        "TelegramCommand" => tidy_telegram_command(value),
        "Telegram" => [telegram_account(value), telegram_webhooks(value)].concat(),
        "TelegramAccount" => telegram_account(value),
        "Slack" => slack_secrets(value),
        _ => open_to_all(name, value),
    }
}

/// What the reference says of text that does not match the pattern of its type.
pub fn pattern_message(name: &str) -> Option<&'static str> {
    (name == "HexColor").then_some("expected hex color (RRGGBB)")
}

fn breach(path: &[&str], message: impl Into<String>) -> Breach {
    Breach { path: path.iter().map(|&key| key.to_owned()).collect(), message: message.into() }
}

/// Lists of agents per peer name agents that exist, if agents are listed at all.
fn broadcast(config: &Value) -> Vec<Breach> {
    let agents = json::at(config, &["agents", "list"]).and_then(Value::as_array);
    let Some(agents) = agents.filter(|agents| !agents.is_empty()) else { return Vec::new() };
    let is_known = |id: &Value| agents.iter().any(|agent| agent["id"] == *id);
    let Some(Value::Object(peers)) = config.get("broadcast") else { return Vec::new() };
    let peers = json::in_js_order(peers).into_iter().filter(|(peer, _)| *peer != "strategy");
    let named = peers.flat_map(|(peer, ids)| {
        let ids = ids.as_array().into_iter().flatten().enumerate();
        ids.map(move |(index, id)| (peer, index, id))
    });
    named
        .filter(|(_, _, id)| !is_known(id))
        .map(|(peer, index, id)| {
            let message =
                format!("Unknown agent id \"{}\" (not in agents.list).", id.as_str().unwrap_or_default());
            breach(&["broadcast", peer, &index.to_string()], message)
        })
        .collect()
}

/// The interval is a duration, and then the hours are times of day.
fn heartbeat(value: &Value) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let Some(every) = value["every"].as_str().filter(|every| !every.is_empty()) else { return breaches };
    if duration::parse(every, duration::MINUTE).is_none() {
        breaches.push(breach(&["every"], "invalid duration (use ms, s, m, h)"));
    }
    for bound in ["start", "end"] {
        let time = json::at(value, &["activeHours", bound]).and_then(Value::as_str);
        let wrong = time.filter(|time| !time.is_empty()).and_then(|time| wrong_time(time, bound));
        breaches.extend(wrong.map(|message| breach(&["activeHours", bound], message)));
    }
    breaches
}

/// What is wrong with a time of day; only the end of the day may be `24:00`.
fn wrong_time(time: &str, bound: &str) -> Option<&'static str> {
    let two_digits = |text: &str| (text.len() == 2).then(|| text.parse::<u8>().ok()).flatten();
    let only_digits = time.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    let parts = time.split_once(':').filter(|_| only_digits);
    match parts.and_then(|(hour, minute)| Some((two_digits(hour)?, two_digits(minute)?))) {
        Some((0..=23, 0..=59)) => None,
        Some((24, 0)) if bound == "end" => None,
        Some((24, 0)) => Some("invalid time (start cannot be 24:00)"),
        Some((24, 1..=59)) => Some("invalid time (24:00 is the only allowed 24:xx value)"),
        _ => Some("invalid time (use \"HH:MM\" 24h format)"),
    }
}

fn tool_lists(value: &Value, scope: &str) -> Vec<Breach> {
    let is_used = |key: &str| value[key].as_array().is_some_and(|list| !list.is_empty());
    if !(is_used("allow") && is_used("alsoAllow")) {
        return Vec::new();
    }
    let message = format!(
        "{scope} cannot set both allow and alsoAllow in the same scope \
         (merge alsoAllow into allow, or remove allow and use profile + alsoAllow)"
    );
    vec![breach(&[], message)]
}

fn browser_profile(value: &Value) -> Vec<Breach> {
    let is_set = |key: &str| value.get(key).is_some_and(json::truthy);
    if is_set("cdpPort") || is_set("cdpUrl") {
        return Vec::new();
    }
    vec![breach(&[], "Profile must set cdpPort or cdpUrl")]
}

fn executable(value: Option<&Value>, path: Vec<String>) -> Vec<Breach> {
    let program = value.and_then(Value::as_str).map(text::trim).unwrap_or_default();
    if is_program(program) {
        return Vec::new();
    }
    vec![Breach { path, message: "expected safe executable name or path".to_owned() }]
}

/// A path or a plain name, without anything that a shell would act on.
fn is_program(name: &str) -> bool {
    let shell = |c: char| ";&|`$<>\r\n\"'\0".contains(c);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let is_path = name.starts_with(['.', '~']) || name.contains(['/', '\\']);
    !name.is_empty()
        && !name.contains(shell)
        && (is_path || (!name.starts_with('-') && name.chars().all(plain)))
}

/// Keeps a custom command the way the platform spells it.
fn tidy_telegram_command(value: &mut Value) -> Vec<Breach> {
    if let Some(command) = value["command"].as_str().map(command_name) {
        value["command"] = command.into();
    }
    if let Some(description) = value["description"].as_str().map(|text| text::trim(text).to_owned()) {
        value["description"] = description.into();
    }
    Vec::new()
}

fn command_name(written: &str) -> String {
    let name = text::trim(written);
    text::lower(text::trim(name.strip_prefix('/').unwrap_or(name)))
}

fn telegram_account(value: &Value) -> Vec<Breach> {
    let mut breaches = open_to_all("TelegramAccount", value);
    let commands = value["customCommands"].as_array().into_iter().flatten().enumerate();
    breaches.extend(commands.filter_map(|(index, command)| {
        let (field, message) = wrong_telegram_command(command)?;
        Some(breach(&["customCommands", &index.to_string(), field], message))
    }));
    breaches
}

fn wrong_telegram_command(command: &Value) -> Option<(&'static str, String)> {
    let name = command_name(command["command"].as_str().unwrap_or_default());
    let is_plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if name.is_empty() {
        return Some(("command", "Telegram custom command is missing a command name.".to_owned()));
    }
    if !is_plain || name.len() > 32 {
        let rule = "is invalid (use a-z, 0-9, underscore; max 32 chars).";
        return Some(("command", format!("Telegram custom command \"/{name}\" {rule}")));
    }
    let described = text::non_blank(command["description"].as_str().unwrap_or_default()).is_some();
    (!described)
        .then(|| ("description", format!("Telegram custom command \"/{name}\" is missing a description.")))
}

/// Whoever is called back by web hooks must be able to tell callers from strangers.
fn telegram_webhooks(value: &Value) -> Vec<Breach> {
    let is_set = |section: &Value, key: &str| section[key].as_str().and_then(text::non_blank).is_some();
    let has_secret = is_set(value, "webhookSecret");
    let mut breaches = Vec::new();
    if is_set(value, "webhookUrl") && !has_secret {
        let message = "channels.telegram.webhookUrl requires channels.telegram.webhookSecret";
        breaches.push(breach(&["webhookSecret"], message));
    }
    for (id, account) in enabled_accounts(value) {
        if is_set(account, "webhookUrl") && !is_set(account, "webhookSecret") && !has_secret {
            let message = "channels.telegram.accounts.*.webhookUrl requires channels.telegram.webhookSecret \
                           or channels.telegram.accounts.*.webhookSecret";
            breaches.push(breach(&["accounts", id, "webhookSecret"], message));
        }
    }
    breaches
}

fn slack_secrets(value: &Value) -> Vec<Breach> {
    let mode = |section: &Value| section["mode"].as_str().map(str::to_owned);
    let is_set = |section: &Value| section["signingSecret"].as_str().is_some_and(|secret| !secret.is_empty());
    let mut breaches = Vec::new();
    if mode(value).as_deref() == Some("http") && !is_set(value) {
        let message = "channels.slack.mode=\"http\" requires channels.slack.signingSecret";
        breaches.push(breach(&["signingSecret"], message));
    }
    for (id, account) in enabled_accounts(value) {
        let has_secret = match account.get("signingSecret") {
            Some(_) => is_set(account),
            None => is_set(value),
        };
        if mode(account).or_else(|| mode(value)).as_deref() == Some("http") && !has_secret {
            let message = "channels.slack.accounts.*.mode=\"http\" requires channels.slack.signingSecret \
                           or channels.slack.accounts.*.signingSecret";
            breaches.push(breach(&["accounts", id, "signingSecret"], message));
        }
    }
    breaches
}

fn enabled_accounts(channel: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let accounts = channel["accounts"].as_object().map(json::in_js_order).unwrap_or_default();
    let accounts = accounts.into_iter().map(|(id, account)| (id.as_str(), account));
    accounts.filter(|(_, account)| account["enabled"] != false)
}

/// A channel that takes messages from everybody must say so twice.
fn open_to_all(name: &str, value: &Value) -> Vec<Breach> {
    let Some((policy, message)) = open_policy(name) else { return Vec::new() };
    let names_all = |entry: &Value| match entry {
        Value::String(name) => text::trim(name) == "*",
        _ => false,
    };
    let is_open = value[policy] == "open";
    if !is_open || value["allowFrom"].as_array().is_some_and(|list| list.iter().any(names_all)) {
        return Vec::new();
    }
    vec![breach(&["allowFrom"], message)]
}

/// The key of a type's policy for direct messages, and what the reference says if it is open.
fn open_policy(name: &str) -> Option<(&'static str, String)> {
    let all = |section: &str, key: &'static str| {
        let path = format!("channels.{section}");
        Some((key, format!("{path}.{key}=\"open\" requires {path}.allowFrom to include \"*\"")))
    };
    let account = |section: &str| {
        let message =
            format!("channels.{section}.accounts.*.dmPolicy=\"open\" requires allowFrom to include \"*\"");
        Some(("dmPolicy", message))
    };
    match name {
        "Telegram" | "TelegramAccount" => all("telegram", "dmPolicy"),
        "Whatsapp" => all("whatsapp", "dmPolicy"),
        "WhatsappAccount" => account("whatsapp"),
        "Signal" | "SignalAccount" => all("signal", "dmPolicy"),
        "Imessage" | "ImessageAccount" => all("imessage", "dmPolicy"),
        "BlueBubbles" => all("bluebubbles", "dmPolicy"),
        "BlueBubblesAccount" => account("bluebubbles"),
        "MsTeams" => all("msteams", "dmPolicy"),
        "DiscordDm" => all("discord.dm", "policy"),
        "GoogleChatDm" => all("googlechat.dm", "policy"),
        "SlackDm" => all("slack.dm", "policy"),
        _ => None,
    }
}

//! The channels that a configuration names, as clients are told of them (`gateway.md` §7, `channels.status`,
//! `health` and `status`). No channel runs yet: this is what the settings say.

use crate::config::Config;
use crate::json::{Object, Value, truthy};
use crate::text;

/// What a channel is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    pub id: &'static str,
    pub label: &'static str,
    pub detail: &'static str,
    /// The picture that Apple's systems have for it.
    pub image: &'static str,
}

const fn about(id: &'static str, label: &'static str, detail: &'static str, image: &'static str) -> About {
    About { id, label, detail, image }
}

/// In the order in which they are told.
const ALL: [About; 7] = [
    about("telegram", "Telegram", "Telegram Bot", "paperplane"),
    about("whatsapp", "WhatsApp", "WhatsApp Web", "message"),
    about("discord", "Discord", "Discord Bot", "bubble.left.and.bubble.right"),
    about("googlechat", "Google Chat", "Google Chat", "message.badge"),
    about("slack", "Slack", "Slack Bot", "number"),
    about("signal", "Signal", "Signal REST", "antenna.radiowaves.left.and.right"),
    about("imessage", "iMessage", "iMessage", "message.fill"),
];

/// A channel with its accounts.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfiguredChannel {
    pub about: About,
    /// At least one.
    pub accounts: Vec<Account>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    pub id: String,
    pub name: Option<String>,
    pub enabled: bool,
    pub configured: bool,
    /// Where the token is, if the channel has one.
    pub token_source: Option<&'static str>,
    /// How messages come in, of those that know several ways.
    pub mode: Option<&'static str>,
    /// Whether groups may be answered without being asked, if the channel tells.
    pub unmentioned_groups: Option<bool>,
}

/// The account that there is always.
const DEFAULT_ACCOUNT: &str = "default";

/// The channels that are set up. `variable` is one of the environment.
pub fn configured<'v>(config: &Config, variable: impl Fn(&str) -> Option<&'v str>) -> Vec<ConfiguredChannel> {
    let channel = |about: &About| {
        let section = config.object(&["channels", about.id])?;
        if section.get("enabled") == Some(&Value::Bool(false)) {
            return None;
        }
        let own = section.get("accounts").and_then(Value::as_object).filter(|own| !own.is_empty());
        let empty = Object::new();
        let accounts: Vec<Account> = match own {
            Some(own) => own
                .iter()
                .map(|(id, own)| account(about, id, section, own.as_object().unwrap_or(&empty), &variable))
                .collect(),
            None => vec![account(about, DEFAULT_ACCOUNT, section, &empty, &variable)],
        };
        Some(ConfiguredChannel { about: *about, accounts })
    };
    ALL.iter().filter_map(channel).collect()
}

fn account<'v>(
    about: &About,
    id: &str,
    section: &Object,
    own: &Object,
    variable: &impl Fn(&str) -> Option<&'v str>,
) -> Account {
    let setting = |name: &str| own.get(name).or_else(|| section.get(name));
    let said = |name: &str| setting(name).and_then(Value::as_str).and_then(text::non_blank);
    let is_telegram = about.id == "telegram";
    let from = |field: &str, name: &str| match () {
        () if said("tokenFile").is_some() => "tokenFile",
        () if said(field).is_some() => "config",
        () if id == DEFAULT_ACCOUNT && variable(name).and_then(text::non_blank).is_some() => "env",
        () => "none",
    };
    let token_source = match about.id {
        "telegram" => Some(from("botToken", "TELEGRAM_BOT_TOKEN")),
        "discord" => Some(from("token", "DISCORD_BOT_TOKEN")),
        _ => None,
    };
    let answers_all = |groups: &Value| {
        groups.as_object().is_some_and(|groups| {
            groups.values().any(|group| group.get("requireMention") == Some(&Value::Bool(false)))
        })
    };
    Account {
        id: id.to_owned(),
        name: said("name").map(str::to_owned),
        enabled: own.get("enabled").is_none_or(truthy),
        configured: token_source.is_none_or(|source| source != "none"),
        token_source,
        mode: is_telegram.then(|| if said("webhookUrl").is_some() { "webhook" } else { "polling" }),
        unmentioned_groups: is_telegram.then(|| setting("groups").is_some_and(answers_all)),
    }
}

impl ConfiguredChannel {
    /// The account that is meant if nobody names one.
    pub fn default_account(&self) -> Option<&Account> {
        self.accounts.iter().find(|account| account.id == DEFAULT_ACCOUNT).or(self.accounts.first())
    }

    /// What `channels.status` tells of it.
    pub fn summary(&self) -> Object {
        let Some(account) = self.default_account() else { return Object::new() };
        let mut told = Object::new();
        told.insert("configured".to_owned(), account.configured.into());
        insert_text(&mut told, "tokenSource", account.token_source);
        told.insert("running".to_owned(), false.into());
        insert_text(&mut told, "mode", account.mode);
        insert_nulls(&mut told, &["lastStartAt", "lastStopAt", "lastError", "lastProbeAt"]);
        told
    }

    /// What `health` tells of it: it was not asked how it is, since nothing of it runs.
    pub fn health(&self, why: &str, now: Value) -> Object {
        let of_account = |account: &Account| {
            let mut told = Object::new();
            told.insert("configured".to_owned(), account.configured.into());
            insert_text(&mut told, "tokenSource", account.token_source.map(|_| "none"));
            told.insert("running".to_owned(), false.into());
            if account.mode.is_some() {
                told.insert("mode".to_owned(), Value::Null);
            }
            insert_nulls(&mut told, &["lastStartAt", "lastStopAt", "lastError"]);
            insert_probe(&mut told, why, now.clone());
            told.insert("accountId".to_owned(), account.id.clone().into());
            told
        };
        let mut told = self.default_account().map(of_account).unwrap_or_default();
        let accounts =
            self.accounts.iter().map(|account| (account.id.clone(), Value::Object(of_account(account))));
        told.insert("accounts".to_owned(), Value::Object(accounts.collect()));
        told
    }

    /// What `status` tells of it, for people.
    pub fn lines(&self) -> Vec<String> {
        let is_enabled = self.accounts.iter().any(|account| account.enabled);
        let is_configured = self.default_account().is_some_and(|account| account.configured);
        let state = match (is_enabled, is_configured) {
            (false, _) => "disabled",
            (true, true) => "configured",
            (true, false) => "not configured",
        };
        let accounts = self.accounts.iter().filter(|account| account.configured).map(Account::line);
        [format!("{}: {state}", self.about.label)].into_iter().chain(accounts).collect()
    }
}

/// What is told of a platform that was to be asked, and was not.
pub fn insert_probe(told: &mut Object, why: &str, now: Value) {
    let probe = serde_json::json!({"ok": false, "status": null, "error": why, "elapsedMs": 0});
    told.insert("probe".to_owned(), probe);
    told.insert("lastProbeAt".to_owned(), now);
}

impl Account {
    /// What `channels.status` tells of it.
    pub fn to_object(&self) -> Object {
        let mut told = Object::new();
        told.insert("accountId".to_owned(), self.id.clone().into());
        insert_text(&mut told, "name", self.name.as_deref());
        told.insert("enabled".to_owned(), self.enabled.into());
        told.insert("configured".to_owned(), self.configured.into());
        insert_text(&mut told, "tokenSource", self.token_source);
        told.insert("running".to_owned(), false.into());
        insert_nulls(&mut told, &["lastStartAt", "lastStopAt", "lastError"]);
        insert_text(&mut told, "mode", self.mode);
        if let Some(unmentioned) = self.unmentioned_groups {
            told.insert("allowUnmentionedGroups".to_owned(), unmentioned.into());
        }
        insert_nulls(&mut told, &["lastInboundAt", "lastOutboundAt"]);
        told
    }

    fn line(&self) -> String {
        let name = self.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
        let disabled = (!self.enabled).then(|| "disabled".to_owned());
        let token = self.token_source.map(|source| format!("token:{source}"));
        let details: Vec<String> = disabled.into_iter().chain(token).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        format!("  - {}{name}{details}", self.id)
    }
}

fn insert_text(told: &mut Object, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        told.insert(name.to_owned(), value.into());
    }
}

fn insert_nulls(told: &mut Object, names: &[&str]) {
    for name in names {
        told.insert((*name).to_owned(), Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn channels(channels: Value) -> Vec<ConfiguredChannel> {
        configured(&Config::new(json!({"channels": channels})), |_| None)
    }

    #[test]
    fn a_channel_is_there_if_it_is_set_up_and_not_switched_off() {
        assert!(channels(json!({})).is_empty());
        assert!(channels(json!({"telegram": {"enabled": false, "botToken": "t"}})).is_empty());
        let found = channels(json!({"signal": {}, "telegram": {"botToken": "t"}}));
        let ids: Vec<&str> = found.iter().map(|channel| channel.about.id).collect();
        assert_eq!(ids, ["telegram", "signal"]);
        assert_eq!(found[0].lines(), ["Telegram: configured", "  - default (token:config)"]);
        assert_eq!(found[0].summary()["mode"], "polling");
        assert_eq!(found[1].summary().get("mode"), None);
    }

    #[test]
    fn accounts_have_settings_of_their_own() {
        let found = channels(json!({"telegram": {"accounts": {
            "work": {"botToken": "a", "name": "Work", "webhookUrl": "https://x"},
            "off": {"enabled": false},
        }}}));
        let [work, off] = found[0].accounts.as_slice() else { panic!("two accounts") };
        assert_eq!((work.token_source, work.mode, work.enabled), (Some("config"), Some("webhook"), true));
        assert_eq!((off.token_source, off.configured, off.enabled), (Some("none"), false, false));
        assert_eq!(found[0].default_account().map(|account| account.id.as_str()), Some("work"));
        assert_eq!(found[0].lines(), ["Telegram: configured", "  - work (Work) (token:config)"]);
    }
}

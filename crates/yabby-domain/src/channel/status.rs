//! The channels that a configuration names, as clients are told of them (`gateway.md` §7, `channels.status`,
//! `health` and `status`). No channel runs yet: this is what the settings say.

use crate::collation;
use crate::config::Config;
use crate::config::channels::settings::{ChannelSettings, GroupSettings};
use crate::config::map::Map;
use crate::config::text::TextOrNumber;
use crate::json::{Object, Value, number_text};
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
    /// What else the channel tells of it, by the names that clients know: where its other tokens are, its address,
    /// and whether it is linked.
    pub facts: Vec<(&'static str, Value)>,
    /// Who may write to it, if the channel tells.
    policy: Vec<(&'static str, Value)>,
}

/// The name of the fact that an account is linked to a telephone, which is what makes it work.
const LINKED: &str = "linked";

/// The account that there is always.
const DEFAULT_ACCOUNT: &str = "default";

/// The channels that are set up. `variable` is one of the environment.
pub fn configured<'v>(config: &Config, variable: impl Fn(&str) -> Option<&'v str>) -> Vec<ConfiguredChannel> {
    let channel = |about: &About| {
        let section = config.channels.settings(about.id).filter(|section| section.enabled())?;
        let own = section.accounts.as_ref().filter(|own| !own.is_empty());
        let account = |id: &str, own: Option<&ChannelSettings>| {
            let has_variable = |name: &str| variable(name).and_then(text::non_blank).is_some();
            let asked = Asked { config, id, has_variable: &has_variable };
            account(about, &asked, own, section)
        };
        let mut accounts: Vec<Account> = match own {
            Some(own) => own.iter().map(|(id, own)| account(id, Some(own))).collect(),
            None => vec![account(DEFAULT_ACCOUNT, None)],
        };
        accounts.sort_by(|one, other| collation::compare(&one.id, &other.id));
        Some(ConfiguredChannel { about: *about, accounts })
    };
    ALL.iter().filter_map(channel).collect()
}

/// The account that is asked about.
struct Asked<'a> {
    config: &'a Config,
    id: &'a str,
    has_variable: &'a dyn Fn(&str) -> bool,
}

/// What only its platform says of an account.
#[derive(Default)]
struct OfPlatform {
    is_configured: bool,
    token_source: Option<&'static str>,
    mode: Option<&'static str>,
    unmentioned_groups: Option<bool>,
    facts: Vec<(&'static str, Value)>,
    policy: Vec<(&'static str, Value)>,
}

fn account(
    about: &About,
    asked: &Asked<'_>,
    own: Option<&ChannelSettings>,
    common: &ChannelSettings,
) -> Account {
    let of_platform = match about.id {
        "telegram" => telegram(asked, own, common),
        "discord" => discord(asked),
        "slack" => slack(asked),
        "signal" => signal(asked),
        "whatsapp" => whatsapp(own, common),
        _ => OfPlatform { is_configured: true, ..OfPlatform::default() },
    };
    let OfPlatform { is_configured, token_source, mode, unmentioned_groups, facts, policy } = of_platform;
    let name = own.and_then(|own| own.name.as_ref()).or(common.name.as_ref());
    Account {
        id: asked.id.to_owned(),
        name: name.and_then(|name| text::non_blank(name)).map(str::to_owned),
        enabled: own.is_none_or(ChannelSettings::enabled),
        configured: is_configured,
        token_source,
        mode,
        unmentioned_groups,
        facts,
        policy,
    }
}

impl Asked<'_> {
    /// Where a token is.
    fn source(&self, written: Option<&str>, variable: &str) -> &'static str {
        match () {
            () if written.is_some() => "config",
            () if self.id == DEFAULT_ACCOUNT && (self.has_variable)(variable) => "env",
            () => "none",
        }
    }
}

/// What an account says, else what all accounts of its channel say.
struct Layers<'c, T> {
    own: Option<&'c T>,
    common: Option<&'c T>,
}

impl<'c, T> Layers<'c, T> {
    fn find<V>(&self, pick: impl Fn(&'c T) -> Option<V>) -> Option<V> {
        self.own.and_then(&pick).or_else(|| self.common.and_then(&pick))
    }

    fn text(&self, pick: impl Fn(&'c T) -> &'c Option<String>) -> Option<&'c str> {
        self.find(|of| pick(of).as_deref()).and_then(text::non_blank)
    }
}

fn telegram(asked: &Asked<'_>, own: Option<&ChannelSettings>, common: &ChannelSettings) -> OfPlatform {
    let section = asked.config.channels.telegram.as_ref();
    let said = Layers {
        own: section.and_then(|section| section.accounts.as_ref()?.get(asked.id)),
        common: section.map(|section| &section.account),
    };
    let source = match said.text(|of| &of.token_file) {
        Some(_) => "tokenFile",
        None => asked.source(said.text(|of| &of.bot_token), "TELEGRAM_BOT_TOKEN"),
    };
    let groups = own.and_then(|own| own.groups.as_ref()).or(common.groups.as_ref());
    let answers_all =
        |groups: &Map<GroupSettings>| groups.values().any(|group| group.require_mention == Some(false));
    OfPlatform {
        is_configured: source != "none",
        token_source: Some(source),
        mode: Some(if said.text(|of| &of.webhook_url).is_some() { "webhook" } else { "polling" }),
        unmentioned_groups: Some(groups.is_some_and(answers_all)),
        ..OfPlatform::default()
    }
}

fn discord(asked: &Asked<'_>) -> OfPlatform {
    let section = asked.config.channels.discord.as_ref();
    let said = Layers {
        own: section.and_then(|section| section.accounts.as_ref()?.get(asked.id)),
        common: section.map(|section| &section.account),
    };
    let source = asked.source(said.text(|of| &of.token), "DISCORD_BOT_TOKEN");
    OfPlatform { is_configured: source != "none", token_source: Some(source), ..OfPlatform::default() }
}

fn slack(asked: &Asked<'_>) -> OfPlatform {
    let section = asked.config.channels.slack.as_ref();
    let said = Layers {
        own: section.and_then(|section| section.accounts.as_ref()?.get(asked.id)),
        common: section.map(|section| &section.account),
    };
    let bot = asked.source(said.text(|of| &of.bot_token), "SLACK_BOT_TOKEN");
    let app = asked.source(said.text(|of| &of.app_token), "SLACK_APP_TOKEN");
    OfPlatform {
        is_configured: bot != "none" && app != "none",
        facts: vec![("botTokenSource", bot.into()), ("appTokenSource", app.into())],
        ..OfPlatform::default()
    }
}

fn signal(asked: &Asked<'_>) -> OfPlatform {
    let section = asked.config.channels.signal.as_ref();
    let said = Layers {
        own: section.and_then(|section| section.accounts.as_ref()?.get(asked.id)),
        common: section.map(|section| &section.account),
    };
    let is_set = said.find(|of| {
        let is_set = of.account.is_some()
            || of.http_url.is_some()
            || of.cli_path.is_some()
            || of.http_host.is_some()
            || of.http_port.is_some()
            || of.auto_start.is_some();
        is_set.then_some(())
    });
    // Where the program is that speaks to Signal.
    let port = said.find(|of| of.http_port).map_or(8080.0, f64::from);
    let host = said.text(|of| &of.http_host).unwrap_or("127.0.0.1");
    let built = || format!("http://{host}:{}", number_text(port));
    let address = said.text(|of| &of.http_url).map_or_else(built, str::to_owned);
    OfPlatform {
        is_configured: is_set.is_some(),
        facts: vec![("baseUrl", address.into())],
        ..OfPlatform::default()
    }
}

/// Nobody here can link an account.
fn whatsapp(own: Option<&ChannelSettings>, common: &ChannelSettings) -> OfPlatform {
    let said = Layers { own, common: Some(common) };
    let dm_policy = said.find(|of| of.dm_policy.as_ref()).map(|word| word.as_str().into());
    let allow_from = said.find(|of| of.allow_from.as_ref());
    let allow_from = allow_from.map(|list| list.iter().map(TextOrNumber::to_value).collect());
    let policy = [("dmPolicy", dm_policy), ("allowFrom", allow_from)];
    OfPlatform {
        is_configured: true,
        facts: vec![(LINKED, false.into())],
        policy: policy.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        ..OfPlatform::default()
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
        if account.is_linked().is_some() {
            return account.unlinked();
        }
        let mut told = Object::new();
        told.insert("configured".to_owned(), account.configured.into());
        insert_text(&mut told, "tokenSource", account.token_source);
        account.insert_facts(&mut told);
        told.insert("running".to_owned(), false.into());
        insert_text(&mut told, "mode", account.mode);
        insert_nulls(&mut told, &["lastStartAt", "lastStopAt"]);
        account.insert_reason(&mut told);
        insert_nulls(&mut told, &["lastProbeAt"]);
        told
    }

    /// Whether somebody has linked it, for those that have to be.
    pub fn link(&self) -> Option<Value> {
        let linked = self.default_account()?.is_linked()?;
        let About { id, label, .. } = self.about;
        Some(serde_json::json!({"id": id, "label": label, "linked": linked, "authAgeMs": null}))
    }

    /// What `health` tells of it: it was not asked how it is, since nothing of it runs.
    pub fn health(&self, why: &str, now: Value) -> Object {
        let of_account = |account: &Account| {
            let mut told = Object::new();
            if account.is_linked().is_some() {
                told = account.unlinked();
                told.insert("accountId".to_owned(), account.id.clone().into());
                return told;
            }
            told.insert("configured".to_owned(), account.configured.into());
            insert_text(&mut told, "tokenSource", account.token_source.map(|_| "none"));
            // Nothing runs that would know.
            for (name, _) in &account.facts {
                let unknown = if name.ends_with("Source") { "none".into() } else { Value::Null };
                told.insert((*name).to_owned(), unknown);
            }
            told.insert("running".to_owned(), false.into());
            if account.mode.is_some() {
                told.insert("mode".to_owned(), Value::Null);
            }
            insert_nulls(&mut told, &["lastStartAt", "lastStopAt", "lastError"]);
            match account.is_ready() {
                true => insert_probe(&mut told, why, now.clone()),
                false => insert_nulls(&mut told, &["lastProbeAt"]),
            }
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
        let is_linked = self.default_account().and_then(Account::is_linked);
        let state = match (is_enabled, is_linked, is_configured) {
            (false, _, _) => "disabled",
            (true, Some(true), _) => "linked",
            (true, Some(false), _) => "not linked",
            (true, None, true) => "configured",
            (true, None, false) => "not configured",
        };
        let works = |account: &&Account| account.is_linked().unwrap_or(account.configured);
        let accounts = self.accounts.iter().filter(works).map(Account::line);
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
        self.insert_facts(&mut told);
        if self.is_linked().is_some() {
            insert_unconnected(&mut told);
            told.extend(self.policy.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
            insert_nulls(&mut told, &["lastInboundAt", "lastOutboundAt"]);
            return told;
        }
        told.insert("running".to_owned(), false.into());
        insert_nulls(&mut told, &["lastStartAt", "lastStopAt"]);
        self.insert_reason(&mut told);
        insert_text(&mut told, "mode", self.mode);
        if let Some(unmentioned) = self.unmentioned_groups {
            told.insert("allowUnmentionedGroups".to_owned(), unmentioned.into());
        }
        insert_nulls(&mut told, &["lastInboundAt", "lastOutboundAt"]);
        told
    }

    /// Whether something could be sent with it.
    pub fn is_ready(&self) -> bool {
        self.enabled && self.configured && self.is_linked() != Some(false)
    }

    /// Whether it is linked, where that is what makes it work.
    pub fn is_linked(&self) -> Option<bool> {
        self.facts.iter().find(|(name, _)| *name == LINKED).and_then(|(_, linked)| linked.as_bool())
    }

    /// What is told of one that has to be linked, and is not.
    fn unlinked(&self) -> Object {
        let mut told = Object::from_iter([("configured".to_owned(), self.is_linked().into())]);
        self.insert_facts(&mut told);
        told.insert("authAgeMs".to_owned(), Value::Null);
        told.insert("self".to_owned(), serde_json::json!({"e164": null, "jid": null}));
        insert_unconnected(&mut told);
        told
    }

    /// Why it does not run, if that is no wonder.
    fn insert_reason(&self, told: &mut Object) {
        let reason = match (self.enabled, self.configured) {
            (false, _) => Some("disabled"),
            (true, false) => Some("not configured"),
            (true, true) => None,
        };
        told.insert("lastError".to_owned(), reason.into());
    }

    fn insert_facts(&self, told: &mut Object) {
        told.extend(self.facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    }

    fn line(&self) -> String {
        let name = self.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
        let disabled = (!self.enabled).then(|| "disabled".to_owned());
        let token = self.token_source.map(|source| format!("token:{source}"));
        let facts = self.facts.iter().filter_map(|(name, value)| match (*name, value.as_str()?) {
            ("botTokenSource", source) => Some(format!("bot:{source}")),
            ("appTokenSource", source) => Some(format!("app:{source}")),
            ("baseUrl", address) => Some(address.to_owned()),
            _ => None,
        });
        let details: Vec<String> = disabled.into_iter().chain(token).chain(facts).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        format!("  - {}{name}{details}", self.id)
    }
}

/// What is told of an account that would be connected all the time.
fn insert_unconnected(told: &mut Object) {
    for name in ["running", "connected"] {
        told.insert(name.to_owned(), false.into());
    }
    told.insert("reconnectAttempts".to_owned(), 0.into());
    let nulls = ["lastConnectedAt", "lastDisconnect", "lastMessageAt", "lastEventAt", "lastError"];
    insert_nulls(told, &nulls);
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
        let [off, work] = found[0].accounts.as_slice() else { panic!("two accounts, by their names") };
        assert_eq!((work.token_source, work.mode, work.enabled), (Some("config"), Some("webhook"), true));
        assert_eq!((off.token_source, off.configured, off.enabled), (Some("none"), false, false));
        assert_eq!(
            (&off.to_object()["lastError"], &work.to_object()["lastError"]),
            (&json!("disabled"), &Value::Null)
        );
        assert_eq!(found[0].default_account().map(|account| account.id.as_str()), Some("off"));
        assert_eq!(found[0].lines(), ["Telegram: not configured", "  - work (Work) (token:config)"]);
    }

    #[test]
    fn channels_tell_what_is_their_own() {
        let found = channels(json!({
            "slack": {"botToken": "xoxb", "accounts": {"a": {"appToken": "xapp"}, "b": {}}},
            "signal": {"account": "+1555", "httpPort": 9000},
            "whatsapp": {},
        }));
        let told = |at: usize, account: usize| Value::Object(found[at].accounts[account].to_object());
        let whatsapp = told(0, 0);
        assert_eq!((&whatsapp["configured"], &whatsapp["linked"]), (&json!(true), &json!(false)));
        assert_eq!((&whatsapp["connected"], whatsapp.get("lastStartAt")), (&json!(false), None));
        assert_eq!(found[0].summary()["configured"], false);
        assert_eq!(found[0].lines(), ["WhatsApp: not linked"]);
        assert_eq!(found[0].link().unwrap()["linked"], false);
        assert_eq!(found[1].lines()[1], "  - a (bot:config, app:config)");
        assert_eq!(found[1].link(), None);
        let health = found[1].health("nobody asks", 5.into());
        assert_eq!((&health["lastProbeAt"], &health["botTokenSource"]), (&json!(5), &json!("none")));
        let other = &health["accounts"]["b"];
        assert_eq!((other.get("probe"), &other["lastProbeAt"]), (None, &Value::Null));
        assert!(!found[0].accounts[0].is_ready());
        let (whole, half) = (told(1, 0), told(1, 1));
        assert_eq!((&whole["configured"], &whole["appTokenSource"]), (&json!(true), &json!("config")));
        assert_eq!((&half["configured"], &half["appTokenSource"]), (&json!(false), &json!("none")));
        assert_eq!(found[2].summary()["baseUrl"], "http://127.0.0.1:9000");
        assert!(found[2].accounts[0].is_ready());
    }
}

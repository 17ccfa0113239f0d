//! Which groups are served, when they must mention the agent, and with which tools (`sessions.md` §17).

use crate::access::allow_list::discord_slug;
use crate::config::Config;
use crate::config::channels::settings::GroupSettings;
use crate::config::map::Map;
use crate::config::tools::policy::ToolPolicy;
use crate::id::AccountId;
use crate::json::{Object, Value};
use crate::text;

/// What the configuration says about one group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupPolicy<'c> {
    /// Only listed groups are served.
    pub restricted: bool,
    pub allowed: bool,
    /// The settings of this group.
    pub own: Option<&'c GroupSettings>,
    /// The settings of `*`.
    pub default: Option<&'c GroupSettings>,
}

/// The policy for a group; an account's own list replaces its channel's.
pub fn group_policy<'c>(
    config: &'c Config,
    channel: &str,
    account: Option<&str>,
    group: Option<&str>,
) -> GroupPolicy<'c> {
    let groups = groups(config, channel, account);
    let id = group.and_then(text::non_blank);
    let own = groups.and_then(|groups| groups.get(id?));
    let default = groups.and_then(|groups| groups.get("*"));
    let restricted = groups.is_some_and(|groups| !groups.is_empty());
    GroupPolicy { restricted, allowed: !restricted || own.is_some() || default.is_some(), own, default }
}

fn groups<'c>(config: &'c Config, channel: &str, account: Option<&str>) -> Option<&'c Map<GroupSettings>> {
    let channel = config.channels.settings(channel)?;
    let account = AccountId::normalize(account.unwrap_or(""));
    let of_account = channel.accounts.as_ref().and_then(|accounts| {
        let exact = accounts.get(account.as_str()).and_then(|account| account.groups.as_ref());
        exact.or_else(|| {
            let mut accounts = accounts.iter();
            accounts.find(|(name, _)| text::lower(name) == account.as_str())?.1.groups.as_ref()
        })
    });
    of_account.or(channel.groups.as_ref())
}

/// Whether a caller's setting comes before or after the configuration's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MentionOverride {
    #[default]
    None,
    BeforeConfig(bool),
    AfterConfig(bool),
}

impl GroupPolicy<'_> {
    /// Whether the agent answers only when mentioned. Groups must mention it unless told otherwise.
    pub fn requires_mention(&self, override_: MentionOverride) -> bool {
        let said = |settings: Option<&GroupSettings>| settings?.require_mention;
        let configured = said(self.own).or_else(|| said(self.default));
        match override_ {
            MentionOverride::BeforeConfig(wanted) => wanted,
            MentionOverride::AfterConfig(wanted) => configured.unwrap_or(wanted),
            MentionOverride::None => configured.unwrap_or(true),
        }
    }

    /// The tool policy for a sender: the group's for this sender, the group's, then the default's.
    pub fn tools(&self, sender: &GroupSender<'_>) -> Option<&ToolPolicy> {
        [self.own, self.default].into_iter().flatten().find_map(|settings| {
            let by_sender = settings.tools_by_sender.as_ref().and_then(|tools| sender.find(tools));
            by_sender.or(settings.tools.as_ref())
        })
    }
}

/// The names a sender goes by, in the order in which they are looked up.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupSender<'a> {
    pub id: Option<&'a str>,
    pub e164: Option<&'a str>,
    pub username: Option<&'a str>,
    pub name: Option<&'a str>,
}

impl GroupSender<'_> {
    fn find<'c>(&self, tools: &'c Map<ToolPolicy>) -> Option<&'c ToolPolicy> {
        let policies = || {
            let named = tools.iter().map(|(name, policy)| (sender_key(name), policy));
            named.filter(|(name, _)| !name.is_empty())
        };
        let names = [self.id, self.e164, self.username, self.name].into_iter().flatten();
        let own = names
            .map(sender_key)
            .filter(|name| !name.is_empty() && name != "*")
            .find_map(|wanted| policies().find(|(name, _)| *name == wanted).map(|(_, policy)| policy));
        own.or_else(|| policies().rfind(|(name, _)| name == "*").map(|(_, policy)| policy))
    }
}

fn sender_key(name: &str) -> String {
    let name = text::trim(name);
    text::lower(name.strip_prefix('@').unwrap_or(name))
}

/// How Discord servers are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuildPolicy {
    Disabled,
    Open,
    Allowlist,
}

impl GuildPolicy {
    pub fn parse(text: &str) -> Self {
        match text {
            "disabled" => Self::Disabled,
            "open" => Self::Open,
            _ => Self::Allowlist,
        }
    }

    /// `channel_allowed` is `None` where the server has no list of channels.
    pub fn admits(self, guild_listed: bool, channel_allowed: Option<bool>) -> bool {
        match self {
            Self::Disabled => false,
            Self::Open => true,
            Self::Allowlist => guild_listed && channel_allowed.unwrap_or(true),
        }
    }
}

/// The settings of a Discord server: by id, by the slug of its name, or the wildcard's. What is
/// found is completed with the id, and with the slug where that was used.
pub fn guild_settings(settings: &Object, id: &str, name: Option<&str>) -> Option<Object> {
    let entry = |key: &str| settings.get(key).and_then(Value::as_object).cloned();
    let with_id = |mut found: Object| {
        found.insert("id".to_owned(), Value::from(id));
        found
    };
    if let Some(found) = entry(id) {
        return Some(with_id(found));
    }
    let slug = discord_slug(name.unwrap_or(""));
    let mut found = with_id(entry(&slug).or_else(|| entry("*"))?);
    if !slug.is_empty() {
        found.insert("slug".to_owned(), Value::from(slug));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_of_groups_keeps_the_others_out() {
        let config = Config::new(json!({"channels": {"telegram": {
            "groups": {"1": {"requireMention": false}},
            "accounts": {"work": {"groups": {"*": {}}}},
        }}}));
        let policy = |account, group| group_policy(&config, "telegram", account, Some(group));
        assert!(policy(None, " 1 ").allowed && !policy(None, "2").allowed);
        assert!(policy(Some("Work"), "2").allowed);
        assert!(!policy(None, "1").requires_mention(MentionOverride::None));
        assert!(policy(None, "2").requires_mention(MentionOverride::None));
        assert!(policy(None, "1").requires_mention(MentionOverride::BeforeConfig(true)));
    }
}

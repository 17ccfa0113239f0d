//! Whether a sender may command the agent, and whether they own it (`sessions.md` §17).

use crate::access::allow_list::without_telegram_prefix;
use crate::channel::{CORE_CHANNELS, core_channel, e164, whatsapp_target};
use crate::config::Config;
use crate::config::channels::settings::ChannelSettings;
use crate::config::map::Map;
use crate::config::text::TextOrNumber;
use crate::id::AccountId;
use crate::inbound::InboundMessage;
use crate::text;
use crate::unique::unique;

/// What is known about the sender's authority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandAuthority {
    pub channel: Option<&'static str>,
    pub owners: Vec<String>,
    /// The sender as the channel's lists spell it.
    pub sender: Option<String>,
    pub is_owner: bool,
    pub is_authorized: bool,
    /// The owner, or, where nobody is named as such, somebody whom the owner let in by name.
    pub is_trusted: bool,
}

/// Judges the sender of `message`; `command_authorized` is the channel's own verdict.
pub fn command_authority(
    message: &InboundMessage,
    config: &Config,
    command_authorized: bool,
) -> CommandAuthority {
    let account = message.account_id.as_deref();
    let channel = channel_of(message, config);
    let allowed = channel
        .map(|channel| format_list(Some(channel), &listed(allow_from(config, channel, account))))
        .unwrap_or_default();
    let owners = owner_list(config, channel);

    let lets_anybody_in = allowed.iter().any(|entry| entry == "*");
    let allow_all = allowed.is_empty() || lets_anybody_in;
    let candidates = if allow_all { Vec::new() } else { allowed };
    let anyone_owns = owners.iter().any(|owner| owner == "*");
    let explicit: Vec<String> = owners.into_iter().filter(|owner| owner != "*").collect();
    let owners_configured = anyone_owns || !explicit.is_empty();
    let owner_list = unique(if explicit.is_empty() { candidates.clone() } else { explicit });

    let names = sender_names(message, channel);
    let owner_name = names.iter().find(|name| owner_list.contains(name));
    let is_candidate = names.iter().any(|name| candidates.contains(name));
    let is_owner = owner_name.is_some();
    let may_command = if !owners_configured && channel != Some(ENFORCES_OWNERS) {
        true
    } else if owners_configured {
        anyone_owns || is_owner
    } else {
        candidates.is_empty() || is_candidate
    };
    let is_authorized = command_authorized && may_command;
    let is_named = !lets_anybody_in && !anyone_owns && owner_list.is_empty();
    CommandAuthority {
        is_trusted: is_owner || is_authorized && is_named,
        channel,
        sender: owner_name.or(names.first()).cloned(),
        owners: owner_list,
        is_owner,
        is_authorized,
    }
}

/// The channel on which only owners command, since the agent answers from its owner's own account.
const ENFORCES_OWNERS: &str = "whatsapp";

/// The channel a message came through: what it says, what its addresses say, or the only channel
/// that has a list of senders.
fn channel_of(message: &InboundMessage, config: &Config) -> Option<&'static str> {
    let known = |raw: &str| text::lower_non_blank(raw).and_then(|name| core_channel(&name));
    let said = [&message.provider, &message.surface, &message.originating_channel];
    let addresses = [&message.from, &message.to];
    let in_address =
        || addresses.into_iter().flatten().find_map(|address| address.split(':').find_map(known));
    let only_configured = || {
        let account = message.account_id.as_deref();
        let mut configured =
            CORE_CHANNELS.into_iter().filter(|channel| !allow_from(config, channel, account).is_empty());
        configured.next().filter(|_| configured.next().is_none())
    };
    said.into_iter().flatten().find_map(|name| known(name)).or_else(in_address).or_else(only_configured)
}

/// The raw list of senders that a channel's configuration allows; an account's own comes first.
fn allow_from<'c>(config: &'c Config, channel: &str, account: Option<&str>) -> &'c [TextOrNumber] {
    let Some(section) = config.channels.settings(channel) else {
        return &[];
    };
    let own = account_section(section, channel, account);
    // These platforms keep the list of a person's own conversations apart.
    let list_of = |section: &'c ChannelSettings| match channel {
        "discord" | "slack" | "googlechat" => section.dm.as_ref().map(|dm| dm.allow_from.as_ref()),
        _ => section.allow_from.as_ref().map(Some),
    };
    let list = match channel {
        // Here a list is looked up by itself; elsewhere an account's `dm` replaces the channel's.
        "googlechat" | "whatsapp" => own.and_then(list_of).flatten().or_else(|| list_of(section).flatten()),
        _ => own.and_then(list_of).or_else(|| list_of(section)).flatten(),
    };
    list.map(Vec::as_slice).unwrap_or_default()
}

fn account_section<'c>(
    section: &'c ChannelSettings,
    channel: &str,
    account: Option<&str>,
) -> Option<&'c ChannelSettings> {
    let accounts = section.accounts.as_ref()?;
    let id = match (channel, account.and_then(text::non_blank)) {
        ("whatsapp", Some(id)) => id.to_owned(),
        ("whatsapp", None) => default_account(accounts),
        (_, id) => AccountId::normalize(id.unwrap_or("")).as_str().to_owned(),
    };
    let same_id = |(name, _): &(&String, &ChannelSettings)| match channel {
        "telegram" => AccountId::normalize(name).as_str() == id,
        "googlechat" => text::lower(name) == id,
        _ => false,
    };
    accounts.get(&id).or_else(|| accounts.iter().find(same_id).map(|(_, account)| account))
}

/// The account that is used when none is named: `default`, else the first in the alphabet.
fn default_account(accounts: &Map<ChannelSettings>) -> String {
    let first = accounts.keys().filter(|name| !name.is_empty()).min();
    if accounts.contains_key("default") { "default".to_owned() } else { first.cloned().unwrap_or_default() }
}

/// `commands.ownerAllowFrom`: an entry that begins with a channel counts on that channel only.
fn owner_list(config: &Config, channel: Option<&'static str>) -> Vec<String> {
    let mut owners = Vec::new();
    for entry in listed(config.commands.owner_allow_from.as_deref().unwrap_or_default()) {
        let prefixed = entry.split_once(':').and_then(|(name, rest)| {
            let named = text::lower_non_blank(name).and_then(|name| core_channel(&name))?;
            Some((named, text::trim(rest)))
        });
        match prefixed {
            Some((named, _)) if channel.is_some_and(|channel| channel != named) => {}
            Some((_, rest)) => owners.extend(Some(rest).filter(|rest| !rest.is_empty()).map(str::to_owned)),
            None => owners.push(entry.clone()),
        }
    }
    format_list(channel, &owners)
}

/// The names a sender goes by, spelt as the channel's lists are.
fn sender_names(message: &InboundMessage, channel: Option<&'static str>) -> Vec<String> {
    let (id, number) = (&message.sender_id, &message.sender_e164);
    let names =
        if channel == Some("whatsapp") { [number, id, &message.from] } else { [id, number, &message.from] };
    let spelt = names.into_iter().flatten().flat_map(|name| format_list(channel, &trimmed([name.as_str()])));
    unique(spelt)
}

/// A list in the spelling that its channel compares.
fn format_list(channel: Option<&str>, list: &[String]) -> Vec<String> {
    match channel {
        Some("telegram") => {
            list.iter().map(|entry| text::lower(without_telegram_prefix(entry))).filter(filled).collect()
        }
        Some("whatsapp") => list.iter().filter_map(|entry| unless_wildcard(entry, whatsapp_target)).collect(),
        Some("discord" | "slack") => list.iter().map(|entry| text::lower(entry)).collect(),
        Some("signal") => {
            let number = |entry: &str| {
                Some(e164(text::strip_prefix_ignoring_ascii_case(entry, "signal:").unwrap_or(entry)))
            };
            list.iter().filter_map(|entry| unless_wildcard(entry, number)).collect()
        }
        Some("googlechat") => list.iter().map(|entry| googlechat_user(entry)).filter(filled).collect(),
        _ => list.to_vec(),
    }
}

/// The entries of a configured list, trimmed.
fn listed(list: &[TextOrNumber]) -> Vec<String> {
    trimmed(list.iter().map(TextOrNumber::text).collect::<Vec<_>>().iter().map(AsRef::as_ref))
}

fn trimmed<'e>(entries: impl IntoIterator<Item = &'e str>) -> Vec<String> {
    entries.into_iter().filter_map(text::non_blank).map(str::to_owned).collect()
}

fn filled(text: &impl AsRef<str>) -> bool {
    text::non_blank(text.as_ref()).is_some()
}

fn unless_wildcard(entry: &str, spell: impl Fn(&str) -> Option<String>) -> Option<String> {
    if entry == "*" { Some("*".to_owned()) } else { spell(entry) }
}

fn googlechat_user(entry: &str) -> String {
    let mut rest = entry;
    for prefixes in [&["googlechat:", "google-chat:", "gchat:"][..], &["user:"], &["users/"]] {
        let bare = prefixes.iter().find_map(|prefix| text::strip_prefix_ignoring_ascii_case(rest, prefix));
        rest = bare.unwrap_or(rest);
    }
    text::lower(rest)
}

/// One way in which a sender may have been authorised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authorizer {
    pub configured: bool,
    pub allowed: bool,
}

/// What commands need while access groups are off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithoutAccessGroups {
    #[default]
    Allow,
    Deny,
    /// Whoever is configured decides; nobody configured allows.
    Configured,
}

/// Whether a message that holds a command is turned away: the sender may not give it.
pub fn command_is_blocked(text_commands_allowed: bool, is_command: bool, authorized: bool) -> bool {
    text_commands_allowed && is_command && !authorized
}

/// Whether any authoriser lets the sender command.
pub fn commands_allowed(
    use_access_groups: bool,
    authorizers: &[Authorizer],
    otherwise: WithoutAccessGroups,
) -> bool {
    let let_in = || authorizers.iter().any(|one| one.configured && one.allowed);
    match (use_access_groups, otherwise) {
        (true, _) => let_in(),
        (false, WithoutAccessGroups::Allow) => true,
        (false, WithoutAccessGroups::Deny) => false,
        (false, WithoutAccessGroups::Configured) => !authorizers.iter().any(|one| one.configured) || let_in(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use serde_json::json;

    fn judge(config: Value, provider: &str, sender: &str) -> CommandAuthority {
        let message = InboundMessage {
            provider: Some(provider.to_owned()),
            from: Some(sender.to_owned()),
            sender_id: Some(sender.to_owned()),
            ..InboundMessage::default()
        };
        command_authority(&message, &Config::new(config), true)
    }

    #[test]
    fn only_owners_command_on_whatsapp_and_where_owners_are_named() {
        let whatsapp = || json!({"channels": {"whatsapp": {"allowFrom": ["+1 555"]}}});
        assert!(judge(whatsapp(), "whatsapp", "+1555").is_owner);
        assert!(!judge(whatsapp(), "whatsapp", "+1666").is_authorized);
        let telegram = json!({"channels": {"telegram": {"allowFrom": ["123"]}}});
        assert!(judge(telegram, "telegram", "9").is_authorized);
        let owned = || json!({"commands": {"ownerAllowFrom": ["telegram:123", "discord:9"]}});
        assert!(judge(owned(), "telegram", "123").is_authorized);
        assert!(!judge(owned(), "telegram", "9").is_authorized);
    }
}

//! Channel names, chat types, and telephone numbers as channels write them (`sessions.md` §2).

pub mod imessage;
pub mod status;

use crate::text;

/// The channels every installation knows, in the order in which they are offered.
pub const CORE_CHANNELS: [&str; 7] =
    ["telegram", "whatsapp", "discord", "googlechat", "slack", "signal", "imessage"];

/// The gateway's own chat; it has no platform behind it.
pub const WEBCHAT: &str = "webchat";

/// Channels whose conversations may be channels rather than groups.
const WITH_CHANNEL_CHATS: [&str; 3] = ["telegram", "discord", "slack"];

/// What kind of conversation a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChatType {
    Direct,
    Group,
    Channel,
}

impl ChatType {
    /// `direct` and `dm`, `group`, `channel`, in any case; anything else is unknown.
    pub fn parse(raw: &str) -> Option<Self> {
        match text::lower(text::trim(raw)).as_str() {
            "direct" | "dm" => Some(Self::Direct),
            "group" => Some(Self::Group),
            "channel" => Some(Self::Channel),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Group => "group",
            Self::Channel => "channel",
        }
    }
}

/// The name a channel goes by: aliases resolved, unknown names passed through in lower case.
pub fn normalize_channel(raw: &str) -> Option<String> {
    let name = text::lower_non_blank(raw)?;
    Some(core_channel(&name).map_or(name, str::to_owned))
}

/// The core channel that `name` (lower case) is or stands for.
pub fn core_channel(name: &str) -> Option<&'static str> {
    let name = match name {
        "imsg" => "imessage",
        "google-chat" | "gchat" => "googlechat",
        other => other,
    };
    CORE_CHANNELS.into_iter().find(|core| *core == name)
}

/// Whether a group id may be prefixed with `name`: a channel we deliver to, or the web chat.
pub fn is_surface(name: &str) -> bool {
    CORE_CHANNELS.contains(&name) || name == WEBCHAT
}

/// Whether the platform has channels beside groups.
pub fn has_channel_chats(channel: &str) -> bool {
    WITH_CHANNEL_CHATS.contains(&channel)
}

/// A telephone number as `+digits`. Nothing but digits and `+` survives; an inner `+` is kept.
pub fn e164(number: &str) -> String {
    let bare = number.strip_prefix("whatsapp:").unwrap_or(number);
    let digits: String = bare.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect();
    if digits.starts_with('+') { digits } else { format!("+{digits}") }
}

/// Where a WhatsApp message goes: a group id, or a number as `+digits`.
pub fn whatsapp_target(raw: &str) -> Option<String> {
    let target = without_whatsapp_prefixes(raw);
    if target.is_empty() {
        return None;
    }
    if let Some(group) = whatsapp_group(target) {
        return Some(format!("{group}@g.us"));
    }
    let number = match whatsapp_user(target) {
        Some(digits) => e164(digits),
        None if target.contains('@') => return None,
        None => e164(target),
    };
    (number.len() > 1).then_some(number)
}

/// Whether the address names a WhatsApp group.
pub fn is_whatsapp_group(raw: &str) -> bool {
    whatsapp_group(without_whatsapp_prefixes(raw)).is_some()
}

fn without_whatsapp_prefixes(raw: &str) -> &str {
    let mut rest = text::trim(raw);
    while let Some(bare) = text::strip_prefix_ignoring_ascii_case(rest, "whatsapp:") {
        rest = text::trim(bare);
    }
    rest
}

/// The part of a group id before `@g.us`: numbers joined by dashes.
fn whatsapp_group(target: &str) -> Option<&str> {
    let local = strip_suffix_ignoring_case(target, "@g.us")?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    local.split('-').all(is_number).then_some(local)
}

/// The digits of a user address: `<digits>[:device]@s.whatsapp.net` or `<digits>@lid`.
fn whatsapp_user(target: &str) -> Option<&str> {
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if let Some(local) = strip_suffix_ignoring_case(target, "@lid") {
        return Some(local).filter(is_number);
    }
    let local = strip_suffix_ignoring_case(target, "@s.whatsapp.net")?;
    match local.split_once(':') {
        Some((user, device)) => Some(user).filter(is_number).filter(|_| is_number(&device)),
        None => Some(local).filter(is_number),
    }
}

fn strip_suffix_ignoring_case<'t>(text: &'t str, suffix: &str) -> Option<&'t str> {
    let at = text.len().checked_sub(suffix.len())?;
    text.as_bytes()[at..].eq_ignore_ascii_case(suffix.as_bytes()).then(|| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_resolve_and_unknown_channels_pass() {
        let table = [
            (" IMSG ", Some("imessage")),
            ("gchat", Some("googlechat")),
            ("Matrix", Some("matrix")),
            (" ", None),
        ];
        for (raw, name) in table {
            assert_eq!(normalize_channel(raw).as_deref(), name, "{raw}");
        }
    }

    #[test]
    fn numbers_and_groups_have_one_spelling() {
        let table = [
            ("whatsapp:+1 (555) 12", Some("+155512")),
            ("WhatsApp: whatsapp:120-3@G.US", Some("120-3@g.us")),
            ("4179:0@s.whatsapp.net", Some("+4179")),
            ("4179@lid", Some("+4179")),
            ("someone@example", None),
            ("@g.us", None),
            ("", None),
        ];
        for (raw, target) in table {
            assert_eq!(whatsapp_target(raw).as_deref(), target, "{raw}");
        }
        assert_eq!(e164("whatsapp:49 1+2"), "+491+2");
    }
}

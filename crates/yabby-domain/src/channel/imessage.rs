//! Handles and chats as iMessage writes them (`sessions.md` §17).

use super::e164;
use crate::text;

const SERVICES: [&str; 3] = ["imessage:", "sms:", "auto:"];

/// By what a chat is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatName {
    Id,
    Guid,
    Identifier,
}

impl ChatName {
    /// The prefix of such a name, then its other spellings.
    fn prefixes(self) -> [&'static str; 3] {
        match self {
            Self::Id => ["chat_id:", "chatid:", "chat:"],
            Self::Guid => ["chat_guid:", "chatguid:", "guid:"],
            Self::Identifier => ["chat_identifier:", "chatidentifier:", "chatident:"],
        }
    }
}

/// The chat that an address without its service names, if it is one.
pub fn chat(address: &str) -> Option<(ChatName, &str)> {
    [ChatName::Id, ChatName::Guid, ChatName::Identifier].into_iter().find_map(|by| {
        let name = by.prefixes().into_iter().find_map(|prefix| after_prefix(address, prefix))?;
        Some((by, name))
    })
}

/// An address in one spelling: a chat, an e-mail address, or a number; empty if it names nobody.
pub fn handle(raw: &str) -> String {
    let address = without_services(raw);
    match chat(address) {
        Some((by, name)) => format!("{}{name}", by.prefixes()[0]),
        None if address.is_empty() => String::new(),
        None if address.contains('@') => text::lower(address),
        None => e164(address),
    }
}

/// The service in front of an address, and what follows it.
pub fn service(address: &str) -> Option<(&'static str, &str)> {
    SERVICES.into_iter().find_map(|service| Some((service, after_prefix(address, service)?)))
}

/// The address without any service in front.
pub fn without_services(raw: &str) -> &str {
    let mut address = text::trim(raw);
    while let Some((_, rest)) = service(address) {
        address = rest;
    }
    address
}

fn after_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    text::strip_prefix_ignoring_ascii_case(text, prefix).map(text::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_has_one_spelling() {
        let table = [
            ("SMS: iMessage:+1 (555)", "+1555"),
            ("auto:A@B.c", "a@b.c"),
            ("chat: 5", "chat_id:5"),
            ("GUID:x;-;Y", "chat_guid:x;-;Y"),
            ("chatident:c", "chat_identifier:c"),
            ("sms:", ""),
        ];
        for (raw, expected) in table {
            assert_eq!(handle(raw), expected, "{raw}");
        }
    }
}

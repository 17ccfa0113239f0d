//! What a conversation is called in lists and headers (`sessions.md` §3).

use crate::channel::ChatType;
use crate::inbound::InboundMessage;
use crate::text;

/// The label of the conversation a message belongs to: the one it came with, its thread's, the other
/// person's name, or what the group is called, with the group's id where that says more.
pub fn conversation_label(message: &InboundMessage) -> Option<String> {
    let known = |field: &Option<String>| field.as_deref().and_then(text::non_blank).map(str::to_owned);
    if let Some(label) = known(&message.conversation_label) {
        return Some(label);
    }
    if let Some(thread) = known(&message.thread_label) {
        return Some(thread);
    }
    let from = known(&message.from);
    if message.chat_type.as_deref().and_then(ChatType::parse) == Some(ChatType::Direct) {
        return known(&message.sender_name).or(from);
    }
    let group = known(&message.group_channel)
        .or_else(|| known(&message.group_subject))
        .or_else(|| known(&message.group_space));
    let name = group.or_else(|| from.clone())?;
    match from.as_deref().and_then(telling_id) {
        Some(id) if !says_id(&name, id) => Some(format!("{name} id:{id}")),
        _ => Some(name),
    }
}

/// The last part of an address, if it is an id a person would recognise: a number or a WhatsApp group.
fn telling_id(from: &str) -> Option<&str> {
    let last = from.rsplit(':').find(|part| !part.is_empty()).unwrap_or(from);
    let is_number = !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit());
    (is_number || last.contains("@g.us")).then_some(last)
}

/// Whether the name needs no id: it holds it, has one already, or is a handle.
fn says_id(name: &str, id: &str) -> bool {
    name.contains(id) || text::lower(name).contains(" id:") || name.starts_with(['#', '@'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_named_with_its_id_where_that_helps() {
        let message = |chat_type: &str, from: &str, subject: &str| InboundMessage {
            chat_type: Some(chat_type.to_owned()),
            from: Some(from.to_owned()),
            group_subject: Some(subject.to_owned()),
            sender_name: Some("Al".to_owned()),
            ..InboundMessage::default()
        };
        let table = [
            (message("direct", "telegram:5", "x"), Some("Al")),
            (message("group", "telegram:group:5", "Fam"), Some("Fam id:5")),
            (message("group", "whatsapp:1-2@g.us", "Fam"), Some("Fam id:1-2@g.us")),
            (message("group", "slack:channel:C1", "Fam"), Some("Fam")),
            (message("channel", "discord:channel:9", "#dev"), Some("#dev")),
            (message("group", "telegram:group:5", " "), Some("telegram:group:5")),
            (message("", " ", ""), None),
        ];
        for (message, label) in table {
            assert_eq!(conversation_label(&message).as_deref(), label, "{message:?}");
        }
    }
}

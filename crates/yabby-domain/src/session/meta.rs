//! What an inbound message tells the record about its conversation (`sessions.md` §3).

use crate::channel::{self, ChatType, normalize_channel};
use crate::inbound::conversation_label::conversation_label;
use crate::inbound::{InboundMessage, ThreadId};
use crate::json::{Object, Value};
use crate::session::entry::{Patch, SessionEntry};
use crate::session::group::{Group, GroupNames, display_name};
use crate::text;

/// The changes to make; empty if the message says nothing. `group` is the message's, see
/// [`resolve_group`](crate::session::group::resolve_group).
pub fn meta_patch(
    message: &InboundMessage,
    group: Option<&Group>,
    key: &str,
    existing: Option<&SessionEntry>,
) -> Patch {
    let mut patch = group.map(|group| group_patch(message, group, key, existing)).unwrap_or_default();
    let said = origin(message);
    let known = existing.and_then(SessionEntry::origin);
    if !said.is_empty() || (known.is_some() && !patch.is_empty()) {
        let mut origin = known.cloned().unwrap_or_default();
        origin.extend(said);
        patch.set_origin(Some(origin).filter(|origin| !origin.is_empty()));
    }
    patch
}

/// The record after a message was heard; `None` if there is nothing to write: the message says
/// nothing, or there is no record and none may be made.
pub fn recorded(
    existing: Option<&SessionEntry>,
    patch: &Patch,
    may_create: bool,
    now: f64,
    new_id: &mut dyn FnMut() -> String,
) -> Option<SessionEntry> {
    let wanted = !patch.is_empty() && (existing.is_some() || may_create);
    wanted.then(|| SessionEntry::merged(existing, patch, now, new_id))
}

fn group_patch(message: &InboundMessage, group: &Group, key: &str, existing: Option<&SessionEntry>) -> Patch {
    let said = |field: &'_ Option<String>| field.as_deref().map(text::trim).map(str::to_owned);
    let subject = said(&message.group_subject);
    let space = said(&message.group_space);
    let has_channels = group.chat_type == ChatType::Channel
        || normalize_channel(&group.channel).is_some_and(|name| channel::has_channel_chats(&name));
    // A subject that looks like a channel name is one, where the platform has channels.
    let channel_like = || subject.clone().filter(|subject| has_channels && subject.starts_with('#'));
    let group_channel = said(&message.group_channel).or_else(channel_like);
    let subject = subject.filter(|_| group_channel.as_deref().is_none_or(str::is_empty));

    let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let mut patch = Patch::default();
    patch.set_chat_type(Some(group.chat_type.as_str()));
    patch.set_channel(Some(&group.channel));
    patch.set_group_id(Some(&group.id));
    for (field, value) in [("subject", &subject), ("groupChannel", &group_channel), ("space", &space)] {
        if let Some(value) = filled(value) {
            patch.put(field, Some(Value::String(value)));
        }
    }
    let name = display_name(&GroupNames {
        channel: Some(&group.channel),
        subject: subject.as_deref().or_else(|| existing?.subject()),
        group_channel: group_channel.as_deref().or_else(|| existing?.group_channel()),
        space: space.as_deref().or_else(|| existing?.space()),
        id: Some(&group.id),
        key,
    });
    patch.set_display_name(Some(&name));
    patch
}

/// Where the message came from, in the form the record keeps.
fn origin(message: &InboundMessage) -> Object {
    let filled = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
    let provider =
        filled(&message.originating_channel).or(filled(&message.surface)).or(message.provider.clone());
    let said = |field: &Option<String>| field.as_deref().and_then(text::non_blank).map(str::to_owned);
    let parts = [
        ("label", conversation_label(message).as_deref().and_then(text::non_blank).map(str::to_owned)),
        ("provider", provider.as_deref().and_then(normalize_channel)),
        ("surface", message.surface.as_deref().and_then(text::lower_non_blank)),
        (
            "chatType",
            message.chat_type.as_deref().and_then(ChatType::parse).map(|kind| kind.as_str().to_owned()),
        ),
        ("from", said(&message.from)),
        (
            "to",
            if message.originating_to.is_some() { said(&message.originating_to) } else { said(&message.to) },
        ),
        ("accountId", said(&message.account_id)),
    ];
    let mut origin: Object = parts
        .into_iter()
        .filter_map(|(field, value)| Some((field.to_owned(), Value::String(value?))))
        .collect();
    match &message.message_thread_id {
        // Thread 0 is a thread; an empty id is not.
        Some(ThreadId::Text(id)) if id.is_empty() => {}
        Some(id) => {
            origin.insert("threadId".to_owned(), id.to_value());
        }
        None => {}
    }
    origin
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::session::group::resolve_group;

    #[test]
    fn a_subject_with_a_hash_names_a_channel_where_there_are_channels() {
        //  from                chat type  subject → what the record keeps
        let table = [
            ("slack:channel:C1", "channel", "#dev", r##"{"groupChannel":"#dev"}"##),
            ("telegram:group:-1", "group", "#dev", r##"{"groupChannel":"#dev"}"##),
            ("whatsapp:group:1@g.us", "group", "#dev", r##"{"subject":"#dev"}"##),
        ];
        for (from, chat_type, subject, kept) in table {
            let message = InboundMessage {
                from: Some(from.to_owned()),
                chat_type: Some(chat_type.to_owned()),
                group_subject: Some(subject.to_owned()),
                ..InboundMessage::default()
            };
            let group = resolve_group(&message);
            let mut object = meta_patch(&message, group.as_ref(), "k", None).into_object();
            object.retain(|field, _| matches!(field.as_str(), "subject" | "groupChannel"));
            assert_eq!(json::stringify_object(&object), kept, "{from}");
        }
    }

    #[test]
    fn a_record_is_made_only_where_that_is_wanted() {
        let mut said = Patch::default();
        said.set_subject(Some("Fam"));
        let known = SessionEntry::default();
        //  existing       patch              may create  written
        let table = [
            (None, &said, true, true),
            (None, &said, false, false),
            (Some(&known), &said, false, true),
            (Some(&known), &Patch::default(), true, false),
        ];
        for (existing, patch, may_create, written) in table {
            let record = recorded(existing, patch, may_create, 1.0, &mut || "id".to_owned());
            assert_eq!(record.is_some(), written, "{existing:?} {patch:?} {may_create}");
        }
    }
}

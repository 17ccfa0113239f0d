//! Channels that stood at the root, and their groups and senders (`config.md` §4).

use serde_json::Value;
use yabby_base::json::Object;

use super::tree::{drop_if_empty, ensure, merge_missing, object, settle};

pub fn sections(root: &mut Object, changes: &mut Vec<String>) {
    const IDS: [&str; 7] = ["whatsapp", "telegram", "discord", "slack", "signal", "imessage", "msteams"];
    for id in IDS {
        let Some(legacy) = root.get(id).and_then(Value::as_object).cloned() else { continue };
        let section = ensure(ensure(root, "channels"), id);
        let verb = if section.is_empty() { "Moved" } else { "Merged" };
        merge_missing(section, &legacy);
        root.shift_remove(id);
        changes.push(format!("{verb} {id} → channels.{id}."));
    }
}

pub fn allowed_senders(root: &mut Object, changes: &mut Vec<String>) {
    let Some(senders) = object(root, "routing").and_then(|routing| routing.shift_remove("allowFrom")) else {
        return;
    };
    drop_if_empty(root, "routing");
    match object(root, "channels").and_then(|channels| object(channels, "whatsapp")) {
        Some(whatsapp) => {
            let to = "channels.whatsapp.allowFrom";
            settle(senders, "routing.allowFrom", whatsapp, "allowFrom", to, changes);
        }
        None => changes.push("Removed routing.allowFrom (channels.whatsapp not configured).".to_owned()),
    }
}

pub fn group_mentions(root: &mut Object, changes: &mut Vec<String>) {
    const FROM: &str = "routing.groupChat.requireMention";
    let group_chat = object(root, "routing").and_then(|routing| object(routing, "groupChat"));
    let Some(value) = group_chat.and_then(|group_chat| group_chat.shift_remove("requireMention")) else {
        return;
    };
    if let Some(routing) = object(root, "routing") {
        drop_if_empty(routing, "groupChat");
    }
    drop_if_empty(root, "routing");
    let channels = ensure(root, "channels");
    for id in ["whatsapp", "telegram", "imessage"] {
        if id == "whatsapp" && !channels.get(id).is_some_and(Value::is_object) {
            continue;
        }
        require_mention(&value, FROM, channels, id, changes);
    }
}

pub fn telegram_mentions(root: &mut Object, changes: &mut Vec<String>) {
    let channels = ensure(root, "channels");
    let Some(value) =
        object(channels, "telegram").and_then(|telegram| telegram.get("requireMention")).cloned()
    else {
        return;
    };
    require_mention(&value, "telegram.requireMention", channels, "telegram", changes);
    ensure(channels, "telegram").shift_remove("requireMention");
}

/// Sets what holds for all groups of a channel, unless it is set.
fn require_mention(value: &Value, from: &str, channels: &mut Object, id: &str, changes: &mut Vec<String>) {
    let groups = object(channels, id).and_then(|section| object(section, "groups"));
    let every = groups.and_then(|groups| object(groups, "*"));
    if every.is_some_and(|every| every.contains_key("requireMention")) {
        changes.push(format!("Removed {from} (channels.{id}.groups.\"*\" already set)."));
        return;
    }
    let every = ensure(ensure(ensure(channels, id), "groups"), "*");
    every.insert("requireMention".to_owned(), value.clone());
    changes.push(format!("Moved {from} → channels.{id}.groups.\"*\".requireMention."));
}

//! `allowlist.json`.

use serde_json::json;
use yabby_config::read::{Read, read};
use yabby_domain::access::allow_list::{
    AllowMatch, DiscordList, DiscordSender, ImessageSender, SignalSender, TelegramList, discord_slug,
    imessage_allows, signal_allows, slack_allows, slack_match, slack_slug,
};
use yabby_domain::access::channel_entry::{EntryMatchedBy, find_entry};
use yabby_domain::access::command_auth::{
    Authorizer, WithoutAccessGroups, command_authority, command_is_blocked, commands_allowed,
};
use yabby_domain::access::group_policy::{
    GroupPolicy, GroupSender, GuildPolicy, MentionOverride, group_policy, guild_settings,
};
use yabby_domain::access::mention_gate::{CommandInGroup, Mentions, gate_with_commands};
use yabby_domain::command::{
    Activation, is_abort_word, is_command, is_control_message, normalize_body, parse_activation,
};
use yabby_domain::config::Config;
use yabby_domain::json::{Object, Value};
use yabby_domain::text;

use super::{context, rows};
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "allowlist.json", cases: rows, answer, differences: &[] };

const DISCORD_PREFIXES: [&str; 3] = ["discord:", "user:", "pk:"];

fn answer(case: &Case) -> Option<Value> {
    let list = |field: &str| case.arg(field).as_array().map(Vec::as_slice).unwrap_or_default();
    let flag = |field: &str| case.arg(field).as_bool().unwrap_or(false);
    let text = |field: &str| case.text(field).unwrap_or("");
    let config = Config::new(case.arg("cfg").clone());
    Some(match case.rule.as_str() {
        "telegram.resolveSenderAllowMatch" => allowed(
            TelegramList::new(list("allowFrom")).find(case.text("senderId"), case.text("senderUsername")),
        ),
        "telegram.isSenderAllowed" => {
            json!(
                TelegramList::new(list("allowFrom"))
                    .allows(case.text("senderId"), case.text("senderUsername"))
            )
        }
        "discord.resolveAllowListMatch" => match DiscordList::new(list("allowFrom"), &DISCORD_PREFIXES) {
            None => json!({"noAllowList": true}),
            Some(allow) => {
                let field = |name: &str| case.arg("candidate").get(name).and_then(Value::as_str);
                allowed(allow.find(&DiscordSender {
                    id: field("id"),
                    name: field("name"),
                    tag: field("tag"),
                }))
            }
        },
        "discord.normalizeSlug" => json!(discord_slug(text("value"))),
        "slack.normalizeSlug" => json!(slack_slug(text("value"))),
        "discord.isGroupAllowedByPolicy" => {
            let channel = flag("channelAllowlistConfigured").then(|| flag("channelAllowed"));
            json!(GuildPolicy::parse(text("groupPolicy")).admits(flag("guildAllowlisted"), channel))
        }
        "discord.resolveGuildEntry" => {
            let guild = case.arg("guild");
            let name = guild.get("name").and_then(Value::as_str);
            let found = guild
                .get("id")
                .and_then(Value::as_str)
                .zip(case.arg("guildEntries").as_object())
                .and_then(|(id, entries)| guild_settings(entries, id, name));
            found.map_or(Value::Null, Value::Object)
        }
        "slack.resolveAllowListMatch" => {
            allowed(slack_match(&case.texts("allowList"), case.text("id"), case.text("name")))
        }
        "slack.resolveUserAllowed" => {
            json!(slack_allows(list("allowList"), case.text("userId"), case.text("userName")))
        }
        "signal.isSenderAllowed" => {
            let field = |name: &str| case.arg("sender")[name].as_str().unwrap_or_default().to_owned();
            let sender = match field("kind").as_str() {
                "phone" => SignalSender::Phone { e164: field("e164") },
                _ => SignalSender::Uuid { uuid: field("raw") },
            };
            json!(signal_allows(list("allowFrom"), &sender))
        }
        "imessage.isAllowedSender" => json!(imessage_allows(
            list("allowFrom"),
            &ImessageSender {
                handle: text("sender"),
                chat_id: case.arg("chatId").as_f64(),
                chat_guid: case.text("chatGuid"),
                chat_identifier: case.text("chatIdentifier"),
            }
        )),
        "resolveChannelGroupPolicy" => policy_value(case, &config),
        "resolveChannelGroupRequireMention" => {
            json!(policy(case, &config).requires_mention(mention_override(case)))
        }
        "resolveChannelGroupToolsPolicy" => {
            let sender = GroupSender {
                id: case.text("senderId"),
                e164: case.text("senderE164"),
                username: case.text("senderUsername"),
                name: case.text("senderName"),
            };
            let found = policy(case, &config);
            let policies = |group: &Value| {
                let of_senders = group["toolsBySender"].as_object().into_iter().flatten();
                let of_senders = of_senders.map(|(_, policy)| policy.clone());
                of_senders.chain([group["tools"].clone()]).collect::<Vec<_>>()
            };
            let written = ["*", case.text("groupId").unwrap_or("")]
                .into_iter()
                .flat_map(|id| groups(case, &config, id));
            as_written(found.tools(&sender), written.flat_map(|group| policies(&group)))
        }
        "resolveCommandAuthorizedFromAuthorizers" => json!(authorized(case)),
        "resolveControlCommandGate" => {
            let authorized = authorized(case);
            let block = command_is_blocked(flag("allowTextCommands"), flag("hasControlCommand"), authorized);
            json!({"commandAuthorized": authorized, "shouldBlock": block})
        }
        "resolveMentionGating" => {
            // A caller that has decided on a bypass itself counts the message as a mention.
            let mut mentions = mentions(case);
            mentions.implicit |= flag("shouldBypassMention");
            let verdict = gate_with_commands(mentions, CommandInGroup::default());
            json!({"effectiveWasMentioned": verdict.mentioned, "shouldSkip": verdict.skip})
        }
        "resolveMentionGatingWithBypass" => {
            let verdict = gate_with_commands(
                mentions(case),
                CommandInGroup {
                    is_group: flag("isGroup"),
                    anyone_mentioned: flag("hasAnyMention"),
                    text_commands_allowed: flag("allowTextCommands"),
                    is_control_command: flag("hasControlCommand"),
                    authorized: flag("commandAuthorized"),
                },
            );
            json!({
                "effectiveWasMentioned": verdict.mentioned,
                "shouldSkip": verdict.skip,
                "shouldBypassMention": verdict.bypassed,
            })
        }
        "resolveChannelEntryMatchWithFallback" => entry_match(case),
        "resolveCommandAuthorization" => authority(case, &config),
        "hasControlCommand" => json!(is_command(text("text"), &config, None)),
        "isControlCommandMessage" => json!(is_control_message(text("text"), &config, None)),
        "normalizeCommandBody" => json!(normalize_body(text("raw"), case.text("botUsername"))),
        "isAbortTrigger" => json!(is_abort_word(text("text"))),
        "parseActivationCommand" => match parse_activation(text("raw")) {
            None => json!({"hasCommand": false}),
            Some(None) => json!({"hasCommand": true}),
            Some(Some(mode)) => json!({"hasCommand": true, "mode": Activation::as_str(mode)}),
        },
        _ => return None,
    })
}

fn allowed(found: Option<AllowMatch>) -> Value {
    match found {
        Some(found) => json!({"allowed": true, "matchKey": found.entry, "matchSource": found.by.as_str()}),
        None => json!({"allowed": false}),
    }
}

fn policy<'c>(case: &Case, config: &'c Config) -> GroupPolicy<'c> {
    group_policy(config, case.text("channel").unwrap_or(""), case.text("accountId"), case.text("groupId"))
}

fn policy_value(case: &Case, config: &Config) -> Value {
    let policy = policy(case, config);
    let mut value = json!({"allowlistEnabled": policy.restricted, "allowed": policy.allowed});
    let own = case.text("groupId").unwrap_or("").trim();
    for (field, settings, id) in [("groupConfig", policy.own, own), ("defaultConfig", policy.default, "*")] {
        if settings.is_some() {
            value[field] = as_written(settings, groups(case, config, id));
        }
    }
    value
}

/// The settings of a group as they are written, by whichever account.
fn groups(case: &Case, config: &Config, id: &str) -> Vec<Value> {
    let channel = &config.raw()["channels"][case.text("channel").unwrap_or("")];
    let accounts = channel["accounts"].as_object().into_iter().flatten().map(|(_, account)| account);
    let all = accounts.chain([channel]).filter_map(|holder| holder["groups"].get(id));
    all.cloned().collect()
}

/// The recorded answer is the object as it was configured; ours is the setting that it was read into, so the object is
/// shown only if it reads as that setting.
fn as_written<T: Read + PartialEq>(found: Option<&T>, written: impl IntoIterator<Item = Value>) -> Value {
    let is_it = |value: &Value| read::<T>(value).as_ref() == found;
    found.and_then(|_| written.into_iter().find(is_it)).unwrap_or_default()
}

fn mention_override(case: &Case) -> MentionOverride {
    match (case.arg("requireMentionOverride").as_bool(), case.text("overrideOrder")) {
        (None, _) => MentionOverride::None,
        (Some(wanted), Some("before-config")) => MentionOverride::BeforeConfig(wanted),
        (Some(wanted), _) => MentionOverride::AfterConfig(wanted),
    }
}

fn authorized(case: &Case) -> bool {
    let flag = |value: &Value, field: &str| value.get(field).and_then(Value::as_bool).unwrap_or(false);
    let authorizers: Vec<Authorizer> = case
        .arg("authorizers")
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| Authorizer { configured: flag(one, "configured"), allowed: flag(one, "allowed") })
        .collect();
    let otherwise = match case.text("modeWhenAccessGroupsOff") {
        None | Some("allow") => WithoutAccessGroups::Allow,
        Some("deny") => WithoutAccessGroups::Deny,
        Some(_) => WithoutAccessGroups::Configured,
    };
    commands_allowed(flag(&case.input, "useAccessGroups"), &authorizers, otherwise)
}

fn mentions(case: &Case) -> Mentions {
    let flag = |field: &str| case.arg(field).as_bool().unwrap_or(false);
    Mentions {
        required: flag("requireMention"),
        detectable: flag("canDetectMention"),
        mentioned: flag("wasMentioned"),
        implicit: flag("implicitMention"),
    }
}

fn entry_match(case: &Case) -> Value {
    let empty = Object::new();
    let entries = case.arg("entries").as_object().unwrap_or(&empty);
    let lower = |key: &str| text::lower(key);
    let normalize = (case.text("normalize") == Some("lower")).then_some(&lower as &dyn Fn(&str) -> String);
    let result = find_entry(
        entries,
        &case.texts("keys"),
        &case.texts("parentKeys"),
        case.text("wildcardKey"),
        normalize,
    );
    let mut value = json!({});
    if let Some((key, entry)) = result.wildcard {
        value["wildcardKey"] = json!(key);
        value["wildcardEntry"] = entry.clone();
    }
    if let Some(found) = result.found {
        value["entry"] = found.entry.clone();
        value["key"] = json!(found.key);
        value["matchKey"] = json!(found.key);
        value["matchSource"] = json!(found.by.as_str());
        if found.by == EntryMatchedBy::Parent {
            value["parentEntry"] = found.entry.clone();
            value["parentKey"] = json!(found.key);
        }
    }
    value
}

fn authority(case: &Case, config: &Config) -> Value {
    let message = context::inbound(case.arg("ctx"));
    let authority =
        command_authority(&message, config, case.arg("commandAuthorized").as_bool().unwrap_or(false));
    let mut value = json!({
        "ownerList": authority.owners,
        "senderIsOwner": authority.is_owner,
        "isAuthorizedSender": authority.is_authorized,
    });
    let said = |field: &Option<String>| field.as_deref().and_then(text::non_blank).map(str::to_owned);
    let parts = [
        ("providerId", authority.channel.map(str::to_owned)),
        ("senderId", authority.sender),
        ("from", said(&message.from)),
        ("to", said(&message.to)),
    ];
    for (field, part) in parts {
        if let Some(part) = part {
            value[field] = json!(part);
        }
    }
    value
}

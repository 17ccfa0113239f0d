//! Messages that an agent sends of its own accord: where to, and what goes with them.

use serde_json::json;
use yabby_domain::delivery::DeliveryContext;
use yabby_domain::inbound::ThreadId;
use yabby_domain::seam::tool::Company;

use crate::desk::Desk;

/// A desk in a thread of a chat on Telegram.
fn on_telegram() -> Desk {
    let mut desk = Desk::new();
    desk.context.address = Some(DeliveryContext {
        channel: Some("telegram".to_owned()),
        to: Some("-5".to_owned()),
        account: Some("bot".to_owned()),
        thread: Some(ThreadId::Number(3.0)),
    });
    desk
}

/// Where the last message went: channel, target, account and thread.
fn went(desk: &Desk) -> String {
    let to = desk.office.letters().last().unwrap().to.clone();
    let part = |part: Option<String>| part.unwrap_or_else(|| "–".to_owned());
    let thread = part(to.thread.map(|thread| thread.to_string()));
    format!("{} {} {} {thread}", part(to.channel), part(to.to), part(to.account))
}

#[tokio::test]
async fn without_a_target_it_goes_to_this_conversation() {
    let desk = on_telegram();
    let output = desk.call("message", json!({"message": "hello", "replyTo": "m1"})).await;
    assert!(!output.is_error, "{output:?}");
    assert_eq!(went(&desk), "telegram -5 bot 3");
    let letter = &desk.office.letters()[0];
    assert_eq!((letter.text.as_str(), letter.reply_to.as_deref()), ("hello", Some("m1")));
    let details = json!({"ok": true, "channel": "telegram", "to": "-5", "messageId": "sent-1"});
    assert_eq!(output.details.unwrap(), details);
    // So that the answer does not say it once more.
    assert_eq!(output.sent.len(), 1);
    assert_eq!((output.sent[0].text.as_str(), output.sent[0].target.to.as_deref()), ("hello", Some("-5")));
}

#[tokio::test]
async fn where_a_message_goes() {
    let across = json!({"tools": {"message": {"crossContext": {"allowAcrossProviders": true}}}});
    let older = json!({"tools": {"message": {"allowCrossContextSend": true}}});
    let within = json!({"tools": {"message": {"crossContext": {"allowWithinProvider": false}}}});
    //  configuration, target, where it goes or why it does not
    let table = [
        (json!({}), json!({"target": "-5"}), "telegram -5 bot 3"),
        (json!({}), json!({"target": "8"}), "telegram 8 bot –"),
        (json!({}), json!({"to": "8", "threadId": "4"}), "telegram 8 bot 4"),
        (json!({}), json!({"threadId": "3"}), "telegram -5 bot 3"),
        (json!({}), json!({"threadId": "4"}), "telegram -5 bot 4"),
        (json!({}), json!({"channel": "Telegram", "target": "8", "accountId": "two"}), "telegram 8 two –"),
        (
            json!({}),
            json!({"channel": "slack", "target": "C1"}),
            "!sending on another channel is switched off",
        ),
        (across.clone(), json!({"channel": "slack", "target": "C1"}), "slack C1 – –"),
        (older, json!({"channel": "slack", "target": "C1"}), "slack C1 – –"),
        (across, json!({"channel": "slack"}), "!target required"),
        (within.clone(), json!({"target": "8"}), "!sending to other conversations is switched off"),
        (within.clone(), json!({"threadId": "4"}), "!sending to other conversations is switched off"),
        (within, json!({"target": "-5"}), "telegram -5 bot 3"),
        (json!({}), json!({"action": "delete"}), "!the action delete is not available here"),
    ];
    for (config, target, expected) in table {
        let mut desk = on_telegram();
        desk.configure(config.clone());
        let mut arguments = json!({"message": "hello"});
        arguments.as_object_mut().unwrap().extend(target.as_object().unwrap().clone());
        match expected.strip_prefix('!') {
            Some(why) => {
                let told = desk.refused("message", arguments).await;
                assert!(told.starts_with(why), "{config} {target}: {told}");
                assert_eq!(desk.office.letters(), [], "{config} {target}");
            }
            None => {
                desk.told("message", arguments).await;
                assert_eq!(went(&desk), expected, "{config} {target}");
            }
        }
    }
}

#[tokio::test]
async fn among_others_messages_stay_in_this_conversation() {
    let mut desk = on_telegram();
    desk.context.company = Company::Others;
    // Whatever the configuration allows its owner.
    desk.configure(json!({"tools": {"message": {"allowCrossContextSend": true}}}));
    for here in [json!({}), json!({"target": "-5"}), json!({"threadId": "3", "accountId": "bot"})] {
        let mut arguments = json!({"message": "hello"});
        arguments.as_object_mut().unwrap().extend(here.as_object().unwrap().clone());
        desk.told("message", arguments).await;
        assert_eq!(went(&desk), "telegram -5 bot 3", "{here}");
    }
    let elsewhere = [
        json!({"target": "8"}),
        json!({"channel": "slack", "target": "C1"}),
        json!({"threadId": "4"}),
        json!({"accountId": "two"}),
    ];
    for elsewhere in elsewhere {
        let mut arguments = json!({"message": "hello"});
        arguments.as_object_mut().unwrap().extend(elsewhere.as_object().unwrap().clone());
        let told = desk.refused("message", arguments).await;
        assert_eq!(told, "from here messages can be sent to this conversation only", "{elsewhere}");
    }
    assert_eq!(desk.office.letters().len(), 3);
}

#[tokio::test]
async fn without_a_channel_of_its_own_a_conversation_has_to_name_one() {
    let desk = Desk::new();
    let table = [
        (json!({"message": "hello"}), "channel required: this conversation has none of its own"),
        (json!({"message": "hello", "channel": "telegram"}), "target required"),
        (json!({"channel": "telegram", "target": "8"}), "message required"),
        (json!({"message": " ", "channel": "telegram", "target": "8"}), "message required"),
    ];
    for (arguments, expected) in table {
        assert_eq!(desk.refused("message", arguments).await, expected);
    }
    desk.told("message", json!({"message": "hello", "channel": "telegram", "target": "8"})).await;
    assert_eq!(went(&desk), "telegram 8 – –");
}

#[tokio::test]
async fn what_is_attached_may_be_read_from_here() {
    let mut desk = on_telegram();
    desk.put("plan.png", "picture");
    desk.put("memory/2026-01-01.md", "private");
    std::fs::write(desk.outside().join("secret"), "key").unwrap();
    std::os::unix::fs::symlink(desk.outside().join("secret"), desk.context.workspace.join("link")).unwrap();
    let secret = desk.outside().join("secret").to_string_lossy().into_owned();
    let attached = async |desk: &Desk, media: &str| {
        let output = desk.call("message", json!({"media": media})).await;
        let sent = desk.office.letters().last().and_then(|letter| letter.media.clone());
        if output.is_error { None } else { sent }
    };
    let plan = desk.context.workspace.canonicalize().unwrap().join("plan.png").to_string_lossy().into_owned();
    assert_eq!(attached(&desk, "plan.png").await, Some(plan.clone()));
    assert_eq!(attached(&desk, &plan).await, Some(plan));
    let address = "https://pictures.example/a.png";
    assert_eq!(attached(&desk, address).await.as_deref(), Some(address));
    assert!(attached(&desk, "memory/2026-01-01.md").await.is_some(), "the owner may");
    let refused = [
        secret.as_str(),
        "link",
        "../secret",
        "~/.ssh/id_rsa",
        "/etc/passwd",
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "nothing.png",
        "memory",
        "",
    ];
    for media in refused {
        assert_eq!(attached(&desk, media).await, None, "{media}");
    }
    desk.context.company = Company::Others;
    assert_eq!(attached(&desk, "memory/2026-01-01.md").await, None, "it is not for others");
    assert_eq!(desk.office.letters().len(), 4);
}

#[tokio::test]
async fn a_platform_that_refuses_is_told() {
    let desk = on_telegram();
    desk.office.send_says("the chat is gone");
    let told = desk.refused("message", json!({"message": "hello"})).await;
    assert_eq!(told, "not sent: the chat is gone");
    assert_eq!(desk.office.letters(), []);
}

//! Answers that are sent in pieces, and what is sent at all (`sessions.md` §16).

use serde_json::{Value, json};
use yabby_domain::seam::channel::{Capabilities, ChannelError};
use yabby_domain::turn::Outcome;
use yabby_engine::events::EventKind;
use yabby_testkit::loopback::Loopback;
use yabby_testkit::scripted_model::Line;
use yabby_testkit::stage::{Stage, accepted, direct, eventually, in_group, say, texts};

use crate::props::{MAIN, assert_settled, gate, paused};

fn stage(likes_blocks: bool, setting: Value) -> Stage {
    let chunk = json!({"minChars": 10, "maxChars": 40});
    let mut config = json!({"agents": {"defaults": {"blockStreamingChunk": chunk}}});
    if !setting.is_null() {
        config["agents"]["defaults"]["blockStreamingDefault"] = setting;
    }
    let capabilities = Capabilities { knows_deliveries: false, likes_blocks };
    Stage { channel: Loopback::new("telegram", capabilities), ..Stage::new(config) }
}

const LONG: &str = "The first paragraph is here.\n\nThe second one follows it.\n\nAnd there is a third.";

#[tokio::test(start_paused = true)]
async fn a_long_answer_is_sent_in_pieces_and_not_again() {
    let stage = stage(true, Value::Null);
    let engine = stage.engine();
    let mut events = engine.subscribe();
    stage.model.will([Line::say(LONG)]);
    let report = say(&engine, direct("tell me")).await;
    assert_eq!(
        stage.channel.texts(),
        ["The first paragraph is here.", "The second one follows it.", "And there is a third."]
    );
    assert!(report.payloads.is_empty(), "{report:?}");
    assert_eq!(stage.said(MAIN).await[1], format!("assistant: {LONG}"));
    let mut blocks = 0;
    while let Ok(event) = events.try_recv() {
        blocks += usize::from(matches!(event.kind, EventKind::Block(_)));
    }
    assert_eq!(blocks, 3);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn pieces_are_sent_while_the_answer_is_being_written() {
    let stage = stage(true, Value::Null);
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("The first paragraph is here.\n\nThe second one ", &held, "follows it.")]);
    let ticket = accepted(&engine, direct("tell me")).await;
    eventually("the first piece is sent", || stage.channel.texts() == ["The first paragraph is here."]).await;
    held.add_permits(1);
    ticket.done.await.unwrap();
    assert_eq!(stage.channel.texts()[1..], ["The second one follows it."]);
}

#[tokio::test(start_paused = true)]
async fn the_configuration_decides_before_the_channel_does() {
    //  channel  configured    pieces
    let table =
        [(true, json!("off"), 1), (false, json!("on"), 3), (false, Value::Null, 1), (true, json!("on"), 3)];
    for (likes, setting, pieces) in table {
        let stage = stage(likes, setting.clone());
        stage.model.will([Line::say(LONG)]);
        say(&stage.engine(), direct("tell me")).await;
        assert_eq!(stage.channel.texts().len(), pieces, "{likes} {setting}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_stopped_is_sent_as_far_as_it_came() {
    let stage = stage(true, Value::Null);
    let engine = stage.engine();
    stage.model.will([paused("The first paragraph is here.\n\nThe second one ", &gate(), "")]);
    let ticket = accepted(&engine, direct("tell me")).await;
    eventually("the first piece is sent", || stage.channel.texts().len() == 1).await;
    say(&engine, direct("/stop")).await;
    assert_eq!(ticket.done.await.unwrap().outcome, Outcome::Aborted);
    let sent = stage.channel.texts();
    assert_eq!(sent[..2], ["The first paragraph is here.", "The second one"]);
    assert_eq!(sent[2], "⚙️ Agent was aborted.");
}

#[tokio::test(start_paused = true)]
async fn silence_is_kept() {
    for likes_blocks in [true, false] {
        for said in ["NO_REPLY", "NO_REPLY.", "ok — NO_REPLY!", "  NO_REPLY\n", "HEARTBEAT_OK"] {
            let stage = stage(likes_blocks, Value::Null);
            stage.model.will([Line::say(said)]);
            let report = say(&stage.engine(), direct("psst")).await;
            assert_eq!(report.outcome, Outcome::Answered, "{said}");
            assert_eq!(stage.channel.texts(), Vec::<String>::new(), "{said} {likes_blocks}");
            assert!(report.payloads.is_empty(), "{said}: {report:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_where_nothing_may_be() {
    for likes_blocks in [true, false] {
        let mut stage = stage(likes_blocks, Value::Null);
        let mut config = stage.config.raw().clone();
        config["session"] = json!({"sendPolicy": {"default": "allow", "rules": [{"action": "deny", "match": {"channel": "telegram"}}]}});
        stage.config = std::sync::Arc::new(yabby_domain::config::Config::new(config));
        stage.model.will([Line::say(LONG)]);
        let report = say(&stage.engine(), direct("tell me")).await;
        assert_eq!((report.outcome, stage.channel.texts().len()), (Outcome::Answered, 0));
        assert_eq!(texts(&report), [LONG], "the report tells what was said");
    }
}

#[tokio::test(start_paused = true)]
async fn a_piece_that_was_not_sent_is_left_to_the_reply() {
    let stage = stage(true, Value::Null);
    let engine = stage.engine();
    stage.model.will([Line::say(LONG)]);
    stage.channel.fail(vec![ChannelError::Refused("too fast".to_owned())]);
    let report = say(&engine, direct("tell me")).await;
    assert_eq!(stage.channel.texts(), [LONG], "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_certainly_not_sent_is_tried_again() {
    let stage = stage(false, Value::Null);
    let engine = stage.engine();
    let down = || ChannelError::NotSent("the line is down".to_owned());
    stage.channel.fail(vec![down(), down()]);
    say(&engine, direct("one")).await;
    assert_eq!(stage.channel.texts(), ["echo: one"]);
    // In vain: the next prompt says so.
    stage.channel.fail(vec![down(), down(), down(), down()]);
    let report = say(&engine, direct("two")).await;
    assert_eq!((report.outcome, stage.channel.texts().len()), (Outcome::Answered, 1));
    say(&engine, direct("three")).await;
    let asked = crate::props::questions(&stage).pop().unwrap();
    assert!(asked.contains("A reply was not delivered (the line is down): echo: two"), "{asked}");
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn media_and_reply_tags_become_what_they_mean() {
    let stage = stage(false, Value::Null);
    let engine = stage.engine();
    stage.model.will([Line::say("[[reply_to_current]] Look at this\nMEDIA:./tree.png")]);
    let mut heard = direct("show me");
    heard.message.message_id = Some("m7".to_owned());
    say(&engine, heard).await;
    let sent = stage.channel.sent().pop().unwrap().payload;
    assert_eq!(sent.text.as_deref(), Some("Look at this"));
    assert_eq!(
        sent.media_urls.as_deref().or(sent.media_url.as_ref().map(std::slice::from_ref)),
        Some(&["./tree.png".to_owned()][..])
    );
    assert_eq!(sent.reply_to_id.as_deref(), Some("m7"));
}

#[tokio::test(start_paused = true)]
async fn the_owners_own_files_are_not_sent_to_others() {
    let reply = "Here.\nMEDIA:./USER.md\nMEDIA:./a.png";
    let config =
        json!({"channels": {"telegram": {"allowFrom": ["7"], "groups": {"*": {"requireMention": false}}}}});
    for likes_blocks in [false, true] {
        let capabilities = Capabilities { likes_blocks, ..Capabilities::default() };
        let channel = Loopback::new("telegram", capabilities);
        let stage = Stage { channel, ..Stage::new(config.clone()) };
        let engine = stage.engine();
        stage.model.will([Line::say(reply), Line::say(reply)]);
        say(&engine, in_group("7", "who am I?")).await;
        let sent = stage.channel.sent();
        assert_eq!(sent[0].payload.text.as_deref(), Some("Here.\nMEDIA:./USER.md"));
        for sent in &sent {
            assert_eq!(sent.payload.media_urls, Some(vec!["./a.png".to_owned()]));
        }
        say(&engine, direct("who am I?")).await;
        let alone = &stage.channel.sent()[sent.len()].payload;
        assert_eq!(alone.text.as_deref(), Some("Here."));
        assert_eq!(alone.media_urls, Some(vec!["./USER.md".to_owned(), "./a.png".to_owned()]));
    }
}

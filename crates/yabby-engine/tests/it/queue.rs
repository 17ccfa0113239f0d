//! What becomes of messages that arrive during a run (`sessions.md` §18).

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use yabby_domain::inbound::media::Attachment;
use yabby_domain::message::Content;
use yabby_domain::principal::{Principal, ReplyTo};
use yabby_domain::seam::tool::Effect;
use yabby_domain::transcript::not_answered;
use yabby_domain::turn::{LaneClass, Outcome, ShownPicture, progress};
use yabby_engine::events::EventKind;
use yabby_engine::{Engine, Submission, TurnHandle};
use yabby_testkit::scripted_model::{Line, told};
use yabby_testkit::stage::{Stage, accepted, direct, eventually, say, texts};

use crate::props::{MAIN, Probe, assert_settled, gate, outcome, paused, questions};

fn with_mode(mode: &str) -> Stage {
    Stage::new(json!({"messages": {"queue": {"mode": mode}}}))
}

/// Begins a run that stands still; whether it has begun.
async fn begun(stage: &Stage, engine: &Engine, body: &str) -> TurnHandle {
    let asked = stage.model.asked().len();
    let ticket = accepted(engine, direct(body)).await;
    eventually("the model is asked", || stage.model.asked().len() > asked).await;
    ticket
}

fn numbered(body: &str, id: &str) -> Submission {
    let mut heard = direct(body);
    heard.message.message_id = Some(id.to_owned());
    heard
}

#[tokio::test(start_paused = true)]
async fn messages_are_collected_into_one_prompt() {
    let stage = with_mode("collect");
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("first", &held, " answer"), Line::say("both")]);
    let first = begun(&stage, &engine, "one").await;
    let second = accepted(&engine, numbered("two", "m2")).await;
    let third = accepted(&engine, numbered("three /think high", "m3")).await;
    assert_eq!(engine.busy().len(), 1);
    held.add_permits(1);
    assert_eq!(outcome(first).await, Outcome::Answered);
    let (second, third) = (second.done.await.unwrap(), third.done.await.unwrap());
    assert_eq!((second.outcome, third.outcome), (Outcome::Joined, Outcome::Answered));
    assert_eq!(second.answered_by, Some(third.turn.clone()));
    assert_eq!((texts(&third), texts(&second)), (vec!["both".to_owned()], vec![]));
    assert_eq!(
        questions(&stage)[1],
        "user: [Queued messages while agent was busy]\n\n---\nQueued #1\ntwo\n[message_id: m2]\n\n---\nQueued #2\nthree\n[message_id: m3]"
    );
    assert_eq!(stage.channel.texts(), ["first answer", "both"]);
    assert_settled(&stage);
    assert!(engine.busy().is_empty());
}

#[tokio::test(start_paused = true)]
async fn pictures_of_collected_messages_are_all_shown() {
    let stage = with_mode("collect");
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("first", &held, " answer"), Line::say("both")]);
    begun(&stage, &engine, "one").await;
    let shown = |body: &str, data: &str| {
        let mut heard = direct(body);
        let picture = ShownPicture { mime_type: "image/gif".to_owned(), data: data.to_owned() };
        heard.options.pictures = vec![picture];
        heard
    };
    const BLACK: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
    const SMALL: &str = "R0lGODdhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=";
    accepted(&engine, shown("two", BLACK)).await;
    let last = accepted(&engine, shown("three", SMALL)).await;
    held.add_permits(1);
    assert_eq!(outcome(last).await, Outcome::Answered);
    let asked = stage.model.asked();
    let Content::Blocks(blocks) = asked[1].messages.last().unwrap().content() else { panic!("no blocks") };
    let pictures: Vec<_> = blocks.iter().filter_map(|block| block["data"].as_str()).collect();
    assert_eq!((blocks.len(), pictures), (3, vec![BLACK, SMALL]));
}

#[tokio::test(start_paused = true)]
async fn followups_are_answered_one_by_one_in_order() {
    let stage = with_mode("followup");
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("a", &held, "b")]);
    let first = begun(&stage, &engine, "one").await;
    let others = [accepted(&engine, direct("two")).await, accepted(&engine, direct("three")).await];
    held.add_permits(1);
    assert_eq!(outcome(first).await, Outcome::Answered);
    for ticket in others {
        assert_eq!(outcome(ticket).await, Outcome::Answered);
    }
    assert_eq!(questions(&stage), ["user: one", "user: two", "user: three"]);
    assert_eq!(stage.channel.texts(), ["ab", "echo: two", "echo: three"]);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_run_once_nobody_writes_any_more() {
    let stage = Stage::new(json!({"messages": {"queue": {"mode": "collect", "debounceMs": 5000}}}));
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("a", &held, "b")]);
    let first = begun(&stage, &engine, "one").await;
    let second = accepted(&engine, direct("two")).await;
    held.add_permits(1);
    assert_eq!(outcome(first).await, Outcome::Answered);
    tokio::time::advance(Duration::from_millis(4000)).await;
    // The run is over, but somebody may still be writing; this message joins the other.
    let third = accepted(&engine, direct("three")).await;
    let began = tokio::time::Instant::now();
    assert_eq!((outcome(second).await, outcome(third).await), (Outcome::Joined, Outcome::Answered));
    assert!((4900..5200).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    assert_eq!(stage.model.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_message_is_slipped_into_a_run_between_its_tools() {
    let held = gate();
    let probe = Arc::new(Probe::new("probe", Effect::None).held_by(&held));
    let stage = Stage { tools: vec![probe.clone()], ..with_mode("steer") };
    let engine = stage.engine();
    stage.model.will([Line::call("probe", json!({})), Line::say("I see")]);
    let first = begun(&stage, &engine, "look").await;
    eventually("the tool is called", || probe.count() == 1).await;
    let mut heard = numbered("look left /verbose on", "m2");
    heard.message.media = vec![Attachment { path: "left.png".to_owned(), ..Attachment::default() }];
    let second = accepted(&engine, heard).await;
    tokio::task::yield_now().await;
    held.add_permits(1);
    let (first, second) = (first.done.await.unwrap(), second.done.await.unwrap());
    assert_eq!((first.outcome, second.outcome), (Outcome::Answered, Outcome::Joined));
    assert_eq!(second.answered_by, Some(first.turn));
    assert_eq!(
        stage.model.last_heard(),
        [
            "user: look",
            "assistant: <probe>",
            "toolResult: done",
            "user: [media attached: left.png]\nlook left\n[message_id: m2]"
        ]
    );
    assert_eq!(stage.channel.texts(), ["I see"]);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_message_is_slipped_in_at_the_end_of_an_answer() {
    let stage = with_mode("steer");
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("Once upon", &held, " a time"), Line::say("The end.")]);
    let first = begun(&stage, &engine, "a story").await;
    let second = accepted(&engine, direct("shorter")).await;
    // The run is held until the lane has seen the message.
    eventually("the lane has it", || engine.busy().len() == 1).await;
    held.add_permits(1);
    assert_eq!((outcome(first).await, outcome(second).await), (Outcome::Answered, Outcome::Joined));
    assert_eq!(
        stage.said(MAIN).await,
        ["user: a story", "assistant: Once upon a time", "user: shorter", "assistant: The end."]
    );
    assert_eq!(stage.channel.texts(), ["Once upon a time", "The end."]);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_backlog_is_told_to_the_run_and_answered_again() {
    let stage = with_mode("steer+backlog");
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("a", &held, "b"), Line::say("told"), Line::say("again")]);
    let first = begun(&stage, &engine, "one").await;
    let second = accepted(&engine, direct("two")).await;
    eventually("the lane has it", || engine.busy().len() == 1).await;
    held.add_permits(1);
    assert_eq!((outcome(first).await, outcome(second).await), (Outcome::Answered, Outcome::Answered));
    assert_eq!(questions(&stage), ["user: one", "user: two", "user: two"]);
    assert_eq!(stage.channel.texts(), ["ab", "told", "again"]);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn an_interruption_cancels_the_run_and_what_waits() {
    let stage = with_mode("interrupt");
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("I was going to", &held, " say"), Line::say("yes?")]);
    let first = begun(&stage, &engine, "one").await;
    let second = accepted(&engine, direct("two")).await;
    assert_eq!((outcome(first).await, outcome(second).await), (Outcome::Aborted, Outcome::Answered));
    let said = stage.said(MAIN).await;
    assert_eq!(said[1], "assistant: I was going to");
    assert!(said[2].ends_with("two"), "{said:?}");
    let transcript = stage.transcript(MAIN).await.unwrap();
    let stops: Vec<_> = transcript.branch().iter().filter_map(|entry| entry.message()).collect();
    assert_eq!(stops[1].stop_reason(), Some("aborted"));
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn old_spellings_name_the_same_modes_everywhere() {
    let table = [
        ("queue", "steer"),
        ("queued", "steer"),
        ("steering", "steer"),
        ("follow-ups", "followup"),
        ("coalesce", "collect"),
        ("steer_backlog", "steer-backlog"),
        ("abort", "interrupt"),
    ];
    for (word, mode) in table {
        let configured = with_mode(word);
        let status = texts(&say(&configured.engine(), direct("/status")).await).join("\n");
        assert!(status.contains(mode), "{word}: {status}");
        let stage = Stage::new(json!({}));
        let engine = stage.engine();
        say(&engine, direct(&format!("/queue {word}"))).await;
        assert_eq!(stage.entry(MAIN).await.queue_mode(), Some(mode), "{word}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_has_a_queue_of_its_own() {
    let stage = with_mode("collect");
    let engine = stage.engine();
    let told = say(&engine, direct("/queue followup debounce:2s cap:5 drop:old")).await;
    assert!(
        texts(&told)[0].contains("followup; waits 2000 ms for more, holds 5, then drops old"),
        "{told:?}"
    );
    let entry = stage.entry(MAIN).await;
    assert_eq!(
        (entry.queue_mode(), entry.queue_debounce_ms(), entry.queue_cap(), entry.queue_drop()),
        (Some("followup"), Some(2000.0), Some(5.0), Some("old"))
    );
    say(&engine, direct("/queue default")).await;
    assert_eq!(stage.entry(MAIN).await.queue_mode(), None);
}

/// Runs a message that is held, lets others queue up, and tells how all ended.
async fn crowded(mode: &str, drop: &str, bodies: &[&str]) -> (Stage, Vec<Outcome>) {
    let stage = Stage::new(json!({"messages": {"queue": {"mode": mode, "cap": 2, "drop": drop}}}));
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("a", &held, "b")]);
    let first = begun(&stage, &engine, "one").await;
    let mut others = Vec::new();
    for body in bodies {
        others.push(accepted(&engine, direct(body)).await);
    }
    held.add_permits(1);
    assert_eq!(outcome(first).await, Outcome::Answered);
    let mut outcomes = Vec::new();
    for ticket in others {
        outcomes.push(outcome(ticket).await);
    }
    assert_settled(&stage);
    assert!(engine.busy().is_empty(), "{:?}", engine.busy());
    (stage, outcomes)
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_drops_what_it_was_told_to() {
    use Outcome::{Answered, Dropped, Joined};
    let bodies = ["two", "three", "four", "five"];
    let (stage, outcomes) = crowded("followup", "old", &bodies).await;
    assert_eq!(outcomes, [Dropped, Dropped, Answered, Answered]);
    assert_eq!(questions(&stage), ["user: one", "user: four", "user: five"]);

    let (stage, outcomes) = crowded("followup", "new", &bodies).await;
    assert_eq!(outcomes, [Answered, Answered, Dropped, Dropped]);
    assert_eq!(questions(&stage), ["user: one", "user: two", "user: three"]);

    let (stage, outcomes) = crowded("collect", "summarize", &bodies).await;
    assert_eq!(outcomes, [Joined, Joined, Joined, Answered]);
    let asked = questions(&stage);
    assert_eq!(asked.len(), 2);
    assert!(
        asked[1].contains("[Queue overflow] Dropped 2 messages due to cap.\nSummary:\n- two\n- three"),
        "{asked:?}"
    );
    assert!(asked[1].contains("Queued #2\nfive"), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_summary_of_what_was_dropped_does_not_answer_for_what_still_waits() {
    use Outcome::{Answered, Joined};
    let (stage, outcomes) = crowded("followup", "summarize", &["two", "three", "four", "five"]).await;
    assert_eq!(outcomes, [Joined, Answered, Answered, Answered]);
    let asked = questions(&stage);
    assert!(asked[1].starts_with("user: [Queue overflow] Dropped 2 messages"), "{asked:?}");
    assert_eq!(asked[2..], ["user: four", "user: five"]);
    assert_eq!(stage.channel.texts().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn messages_for_different_places_are_not_answered_together() {
    let stage = with_mode("collect");
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("a", &held, "b")]);
    let first = begun(&stage, &engine, "one").await;
    let second = accepted(&engine, direct("two")).await;
    let mut elsewhere = direct("three");
    elsewhere.message.originating_to = Some("8".to_owned());
    let third = accepted(&engine, elsewhere).await;
    held.add_permits(1);
    for ticket in [first, second, third] {
        assert_eq!(outcome(ticket).await, Outcome::Answered);
    }
    assert_eq!(questions(&stage), ["user: one", "user: two", "user: three"]);
    let places: Vec<_> = stage.channel.sent().into_iter().map(|sent| sent.to.to.unwrap()).collect();
    assert_eq!(places, ["7", "7", "8"]);
}

#[tokio::test(start_paused = true)]
async fn status_is_answered_beside_a_run_even_if_no_place_is_free() {
    let stage = Stage::new(json!({"agents": {"defaults": {"maxConcurrent": 1}}}));
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("a", &held, "b")]);
    let first = begun(&stage, &engine, "one").await;
    let before = stage.entry(MAIN).await;
    let told = say(&engine, direct("/status")).await;
    assert_eq!(told.outcome, Outcome::Answered);
    assert!(texts(&told)[0].contains("test/model"), "{told:?}");
    assert_eq!(stage.entry(MAIN).await, before, "a look changes nothing");
    assert_eq!(stage.model.asked().len(), 1);
    held.add_permits(1);
    assert_eq!(outcome(first).await, Outcome::Answered);
    assert_eq!(stage.channel.texts().len(), 2);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn stop_ends_the_run_and_what_waits_and_the_next_prompt_says_so() {
    for word in ["/stop", "Stop", "abort", "WAIT", "esc"] {
        let stage = with_mode("followup");
        let engine = stage.engine();
        let held = gate();
        stage.model.will([paused("I think", &held, " so")]);
        let first = begun(&stage, &engine, "one").await;
        let second = accepted(&engine, direct("two")).await;
        let told = say(&engine, direct(word)).await;
        assert_eq!(texts(&told), ["⚙️ Agent was aborted."], "{word}");
        assert_eq!((outcome(first).await, outcome(second).await), (Outcome::Aborted, Outcome::Aborted));
        assert_eq!(stage.entry(MAIN).await.aborted_last_run(), Some(true));
        let transcript = stage.transcript(MAIN).await.unwrap();
        let last = transcript.branch().iter().rev().find_map(|entry| entry.message()).unwrap();
        assert_eq!((last.stop_reason(), last.text_field("errorMessage").is_some()), (Some("aborted"), true));
        say(&engine, direct("go on")).await;
        assert_eq!(
            questions(&stage).last().unwrap(),
            "user: Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification.\n\ngo on"
        );
        say(&engine, direct("and on")).await;
        assert_eq!(questions(&stage).last().unwrap(), "user: and on");
        assert_settled(&stage);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_slipped_in_and_not_taken_is_stopped_too() {
    let held = gate();
    let probe = Arc::new(Probe::new("probe", Effect::None).held_by(&held));
    let stage = Stage { tools: vec![probe.clone()], ..with_mode("steer") };
    let engine = stage.engine();
    stage.model.will([Line::call("probe", json!({}))]);
    let first = begun(&stage, &engine, "one").await;
    eventually("the tool is called", || probe.count() == 1).await;
    let second = accepted(&engine, direct("two")).await;
    let stop = accepted(&engine, direct("/stop")).await;
    assert_eq!(outcome(stop).await, Outcome::Answered);
    assert_eq!((outcome(first).await, outcome(second).await), (Outcome::Aborted, Outcome::Aborted));
    assert_eq!(stage.model.asked().len(), 1);
    assert_settled(&stage);
    assert!(engine.idle(Duration::from_secs(1)).await);
}

#[tokio::test(start_paused = true)]
async fn a_stranger_cannot_stop_a_run() {
    let stage = with_mode("followup");
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("a", &held, "b")]);
    let first = begun(&stage, &engine, "one").await;
    let mut stranger = direct("/stop");
    stranger.message.command_authorized = false;
    let stop = accepted(&engine, stranger).await;
    held.add_permits(1);
    assert_eq!(outcome(first).await, Outcome::Answered);
    outcome(stop).await;
    assert_eq!(stage.channel.texts()[0], "ab");
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_new_session_keeps_its_place_between_messages() {
    let stage = with_mode("collect");
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("a", &held, "b")]);
    let first = begun(&stage, &engine, "one").await;
    let old = stage.entry(MAIN).await.session_id().unwrap().to_owned();
    let tickets = [
        accepted(&engine, direct("two")).await,
        accepted(&engine, direct("/new hello")).await,
        accepted(&engine, direct("three")).await,
    ];
    held.add_permits(1);
    assert_eq!(outcome(first).await, Outcome::Answered);
    let mut sessions = Vec::new();
    for ticket in tickets {
        let report = ticket.done.await.unwrap();
        assert_eq!(report.outcome, Outcome::Answered);
        sessions.push(report.session_id.unwrap());
    }
    assert_eq!(sessions[0], old);
    assert_ne!(sessions[1], old);
    assert_eq!(sessions[1], sessions[2]);
    let said = stage.said(MAIN).await;
    assert_eq!(said[0], "user: hello");
    assert!(said[2].contains("three"), "{said:?}");
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn no_more_turns_of_a_class_are_taken_than_are_allowed() {
    let stage = Stage::new(json!({
        "agents": {"defaults": {"maxConcurrent": 2, "subagents": {"maxConcurrent": 1}}},
    }));
    let engine = stage.engine();
    let held = gate();
    stage.model.will((0..6).map(|_| paused("a", &held, "b")));
    let mut tickets = Vec::new();
    for (name, lane) in [
        ("a", LaneClass::Main),
        ("b", LaneClass::Main),
        ("c", LaneClass::Main),
        ("d", LaneClass::Subagent),
        ("e", LaneClass::Subagent),
        ("f", LaneClass::Cron),
    ] {
        let mut heard = direct(name);
        heard.message.session_key = Some(format!("agent:main:{name}"));
        heard.options.lane = lane;
        tickets.push(accepted(&engine, heard).await);
    }
    eventually("four run", || stage.model.asked().len() == 4).await;
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(stage.model.asked().len(), 4, "the third of main and the second subagent wait");
    // One that waits for its place can be stopped.
    let waiting = tickets.remove(2);
    assert!(engine.abort(&waiting.session_key.clone()).await);
    assert_eq!(outcome(waiting).await, Outcome::Aborted);
    held.add_permits(6);
    for ticket in tickets {
        assert_eq!(outcome(ticket).await, Outcome::Answered);
    }
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn lanes_close_when_nobody_writes_and_open_again() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    for number in 0..20 {
        let mut heard = direct("hi");
        heard.message.session_key = Some(format!("agent:main:s{number}"));
        say(&engine, heard).await;
    }
    assert_eq!((engine.open_lanes(), engine.busy().len()), (20, 0));
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(engine.open_lanes(), 0);
    assert_eq!(say(&engine, direct("again")).await.outcome, Outcome::Answered);
    assert_eq!(engine.open_lanes(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_panics_fails_its_turn_and_nothing_else() {
    struct Panicking;
    #[async_trait::async_trait]
    impl yabby_domain::seam::channel::Channel for Panicking {
        fn id(&self) -> &str {
            "telegram"
        }
        fn capabilities(&self) -> yabby_domain::seam::channel::Capabilities {
            yabby_domain::seam::channel::Capabilities::default()
        }
        async fn perform(
            &self,
            _: yabby_domain::seam::channel::Action,
        ) -> Result<Option<String>, yabby_domain::seam::channel::ChannelError> {
            panic!("the platform's library")
        }
    }
    let stage = Stage::new(json!({}));
    let engine = stage.engine_with(vec![Arc::new(Panicking)]);
    let report = say(&engine, direct("hi")).await;
    assert_eq!(report.outcome, Outcome::Failed);
    assert!(report.error.unwrap().contains("went wrong in the program itself"));
    assert_settled(&stage);
    let mut quiet = direct("again");
    quiet.principal = Principal::LocalOwner;
    quiet.reply_to = ReplyTo::Caller;
    assert_eq!(say(&engine, quiet).await.outcome, Outcome::Answered);
}

#[tokio::test(start_paused = true)]
async fn messages_of_one_session_are_answered_in_the_order_in_which_they_came() {
    let stage = with_mode("followup");
    let engine = stage.engine();
    let mut tickets = Vec::new();
    for number in 0..15 {
        tickets.push(accepted(&engine, direct(&format!("m{number}"))).await);
    }
    for ticket in tickets {
        assert_eq!(outcome(ticket).await, Outcome::Answered);
    }
    let expected: Vec<String> = (0..15).map(|number| format!("user: m{number}")).collect();
    assert_eq!(questions(&stage), expected);
    let expected: Vec<String> = (0..15).map(|number| format!("echo: m{number}")).collect();
    assert_eq!(stage.channel.texts(), expected);
}

#[tokio::test(start_paused = true)]
async fn what_follows_a_command_relies_on_it_and_waits_for_nothing_else() {
    let stage = with_mode("collect");
    let engine = stage.engine();
    let began = tokio::time::Instant::now();
    let tickets = [
        accepted(&engine, direct("/model test/other")).await,
        accepted(&engine, direct("/think high")).await,
        accepted(&engine, direct("hello")).await,
    ];
    for ticket in tickets {
        assert_eq!(outcome(ticket).await, Outcome::Answered);
    }
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
    let asked = stage.model.asked();
    assert_eq!((asked.len(), asked[0].model.model.as_str()), (1, "other"));
    assert!(questions(&stage)[0].ends_with("hello") && !questions(&stage)[0].contains("Queued"), "{asked:?}");
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_message_nobody_waits_for_is_answered_all_the_same() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    drop(accepted(&engine, direct("hello")).await);
    // Whoever gives up waiting until it is accepted does not take it back either.
    let hearing = engine.submit(numbered("and me", "m2"));
    let _ = tokio::time::timeout(Duration::ZERO, hearing).await;
    assert!(engine.idle(Duration::from_secs(60)).await);
    eventually("both are answered", || stage.channel.texts().len() == 2).await;
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_could_not_be_kept_is_refused_and_heard_when_it_comes_again() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    stage.journal.fail_next();
    assert!(engine.submit(numbered("hello", "m1")).await.is_err());
    assert!(engine.busy().is_empty());
    let report = say(&engine, numbered("hello", "m1")).await;
    assert_eq!(report.outcome, Outcome::Answered);
    assert!(matches!(
        engine.submit(numbered("hello", "m1")).await.unwrap(),
        yabby_engine::SubmitOutcome::Repeated
    ));
    assert_eq!(stage.model.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_is_taken_back_and_the_others_are_answered() {
    for mode in ["followup", "collect", "steer"] {
        let stage = with_mode(mode);
        let engine = stage.engine();
        let held = gate();
        stage.model.will([paused("a", &held, "b")]);
        let first = begun(&stage, &engine, "one").await;
        let second = accepted(&engine, direct("two")).await;
        let third = accepted(&engine, direct("three")).await;
        assert!(engine.abort_turn(&second.session_key, &second.turn).await, "{mode}");
        assert_eq!(outcome(second).await, Outcome::Aborted, "{mode}");
        held.add_permits(1);
        assert_eq!(outcome(first).await, Outcome::Answered, "{mode}");
        let third = third.done.await.unwrap();
        assert!(matches!(third.outcome, Outcome::Answered | Outcome::Joined), "{mode}");
        assert!(
            !questions(&stage).iter().any(|asked| asked.contains("two")),
            "{mode}: {:?}",
            questions(&stage)
        );
        assert!(questions(&stage).iter().any(|asked| asked.contains("three")), "{mode}");
        assert!(engine.idle(Duration::from_secs(60)).await);
        assert_eq!(unanswered(&stage, MAIN).await, [("user: two".to_owned(), "stopped")], "{mode}");
        assert_settled(&stage);
        assert!(engine.busy().is_empty(), "{mode}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_after_a_session_was_stopped_is_answered() {
    let stage = with_mode("followup");
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("a", &held, "b")]);
    let first = begun(&stage, &engine, "one").await;
    let second = accepted(&engine, direct("two")).await;
    let stopping = engine.abort(&first.session_key);
    let third = accepted(&engine, direct("three")).await;
    assert!(stopping.await);
    assert_eq!((outcome(first).await, outcome(second).await), (Outcome::Aborted, Outcome::Aborted));
    assert_eq!(outcome(third).await, Outcome::Answered);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_cannot_be_written_goes_on_when_there_is_room() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let mut events = engine.subscribe();
    let held = gate();
    stage.model.will([paused("a", &held, "b"), Line::say("once more")]);
    let ticket = begun(&stage, &engine, "the disk is full soon").await;
    stage.transcripts.set_full(true);
    held.add_permits(1);
    let mut suspended = 0;
    while suspended < 3 {
        let event = events.recv().await.unwrap();
        suspended += usize::from(matches!(event.kind, EventKind::Suspended { .. }));
    }
    let settled = |stage: &Stage| progress(stage.journal.records())[&ticket.turn].settled;
    assert_eq!((settled(&stage), stage.said(MAIN).await.len(), stage.channel.texts().len()), (None, 0, 0));
    stage.transcripts.set_full(false);
    stage.model.will([Line::say("there is room")]);
    let turn = ticket.turn.clone();
    assert_eq!(outcome(ticket).await, Outcome::Answered);
    let said = stage.said(MAIN).await;
    assert!(said.len() == 2 && said[0].contains("the disk is full soon"), "{said:?}");
    assert_eq!(stage.channel.texts().len(), 1);
    assert!(engine.idle(Duration::from_secs(60)).await);
    assert_eq!(progress(stage.journal.records())[&turn].settled, Some(Outcome::Answered));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_cannot_be_written_is_taken_up_by_the_next_start() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let mut events = engine.subscribe();
    stage.transcripts.set_full(true);
    drop(accepted(&engine, direct("remember the milk")).await);
    while !matches!(events.recv().await.unwrap().kind, EventKind::Suspended { .. }) {}
    let stage = stage.killed();
    stage.transcripts.set_full(false);
    let tickets = stage.engine().recover().await.unwrap();
    assert_eq!(tickets.len(), 1);
    for ticket in tickets {
        assert_eq!(outcome(ticket).await, Outcome::Answered);
    }
    let said = stage.said(MAIN).await;
    assert!(said.len() == 2 && said[0].contains("remember the milk"), "{said:?}");
}

/// The messages that the transcript keeps as unanswered, and why.
async fn unanswered(stage: &Stage, key: &str) -> Vec<(String, &'static str)> {
    let transcript = stage.transcript(key).await.expect("a transcript");
    let kept = transcript.entries().iter().filter_map(not_answered::read);
    kept.map(|(_, message, reason)| (told(&message), reason.as_str())).collect()
}

#[tokio::test(start_paused = true)]
async fn words_that_waited_in_a_session_that_is_stopped_are_kept_and_their_sender_is_told() {
    for mode in ["followup", "collect", "steer", "steer-backlog"] {
        let stage = with_mode(mode);
        let engine = stage.engine();
        let held = gate();
        stage.model.will([paused("a", &held, "b")]);
        let first = begun(&stage, &engine, "one").await;
        let waiting = [accepted(&engine, direct("two")).await, accepted(&engine, direct("/compact")).await];
        assert!(engine.abort(&first.session_key).await, "{mode}");
        for ticket in waiting {
            let report = ticket.done.await.unwrap();
            assert_eq!(report.outcome, Outcome::Aborted, "{mode}");
            assert!(texts(&report)[0].starts_with("Not answered"), "{mode}: {report:?}");
        }
        let kept = unanswered(&stage, MAIN).await;
        let kept: Vec<(&str, &str)> = kept.iter().map(|(text, why)| (text.as_str(), *why)).collect();
        assert_eq!(kept, [("user: two", "stopped"), ("user: /compact", "stopped")], "{mode}");
        let notices = stage.channel.texts();
        let notices = notices.iter().filter(|text| text.starts_with("Not answered")).count();
        assert_eq!(notices, 1, "{mode}: one for each place that they came from");
        assert_settled(&stage);
        // The model hears nothing of them.
        say(&engine, direct("three")).await;
        assert!(!questions(&stage).iter().any(|asked| asked.contains("two")), "{mode}");
    }
}

#[tokio::test(start_paused = true)]
async fn words_that_give_way_in_a_full_queue_are_kept() {
    for (policy, kept) in [("old", "user: two"), ("new", "user: three"), ("summarize", "user: two")] {
        let queue = json!({"mode": "followup", "cap": 1, "drop": policy});
        let stage = Stage::new(json!({"messages": {"queue": queue}}));
        let engine = stage.engine();
        let held = gate();
        stage.model.will([paused("a", &held, "b")]);
        let first = begun(&stage, &engine, "one").await;
        let others = [accepted(&engine, direct("two")).await, accepted(&engine, direct("three")).await];
        held.add_permits(1);
        assert_eq!(outcome(first).await, Outcome::Answered);
        for ticket in others {
            outcome(ticket).await;
        }
        assert!(engine.idle(Duration::from_secs(60)).await);
        let found = unanswered(&stage, MAIN).await;
        assert_eq!(found, [(kept.to_owned(), "queueFull")], "{policy}");
        assert_settled(&stage);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stopped_message_whose_words_were_not_kept_yet_is_not_answered_after_a_crash() {
    let stage = with_mode("followup");
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("a", &held, "b")]);
    let first = begun(&stage, &engine, "one").await;
    let second = accepted(&engine, direct("two")).await;
    // The run still holds the transcript.
    assert!(engine.abort_turn(&second.session_key, &second.turn).await);
    assert_eq!(outcome(second).await, Outcome::Aborted);
    let killed = stage.killed();
    // What was alive at that moment writes the transcript, and nothing of it gets into the journal any more.
    held.add_permits(1);
    outcome(first).await;
    assert!(engine.idle(Duration::from_secs(60)).await);
    let stage = killed;
    for ticket in stage.engine().recover().await.unwrap() {
        outcome(ticket).await;
    }
    assert_eq!(unanswered(&stage, MAIN).await, [("user: two".to_owned(), "stopped")]);
    assert!(!questions(&stage).iter().any(|asked| asked.contains("two")));
    assert_settled(&stage);
}

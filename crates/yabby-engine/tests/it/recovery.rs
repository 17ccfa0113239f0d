//! Engines that die after any step, and those that go on from there.
//!
//! Every scenario is played once for each step that it has, with an engine that dies after that step; a
//! second engine finds what is left. Then everything must be as if nothing had happened.

use serde_json::{Value, json};
use yabby_domain::message::Role;
use yabby_domain::principal::{Principal, ReplyTo};
use yabby_domain::seam::channel::Capabilities;
use yabby_domain::turn::ShownPicture;
use yabby_engine::Submission;
use yabby_testkit::scripted_model::told;
use yabby_testkit::stage::direct;

use crate::mortal::{FOREVER, Life, World};
use crate::props::{MAIN, assert_settled};

struct Scenario {
    config: Value,
    capabilities: Capabilities,
    window: u64,
    messages: Vec<Submission>,
}

impl Scenario {
    fn of(bodies: &[&str]) -> Self {
        let message = |(number, body): (usize, &&str)| {
            let mut heard = direct(body);
            heard.message.message_id = Some(format!("m{number}"));
            heard
        };
        Self {
            config: json!({}),
            capabilities: Capabilities { knows_deliveries: true, likes_blocks: false },
            window: 100_000,
            messages: bodies.iter().enumerate().map(message).collect(),
        }
    }

    fn mode(self, mode: &str) -> Self {
        Self { config: json!({"messages": {"queue": {"mode": mode}}}), ..self }
    }

    fn world(&self) -> World {
        World::new(self.config.clone(), self.capabilities, self.window)
    }

    /// How many steps it has.
    fn steps(&self) -> usize {
        let life = Life::of(FOREVER);
        let mut world = self.world();
        assert!(world.live(&life, &self.messages, &mut vec![false; self.messages.len()]));
        self.check(&world, "an undisturbed life");
        FOREVER - life.left()
    }

    /// Plays it with engines that live so long, and one that lives to the end.
    fn play(&self, lives: &[usize]) {
        let mut world = self.world();
        let mut acknowledged = vec![false; self.messages.len()];
        let mut ends = Vec::new();
        for steps in lives {
            let life = Life::of(*steps);
            world.live(&life, &self.messages, &mut acknowledged);
            ends.push(format!("{steps}: {}", life.last.lock().unwrap()));
        }
        let what = format!("dead after {ends:?}");
        assert!(world.live(&Life::of(FOREVER), &self.messages, &mut acknowledged), "{what}");
        self.check(&world, &what);
    }

    fn check(&self, world: &World, what: &str) {
        assert_settled(&world.stage);
        let wrong = world.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "{what}: refused {wrong:#?}");
        let said = world.said(MAIN);
        let lines: Vec<String> = said.iter().map(told).collect();
        // Nothing is done twice.
        for (deed, times) in world.deeds.lock().unwrap().iter().filter(|(deed, _)| deed.starts_with("write"))
        {
            assert!(*times <= 1, "{what}: {deed} {times} times in {lines:#?}");
        }
        // Every question stands in the conversation once, and every answer behind it.
        let mut last_session = &self.messages[..];
        if let Some(at) = self.messages.iter().rposition(|heard| body(heard).starts_with("/new")) {
            last_session = &self.messages[at..];
        }
        for heard in last_session {
            let question = body(heard).trim_start_matches("/new ");
            let asked: Vec<usize> = said
                .iter()
                .enumerate()
                .filter(|(_, message)| message.role() == Role::User && asks(&told(message), question))
                .map(|(at, _)| at)
                .collect();
            assert_eq!(asked.len(), 1, "{what}: {question:?} in {lines:#?}");
            let answered = said[asked[0] + 1..].iter().any(|message| {
                message.role() == Role::Assistant
                    && message.stop_reason() == Some("stop")
                    && told(message).contains("re: ")
            });
            assert!(answered, "{what}: {question:?} was not answered in {lines:#?}");
        }
        // Every answer that was written down was sent once, and nothing else was.
        let sent = world.stage.channel.texts();
        for (at, text) in sent.iter().enumerate() {
            assert!(!sent[..at].contains(text), "{what}: sent twice: {text:?} of {sent:#?}");
        }
        if self.capabilities.knows_deliveries && !self.capabilities.likes_blocks {
            let answers = said.iter().filter(|message| message.role() == Role::Assistant);
            for answer in answers.filter(|message| message.stop_reason() == Some("stop")) {
                let text = told(answer).trim_start_matches("assistant: ").to_owned();
                assert!(sent.contains(&text), "{what}: never sent: {text:?}; sent {sent:#?}");
            }
        }
    }

    /// Dies once, after each of its steps.
    fn dies_anywhere(&self) {
        let steps = self.steps();
        assert!(steps > 5, "{steps}");
        for died_after in 1..=steps {
            self.play(&[died_after]);
        }
    }
}

fn body(heard: &Submission) -> &str {
    heard.message.body.as_deref().unwrap_or_default()
}

/// Whether a prompt says this: alone, or with others that had to wait.
fn asks(prompt: &str, question: &str) -> bool {
    prompt.lines().any(|line| line.trim_start_matches("user: ") == question)
}

#[test]
fn a_turn_with_tools_is_finished_once_wherever_it_broke_off() {
    Scenario::of(&["use a tool"]).dies_anywhere();
}

#[test]
fn a_turn_survives_two_deaths() {
    let scenario = Scenario::of(&["use a tool"]);
    let steps = scenario.steps();
    for first in 1..=steps {
        for second in 1..=steps {
            scenario.play(&[first, second]);
        }
    }
}

#[test]
fn a_conversation_survives_a_death_anywhere() {
    Scenario::of(&["hello", "use a tool", "good bye"]).mode("followup").dies_anywhere();
}

#[test]
fn collected_messages_are_answered_once() {
    Scenario::of(&["use a tool", "two", "three", "four"]).mode("collect").dies_anywhere();
}

#[test]
fn steered_messages_are_answered_once() {
    Scenario::of(&["use a tool", "two", "another tool", "four"]).mode("steer").dies_anywhere();
}

#[test]
fn a_platform_that_knows_no_deliveries_gets_nothing_twice() {
    let scenario = Scenario::of(&["use a tool", "two"]).mode("followup");
    Scenario { capabilities: Capabilities::default(), ..scenario }.dies_anywhere();
}

#[test]
fn a_reset_that_was_interrupted_is_made_once() {
    let scenario = Scenario::of(&["one", "/new hello", "three"]).mode("followup");
    scenario.dies_anywhere();
    let steps = scenario.steps();
    for died_after in 1..=steps {
        let mut world = scenario.world();
        let mut acknowledged = [false; 3];
        world.live(&Life::of(died_after), &scenario.messages, &mut acknowledged);
        world.live(&Life::of(FOREVER), &scenario.messages, &mut acknowledged);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let all = runtime.block_on(async {
            use yabby_domain::seam::TranscriptStore;
            world.stage.transcripts.list().await.unwrap()
        });
        assert_eq!(all.len(), 2, "dead after {died_after}: {all:?}");
        let notices = world.stage.channel.texts().iter().filter(|text| text.starts_with("✅")).count();
        assert_eq!(notices, 1, "dead after {died_after}: {:?}", world.stage.channel.texts());
    }
}

#[test]
fn a_backlog_survives_a_death_anywhere() {
    // A message of a backlog is told to a run and answered again, so that it stands there once or twice.
    let scenario = Scenario::of(&["use a tool", "two", "three"]).mode("steer-backlog");
    let steps =
        Scenario { messages: scenario.messages.clone(), ..Scenario::of(&[]) }.mode("followup").steps();
    for died_after in 1..=steps + 10 {
        let mut world = scenario.world();
        let mut acknowledged = [false; 3];
        world.live(&Life::of(died_after), &scenario.messages, &mut acknowledged);
        assert!(world.live(&Life::of(FOREVER), &scenario.messages, &mut acknowledged));
        assert_settled(&world.stage);
        let said: Vec<String> = world.said(MAIN).iter().map(told).collect();
        for question in ["use a tool", "two", "three"] {
            let asked = said.iter().filter(|line| line.starts_with("user: ") && asks(line, question)).count();
            assert!(
                (1..=2).contains(&asked),
                "dead after {died_after}: {question} {asked} times in {said:#?}"
            );
        }
        assert!(
            world.deeds.lock().unwrap().iter().all(|(deed, times)| !deed.starts_with("write") || *times <= 1)
        );
    }
}

#[test]
fn pieces_of_an_answer_are_not_sent_again() {
    for knows_deliveries in [true, false] {
        let capabilities = Capabilities { knows_deliveries, likes_blocks: true };
        let config = json!({
            "messages": {"queue": {"mode": "followup"}},
            "agents": {"defaults": {"blockStreamingChunk": {"minChars": 20, "maxChars": 60}}},
        });
        let scenario = Scenario::of(&["a long tool", "a long one"]);
        Scenario { capabilities, config, ..scenario }.dies_anywhere();
    }
}

#[test]
fn an_answer_for_the_caller_alone_is_written_once() {
    let mut scenario = Scenario::of(&["use a tool", "two"]).mode("followup");
    scenario.capabilities.knows_deliveries = false;
    for heard in &mut scenario.messages {
        heard.principal = Principal::LocalOwner;
        heard.reply_to = ReplyTo::Caller;
    }
    scenario.dies_anywhere();
}

#[test]
fn flush_and_compaction_survive_a_death_anywhere() {
    let padding = "x".repeat(700);
    let bodies: Vec<String> = (0..9).map(|number| format!("{number} {padding}")).collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let scenario = Scenario { window: 3000, ..Scenario::of(&bodies) }.mode("followup");
    let mut world = scenario.world();
    world.live(&Life::of(FOREVER), &scenario.messages, &mut [false; 9]);
    let deeds = world.deeds.lock().unwrap().keys().filter(|deed| deed.contains("flush")).count();
    assert!(deeds >= 2, "there is a flush: {:?}", world.deeds);
    scenario.dies_anywhere();
}

#[test]
fn a_thread_is_forked_once() {
    let mut scenario = Scenario::of(&["one", "two"]).mode("followup");
    scenario.messages[1].message.session_key = Some("agent:main:telegram:group:-5:topic:9".to_owned());
    scenario.messages[1].message.parent_session_key = Some(MAIN.to_owned());
    let steps = {
        let life = Life::of(FOREVER);
        assert!(scenario.world().live(&life, &scenario.messages, &mut [false; 2]));
        FOREVER - life.left()
    };
    for died_after in 1..=steps {
        let mut world = scenario.world();
        let mut acknowledged = [false; 2];
        world.live(&Life::of(died_after), &scenario.messages, &mut acknowledged);
        assert!(world.live(&Life::of(FOREVER), &scenario.messages, &mut acknowledged));
        assert_settled(&world.stage);
        let said: Vec<String> = world.said("agent:main:telegram:group:-5:topic:9").iter().map(told).collect();
        let asked = said.iter().filter(|line| asks(line, "two")).count();
        assert_eq!(asked, 1, "dead after {died_after}: {said:#?}");
    }
}

/// Dies right after this step happened for the n-th time, and tells what the next engine makes of it.
fn dead_after(scenario: &Scenario, step: &str, nth: usize) -> World {
    let mut seen = 0;
    for died_after in 1.. {
        let mut world = scenario.world();
        let mut acknowledged = vec![false; scenario.messages.len()];
        let life = Life::of(died_after);
        assert!(!world.live(&life, &scenario.messages, &mut acknowledged), "there is no such step: {step}");
        seen += usize::from(*life.last.lock().unwrap() == step);
        if seen == nth {
            assert!(world.live(&Life::of(FOREVER), &scenario.messages, &mut acknowledged));
            return world;
        }
    }
    unreachable!("every life ends")
}

#[test]
fn the_model_is_told_what_became_of_its_calls() {
    let scenario = Scenario::of(&["use a tool"]);
    let may_have = "It may or may not have done its work";
    let table = [
        ("toolBegun+toolBegun", 1, [may_have, "It changed nothing, and may be made again"]),
        ("tool write", 1, [may_have, "It changed nothing"]),
        ("toolEnded+toolEnded", 1, ["This call was made", "It changed nothing"]),
        // The answer with the calls is in the transcript, and none of them began.
        ("transcript", 1, ["This call was not made", "This call was not made"]),
        ("transcript", 2, ["done", "done"]),
    ];
    for (step, nth, told_of) in table {
        let world = dead_after(&scenario, step, nth);
        let said: Vec<String> = world.said(MAIN).iter().map(told).collect();
        assert_eq!(said.len(), 5, "{step}: {said:#?}");
        for (line, expected) in said[2..4].iter().zip(told_of) {
            assert!(line.contains(expected), "{step}: {line}");
        }
        assert_eq!(world.stage.channel.texts(), ["re: use a tool\n[message_id: m0]"], "{step}");
    }
}

#[test]
fn a_reply_in_doubt_is_sent_again_only_where_it_appears_once() {
    let plain = || Scenario {
        capabilities: Capabilities::default(),
        ..Scenario::of(&["one", "two"]).mode("followup")
    };
    let reply = "re: one\n[message_id: m0]".to_owned();
    // Nobody knows whether it was sent: it is left at that, and the next prompt says so.
    let world = dead_after(&plain(), "sending", 1);
    assert!(!world.stage.channel.texts().contains(&reply));
    let said: Vec<String> = world.said(MAIN).iter().map(told).collect();
    let told_of = said.iter().any(|line| line.contains("it may not have arrived: re: one"));
    assert!(told_of, "{said:#?}");
    let world = dead_after(&plain(), "sent", 1);
    assert_eq!(world.stage.channel.texts().iter().filter(|text| **text == reply).count(), 1);
    // A platform that recognises it gets it again.
    let world = dead_after(&Scenario::of(&["one", "two"]).mode("followup"), "sending", 1);
    assert_eq!(world.stage.channel.texts().iter().filter(|text| **text == reply).count(), 1);
    let said: Vec<String> = world.said(MAIN).iter().map(told).collect();
    assert!(!said.iter().any(|line| line.contains("may not have arrived")), "{said:#?}");
}

#[test]
fn a_disk_that_refuses_a_step_costs_an_answer_at_most() {
    for mode in ["followup", "collect", "steer"] {
        let scenario = Scenario::of(&["use a tool", "two", "another tool"]).mode(mode);
        for fault_after in 0..scenario.steps() {
            let mut world = scenario.world();
            let mut acknowledged = [false; 3];
            let what = format!("{mode}: refused after {fault_after}");
            // Whatever fails, everybody is told what became of their message, and the engine goes on.
            let life = Life::with_fault_after(fault_after);
            assert!(world.live(&life, &scenario.messages, &mut acknowledged), "{what}");
            assert!(world.live(&Life::of(FOREVER), &scenario.messages, &mut acknowledged), "{what}");
            assert_settled(&world.stage);
            assert_eq!(acknowledged, [true; 3], "{what}");
            let said: Vec<String> = world.said(MAIN).iter().map(told).collect();
            let sent = world.stage.channel.texts();
            for (at, text) in sent.iter().enumerate() {
                assert!(!sent[..at].contains(text), "{what}: sent twice: {text:?} of {sent:#?}");
            }
            let (mut unasked, mut errors) = (0, 0);
            for question in ["use a tool", "two", "another tool"] {
                let asked =
                    said.iter().filter(|line| line.starts_with("user: ") && asks(line, question)).count();
                assert!(asked <= 1, "{what}: {question} {asked} times in {said:#?}");
                unasked += usize::from(asked == 0);
            }
            errors += sent.iter().filter(|text| text.starts_with("⚠️")).count();
            assert!(unasked == 0 || errors > 0, "{what}: nobody was told: {said:#?} {sent:#?}");
            let deeds = world.deeds.lock().unwrap();
            let twice = deeds.iter().find(|(deed, times)| deed.starts_with("write") && **times > 1);
            assert_eq!(twice, None, "{what}");
        }
    }
}

#[test]
fn a_picture_is_shown_once_whenever_the_engine_dies() {
    let mut scenario = Scenario::of(&["use a tool on this"]);
    scenario.messages[0].options.pictures =
        vec![ShownPicture { data: "AAAA".to_owned(), mime_type: "image/png".to_owned() }];
    for died_after in 1..=scenario.steps() {
        let mut world = scenario.world();
        let mut acknowledged = [false];
        world.live(&Life::of(died_after), &scenario.messages, &mut acknowledged);
        assert!(world.live(&Life::of(FOREVER), &scenario.messages, &mut acknowledged));
        let said = world.said(MAIN);
        let pictures =
            said.iter().flat_map(|message| message.blocks()).filter(|block| block["type"] == "image");
        let pictures: Vec<&Value> = pictures.map(|block| &block["data"]).collect();
        assert_eq!(pictures, [&json!("AAAA")], "dead after {died_after}");
    }
}

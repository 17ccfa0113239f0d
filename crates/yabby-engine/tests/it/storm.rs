//! Messages, commands and deaths in any order: everybody is told what became of their message, and nothing
//! happens twice.

use proptest::prelude::*;
use serde_json::json;
use yabby_domain::message::{Message, Role};
use yabby_domain::seam::channel::Capabilities;
use yabby_engine::Submission;
use yabby_testkit::scripted_model::told;
use yabby_testkit::stage::direct;

use crate::mortal::{Life, World};
use crate::props::assert_settled;

/// What somebody says in one of three sessions, after a while.
#[derive(Clone, Debug)]
struct Saying {
    session: usize,
    body: &'static str,
    pause: u64,
}

fn any_saying() -> impl Strategy<Value = Saying> {
    let words = prop::sample::select(vec![
        "words",
        "words",
        "words",
        "a tool",
        "a tool",
        "a long tool",
        "a long story",
        "/new words",
        "/new a tool",
        "/status",
        "/stop",
        "stop",
        "/compact",
        "/queue steer",
        "/queue followup",
        "/queue collect",
        "/queue interrupt",
        "/queue steer debounce:0 cap:1 drop:new",
        "/queue followup cap:2 drop:summarize",
        "/queue collect cap:2 drop:old",
        "/think high",
        "/context",
        "  ",
    ]);
    let pause = prop_oneof![6 => Just(0_u64), 2 => 1..30_u64, 1 => 900..1200_u64, 1 => Just(40_000_u64)];
    (0..3_usize, words, pause).prop_map(|(session, body, pause)| Saying { session, body, pause })
}

/// The message, with a number by which its words are found again.
fn heard(number: usize, saying: &Saying) -> Submission {
    let body = match saying.body.ends_with(|c: char| c.is_alphabetic()) && !is_command(saying.body) {
        true => format!("{} #{number}#", saying.body),
        false => saying.body.to_owned(),
    };
    let mut heard = direct(&body);
    heard.message.message_id = Some(format!("m{number}"));
    heard.message.session_key = Some(format!("agent:main:s{}", saying.session));
    heard
}

fn is_command(body: &str) -> bool {
    body == "stop" || body.starts_with('/') && !body.starts_with("/new")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_said_and_whenever_the_engine_dies_nothing_is_lost_or_done_twice(
        sayings in prop::collection::vec(any_saying(), 1..14),
        deaths in prop::collection::vec(1..120_usize, 0..3),
        blocks in any::<bool>(),
    ) {
        let config = json!({
            "agents": {"defaults": {"maxConcurrent": 2, "blockStreamingChunk": {"minChars": 20, "maxChars": 60}}},
        });
        let capabilities = Capabilities { knows_deliveries: true, likes_blocks: blocks };
        let mut world = World::new(config, capabilities, 100_000);
        world.pauses = sayings.iter().map(|saying| saying.pause).collect();
        let messages: Vec<Submission> = sayings.iter().enumerate().map(|(at, saying)| heard(at, saying)).collect();
        let mut acknowledged = vec![false; messages.len()];
        for steps in &deaths {
            world.live(&Life::of(*steps), &messages, &mut acknowledged);
        }
        prop_assert!(world.live(&Life::of(100_000), &messages, &mut acknowledged));
        prop_assert!(acknowledged.iter().all(|known| *known));
        assert_settled(&world.stage);
        let refused = world.wrong.lock().unwrap().clone();
        prop_assert_eq!(refused, Vec::<String>::new());

        let said = world.ever_said();
        let asked: Vec<String> = said.iter().filter(|message| message.role() == Role::User).map(told).collect();
        let sent = world.stage.channel.texts();
        for number in 0..messages.len() {
            let token = format!("#{number}#");
            let times = asked.iter().filter(|line| line.contains(&token)).count();
            prop_assert!(times <= 1, "{token} was asked {times} times: {asked:#?}");
            let answers = sent.iter().filter(|text| text.starts_with("re: ") && text.contains(&token));
            prop_assert!(answers.count() <= 1, "{token} was answered twice: {sent:#?}");
            let written: usize = world.deeds.lock().unwrap().iter()
                .filter(|(deed, _)| deed.starts_with("write") && deed.contains(&token))
                .map(|(_, times)| *times)
                .sum();
            prop_assert!(written <= 1, "{token} was written {written} times");
        }
    }
}

/// A message that steers a run is answered in pieces, and the program dies between two of them. The other sessions take
/// the steps that let the message arrive while the run answers.
#[test]
fn pieces_of_an_answer_to_a_steering_message_are_sent_once() {
    let sayings = [
        (0, "/status"),
        (0, "/status"),
        (1, "/queue steer"),
        (0, "/compact"),
        (2, "/status"),
        (1, "words"),
        (1, "a long story"),
        (2, "words"),
    ];
    let sayings = sayings.map(|(session, body)| Saying { session, body, pause: 0 });
    for death in 1..120 {
        let config = json!({
            "agents": {"defaults": {"maxConcurrent": 2, "blockStreamingChunk": {"minChars": 20, "maxChars": 60}}},
        });
        let capabilities = Capabilities { knows_deliveries: true, likes_blocks: true };
        let mut world = World::new(config, capabilities, 100_000);
        world.pauses = sayings.iter().map(|saying| saying.pause).collect();
        let messages: Vec<Submission> =
            sayings.iter().enumerate().map(|(at, saying)| heard(at, saying)).collect();
        let mut acknowledged = vec![false; messages.len()];
        world.live(&Life::of(death), &messages, &mut acknowledged);
        assert!(world.live(&Life::of(100_000), &messages, &mut acknowledged));
        let sent = world.stage.channel.texts();
        let is_beginning = |text: &&String| text.starts_with("re: ") && text.contains("#6#");
        assert!(sent.iter().filter(is_beginning).count() <= 1, "killed after {death} steps: {sent:#?}");
        let said = world.ever_said();
        let is_question = |message: &&Message| message.role() == Role::User && told(message).contains("#6#");
        assert_eq!(said.iter().filter(is_question).count(), 1, "killed after {death} steps");
    }
}

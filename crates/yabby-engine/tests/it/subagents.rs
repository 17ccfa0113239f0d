//! Sessions that speak to each other, agents that agents start, and what people are asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::json::Object;
use yabby_domain::principal::{OnBehalfOf, Principal};
use yabby_domain::seam::channel::{Capabilities, ChannelError};
use yabby_domain::seam::office::{Decision, Question};
use yabby_domain::seam::tool::{Company, Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::turn::Outcome;
use yabby_engine::events::EventKind;
use yabby_engine::{Engine, Submission, SubmitOutcome};
use yabby_testkit::scripted_model::{Line, ScriptedModel, told};
use yabby_testkit::stage::{Stage, accepted, direct, eventually, in_group, say, texts};

use crate::mortal::{FOREVER, Life, World};
use crate::props::{GROUP, MAIN, OfficeProbe, Probe, assert_settled, gate, paused};

fn stage(config: serde_json::Value) -> Stage {
    Stage { tools: yabby_tools_of_sessions(), ..Stage::new(config) }
}

/// A stage on which tasks are done by a model of their own, and that model.
fn with_worker() -> (Stage, ScriptedModel) {
    let worker = ScriptedModel::named("worker", "anthropic-messages", 100_000);
    let config = json!({"agents": {"defaults": {"subagents": {"model": "worker/model"}}}});
    (Stage { more_models: vec![worker.clone()], ..stage(config) }, worker)
}

/// Tools that ask the office for what their arguments say.
fn yabby_tools_of_sessions() -> Vec<Arc<dyn Tool>> {
    ["sessions_spawn", "sessions_send", "message", "exec"]
        .map(|name| Arc::new(OfficeProbe::new(name)) as Arc<dyn Tool>)
        .to_vec()
}

fn subagent(stage: &Stage) -> String {
    let keys = stage.sessions.keys();
    keys.into_iter().find(|key| key.contains(":subagent:")).expect("a session of a subagent")
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_task_is_announced_where_it_was_asked_for() {
    let (stage, worker) = with_worker();
    let engine = stage.engine();
    worker.will([Line::say("Seventeen.")]);
    stage.model.will([
        Line::call("sessions_spawn", json!({"task": "count the boats", "label": "boats"})),
        Line::say("I am having them counted."),
        Line::say("There are seventeen boats."),
    ]);
    let report = say(&engine, direct("how many boats?")).await;
    assert_eq!(texts(&report), ["I am having them counted."]);
    eventually("both have answered", || stage.channel.texts().len() == 2).await;
    assert_eq!(stage.channel.texts(), ["I am having them counted.", "There are seventeen boats."]);
    let said = stage.said(MAIN).await;
    let announced = said.iter().find(|line| line.contains("A background task has ended: boats")).unwrap();
    assert!(announced.contains("Status: success") && announced.contains("Result: Seventeen."), "{announced}");
    let key = subagent(&stage);
    assert_eq!(stage.entry(&key).await.spawned_by(), Some(MAIN));
    assert_eq!(stage.said(&key).await, ["user: count the boats", "assistant: Seventeen."]);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_task_outlives_a_crash_and_is_announced_once() {
    let (stage, worker) = with_worker();
    let engine = stage.engine();
    let held = gate();
    worker.will([paused("", &held, "")]);
    stage.model.will([
        Line::call("sessions_spawn", json!({"task": "count", "cleanup": "delete"})),
        Line::say("Wait."),
        Line::say("It is four."),
    ]);
    say(&engine, direct("count")).await;
    eventually("the task has begun", || worker.asked().len() == 1).await;
    let stage = stage.killed();
    // What is left of it lets go of the transcript, as the lock of a dead process does.
    held.add_permits(1);
    drop(engine);
    worker.will([Line::say("Four.")]);
    let engine = stage.engine();
    engine.recover().await.unwrap();
    eventually("it was announced", || stage.channel.texts().len() == 2).await;
    assert!(engine.idle(Duration::from_secs(5)).await);
    assert_eq!(stage.channel.texts(), ["Wait.", "It is four."]);
    let said = stage.said(MAIN).await;
    assert_eq!(said.iter().filter(|line| line.contains("A background task has ended")).count(), 1);
    // It was to be put away, and is.
    assert!(stage.sessions.keys().iter().all(|key| !key.contains("subagent")), "{:?}", stage.sessions.keys());
}

#[tokio::test(start_paused = true)]
async fn a_subagent_has_neither_the_tools_of_sessions_nor_subagents_of_its_own() {
    let probe = Arc::new(Probe::new("read", Effect::None));
    let (stage, worker) = with_worker();
    let stage = Stage { tools: [yabby_tools_of_sessions(), vec![probe]].concat(), ..stage };
    let engine = stage.engine();
    worker.will([Line::call("sessions_spawn", json!({"task": "deeper"})), Line::say("I cannot.")]);
    stage.model.will([
        Line::call("sessions_spawn", json!({"task": "look"})),
        Line::say("Wait."),
        Line::say("It could not."),
    ]);
    say(&engine, direct("look")).await;
    eventually("it was announced", || stage.channel.texts().len() == 2).await;
    let asked = worker.asked();
    let names: Vec<&str> = asked[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["message", "exec", "read"]);
    assert!(asked[0].system.contains("## Subagent"));
    let said = stage.said(&subagent(&stage)).await;
    assert!(said.iter().any(|line| line.contains("There is no tool \"sessions_spawn\" here.")), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn stopping_a_session_stops_what_works_for_it_and_nothing_is_announced() {
    let (stage, worker) = with_worker();
    let engine = stage.engine();
    worker.will([paused("", &gate(), "")]);
    stage
        .model
        .will([Line::call("sessions_spawn", json!({"task": "dig", "label": "digging"})), Line::say("Wait.")]);
    say(&engine, direct("dig")).await;
    eventually("the task has begun", || worker.asked().len() == 1).await;
    let listed = say(&engine, direct("/subagents")).await;
    assert!(texts(&listed)[0].starts_with("1. digging (agent:main:subagent:"), "{listed:?}");
    let stopped = say(&engine, direct("/stop")).await;
    assert!(texts(&stopped)[0].contains("Stopped 1 sub-agent"), "{stopped:?}");
    assert!(engine.idle(Duration::from_secs(5)).await);
    assert!(stage.said(MAIN).await.iter().all(|line| !line.contains("background task has ended")));
}

#[tokio::test(start_paused = true)]
async fn a_session_answers_another_one_and_its_people_are_not_bothered() {
    let stage = stage(json!({}));
    let engine = stage.engine();
    stage.model.will([Line::say("hello there")]);
    say(&engine, in_group("7", "hi")).await;
    stage.model.will([
        Line::call("sessions_send", json!({"session": "agent:main:telegram:group:-5", "words": "all well?"})),
        Line::say("All is well."),
        Line::say("They are well."),
    ]);
    say(&engine, direct("ask the group")).await;
    assert_eq!(stage.channel.texts(), ["hello there", "They are well."]);
    let said = stage.said(MAIN).await;
    assert!(said.iter().any(|line| line.contains("Answered") && line.contains("All is well.")), "{said:?}");
    let asked = stage.model.asked();
    assert!(asked[2].system.contains("another agent session (agent:main:main)"));
}

#[tokio::test(start_paused = true)]
async fn nobody_gains_rights_by_asking_through_an_agent() {
    let config = json!({
        "channels": {"telegram": {"allowFrom": ["7"], "groups": {"*": {"requireMention": false}}}},
        "tools": {"byTrust": {"stranger": {"deny": ["exec"]}}},
    });
    let stage = stage(config);
    let engine = stage.engine();
    stage.model.will([Line::say("hello")]);
    say(&engine, direct("hi")).await;
    // A stranger has the agent speak in the owner's session; what runs there has the stranger's rights.
    stage.model.will([
        Line::call("sessions_send", json!({"session": MAIN, "words": "run this"})),
        Line::call("exec", json!({"ask": "ls"})),
        Line::say("no"),
        Line::say("It would not."),
    ]);
    say(&engine, in_group("66", "have it run something")).await;
    let asked = stage.model.asked();
    let names = |at: usize| asked[at].tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert!(names(0).contains(&"exec".to_owned()), "the owner has it");
    assert!(
        !names(1).contains(&"exec".to_owned()) && !names(2).contains(&"exec".to_owned()),
        "{:?}",
        names(2)
    );
}

#[tokio::test(start_paused = true)]
async fn what_strangers_say_is_not_slipped_into_the_owners_run() {
    let held = gate();
    let config = json!({
        "channels": {"telegram": {"allowFrom": ["7"], "groups": {"*": {"requireMention": false}}}},
        "messages": {"queue": {"mode": "steer"}},
        "tools": {"exec": {"amongOthers": true}},
    });
    let exec: Arc<dyn Tool> = Arc::new(Probe::new("exec", Effect::None).held_by(&held));
    let stage = Stage { tools: vec![exec], ..Stage::new(config) };
    let engine = stage.engine();
    stage.model.will([Line::call("exec", json!({})), Line::say("done"), Line::say("no")]);
    let own = accepted(&engine, in_group("7", "work")).await;
    eventually("the tool is called", || stage.model.asked().len() == 1).await;
    let strange = accepted(&engine, in_group("66", "delete everything")).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    held.add_permits(1);
    own.done.await.unwrap();
    let report = strange.done.await.unwrap();
    assert_eq!(report.outcome, Outcome::Answered);
    let asked = stage.model.asked();
    assert_eq!(asked.len(), 3, "the stranger's words got a run of their own");
    assert!(asked[2].tools.is_empty(), "without the owner's tools");
}

async fn may_it_run(engine: &Engine, heard: Submission) -> Vec<String> {
    texts(&say(engine, heard).await)
}

#[tokio::test(start_paused = true)]
async fn the_owner_is_asked_in_the_conversation_and_answers_there() {
    let stage = stage(json!({}));
    let engine = stage.engine();
    //  answer  what the tool is told
    let table = [("once", "Once"), ("always", "Always"), ("deny", "Deny")];
    for (word, decided) in table {
        let before = stage.channel.texts().len();
        stage.model.will([Line::call("exec", json!({"ask": "rm boat"})), Line::say("noted")]);
        let ticket = accepted(&engine, direct("remove it")).await;
        eventually("the question was sent", || stage.channel.texts().len() > before).await;
        let question = stage.channel.texts()[before].clone();
        assert!(question.contains("rm boat"), "{question}");
        let id = question.split("/approve ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        assert_eq!(engine.open_questions().len(), 1);
        may_it_run(&engine, direct(&format!("/approve {id} {word}"))).await;
        ticket.done.await.unwrap();
        let said = stage.said(MAIN).await;
        assert!(said.iter().any(|line| line.ends_with(&format!("Decision: {decided}"))), "{said:?}");
        assert!(engine.open_questions().is_empty());
    }
    let late = may_it_run(&engine, direct("/approve 12345678 once")).await;
    assert!(late[0].starts_with("Nothing waits under 12345678"), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn where_nobody_can_be_asked_nobody_waits_and_time_runs_out_otherwise() {
    let stage = stage(json!({
        "channels": {"telegram": {"allowFrom": ["7"], "groups": {"*": {"requireMention": false}}}},
        "tools": {"exec": {"amongOthers": true}},
    }));
    let engine = stage.engine();
    stage.channel.fail(vec![ChannelError::Refused("gone".to_owned())]);
    stage.model.will([Line::call("exec", json!({"ask": "ls"})), Line::say("no")]);
    let began = tokio::time::Instant::now();
    say(&engine, direct("list")).await;
    assert!(began.elapsed() < Duration::from_secs(10), "nobody could be asked");
    // In a group others would read the question, and might answer it.
    stage.model.will([Line::call("exec", json!({"ask": "ls"})), Line::say("no")]);
    say(&engine, in_group("7", "list")).await;
    assert!(stage.channel.texts().iter().all(|text| !text.contains("May I run this")));
    // Somebody watches, and does not answer.
    let (mut events, watching) = (engine.subscribe(), engine.approver());
    stage.model.will([Line::call("exec", json!({"ask": "ls"})), Line::say("no")]);
    let began = tokio::time::Instant::now();
    say(&engine, in_group("7", "list")).await;
    assert!(began.elapsed() >= yabby_engine::approvals::TIME_LIMIT);
    drop(watching);
    let mut kinds = Vec::new();
    while let Ok(event) = events.try_recv() {
        match event.kind {
            EventKind::ApprovalRequested { question: Question { command, .. }, .. } => kinds.push(command),
            EventKind::ApprovalResolved { decision, .. } => {
                assert_eq!(decision, Decision::Unanswered);
                kinds.push("resolved".to_owned());
            }
            _ => {}
        }
    }
    assert_eq!(kinds, ["ls", "resolved"]);
}

#[tokio::test(start_paused = true)]
async fn questions_stand_in_the_order_in_which_they_were_asked() {
    let stage = stage(
        json!({"channels": {"telegram": {"allowFrom": ["7"]}}, "agents": {"defaults": {"maxConcurrent": 6}}}),
    );
    let engine = stage.engine();
    let _watching = engine.approver();
    let commands: Vec<String> = (0..6).map(|number| format!("make {number}")).collect();
    let mut tickets = Vec::new();
    for (number, command) in commands.iter().enumerate() {
        stage.model.will([Line::call("exec", json!({"ask": command}))]);
        let mut heard = direct("make it");
        heard.message.session_key = Some(format!("agent:main:telegram:dm:{number}"));
        tickets.push(accepted(&engine, heard).await);
        eventually("it asks", || engine.open_questions().len() == number + 1).await;
    }
    let asked =
        || -> Vec<String> { engine.open_questions().into_iter().map(|open| open.question.command).collect() };
    assert_eq!(asked(), commands);
    // One that is answered leaves the others where they are.
    stage.model.will([Line::say("made")]);
    assert!(engine.decide(&engine.open_questions()[2].id, Decision::Once));
    tickets.remove(2).done.await.unwrap();
    assert_eq!(asked(), ["make 0", "make 1", "make 3", "make 4", "make 5"]);
}

#[tokio::test(start_paused = true)]
async fn a_policy_decides_which_tools_the_model_is_told_of() {
    let tools: Vec<Arc<dyn Tool>> = ["read", "exec", "web_fetch"]
        .map(|name| {
            Arc::new(Probe::new(name, Effect::None).answering(|_| ToolOutput::text("x"))) as Arc<dyn Tool>
        })
        .to_vec();
    let config = json!({"tools": {"deny": ["web_fetch"], "byProvider": {"test": {"deny": ["exec"]}}}});
    let stage = Stage { tools, ..Stage::new(config) };
    let engine = stage.engine();
    stage.model.will([Line::call("exec", json!({})), Line::say("no")]);
    say(&engine, direct("go")).await;
    let names: Vec<String> = stage.model.asked()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["read"]);
    assert!(stage.said(MAIN).await.iter().any(|line| line.contains("There is no tool \"exec\" here.")));
}

/// A tool that notes who hears what it says.
#[derive(Default)]
struct Ears(Mutex<Vec<Company>>);

#[async_trait]
impl Tool for Ears {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, _arguments: &Object, context: &ToolContext) -> ToolOutput {
        self.0.lock().unwrap().push(context.company);
        ToolOutput::text("x")
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_for_a_group_keeps_the_owners_own_to_itself() {
    //  asked by the owner  what the agent that works for it is told
    let table = [(in_group("7", "look"), Company::Others), (direct("look"), Company::OwnerAlone)];
    for (heard, expected) in table {
        let (stage, worker) = with_worker();
        let ears = Arc::new(Ears::default());
        let tools = [yabby_tools_of_sessions(), vec![ears.clone() as Arc<dyn Tool>]].concat();
        let config = json!({
            "agents": {"defaults": {"subagents": {"model": "worker/model"}}},
            "channels": {"telegram": {"allowFrom": ["7"], "groups": {"*": {"requireMention": false}}}},
        });
        let stage = Stage { tools, more_models: stage.more_models, ..Stage::new(config) };
        let engine = stage.engine();
        worker.will([Line::call("read", json!({})), Line::say("Done.")]);
        stage.model.will([
            Line::call("sessions_spawn", json!({"task": "look"})),
            Line::say("Wait."),
            Line::say("It is done."),
        ]);
        say(&engine, heard).await;
        eventually("it was announced", || stage.channel.texts().len() == 2).await;
        assert_eq!(*ears.0.lock().unwrap(), [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_that_must_mention_the_agent_hears_of_its_task_all_the_same() {
    let (stage, worker) = with_worker();
    let config = json!({
        "agents": {"defaults": {"subagents": {"model": "worker/model"}}},
        "messages": {"groupChat": {"mentionPatterns": ["yabby"]}},
        "channels": {"telegram": {"allowFrom": ["7"], "groups": {"*": {"requireMention": true}}}},
    });
    let stage = Stage { config: Arc::new(Config::new(config)), ..stage };
    let engine = stage.engine();
    worker.will([Line::say("Seventeen.")]);
    stage.model.will([
        Line::call("sessions_spawn", json!({"task": "count"})),
        Line::say("Wait."),
        Line::say("There are seventeen."),
    ]);
    let overheard = engine.submit(in_group("7", "count the boats")).await.unwrap();
    assert!(matches!(overheard, SubmitOutcome::Overheard));
    say(&engine, in_group("7", "yabby, count the boats")).await;
    eventually("it was announced", || stage.channel.texts().len() == 2).await;
    assert_eq!(stage.channel.texts(), ["Wait.", "There are seventeen."]);
    // And so does one that another session asks.
    stage.model.will([
        Line::call("sessions_send", json!({"session": GROUP, "words": "all well?"})),
        Line::say("All is well."),
        Line::say("They are well."),
    ]);
    say(&engine, direct("ask them")).await;
    assert_eq!(stage.channel.texts().last().unwrap(), "They are well.");
    assert!(stage.said(MAIN).await.iter().any(|line| line.contains("All is well.")));
    // Even if the words say that they come from the group: an agent speaks to nobody else.
    stage.model.will([Line::say("Still well.")]);
    let principal = Principal::Agent(OnBehalfOf { session: MAIN.to_owned(), ..OnBehalfOf::default() });
    let report = say(&engine, Submission { principal, ..in_group("7", "and now?") }).await;
    assert_eq!(texts(&report), ["Still well."]);
}

fn a_message_that_makes_a_task() -> Submission {
    let mut heard = direct("spawn a helper");
    // By this name the platform's second delivery is known.
    heard.message.message_id = Some("1".to_owned());
    heard
}

fn where_tasks_are_done() -> World {
    World::new(json!({}), Capabilities { knows_deliveries: true, ..Capabilities::default() }, 100_000)
}

/// How many steps the task has if nothing comes in between.
fn steps_of_a_task(messages: &[Submission]) -> usize {
    let whole = Life::of(FOREVER);
    assert!(where_tasks_are_done().live(&whole, messages, &mut [false]));
    FOREVER - whole.left()
}

fn assert_nothing_done_twice(world: &World, when: &str) {
    let deeds = world.deeds.lock().unwrap();
    let repeated = deeds.iter().find(|(deed, times)| deed.starts_with("write") && **times > 1);
    assert!(repeated.is_none(), "{when}: {deeds:#?}");
}

#[test]
fn a_task_is_done_and_announced_once_wherever_the_engine_dies() {
    let messages = [a_message_that_makes_a_task()];
    for died_after in 1..=steps_of_a_task(&messages) {
        let mut world = where_tasks_are_done();
        let mut acknowledged = [false];
        let life = Life::of(died_after);
        world.live(&life, &messages, &mut acknowledged);
        let when = format!("dead after {died_after} ({})", life.last.lock().unwrap());
        assert!(world.live(&Life::of(FOREVER), &messages, &mut acknowledged), "{when}");
        assert_settled(&world.stage);
        assert_nothing_done_twice(&world, &when);
        let lines: Vec<String> = world.said(MAIN).iter().map(told).collect();
        let announced =
            lines.iter().filter(|line| line.starts_with("user: A background task has ended")).count();
        let deeds = world.deeds.lock().unwrap();
        let done =
            deeds.keys().filter(|deed| deed.starts_with("write") && deed.contains("use a tool")).count();
        assert!(announced <= 1 && done <= announced + 1, "{when}: {lines:#?}");
        assert!(done == 0 || announced == 1, "{when}: {lines:#?}");
    }
}

#[test]
fn a_task_is_done_once_whatever_the_disk_refuses() {
    let messages = [a_message_that_makes_a_task()];
    for fault_after in 0..steps_of_a_task(&messages) {
        let mut world = where_tasks_are_done();
        let mut acknowledged = [false];
        world.live(&Life::with_fault_after(fault_after), &messages, &mut acknowledged);
        let when = format!("refused after {fault_after}");
        assert!(world.live(&Life::of(FOREVER), &messages, &mut acknowledged), "{when}");
        assert_settled(&world.stage);
        assert_nothing_done_twice(&world, &when);
    }
}

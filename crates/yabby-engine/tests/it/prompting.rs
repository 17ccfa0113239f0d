//! What the agent is told before anybody speaks: its rules, its files, its skills; and what it never sees.

use std::sync::Arc;

use serde_json::{Value, json};
use yabby_domain::principal::{Principal, ReplyTo};
use yabby_domain::seam::tool::{Effect, Tool, ToolOutput};
use yabby_domain::secrets::Secrets;
use yabby_engine::Submission;
use yabby_testkit::scripted_model::Line;
use yabby_testkit::stage::{Stage, direct, in_group, say, texts};

use crate::props::{MAIN, Probe};

fn stage() -> Stage {
    let config = json!({
        "agents": {"defaults": {"userTimezone": "Europe/Helsinki"}},
        "channels": {"telegram": {"allowFrom": ["7"], "groups": {"*": {"requireMention": false}}}},
    });
    let read: Arc<dyn Tool> = Arc::new(Probe::new("read", Effect::None));
    Stage { tools: vec![read], ..Stage::new(config) }
}

fn report(entry: &yabby_domain::session::entry::SessionEntry) -> Value {
    entry.get("systemPromptReport").cloned().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_files_of_the_workspace_are_told_and_the_owners_own_not_to_others() {
    let stage = stage();
    stage.shelf.put("AGENTS.md", "Feed the crayfish.\n\n");
    stage.shelf.put("USER.md", "The owner is called Robin.");
    stage.shelf.put("MEMORY.md", "Robin is afraid of geese.");
    let engine = stage.engine();
    say(&engine, direct("hi")).await;
    say(&engine, in_group("7", "hi")).await;
    let asked = stage.model.asked();
    let (alone, among) = (&asked[0].system, &asked[1].system);
    assert!(alone.contains("### AGENTS.md\nFeed the crayfish.\n\n### USER.md"), "{alone}");
    assert!(
        alone.ends_with("### MEMORY.md\nRobin is afraid of geese."),
        "what changes most stands last: {alone}"
    );
    assert!(alone.contains("The user's time zone is Europe/Helsinki."));
    assert!(among.contains("Feed the crayfish.") && !among.contains("Robin"), "{among}");
    let report = report(&stage.entry(MAIN).await);
    let files = report["injectedWorkspaceFiles"].as_array().unwrap();
    let told: Vec<(&str, bool)> = files
        .iter()
        .map(|file| (file["name"].as_str().unwrap(), file["missing"].as_bool().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("AGENTS.md", false),
            ("SOUL.md", true),
            ("TOOLS.md", true),
            ("IDENTITY.md", true),
            ("USER.md", false),
            ("HEARTBEAT.md", true),
            ("MEMORY.md", false),
        ]
    );
    let (chars, context) = (&report["systemPrompt"]["chars"], &report["systemPrompt"]["projectContextChars"]);
    assert_eq!(chars, alone.chars().count());
    assert!(context.as_u64().unwrap() > 80 && context.as_u64() < chars.as_u64());
}

/// Through the gateway the owner may speak in anybody's conversation: what is said there that person hears.
#[tokio::test(start_paused = true)]
async fn in_somebody_elses_conversation_the_owners_own_is_not_told_whoever_asks() {
    let config = json!({
        "session": {"dmScope": "per-channel-peer"},
        "channels": {"telegram": {"allowFrom": ["7"]}},
    });
    let company: Arc<dyn Tool> = Arc::new(Probe::new("exec", Effect::None));
    let stage = Stage { tools: vec![company], ..Stage::new(config) };
    stage.shelf.put("USER.md", "The owner is called Robin.");
    stage.shelf.put("MEMORY.md", "Robin is afraid of geese.");
    let engine = stage.engine();
    //  session  the owner's own is told
    let table =
        [("agent:main:telegram:dm:42", false), ("agent:main:telegram:dm:7", true), ("agent:main:main", true)];
    for (key, expected) in table {
        let mut heard = direct("hi");
        heard.message.session_key = Some(key.to_owned());
        heard.principal = Principal::LocalOwner;
        heard.reply_to = ReplyTo::Caller;
        say(&engine, heard).await;
        let asked = stage.model.asked();
        let last = asked.last().unwrap();
        assert_eq!(last.system.contains("Robin"), expected, "{key} {}", last.system);
        // Nor is there a command that could read it.
        assert_eq!(last.tools.iter().any(|tool| tool.name == "exec"), expected, "{key}");
    }
}

/// Rights come from who asks, never from where the answer goes.
#[tokio::test(start_paused = true)]
async fn a_client_that_may_only_write_is_not_the_owner_unless_the_configuration_says_so() {
    let client = |scopes: &[&str]| Principal::Client {
        scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
        device: None,
    };
    let writers = json!({"gateway": {"ownerScopes": ["operator.write"]}});
    let table = [
        (json!({}), Principal::LocalOwner, true),
        (json!({}), client(&["operator.admin"]), true),
        (json!({}), client(&["operator.read", "operator.write"]), false),
        (writers.clone(), client(&["operator.read", "operator.write"]), true),
        (writers, client(&["operator.read"]), false),
    ];
    for (config, principal, expected) in table {
        let exec: Arc<dyn Tool> = Arc::new(Probe::new("exec", Effect::None));
        let stage = Stage { tools: vec![exec], ..Stage::new(config) };
        stage.shelf.put("MEMORY.md", "Robin is afraid of geese.");
        let engine = stage.engine();
        for reply_to in [ReplyTo::Caller, ReplyTo::Session, ReplyTo::Nowhere] {
            say(&engine, Submission { principal: principal.clone(), reply_to, ..direct("hi") }).await;
            let asked = stage.model.asked();
            let last = asked.last().unwrap();
            assert_eq!(last.system.contains("geese"), expected, "{principal:?}");
            assert_eq!(last.tools.iter().any(|tool| tool.name == "exec"), expected, "{principal:?}");
        }
    }
}

/// A channel says who sent a message; who of them is the owner says the configuration.
#[tokio::test(start_paused = true)]
async fn a_channel_cannot_make_its_senders_the_owner() {
    let exec: Arc<dyn Tool> = Arc::new(Probe::new("exec", Effect::None));
    let config = json!({"channels": {"telegram": {"allowFrom": ["7"]}}});
    let stage = Stage { tools: vec![exec], ..Stage::new(config) };
    stage.shelf.put("MEMORY.md", "Robin is afraid of geese.");
    let engine = stage.engine();
    for (sender, expected) in [("42", false), ("7", true)] {
        for reply_to in [ReplyTo::Session, ReplyTo::Caller] {
            let mut submission = Submission { reply_to, ..direct("hi") };
            submission.message.sender_id = Some(sender.to_owned());
            submission.message.from = Some(format!("telegram:{sender}"));
            // The channel's own verdict lets a sender in, and does not make them the owner.
            submission.message.command_authorized = true;
            say(&engine, submission).await;
            let asked = stage.model.asked();
            let last = asked.last().unwrap();
            assert_eq!(last.system.contains("geese"), expected, "{sender}");
            assert_eq!(last.tools.iter().any(|tool| tool.name == "exec"), expected, "{sender}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_opening_words_stay_the_same_byte_for_byte() {
    let stage = stage();
    stage.shelf.put("SOUL.md", "Be kind.");
    stage.shelf.put_skill("knots", "name: knots\ndescription: Ties knots.");
    let engine = stage.engine();
    for words in ["one", "two", "three"] {
        say(&engine, direct(words)).await;
        stage.clock.advance(7 * 60_000);
    }
    let asked = stage.model.asked();
    assert!(asked.iter().all(|request| request.system == asked[0].system && request.tools == asked[0].tools));
}

#[tokio::test(start_paused = true)]
async fn skills_are_taken_on_the_first_turn_and_when_they_change() {
    let stage = stage();
    let engine = stage.engine();
    stage.shelf.put_skill("knots", "name: knots\ndescription: Ties knots.");
    stage.shelf.put_skill(
        "deep",
        "name: deep\ndescription: Dives.\nmetadata: {\"openclaw\":{\"requires\":{\"bins\":[\"bell\"]}}}",
    );
    say(&engine, direct("hi")).await;
    let names = |entry: &yabby_domain::session::entry::SessionEntry| {
        let snapshot = entry.skills_snapshot().unwrap().clone();
        let skills = snapshot["skills"].as_array().unwrap().clone();
        (
            skills.iter().map(|skill| skill["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>(),
            snapshot["version"].as_f64(),
        )
    };
    assert_eq!(names(&stage.entry(MAIN).await), (vec!["knots".to_owned()], Some(2.0)));
    let system = stage.model.asked()[0].system.clone();
    assert!(system.contains("<name>knots</name>") && !system.contains("<name>deep</name>"), "{system}");
    // A program that appears changes nothing by itself; a file that changes does.
    stage.shelf.install("bell");
    say(&engine, direct("again")).await;
    assert!(!stage.model.asked()[1].system.contains("<name>deep</name>"));
    stage.shelf.put_skill("knots", "name: knots\ndescription: Ties all knots.");
    say(&engine, direct("and again")).await;
    let system = stage.model.asked()[2].system.clone();
    assert!(system.contains("<name>deep</name>") && system.contains("Ties all knots."), "{system}");
    let entries = report(&stage.entry(MAIN).await)["skills"]["entries"].clone();
    assert_eq!(entries.as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_skill_can_be_called_by_its_name() {
    let stage = stage();
    stage.shelf.put_skill("tie-knots", "name: tie-knots\ndescription: Ties knots.");
    let engine = stage.engine();
    say(&engine, direct("/skill tie-knots a bowline")).await;
    say(&engine, direct("/tie_knots")).await;
    let heard: Vec<String> = stage.model.asked().iter().map(texts_of).collect();
    let place = "(/workspace/skills/tie-knots/SKILL.md)";
    assert!(
        heard[0]
            .contains(&format!("Use the skill \"tie-knots\" {place} for this: read it first.\n\na bowline")),
        "{heard:?}"
    );
    assert!(heard[1].contains("Use the skill \"tie-knots\""), "{heard:?}");
    let unknown = texts(&say(&engine, direct("/skill whittle a boat")).await);
    assert_eq!(unknown, ["There is no skill \"whittle\" here. There are: tie-knots."]);
    let which = texts(&say(&engine, direct("/skill")).await);
    assert!(which[0].starts_with("Say /skill"), "{which:?}");
    assert_eq!(stage.model.asked().len(), 2);
}

fn texts_of(request: &yabby_domain::seam::model::ModelRequest) -> String {
    request.messages.last().map(yabby_testkit::scripted_model::told).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn an_agent_has_the_skills_that_are_meant_for_it() {
    let config = json!({"agents": {"list": [{"id": "main", "skills": ["knots"]}]}});
    let read: Arc<dyn Tool> = Arc::new(Probe::new("read", Effect::None));
    let stage = Stage { tools: vec![read], ..Stage::new(config) };
    stage.shelf.put_skill("knots", "name: knots\ndescription: Ties knots.");
    stage.shelf.put_skill("sails", "name: sails\ndescription: Sets sails.");
    let engine = stage.engine();
    say(&engine, direct("hi")).await;
    let system = stage.model.asked()[0].system.clone();
    assert!(system.contains("<name>knots</name>") && !system.contains("sails"), "{system}");
}

#[tokio::test(start_paused = true)]
async fn secrets_reach_neither_the_model_nor_the_transcript() {
    let leaky: Arc<dyn Tool> = Arc::new(Probe::new("read", Effect::None).answering(|_| ToolOutput {
        details: Some(json!({"env": {"deep": "it is hunter2-and-more"}})),
        ..ToolOutput::text("the password is hunter2-and-more, and a key: sk-ant-REDACTED")
    }));
    let stage = Stage {
        tools: vec![leaky],
        secrets: Arc::new(Secrets::new(["hunter2-and-more".to_owned()])),
        ..Stage::new(json!({}))
    };
    let engine = stage.engine();
    stage.model.will([Line::call("read", json!({})), Line::say("done")]);
    say(&engine, direct("what is the password?")).await;
    let transcript = stage.transcript(MAIN).await.unwrap();
    let kept: Vec<String> = transcript
        .branch()
        .iter()
        .filter_map(|entry| entry.message())
        .map(|message| format!("{message:?}"))
        .collect();
    let kept = kept.join("\n");
    assert!(kept.contains("the password is"), "{kept}");
    assert!(!kept.contains("hunter2-and-more") && !kept.contains("0123456789abcdef"), "{kept}");
    let told = format!("{:?}", stage.model.asked()[1].messages);
    assert!(!told.contains("hunter2-and-more") && !told.contains("0123456789abcdef"), "{told}");
}

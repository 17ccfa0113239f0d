//! What goes out to providers: the same beginning every time, and nothing that a provider refuses
//! (`transcripts.md` §5, §8).

use std::sync::Arc;

use serde_json::{Value, json};
use yabby_domain::budget::{Budgets, Limit};
use yabby_domain::directive::level::{Level, ThinkLevel};
use yabby_domain::json::stringify;
use yabby_domain::message::Message;
use yabby_domain::provider_rules::{Recipient, violations};
use yabby_domain::sanitize::policy::ModelTarget;
use yabby_domain::seam::SessionStore as _;
use yabby_domain::seam::model::{ModelErrorKind, ModelInfo, ModelRequest, Purpose, Stop};
use yabby_domain::seam::tool::{Effect, Tool, ToolOutput};
use yabby_domain::session::cli_session;
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_domain::turn::Outcome;
use yabby_testkit::memory_ledger::MemoryLedger;
use yabby_testkit::scripted_model::{Line, ScriptedModel};
use yabby_testkit::stage::{Stage, accepted, direct, eventually, say, texts};

use crate::props::{MAIN, Probe, gate, paused};

const APIS: [&str; 4] =
    ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"];

fn tools() -> Vec<Arc<dyn Tool>> {
    let look = Probe::new("look", Effect::None).answering(|_| ToolOutput::text("a tree"));
    vec![Arc::new(look), Arc::new(Probe::new("write", Effect::Lasting))]
}

/// What a provider reads of the messages, block by block: consecutive messages of one side are one to some.
fn lines(request: &ModelRequest) -> Vec<String> {
    let blocks = |message: &Message| {
        let of = ["role", "toolCallId", "toolName", "isError"].map(|field| message.get(field).cloned());
        let line = move |block: Value| stringify(&json!([of, block]));
        message.to_blocks().into_iter().map(line).collect::<Vec<_>>()
    };
    request.messages.iter().flat_map(blocks).collect()
}

/// Every request of a turn begins with the whole of the one before it.
fn assert_stable(requests: &[ModelRequest], what: &str) {
    let turns: Vec<&ModelRequest> =
        requests.iter().filter(|request| request.purpose == Purpose::Turn).collect();
    for pair in turns.windows(2) {
        let (before, after) = (lines(pair[0]), lines(pair[1]));
        assert_eq!(pair[0].system, pair[1].system, "{what}");
        assert_eq!(pair[0].tools, pair[1].tools, "{what}");
        assert!(after.len() >= before.len(), "{what}");
        for (at, (before, after)) in before.iter().zip(&after).enumerate() {
            assert_eq!(after, before, "{what}: block {at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_says_whose_it_is_and_what_the_record_chose_for_it() {
    //  chosen      by whom         compactions  used
    let table = [
        (None, None, None, None),
        (Some("test:a"), Some("user"), None, Some("test:a")),
        (Some("test:a"), Some("auto"), Some(0.0), None),
        // Older records do not say who chose.
        (Some("test:a"), None, None, Some("test:a")),
        (Some("test:a"), None, Some(0.0), None),
    ];
    for (chosen, source, compactions, used) in table {
        let stage = Stage::new(json!({}));
        let engine = stage.engine();
        stage.model.will([Line::say("one"), Line::say("two")]);
        say(&engine, direct("first")).await;
        let change = move |entry: &mut Option<SessionEntry>| {
            let mut patch = Patch::default();
            patch.set_auth_profile_override(chosen);
            patch.set_auth_profile_override_source(source);
            patch.set_auth_profile_override_compaction_count(compactions);
            cli_session::remember(&mut patch, &SessionEntry::default(), "test", "kept");
            entry.get_or_insert_default().apply(&patch);
        };
        stage.sessions.update(&SessionKey::new(MAIN), Box::new(change)).await.unwrap();
        say(&engine, direct("second")).await;
        let asked = stage.model.asked();
        let [first, second] = asked.as_slice() else { panic!("{asked:?}") };
        assert_eq!((first.profile.as_deref(), first.cli_session.as_deref()), (None, None));
        assert_eq!(second.profile.as_deref(), used, "{chosen:?} {source:?} {compactions:?}");
        assert_eq!(second.cli_session.as_deref(), Some("kept"));
        assert_eq!((second.agent.as_str(), &second.workspace), ("main", &Some(stage.workspace.clone())));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_begins_with_the_one_before_it() {
    for api in APIS {
        let stage = Stage {
            model: ScriptedModel::named("test", api, 100_000),
            tools: tools(),
            ..Stage::new(json!({"messages": {"queue": {"mode": "steer"}}, "channels": {"telegram": {}}}))
        };
        let engine = stage.engine();
        say(&engine, direct("hello")).await;
        stage.model.will([
            Line::Call(vec![("look".into(), json!({})), ("write".into(), json!({"word": "x"}))]),
            Line::call("look", json!({})),
        ]);
        say(&engine, direct("look around, twice")).await;
        stage.clock.advance(3_600_000);
        engine.notice(&yabby_domain::session::key::SessionKey::new(MAIN), "Something happened.");
        say(&engine, direct("and now?")).await;
        // Slipped in at the end of an answer.
        let held = gate();
        stage.model.will([paused("one", &held, " two"), Line::say("three")]);
        let asked = stage.model.asked().len();
        let first = accepted(&engine, direct("count")).await;
        eventually("the model is asked", || stage.model.asked().len() > asked).await;
        let second = accepted(&engine, direct("on")).await;
        tokio::task::yield_now().await;
        held.add_permits(1);
        assert_eq!(first.done.await.unwrap().outcome, Outcome::Answered, "{api}");
        second.done.await.unwrap();
        // Stopped in the middle of an answer.
        stage.model.will([paused("half", &gate(), "")]);
        let asked = stage.model.asked().len();
        let stopped = accepted(&engine, direct("a long story")).await;
        eventually("the model is asked", || stage.model.asked().len() > asked).await;
        say(&engine, direct("/stop")).await;
        stopped.done.await.unwrap();
        say(&engine, direct("go on")).await;
        say(&engine, direct("/status")).await;
        say(&engine, direct("/verbose on")).await;
        say(&engine, direct("thanks")).await;
        assert_stable(&stage.model.asked(), api);
        assert!(stage.model.asked().len() >= 10, "{api}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_engine_asks_like_the_old_one() {
    for api in APIS {
        let stage = Stage {
            model: ScriptedModel::named("test", api, 100_000),
            tools: tools(),
            ..Stage::new(json!({}))
        };
        stage.model.will([Line::say("hi"), Line::call("look", json!({}))]);
        let engine = stage.engine();
        say(&engine, direct("hello")).await;
        say(&engine, direct("look")).await;
        drop(engine);
        let stage = stage.killed();
        let engine = stage.engine();
        engine.recover().await.unwrap();
        say(&engine, direct("and?")).await;
        assert_stable(&stage.model.asked(), api);
    }
}

#[tokio::test(start_paused = true)]
async fn the_beginning_stays_between_compactions() {
    let stage = Stage { model: ScriptedModel::new(8000), ..Stage::new(json!({})) };
    let engine = stage.engine();
    for turn in 0..30 {
        say(&engine, direct(&format!("{turn} {}", "word ".repeat(150)))).await;
    }
    let asked = stage.model.asked();
    let parts: Vec<&[ModelRequest]> =
        asked.split(|request| request.purpose == Purpose::Summary).filter(|part| !part.is_empty()).collect();
    assert!(parts.len() > 2);
    for part in parts {
        assert_stable(part, "between two compactions");
    }
    // A flush begins like the turn before it, too.
    for pair in asked.windows(2).filter(|pair| pair[1].purpose == Purpose::Flush) {
        let (before, flush) = (lines(&pair[0]), lines(&pair[1]));
        assert_eq!(flush[..before.len()], before[..]);
    }
}

/// Thinking as a provider signs it, and a call.
fn thoughtful(api: &str, number: usize) -> Vec<Value> {
    let signature = match api {
        "openai-responses" => format!("{{\"id\":\"rs_{number}\",\"type\":\"reasoning\"}}"),
        _ => "QUJD".to_owned(),
    };
    let id = match api {
        "openai-responses" => format!("call_{number}|fc_{number}"),
        _ => format!("toolu_{number}"),
    };
    vec![
        json!({"type": "thinking", "thinking": "let me look", "thinkingSignature": signature}),
        json!({"type": "text", "text": "Looking."}),
        json!({"type": "toolCall", "id": id, "name": "look", "arguments": {}}),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_conversation_goes_on_with_another_model() {
    let model = |provider: &str, api: &str| {
        let info = ModelInfo { reasoning: true, ..ScriptedModel::info(api, 100_000) };
        ScriptedModel::describing(provider, &["model"], info)
    };
    let providers = [
        ("anthropic", "anthropic-messages"),
        ("openai", "openai-responses"),
        ("google", "google-generative-ai"),
    ];
    let models: Vec<ScriptedModel> = providers.iter().map(|(name, api)| model(name, api)).collect();
    let stage = Stage {
        more_models: models.clone(),
        tools: tools(),
        ..Stage::new(json!({"agents": {"defaults": {"model": "anthropic/model"}}}))
    };
    let engine = stage.engine();
    let mut number = 0;
    // Every model follows every other one.
    for at in [0, 1, 2, 0, 2, 1, 0] {
        let (provider, api) = providers[at];
        let told = say(&engine, direct(&format!("/model {provider}/model"))).await;
        assert!(texts(&told)[0].contains(&format!("{provider}/model")), "{told:?}");
        number += 1;
        models[at].will([Line::Blocks(thoughtful(api, number), Stop::ToolUse), Line::say("A tree.")]);
        let report = say(&engine, direct(&format!("look {number}"))).await;
        assert_eq!(report.outcome, Outcome::Answered, "{report:?}");
        let entry = stage.entry(MAIN).await;
        assert_eq!((entry.model_provider(), entry.model()), (Some(provider), Some("model")));
        for request in models[at].asked() {
            let target = ModelTarget { api: Some(api), provider: Some(provider), model: Some("model") };
            assert_eq!(
                violations(&request.messages, &Recipient::of(target)),
                [],
                "{provider} after {number}"
            );
            let words = format!("{:?}", request.messages);
            assert!(words.contains("look 1"), "the conversation is the same");
        }
    }
    // What a model itself signed, it is shown again.
    let asked = models[0].asked();
    let own =
        asked[1].messages.iter().any(|message| stringify(&message.clone().into_value()).contains("QUJD"));
    assert!(own, "{:?}", asked[1].messages);
    // A notice tells the model that it is another one.
    assert!(format!("{:?}", models[1].asked()[0].messages).contains("Model switched to openai/model."));
}

#[tokio::test(start_paused = true)]
async fn a_model_thinks_as_much_as_it_is_told_to() {
    let thinker = || {
        let info = ModelInfo { reasoning: true, ..ScriptedModel::info("openai-responses", 100_000) };
        ScriptedModel::describing("test", &["model"], info)
    };
    let stage = |config: Value| Stage { model: thinker(), ..Stage::new(config) };
    let asked = |stage: &Stage| stage.model.asked().last().unwrap().thinking;

    let usual = stage(json!({}));
    let engine = usual.engine();
    say(&engine, direct("hello")).await;
    assert_eq!(asked(&usual), ThinkLevel::Low, "models that can think do so a little");
    say(&engine, direct("/think high")).await;
    say(&engine, direct("hello")).await;
    assert_eq!(asked(&usual), ThinkLevel::High);
    let mut once = direct("hello");
    once.options.thinking = Some("minimal".to_owned());
    say(&engine, once).await;
    assert_eq!(asked(&usual), ThinkLevel::Minimal);
    say(&engine, direct("hello")).await;
    assert_eq!(asked(&usual), ThinkLevel::High);

    let configured = stage(json!({"agents": {"defaults": {"thinkingDefault": "medium"}}}));
    let engine = configured.engine();
    say(&engine, direct("hello")).await;
    assert_eq!(asked(&configured), ThinkLevel::Medium);
    say(&engine, direct("high what is up")).await;
    assert_eq!(asked(&configured), ThinkLevel::High, "a first word that names a level is one");
    assert_eq!(crate::props::questions(&configured)[1], "user: what is up");
    assert_eq!(ThinkLevel::High.as_str(), "high");

    // A model that cannot think is not asked to.
    let plain = Stage::new(json!({"agents": {"defaults": {"thinkingDefault": "high"}}}));
    say(&plain.engine(), direct("hello")).await;
    assert_eq!(plain.model.asked()[0].thinking, ThinkLevel::Off);
}

#[tokio::test(start_paused = true)]
async fn errors_are_told_and_the_next_question_is_asked_as_if_nothing_had_been() {
    for api in APIS {
        let stage = Stage { model: ScriptedModel::named("test", api, 100_000), ..Stage::new(json!({})) };
        let engine = stage.engine();
        say(&engine, direct("hello")).await;
        stage.model.will([Line::Fail(
            ModelErrorKind::Overloaded,
            "The provider is busy; try again later.".to_owned(),
        )]);
        let report = say(&engine, direct("are you there?")).await;
        assert_eq!(report.outcome, Outcome::Failed);
        assert_eq!(texts(&report), ["⚠️ The provider is busy; try again later."]);
        assert_eq!(report.payloads[0].is_error, Some(true));
        say(&engine, direct("and now?")).await;
        let request = stage.model.asked().pop().unwrap();
        let target = ModelTarget { api: Some(api), provider: Some("test"), model: Some("model") };
        assert_eq!(violations(&request.messages, &Recipient::of(target)), [], "{api}");
        let words = format!("{:?}", request.messages);
        assert!(words.contains("are you there?") && words.contains("and now?"), "{api} {words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_not_there_is_an_error_that_says_what_to_do() {
    let stage = Stage::new(json!({"agents": {"defaults": {"model": "nowhere/none"}}}));
    let engine = stage.engine();
    let report = say(&engine, direct("hello")).await;
    assert_eq!(report.outcome, Outcome::Failed);
    assert!(texts(&report)[0].contains("nowhere/none cannot be reached"), "{report:?}");
    assert!(texts(&say(&engine, direct("/status")).await)[0].contains("cannot be reached"));
    say(&engine, direct("/model test/model")).await;
    assert_eq!(say(&engine, direct("hello")).await.outcome, Outcome::Answered);
}

#[tokio::test]
async fn another_model_answers_when_one_cannot() {
    let mut stage = Stage::new(json!({
        "agents": {"defaults": {"model": {"primary": "test/model", "fallbacks": ["gone/model", "spare/model"]}}},
    }));
    let spare = ScriptedModel::named("spare", "anthropic-messages", 50_000);
    stage.more_models = vec![spare.clone()];
    let engine = stage.engine();
    let overloaded = || Line::Fail(ModelErrorKind::Overloaded, "too many people ask".to_owned());
    stage.model.will([overloaded()]);
    spare.will([Line::say("I can.")]);
    let report = say(&engine, direct("hello")).await;
    assert_eq!((texts(&report), report.error), (vec!["I can.".to_owned()], None));
    let entry = stage.entry(MAIN).await;
    assert_eq!((entry.model_provider(), entry.context_tokens()), (Some("spare"), Some(50_000.0)));
    // The next turn asks the usual one first.
    say(&engine, direct("again")).await;
    assert_eq!(stage.model.asked().len(), 2);
    // A request that is found fault with is not carried from door to door.
    stage.model.will([Line::Fail(ModelErrorKind::BadRequest, "no such field".to_owned())]);
    let report = say(&engine, direct("odd")).await;
    assert_eq!((report.error.as_deref(), spare.asked().len()), (Some("no such field"), 1));
    // If nobody can, the last one says why.
    stage.model.will([overloaded()]);
    spare.will([Line::Fail(ModelErrorKind::Auth, "the key is not valid".to_owned())]);
    assert_eq!(say(&engine, direct("last")).await.error.as_deref(), Some("the key is not valid"));
}

#[tokio::test]
async fn a_budget_that_is_used_up_refuses_before_the_call() {
    let mut stage = Stage::new(json!({}));
    let session = Some(Limit { dollars: None, tokens: Some(1) });
    stage.calls = MemoryLedger::with_budgets(Budgets { session, ..Budgets::default() });
    let engine = stage.engine();
    assert_eq!(say(&engine, direct("one")).await.error, None);
    let report = say(&engine, direct("two")).await;
    assert!(texts(&report)[0].contains("this session's budget is used up"), "{report:?}");
    assert_eq!((stage.model.asked().len(), stage.calls.calls().len()), (1, 1));
    say(&engine, direct("/new")).await;
    assert_eq!(stage.model.asked().len(), 2);
}

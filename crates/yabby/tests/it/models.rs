//! `yabby models` and `yabby usage budget`, with services that are stood in for on loopback.

use std::fs;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use yabby_testkit::stand_in::{Format, Reply, Script, Seen, StandIn};

use crate::home::{Home, Told, project};

const ASK: [&str; 6] = ["agent", "--local", "--agent", "main", "-m", "hello"];

/// A service that goes on while a test waits for yabby.
struct Service {
    stand_in: StandIn,
    _runtime: Runtime,
}

impl Service {
    fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let stand_in = runtime.block_on(StandIn::start());
        stand_in.will(replies);
        Self { stand_in, _runtime: runtime }
    }

    fn says(words: &'static str) -> Self {
        Self::start([answer(words)])
    }

    fn address(&self) -> String {
        format!("{}/v1", self.stand_in.address())
    }

    /// The keys that it was shown, in order.
    fn keys(&self) -> Vec<String> {
        let key = |seen: &Seen| seen.header("authorization").unwrap_or("-").replace("Bearer ", "");
        self.stand_in.seen().iter().map(key).collect()
    }
}

fn answer(words: &'static str) -> Reply {
    Format::OpenAiChat.answer(&Script::text(&[words]))
}

/// A home whose model is `acme/small`, at this address.
fn home(address: &str, provider: &Value) -> Home {
    let mut acme = json!({
        "baseUrl": address,
        "api": "openai-completions",
        "models": [{
            "id": "small", "name": "Small", "reasoning": false, "input": ["text"], "contextWindow": 128000,
            "maxTokens": 4096, "cost": {"input": 1000, "output": 2000, "cacheRead": 0, "cacheWrite": 0},
        }],
    });
    for (name, value) in provider.as_object().unwrap() {
        acme[name] = value.clone();
    }
    let home = Home::empty();
    configure(
        &home,
        &json!({
            "models": {"providers": {"acme": acme}},
            "agents": {"defaults": {"model": {"primary": "acme/small"}}},
        }),
    );
    home
}

fn configure(home: &Home, config: &Value) {
    home.write(".openclaw/openclaw.json", &config.to_string());
}

fn config(home: &Home) -> String {
    fs::read_to_string(home.path().join(".openclaw/openclaw.json")).unwrap()
}

fn with_variables(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> Told {
    let output = home.command(arguments).envs(variables.iter().copied()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Told { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

const PROFILES: &str = ".openclaw/agents/main/agent/auth-profiles.json";

fn profiles(home: &Home, ids: &[&str]) {
    let profile = |id: &&str| {
        let key = format!("sk-{id}");
        ((*id).to_owned(), json!({"type": "api_key", "provider": "acme", "key": key}))
    };
    let profiles: serde_json::Map<String, Value> = ids.iter().map(profile).collect();
    home.write(PROFILES, &json!({"version": 1, "profiles": profiles}).to_string());
}

#[test]
fn a_probe_says_whether_a_model_answers_and_how_fast() {
    let service = Service::start([answer("OK"), answer("OK")]);
    let home = home(&service.address(), &json!({"apiKey": "sk-secret"}));
    let told = home.out(&["models", "probe"]);
    assert!(told.starts_with("acme/small answers: the first word after "), "{told}");
    assert!(told.trim_end().ends_with("ms."), "{told}");
    let told = home.json(&["models", "probe", "acme/small"]);
    assert_eq!(
        (&told["ok"], &told["model"], &told["text"]),
        (&json!(true), &json!("acme/small"), &json!("OK"))
    );
    assert!(told["firstWordMs"].as_u64().unwrap() <= told["totalMs"].as_u64().unwrap(), "{told}");
    assert_eq!(service.keys(), ["sk-secret", "sk-secret"]);
    assert_eq!(home.json(&["usage", "--by", "session"])["rows"][0]["name"], "models:probe");
}

#[test]
fn a_probe_that_fails_says_why_in_a_sentence() {
    let denied =
        Service::start([Format::OpenAiChat.denied("sk-secret"), Format::OpenAiChat.denied("sk-secret")]);
    let at_denied = home(&denied.address(), &json!({"apiKey": "sk-secret"}));
    let told = at_denied.refusal(&["models", "probe"]);
    assert!(told.starts_with("acme/small does not answer: ") && !told.contains("sk-secret"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    let told = at_denied.run(&["models", "probe", "--json"]);
    let value: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((told.code, told.err.as_str()), (1, ""));
    assert_eq!((&value["ok"], &value["kind"]), (&json!(false), &json!("auth")));
    // Nothing listens there any more.
    let gone = Service::says("OK").address();
    let told = home(&gone, &json!({"apiKey": "k"})).refusal(&["models", "probe"]);
    assert!(told.starts_with("acme/small does not answer: ") && told.lines().count() == 1, "{told}");
    let told = Home::empty().refusal(&["models", "probe", "anthropic/claude-opus-4-5"]);
    assert!(told.contains("Set ANTHROPIC_API_KEY in the environment"), "{told}");
}

#[test]
fn a_server_that_is_a_little_different_is_asked_its_own_way() {
    let asked = |compat: Value| {
        let service = Service::says("OK");
        let model = json!({
            "id": "small", "name": "Small", "reasoning": true, "input": ["text"], "contextWindow": 128000,
            "maxTokens": 4096, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}, "compat": compat,
        });
        let home = home(&service.address(), &json!({"models": [model]}));
        home.out(&["agent", "--local", "--agent", "main", "-m", "hello", "--thinking", "high"]);
        service.stand_in.last_body()
    };
    let usual = asked(json!({}));
    assert_eq!((&usual["max_tokens"], &usual["reasoning_effort"]), (&json!(4096), &json!("high")));
    assert_eq!((usual.get("store"), &usual["messages"][0]["role"]), (None, &json!("system")));
    let other = asked(json!({
        "supportsStore": true, "supportsDeveloperRole": true, "supportsReasoningEffort": false,
        "maxTokensField": "max_completion_tokens",
    }));
    assert_eq!((other.get("max_tokens"), &other["max_completion_tokens"]), (None, &json!(4096)));
    assert_eq!((&other["store"], other.get("reasoning_effort")), (&json!(false), None));
    assert_eq!(other["messages"][0]["role"], "developer");
}

#[test]
fn an_account_without_credit_is_told_of_and_rests_while_the_next_key_answers() {
    let body = json!({"error": {"message": "You exceeded your current quota, please check your plan and billing details.", "type": "insufficient_quota", "code": "insufficient_quota"}});
    let unpaid = Reply::json(429, &body);
    let service = Service::start([unpaid.clone(), answer("from b"), unpaid]);
    let home = home(&service.address(), &json!({}));
    profiles(&home, &["acme:a", "acme:b"]);
    assert_eq!(home.out(&ASK), "from b\n");
    assert_eq!(service.keys(), ["sk-acme:a", "sk-acme:b"]);
    let file: Value = serde_json::from_str(&fs::read_to_string(home.path().join(PROFILES)).unwrap()).unwrap();
    let stats = &file["usageStats"]["acme:a"];
    assert_eq!(
        (&stats["disabledReason"], &stats["failureCounts"]),
        (&json!("billing"), &json!({"billing": 1}))
    );
    assert!(stats.get("cooldownUntil").is_none() && stats["disabledUntil"].is_number(), "{stats}");
    let told = home.run(&ASK);
    assert!(
        told.err.contains("wants to be paid first") || told.out.contains("wants to be paid first"),
        "{told:?}"
    );
    let told = home.run(&ASK);
    assert!(format!("{told:?}").contains("No account of acme is paid for"), "{told:?}");
    assert!(home.out(&["models", "status"]).contains("disabled:billing"));
}

#[test]
fn without_anything_the_built_in_helper_answers() {
    let home = Home::empty();
    assert_eq!(home.out(&["models", "status", "--plain"]), "offline/rules\n");
    assert!(home.out(&["models", "probe"]).starts_with("offline/rules answers: "));
    assert_eq!(home.out(&["models", "list", "--plain"]), "offline/rules\n");
    assert_eq!(home.run(&["models", "status", "--check"]).code, 0);
}

#[test]
fn a_key_is_found_wherever_it_is() {
    let service = Service::start((0..5).map(|_| answer("OK")));
    let address = service.address();
    let probe = |provider: Value, variables: &[(&str, &str)]| {
        let home = home(&address, &provider);
        home.write("key.txt", "sk-file\n");
        let told =
            with_variables(&home, &["models", "probe"], &[&[("PATH", "/usr/bin:/bin")], variables].concat());
        assert_eq!((told.code, told.err.as_str()), (0, ""), "{provider}");
    };
    probe(json!({}), &[("ACME_API_KEY", "sk-env")]);
    probe(json!({"apiKey": "${MY_KEY}"}), &[("MY_KEY", "sk-reference")]);
    probe(json!({"apiKey": "file:~/key.txt"}), &[]);
    probe(json!({"apiKey": "command:printf sk-command"}), &[]);
    assert_eq!(service.keys(), ["sk-env", "sk-reference", "sk-file", "sk-command"]);
    let home = home(&address, &json!({}));
    let mut value: Value = serde_json::from_str(&config(&home)).unwrap();
    value["env"] = json!({"ACME_API_KEY": "sk-section"});
    configure(&home, &value);
    home.out(&["models", "probe"]);
    assert_eq!(service.keys().last().unwrap(), "sk-section");
}

#[test]
fn a_profile_that_fails_rests_and_the_next_one_is_used() {
    let service = Service::start([Format::OpenAiChat.denied("x"), answer("Hello."), answer("Hello again.")]);
    let home = home(&service.address(), &json!({}));
    profiles(&home, &["acme:one", "acme:two"]);
    assert_eq!(home.out(&ASK), "Hello.\n");
    assert_eq!(home.out(&ASK), "Hello again.\n");
    assert_eq!(service.keys(), ["sk-acme:one", "sk-acme:two", "sk-acme:two"]);
    let kept: Value = serde_json::from_str(&fs::read_to_string(home.path().join(PROFILES)).unwrap()).unwrap();
    assert_eq!(kept["lastGood"]["acme"], "acme:two");
    assert!(kept["usageStats"]["acme:one"]["cooldownUntil"].is_number(), "{kept}");
    let status = home.out(&["models", "status"]);
    assert!(status.contains("acme:one=*** [cooldown 1m], acme:two=***"), "{status}");
    let auth = home.json(&["models", "status"])["auth"].clone();
    assert_eq!(auth["unusableProfiles"][0]["profileId"], "acme:one");
    assert_eq!(auth["providers"][0]["effective"]["kind"], "profiles");
    assert!(!auth.to_string().contains("sk-acme"), "{auth}");
}

#[test]
fn an_agent_asks_with_a_key_of_its_own() {
    let service = Service::start([answer("Hello."), answer("Hello.")]);
    let home = home(&service.address(), &json!({}));
    let mut value: Value = serde_json::from_str(&config(&home)).unwrap();
    value["agents"]["list"] = json!([{"id": "main"}, {"id": "ops"}]);
    configure(&home, &value);
    profiles(&home, &["acme:a"]);
    let own = json!({"version": 1, "profiles": {"acme:a": {"type": "token", "provider": "acme", "token": "sk-of-ops"}}});
    home.write(".openclaw/agents/ops/agent/auth-profiles.json", &own.to_string());
    home.out(&["agent", "--local", "--agent", "ops", "-m", "hello"]);
    home.out(&ASK);
    assert_eq!(service.keys(), ["sk-of-ops", "sk-acme:a"]);
}

#[test]
fn a_profile_that_is_gone_is_told_and_no_other_key_pays() {
    let service = Service::start([answer("Hello."), answer("Hello again.")]);
    let home = home(&service.address(), &json!({"apiKey": "sk-configured"}));
    profiles(&home, &["acme:work"]);
    home.out(&["agent", "--local", "--agent", "main", "-m", "/model acme/small@acme:work"]);
    assert_eq!(home.out(&ASK), "Hello.\n");
    profiles(&home, &["acme:other"]);
    let told = home.refusal(&ASK);
    assert!(told.contains("There is no profile acme:work for acme any more"), "{told}");
    home.out(&["agent", "--local", "--agent", "main", "-m", "/model acme/small"]);
    assert_eq!(home.out(&ASK), "Hello again.\n");
    assert_eq!(service.keys(), ["sk-acme:work", "sk-acme:other"]);
}

#[test]
fn the_next_model_answers_for_one_that_cannot() {
    let (bad, good) = (Service::start([Format::OpenAiChat.denied("x")]), Service::says("Hello."));
    let home = home(&bad.address(), &json!({"apiKey": "a"}));
    let mut value: Value = serde_json::from_str(&config(&home)).unwrap();
    let mut other = value["models"]["providers"]["acme"].clone();
    other["baseUrl"] = good.address().into();
    value["models"]["providers"]["other"] = other;
    value["agents"]["defaults"]["model"]["fallbacks"] = json!(["other/small"]);
    configure(&home, &value);
    assert_eq!(home.out(&ASK), "Hello.\n");
    assert_eq!((bad.keys().len(), good.keys().len()), (1, 1));
    let list = home.out(&["models", "list"]);
    assert!(list.contains("other/small") && list.contains("fallback#1"), "{list}");
}

#[test]
fn what_is_spent_ends_with_its_budget() {
    let service = Service::start([answer("Hello."), answer("Hello again.")]);
    let home = home(&service.address(), &json!({"apiKey": "a"}));
    assert!(home.out(&["usage", "budget"]).contains("Nothing is limited"));
    home.out(&["usage", "budget", "set", "day", "$0.01"]);
    assert_eq!(home.out(&ASK), "Hello.\n");
    for _ in 0..4 {
        let told = home.refusal(&ASK);
        assert!(told.contains("today's budget is used up: $") && told.contains("of $0.01"), "{told}");
        assert!(!told.contains("Finishing"), "what failed is done with: {told}");
    }
    let told = home.refusal(&["models", "probe"]);
    assert!(told.contains("budget is used up"), "{told}");
    assert_eq!(service.keys().len(), 1, "nobody was asked");
    let shown = home.json(&["usage", "budget"]);
    assert_eq!(shown["budgets"], json!({"day": {"dollars": 0.01}}));
    assert_eq!((&shown["spent"]["day"]["calls"], &shown["spent"]["day"]["tokens"]), (&json!(1), &json!(120)));
    assert_eq!(shown["spent"]["sessions"][0]["name"], "agent:main:main");
    home.out(&["usage", "budget", "clear", "day"]);
    assert_eq!(home.out(&ASK), "Hello again.\n");
}

#[test]
fn budgets_are_set_in_money_and_in_tokens() {
    let home = Home::empty();
    home.out(&["usage", "budget", "set", "day", "5usd"]);
    home.out(&["usage", "budget", "set", "session", "200k", "tokens"]);
    let told = home.out(&["usage", "budget", "set", "day", "200000tokens"]);
    assert_eq!(
        told,
        "day     $5.00 or 200k tokens\n  nothing spent today\nsession 200k tokens\nsender  no limit\n"
    );
    let file = home.path().join(".openclaw/usage/budgets.json");
    let kept: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(kept, json!({"day": {"dollars": 5, "tokens": 200_000}, "session": {"tokens": 200_000}}));
    for wrong in [&["day", "soon"][..], &["day", "-5"], &["day", "0"], &["week", "5"], &["day"]] {
        home.refusal(&[&["usage", "budget", "set"], wrong].concat());
    }
    fs::write(&file, "{ broken").unwrap();
    assert!(home.refusal(&["usage", "budget"]).contains("budgets.json is damaged"));
    assert_eq!(home.json(&["usage", "budget", "clear"])["budgets"], json!({}));
}

#[test]
fn the_model_that_answers_is_chosen_and_comments_stay() {
    let home = Home::empty();
    home.write(".openclaw/openclaw.json", "{\n  // who answers\n  agents: { defaults: {} },\n}\n");
    let told = home.out(&["models", "set", "ollama/llama3.3"]);
    assert_eq!(told, "Updated ~/.openclaw/openclaw.json\nDefault model: ollama/llama3.3\n");
    assert!(config(&home).contains("// who answers"), "{}", config(&home));
    assert_eq!(home.out(&["models", "status", "--plain"]), "ollama/llama3.3\n");
    assert_eq!(home.out(&["models", "list", "--local", "--plain"]), "ollama/llama3.3\n");
    let table = [
        ("nobody/x", "There is no provider \"nobody\". There are: anthropic, "),
        (
            "anthropic/claude-opus-9",
            "anthropic is not known to have a model \"claude-opus-9\". It has: claude-opus-4-",
        ),
        ("/", "Invalid model reference: /"),
    ];
    for (model, told) in table {
        let refusal = home.refusal(&["models", "set", model]);
        assert!(refusal.starts_with(&format!("Error: {told}")), "{refusal}");
    }
    assert_eq!(home.out(&["models", "status", "--plain"]), "ollama/llama3.3\n");
}

#[test]
fn choosing_a_model_writes_the_configuration_once() {
    let home = Home::empty();
    configure(&home, &json!({"agents": {"defaults": {"models": {"openai/gpt-5.2": {}}}}}));
    assert_eq!(home.run(&["models", "set", "anthropic/claude-haiku-4-5"]).code, 0);
    let folder = home.path().join(".openclaw");
    let backups = || {
        let names =
            fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("openclaw.json.bak")).count()
    };
    // Each time it is written, the text before is kept.
    assert_eq!(backups(), 1);
    let kept: Value = serde_json::from_str(&config(&home)).unwrap();
    let defaults = &kept["agents"]["defaults"];
    assert_eq!(defaults["model"]["primary"], "anthropic/claude-haiku-4-5");
    assert!(defaults["models"].get("anthropic/claude-haiku-4-5").is_some(), "it may be used: {defaults}");
    assert_eq!(home.refusal(&["models", "set", "nobody/x"]).lines().count(), 1);
    assert_eq!(backups(), 1);
}

#[test]
fn fallbacks_are_added_and_removed_and_so_are_those_for_pictures() {
    let home = Home::empty();
    for (command, heading, one, field) in [
        ("fallbacks", "Fallbacks", "Fallback", "fallbacks"),
        ("image-fallbacks", "Image fallbacks", "Image fallback", "imageFallbacks"),
    ] {
        assert_eq!(home.out(&["models", command]), format!("{heading} (0):\n- none\n"));
        let told = home.out(&["models", command, "add", "openai/gpt-5.2"]);
        assert_eq!(told, format!("Updated ~/.openclaw/openclaw.json\n{heading}: openai/gpt-5.2\n"));
        home.out(&["models", command, "add", "ollama/m"]);
        let told = home.out(&["models", command, "add", "openai/gpt-5.2"]);
        assert!(told.ends_with(&format!("\n{heading}: openai/gpt-5.2, ollama/m\n")), "once: {told}");
        assert_eq!(home.json(&["models", command])["fallbacks"], json!(["openai/gpt-5.2", "ollama/m"]));
        assert_eq!(home.out(&["models", command, "list", "--plain"]), "openai/gpt-5.2\nollama/m\n");
        assert_eq!(home.json(&["models", "status"])[field], json!(["openai/gpt-5.2", "ollama/m"]));
        home.out(&["models", command, "remove", "openai/gpt-5.2"]);
        let gone = home.refusal(&["models", command, "remove", "openai/gpt-5.2"]);
        assert_eq!(gone, format!("Error: {one} not found: openai/gpt-5.2"));
        let told = home.out(&["models", command, "clear"]);
        assert_eq!(told, format!("Updated ~/.openclaw/openclaw.json\n{one} list cleared.\n"));
        assert_eq!(home.json(&["models", command])["fallbacks"], json!([]));
    }
    let told = home.run(&["models", "set-image", "openai/gpt-5.2"]).out;
    assert_eq!(told, "Updated ~/.openclaw/openclaw.json\nImage model: openai/gpt-5.2\n");
    assert_eq!(home.json(&["models", "status"])["imageModel"], "openai/gpt-5.2");
}

#[test]
fn every_key_is_tried_where_that_is_asked_for() {
    let service = Service::start([answer("OK"), Format::OpenAiChat.denied("x"), answer("OK")]);
    let home = home(&service.address(), &json!({}));
    profiles(&home, &["acme:a", "acme:b"]);
    let told = home.json(&["models", "status", "--probe", "--probe-concurrency", "1"]);
    let probes = &told["auth"]["probes"];
    let results: Vec<(&str, &str)> = probes["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tried| (tried["profileId"].as_str().unwrap(), tried["status"].as_str().unwrap()))
        .collect();
    assert_eq!(results, [("acme:a", "ok"), ("acme:b", "auth")]);
    assert_eq!((&probes["totalTargets"], &probes["options"]["maxTokens"]), (&json!(2), &json!(8)));
    assert_eq!(service.keys(), ["sk-acme:a", "sk-acme:b"], "each with its own key");
    assert!(!told.to_string().contains("sk-acme"), "{told}");
    let told = home.out(&["models", "status", "--probe", "--probe-profile", "acme:a"]);
    assert!(told.contains("\nAuth probes\n- acme/small acme:a (api_key) ok · "), "{told}");
    assert!(told.contains("\nProbed 1 target in "), "{told}");
    let told = home.out(&["models", "status", "--probe", "--probe-provider", "other"]);
    assert!(told.ends_with("\nAuth probes\n- none\n"), "{told}");
    let table: [(&[&str], &str); 5] = [
        (&["--probe", "--plain"], "Error: --probe cannot be used with --plain output."),
        (&["--json", "--plain"], "Error: Choose either --json or --plain, not both."),
        (&["--probe", "--probe-timeout", "soon"], "Error: --probe-timeout must be a positive number (ms)."),
        (&["--probe", "--probe-concurrency", "0"], "Error: --probe-concurrency must be > 0."),
        (&["--probe", "--probe-max-tokens", "-1"], "Error: --probe-max-tokens must be > 0."),
    ];
    for (flags, told) in table {
        assert_eq!(home.refusal(&[&["models", "status"][..], flags].concat()), told, "{flags:?}");
    }
    home.refusal(&["models", "status", "--probe-timeout", "5"]);
    assert_eq!(service.keys().len(), 3);
}

#[cfg(unix)]
#[test]
fn a_probe_of_the_claude_program_says_whether_it_works_is_there_and_is_new_enough() {
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": "OK", "session_id": "s",
        "usage": {"input_tokens": 3, "output_tokens": 1}});
    let table = [
        (Some(format!("cat > /dev/null\necho '{result}'")), Ok("claude-cli/opus answers: ")),
        (Some("echo \"error: unknown option '--session-id'\" >&2\nexit 1".to_owned()), Err("is too old")),
        (None, Err("is not installed: get it with `npm install -g @anthropic-ai/claude-code`")),
    ];
    for (program, expected) in table {
        let home = Home::empty();
        fs::create_dir_all(home.path().join("bin")).unwrap();
        if let Some(text) = &program {
            home.write_program("bin/claude", &format!("#!/bin/sh\n{text}\n"));
        }
        let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
        let told = with_variables(&home, &["models", "probe", "claude-cli/opus"], &[("PATH", &path)]);
        match expected {
            Ok(words) => assert!(told.code == 0 && told.out.starts_with(words), "{told:?}"),
            Err(words) => assert!(told.code == 1 && told.err.contains(words), "{told:?}"),
        }
    }
}

#[test]
fn the_remedy_for_a_missing_key_is_one_that_works() {
    let service = Service::says("OK");
    let home = Home::empty();
    let refusal = home.refusal(&["models", "probe", "openai/gpt-5.2"]);
    assert!(refusal.contains("write `OPENAI_API_KEY=…` into a file .env in the state folder"), "{refusal}");
    // Exactly that, with a service that is stood in for.
    configure(
        &home,
        &json!({"models": {"providers": {"openai": {"baseUrl": service.address(), "api": "openai-completions", "models": []}}}}),
    );
    home.write(".openclaw/.env", "OPENAI_API_KEY=sk-of-the-file\n");
    home.out(&["models", "probe", "openai/gpt-5.2"]);
    assert_eq!(service.keys(), ["sk-of-the-file"]);
}

#[test]
fn a_model_has_short_names() {
    let home = Home::empty();
    assert_eq!(home.out(&["models", "aliases"]), "Aliases (0):\n- none\n");
    let told = home.out(&["models", "aliases", "add", "fast", "openai/gpt-5.2"]);
    assert_eq!(told, "Updated ~/.openclaw/openclaw.json\nAlias fast -> openai/gpt-5.2\n");
    assert_eq!(home.out(&["models", "aliases", "list", "--plain"]), "fast openai/gpt-5.2\n");
    assert_eq!(home.json(&["models", "aliases"])["aliases"], json!({"fast": "openai/gpt-5.2"}));
    let taken = home.refusal(&["models", "aliases", "add", "fast", "anthropic/claude-haiku-4-5"]);
    assert_eq!(taken, "Error: Alias fast already points to openai/gpt-5.2.");
    let odd = home.refusal(&["models", "aliases", "add", "so fast", "openai/gpt-5.2"]);
    assert!(odd.starts_with("Error: Alias must use letters"), "{odd}");
    assert_eq!(home.run(&["models", "set", "fast"]).code, 0);
    assert_eq!(home.out(&["models", "status", "--plain"]), "openai/gpt-5.2\n");
    let told = home.out(&["models", "aliases", "remove", "fast"]);
    assert_eq!(told, "Updated ~/.openclaw/openclaw.json\nNo aliases configured.\n");
    assert_eq!(home.refusal(&["models", "aliases", "remove", "fast"]), "Error: Alias not found: fast");
}

#[test]
fn what_is_missing_is_told_with_its_remedy() {
    let home = Home::empty();
    configure(
        &home,
        &json!({
            "agents": {
                "defaults": {"model": {"primary": "openai/gpt-5.2"}, "models": {"openai/gpt-5.2": {}, "gone/x": {}}},
                "list": [{"id": "ops", "model": {"primary": "ollama/m", "fallbacks": []}}],
            },
        }),
    );
    let status = home.out(&["models"]);
    assert!(
        status.contains("\nMissing auth\n- openai There is no key for openai. Set OPENAI_API_KEY"),
        "{status}"
    );
    assert_eq!(home.run(&["models", "status", "--check"]).code, 1);
    let with_key =
        with_variables(&home, &["models", "status", "--check"], &[("OPENAI_API_KEY", "sk-secret")]);
    assert!(
        with_key.out.contains("- openai effective=env:*** | env=*** | source=env: OPENAI_API_KEY"),
        "{with_key:?}"
    );
    assert_eq!(with_key.code, 0);
    let list = home.out(&["models", "list"]);
    assert_eq!(
        list.lines().next().unwrap(),
        "Model                                      Input      Ctx      Local Auth  Tags"
    );
    assert!(
        list.contains(
            "gone/x                                     -          -        -     -     configured,missing"
        ),
        "{list}"
    );
    let ops = home.json(&["models", "status", "--agent", "ops"]);
    assert_eq!((&ops["agentId"], &ops["resolvedDefault"]), (&json!("ops"), &json!("ollama/m")));
    assert!(ops["agentDir"].as_str().unwrap().ends_with(".openclaw/agents/ops/agent"), "{ops}");
    assert!(home.refusal(&["models", "status", "--agent", "ghost"]).contains("Unknown agent id \"ghost\""));
}

#[test]
fn a_token_that_is_about_to_expire_is_told() {
    let home = Home::empty();
    let token = |expires: i64| json!({"version": 1, "profiles": {"anthropic:me": {"type": "token", "provider": "anthropic", "token": "t", "expires": expires}}});
    let now = jiff::Timestamp::now().as_millisecond();
    //  left, in milliseconds    exit code    told
    for (left, code, told) in
        [(3_600_000, 2, "expiring expires in 1h"), (-5, 1, "expired"), (400_000_000, 0, "ok")]
    {
        home.write(PROFILES, &token(now + left).to_string());
        let ran = home.command(&["models", "status", "--check"]).output().unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(ran.status.code(), Some(code), "{out}");
        assert!(out.contains(&format!("- anthropic\n  - anthropic:me {told}")), "{out}");
    }
}

#[test]
fn all_models_that_are_known_are_listed() {
    let home = Home::empty();
    let all = home.json(&["models", "list", "--all"]);
    assert!(all["count"].as_u64().unwrap() > 100);
    let models = all["models"].as_array().unwrap();
    let opus = models.iter().find(|model| model["key"] == "anthropic/claude-opus-4-5").unwrap();
    assert_eq!(
        (&opus["input"], &opus["available"], &opus["local"]),
        (&json!("text+image"), &json!(false), &json!(false))
    );
    let own = home.out(&["models", "list", "--all", "--provider", "Anthropic", "--plain"]);
    assert!(own.lines().count() > 10 && own.lines().all(|line| line.starts_with("anthropic/")), "{own}");
    assert_eq!(home.out(&["models", "list", "--all", "--provider", "nobody"]), "No models found.\n");
}

/// Every configuration that the page about models shows.
#[test]
fn the_page_about_models_shows_valid_configurations() {
    let page = fs::read_to_string(project("docs/models.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```json5\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 5, "{}", blocks.len());
    for block in blocks {
        let home = Home::empty();
        home.write(".openclaw/openclaw.json", block);
        let told = home.run(&["config", "validate"]);
        assert_eq!(told.code, 0, "{block}\n{}", told.err);
    }
}

//! Starting, stopping, and everything in between.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use yabby_testkit::stand_in::recorded_model::RecordedModel;

use super::{Caller, Gateway, config, free_port};
use crate::home::{Home, MAIN, message};

/// A model that takes its time if it is told `SLOW`.
fn slow_model(port: u16) -> Value {
    json!({
        "models": {"providers": {"stub": {
            "baseUrl": format!("http://127.0.0.1:{port}"), "apiKey": "sk-stub", "api": "anthropic-messages",
            "models": [{"id": "stub-claude", "name": "Stub", "contextWindow": 200_000, "maxTokens": 8192,
                "reasoning": false, "input": ["text"], "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}],
        }}},
        "agents": {"defaults": {"model": {"primary": "stub/stub-claude"}}},
    })
}

fn is_final(run: &str) -> impl Fn(&Value) -> bool + '_ {
    move |event| {
        event["event"] == "chat" && event["payload"]["runId"] == run && event["payload"]["state"] == "final"
    }
}

#[tokio::test]
async fn a_message_is_answered_and_kept() {
    let (home, mut gateway) = Gateway::fresh();
    let mut caller = Caller::connected(gateway.port).await;
    let params = json!({"sessionKey": "main", "message": "Remember that the key is with Ann.", "idempotencyKey": "one"});
    let started = caller.call("chat.send", params.clone()).await.unwrap();
    assert_eq!(started, json!({"runId": "one", "status": "started"}));
    caller.wait(is_final("one")).await;
    let again = caller.call("chat.send", params).await.unwrap();
    assert_eq!(again, json!({"runId": "one", "status": "ok"}));
    let history = caller.call("chat.history", json!({"sessionKey": "main"})).await.unwrap();
    let users =
        history["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user").count();
    assert_eq!(users, 1, "{history}");
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.ended(), Some(0));
    assert_eq!(home.complaints_of_the_doctor(), Vec::<String>::new());
}

#[test]
fn a_second_gateway_is_told_who_runs() {
    let (home, mut gateway) = Gateway::fresh();
    let told = home.refusal(&["gateway", "run"]);
    assert!(told.contains(&format!("gateway already running (pid {})", gateway.pid())), "{told}");
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.ended(), Some(0));
    let again = Gateway::start(&home, gateway.port);
    assert_ne!(again.pid(), gateway.pid());
}

#[test]
fn another_one_takes_its_place_by_force() {
    let (home, mut first) = Gateway::fresh();
    let mut second = home.command(&["gateway", "run", "--force"]);
    let mut second =
        second.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    assert_eq!(first.ended(), Some(0));
    let mut told = std::io::BufReader::new(second.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut told, &mut line).unwrap();
    second.kill().unwrap();
    second.wait().unwrap();
    assert!(line.contains("listening on"), "{line}");
}

#[tokio::test]
async fn whoever_is_connected_hears_of_the_end() {
    let (_home, mut gateway) = Gateway::fresh();
    let mut caller = Caller::connected(gateway.port).await;
    gateway.signal(Signal::TERM);
    let closed = caller.closed().await;
    assert_eq!((closed.code, closed.reason.as_str()), (1012, "service restart"));
    let shutdown = caller.events.iter().find(|event| event["event"] == "shutdown").unwrap();
    assert_eq!(shutdown["payload"], json!({"reason": "gateway stopping", "restartExpectedMs": null}));
    assert_eq!(gateway.ended(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_finished_before_the_end() {
    let (home, port) = (Home::empty(), free_port());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    config(&home, port, slow_model(listener.local_addr().unwrap().port()));
    let _model = RecordedModel::on(listener).unwrap();
    let mut gateway = Gateway::start(&home, port);
    let mut caller = Caller::connected(port).await;
    caller
        .call("chat.send", json!({"sessionKey": "main", "message": "SLOW", "idempotencyKey": "r"}))
        .await
        .unwrap();
    caller.wait(|event| event["event"] == "agent").await;
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.ended(), Some(0));
    let told = home.run(&["history", "main", "--json"]);
    assert!(told.out.contains("nine ten"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_act_on_sessions_through_the_gateway_that_runs() {
    let (home, port) = (Home::empty(), free_port());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    config(&home, port, slow_model(listener.local_addr().unwrap().port()));
    let _model = RecordedModel::on(listener).unwrap();
    let _gateway = Gateway::start(&home, port);
    let mut caller = Caller::connected(port).await;
    for (run, key, command) in [
        ("reset", "main", &["sessions", "reset", "main"][..]),
        ("delete", "agent:main:other", &["sessions", "delete", "agent:main:other", "--yes"]),
    ] {
        let slow = json!({"sessionKey": key, "message": "SLOW", "idempotencyKey": run});
        caller.call("chat.send", slow).await.unwrap();
        caller.wait(|event| event["event"] == "agent" && event["payload"]["runId"] == run).await;
        let told = home.json(command);
        assert_eq!(told["ok"], true, "{told}");
        // The turn was stopped, and does not go on in what came after it.
        let history = caller.call("chat.history", json!({"sessionKey": key})).await.unwrap();
        assert_eq!((&history["messages"], &history["sessionId"]), (&json!([]), &told["entry"]["sessionId"]));
        let ended = caller.call("agent.wait", json!({"runId": run, "timeoutMs": 1})).await.unwrap();
        assert_ne!(ended["status"], "timeout", "{run}");
    }
    for said in ["one", "two", "three"] {
        let params = json!({"sessionKey": "main", "message": said, "idempotencyKey": said});
        caller.call("chat.send", params).await.unwrap();
        caller.wait(is_final(said)).await;
    }
    let compacted = home.json(&["sessions", "compact", "main", "--max-lines", "2"]);
    assert_eq!((&compacted["compacted"], &compacted["kept"]), (&json!(true), &json!(2)), "{compacted}");
    let undone = home.json(&["sessions", "undo-compaction"]);
    assert_eq!(undone["backup"], compacted["archived"], "{undone}");
    assert_eq!(undone["messages"], 6, "{undone}");
    let refusal = home.refusal(&["sessions", "undo-compaction"]);
    assert!(refusal.starts_with("Error: no compaction in agent:main:main is left to undo"), "{refusal}");
    let refusal = home.refusal(&["sessions", "delete", "main", "--yes"]);
    assert_eq!(refusal, "Error: Cannot delete the main session (agent:main:main).");
}

#[tokio::test]
async fn what_was_accepted_goes_on_after_kill_9() {
    let (home, port) = (Home::empty(), free_port());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    config(&home, port, slow_model(listener.local_addr().unwrap().port()));
    let _model = RecordedModel::on(listener).unwrap();
    let mut gateway = Gateway::start(&home, port);
    let mut caller = Caller::connected(port).await;
    let slow = json!({"sessionKey": "main", "message": "SLOW", "idempotencyKey": "r"});
    caller.call("chat.send", slow.clone()).await.unwrap();
    caller.wait(|event| event["event"] == "agent").await;
    gateway.signal(Signal::KILL);
    gateway.ended();
    let mut gateway = Gateway::start(&home, port);
    let mut caller = Caller::connected(port).await;
    // Whoever sends it again because nobody answered is not answered twice.
    let again = caller.call("chat.send", slow).await.unwrap();
    assert_ne!(again["status"], "started");
    caller.wait(is_final("r")).await;
    let history = caller.call("chat.history", json!({"sessionKey": "main"})).await.unwrap();
    let said = history.to_string();
    assert_eq!((said.matches("nine ten").count(), said.matches("SLOW").count()), (1, 1), "{said}");
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.ended(), Some(0));
    assert_eq!(home.complaints_of_the_doctor(), Vec::<String>::new());
}

#[tokio::test]
async fn a_change_of_the_configuration_is_applied() {
    let (home, mut gateway) = Gateway::fresh();
    let mut caller = Caller::connected(gateway.port).await;
    config(&home, gateway.port, json!({"gateway": {"auth": {"token": "another"}}}));
    gateway.wait_for("is in force");
    // Whoever came in by the old secret has to go; whoever comes has to know the new one.
    let closed = caller.closed().await;
    assert_eq!((closed.code, closed.reason.as_str()), (1008, "unauthorized: the gateway token has changed"));
    let mut caller = Caller::open(gateway.port, &[]).await;
    caller.call("connect", super::hello(json!({"token": "another"}))).await.unwrap();
    let mut late = Caller::open(gateway.port, &[]).await;
    let refused = late.call("connect", super::hello(json!({"token": super::TOKEN}))).await.unwrap_err();
    assert!(refused.contains("token mismatch"), "{refused}");
    // What cannot be applied begins everything anew, in the same process.
    let port = free_port();
    config(&home, port, json!({}));
    let closed = caller.closed().await;
    assert_eq!(closed.code, 1012);
    gateway.wait_for(&format!("127.0.0.1:{port}"));
    gateway.port = port;
    Caller::connected(port).await.call("health", json!({})).await.unwrap();
    // Our own settings are part of it, whenever they come.
    let mut caller = Caller::connected(port).await;
    home.write(".openclaw/yabby-extras.json", r#"{"memory": {"ranking": "compat"}}"#);
    assert_eq!(caller.closed().await.code, 1012);
    gateway.wait_for("changed=memory");
    gateway.wait_for(&format!("127.0.0.1:{port}"));
    Caller::connected(port).await.call("health", json!({})).await.unwrap();
    home.write(".openclaw/openclaw.json", "{ not json");
    gateway.wait_for("the last valid one stays in force");
    Caller::connected(port).await.call("health", json!({})).await.unwrap();
}

#[tokio::test]
async fn a_stop_is_heard_while_a_new_beginning_waits() {
    let (_home, mut gateway) = Gateway::fresh();
    let mut caller = Caller::connected(gateway.port).await;
    patch(&mut caller, json!({"messages": {"responsePrefix": "so:"}}), json!({"restartDelayMs": 60_000}))
        .await;
    gateway.wait_for("beginning anew in 60000 ms");
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.ended(), Some(0));
    let closed = caller.closed().await;
    assert_eq!(closed.code, 1012);
    let shutdown = caller.events.iter().find(|event| event["event"] == "shutdown").unwrap();
    assert_eq!(shutdown["payload"]["reason"], "gateway stopping");
}

/// Changes the configuration through the gateway, which begins anew then.
async fn patch(caller: &mut Caller, patch: Value, more: Value) {
    let known = caller.call("config.get", json!({})).await.unwrap();
    let mut params = json!({"raw": patch.to_string(), "baseHash": known["hash"]});
    super::merge(&mut params, more);
    caller.call("config.patch", params).await.unwrap();
}

#[tokio::test]
async fn it_goes_on_with_what_worked_if_the_configuration_does_not() {
    let (home, mut gateway) = Gateway::fresh();
    let port = gateway.port;
    home.write(".openclaw/openclaw.json", "{ not json");
    gateway.wait_for("the last valid one stays in force");
    gateway.signal(Signal::USR1);
    gateway.wait_for("gateway restarting");
    gateway.wait_for(&format!("127.0.0.1:{port}"));
    Caller::connected(port).await.call("health", json!({})).await.unwrap();
    // Somebody moves the file away for a while.
    std::fs::remove_file(home.path().join(".openclaw/openclaw.json")).unwrap();
    gateway.wait_for("is gone; the last valid one stays in force");
    Caller::connected(port).await.call("health", json!({})).await.unwrap();
    gateway.signal(Signal::USR1);
    gateway.wait_for("is gone; the last valid one stays in force");
    gateway.wait_for(&format!("127.0.0.1:{port}"));
    // Somebody else is where it should go.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    config(&home, taken.local_addr().unwrap().port(), json!({}));
    gateway.wait_for("going on with the configuration that was in force before");
    gateway.wait_for(&format!("127.0.0.1:{port}"));
    Caller::connected(port).await.call("health", json!({})).await.unwrap();
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.ended(), Some(0));
}

#[tokio::test]
async fn the_log_changes_while_it_runs() {
    let (home, mut gateway) = Gateway::fresh();
    let mut caller = Caller::connected(gateway.port).await;
    let elsewhere = home.path().join("elsewhere.log");
    config(&home, gateway.port, json!({"logging": {"file": elsewhere, "level": "debug"}}));
    gateway.wait_for("is in force");
    // The console hears of it a moment before the file.
    while !std::fs::read_to_string(&elsewhere).is_ok_and(|told| told.contains("changed=logging")) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let quiet =
        json!({"logging": {"file": elsewhere, "level": "error"}, "gateway": {"auth": {"token": "another"}}});
    config(&home, gateway.port, quiet);
    // Nothing is told any more, but whoever comes has to know the new secret once it is in force.
    loop {
        let mut late = Caller::open(gateway.port, &[]).await;
        if late.call("connect", super::hello(json!({"token": super::TOKEN}))).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Whoever came in with the old one is let go.
    assert_eq!(caller.closed().await.code, 1008);
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.ended(), Some(0));
    let after = std::fs::read_to_string(&elsewhere).unwrap();
    assert!(!after.contains("gateway stopping"), "{after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_waits_for_a_turn_that_goes_on() {
    let (home, port) = (Home::empty(), free_port());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let model = slow_model(listener.local_addr().unwrap().port());
    config(&home, port, model.clone());
    let _model = RecordedModel::on(listener).unwrap();
    let mut gateway = Gateway::start(&home, port);
    let mut caller = Caller::connected(port).await;
    let slow = json!({"sessionKey": "main", "message": "SLOW", "idempotencyKey": "r"});
    caller.call("chat.send", slow).await.unwrap();
    caller.wait(|event| event["event"] == "agent").await;
    let elsewhere = free_port();
    config(&home, elsewhere, model);
    caller.wait(is_final("r")).await;
    assert_eq!(caller.closed().await.code, 1012);
    gateway.wait_for(&format!("127.0.0.1:{elsewhere}"));
}

#[tokio::test]
async fn whoever_asked_for_a_new_beginning_hears_of_it() {
    let (home, mut gateway) = Gateway::fresh();
    let mut caller = Caller::connected(gateway.port).await;
    let more = json!({"restartDelayMs": 0, "sessionKey": "agent:main:main", "note": "a shorter prefix"});
    patch(&mut caller, json!({"messages": {"responsePrefix": "so:"}}), more).await;
    assert_eq!(caller.closed().await.code, 1012);
    gateway.wait_for("gateway restarting");
    gateway.wait_for("listening on");
    let mut caller = Caller::connected(gateway.port).await;
    assert!(!home.path().join(".openclaw/restart-sentinel.json").exists());
    let hello = json!({"sessionKey": "main", "message": "hello", "idempotencyKey": "h"});
    caller.call("chat.send", hello).await.unwrap();
    caller.wait(is_final("h")).await;
    let transcript = home.transcript(&home.session_id("agent:main:main"));
    let said = std::fs::read_to_string(transcript).unwrap();
    assert!(said.contains("The gateway began anew (config.patch): a shorter prefix"), "{said}");
}

#[test]
fn a_gateway_to_try_things_with_needs_nothing_set_up() {
    let home = Home::empty();
    let port = free_port().to_string();
    let mut command = home.command(&["--dev", "gateway", "run", "--port", &port]);
    let mut gateway = Gateway::run(&mut command, port.parse().unwrap());
    assert!(gateway.get("/healthz").ends_with("ok\n"));
    let told = home.run(&["--dev", "config", "get", "gateway.mode"]);
    assert_eq!(told.out, "local\n");
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.ended(), Some(0));
}

#[test]
fn what_the_reference_understands_is_understood_or_refused() {
    let home = Home::empty();
    let told = home.refusal(&["gateway", "run", "--tailscale", "serve"]);
    assert!(told.contains("sets nothing up with Tailscale"), "{told}");
    let told = home.refusal(&["gateway", "--reset"]);
    assert!(told.contains("deletes nothing by itself"), "{told}");
    let flags =
        ["--tailscale", "off", "--ws-log", "compact", "--compact", "--raw-stream", "--raw-stream-path", "x"];
    let told = home.refusal(&[&["gateway", "run"][..], &flags].concat());
    assert!(told.starts_with("note: --ws-log changes nothing here\n"), "{told}");
    assert!(told.contains("Missing config."), "{told}");
}

#[tokio::test]
async fn pages_tell_that_it_lives_and_nothing_else() {
    let (_home, gateway) = Gateway::fresh();
    assert!(gateway.get("/healthz").ends_with("ok\n"));
    assert!(gateway.get("/readyz").ends_with("ready\n"));
    assert!(gateway.get("/").contains("yabby is running"));
    let figures = gateway.get("/metrics");
    assert!(figures.contains("yabby_clients 0"), "{figures}");
    // Somebody elsewhere has to know the secret.
    let from_elsewhere = |more: &str| {
        gateway.raw_http(&format!(
            "GET /metrics HTTP/1.1\r\nHost: gw.example\r\nConnection: close\r\n{more}\r\n"
        ))
    };
    assert!(from_elsewhere("").starts_with("HTTP/1.1 401"));
    assert!(
        from_elsewhere(&format!("Authorization: Bearer {}\r\n", super::TOKEN)).starts_with("HTTP/1.1 200")
    );
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[test]
fn a_gateway_without_a_secret_or_a_configuration_does_not_start() {
    let home = Home::empty();
    let told = home.refusal(&["gateway", "run"]);
    assert!(told.contains("set gateway.mode=local (or pass --allow-unconfigured)"), "{told}");
    let unsaid = "Gateway auth is set to token, but no token is configured.\nSet gateway.auth.token (or OPENCLAW_GATEWAY_TOKEN), or pass --token.";
    let secret = "Gateway auth is set to password, but no password is configured.\nSet gateway.auth.password (or OPENCLAW_GATEWAY_PASSWORD), or pass --password.";
    let table: [(&[&str], &str); 8] = [
        (&["run", "--allow-unconfigured", "--port", "1"], unsaid),
        (&["--allow-unconfigured", "--port", "1", "--auth", "password"], secret),
        (&["--port", "0"], "Invalid port: 0 (allowed: a whole number from 1 to 65535)"),
        (&["--port", "99999"], "Invalid port: 99999 (allowed: a whole number from 1 to 65535)"),
        (&["--auth", "none"], r#"Invalid --auth (use "token" or "password")"#),
        (&["--tailscale", "on"], r#"Invalid --tailscale (use "off", "serve", or "funnel")"#),
        (&["--ws-log", "long"], r#"Invalid --ws-log (use "auto", "full", "compact")"#),
        (
            &["--allow-unconfigured", "--bind", "moon"],
            r#"Invalid --bind (use "loopback", "lan", "tailnet", "auto", or "custom")"#,
        ),
    ];
    for (flags, expected) in table {
        let told = home.refusal(&[&["gateway"][..], flags].concat());
        let (_, told) = told.split_once(' ').unwrap();
        assert_eq!(told, expected, "{flags:?}");
    }
}

#[tokio::test]
async fn it_encrypts_where_that_is_wanted() {
    let (home, port) = (Home::empty(), free_port());
    config(&home, port, json!({"gateway": {"tls": {"enabled": true}}}));
    let gateway = Gateway::start(&home, port);
    let certificate = home.path().join(".openclaw/gateway/tls/gateway-cert.pem");
    let mut roots = rustls::RootCertStore::empty();
    use rustls::pki_types::pem::PemObject as _;
    roots.add(rustls::pki_types::CertificateDer::from_pem_file(&certificate).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let trusting = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_tungstenite::Connector::Rustls(std::sync::Arc::new(trusting));
    let address = format!("wss://localhost:{port}");
    let (mut socket, _) =
        tokio_tungstenite::connect_async_tls_with_config(address, None, true, Some(connector)).await.unwrap();
    let challenge = futures_util::StreamExt::next(&mut socket).await.unwrap().unwrap();
    assert!(challenge.to_text().unwrap().contains("connect.challenge"));
    // Whoever does not encrypt gets nothing.
    assert!(!gateway.get("/healthz").contains("HTTP"));
    assert_eq!(
        std::fs::metadata(home.path().join(".openclaw/gateway/tls/gateway-key.pem"))
            .unwrap()
            .permissions()
            .mode()
            & 0o077,
        0
    );
}

#[tokio::test]
async fn a_list_tells_what_is_there_now_whoever_put_it_there() {
    let (home, gateway) = Gateway::fresh();
    let mut caller = Caller::connected(gateway.port).await;
    let mut listed = async |params: Value| {
        // What was listed before may be kept, and is what it is.
        let list = caller.call("sessions.list", params.clone()).await.unwrap();
        let again = caller.call("sessions.list", params).await.unwrap();
        assert_eq!((&list["sessions"], &list["defaults"]), (&again["sessions"], &again["defaults"]));
        assert!(list["ts"].as_i64() <= again["ts"].as_i64(), "{list} {again}");
        let rows = list["sessions"].as_array().unwrap().iter();
        let names = rows.map(|row| (row["key"].as_str().unwrap().to_owned(), row["label"].clone()));
        let mut names: Vec<(String, Value)> = names.collect();
        names.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(list["count"], names.len());
        names
    };
    assert_eq!(listed(json!({})).await, []);
    let row = |key: &str, label: Value| (key.to_owned(), label);
    let store = ".openclaw/agents/main/sessions/sessions.json";
    let record = |label: &str| json!({"sessionId": "s", "updatedAt": 1, "label": label});
    home.write(store, &json!({"agent:main:x": record("one")}).to_string());
    assert_eq!(listed(json!({})).await, [row("agent:main:x", json!("one"))]);
    // As long as before.
    home.write(store, &json!({"agent:main:x": record("two")}).to_string());
    assert_eq!(listed(json!({})).await, [row("agent:main:x", json!("two"))]);
    let mut other = Caller::connected(gateway.port).await;
    other.call("sessions.patch", json!({"key": "agent:main:x", "label": "three"})).await.unwrap();
    assert_eq!(listed(json!({})).await, [row("agent:main:x", json!("three"))]);
    assert_eq!(listed(json!({"label": "two"})).await, []);
    // An agent that nobody knew of.
    let theirs = json!({"agent:ann:y": {"sessionId": "t", "updatedAt": 2}}).to_string();
    home.write(".openclaw/agents/ann/sessions/sessions.json", &theirs);
    let both = [row("agent:ann:y", Value::Null), row("agent:main:x", json!("three"))];
    assert_eq!(listed(json!({})).await, both);
    assert_eq!(listed(json!({"agentId": "ann"})).await, both[..1]);
    other.call("sessions.delete", json!({"key": "agent:main:x"})).await.unwrap();
    assert_eq!(listed(json!({})).await, both[..1]);
}

#[tokio::test]
async fn an_agent_that_has_no_place_hides_nobody_else() {
    let (home, port) = (Home::empty(), free_port());
    home.write("taken", "a file");
    home.write("ops/me.png", "a picture");
    let identity = json!({"name": "Ops", "avatar": "me.png"});
    let list = json!([
        {"id": "main"},
        {"id": "lost", "workspace": home.path().join("taken/lost")},
        {"id": "ops", "workspace": home.path().join("ops"), "identity": identity},
        {"id": "torn"},
    ]);
    config(&home, port, json!({"agents": {"list": list}}));
    home.write(".openclaw/agents/torn/sessions/sessions.json", "{torn");
    let _gateway = Gateway::start(&home, port);
    let mut caller = Caller::connected(port).await;
    caller.call("sessions.patch", json!({"key": "agent:main:a", "label": "A"})).await.unwrap();
    for params in [json!({}), json!({"agentId": "main"})] {
        let told = caller.call("sessions.list", params).await.unwrap();
        assert_eq!((&told["count"], &told["sessions"][0]["key"]), (&json!(1), &json!("agent:main:a")));
    }
    for agent in ["lost", "torn"] {
        let refused = caller.call("sessions.list", json!({"agentId": agent})).await.unwrap_err();
        assert!(refused.contains(if agent == "lost" { "taken" } else { "sessions.json" }), "{refused}");
    }
    let status = caller.call("status", json!({})).await.unwrap();
    assert_eq!(status["sessions"]["count"], 1);
    let agents = caller.call("agents.list", json!({})).await.unwrap();
    let ops = agents["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == "ops").unwrap();
    assert_eq!(ops["identity"]["avatarUrl"], "data:image/png;base64,YSBwaWN0dXJl");
}

#[test]
fn a_page_further_down_is_told_where_it_is() {
    let (home, port) = (Home::empty(), free_port());
    config(&home, port, json!({"gateway": {"controlUi": {"basePath": "/oc/"}}}));
    let status = home.run(&["gateway", "status"]).out;
    assert!(status.contains(&format!("http://127.0.0.1:{port}/oc/")), "{status}");
}

#[tokio::test]
async fn a_state_folder_that_is_moved_away_is_not_begun_anew() {
    let (home, mut gateway) = Gateway::fresh();
    let mut caller = Caller::connected(gateway.port).await;
    let say = |key: &str| json!({"sessionKey": "main", "message": "hello", "idempotencyKey": key});
    caller.call("chat.send", say("before")).await.unwrap();
    caller.wait(is_final("before")).await;
    let [folder, away] = [".openclaw", "away"].map(|name| home.path().join(name));
    std::fs::rename(&folder, &away).unwrap();
    gateway.wait_for("until then every request is refused");
    let requests = [
        ("chat.send", say("meanwhile")),
        ("agent", say("meanwhile, too")),
        ("sessions.list", json!({})),
        ("sessions.patch", json!({"key": "agent:main:main", "label": "x"})),
        ("sessions.reset", json!({"key": "main"})),
        ("config.get", json!({})),
    ];
    for (method, params) in &requests {
        let refusal = caller.call(method, params.clone()).await.unwrap_err();
        assert!(refusal.contains("was moved away or replaced while yabby runs: put it back"), "{refusal}");
    }
    assert!(gateway.get("/readyz").contains("503"));
    // Another folder of that name is not it.
    assert!(!folder.exists(), "a new one was begun");
    std::fs::create_dir(&folder).unwrap();
    caller.call("chat.send", say("elsewhere")).await.unwrap_err();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);

    std::fs::remove_dir(&folder).unwrap();
    std::fs::rename(&away, &folder).unwrap();
    gateway.wait_for("the state folder is back");
    caller.call("chat.send", say("after")).await.unwrap();
    caller.wait(is_final("after")).await;
    let said = std::fs::read_to_string(home.transcript(&home.session_id("agent:main:main"))).unwrap();
    assert_eq!(said.matches(r#""role":"user""#).count(), 2, "{said}");
}

#[test]
fn what_killed_processes_left_is_swept_up_at_the_start() {
    let (home, port) = (Home::saying(&[message("1", "user", "hello")]), free_port());
    config(&home, port, json!({}));
    let gone = {
        let mut process = std::process::Command::new("true").spawn().unwrap();
        process.wait().unwrap();
        process.id()
    };
    let uuid = "5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11";
    let draft = |of: &str, pid: u32| format!("{of}.{pid}.{uuid}.tmp");
    let transcript = "agents/main/sessions/11111111-2222-4333-8444-555555555555.jsonl";
    let said = std::fs::read_to_string(home.transcript(MAIN)).unwrap();
    let state = home.path().join(".openclaw");
    let write = |file: &str, text: &str| home.write(&format!(".openclaw/{file}"), text);
    let own = format!("agents/main/sessions/{MAIN}.jsonl");
    let with_lock = format!("{transcript}.lock");
    write(&draft(&own, gone), &said);
    write(&draft(transcript, gone), r#"{"type":"message","words":"nowhere else"}"#);
    write(&draft("devices/paired.json", gone), "{}");
    write(&draft("agents/main/sessions/other.jsonl", std::process::id()), "somebody writes");
    write(&with_lock, &json!({"pid": gone, "createdAt": "2026-02-03T12:00:00.000Z"}).to_string());

    let mut gateway = Gateway::start(&home, port);
    for _ in 0..4 {
        gateway.wait_for("swept up after a process that is gone");
    }
    for file in [draft(&own, gone), draft(transcript, gone), draft("devices/paired.json", gone), with_lock] {
        assert!(!state.join(&file).exists(), "{file} is still there");
    }
    assert!(state.join(draft("agents/main/sessions/other.jsonl", std::process::id())).exists());
    assert_eq!(std::fs::read_to_string(home.transcript(MAIN)).unwrap(), said);
    let kept = home.files().into_iter().find(|file| file.contains("set-aside")).unwrap();
    assert!(kept.contains("11111111-2222"), "{kept}");
}

//! Commands that talk to a gateway: a real one, and one that behaves badly.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use yabby_gateway::self_signed;

use super::{Gateway, TOKEN, config, free_port};
use crate::home::Home;

const ASK: [&str; 4] = ["agent", "--agent", "main", "-m"];
/// How long something that goes on elsewhere may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A home whose gateway listens on this port.
fn home_on(port: u16) -> Home {
    let home = Home::empty();
    let log = home.path().join("gateway.log");
    config(&home, port, json!({"logging": {"file": log}}));
    home
}

/// A gateway on a home of its own.
struct Running {
    home: Home,
    gateway: Gateway,
}

impl Running {
    fn start() -> Self {
        let port = free_port();
        let home = home_on(port);
        let gateway = Gateway::start(&home, port);
        Self { home, gateway }
    }

    fn has_ended(&mut self) -> bool {
        self.gateway.child.try_wait().unwrap().is_some()
    }
}

/// When a gateway that behaves badly goes away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaves {
    BeforeItAnswers,
    AfterItAccepted,
    AfterItRefused,
}

/// A gateway that goes away in the middle of a run; how often it was told something to an agent.
fn badly_behaved(leaves: Leaves) -> (Home, std::thread::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = home_on(listener.local_addr().unwrap().port());
    listener.set_nonblocking(true).unwrap();
    let serving = async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        let mut asked = 0;
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else { continue };
            let frame: Value = serde_json::from_str(&text).unwrap();
            let mut answer = json!({"type": "res", "id": frame["id"], "ok": true});
            if frame["method"] == "connect" {
                answer["payload"] = json!({"type": "hello-ok", "protocol": 3});
            } else {
                asked += 1;
                match leaves {
                    Leaves::BeforeItAnswers => break,
                    Leaves::AfterItAccepted => {
                        answer["payload"] =
                            json!({"runId": frame["params"]["idempotencyKey"], "status": "accepted"});
                    }
                    Leaves::AfterItRefused => {
                        answer["ok"] = false.into();
                        answer["error"] = json!({"code": "INVALID_REQUEST", "message": "not today"});
                    }
                }
            }
            socket.send(Message::text(answer.to_string())).await.unwrap();
            if asked > 0 {
                break;
            }
        }
        asked
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    (home, std::thread::spawn(move || runtime.block_on(serving)))
}

#[test]
fn a_message_is_answered_through_the_gateway() {
    let running = Running::start();
    let answer = running.home.out(&[&ASK[..], &["hello"]].concat());
    assert!(answer.starts_with("Hello!"), "{answer}");
    let told: Value =
        serde_json::from_str(&running.home.out(&[&ASK[..], &["hello again", "--json"]].concat())).unwrap();
    assert_eq!((&told["status"], &told["summary"]), (&json!("ok"), &json!("completed")));
    assert!(told["result"]["payloads"][0]["text"].is_string(), "{told}");
    let history = running.home.out(&["history", "main"]);
    assert!(history.contains("hello again"), "{history}");
}

#[test]
fn what_a_gateway_took_is_not_said_again_here() {
    for (leaves, told) in [
        (Leaves::AfterItAccepted, "the message is on record, and goes on there"),
        (Leaves::BeforeItAnswers, "before it said whether it took the message"),
    ] {
        let (home, serving) = badly_behaved(leaves);
        let refusal = home.refusal(&[&ASK[..], &["hello"]].concat());
        assert!(
            refusal.starts_with("Error: the connection to the gateway") && refusal.contains(told),
            "{refusal}"
        );
        assert_eq!(serving.join().unwrap(), 1);
        assert_eq!(home.json(&["sessions"])["count"], 0, "it was said here, too");
    }
}

#[test]
fn what_a_gateway_did_not_take_is_said_here() {
    let (home, serving) = badly_behaved(Leaves::AfterItRefused);
    let told = home.run(&[&ASK[..], &["hello"]].concat());
    assert_eq!((told.code, serving.join().unwrap()), (0, 1));
    assert!(told.out.starts_with("Hello!"), "{told:?}");
    assert_eq!(told.err, "Gateway agent failed; falling back to embedded: Error: not today\n");
    let home = home_on(free_port());
    let told = home.run(&[&ASK[..], &["hello"]].concat());
    assert!(told.out.starts_with("Hello!"), "{told:?}");
    assert!(
        told.err.starts_with("Gateway agent failed; falling back to embedded: Error: gateway closed (1006"),
        "{told:?}"
    );
}

#[test]
fn another_folders_gateway_is_not_told_what_is_said_here() {
    let running = Running::start();
    let home = home_on(running.gateway.port);
    let told = home.run(&[&ASK[..], &["hello"]].concat());
    assert!(told.out.starts_with("Hello!"), "{told:?}");
    assert!(told.err.contains("works on another folder"), "{told:?}");
    assert_eq!(running.home.json(&["sessions"])["count"], 0);
}

#[test]
fn stop_ends_a_gateway_that_was_started_by_hand() {
    let mut running = Running::start();
    let pid = running.gateway.child.id();
    assert_eq!(running.home.out(&["gateway", "stop", "--dry-run"]), format!("kill -TERM {pid}\n"));
    assert!(!running.has_ended());
    assert_eq!(running.home.out(&["gateway", "stop"]), format!("Stopped the gateway (pid {pid}).\n"));
    let begun = Instant::now();
    while !running.has_ended() {
        assert!(begun.elapsed() < PATIENCE, "it did not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(running.home.json(&["gateway", "stop"])["result"], "not-running");
    let refusal = running.home.refusal(&["gateway", "restart"]);
    assert!(refusal.starts_with("Error: no gateway runs on ~/.openclaw"), "{refusal}");
}

#[test]
fn status_tells_whether_the_gateway_answers() {
    let running = Running::start();
    let told = running.home.json(&["status"]);
    assert_eq!((&told["gateway"]["reachable"], &told["gateway"]["error"]), (&json!(true), &Value::Null));
    assert_eq!(running.home.json(&["gateway", "status"])["rpc"]["ok"], true);
    assert!(running.home.out(&["status", "--deep"]).contains("Health"));
    assert!(running.home.out(&["status", "--all"]).contains("Pasteable debug report."));
    let home = home_on(free_port());
    let told = home.json(&["status"]);
    assert_eq!(told["gateway"]["reachable"], false);
    assert!(
        told["gateway"]["error"]
            .as_str()
            .unwrap()
            .starts_with("connect failed: connect ECONNREFUSED 127.0.0.1:"),
        "{told}"
    );
    assert_eq!(home.json(&["gateway", "status", "--no-probe"]).get("rpc"), None);
    let refusal = home.refusal(&["health", "--timeout", "never"]);
    assert_eq!(refusal, "--timeout must be a positive integer (milliseconds)");
}

#[test]
fn logs_follow_what_is_written_later() {
    let running = Running::start();
    let lines = running.home.out(&["logs", "--json", "--limit", "5"]);
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["type"], "meta");
    let mut command = running.home.command(&["logs", "--follow", "--plain", "--interval", "50"]);
    let mut following = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(following.stdout.take().unwrap()).lines();
    assert!(told.next().unwrap().unwrap().starts_with("Log file: "));
    let line =
        json!({"0": "written later", "_meta": {"logLevelName": "WARN"}, "time": "2026-02-03T12:00:00.000Z"});
    let mut log =
        std::fs::OpenOptions::new().append(true).open(running.home.path().join("gateway.log")).unwrap();
    writeln!(log, "{line}").unwrap();
    let found = told.map(Result::unwrap).find(|line| line.ends_with("written later"));
    assert_eq!(found.as_deref(), Some("2026-02-03T12:00:00.000Z warn written later"));
    following.kill().unwrap();
    following.wait().unwrap();
}

#[test]
fn a_log_is_followed_beyond_a_new_beginning() {
    let running = Running::start();
    let mut command = running.home.command(&["logs", "--follow", "--plain", "--interval", "50"]);
    let mut following = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut told = BufReader::new(following.stdout.take().unwrap()).lines();
    assert!(told.next().unwrap().unwrap().starts_with("Log file: "));
    running.gateway.signal(rustix::process::Signal::USR1);
    let mut told = told.map(Result::unwrap);
    assert!(told.any(|line| line.ends_with("gateway restarting")));
    assert!(told.any(|line| line.contains("listening on ws://")));
    following.kill().unwrap();
    following.wait().unwrap();
}

#[test]
fn an_invalid_configuration_does_not_hide_how_things_are() {
    let running = Running::start();
    let log = running.home.path().join("gateway.log");
    let more = json!({"logging": {"file": log}, "nonsense": 1});
    config(&running.home, running.gateway.port, more);
    for command in [
        &["health", "--json"][..],
        &["status", "--json"],
        &["logs", "--limit", "3"],
        &["gateway", "status", "--json"],
        &["gateway", "probe", "--json"],
        &["gateway", "call", "health"],
    ] {
        let told = running.home.run(command);
        assert_eq!(told.code, 0, "{command:?}: {told:?}");
        assert_eq!(told.err.matches("Config invalid").count(), 1, "{command:?}: {told:?}");
        assert!(!told.out.is_empty(), "{command:?}");
    }
    let told = running.home.refusal(&["sessions"]);
    assert!(told.contains("Config invalid"), "{told}");
}

#[test]
fn a_level_is_set_however_the_session_is_named() {
    let running = Running::start();
    let id = "5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11";
    let level = |key: &str| {
        let listed = running.home.json(&["sessions"]);
        let row = listed["sessions"].as_array().unwrap().iter().find(|row| row["key"] == key).cloned();
        row.unwrap_or_default()["verboseLevel"].clone()
    };
    let until = |key: &str, expected: &str| {
        let begun = Instant::now();
        while level(key) != expected {
            assert!(begun.elapsed() < PATIENCE, "{key}: {}", level(key));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let key = format!("agent:main:{id}");
    running.home.out(&["agent", "--session-id", id, "-m", "hello", "--verbose", "on"]);
    until(&key, "on");
    running.home.out(&["agent", "--session-id", id, "-m", "hello", "--verbose", "full"]);
    until(&key, "full");
    running.home.out(&["agent", "--to", "+15550001", "-m", "hello", "--verbose", "on"]);
    until("agent:main:main", "on");
}

#[test]
fn an_event_is_heard_of_with_the_next_message() {
    let running = Running::start();
    assert_eq!(running.home.out(&["system", "event", "--text", "The door bell rings"]), "ok\n");
    let told = running.home.run(&["system", "event", "--text", "The door is open", "--mode", "now"]);
    assert_eq!((told.code, told.out.as_str()), (0, "ok\n"));
    assert!(told.err.contains("with the next message"), "{told:?}");
    running.home.out(&[&ASK[..], &["hello"]].concat());
    let transcript = running.home.transcript(&running.home.session_id("agent:main:main"));
    let said = std::fs::read_to_string(transcript).unwrap();
    assert!(said.contains("The door bell rings") && said.contains("The door is open"), "{said}");
    assert!(running.home.refusal(&["system", "heartbeat", "enable"]).contains("no heartbeat"));
}

#[test]
fn a_certificate_for_a_name_is_known_by_its_bytes() {
    let (home, port) = (Home::empty(), free_port());
    let made = self_signed(vec!["gateway.example".to_owned()]).unwrap();
    home.write("cert.pem", &made.certificate);
    home.write("key.pem", &made.key);
    let tls = json!({"enabled": true, "certPath": home.path().join("cert.pem"), "keyPath": home.path().join("key.pem")});
    config(&home, port, json!({"gateway": {"tls": tls}}));
    let _gateway = Gateway::start(&home, port);
    assert_eq!(home.json(&["gateway", "call", "health"])["ok"], true);
    let status = home.run(&["gateway", "status"]).out;
    assert!(status.contains(&format!("Dashboard: https://127.0.0.1:{port}/")), "{status}");
    let other = self_signed(vec!["gateway.example".to_owned()]).unwrap();
    home.write("cert.pem", &other.certificate);
    assert!(home.refusal(&["health"]).starts_with("Error: gateway closed (1006"));
}

#[test]
fn somebody_elses_port_is_not_taken_for_the_gateways() {
    let mut running = Running::start();
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = elsewhere.local_addr().unwrap().port();
    config(&running.home, port, json!({"gateway": {"reload": {"mode": "off"}}}));
    let told = running.home.json(&["gateway", "status", "--no-probe"]);
    assert_eq!((&told["port"]["status"], &told["port"]["listeners"]), (&json!("busy"), &json!([])));
    let told = running.home.run(&["gateway", "status", "--no-probe"]).err;
    let pid = running.gateway.child.id();
    assert!(told.contains(&format!("A gateway runs (pid {pid}), on another port.")), "{told}");
    assert!(!running.has_ended());
}

#[test]
fn media_can_be_sent_without_a_word() {
    let running = Running::start();
    let send = [
        "message",
        "send",
        "--channel",
        "webchat",
        "-t",
        "agent:main:main",
        "--media",
        "https://x.example/a.png",
    ];
    running.home.out(&[&ASK[..], &["hello"]].concat());
    running.home.out(&send);
    let transcript = running.home.transcript(&running.home.session_id("agent:main:main"));
    let said = std::fs::read_to_string(transcript).unwrap();
    assert!(said.contains("\"MEDIA:https://x.example/a.png\""), "{said}");
}

#[test]
fn another_folders_service_is_left_alone() {
    let mut running = Running::start();
    let unit = "[Service]\nExecStart=/usr/bin/yabby --state-dir /srv/other gateway run\n";
    running.home.write(".config/systemd/user/yabby-gateway.service", unit);
    let told = running.home.json(&["gateway", "status", "--no-probe"]);
    let name = told["service"]["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("yabby-gateway-openclaw-"), "{told}");
    let pid = running.gateway.child.id();
    assert_eq!(running.home.out(&["gateway", "stop", "--dry-run"]), format!("kill -TERM {pid}\n"));
    assert!(running.home.refusal(&["gateway", "start"]).starts_with("Error: no service is installed"));
    let told = running.home.out(&["gateway", "install", "--dry-run"]);
    assert!(
        told.contains(&format!("/{name}\n")) && told.contains("\nEnvironment=\"YABBY_CONFIG_PATH="),
        "{told}"
    );
    assert!(!running.has_ended());
}

#[test]
fn a_gateway_that_encrypts_is_known_by_its_certificate() {
    let (home, port) = (Home::empty(), free_port());
    config(&home, port, json!({"gateway": {"tls": {"enabled": true}}}));
    let _gateway = Gateway::start(&home, port);
    assert_eq!(home.json(&["gateway", "call", "health"])["ok"], true);
    // Another one has another certificate.
    let other = Home::empty();
    config(&other, free_port(), json!({"gateway": {"tls": {"enabled": true}}}));
    drop(Gateway::start(&other, port_of(&other)));
    config(&other, port, json!({"gateway": {"tls": {"enabled": true}}}));
    let refused = other.refusal(&["health"]);
    assert!(
        refused.starts_with("Error: gateway closed (1006") && refused.contains("invalid peer certificate"),
        "{refused}"
    );
    // By its address it is the same one.
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("wss://{host}:{port}/");
        assert_eq!(home.json(&["gateway", "call", "health", "--token", TOKEN, "--url", &url])["ok"], true);
    }
    // Elsewhere it is known by its fingerprint, and by nothing else.
    use rustls::pki_types::pem::PemObject as _;
    use sha2::Digest as _;
    let certificate = home.path().join(".openclaw/gateway/tls/gateway-cert.pem");
    let certificate = rustls::pki_types::CertificateDer::from_pem_file(&certificate).unwrap();
    let bytes = sha2::Sha256::digest(&certificate);
    let right = bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":");
    let log = std::fs::read_to_string(home.path().join(".openclaw/logs/yabby.log")).unwrap();
    assert!(log.contains(&right.replace(':', "").to_lowercase()), "the log tells it");
    let elsewhere = Home::empty();
    let remote = |fingerprint: Value, scheme: &str| {
        let url = format!("{scheme}://127.0.0.1:{port}");
        let remote = json!({"url": url, "token": TOKEN, "tlsFingerprint": fingerprint});
        let config = json!({"gateway": {"mode": "remote", "remote": remote}});
        elsewhere.write(".openclaw/openclaw.json", &config.to_string());
    };
    remote(right.clone().into(), "wss");
    assert_eq!(elsewhere.json(&["gateway", "call", "health"])["ok"], true);
    for (fingerprint, scheme, why) in [
        ("AA:BB", "wss", "gateway tls fingerprint mismatch"),
        (right.as_str(), "ws", "gateway tls fingerprint requires wss:// gateway url"),
    ] {
        remote(fingerprint.into(), scheme);
        let refused = elsewhere.refusal(&["health"]);
        assert!(refused.contains(why), "{refused}");
    }
}

/// Where the gateway of a home listens.
fn port_of(home: &Home) -> u16 {
    let text = std::fs::read_to_string(home.path().join(".openclaw/openclaw.json")).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    u16::try_from(config["gateway"]["port"].as_u64().unwrap()).unwrap()
}

#[test]
fn a_token_on_the_command_line_is_used() {
    let running = Running::start();
    let url = format!("ws://127.0.0.1:{}", running.gateway.port);
    let elsewhere = Home::empty();
    let call = ["gateway", "call", "health", "--json", "--url", &url];
    let right = [&call[..], &["--token", TOKEN]].concat();
    assert_eq!(serde_json::from_str::<Value>(&elsewhere.out(&right)).unwrap()["ok"], true);
    let refusal = elsewhere.refusal(&[&call[..], &["--token", "nope"]].concat());
    assert!(refusal.contains("unauthorized") && refusal.contains("Source: cli --url"), "{refusal}");
    let refusal = elsewhere.refusal(&call);
    assert!(
        refusal.starts_with("Gateway call failed: Error: gateway url override requires explicit credentials"),
        "{refusal}"
    );
    // Whether somebody is there may be asked without one, and the address of the page will do.
    let probed = elsewhere.run(&["gateway", "probe", "--json", "--url", &url]);
    let probed: Value = serde_json::from_str(&probed.out).unwrap();
    assert_eq!(probed["targets"][0]["url"], url);
    let page = format!("http://127.0.0.1:{}", running.gateway.port);
    let call = ["gateway", "call", "health", "--json", "--url", &page, "--token", TOKEN];
    assert_eq!(serde_json::from_str::<Value>(&elsewhere.out(&call)).unwrap()["ok"], true);
}

#[test]
fn a_port_that_is_taken_is_told_with_who_has_it() {
    let running = Running::start();
    let other = Home::empty();
    config(&other, running.gateway.port, json!({}));
    let refused = other.refusal(&["gateway", "run", "--force"]);
    let (_, refused) = refused.split_once(' ').unwrap();
    let (port, pid) = (running.gateway.port, running.gateway.pid());
    let expected = format!(
        "Gateway failed to start: another process listens on 127.0.0.1:{port}\nPort {port} is already in use.\n- pid {pid}: "
    );
    assert!(refused.starts_with(&expected) && refused.contains("gateway.port"), "{refused}");
    let mut running = running;
    assert!(!running.has_ended());
}

#[test]
fn numbers_that_are_none_are_refused() {
    let running = Running::start();
    for (words, told) in [
        (["logs", "--limit", "x"].as_slice(), "--limit must be a positive integer"),
        (&["logs", "--max-bytes", "0"], "--max-bytes must be a positive integer"),
        (&["logs", "--follow", "--interval", "soon"], "--interval must be a positive integer"),
        (&["gateway", "usage-cost", "--days", "x"], "--days must be a positive integer"),
    ] {
        assert_eq!(running.home.refusal(words), told, "{words:?}");
    }
}

#[test]
fn a_gateway_that_listens_only_elsewhere_is_asked_over_ssh() {
    let running = Running::start();
    let port = running.gateway.port;
    let elsewhere = Home::empty();
    let config = json!({"gateway": {"mode": "remote", "port": port, "remote": {"token": TOKEN}}});
    elsewhere.write(".openclaw/openclaw.json", &config.to_string());
    // It writes down what it is told, and stays; whoever reads that carries the port over.
    let asked = elsewhere.path().join("asked");
    elsewhere.write_program(
        "bin/ssh",
        &format!("#!/bin/sh\necho \"$@\" > {0}.draft\nmv {0}.draft {0}\nexec sleep 60\n", asked.display()),
    );
    let probe = |arguments: &[&str]| {
        let mut command = elsewhere.command(&[&["gateway", "probe", "--json"], arguments].concat());
        command.env("PATH", format!("{}:/usr/bin:/bin", elsewhere.path().join("bin").display()));
        let output = command.output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), told)
    };
    let words = std::thread::spawn(move || {
        let begun = std::time::Instant::now();
        let words = loop {
            match std::fs::read_to_string(&asked) {
                Ok(words) => break words,
                Err(_) => assert!(begun.elapsed() < std::time::Duration::from_secs(20)),
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        };
        let way = words.split(' ').find(|word| word.starts_with("127.0.0.1:")).unwrap();
        let ports: Vec<u16> = way.split(':').filter_map(|part| part.parse().ok()).collect();
        carry_over(ports[0], ports[1]);
        words
    });
    let (code, told) = probe(&["--ssh", "sam@den:2222", "--ssh-identity", "key", "--timeout", "20000"]);
    let words = words.join().unwrap();
    assert!(words.ends_with("-p 2222 -i key -- sam@den\n"), "{words}");
    let target = &told["targets"][0];
    assert_eq!(
        (code, &told["primaryTargetId"], &target["connect"]["ok"]),
        (Some(0), &json!("sshTunnel"), &json!(true)),
        "{told}"
    );
    let tunnel = &target["tunnel"];
    assert_eq!(
        (&tunnel["kind"], &tunnel["target"], &tunnel["remotePort"]),
        (&json!("ssh"), &json!("sam@den:2222"), &json!(port))
    );
    // The way is closed with the command.
    let pid = tunnel["pid"].as_u64().unwrap();
    let is_gone =
        || std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "));
    let begun = std::time::Instant::now();
    while !is_gone() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "ssh still runs");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }

    elsewhere.write_program("bin/ssh", "#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n");
    let (_, told) = probe(&["--ssh", "den"]);
    let failed = "SSH tunnel failed: ssh ended (exit status: 255); Permission denied (publickey).";
    assert_eq!(told["warnings"][0], json!({"code": "ssh_tunnel_failed", "message": failed}));
    for (arguments, why) in [
        (["--ssh", "-oProxyCommand=x"].as_slice(), "invalid SSH target"),
        (&["--ssh-auto"], "not looked for yet"),
    ] {
        let (_, told) = probe(arguments);
        let message = told["warnings"][0]["message"].as_str().unwrap();
        assert!(message.contains(why), "{message}");
    }
}

/// Carries what comes to one port of this machine over to another one, as long as the test runs.
fn carry_over(from: u16, to: u16) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", from)).unwrap();
    std::thread::spawn(move || {
        for here in listener.incoming().flatten() {
            let there = std::net::TcpStream::connect(("127.0.0.1", to)).unwrap();
            for (mut source, mut sink) in
                [(here.try_clone().unwrap(), there.try_clone().unwrap()), (there, here)]
            {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut source, &mut sink);
                    let _ = sink.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
}

#[test]
fn a_gateway_that_is_elsewhere_has_an_address() {
    let home = Home::empty();
    home.write(".openclaw/openclaw.json", r#"{"gateway": {"mode": "remote", "port": 1}}"#);
    let file = home.path().join(".openclaw/openclaw.json");
    let missing = format!(
        "gateway remote mode misconfigured: gateway.remote.url missing\nConfig: {}\nFix: set gateway.remote.url, or set gateway.mode=local.",
        file.display()
    );
    assert_eq!(home.refusal(&["devices", "list"]), format!("Error: {missing}"));
    let rotate = ["devices", "rotate", "--role", "operator", "--device", ""];
    assert_eq!(home.refusal(&rotate), "--device and --role required");
    assert_eq!(home.refusal(&["devices", "approve"]), "error: missing required argument 'requestId'");
    let told: Value = serde_json::from_str(&home.refusal(&["logs", "--json"])).unwrap();
    assert_eq!(told["error"], missing);
    let details = &told["details"];
    assert_eq!(details["urlSource"], "missing gateway.remote.url (fallback local)");
    assert_eq!(details["bindDetail"], "Bind: loopback");
    let note = details["remoteFallbackNote"].as_str().unwrap();
    assert!(note.starts_with("Warn: gateway.mode=remote but gateway.remote.url is missing"), "{note}");
    assert!(details["message"].as_str().unwrap().ends_with(note), "{details}");
    let gateway = &home.json(&["status"])["gateway"];
    assert_eq!((&gateway["misconfigured"], &gateway["error"]), (&json!(true), &Value::Null), "{gateway}");
}

#[test]
fn what_is_wrong_with_the_configuration_is_told_with_the_service() {
    let home = Home::empty();
    home.write(".openclaw/openclaw.json", r#"{"gateway": {"port": "x"}, "foo": 1}"#);
    let told = home.run(&["gateway", "status", "--no-probe", "--json"]);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    let issues = json!([
        {"path": "gateway.port", "message": "Invalid input: expected number, received string"},
        {"path": "", "message": "Unrecognized key: \"foo\""},
    ]);
    for reader in ["cli", "daemon"] {
        assert_eq!(told["config"][reader]["valid"], false);
        assert_eq!(told["config"][reader]["issues"], issues);
    }
    let told = home.run(&["gateway", "status", "--no-probe"]);
    assert!(told.out.contains("\nConfig (cli): ~/.openclaw/openclaw.json (invalid)\n"), "{}", told.out);
    assert!(told.err.contains("\nConfig issue: <root>: Unrecognized key: \"foo\"\n"), "{}", told.err);
    for list in [&["hooks"][..], &["hooks", "list"], &["plugins", "list", "--json"]] {
        assert!(home.refusal(list).contains("Config invalid"), "{list:?}");
    }
}

#[test]
fn a_message_can_be_put_into_a_conversation() {
    let running = Running::start();
    running.home.out(&[&ASK[..], &["hello"]].concat());
    let send =
        ["message", "send", "--channel", "webchat", "-t", "agent:main:main", "-m", "The backup is done"];
    let told = running.home.json(&send);
    assert_eq!((&told["dryRun"], &told["payload"]["via"]), (&json!(false), &json!("gateway")));
    assert!(running.home.out(&["history", "main"]).contains("The backup is done"));
}

#[test]
fn whoever_a_message_is_for_is_named_as_the_channel_does() {
    let home = Home::empty();
    home.write(".openclaw/openclaw.json", r#"{"channels": {"telegram": {"botToken": "1:x"}}}"#);
    fn send<'w>(words: &[&'w str]) -> Vec<&'w str> {
        [&["message", "send", "--dry-run"][..], words].concat()
    }
    let table = [
        ("123456", "telegram:123456"),
        // A group, and no option.
        ("-1001234567", "telegram:-1001234567"),
        ("@Some_One", "telegram:@some_one"),
        ("tg:5", "telegram:5"),
    ];
    for (target, to) in table {
        let told = home.json(&send(&["-t", target, "-m", "- one\n- two"]));
        assert_eq!(told["payload"]["to"], to);
        assert!(told["payload"].get("mediaUrls").is_none(), "{told}");
    }
    let told = home.json(&send(&["-t", "@x", "--media", "/a.png"]));
    assert_eq!(told["payload"]["mediaUrls"], json!(["/a.png"]));
    let table: [(&[&str], &str); 6] = [
        (&["-m", "x"], "error: required option '-t, --target <dest>' not specified"),
        (&["-t", " ", "-m", "x"], "Error: Action send requires a target."),
        (&["-t", "12", "-m", "x"], "Error: Unknown target \"12\" for Telegram. Hint: <chatId>"),
        (&["-t", "@x"], "Error: message required"),
        (&["-t", "@x", "-m", "x", "--buttons", "{"], "Error: --buttons must be valid JSON"),
        (&["-t", "@x", "-m", "x", "--card", "["], "Error: --card must be valid JSON"),
    ];
    for (words, told) in table {
        assert_eq!(home.refusal(&send(words)), told, "{words:?}");
    }
}

#[test]
fn a_service_is_shown_before_it_is_installed() {
    let home = home_on(free_port());
    let told = home.out(&["gateway", "install", "--dry-run", "--port", "18790"]);
    let unit = home.path().join(".config/systemd/user/yabby-gateway.service");
    assert!(told.starts_with(&format!("# {}\n[Unit]\n", unit.display())), "{told}");
    assert!(told.contains("gateway run --port 18790\n"), "{told}");
    assert!(told.ends_with("systemctl --user restart yabby-gateway.service\n"), "{told}");
    assert!(!unit.exists());
    let planned = home.json(&["gateway", "uninstall", "--dry-run"]);
    assert_eq!(planned["commands"], json!(["systemctl --user disable --now yabby-gateway.service"]));
    let refusal = home.refusal(&["gateway", "start"]);
    assert!(refusal.starts_with("Error: no service is installed"), "{refusal}");
    let refused = home.run(&["gateway", "start", "--json"]);
    let told: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!((refused.code, refused.err.as_str()), (1, ""));
    assert_eq!((&told["action"], &told["ok"]), (&json!("start"), &json!(false)));
    assert!(told["error"].as_str().unwrap().starts_with("no service is installed"), "{told}");
    assert_eq!(home.refusal(&["gateway", "install", "--port", "x"]), "Invalid port");
    let odd = ["gateway", "install", "--runtime", "deno"];
    assert_eq!(home.refusal(&odd), "Invalid --runtime (use \"node\" or \"bun\")");
}

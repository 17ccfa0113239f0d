//! What strangers and broken programs do: nothing gets in, memory stays bounded, others are served meanwhile.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Caller, Closed, Device, Gateway, TOKEN, hello, now};

/// Whether somebody else is served, and soon.
async fn is_served(gateway: &Gateway) {
    let begun = Instant::now();
    Caller::connected(gateway.port).await.call("health", json!({})).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn frames_that_are_none_end_a_handshake_and_no_conversation() {
    let (_home, gateway) = Gateway::fresh();
    for (text, code) in
        [("not json", 1000), ("{}", 1008), ("[]", 1008), ("\"x\"", 1008), (r#"{"type":"req"}"#, 1008)]
    {
        let mut caller = Caller::open(gateway.port, &[]).await;
        caller.send(text).await;
        assert_eq!(caller.closed().await.code, code, "{text}");
    }
    let mut caller = Caller::connected(gateway.port).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for text in ["not json", "{}", "[]", "7", &deep, "\u{0}", r#"{"type":"req","id":{"a":[]},"method":7}"#] {
        caller.send(text).await;
    }
    caller.call("health", json!({})).await.unwrap();
    is_served(&gateway).await;
}

#[tokio::test]
async fn a_frame_that_is_too_long_ends_its_connection_and_nothing_else() {
    let (_home, gateway) = Gateway::fresh();
    let before = gateway.resident_kb();
    for _ in 0..20 {
        let mut caller = Caller::connected(gateway.port).await;
        caller.send(format!("{{\"pad\":\"{}\"}}", "x".repeat(4 * 1024 * 1024))).await;
        assert_eq!(caller.closed().await.code, 1009);
    }
    is_served(&gateway).await;
    let grown = gateway.resident_kb().saturating_sub(before);
    assert!(grown < 32 * 1024, "{grown} kB more than before");
}

#[tokio::test]
async fn idle_sockets_keep_nobody_out() {
    let (_home, gateway) = Gateway::fresh();
    is_served(&gateway).await;
    let before = gateway.resident_kb();
    // The whole number is for whoever asks for it: not every machine may open so many.
    let count: usize =
        std::env::var("YABBY_IDLE_SOCKETS").ok().and_then(|count| count.parse().ok()).unwrap_or(400);
    let takes_at_most = |sockets: usize, kb_each: u64| {
        let grown = gateway.resident_kb().saturating_sub(before);
        assert!(
            grown < 8 * 1024 + sockets as u64 * kb_each,
            "{sockets} sockets, and {grown} kB more than before"
        );
    };
    let idle: Vec<TcpStream> =
        (0..count).map(|_| TcpStream::connect(("127.0.0.1", gateway.port)).unwrap()).collect();
    is_served(&gateway).await;
    takes_at_most(count, 2);
    let mut silent = Vec::new();
    for _ in 0..count {
        silent.push(Caller::open(gateway.port, &[]).await);
    }
    is_served(&gateway).await;
    takes_at_most(2 * count, 8);
    // Whoever says nothing is let go.
    for mut stream in idle {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap_or(0), 0);
    }
    for mut caller in silent {
        assert_eq!(caller.closed().await, Closed { code: 1000, reason: String::new() });
    }
}

#[tokio::test]
async fn wrong_tokens_at_speed_get_nobody_in() {
    let (_home, gateway) = Gateway::fresh();
    for attempt in 0..200 {
        let mut caller = Caller::open(gateway.port, &[]).await;
        let guess = hello(json!({"token": format!("guess-{attempt}")}));
        let refused = caller.call("connect", guess).await.unwrap_err();
        assert!(refused.starts_with("unauthorized: gateway token mismatch"), "{refused}");
        assert_eq!(caller.closed().await.code, 1008);
    }
    is_served(&gateway).await;
}

#[tokio::test]
async fn a_signature_counts_once_and_for_what_was_signed() {
    let (_home, gateway) = Gateway::fresh();
    let device = Device::new(7);
    let asking = hello(json!({"token": TOKEN}));
    let mut first = Caller::open(gateway.port, &[]).await;
    let signed = device.sign(&asking, &first.nonce, now());
    let with = |signed: serde_json::Value| {
        let mut asking = asking.clone();
        asking["device"] = signed;
        asking
    };
    let welcome = first.call("connect", with(signed.clone())).await.unwrap();
    let token = welcome["auth"]["deviceToken"].as_str().unwrap().to_owned();
    // What somebody overheard is worth nothing on another connection.
    let mut second = Caller::open(gateway.port, &[]).await;
    assert_eq!(second.call("connect", with(signed)).await.unwrap_err(), "device nonce mismatch");
    // Nor for more than was signed.
    let mut third = Caller::open(gateway.port, &[]).await;
    let mut more = with(device.sign(&asking, &third.nonce, now()));
    more["scopes"] = json!(["operator.admin", "operator.pairing"]);
    assert_eq!(third.call("connect", more).await.unwrap_err(), "device signature invalid");
    // The token of a device is of no use to another one.
    let mut fourth = Caller::open(gateway.port, &[]).await;
    let mut stolen = hello(json!({"token": token}));
    stolen["device"] = Device::new(8).sign(&stolen, &fourth.nonce, now());
    let refused = fourth.call("connect", stolen).await.unwrap_err();
    assert!(refused.starts_with("unauthorized"), "{refused}");
    // Nor without one.
    let mut fifth = Caller::open(gateway.port, &[]).await;
    let refused = fifth.call("connect", hello(json!({"token": token}))).await.unwrap_err();
    assert!(refused.starts_with("unauthorized"), "{refused}");
}

#[tokio::test]
async fn pages_of_other_sites_do_not_connect() {
    let (_home, gateway) = Gateway::fresh();
    let page = |mut asking: serde_json::Value| {
        asking["client"]["id"] = "webchat-ui".into();
        asking["client"]["mode"] = "webchat".into();
        asking
    };
    for origin in ["https://evil.example", "null", "http://127.0.0.1.evil.example", "file://"] {
        let mut caller = Caller::open(gateway.port, &[("origin", origin)]).await;
        let refused = caller.call("connect", page(hello(json!({"token": TOKEN})))).await.unwrap_err();
        assert!(refused.starts_with("origin not allowed"), "{origin}: {refused}");
    }
}

#[test]
fn nothing_is_found_by_tricks_with_paths() {
    let (home, gateway) = Gateway::fresh();
    home.write("secret.txt", "hidden words");
    for path in [
        "/../openclaw.json",
        "/%2e%2e/openclaw.json",
        "/..%2fopenclaw.json",
        "/assets/../../openclaw.json",
        "//etc/passwd",
        "/avatar/..%2f..%2fopenclaw.json",
        "/avatar/main%00",
        "/%",
        "/?x=../../openclaw.json",
        "/.openclaw/openclaw.json",
    ] {
        let answer = gateway.get(path);
        assert!(!answer.contains(TOKEN) && !answer.contains("root:"), "{path}: {answer}");
        assert!(answer.starts_with("HTTP/1.1 "), "{path}: {answer}");
    }
}

#[tokio::test]
async fn requests_are_not_smuggled_behind_others() {
    let (_home, gateway) = Gateway::fresh();
    let host = format!("Host: 127.0.0.1:{}\r\n", gateway.port);
    let refused = [
        format!(
            "POST / HTTP/1.1\r\n{host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n{host}\r\n"
        ),
        format!("POST / HTTP/1.1\r\n{host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nGET /m"),
        format!("GET / HTTP/1.1\r\n{host}Transfer-Encoding : chunked\r\n\r\n"),
        "GET / HTTP/1.1\nHost: x\n\n\0".to_owned(),
        format!("GET / HTTP/9.9\r\n{host}\r\n"),
        format!("GET / HTTP/1.1\r\n{host}X: {}\r\n\r\n", "y".repeat(200_000)),
        format!("GET / HTTP/1.1\r\n{host}{}\r\n", "X: y\r\n".repeat(2_000)),
    ];
    for request in &refused {
        let answer = gateway.raw_http(request);
        let start: String = request.chars().take(60).collect();
        assert!(!answer.contains("yabby_uptime_seconds"), "{start:?}: {answer}");
    }
    is_served(&gateway).await;
}

#[tokio::test]
async fn whoever_says_what_they_want_letter_by_letter_is_let_go() {
    let (_home, gateway) = Gateway::fresh();
    let mut slow = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    let begun = Instant::now();
    for letter in
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: and so on and so on and so on and so on".bytes()
    {
        if slow.write_all(&[letter]).is_err() {
            break;
        }
        if begun.elapsed() > Duration::from_secs(25) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    is_served(&gateway).await;
    slow.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer);
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert!(!String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn whoever_does_not_read_is_cut_off_and_the_others_hear_everything() {
    let (_home, gateway) = Gateway::fresh();
    let mut deaf = Caller::connected(gateway.port).await;
    let before = gateway.resident_kb();
    // Answers that are not read are not made without end.
    for _ in 0..3000 {
        let ask = json!({"type": "req", "id": "1", "method": "config.schema", "params": {}}).to_string();
        if tokio::time::timeout(Duration::from_millis(500), deaf.send(ask)).await.is_err() {
            break;
        }
    }
    is_served(&gateway).await;
    let grown = gateway.resident_kb().saturating_sub(before);
    assert!(grown < 96 * 1024, "{grown} kB more than before");
}

#[tokio::test]
async fn whoever_only_looks_makes_nothing() {
    let (home, gateway) = Gateway::fresh();
    let mut caller = Caller::connected(gateway.port).await;
    for number in 0..20 {
        let key = format!("agent:made-up-{number}:x");
        let history = caller.call("chat.history", json!({"sessionKey": key})).await.unwrap();
        assert_eq!(history["messages"], json!([]));
        let preview = caller.call("sessions.preview", json!({"keys": [key]})).await.unwrap();
        assert_eq!(preview["previews"][0]["status"], "missing");
        let tree = caller.call("sessions.tree", json!({"key": key})).await.unwrap();
        assert_eq!((&tree["key"], &tree["count"]), (&json!(key), &json!(0)));
        caller.call("chat.abort", json!({"sessionKey": key})).await.unwrap();
        caller.call("sessions.search", json!({"query": "x", "sessionKey": key})).await.unwrap();
    }
    let folders = std::fs::read_dir(home.path().join(".openclaw/agents")).into_iter().flatten().flatten();
    let names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.starts_with("made-up")), "{names:?}");
}

//! Who comes in, what they may see and hand out, and when they have to go.

use std::sync::Arc;

use serde_json::json;
use yabby_domain::config::Config;
use yabby_testkit::stage::NOON;

use crate::client::{Stand, TOKEN};

fn chat(key: &str) -> serde_json::Value {
    json!({"sessionKey": key, "message": "hello", "idempotencyKey": "k"})
}

#[tokio::test]
async fn nodes_do_not_hear_what_people_say() {
    let stand = Stand::new(json!({})).await;
    let mut node = stand.client_as("node", &[]).await;
    let (mut owner, mut guest) = (stand.owner().await, stand.client(&["operator.read"]).await);
    owner.get("chat.send", chat("agent:main:main")).await;
    while owner.event("chat").await["state"] != "final" {}
    while guest.event("chat").await["state"] != "final" {}
    let refused = node.refusal("health", json!({})).await;
    assert_eq!(refused, "unauthorized role: node");
    assert!(!node.heard("chat") && !node.heard("agent"));
}

#[tokio::test]
async fn a_secret_that_changes_ends_the_connections_that_it_let_in() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let same = json!({"gateway": {"mode": "local", "auth": {"token": "token-of-a-test"}, "port": 1}});
    stand.listening.set_config(Arc::new(Config::new(same)));
    owner.get("health", json!({})).await;
    let other = json!({"gateway": {"mode": "local", "auth": {"token": "another"}}});
    stand.listening.set_config(Arc::new(Config::new(other)));
    assert_eq!(owner.closed().await, (1008, "unauthorized: the gateway token has changed".to_owned()));
}

#[tokio::test]
async fn nobody_hands_out_what_they_may_not_do_themselves() {
    let stand = Stand::new(json!({})).await;
    let token = |scopes| json!({"token": "old", "role": "operator", "scopes": scopes, "createdAtMs": NOON});
    let paired = |id: &str, scopes: serde_json::Value| {
        json!({"deviceId": id, "publicKey": "k", "role": "operator", "roles": ["operator"], "scopes": scopes,
            "tokens": {"operator": token(scopes)}, "createdAtMs": NOON, "approvedAtMs": NOON})
    };
    let both = json!({
        "boss": paired("boss", json!(["operator.admin"])),
        "door": paired("door", json!(["operator.pairing"])),
    });
    let request = |id: &str, scopes: serde_json::Value| json!({"requestId": id, "deviceId": id, "publicKey": "k", "role": "operator", "scopes": scopes, "ts": NOON});
    let asking = json!({
        "r1": request("r1", json!(["operator.admin"])), "r2": request("r2", json!(["operator.pairing"])),
    });
    std::fs::create_dir_all(stand.path("devices")).unwrap();
    std::fs::write(stand.path("devices/paired.json"), both.to_string()).unwrap();
    std::fs::write(stand.path("devices/pending.json"), asking.to_string()).unwrap();
    let mut doorman = stand.client(&["operator.pairing"]).await;
    let missing = "missing scope: operator.admin";
    let boss = json!({"deviceId": "boss", "role": "operator"});
    assert_eq!(doorman.refusal("device.token.rotate", boss.clone()).await, missing);
    let more = json!({"deviceId": "door", "role": "operator", "scopes": ["operator.admin"]});
    assert_eq!(doorman.refusal("device.token.rotate", more).await, missing);
    assert_eq!(doorman.refusal("device.pair.approve", json!({"requestId": "r1"})).await, missing);
    doorman.get("device.token.rotate", json!({"deviceId": "door", "role": "operator"})).await;
    doorman.get("device.pair.approve", json!({"requestId": "r2"})).await;
    let mut owner = stand.owner().await;
    owner.get("device.token.rotate", boss).await;
    owner.get("device.pair.approve", json!({"requestId": "r1"})).await;
}

#[tokio::test]
async fn the_status_page_tells_strangers_nothing_but_that_we_are_there() {
    let stand = Stand::new(json!({})).await;
    let at_home = stand.http("/", "").await;
    assert!(at_home.contains("yabby is running") && at_home.contains("Version"), "{at_home}");
    for header in ["X-Forwarded-For: 203.0.113.9", "X-Real-Ip: \u{ff}", "Forwarded: for=203.0.113.9"] {
        let elsewhere = stand.http("/", &format!("{header}\r\n")).await;
        assert!(elsewhere.contains("yabby is running"), "{elsewhere}");
        assert!(!elsewhere.contains("Version") && !elsewhere.contains("Clients<"), "{header}: {elsewhere}");
    }
}

#[tokio::test]
async fn a_picture_that_an_agent_drew_runs_no_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let drawing = "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>";
    std::fs::write(folder.path().join("index.html"), "<html><head></head></html>").unwrap();
    std::fs::write(folder.path().join("a.svg"), drawing).unwrap();
    let path = folder.path().to_string_lossy().into_owned();
    let agent = json!({"id": "main", "workspace": path, "identity": {"avatar": "a.svg"}});
    let config = json!({"gateway": {"controlUi": {"root": path}}, "agents": {"list": [agent]}});
    let stand = Stand::new(config).await;
    let picture = stand.http("/avatar/main", "").await;
    assert!(picture.contains("image/svg+xml") && picture.contains("; sandbox;"), "{picture}");
    assert!(!stand.http("/", "").await.contains("sandbox"), "the page itself has scripts");
}

#[tokio::test]
async fn whoever_could_be_an_agent_may_be_asked_for_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "<html><head></head></html>").unwrap();
    let stand = Stand::new(json!({"gateway": {"controlUi": {"root": folder.path()}}})).await;
    for (path, found) in [
        ("/avatar/main?meta=1", true),
        ("/avatar/MAIN?meta=1", true),
        ("/avatar/ghost?meta=1", true),
        ("/avatar/ghost", false),
        ("/avatar/a%20b?meta=1", false),
        ("/avatar/main/x?meta=1", false),
    ] {
        let answer = stand.http(path, "").await;
        assert_eq!(answer.contains("{\"avatarUrl\":null}"), found, "{path}: {answer}");
        assert_eq!(answer.starts_with("HTTP/1.1 404"), !found, "{path}: {answer}");
    }
    // Of the canvas that there is not, and of what is only called like it.
    assert!(stand.http("/__openclaw__/canvas/x", "").await.starts_with("HTTP/1.1 404"));
    assert!(stand.http("/__openclaw__/other", "").await.contains("<head>"));
}

#[tokio::test]
async fn a_page_below_a_path_is_found_there_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "<html><head></head>theirs</html>").unwrap();
    let config = json!({"gateway": {"controlUi": {"root": folder.path(), "basePath": "ctl/"}}});
    let stand = Stand::new(config).await;
    let sent_on = stand.http("/ctl?a=1", "").await;
    assert!(sent_on.starts_with("HTTP/1.1 302") && sent_on.contains("location: /ctl/?a=1"), "{sent_on}");
    assert!(sent_on.contains("x-frame-options: DENY") && !sent_on.contains("\ncontent-type:"), "{sent_on}");
    for (path, is_page) in
        [("/ctl/", true), ("/ctl/ui", true), ("/ctl/x", true), ("/x", false), ("/ctlx", false)]
    {
        let answer = stand.http(path, "").await;
        assert_eq!(answer.contains("theirs"), is_page, "{path}: {answer}");
        assert_eq!(answer.starts_with("HTTP/1.1 404"), !is_page, "{path}: {answer}");
    }
    // Above it is one of our own.
    let own = stand.http("/", "").await;
    assert!(own.starts_with("HTTP/1.1 200") && own.contains("yabby") && !own.contains("theirs"), "{own}");
}

#[tokio::test]
async fn a_socket_is_opened_for_those_who_ask_properly() {
    let stand = Stand::new(json!({})).await;
    let upgrade = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    let table = [
        (upgrade.to_owned(), "Missing or invalid Sec-WebSocket-Key header"),
        (format!("{upgrade}Sec-WebSocket-Key: abc\r\n"), "Missing or invalid Sec-WebSocket-Key header"),
        (
            "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n".to_owned(),
            "Missing or invalid Sec-WebSocket-Version header",
        ),
    ];
    for (headers, why) in table {
        let answer = stand.http("/", &headers).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.ends_with(why), "{headers}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everybody_who_comes_is_told_how_we_are() {
    let stand = Arc::new(Stand::new(json!({})).await);
    let coming = (0..24).map(|_| {
        let stand = stand.clone();
        tokio::spawn(async move { stand.owner().await.event("health").await })
    });
    for told in coming.collect::<Vec<_>>() {
        assert_eq!(told.await.unwrap()["ok"], true);
    }
}

#[tokio::test]
async fn wrong_secrets_are_slowed_down_and_the_right_one_gets_in() {
    let stand = Stand::new(json!({})).await;
    let guesses = (0..60).map(|number| {
        let stand = &stand;
        async move {
            stand.shows(&format!("guess-{number}")).await["error"]["message"].as_str().unwrap().to_owned()
        }
    });
    let answers = futures_util::future::join_all(guesses).await;
    let is_judged = |answer: &&String| answer.starts_with("unauthorized: gateway token mismatch");
    let judged = answers.iter().filter(is_judged).count();
    assert!((8..30).contains(&judged), "{judged}");
    let sent_away = "too many wrong secrets from this address; try again in a moment";
    assert!(
        answers.iter().filter(|answer| !is_judged(answer)).all(|answer| answer == sent_away),
        "{answers:?}"
    );
    // It waits for its turn, and no longer; who shows nothing is told so as ever.
    assert_eq!(stand.shows(TOKEN).await["payload"]["type"], "hello-ok");
    assert_eq!(stand.shows("").await["error"]["message"], "device identity required");
}

#[tokio::test]
async fn wrong_secrets_over_http_are_slowed_down_as_well() {
    let stand = Stand::new(json!({})).await;
    let ask = async |token: &str| {
        let headers = format!("X-Forwarded-For: 203.0.113.9\r\nAuthorization: Bearer {token}\r\n");
        stand.http("/metrics", &headers).await.split(' ').nth(1).unwrap().to_owned()
    };
    let mut codes = Vec::new();
    for number in 0..40 {
        codes.push(ask(&format!("guess-{number}")).await);
    }
    assert_eq!(codes[0], "401");
    assert!(codes.iter().filter(|code| *code == "401").count() < 30, "{codes:?}");
    assert!(codes.iter().all(|code| code == "401" || code == "429"), "{codes:?}");
    // Whoever is at this machine, and whoever comes back when told to, is answered.
    assert!(stand.http("/metrics", "").await.starts_with("HTTP/1.1 200"));
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while ask(TOKEN).await != "200" {
        assert!(std::time::Instant::now() < end);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

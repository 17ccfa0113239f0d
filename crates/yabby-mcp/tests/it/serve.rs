//! Our own server, as other programs see it.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use yabby_domain::seam::SessionStore as _;
use yabby_domain::session::key::SessionKey;
use yabby_mcp::serve::{MemoryServer, ShownTo};

use crate::remembering::{ANNA, Asking, BEN, GROUP, Remembering, each};

#[tokio::test]
async fn it_says_what_it_can_do_and_that_it_only_reads() {
    let here = Remembering::new().await;
    let owner = here.owner().await;
    let info = owner.0.peer_info().unwrap();
    assert_eq!(info.server_info.as_ref().map_or("yabby", |info| &info.name), "yabby");
    let tools = owner.0.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(
        names,
        ["memory_search", "memory_get", "sessions_list", "sessions_history", "sessions_search"]
    );
    for tool in &tools {
        let hints = tool.annotations.as_ref().unwrap();
        assert_eq!((hints.read_only_hint, hints.open_world_hint), (Some(true), Some(false)), "{}", tool.name);
        assert_eq!(tool.input_schema["type"], "object");
    }
    assert_eq!(tools[0].input_schema["required"], json!(["query"]));
    // Nothing was opened for all that.
    assert_eq!(here.opened.load(Ordering::Relaxed), 0);
    owner.call("sessions_list", json!({})).await;
    owner.call("sessions_list", json!({})).await;
    assert_eq!(here.opened.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn the_memory_is_searched() {
    let here = Remembering::new().await;
    let owner = here.owner().await;
    let found = owner.call("memory_search", json!({"query": "alarm code"})).await;
    let first = &found["results"][0];
    assert_eq!(first["path"], "MEMORY.md");
    assert_eq!((&first["startLine"], &first["source"]), (&json!(2), &json!("memory")));
    assert_eq!(first["snippet"], "- the alarm code is quartz 4711");
    assert_eq!(first["citation"], "MEMORY.md#L2");
    assert_eq!((&found["provider"], &found["model"]), (&json!("none"), &json!("words")));
    let said = owner.call("memory_search", json!({"query": "quartz ring drawer", "maxResults": 1})).await;
    let first = &said["results"][0];
    assert_eq!(
        [&first["path"], &first["sessionKey"], &first["sessionId"], &first["messageId"]],
        ["sessions/s-main.jsonl", "agent:main:main", "s-main", "m1"]
    );
    assert_eq!(first["time"], "2026-02-03T12:00:00.000Z");

    //  arguments                                                   paths
    let table = [
        (json!({"query": "quartz", "maxResults": 2}), 2),
        (json!({"query": "quartz", "maxResults": "1"}), 1),
        (json!({"query": "quartz", "minScore": 0.8}), 4),
        (json!({"query": "quartz", "sessionKey": "main"}), 1),
        (json!({"query": "quartz", "sessionKey": "agent:main:main"}), 1),
        (json!({"query": "quartz", "sessionKey": GROUP}), 0),
        (json!({"query": "quartz", "channel": "telegram"}), 0),
        (json!({"query": "nothing of the kind"}), 0),
    ];
    for (arguments, count) in table {
        let found = owner.call("memory_search", arguments.clone()).await;
        assert_eq!(found["results"].as_array().unwrap().len(), count, "{arguments} {found}");
    }
    // What is said later is found, too.
    here.note("memory/2026-02-04.md", "- obsidian knife bought\n");
    let found = owner.call("memory_search", json!({"query": "obsidian"})).await;
    assert_eq!(each(&found["results"], "path"), ["memory/2026-02-04.md"]);
}

#[tokio::test]
async fn a_channel_narrows_a_search() {
    let mut here = Remembering::new().await;
    here.config = json!({"memory": {"share": {"groups": true}}});
    let owner = here.owner().await;
    //  channel    sessions
    let table = [("telegram", vec![GROUP]), ("Telegram", vec![GROUP]), ("discord", vec![])];
    for (channel, expected) in table {
        let asked = json!({"query": "granite party", "channel": channel});
        assert_eq!(
            each(&owner.call("memory_search", asked).await["results"], "sessionKey"),
            expected,
            "{channel}"
        );
        let listed = owner.call("sessions_list", json!({"channel": channel})).await;
        assert_eq!(each(&listed["sessions"], "key"), expected, "{channel}");
    }
}

#[tokio::test]
async fn notes_and_conversations_are_read() {
    let here = Remembering::new().await;
    let owner = here.owner().await;
    owner.call("sessions_list", json!({})).await;
    let table = [
        (json!({"path": "MEMORY.md", "from": 3, "lines": 1}), "- the bins go out on Monday"),
        (json!({"path": "memory/2026-02-03.md"}), "- quartz watch repaired\n"),
        (
            json!({"path": "sessions/s-main.jsonl", "from": 2, "lines": 1}),
            "user: My quartz ring is in the drawer",
        ),
    ];
    for (arguments, expected) in table {
        let got = owner.call("memory_get", arguments.clone()).await;
        assert_eq!(got["text"].as_str().unwrap().to_lowercase(), expected.to_lowercase(), "{arguments}");
        assert_eq!(got["path"], arguments["path"]);
    }
    for path in ["other.md", "../secrets.md", "/etc/passwd", "sessions/s-anna.jsonl", "sessions/../x.md"] {
        let refusal = owner.refusal("memory_get", json!({"path": path})).await;
        assert!(refusal.starts_with(&format!("there is no {path} to be read")), "{refusal}");
    }
    let missing = owner.refusal("memory_get", json!({"path": "memory/no.md"})).await;
    assert!(missing.starts_with("ENOENT: no such file or directory"), "{missing}");
}

#[tokio::test]
async fn notes_are_resources() {
    let here = Remembering::new().await;
    here.note("../else/extra.md", "from elsewhere");
    let owner = here.owner().await;
    let addresses = owner.resources().await;
    assert_eq!(
        addresses[..3],
        [
            "memory://main/MEMORY.md",
            "memory://main/memory/2026-02-03.md",
            "memory://main/memory/gr%C3%B6%C3%9Fe%20&%20co.md"
        ]
    );
    assert_eq!(addresses.len(), 4);
    assert!(addresses[3].ends_with("%2Felse%2Fextra.md"), "{addresses:?}");
    for address in &addresses {
        let read = owner.read(address).await.unwrap();
        assert_eq!((&read["uri"], &read["mimeType"]), (&json!(address), &json!("text/markdown")));
        assert!(!read["text"].as_str().unwrap().is_empty());
    }
    assert_eq!(owner.read(&addresses[3]).await.unwrap()["text"], "from elsewhere");
    for address in [
        "memory://main/other.md",
        "memory://main/memory/../other.md",
        "memory://main/memory/%2e%2e/other.md",
        "memory://other/MEMORY.md",
        "file:///etc/passwd",
        "MEMORY.md",
        "",
    ] {
        let error = owner.read(address).await.unwrap_err().to_string();
        assert!(error.contains("no note can be seen at"), "{address}: {error}");
    }
}

#[tokio::test]
async fn conversations_are_listed_and_read() {
    let here = Remembering::new().await;
    let owner = here.owner().await;
    let listed = owner.call("sessions_list", json!({})).await;
    assert_eq!(listed["count"], 1);
    let row = &listed["sessions"][0];
    let told = [&row["key"], &row["kind"], &row["sessionId"], &row["label"]];
    assert_eq!(told, ["agent:main:main", "main", "s-main", "Mine"]);
    assert_eq!((&row["updatedAt"], &row["messages"]), (&json!(9), &json!(2)));
    assert_eq!(row["lastMessageAt"], "2026-02-03T12:00:01.000Z");
    assert_eq!(owner.call("sessions_list", json!({"activeMinutes": 5})).await["count"], 0);

    for named in ["main", "agent:main:main", "s-main"] {
        let history = owner.call("sessions_history", json!({"sessionKey": named})).await;
        assert_eq!(each(&history["messages"], "messageId"), ["m1", "m2"], "{named}");
        assert_eq!(each(&history["messages"], "role"), ["user", "assistant"]);
        assert_eq!(history["sessionKey"], "agent:main:main");
    }
    let last = owner.call("sessions_history", json!({"sessionKey": "main", "limit": 1})).await;
    assert_eq!(each(&last["messages"], "text"), ["Noted."]);

    // The conversation begins anew, and what was said before is still found and opened.
    here.record("agent:main:main", json!({"sessionId": "s-new", "updatedAt": 10})).await;
    let ids: Vec<String> = (0..30).map(|number| format!("n{number}")).collect();
    let said: Vec<(&str, &str, &str)> =
        ids.iter().map(|id| (id.as_str(), "user", "feldspar again")).collect();
    here.say("s-new", &said);
    let history = owner.call("sessions_history", json!({"sessionKey": "main", "limit": 5})).await;
    assert_eq!(each(&history["messages"], "messageId"), ["n25", "n26", "n27", "n28", "n29"]);
    assert_eq!(history["messagesInAll"], 30);
    let found = owner.call("sessions_search", json!({"query": "ring drawer"})).await;
    let hit = &found["results"][0];
    assert_eq!([&hit["messageId"], &hit["sessionId"], &hit["role"]], ["m1", "s-main", "user"]);
    let around = json!({"sessionKey": "main", "messageId": "m1"});
    let opened = owner.call("sessions_history", around).await;
    assert_eq!(each(&opened["messages"], "messageId"), ["m1", "m2"]);
    let around = json!({"sessionKey": "main", "messageId": "n10", "limit": 3});
    let opened = owner.call("sessions_history", around).await;
    assert_eq!(each(&opened["messages"], "messageId"), ["n9", "n10", "n11"]);
    let again = json!({"sessionId": "s-main", "messageId": "m2"});
    let opened = owner.call("sessions_search", again).await;
    assert_eq!(each(&opened["messages"], "messageId"), ["m1", "m2"]);
    let many = owner.call("sessions_search", json!({"query": "\"feldspar again\"", "limit": 3})).await;
    assert_eq!(each(&many["results"], "messageId"), ["n29", "n28", "n27"]);
    let answers = owner.call("sessions_search", json!({"query": "noted", "role": "assistant"})).await;
    assert_eq!(each(&answers["results"], "messageId"), ["m2"]);
}

/// Everything that can be asked of a server, and all that it says.
async fn everything(asking: &Asking) -> String {
    let words = ["quartz", "granite", "basalt", "marble", "collect", "alarm code", "ring", "party", "nice"];
    let mut asked: Vec<(&str, Value)> = vec![("sessions_list", json!({}))];
    for word in words {
        asked.push(("memory_search", json!({"query": word, "maxResults": 50})));
        asked.push(("sessions_search", json!({"query": word, "limit": 50})));
        for key in ["main", GROUP, ANNA, BEN] {
            asked.push(("memory_search", json!({"query": word, "sessionKey": key})));
            asked.push(("sessions_search", json!({"query": word, "sessionKey": key})));
        }
        for channel in ["telegram", "discord"] {
            asked.push(("memory_search", json!({"query": word, "channel": channel})));
        }
    }
    for (key, id, message) in
        [("main", "s-main", "m1"), (GROUP, "s-group", "g1"), (ANNA, "s-anna", "a1"), (BEN, "s-ben", "b1")]
    {
        for named in [key, id] {
            asked.push(("sessions_history", json!({"sessionKey": named})));
            asked.push(("sessions_history", json!({"sessionKey": named, "messageId": message})));
        }
        asked.push(("sessions_search", json!({"sessionId": id, "messageId": message})));
        asked.push(("memory_get", json!({"path": format!("sessions/{id}.jsonl")})));
    }
    for path in ["MEMORY.md", "memory/2026-02-03.md"] {
        asked.push(("memory_get", json!({"path": path})));
    }
    let mut said = String::new();
    for (tool, arguments) in asked {
        let result = asking.raw(tool, &arguments).await.unwrap();
        said.push_str(&serde_json::to_string(&result).unwrap());
    }
    said.push_str(&asking.resources().await.join("\n"));
    if let Ok(read) = asking.read("memory://main/MEMORY.md").await {
        said.push_str(&read.to_string());
    }
    said
}

#[tokio::test]
async fn nobody_hears_what_others_said() {
    let here = Remembering::new().await;
    const OWNERS: [&str; 4] = ["quartz 4711", "quartz ring is", "quartz watch", "memory://main/MEMORY.md"];
    const GROUPS: &str = "granite party is";
    const ANNAS: &str = "collect basalt";
    const BENS: &str = "collect marble";
    let owner = everything(&here.owner().await).await;
    assert!(OWNERS.iter().all(|words| owner.contains(words)), "{owner}");
    assert!([GROUPS, ANNAS, BENS].iter().all(|words| !owner.contains(words)), "{owner}");
    // The owner's own session is the owner's.
    let main = everything(&here.seen_from("agent:main:main").await).await;
    assert!(OWNERS.iter().all(|words| main.contains(words)), "{main}");
    assert!([GROUPS, ANNAS, BENS].iter().all(|words| !main.contains(words)), "{main}");
    for (key, own, others) in
        [(GROUP, GROUPS, [ANNAS, BENS]), (ANNA, ANNAS, [GROUPS, BENS]), (BEN, BENS, [GROUPS, ANNAS])]
    {
        let said = everything(&here.seen_from(key).await).await;
        assert!(said.contains(own), "{key} does not see its own: {said}");
        for words in OWNERS.iter().chain(&others) {
            assert!(!said.contains(words), "{key} sees {words:?}: {said}");
        }
        assert!(!said.contains("agent:main:main\\\""), "{key} sees the owner's session: {said}");
    }
    let refusal = here.seen_from(GROUP).await.refusal("memory_get", json!({"path": "MEMORY.md"})).await;
    assert!(refusal.starts_with("the notes are the owner's own"), "{refusal}");
}

#[tokio::test]
async fn a_task_sees_what_whoever_gave_it_sees() {
    let here = Remembering::new().await;
    // A room that only its record tells, and tasks of tasks.
    let room = "agent:main:den";
    here.record(room, json!({"sessionId": "s-den", "chatType": "group"})).await;
    here.record("agent:main:subagent:1", json!({"sessionId": "s-1", "spawnedBy": room})).await;
    here.record("agent:main:subagent:2", json!({"sessionId": "s-2", "spawnedBy": "agent:main:subagent:1"}))
        .await;
    for key in [room, "agent:main:subagent:1", "agent:main:subagent:2"] {
        let said = everything(&here.seen_from(key).await).await;
        assert!(!said.contains("quartz ring is") && !said.contains("quartz 4711"), "{key}: {said}");
    }
}

#[tokio::test]
async fn a_session_that_goes_takes_its_view_along() {
    let here = Remembering::new().await;
    let key = SessionKey::new("agent:main:den");
    here.record(key.as_str(), json!({"sessionId": "s-den", "chatType": "group"})).await;
    let den = here.seen_from(key.as_str()).await;
    assert_eq!(den.call("sessions_list", json!({})).await["count"], 0);
    here.sessions.update(&key, Box::new(|record| *record = None)).await.unwrap();
    let refusal = den.refusal("memory_search", json!({"query": "quartz"})).await;
    assert!(refusal.contains("agent:main:den") && refusal.contains("not there any more"), "{refusal}");
    assert!(den.0.list_all_resources().await.is_err());
}

#[tokio::test]
async fn what_does_not_fit_is_refused_in_words() {
    let here = Remembering::new().await;
    let owner = here.owner().await;
    let table = [
        ("memory_search", json!({}), "query is required"),
        ("memory_search", json!({"query": " \n"}), "query is required"),
        ("memory_search", json!({"query": 7}), "query has to be a text"),
        ("memory_search", json!({"query": "x", "maxResults": []}), "maxResults has to be a number"),
        ("memory_search", json!({"query": "x", "channel": {}}), "channel has to be a text"),
        ("memory_get", json!({}), "path is required"),
        ("memory_get", json!({"path": "MEMORY.md", "from": "soon"}), "from has to be a number"),
        ("sessions_list", json!({"limit": true}), "limit has to be a number"),
        ("sessions_history", json!({}), "sessionKey is required"),
        ("sessions_history", json!({"sessionKey": "no"}), "no session \"no\" can be seen"),
        (
            "sessions_history",
            json!({"sessionKey": "main", "messageId": "no"}),
            "no message \"no\" can be seen",
        ),
        ("sessions_search", json!({}), "query is required, or sessionId and messageId"),
        ("sessions_search", json!({"query": "x", "messageId": "m1"}), "query is required, or"),
        ("sessions_search", json!({"query": "x", "role": "system"}), "role has to be user or assistant"),
    ];
    for (tool, arguments, expected) in table {
        let refusal = owner.refusal(tool, arguments.clone()).await;
        assert!(refusal.starts_with(expected), "{tool} {arguments}: {refusal}");
    }
    // Odd, but nothing to complain about.
    for arguments in [
        json!({"query": "\"", "maxResults": -5}),
        json!({"query": "quartz", "maxResults": 1e300, "minScore": -1e300}),
        json!({"query": "quartz OR (", "channel": "", "sessionKey": null, "unknown": 1}),
        json!({"query": "x".repeat(100_000)}),
        json!({"query": "\u{0}'; DROP TABLE yabby_units; --", "sessionKey": "' OR 1=1 --"}),
    ] {
        owner.call("memory_search", arguments).await;
    }
    owner.call("memory_get", json!({"path": "MEMORY.md", "from": 1e300, "lines": -1e300})).await;
    let error = owner.raw("forget_everything", &json!({})).await.unwrap_err();
    assert!(error.to_string().contains("there is no tool \"forget_everything\""), "{error}");
    assert_eq!(owner.call("sessions_list", json!({})).await["count"], 1, "it goes on");
}

#[tokio::test]
async fn what_cannot_be_opened_is_told_and_tried_again() {
    let here = Remembering::new().await;
    let (good, is_tried) = (here.opening(), AtomicBool::new(false));
    let open = Box::new(move || match is_tried.swap(true, Ordering::Relaxed) {
        false => Err("the index is locked".to_owned()),
        true => good(),
    });
    let owner = Asking::new(MemoryServer::new(open, ShownTo::Owner)).await;
    assert_eq!(owner.refusal("sessions_list", json!({})).await, "the index is locked");
    assert_eq!(owner.call("sessions_list", json!({})).await["count"], 1);
}

#[tokio::test]
async fn conversations_that_are_not_remembered_are_told() {
    let mut here = Remembering::new().await;
    here.config = json!({"sources": ["memory"]});
    let owner = here.owner().await;
    for (tool, arguments) in [
        ("sessions_list", json!({})),
        ("sessions_history", json!({"sessionKey": "main"})),
        ("sessions_search", json!({"query": "x"})),
    ] {
        let refusal = owner.refusal(tool, arguments).await;
        assert!(refusal.contains("memorySearch.sources leaves sessions out"), "{refusal}");
    }
    assert_eq!(
        owner.call("memory_search", json!({"query": "alarm"})).await["results"][0]["path"],
        "MEMORY.md"
    );
}

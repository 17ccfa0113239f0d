//! What is written in both directions: conversations as steps that either side can take, records of
//! sessions, and files as other programs and older versions left them.
//!
//! A step that names an entry says `@n`: the entry of the n-th step.

use serde_json::{Value, json};

pub struct Conversation {
    pub name: &'static str,
    pub steps: Vec<Value>,
}

pub fn conversations() -> Vec<Conversation> {
    let conversation = |name, steps| Conversation { name, steps };
    vec![
        conversation("one turn", vec![user("hi"), assistant("hello")]),
        conversation(
            "settings before the first message",
            vec![
                json!({ "model": { "provider": "anthropic", "id": "claude-opus-4-5" } }),
                json!({ "thinking": "high" }),
                user("hi"),
                assistant("hello"),
                json!({ "thinking": "low" }),
                json!({ "model": { "provider": "openai", "id": "gpt-5" } }),
            ],
        ),
        conversation(
            "text of every kind",
            texts().into_iter().flat_map(|t| [user(&t), assistant(&t)]).collect(),
        ),
        conversation("tools, thinking and pictures", tools()),
        conversation("branches", branches()),
        conversation("labels", labels()),
        conversation("compactions", compactions()),
        conversation("custom entries", custom()),
        conversation(
            "names",
            vec![
                user("hi"),
                assistant("hello"),
                json!({ "name": "  First name " }),
                user("again"),
                json!({ "name": "Zweiter Name 🦀" }),
            ],
        ),
        conversation("forks", forks()),
        conversation(
            "fork of the whole",
            vec![user("a"), assistant("b"), json!({ "forkWhole": "/elsewhere" })],
        ),
        conversation(
            "long",
            (0..300).flat_map(|i| [user(&format!("question {i}")), assistant(&"x".repeat(i * 20))]).collect(),
        ),
    ]
}

pub fn user(text: &str) -> Value {
    json!({ "message": { "role": "user", "content": text, "timestamp": 1_768_469_400_000_u64 } })
}

pub fn assistant(text: &str) -> Value {
    answer(json!([{ "type": "text", "text": text }]), "stop")
}

fn answer(content: Value, stop_reason: &str) -> Value {
    let cost = json!({ "input": 0.003, "output": 0.015, "cacheRead": 0, "cacheWrite": 0, "total": 0.018 });
    json!({ "message": {
        "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
        "model": "claude-opus-4-5",
        "usage": { "input": 10, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 30, "cost": cost },
        "stopReason": stop_reason, "timestamp": 1_768_469_401_000_u64,
    } })
}

fn texts() -> Vec<String> {
    let long = "wide ünï 🦀 ".repeat(2000);
    [
        "",
        " ",
        "line\nfeed\r\nand\ttab",
        "quotes \" and \\ and /",
        "\u{0}\u{1}\u{1f}\u{7f}\u{80}",
        "\u{2028}\u{2029}",
        "\u{feff}bom",
        "日本語 🦀 👩‍👩‍👧",
        "{\"type\":\"session\"}",
        "</summary>",
        &long,
    ]
    .map(str::to_owned)
    .into()
}

fn tools() -> Vec<Value> {
    let call = json!([
        { "type": "thinking", "thinking": "Let me see.", "thinkingSignature": "c2ln" },
        { "type": "toolCall", "id": "call_1", "name": "read", "arguments": { "path": "/a", "9": 1, "2": [1.5, -0.0, 1e21, 1e-7] } },
        { "type": "toolCall", "id": "call_2", "name": "bash", "arguments": {} },
    ]);
    let result = |id: &str, is_error: bool| {
        json!({ "message": {
            "role": "toolResult", "toolCallId": id, "toolName": "read",
            "content": [{ "type": "text", "text": "a\nb" }, { "type": "image", "data": "aGk=", "mimeType": "image/png" }],
            "details": { "truncated": null, "lines": [1, 2] }, "isError": is_error, "timestamp": 1_768_469_402_000_u64,
        } })
    };
    let picture = json!({ "message": { "role": "user", "timestamp": 1,
        "content": [{ "type": "image", "data": "aGk=", "mimeType": "image/png" }, { "type": "text", "text": "what?" }] } });
    let shell = json!({ "message": { "role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0,
        "cancelled": false, "truncated": false, "timestamp": 3 } });
    let hidden = json!({ "message": { "role": "bashExecution", "command": "env", "output": "", "exitCode": null,
        "cancelled": true, "truncated": false, "excludeFromContext": true, "timestamp": 4 } });
    vec![
        picture,
        answer(call, "toolUse"),
        result("call_1", false),
        result("call_2", true),
        shell,
        hidden,
        assistant("done"),
        answer(json!([]), "aborted"),
    ]
}

fn branches() -> Vec<Value> {
    vec![
        user("a"),
        assistant("b"),
        user("c"),
        assistant("d"),
        json!({ "move": "@1" }),
        user("c again"),
        assistant("d again"),
        json!({ "branch": { "to": "@1", "summary": "Tried c twice.", "details": { "files": ["x"] }, "fromHook": true } }),
        user("e"),
        json!({ "branch": { "to": null, "summary": "Left it all." } }),
        user("f"),
        assistant("g"),
        json!({ "move": null }),
        user("a second root"),
        json!({ "move": "@11" }),
        assistant("the leaf is here"),
    ]
}

fn labels() -> Vec<Value> {
    vec![
        user("a"),
        assistant("b"),
        json!({ "label": { "target": "@0", "label": "start" } }),
        json!({ "label": { "target": "@1", "label": "ünï 🦀" } }),
        user("c"),
        json!({ "label": { "target": "@0", "label": null } }),
        assistant("d"),
        json!({ "label": { "target": "@0", "label": "start again" } }),
        json!({ "fork": "@6" }),
        json!({ "fork": "@1" }),
    ]
}

fn compactions() -> Vec<Value> {
    let mut steps: Vec<Value> =
        (0..6).flat_map(|i| [user(&format!("q{i}")), assistant(&format!("a{i}"))]).collect();
    steps.push(json!({ "compaction": { "summary": "So far: q0 to q3.", "firstKept": "@8", "tokensBefore": 12_345 } }));
    steps.extend([user("after"), assistant("the first")]);
    steps.push(json!({ "compaction": { "summary": "All of it.\n\n<files>", "firstKept": "@13", "tokensBefore": 99_999.5,
        "details": { "readFiles": ["/a"], "modifiedFiles": [] }, "fromHook": false } }));
    steps.extend([user("after"), assistant("the second"), json!({ "fork": "@17" })]);
    steps
}

fn custom() -> Vec<Value> {
    vec![
        user("a"),
        assistant("b"),
        json!({ "custom": { "type": "model-snapshot", "data": { "timestamp": 1, "provider": "anthropic", "modelId": null } } }),
        json!({ "custom": { "type": "openclaw.cache-ttl" } }),
        json!({ "customMessage": { "type": "note", "content": "seen by the model", "display": true } }),
        json!({ "customMessage": { "type": "note", "content": [{ "type": "text", "text": "🦀" }], "display": false, "details": { "k": [] } } }),
        assistant("c"),
    ]
}

fn forks() -> Vec<Value> {
    vec![
        user("a"),
        assistant("b"),
        json!({ "fork": "@1" }),
        user("c"),
        assistant("d"),
        json!({ "fork": "@0" }),
        json!({ "move": "@1" }),
        user("e"),
        json!({ "fork": "@7" }),
        json!({ "fork": "@4" }),
    ]
}

/// Files as others leave them: older versions, other line ends, lines that are none.
pub fn foreign_transcripts() -> Vec<(&'static str, String)> {
    let header =
        r#"{"type":"session","version":3,"id":"foreign","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w"}"#;
    let line = |id: &str, parent: &str, text: &str| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-15T09:30:01.000Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
        )
    };
    let spaced = r#"{ "type" : "message", "id": "b", "parentId": "a", "timestamp": "2026-01-15T09:30:01.000Z", "message": { "content": "spaced", "role": "user", "n": 1.0, "big": 12345678901234567890, "e": 1e2, "timestamp": 2 } }"#;
    let surrogate = r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-15T09:30:01.000Z","message":{"role":"user","content":"half \ud83d of one","timestamp":2}}"#;
    let unknown = r#"{"type":"from_the_future","id":"b","parentId":"a","timestamp":"2026-01-15T09:30:01.000Z","more":{"x":1}}"#;
    let injected = r#"{"type":"message","id":"c","timestamp":"2026-01-15T09:30:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"injected"}],"timestamp":3,"stopReason":"injected","usage":{"input":0,"output":0,"totalTokens":0}}}"#;
    let (a, b, c) = (line("a", "", "one"), line("b", "a", "two"), line("c", "b", "three"));
    let first = r#"{"type":"session","id":"v1","timestamp":"2025-06-01T00:00:00.000Z","cwd":"/w"}"#;
    let second = header.replace("\"version\":3", "\"version\":2");
    let plain = |text: &str| {
        format!(
            r#"{{"type":"message","timestamp":"2025-06-01T00:00:01.000Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
        )
    };
    let by_index = r#"{"type":"compaction","timestamp":"2025-06-01T00:00:02.000Z","summary":"Before.","firstKeptEntryIndex":2,"tokensBefore":5}"#;
    let hook = r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-15T09:30:01.000Z","message":{"role":"hookMessage","customType":"note","content":"from a hook","display":true,"timestamp":2}}"#;
    let lines = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    vec![
        ("spaces and numbers", lines(&[header, &a, spaced, &c])),
        ("half of a surrogate pair", lines(&[header, &a, surrogate, &c])),
        ("entries of an unknown type", lines(&[header, &a, unknown, &c])),
        ("a line without a parent", lines(&[header, &a, &b, injected])),
        ("carriage returns", lines(&[header, &a, &b, &c]).replace('\n', "\r\n")),
        ("a byte order mark", format!("\u{feff}{}", lines(&[header, &a, &b]))),
        ("a last line without its end", format!("{}{c}", lines(&[header, &a, &b]))),
        ("a last line cut off", format!("{}{}", lines(&[header, &a, &b]), c.get(..40).unwrap_or_default())),
        ("lines that are no JSON", lines(&[header, "", "garbage", &a, "{\"type\":", &b, "   ", &c])),
        ("parents that do not exist", lines(&[header, &a, &line("b", "nowhere", "two"), &c])),
        ("two entries of one id", lines(&[header, &a, &b, &line("b", "a", "two again"), &c])),
        ("a second header", lines(&[header, &a, header, &b])),
        ("a header alone", lines(&[header])),
        ("version 1", lines(&[first, &plain("one"), &plain("two"), by_index, &plain("three")])),
        ("version 2", lines(&[&second, &a, hook, &c])),
    ]
}

/// Records of sessions of many kinds, key and record, as JSON text.
pub fn records() -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "agent:main:main",
            r#"{"sessionId":"s-main","updatedAt":1768469400000,"systemSent":true,"abortedLastRun":false,"thinkingLevel":"high","inputTokens":1234,"outputTokens":56,"totalTokens":1290,"contextTokens":200000,"model":"claude-opus-4-5","modelProvider":"anthropic","compactionCount":2}"#,
        ),
        (
            "agent:main:telegram:dm:42",
            r#"{"sessionId":"s-42","updatedAt":1768469400001,"chatType":"direct","channel":"telegram","lastChannel":"telegram","lastTo":"telegram:42","lastAccountId":"default","deliveryContext":{"channel":"telegram","to":"telegram:42","accountId":"default"},"origin":{"label":"Ünï 🦀","provider":"telegram","from":"telegram:42","to":"telegram:bot","accountId":"default"}}"#,
        ),
        (
            "agent:main:telegram:group:-100:topic:7",
            r#"{"sessionId":"s-topic","updatedAt":1768469400002,"chatType":"group","groupId":"-100","subject":"Küche\nund \"Bad\"","groupActivation":"always","lastThreadId":7,"deliveryContext":{"channel":"telegram","to":"-100","threadId":7}}"#,
        ),
        (
            "agent:main:discord:channel:9",
            r##"{"sessionId":"s-9","updatedAt":1768469400003.5,"chatType":"channel","groupChannel":"#general","space":"Crab","queueMode":"collect","queueDebounceMs":500,"queueCap":20,"queueDrop":"old","sendPolicy":"deny"}"##,
        ),
        (
            "agent:main:subagent:1",
            r#"{"sessionId":"s-sub","updatedAt":0,"spawnedBy":"agent:main:main","label":"Worker","lastThreadId":"t-1","lastTo":" spaced ","lastChannel":"whatsapp"}"#,
        ),
        (
            "global",
            r#"{"sessionId":"s-global","updatedAt":1768469400004,"verboseLevel":"on","reasoningLevel":"off","elevatedLevel":"ask","responseUsage":"tokens"}"#,
        ),
        (
            "odd: key / with \\ and 🦀",
            r#"{"sessionId":"s-odd","updatedAt":1768469400005,"unknownField":{"nested":[1,2.5,-0,1e21,1e-7,null,true,{"deep":[]}]},"nothing":null,"empty":"","10":"ten","2":"two","label":"\u2028 and \u0001"}"#,
        ),
        (
            "agent:main:skills",
            r#"{"sessionId":"s-skills","updatedAt":1768469400006,"skillsSnapshot":{"prompt":"<skills>\n</skills>","skills":[{"name":"a","primaryEnv":"KEY"}],"version":3},"cliSessionIds":{"claude-cli":"c-1"},"claudeCliSessionId":"c-1","systemPromptReport":{"source":"run","generatedAt":1,"systemPrompt":{"chars":10,"projectContextChars":0,"nonProjectContextChars":10},"injectedWorkspaceFiles":[],"skills":{"promptChars":0,"entries":[]},"tools":{"listChars":0,"schemaChars":0,"entries":[]}}}"#,
        ),
    ]
}

/// Stores as others leave them.
pub fn foreign_stores() -> Vec<(&'static str, &'static str)> {
    vec![
        ("nothing in it", "{}"),
        (
            "fields of older versions",
            r#"{"a":{"sessionId":"1","updatedAt":1,"provider":"telegram","lastProvider":"telegram","lastTo":"42","room":"r"},"b":{"sessionId":"2","updatedAt":2,"provider":"x","channel":"discord","room":"r","groupChannel":"g"}}"#,
        ),
        (
            "records that are none",
            r#"{"a":null,"b":5,"c":"text","d":[1],"e":{"sessionId":"e","updatedAt":5},"f":false}"#,
        ),
        ("a record without a session", r#"{"a":{"updatedAt":1},"b":{"sessionId":null,"label":"x"},"c":{}}"#),
        (
            "JSON with comments",
            "\u{feff}// a comment\n{a: {sessionId: 'it\\'s', updatedAt: 0x10, label: \"x\",}, /* more */ 'b c': {sessionId: 'b', updatedAt: +1.5e3,},}\n",
        ),
        (
            "half of a surrogate pair",
            r#"{"a":{"sessionId":"a","updatedAt":1,"label":"half \ud83d of one","\udc00":"\udbff"}}"#,
        ),
        (
            "keys that are numbers",
            r#"{"b":{"sessionId":"b","updatedAt":1},"10":{"sessionId":"10","updatedAt":2},"2":{"sessionId":"2","updatedAt":3}}"#,
        ),
        (
            "keys that prototypes have",
            r#"{"constructor":{"sessionId":"c","updatedAt":1},"toString":{"sessionId":"t","updatedAt":2}}"#,
        ),
        (
            "a key twice",
            r#"{"a":{"sessionId":"1","updatedAt":1},"b":{"sessionId":"b","updatedAt":2},"a":{"sessionId":"2","updatedAt":3,"label":"later","label":"last"}}"#,
        ),
    ]
}

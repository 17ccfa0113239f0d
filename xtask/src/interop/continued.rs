//! One conversation of both: begun by the real OpenClaw, continued by yabby, and again by OpenClaw.
//!
//! Both ask the same stand-in for a model, so that what each of them tells it can be held side by side.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::transcripts::{ensure_same_reading, reading};
use super::{Stage, Told};
use crate::peer::Peer;
use crate::program::{Build, built, yabby};
use crate::reference::state_folder;

pub fn in_anthropic_messages(stage: &Stage, judge: &mut Peer) -> Told {
    held(stage, judge, Format::Anthropic)
}

pub fn in_openai_chat(stage: &Stage, judge: &mut Peer) -> Told {
    held(stage, judge, Format::OpenAiChat)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Anthropic,
    OpenAiChat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Who {
    OpenClaw,
    Yabby,
}

/// A question, and what the model says to it: a tool that it calls, and its answer.
struct Turn {
    who: Who,
    question: &'static str,
    call: Option<(&'static str, &'static str)>,
    /// What the tool finds, among other things.
    result: &'static str,
    answer: &'static str,
}

const NOTE: &str = "Feed the crabs 🦀 at \"five\".\n\tTwice.\n";

const TURNS: [Turn; 5] = [
    Turn {
        who: Who::OpenClaw,
        question: "What does the note say? 🦀",
        call: Some(("read", "{\"path\":\"note.md\"}")),
        result: "at \"five\".\n\tTwice.",
        answer: "It says:\n\n> Feed the crabs 🦀",
    },
    Turn {
        who: Who::Yabby,
        question: "Which files\nare there?",
        call: Some(("list_files", "{}")),
        result: "note.md",
        answer: "The note, among others.",
    },
    Turn {
        who: Who::OpenClaw,
        question: "Read it again, please.",
        call: Some(("read", "{\"path\":\"note.md\",\"limit\":1}")),
        result: "Feed the crabs 🦀 at \"five\".",
        answer: "Still the crabs.",
    },
    Turn {
        who: Who::Yabby,
        question: "And once more?",
        call: Some(("read", "{\"path\":\"missing.md\"}")),
        result: "missing.md",
        answer: "That one is not there.",
    },
    Turn { who: Who::OpenClaw, question: "Thank you.", call: None, result: "", answer: "You are welcome." },
];

fn held(stage: &Stage, judge: &mut Peer, format: Format) -> Told {
    let stand_in = built("yabby-testkit", "model_stand_in", Build::Quick)?;
    let mut room = Peer::start("the stand-in", &mut stage.reference.with_loopback(&stand_in, &stage.home))?;
    let address = room.ask(&json!({"do": "address"}))?;
    prepare(stage, format, address.as_str().context("it is somewhere")?)?;
    let programs = [yabby(Build::Quick)?, stage.reference.node()];
    let openclaw = stage.reference.package().join("openclaw.mjs");
    let (mut worker, mut files, mut known) = (stage.yabby()?, Vec::new(), Vec::new());
    let mut told = Vec::new();
    for (number, turn) in TURNS.iter().enumerate() {
        let id = format.call_id(number);
        let call = turn.call.map(|(name, arguments)| json!({"call": [id, name, arguments]}));
        let answers: Vec<Value> = call.into_iter().chain([json!({"text": turn.answer})]).collect();
        let asked = answers.len();
        room.ask(&json!({"do": "will", "format": format.name(), "answers": answers}))?;
        let words = ["agent", "--local", "--agent", "main", "--json", "-m", turn.question];
        let (program, script) = match turn.who {
            Who::Yabby => (&programs[0], None),
            Who::OpenClaw => (&programs[1], openclaw.to_str()),
        };
        let arguments: Vec<&str> = script.into_iter().chain(words).collect();
        let ran = room.ask(&json!({"do": "run", "program": program, "arguments": arguments}))?;
        let context = || format!("turn {number}, of {:?}", turn.who);
        ensure!(ran["status"] == 0, "{}: {ran:#}", context());
        ensure!(
            ran["stdout"].as_str().is_some_and(|text| text.contains(&json!(turn.answer).to_string())),
            "{}: {ran:#}",
            context()
        );
        let seen = room.ask(&json!({"do": "seen"}))?;
        let seen = seen.as_array().context("requests are told")?;
        ensure!(seen.len() == told.len() + asked, "{}: {} requests", context(), seen.len());
        for request in &seen[told.len()..] {
            told.push(format.told(request));
            ensure_continues(&told).with_context(context)?;
        }
        // What the model was told is what it said and was asked, and nothing else.
        let last = told.last().context("there was a request")?;
        known.push(Piece::said("user", turn.question));
        if let Some((name, arguments)) = turn.call {
            let arguments = serde_json::from_str(arguments)?;
            known.push(Piece::Call { id: id.clone(), name: name.to_owned(), arguments });
            let result = last.iter().rev().find(|piece| matches!(piece, Piece::Result { .. }));
            let result = result.context("a tool was called")?;
            ensure!(matches!(result, Piece::Result { text, .. } if text.contains(turn.result)), "{result:?}");
            known.push(result.clone());
        }
        ensure_known(&known, last).with_context(context)?;
        known.push(Piece::said("assistant", turn.answer));
        let file = transcript(stage).with_context(context)?;
        if !files.contains(&file) {
            files.push(file.clone());
        }
        let file = stage.folder()?.join(file);
        ensure_same_reading(&reading(&mut worker, &file)?, &reading(judge, &file)?).with_context(context)?;
    }
    ensure!(files.len() == 1, "the conversation is in {files:?}");
    room.end()?;
    Ok(format!("{} turns, {} requests", TURNS.len(), told.len()))
}

/// The configuration of both, and what the tools find.
pub(super) fn prepare(stage: &Stage, format: Format, address: &str) -> Result<()> {
    let (state, workspace) = (state_folder(&stage.home), stage.home.join("workspace"));
    fs::create_dir_all(&state)?;
    fs::create_dir_all(&workspace)?;
    fs::write(workspace.join("note.md"), NOTE)?;
    let config = config(format, address, &workspace);
    Ok(fs::write(state.join("openclaw.json"), config.to_string())?)
}

/// A configuration with the stand-in as the only model.
pub(super) fn config(format: Format, address: &str, workspace: &Path) -> Value {
    let (api, path) = match format {
        Format::Anthropic => ("anthropic-messages", ""),
        Format::OpenAiChat => ("openai-completions", "/v1"),
    };
    let model = json!({
        "id": "stub", "name": "stub", "reasoning": false, "input": ["text"], "contextWindow": 200_000, "maxTokens": 4096,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    });
    let provider =
        json!({"baseUrl": format!("{address}{path}"), "apiKey": "none", "api": api, "models": [model]});
    json!({
        "models": {"providers": {"stub": provider}},
        "agents": {"defaults": {"model": {"primary": "stub/stub"}, "workspace": workspace, "skipBootstrap": true}},
    })
}

/// The one transcript that there is, by the record of the session.
fn transcript(stage: &Stage) -> Result<String> {
    let folder = stage.folder()?;
    let store: Value = serde_json::from_str(&fs::read_to_string(folder.join("sessions.json"))?)?;
    let id = store["agent:main:main"]["sessionId"].as_str().context("the session is on record")?;
    let file = format!("{id}.jsonl");
    let there: Vec<String> = crate::snapshot::names(&folder)?;
    let there: Vec<&String> =
        there.iter().filter(|name| Path::new(name).extension().is_some_and(|end| end == "jsonl")).collect();
    ensure!(there == [&file], "{file} is not the only transcript: {there:?}");
    Ok(file)
}

/// A part of what a model is told, whatever it looks like on the wire.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Said { role: String, text: String },
    Call { id: String, name: String, arguments: Value },
    Result { id: String, text: String },
}

impl Piece {
    fn said(role: &str, text: &str) -> Self {
        Self::Said { role: role.to_owned(), text: text.to_owned() }
    }
}

/// The last request begins as the one before it ended, whoever sent them.
fn ensure_continues(told: &[Vec<Piece>]) -> Result<()> {
    if let [.., before, last] = told {
        ensure!(last.starts_with(before), "the context changed from {before:#?}\nto {last:#?}");
    }
    Ok(())
}

/// The same pieces; OpenClaw may put the time in front of what was asked.
fn ensure_known(known: &[Piece], told: &[Piece]) -> Result<()> {
    let same = |(known, told): (&Piece, &Piece)| match (known, told) {
        (Piece::Said { role: a, text: known }, Piece::Said { role: b, text: told }) => {
            a == b && (known == told || a == "user" && told.ends_with(known))
        }
        _ => known == told,
    };
    ensure!(
        known.len() == told.len() && known.iter().zip(told).all(same),
        "the model was told {told:#?}\ninstead of {known:#?}"
    );
    Ok(())
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAiChat => "openai-chat",
        }
    }

    fn call_id(self, number: usize) -> String {
        match self {
            Self::Anthropic => format!("toolu_0{number}"),
            Self::OpenAiChat => format!("call_0{number}"),
        }
    }

    /// What a request tells of the conversation: no prompt of the system, no tools, no cache markers.
    fn told(self, request: &Value) -> Vec<Piece> {
        let messages = request["messages"].as_array().into_iter().flatten();
        match self {
            Self::Anthropic => messages.flat_map(anthropic).collect(),
            Self::OpenAiChat => messages.flat_map(openai_chat).collect(),
        }
    }
}

fn anthropic(message: &Value) -> Vec<Piece> {
    let role = word(&message["role"]);
    let piece = |block: &Value| match block["type"].as_str() {
        Some("tool_use") => Piece::Call {
            id: word(&block["id"]),
            name: word(&block["name"]),
            arguments: block["input"].clone(),
        },
        Some("tool_result") => {
            Piece::Result { id: word(&block["tool_use_id"]), text: text(&block["content"]) }
        }
        _ => Piece::Said { role: role.clone(), text: word(&block["text"]) },
    };
    match &message["content"] {
        Value::Array(blocks) => blocks.iter().map(piece).collect(),
        content => vec![Piece::Said { role, text: word(content) }],
    }
}

fn openai_chat(message: &Value) -> Vec<Piece> {
    let content = text(&message["content"]);
    match message["role"].as_str().unwrap_or_default() {
        "system" | "developer" => Vec::new(),
        "tool" => vec![Piece::Result { id: word(&message["tool_call_id"]), text: content }],
        role => {
            let said = (!content.is_empty()).then(|| Piece::said(role, &content));
            let call = |call: &Value| Piece::Call {
                id: word(&call["id"]),
                name: word(&call["function"]["name"]),
                arguments: serde_json::from_str(&word(&call["function"]["arguments"])).unwrap_or_default(),
            };
            let calls = message["tool_calls"].as_array().into_iter().flatten().map(call);
            said.into_iter().chain(calls).collect()
        }
    }
}

/// A text, or blocks of it.
fn text(content: &Value) -> String {
    match content {
        Value::Array(blocks) => blocks.iter().map(|block| word(&block["text"])).collect(),
        content => word(content),
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

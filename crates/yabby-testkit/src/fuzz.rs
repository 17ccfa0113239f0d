//! What the fuzz targets check. Each takes any bytes and must neither panic nor run away; the test
//! suite replays the corpora in `fuzz/corpus` through the same functions.

use std::collections::HashSet;

use yabby_domain::command;
use yabby_domain::config::Config;
use yabby_domain::directive::level::{ThinkLevel, take_level};
use yabby_domain::directive::{Circumstances, Directives};
use yabby_domain::json::Value;
use yabby_domain::reply::parse::ParsedReply;
use yabby_domain::reply::tokens::SILENT_TOKEN;
use yabby_domain::session::key::{KeyPolicy, SessionKey, parse_agent_key};
use yabby_domain::session::salvage::Survey;
use yabby_domain::session::store_text::{parse_store, store_text};
use yabby_domain::transcript::Stamp;
use yabby_domain::transcript::context::for_model;
use yabby_domain::transcript::header::NewSession;
use yabby_domain::transcript::mend::{Mend, mend};
use yabby_domain::transcript::tree::Transcript;
use yabby_domain::transcript::{damage, file_repair, listing, preview};

/// A fuzz target and the function behind it.
pub type Target = (&'static str, fn(&[u8]));

/// Every target; each has a file in `fuzz/fuzz_targets` and a folder in `fuzz/corpus`.
pub const TARGETS: [Target; 5] = [
    ("frames", frames),
    ("keys", keys),
    ("store_text", store),
    ("transcript_lines", transcript_lines),
    ("directives", directives),
];

/// Any frame is taken or refused; a refusal is a response that clients can read, and not endless.
pub fn frames(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(response) = yabby_gateway::response_to_fault(&text) {
        assert!(response.len() <= 120_000 + 8 * text.len(), "a refusal of {} bytes", response.len());
        // A text may hold half a character, as JavaScript's may.
        let response: Value = yabby_domain::json::parse(&response).unwrap_or_default();
        assert_eq!((&response["type"], &response["ok"]), (&"res".into(), &false.into()));
        assert_eq!(response["error"]["code"], "INVALID_REQUEST");
        assert!(response["error"]["message"].as_str().is_some_and(|message| message.starts_with("invalid ")));
    }
}

/// A key keeps its text, and a key below an agent's key belongs to the same agent.
pub fn keys(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let key = SessionKey::new(text.as_ref());
    assert_eq!(key.as_str(), text);
    let _ = (
        key.agent_id(),
        key.is_subagent(),
        key.is_acp(),
        key.thread_parent(),
        key.kind(None),
        key.for_request(),
    );
    if let Some(parsed) = parse_agent_key(&text) {
        // A rest of nothing but white space is a rest, though trimming the key would take it away.
        let below = format!("agent:{}:{}:x", parsed.agent, parsed.rest);
        assert_eq!(parse_agent_key(&below).map(|again| again.agent), Some(parsed.agent));
    }
    let stored = KeyPolicy::default().store_key(&text);
    assert_eq!(KeyPolicy::default().store_key(stored.as_str()), stored);
}

/// What was read can be written, and writing settles: the second text reads back as itself.
pub fn store(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let survey = Survey::of(&text);
    if let Some(store) = parse_store(&text) {
        let found: HashSet<&str> = survey.records.iter().map(|found| found.key.as_str()).collect();
        assert_eq!(found, store.keys().map(String::as_str).collect());
        let settled = store_text(&parse_store(&store_text(&store)).unwrap_or_default());
        assert_eq!(parse_store(&settled).map(|store| store_text(&store)), Some(settled));
    }
}

/// Any file can be read, repaired and shown, and gives messages for a model.
pub fn transcript_lines(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = (file_repair::repair(Some(&text)), listing::listing(&text));
    let _ = (preview::first_user_message(bytes), preview::last_message(bytes), preview::messages(&text));
    let _ = damage::inspect(bytes).iter().map(ToString::to_string).count();
    mended(bytes);
    // A body without a header is a file, too: put one in front and read it again.
    let with_header = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{text}");
    for file in [text.as_ref(), &with_header] {
        if let Some(transcript) = Transcript::read(file) {
            let context = transcript.context();
            let _ = (
                for_model(context.messages),
                transcript.labels(),
                transcript.name(),
                transcript.tree().roots().count(),
            );
        }
    }
}

/// What was mended needs no mending, and has none of the damage that mending is for.
fn mended(bytes: &[u8]) {
    let mut count = 0;
    let mut fresh_id = || {
        count += 1;
        format!("{count:08}-fresh")
    };
    let mut stamp = Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut fresh_id };
    let session = NewSession { id: "s", cwd: "/", parent: None };
    let Mend::Replace(mended) = mend(bytes, session, &mut stamp) else { return };
    assert_eq!(mend(&mended.text, session, &mut stamp), Mend::Nothing);
    for damage in damage::inspect(&mended.text) {
        use damage::DamageKind::{CutOff, NoEntry, NoHeader, NotJson, Unterminated};
        assert!(!matches!(damage.kind, CutOff | NoEntry | NoHeader | NotJson | Unterminated), "{damage}");
    }
}

/// Directives, commands and reply tags are found or not; taking one out leaves less.
pub fn directives(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(found) = take_level::<ThinkLevel>(&text) {
        assert!(found.rest.len() < text.len());
    }
    let aliases = ["opus".to_owned()];
    let taken = Directives::take(&text, &aliases, true);
    let _ = taken.in_effect(Circumstances::default(), &aliases, str::to_owned);
    let _ = command::is_control_message(&text, &Config::new(Value::Null), Some("bot"));
    let _ = ParsedReply::of(&text, Some("1"), SILENT_TOKEN);
}

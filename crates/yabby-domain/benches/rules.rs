//! How long the rules take that every message goes through. `cargo xtask bench rules`.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::reply::build::{Streamed, TurnReply, build};
use yabby_domain::reply::duplicates::ReplyOrigin;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::reply::threading::ReplyToMode;
use yabby_domain::route::{Peer, Routes, Source};
use yabby_domain::session::freshness::{ResetMode, ResetPolicy, freshness};
use yabby_domain::session::key::{PeerKind, SessionKey};
use yabby_domain::transcript::tree::Transcript;

fn main() {
    key();
    fresh();
    routing();
    context();
    payloads();
}

/// How long a rule is measured.
const LONG: Duration = Duration::from_millis(600);
/// How often it is timed in that time; the median counts.
const SAMPLES: u32 = 30;

/// Prints what one call of `rule` takes.
fn measure<T>(name: &str, mut rule: impl FnMut() -> T) {
    let begun = Instant::now();
    black_box(rule());
    let once = begun.elapsed().max(Duration::from_nanos(1));
    let calls = (LONG.as_nanos() / u128::from(SAMPLES) / once.as_nanos()).clamp(1, 1_000_000) as u32;
    let samples = if calls == 1 { 5 } else { SAMPLES };
    let mut times: Vec<f64> = (0..samples)
        .map(|_| {
            let begun = Instant::now();
            (0..calls).for_each(|_| drop(black_box(rule())));
            begun.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:<60} {:>14.1} ns", times[times.len() / 2]);
}

fn key() {
    let key = SessionKey::new("agent:main:slack:channel:c0123456789:thread:1699.0001");
    measure("key: agent, kind and thread parent", || {
        (black_box(&key).agent_id(), key.kind(None), key.thread_parent())
    });
}

fn fresh() {
    let zone = TimeZone::get("America/New_York").expect("a known zone");
    let policy = ResetPolicy { mode: ResetMode::Daily, at_hour: 4, idle_minutes: Some(120.0) };
    measure("freshness: daily and idle, New York", || {
        freshness(Some(black_box(1_770_119_940_000.0)), 1_770_120_000_000.0, &policy, &zone)
    });
}

fn routing() {
    let bindings: Vec<_> = (0..100)
        .map(|i| json!({"agentId": format!("a{i}"), "match": {"channel": "discord", "accountId": "*", "peer": {"kind": "channel", "id": format!("c{i}")}}}))
        .collect();
    let agents: Vec<_> = (0..100).map(|i| json!({"id": format!("a{i}")})).collect();
    let config = Config::new(json!({"agents": {"list": agents}, "bindings": bindings}));
    let routes = Routes::from_config(&config);
    let source = |id: &str| Source {
        channel: "discord",
        account: "default",
        peer: Some(Peer { kind: PeerKind::Channel, id: id.to_owned() }),
        ..Source::default()
    };
    let (last, none) = (source("c99"), source("elsewhere"));
    measure("routing: 100 bindings, the last one matches", || routes.resolve(black_box(&last)));
    measure("routing: 100 bindings, none matches", || routes.resolve(black_box(&none)));
}

/// A conversation of `count` entries; `compaction` is how far from the end a compaction stands.
fn transcript(count: usize, compaction: Option<usize>) -> String {
    let mut file = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-02-03T12:00:00.000Z\",\"cwd\":\"/\"}\n",
    );
    for i in 0..count {
        let parent = if i == 0 { "null".to_owned() } else { format!("\"e{}\"", i - 1) };
        let head =
            format!("\"id\":\"e{i}\",\"parentId\":{parent},\"timestamp\":\"2026-02-03T12:00:00.000Z\"");
        let line = match (compaction == Some(count - i), i % 2) {
            (true, _) => format!(
                "{{\"type\":\"compaction\",{head},\"summary\":\"What was said so far.\",\"firstKeptEntryId\":\"e{}\",\"tokensBefore\":1000}}",
                i - 10
            ),
            (_, 0) => format!(
                "{{\"type\":\"message\",{head},\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"Question number {i}, with a few more words to it.\"}}],\"timestamp\":1770120000000}}}}"
            ),
            _ => format!(
                "{{\"type\":\"message\",{head},\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"Answer number {i}: it depends, as it always does.\"}}],\"api\":\"anthropic-messages\",\"provider\":\"anthropic\",\"model\":\"claude-opus-4-5\",\"usage\":{{\"input\":10,\"output\":5,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":15}},\"stopReason\":\"stop\",\"timestamp\":1770120000000}}}}"
            ),
        };
        let _ = writeln!(file, "{line}");
    }
    file
}

fn context() {
    const ENTRIES: usize = 200_000;
    for (name, compaction) in [("a compaction near the end", Some(50)), ("no compaction", None)] {
        let file = transcript(ENTRIES, compaction);
        measure(&format!("context: 200,000 entries, read the file, {name}"), || {
            Transcript::read(black_box(&file))
        });
        let transcript = Transcript::read(&file).expect("a transcript");
        measure(&format!("context: 200,000 entries, build, {name}"), || {
            black_box(&transcript).context().messages.len()
        });
    }
}

fn payloads() {
    let texts = [
        "Here is the picture you asked for.\nMEDIA:./out/plot.png\n\nIt shows the last twelve months.",
        "[[reply_to_current]] And the second part, which answers your message directly.",
        "HEARTBEAT_OK",
    ];
    let turn = TurnReply {
        is_heartbeat: false,
        mode: ReplyToMode::First,
        channel: Some("telegram"),
        current_message: Some("4711"),
        streamed: Streamed::Some(&[]),
        origin: ReplyOrigin::default(),
        tool_texts: &["A text that the messaging tool sent before.".to_owned()],
        tool_targets: &[],
    };
    measure("payloads: three texts with tags and media", || {
        build(texts.iter().map(|text| ReplyPayload::from_text(*text)).collect(), &turn)
    });
}

//! `queue.json`.

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::inbound::ThreadId;
use yabby_domain::json::{self as js, Object, Value};
use yabby_domain::queue::directive::{QueueDirective, Written};
use yabby_domain::queue::followup::{
    Dedupe, Drain, FollowupQueue, FollowupRoute, FollowupRun, Waiting, elide,
};
use yabby_domain::queue::{DropPolicy, QueueMode, QueueSettings, QueueWishes};
use yabby_domain::session::entry::SessionEntry;

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "queue.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    let raw = || case.text("raw").unwrap_or_default();
    Some(match case.rule.as_str() {
        "normalizeQueueMode" => QueueMode::parse(raw()).map(QueueMode::as_str).into(),
        "normalizeQueueDropPolicy" => DropPolicy::parse(raw()).map(DropPolicy::as_str).into(),
        "resolveQueueSettings" => resolved(case),
        "extractQueueDirective" => extracted(case.text("body").unwrap_or_default()),
        "followupQueue" => drained(case),
        "elideQueueText" => {
            let limit = case.arg("limit").as_f64().map_or(140, at_least_zero);
            elide(case.text("text").unwrap_or_default(), limit).into()
        }
        _ => return None,
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn at_least_zero(number: f64) -> usize {
    number as usize
}

fn resolved(case: &Case) -> Value {
    let options = case.arg("inlineOptions");
    let inline = QueueWishes {
        mode: case.text("inlineMode").and_then(QueueMode::parse),
        debounce_ms: options.get("debounceMs").and_then(Value::as_f64),
        cap: options.get("cap").and_then(Value::as_f64),
        drop: options.get("dropPolicy").and_then(Value::as_str).and_then(DropPolicy::parse),
    };
    let entry = SessionEntry::new(case.arg("sessionEntry").as_object().cloned().unwrap_or_default());
    let config = Config::new(case.arg("cfg").clone());
    let session = QueueWishes::from_session(&entry);
    let settings = QueueSettings::resolve(&inline, &session, &config, case.text("channel"));
    json!({
        "mode": settings.mode.as_str(),
        "debounceMs": js::number(settings.debounce_ms),
        "cap": settings.cap,
        "dropPolicy": settings.drop.as_str(),
    })
}

fn extracted(body: &str) -> Value {
    let QueueDirective { rest, request } = QueueDirective::extract(body);
    let found = request.is_some();
    let request = request.unwrap_or_default();
    let mut object = Object::new();
    object.insert("cleaned".into(), rest.into());
    object.insert("hasDirective".into(), found.into());
    object.insert("queueReset".into(), request.reset.into());
    object.insert("hasOptions".into(), request.has_options().into());
    let mut set = |raw_name: &str, name: &str, written: Option<Written<Value>>| {
        if let Some(Written { raw, value }) = written {
            object.insert(raw_name.into(), raw.into());
            object.extend(value.map(|value| (name.to_owned(), value)));
        }
    };
    set("rawMode", "queueMode", as_value(request.mode, |mode| mode.as_str().into()));
    set("rawDebounce", "debounceMs", as_value(request.debounce_ms, Value::from));
    set("rawCap", "cap", as_value(request.cap, js::number));
    set("rawDrop", "dropPolicy", as_value(request.drop, |drop| drop.as_str().into()));
    Value::Object(object)
}

fn as_value<T>(written: Option<Written<T>>, value: impl Fn(T) -> Value) -> Option<Written<Value>> {
    written.map(|written| Written { raw: written.raw, value: written.value.map(value) })
}

fn drained(case: &Case) -> Value {
    let given = case.arg("settings");
    let text = |field: &str| given.get(field).and_then(Value::as_str).unwrap_or_default();
    let number = |field: &str| given.get(field).and_then(Value::as_f64);
    let settings = QueueSettings {
        mode: QueueMode::parse(text("mode")).unwrap_or(QueueMode::Collect),
        debounce_ms: number("debounceMs").unwrap_or(1000.0).max(0.0),
        cap: number("cap").filter(|cap| *cap > 0.0).map_or(20, at_least_zero),
        drop: DropPolicy::parse(text("dropPolicy")).unwrap_or(DropPolicy::Summarize),
    };
    let dedupe = match case.text("dedupe") {
        Some("none") => Dedupe::Never,
        Some("prompt") => Dedupe::ByPrompt,
        _ => Dedupe::ByMessageId,
    };
    let mut queue = FollowupQueue::new(settings);
    let items = case.arg("items").as_array().into_iter().flatten();
    let enqueued: Vec<bool> = items.map(|item| queue.enqueue(waiting(item), dedupe, 0.0)).collect();
    let (dropped, summary) = queue.dropped();
    let state = json!({
        "prompts": queue.waiting().map(|message| message.prompt.as_str()).collect::<Vec<_>>(),
        "droppedCount": dropped,
        "summaryLines": summary.collect::<Vec<_>>(),
        "mode": queue.settings().mode.as_str(),
        "cap": queue.settings().cap,
        "dropPolicy": queue.settings().drop.as_str(),
        "debounceMs": js::number(queue.settings().debounce_ms),
    });
    let mut runs = Vec::new();
    let mut now = 0.0;
    loop {
        match queue.drain(now) {
            Drain::Done => break,
            Drain::Wait(until) => now = until,
            Drain::Run(run) => runs.push(recorded(run)),
        }
    }
    json!({ "enqueued": enqueued, "state": state, "runs": runs })
}

fn waiting(item: &Value) -> Waiting<Value> {
    let text = |field: &str| item.get(field).and_then(Value::as_str).map(str::to_owned);
    Waiting {
        prompt: text("prompt").unwrap_or_default(),
        message_id: text("messageId"),
        summary_line: text("summaryLine"),
        route: FollowupRoute {
            channel: text("originatingChannel"),
            to: text("originatingTo"),
            account: text("originatingAccountId"),
            thread: item.get("originatingThreadId").and_then(ThreadId::from_value),
        },
        run: item.get("run").cloned().unwrap_or_default(),
    }
}

fn recorded(run: FollowupRun<Value>) -> Value {
    let mut object = Object::new();
    object.insert("prompt".into(), run.prompt.into());
    object.insert("run".into(), run.run);
    let route = run.route;
    object.extend(route.channel.map(|channel| ("originatingChannel".into(), channel.into())));
    object.extend(route.to.map(|to| ("originatingTo".into(), to.into())));
    object.extend(route.account.map(|account| ("originatingAccountId".into(), account.into())));
    object.extend(route.thread.map(|thread| ("originatingThreadId".into(), thread.to_value())));
    Value::Object(object)
}

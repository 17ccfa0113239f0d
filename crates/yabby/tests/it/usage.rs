//! `yabby usage`.

use jiff::Timestamp;
use serde_json::json;
use yabby_domain::ledger::CallRecord;

use crate::home::{Home, MAIN};

fn call(days_ago: i64, session: &str, model: &str, cost: Option<f64>) -> CallRecord {
    CallRecord {
        at: Timestamp::now().as_millisecond() - days_ago * 24 * 3_600_000,
        session_key: session.to_owned(),
        session_id: if session == "agent:main:main" { MAIN.to_owned() } else { "gone".to_owned() },
        agent: session.split(':').nth(1).unwrap_or_default().to_owned(),
        provider: "acme".to_owned(),
        model: model.to_owned(),
        input: 1000,
        cache_read: 3000,
        output: 200,
        cost,
        ..CallRecord::default()
    }
}

fn home(calls: &[CallRecord]) -> Home {
    let home = Home::with(&json!({"agent:main:main": {"sessionId": MAIN, "updatedAt": 1, "label": "Home"}}));
    for call in calls {
        let file = format!(".openclaw/usage/{}.jsonl", call.month());
        let before = std::fs::read_to_string(home.path().join(&file)).unwrap_or_default();
        home.write(&file, &format!("{before}{}\n", call.line()));
    }
    home
}

fn sample() -> Home {
    home(&[
        call(0, "agent:main:main", "small", Some(0.25)),
        call(0, "agent:main:main", "large", Some(1.5)),
        call(40, "agent:main:main", "small", Some(9.0)),
        call(1, "agent:work:main", "free", None),
    ])
}

#[test]
fn calls_are_summed_up_by_what_is_asked() {
    let home = sample();
    let day = home.out(&["usage"]);
    assert!(
        day.starts_with("3 calls in the last 30 days: 12k in (75% cached), 600 out, $1.75\nDay "),
        "{day}"
    );
    assert_eq!(day.lines().count(), 5, "{day}");
    assert!(day.contains("1 call without a known price"), "{day}");
    let model = home.out(&["usage", "--by", "model"]);
    let first: Vec<&str> = model.lines().skip(1).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(first[..4], ["Model", "acme/large", "acme/small", "acme/free"], "{model}");
    assert!(model.contains("acme/free       1  4.0k     75%  200      ?"), "{model}");
    let session = home.json(&["usage", "--by", "session", "--days", "60"]);
    assert_eq!(session["by"], "session");
    assert_eq!(session["totals"]["calls"], 4);
    assert_eq!(session["rows"][0]["name"], "agent:main:main");
    assert_eq!(session["rows"][0]["cost"], 10.75);
    assert_eq!(session["rows"][0]["cacheShare"], 0.75);
}

#[test]
fn calls_can_be_asked_for_by_time_agent_and_session() {
    let home = sample();
    let calls = |arguments: &[&str]| home.json(&[&["usage"], arguments].concat())["totals"]["calls"].clone();
    //  arguments                                   calls
    let table: [(&[&str], i64); 8] = [
        (&["--days", "1"], 2),
        (&["--days", "41"], 4),
        (&["--since", "2020-01-01"], 4),
        (&["--agent", "work"], 1),
        (&["--agent", "nobody"], 0),
        (&["--session", "main"], 2),
        (&["--session", "home"], 2),
        (&["--session", "gone"], 1),
    ];
    for (arguments, count) in table {
        assert_eq!(calls(arguments), count, "{arguments:?}");
    }
    for wrong in [&["--days", "0"][..], &["--days", "x"], &["--since", "soon"], &["--by", "week"]] {
        assert!(home.refusal(&[&["usage"], wrong].concat()).starts_with("error: option '--"), "{wrong:?}");
    }
}

#[test]
fn nothing_used_is_said_so() {
    let home = Home::empty();
    assert_eq!(home.out(&["usage"]), "No model was called in the last 30 days.\n");
    assert_eq!(home.out(&["usage", "--days", "1"]), "No model was called in the last 1 day.\n");
    assert_eq!(home.json(&["usage"])["rows"], json!([]));
}

#[test]
fn damaged_lines_are_told_and_do_not_count() {
    let call = call(0, "agent:main:main", "m\u{1b}[2J", Some(1.0));
    let home = home(std::slice::from_ref(&call));
    let file = format!(".openclaw/usage/{}.jsonl", call.month());
    home.write(&file, &format!("{}\ngarbage\n{{\"at\":", call.line()));
    let told = home.run(&["usage", "--by", "model"]);
    assert_eq!(told.code, 0);
    assert!(told.err.contains(&format!("~/{file}: 2 lines cannot be read")), "{}", told.err);
    assert!(told.out.starts_with("1 call ") && !told.out.contains('\u{1b}'), "{}", told.out);
}

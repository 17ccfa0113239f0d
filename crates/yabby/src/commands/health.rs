//! `yabby health`: how the gateway is (`cli.md` §4).

use std::io::Write as _;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use yabby_domain::duration;
use yabby_domain::json::{self, Object, Value};

use crate::client::{Target, TargetOptions, ask_blocking, limit};
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    target: TargetOptions,
    /// How long to wait, in milliseconds [default: 10000]
    #[arg(long, value_name = "MS")]
    timeout: Option<String>,
    /// Ask every channel how it is, and show all agents and where the gateway is
    #[arg(long, visible_alias = "debug")]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let target = Target::find(setting, &arguments.target)?;
    let params = if arguments.verbose { json!({"probe": true}) } else { Value::Null };
    let limit = limit(arguments.timeout.as_deref(), 10_000)?;
    let health = ask_blocking(setting, &target, "health", params, limit, arguments.json)?;
    if arguments.json {
        return terminal::print_json(&health);
    }
    let mut out = anstream::stdout().lock();
    if arguments.verbose {
        writeln!(out, "Gateway connection:")?;
        for line in target.details().lines() {
            writeln!(out, "  {}", terminal::harmless(line))?;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    let now = jiff::Timestamp::now().as_millisecond() as f64;
    for line in lines(&health, arguments.verbose, setting.is_own_folder(), now) {
        writeln!(out, "{}", terminal::harmless(&line))?;
    }
    Ok(())
}

/// What `health` answers, for people: the default agent, or all of them. Our own gateway has no heartbeats yet.
fn lines(health: &Value, all: bool, is_own: bool, now: f64) -> Vec<String> {
    let mut lines = channel_lines(health, all);
    let agents: Vec<&Value> = health.get("agents").and_then(Value::as_array).into_iter().flatten().collect();
    let name = |agent: &&Value| text(agent, "agentId").to_owned();
    let labels = agents.iter().map(|agent| match agent.get("isDefault") {
        Some(Value::Bool(true)) => format!("{} (default)", name(agent)),
        _ => name(agent),
    });
    if !agents.is_empty() {
        lines.push(format!("Agents: {}", labels.collect::<Vec<_>>().join(", ")));
    }
    let default = text(health, "defaultAgentId");
    let shown: Vec<&Value> = agents.iter().filter(|agent| all || name(agent) == default).copied().collect();
    let intervals = shown.iter().map(|agent| {
        let every = json::at(agent, &["heartbeat", "everyMs"]).and_then(Value::as_f64).filter(|ms| *ms > 0.0);
        format!("{} ({})", every.map_or_else(|| "disabled".to_owned(), duration::parts), name(agent))
    });
    if !shown.is_empty() {
        let intervals = intervals.collect::<Vec<_>>().join(", ");
        lines.push(match is_own {
            true => format!("Heartbeat: not in yabby yet; configured: {intervals}"),
            false => format!("Heartbeat interval: {intervals}"),
        });
    }
    for agent in &shown {
        let sessions = agent.get("sessions").unwrap_or(&Value::Null);
        lines.extend(session_lines(&format!("Session store ({})", name(agent)), sessions, now));
    }
    if shown.is_empty() {
        lines.extend(session_lines("Session store", health.get("sessions").unwrap_or(&Value::Null), now));
    }
    lines
}

fn session_lines(heading: &str, sessions: &Value, now: f64) -> Vec<String> {
    let count = sessions.get("count").and_then(Value::as_u64).unwrap_or(0);
    let mut lines = vec![format!("{heading}: {} ({count} entries)", text(sessions, "path"))];
    for recent in sessions.get("recent").and_then(Value::as_array).into_iter().flatten() {
        let at = recent.get("updatedAt").and_then(Value::as_f64).filter(|at| *at > 0.0);
        let age = at.map(|at| format!("{}m ago", json::number_text(((now - at) / 60_000.0).round())));
        lines.push(format!("- {} ({})", text(recent, "key"), age.as_deref().unwrap_or("no activity")));
    }
    lines
}

/// What `health` says about channels, a line each.
pub fn channel_lines(health: &Value, all: bool) -> Vec<String> {
    let empty = Object::new();
    let channels = health.get("channels").and_then(Value::as_object).unwrap_or(&empty);
    let order: Vec<&str> = health
        .get("channelOrder")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let order = if order.is_empty() { channels.keys().map(String::as_str).collect() } else { order };
    let label =
        |id: &str| json::at(health, &["channelLabels", id]).and_then(Value::as_str).unwrap_or(id).to_owned();
    let told = order.into_iter().filter_map(|id| Some((id, channels.get(id)?)));
    told.map(|(id, channel)| format!("{}: {}", label(id), channel_state(channel, all))).collect()
}

/// How a channel is, in a few words: what is wrong with one of its accounts comes first.
fn channel_state(channel: &Value, all: bool) -> String {
    let accounts: Vec<&Value> = channel
        .get("accounts")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(_, account)| account)
        .collect();
    match channel.get("linked").and_then(Value::as_bool) {
        Some(true) => {
            let age = channel.get("authAgeMs").and_then(Value::as_f64);
            let age = age.map(|ms| format!(" (auth age {}m)", json::number_text((ms / 60_000.0).round())));
            return format!("linked{}", age.unwrap_or_default());
        }
        Some(false) => return "not linked".to_owned(),
        None => {}
    }
    let configured = channel.get("configured").and_then(Value::as_bool);
    if configured == Some(false) {
        return "not configured".to_owned();
    }
    let names: Vec<&str> = accounts.iter().filter_map(|account| bot_of(account)).collect();
    let failed = accounts.iter().find(|account| is_ok(account) == Some(false));
    if let Some(state) = failed.and_then(|account| probe_state(account.get("probe")?, &names)) {
        return state;
    }
    let timings: Vec<String> =
        accounts.iter().filter(|_| all).filter_map(|account| timing(account)).collect();
    if !timings.is_empty() {
        return format!("ok ({})", timings.join(", "));
    }
    match (channel.get("probe").and_then(|probe| probe_state(probe, &names)), configured) {
        (Some(state), _) => state,
        (None, Some(true)) => "configured".to_owned(),
        (None, _) => "unknown".to_owned(),
    }
}

fn bot_of(account: &Value) -> Option<&str> {
    json::at(account, &["probe", "bot", "username"])?.as_str()
}

fn is_ok(account: &Value) -> Option<bool> {
    json::at(account, &["probe", "ok"])?.as_bool()
}

/// What came of asking a channel how it is; `None` if nobody asked.
fn probe_state(probe: &Value, names: &[&str]) -> Option<String> {
    let elapsed = probe.get("elapsedMs").and_then(Value::as_f64).map(json::number_text);
    if !probe.get("ok")?.as_bool()? {
        let status = probe.get("status").and_then(Value::as_f64).map(json::number_text);
        let error = probe.get("error").and_then(Value::as_str).filter(|error| !error.is_empty());
        let error = error.map(|error| format!(" - {error}")).unwrap_or_default();
        return Some(format!("failed ({}){error}", status.as_deref().unwrap_or("unknown")));
    }
    let own = json::at(probe, &["bot", "username"]).and_then(Value::as_str);
    let others = names.iter().copied().filter(|name| Some(*name) != own);
    let names: Vec<&str> = own.into_iter().chain(others).collect();
    let mut state = "ok".to_owned();
    if !names.is_empty() {
        state.push_str(&format!(" (@{})", names.join(", @")));
    }
    if let Some(elapsed) = elapsed {
        state.push_str(&format!(" ({elapsed}ms)"));
    }
    if let Some(url) = json::at(probe, &["webhook", "url"]).and_then(Value::as_str) {
        state.push_str(&format!(" - webhook {url}"));
    }
    Some(state)
}

/// `@bot:default:31ms`
fn timing(account: &Value) -> Option<String> {
    let elapsed = json::at(account, &["probe", "elapsedMs"]).and_then(Value::as_f64);
    let took = match (elapsed, is_ok(account)) {
        (Some(ms), _) => format!("{}ms", json::number_text(ms.round())),
        (None, Some(true)) => "ok".to_owned(),
        (None, _) => return None,
    };
    let id =
        account.get("accountId").and_then(Value::as_str).filter(|id| !id.is_empty()).unwrap_or("default");
    let name = bot_of(account).map_or_else(|| id.to_owned(), |bot| format!("@{bot}"));
    Some(format!("{name}:{id}:{took}"))
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_told_in_a_few_words() {
        let probed = |probe: Value| json!({"configured": true, "probe": probe, "accounts": {"default": {"accountId": "default", "probe": probe}}});
        let table = [
            (json!({"linked": true, "authAgeMs": 125_000}), false, "linked (auth age 2m)"),
            (json!({"linked": false}), false, "not linked"),
            (json!({"configured": false}), false, "not configured"),
            (json!({"configured": true}), false, "configured"),
            (json!({}), false, "unknown"),
            (
                probed(json!({"ok": false, "status": null, "error": "fetch failed"})),
                false,
                "failed (unknown) - fetch failed",
            ),
            (probed(json!({"ok": false, "status": 401})), true, "failed (401)"),
            (
                probed(json!({"ok": true, "elapsedMs": 31, "bot": {"username": "yab"}})),
                false,
                "ok (@yab) (31ms)",
            ),
            (
                probed(json!({"ok": true, "elapsedMs": 30.6, "bot": {"username": "yab"}})),
                true,
                "ok (@yab:default:31ms)",
            ),
        ];
        for (channel, all, expected) in table {
            assert_eq!(channel_state(&channel, all), expected, "{channel}");
        }
    }

    #[test]
    fn only_the_default_agent_is_shown_unless_all_are_wanted() {
        let sessions =
            |key: &str| json!({"path": "/s", "count": 1, "recent": [{"key": key, "updatedAt": 60_000.0}]});
        let health = json!({"defaultAgentId": "main", "agents": [
            {"agentId": "main", "isDefault": true, "heartbeat": {"everyMs": 5_400_000}, "sessions": sessions("a")},
            {"agentId": "ops", "heartbeat": {"everyMs": null}, "sessions": sessions("b")},
        ]});
        let told = lines(&health, false, false, 180_000.0);
        assert_eq!(
            told,
            [
                "Agents: main (default), ops",
                "Heartbeat interval: 1h 30m (main)",
                "Session store (main): /s (1 entries)",
                "- a (2m ago)"
            ]
        );
        assert_eq!(lines(&health, true, false, 180_000.0).last().map(String::as_str), Some("- b (2m ago)"));
    }
}

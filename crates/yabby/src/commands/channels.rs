//! `yabby channels`: the channels that are set up, and how they are (`cli.md` §9).

use std::io::{IsTerminal as _, Write as _};

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use yabby_domain::channel::status::{Account, ConfiguredChannel, configured};
use yabby_domain::config::gateway::GatewayMode;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::text;

use crate::client::{Target, TargetOptions, ask_blocking, limit};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;
use crate::wire::models::auth_profiles;

#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the channels and the keys of model providers that are set up
    #[command(after_help = "Examples:\n  yabby channels list\n  yabby channels list --no-usage --json")]
    List(List),
    /// Show how the channels are, as the gateway sees them
    #[command(after_help = "Examples:\n  yabby channels status\n  yabby channels status --probe --json")]
    Status(Status),
}

#[derive(Args)]
struct List {
    /// Leave out what services say is left to use
    #[arg(long)]
    no_usage: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Status {
    /// Ask every channel whether it works
    #[arg(long)]
    probe: bool,
    #[command(flatten)]
    target: TargetOptions,
    /// How long to wait, in milliseconds [default: 10000]
    #[arg(long, value_name = "MS")]
    timeout: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::List(arguments) => list(setting, arguments),
        Command::Status(arguments) => status(setting, arguments),
    }
}

/// The channels that the configuration sets up.
pub(super) fn channels(setting: &Setting) -> Result<Vec<ConfiguredChannel>> {
    Ok(configured(&setting.config()?, |name| setting.place.environment.get(name)))
}

fn list(setting: &Setting, arguments: &List) -> Result<()> {
    let channels = channels(setting)?;
    let profiles = auth_profiles(&setting.place)?;
    let known =
        profiles.ids().filter_map(|id| Some((id, profiles.provider(id)?, profiles.credential(id)?.kind())));
    if arguments.json {
        let accounts = |channel: &ConfiguredChannel| -> Value {
            channel.accounts.iter().map(|account| account.id.clone()).collect::<Vec<_>>().into()
        };
        let chat: Object =
            channels.iter().map(|channel| (channel.about.id.to_owned(), accounts(channel))).collect();
        let auth: Vec<Value> = known
            .map(|(id, provider, kind)| json!({"id": id, "provider": provider, "type": kind, "isExternal": false}))
            .collect();
        let mut told = json!({"chat": chat, "auth": auth});
        if !arguments.no_usage {
            // No service is asked yet.
            told["usage"] = json!({"updatedAt": jiff::Timestamp::now().as_millisecond(), "providers": []});
        }
        return terminal::print_json(&told);
    }
    let mut lines = vec!["Chat channels:".to_owned()];
    for channel in &channels {
        lines.extend(channel.accounts.iter().map(|account| listed_line(channel, account)));
    }
    if channels.is_empty() && !setting.keeps_reference_text() {
        lines.push("- none are set up; yabby itself has no channels yet".to_owned());
    }
    lines.extend([String::new(), "Auth providers (OAuth + API keys):".to_owned()]);
    let keys: Vec<String> = known.map(|(id, _, kind)| format!("- {id} ({kind})")).collect();
    lines.extend(if keys.is_empty() { vec!["- none".to_owned()] } else { keys });
    if !arguments.no_usage {
        lines.extend([String::new(), "Usage: no provider usage available.".to_owned()]);
    }
    if setting.keeps_reference_text() {
        lines.extend([String::new(), "Docs: https://docs.openclaw.ai/gateway/configuration".to_owned()]);
    }
    print(&lines)
}

fn listed_line(channel: &ConfiguredChannel, account: &Account) -> String {
    let state = match (account.is_linked(), account.configured) {
        (Some(true), _) => "linked",
        (Some(false), _) => "not linked",
        (None, true) => "configured",
        (None, false) => "not configured",
    };
    let token = account.token_source.map(|source| format!("token={source}"));
    let facts = account.facts.iter().filter_map(|(name, value)| {
        let shown = [("botTokenSource", "bot"), ("appTokenSource", "app"), ("baseUrl", "base")];
        let (_, label) = shown.into_iter().find(|(field, _)| field == name)?;
        Some(format!("{label}={}", value.as_str()?))
    });
    let enabled = if account.enabled { "enabled" } else { "disabled" };
    let mut parts = vec![state.to_owned()];
    parts.extend(token.into_iter().chain(facts));
    parts.push(enabled.to_owned());
    format!("- {}: {}", label(channel.about.label, &account.id, account.name.as_deref()), parts.join(", "))
}

/// `Telegram work (Work)`
fn label(channel: &str, account: &str, name: Option<&str>) -> String {
    match name.and_then(text::non_blank) {
        Some(name) => format!("{channel} {account} ({name})"),
        None => format!("{channel} {account}"),
    }
}

fn status(setting: &Setting, arguments: &Status) -> Result<()> {
    let limit = limit(arguments.timeout.as_deref(), 10_000)?;
    let target = Target::find(setting, &arguments.target)?;
    if !arguments.json && !std::io::stderr().is_terminal() {
        let probing = if arguments.probe { " (probe)" } else { "" };
        writeln!(anstream::stdout(), "Checking channel status{probing}…")?;
    }
    let params =
        json!({"probe": arguments.probe, "timeoutMs": u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)});
    match ask_blocking(setting, &target, "channels.status", params, limit, arguments.json) {
        Ok(told) if arguments.json => terminal::print_json(&told),
        Ok(told) => print(&reachable_lines(setting, &told)),
        Err(error) => {
            // A plain line is told as it is.
            let told = match error.is::<Failure>() {
                true => error.to_string(),
                false => format!("Gateway not reachable: Error: {error}"),
            };
            let told: Vec<String> = told.lines().map(terminal::harmless).collect();
            anstream::eprintln!("{}", told.join("\n"));
            match arguments.json {
                true => terminal::print_json(&unreachable_json(setting, &error.to_string())?),
                false => print(&unreachable_lines(setting)?),
            }
        }
    }
}

fn reachable_lines(setting: &Setting, told: &Value) -> Vec<String> {
    let mut lines = vec!["Gateway reachable.".to_owned()];
    let accounts = told.get("channelAccounts").and_then(Value::as_object);
    for (channel, accounts) in accounts.into_iter().flatten() {
        let name = json::at(told, &["channelLabels", channel]).and_then(Value::as_str).unwrap_or(channel);
        for account in accounts.as_array().into_iter().flatten() {
            lines.push(account_line(name, account, true));
        }
    }
    lines.extend([String::new(), tip(setting)]);
    lines
}

fn unreachable_lines(setting: &Setting) -> Result<Vec<String>> {
    let mode = setting.config()?.gateway.mode.unwrap_or(GatewayMode::Local);
    let mut lines = vec![
        "Gateway not reachable; showing config-only status.".to_owned(),
        format!("Config: {}", setting.place.config.display()),
        format!("Mode: {}", mode.word()),
        String::new(),
    ];
    for channel in channels(setting)? {
        let accounts = channel.accounts.iter().map(|account| Value::Object(account.to_object()));
        lines.extend(accounts.map(|account| account_line(channel.about.label, &account, false)));
    }
    lines.extend([String::new(), tip(setting)]);
    Ok(lines)
}

/// What the configuration says, in the shape of `channels.status`.
fn unreachable_json(setting: &Setting, error: &str) -> Result<Value> {
    let channels = channels(setting)?;
    let accounts = |channel: &ConfiguredChannel| -> Value {
        channel.accounts.iter().map(|account| Value::Object(account.to_object())).collect::<Vec<_>>().into()
    };
    let by_id = |tell: &dyn Fn(&ConfiguredChannel) -> Value| -> Object {
        channels.iter().map(|channel| (channel.about.id.to_owned(), tell(channel))).collect()
    };
    Ok(json!({
        "ts": jiff::Timestamp::now().as_millisecond(),
        "gatewayReachable": false,
        "error": error,
        "channelOrder": channels.iter().map(|channel| channel.about.id).collect::<Vec<_>>(),
        "channelLabels": by_id(&|channel| channel.about.label.into()),
        "channels": by_id(&|channel| Value::Object(channel.summary())),
        "channelAccounts": by_id(&accounts),
    }))
}

fn tip(setting: &Setting) -> String {
    let command = setting.command("status --deep");
    format!("Tip: {command} adds gateway health probes to status output (requires a reachable gateway).")
}

/// An account as `channels.status` tells it. Whether it runs is known only to the gateway.
fn account_line(channel: &str, account: &Value, from_gateway: bool) -> String {
    let text = |name: &str| account.get(name).and_then(Value::as_str).and_then(text::non_blank);
    let either = |name: &str, yes: &str, no: &str| {
        let flag = account.get(name)?.as_bool()?;
        Some(if flag { yes } else { no }.to_owned())
    };
    let named = |name: &str, field: &str| text(field).map(|value| format!("{name}:{value}"));
    let live = |part: Option<String>| part.filter(|_| from_gateway);
    let allowed = || {
        let allowed: Vec<&str> =
            account.get("allowFrom")?.as_array()?.iter().take(2).filter_map(Value::as_str).collect();
        (!allowed.is_empty()).then(|| format!("allow:{}", allowed.join(",")))
    };
    let bot = ["bot", "probe"].iter().find_map(|at| match *at {
        "bot" => json::at(account, &["bot", "username"])?.as_str(),
        _ => json::at(account, &["probe", "bot", "username"])?.as_str(),
    });
    let bot = bot.and_then(text::non_blank).map(|name| format!("bot:@{}", name.trim_start_matches('@')));
    let is_fine = |at: &str, good: &str, bad: &str| {
        let fine = json::at(account, &[at, "ok"])?.as_bool()?;
        Some(if fine { good } else { bad }.to_owned())
    };
    let unmentioned = account.get("allowUnmentionedGroups") == Some(&Value::Bool(true));
    let parts = [
        either("enabled", "enabled", "disabled"),
        either("configured", "configured", "not configured"),
        either("linked", "linked", "not linked"),
        live(either("running", "running", "stopped")),
        live(either("connected", "connected", "disconnected")),
        named("mode", "mode"),
        live(bot),
        live(named("dm", "dmPolicy")),
        live(allowed()),
        named("token", "tokenSource"),
        named("bot", "botTokenSource"),
        named("app", "appTokenSource"),
        live(unmentioned.then(|| "groups:unmentioned".to_owned())),
        named("url", "baseUrl"),
        live(is_fine("probe", "works", "probe failed")),
        live(is_fine("audit", "audit ok", "audit failed")),
        live(named("error", "lastError")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!(
        "- {}: {}",
        label(channel, text("accountId").unwrap_or("default"), text("name")),
        parts.join(", ")
    )
}

fn print(lines: &[String]) -> Result<()> {
    let mut out = anstream::stdout().lock();
    Ok(lines.iter().try_for_each(|line| writeln!(out, "{}", terminal::harmless(line)))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_told_on_a_line() {
        let account = json!({"accountId": "default", "enabled": true, "configured": true, "running": false, "mode": "polling", "tokenSource": "config", "allowUnmentionedGroups": true, "lastError": "gone"});
        let told = account_line("Telegram", &account, true);
        assert_eq!(
            told,
            "- Telegram default: enabled, configured, stopped, mode:polling, token:config, groups:unmentioned, error:gone"
        );
        let told = account_line("Telegram", &account, false);
        assert_eq!(told, "- Telegram default: enabled, configured, mode:polling, token:config");
        let named = json!({"accountId": "work", "name": " Work ", "linked": false});
        assert_eq!(account_line("WhatsApp", &named, true), "- WhatsApp work (Work): not linked");
    }
}

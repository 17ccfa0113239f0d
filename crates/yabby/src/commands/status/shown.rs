//! The status for people.

use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use yabby_domain::channel::status::{ConfiguredChannel, configured};
use yabby_domain::json::{self, Value};
use yabby_domain::session::row::{age_text, thousands};

use super::audit::{Audit, Severity};
use super::{Arguments, Found, os, runtime_short};
use crate::client::CallError;
use crate::commands::gateway::listen;
use crate::commands::health::channel_lines;
use crate::setting::Setting;
use crate::terminal;

pub(super) fn print(setting: &Setting, arguments: &Arguments, found: &Found) -> Result<()> {
    let mut page = Page::default();
    if arguments.verbose {
        page.line("Gateway connection:");
        found.target.details().lines().for_each(|line| page.line(&format!("  {line}")));
        page.line("");
    }
    page.line(if arguments.all { "yabby status --all" } else { "yabby status" });
    page.heading("Overview");
    page.rows(&overview(setting, arguments, found)?);
    if !arguments.all {
        page.audit(&found.audit);
    }
    page.channels(setting, found)?;
    if arguments.all {
        page.agents(found);
        page.diagnosis(setting, found)?;
    } else {
        page.sessions(found);
    }
    if let Some(health) = &found.health {
        page.heading("Health");
        let lines = channel_lines(health, true);
        let none = vec!["no channels are set up".to_owned()];
        (if lines.is_empty() { none } else { lines }).iter().for_each(|line| page.line(&format!("  {line}")));
    }
    if arguments.usage {
        page.heading("Usage");
        page.line("  no service was asked what is left to use; `yabby usage` tells what was used");
    }
    page.end(setting, arguments, found);
    Ok(anstream::stdout().lock().write_all(page.0.as_bytes())?)
}

fn probes(arguments: &Arguments, found: &Found) -> &'static str {
    match (arguments.deep, found.health.is_some()) {
        (_, true) => "enabled",
        (true, false) => "no answer",
        (false, false) => "skipped (use --deep)",
    }
}

fn overview(setting: &Setting, arguments: &Arguments, found: &Found) -> Result<Vec<(&'static str, String)>> {
    let config = setting.config()?;
    let port = listen::port(None, &config, &setting.place.environment);
    let (service, state) = &found.service;
    let service = match (service.is_installed(), state.is_enabled) {
        (false, _) => "systemd not installed".to_owned(),
        (true, enabled) => {
            let enabled = if enabled { "enabled" } else { "disabled" };
            format!("systemd installed · {enabled} · {}", runtime_short(state))
        }
    };
    let mut rows = Vec::new();
    // Without a gateway there is no page.
    if found.probe.told.is_ok() {
        rows.push(("Dashboard", listen::dashboard(&config, port)));
    }
    rows.extend([
        ("OS", text_at(&os(), &["label"])),
        ("Version", env!("CARGO_PKG_VERSION").to_owned()),
        ("Config", setting.place.shortened(&setting.place.config)),
        ("Gateway", gateway(found)),
        ("Gateway service", service),
        ("Agents", agents(found)),
        ("Memory", memory(&found.memory)),
        ("Probes", probes(arguments, found).to_owned()),
        ("Events", events(found)),
        ("Heartbeat", heartbeats(found)),
    ]);
    if arguments.deep {
        let last = found.last_heartbeat.as_ref().filter(|last| !last.is_null());
        rows.push(("Last heartbeat", last.map_or_else(|| "none".to_owned(), json::stringify)));
    }
    rows.push(("Sessions", sessions(found)));
    Ok(rows)
}

fn gateway(found: &Found) -> String {
    let own = found.probe.own_presence();
    let reach = match (found.is_misconfigured, found.probe.error(), found.probe.latency) {
        (true, ..) => "misconfigured (gateway.remote.url is missing)".to_owned(),
        (false, None, Some(latency)) => format!("reachable {}ms", latency.as_millis()),
        (false, error, _) => match found.probe.told.as_ref().err().and_then(CallError::absence) {
            Some(absence) => absence,
            None => format!("unreachable ({})", error.unwrap_or_default()),
        },
    };
    let own = own
        .is_object()
        .then(|| format!(" · {} ({})", text_at(&own, &["host"]), text_at(&own, &["platform"])));
    format!(
        "{} · {} ({}) · {reach}{}",
        found.mode,
        found.target.url,
        found.target.source,
        own.unwrap_or_default()
    )
}

fn agents(found: &Found) -> String {
    let list = found.agents.get("agents").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let new = match number_at(&found.agents, &["bootstrapPendingCount"]) {
        0 => "no bootstraps".to_owned(),
        count => format!("{count} bootstrapping"),
    };
    let default = text_at(&found.agents, &["defaultId"]);
    let active = list.iter().find(|agent| text_at(agent, &["id"]) == default);
    let active = active.and_then(|agent| agent.get("lastActiveAgeMs")?.as_f64());
    let sessions = number_at(&found.agents, &["totalSessions"]);
    format!("{} · {new} · sessions {sessions} · default {default} active {}", list.len(), age_text(active))
}

fn memory(memory: &Value) -> String {
    if memory.is_null() {
        return "nothing to search yet".to_owned();
    }
    let dirty = if memory.get("dirty") == Some(&Value::Bool(true)) { " · dirty" } else { "" };
    let [files, chunks] = ["files", "chunks"].map(|name| number_at(memory, &[name]));
    format!("{files} files · {chunks} chunks{dirty} · provider {}", text_at(memory, &["provider"]))
}

fn events(found: &Found) -> String {
    match found.summary.get("queuedSystemEvents").and_then(Value::as_array).map_or(0, Vec::len) {
        0 => "none".to_owned(),
        count => format!("{count} queued"),
    }
}

/// A gateway of ours has no heartbeat yet, whatever is configured; one of the reference has.
fn heartbeats(found: &Found) -> String {
    let agents = found.summary.get("heartbeat").and_then(|heartbeat| heartbeat.get("agents")?.as_array());
    let told = agents.into_iter().flatten().map(|agent| {
        let every = match agent.get("everyMs").and_then(Value::as_f64) {
            Some(_) if agent.get("enabled") == Some(&Value::Bool(true)) => text_at(agent, &["every"]),
            _ => "disabled".to_owned(),
        };
        format!("{every} ({})", text_at(agent, &["agentId"]))
    });
    let told: Vec<String> = told.collect();
    match told.iter().any(|told| !told.starts_with("disabled")) {
        false => "disabled".to_owned(),
        true => format!("not in yabby yet; configured: {}", told.join(", ")),
    }
}

fn sessions(found: &Found) -> String {
    let sessions = found.summary.get("sessions").unwrap_or(&Value::Null);
    let paths = sessions.get("paths").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let place = match paths {
        [only] => only.as_str().unwrap_or_default().to_owned(),
        several => format!("{} stores", several.len()),
    };
    let (model, window) = &found.answering;
    let window = counted(i64::try_from(*window).unwrap_or(i64::MAX));
    format!("{} active · default {model} ({window} ctx) · {place}", number_at(sessions, &["count"]))
}

/// Tokens as `sessions` shows them.
#[expect(clippy::cast_precision_loss, reason = "a count of tokens")]
fn counted(tokens: i64) -> String {
    thousands(tokens as f64)
}

/// The lines of the report; nothing written in them steers a terminal.
#[derive(Default)]
struct Page(String);

impl Page {
    fn line(&mut self, line: &str) {
        self.0.push_str(&terminal::harmless(line));
        self.0.push('\n');
    }

    fn heading(&mut self, heading: &str) {
        self.line("");
        self.line(heading);
    }

    fn rows(&mut self, rows: &[(&str, String)]) {
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        rows.iter().for_each(|(name, value)| self.line(&format!("  {name:width$}  {value}")));
    }

    fn table(&mut self, table: &str) {
        table.lines().for_each(|line| self.line(&format!("  {line}")));
    }

    fn audit(&mut self, audit: &Audit) {
        self.heading("Security audit");
        let [critical, warn] = [Severity::Critical, Severity::Warn].map(|severity| audit.count(severity));
        self.line(&format!("  Summary: {critical} critical · {warn} warn · 0 info"));
        for finding in audit.findings.iter().take(6) {
            self.line(&format!("  {} {}", finding.severity.as_str().to_uppercase(), finding.title));
            self.line(&format!("    {}", finding.detail));
            if let Some(remedy) = &finding.remedy {
                self.line(&format!("    Fix: {remedy}"));
            }
        }
        if audit.findings.len() > 6 {
            self.line(&format!("  … +{} more", audit.findings.len() - 6));
        }
    }

    fn channels(&mut self, setting: &Setting, found: &Found) -> Result<()> {
        self.heading("Channels");
        let config = setting.config()?;
        let channels = configured(&config, |name| setting.place.environment.get(name));
        if channels.is_empty() {
            self.line("  none are set up");
            return Ok(());
        }
        let row = |channel: &ConfiguredChannel| {
            let is_on = channel.accounts.iter().any(|account| account.enabled);
            let is_ready = channel.accounts.iter().any(|account| account.configured);
            let state = match (is_on, is_ready, found.probe.told.is_ok()) {
                (false, ..) => "OFF",
                (true, false, _) => "SETUP",
                (true, true, true) => "OK",
                (true, true, false) => "WARN",
            };
            let detail = channel
                .lines()
                .into_iter()
                .skip(1)
                .map(|line| line.trim().trim_start_matches("- ").to_owned());
            let detail = detail.collect::<Vec<_>>().join(" · ");
            [
                channel.about.label.to_owned(),
                if is_on { "ON" } else { "OFF" }.to_owned(),
                state.to_owned(),
                detail,
            ]
        };
        self.table(&terminal::table(["Channel", "Enabled", "State", "Detail"], channels.iter().map(row)));
        Ok(())
    }

    fn sessions(&mut self, found: &Found) {
        self.heading("Sessions");
        let recent = found.summary.get("sessions").and_then(|sessions| sessions.get("recent")?.as_array());
        let rows: Vec<[String; 5]> = recent
            .into_iter()
            .flatten()
            .map(|row| {
                let tokens = match number_at(row, &["totalTokens"]) {
                    0 => "-".to_owned(),
                    tokens => {
                        let window = number_at(row, &["contextTokens"]);
                        format!(
                            "{}/{} ({}%)",
                            counted(tokens),
                            counted(window),
                            number_at(row, &["percentUsed"])
                        )
                    }
                };
                let age = age_text(row.get("age").and_then(Value::as_f64));
                [
                    terminal::short(&text_at(row, &["key"]), 40),
                    text_at(row, &["kind"]),
                    age,
                    text_at(row, &["model"]),
                    tokens,
                ]
            })
            .collect();
        match rows.is_empty() {
            true => self.line("  no sessions yet"),
            false => self.table(&terminal::table(["Key", "Kind", "Age", "Model", "Tokens"], rows)),
        }
    }

    fn agents(&mut self, found: &Found) {
        self.heading("Agents");
        let agents = found.agents.get("agents").and_then(Value::as_array).into_iter().flatten();
        let rows = agents.map(|agent| {
            let bootstrap =
                if agent.get("bootstrapPending") == Some(&Value::Bool(true)) { "PENDING" } else { "OK" };
            let age = age_text(agent.get("lastActiveAgeMs").and_then(Value::as_f64));
            let count = number_at(agent, &["sessionsCount"]).to_string();
            [text_at(agent, &["id"]), bootstrap.to_owned(), count, age, text_at(agent, &["sessionsPath"])]
        });
        self.table(&terminal::table(["Agent", "Bootstrap", "Sessions", "Active", "Store"], rows));
    }

    fn diagnosis(&mut self, setting: &Setting, found: &Found) -> Result<()> {
        self.heading("Diagnosis (read-only)");
        let config = setting.snapshot()?;
        let mut check =
            |is_fine: bool, said: String| self.line(&format!("  {} {said}", if is_fine { "✓" } else { "!" }));
        check(config.exists, format!("Config: {}", setting.place.shortened(&config.path)));
        check(config.warnings.is_empty(), format!("Config warnings: {}", config.warnings.len()));
        let critical = found.audit.count(Severity::Critical);
        check(
            critical == 0,
            format!("Security: {critical} critical · {} warn", found.audit.count(Severity::Warn)),
        );
        check(
            found.probe.told.is_ok(),
            format!("Gateway: {}", found.probe.error().unwrap_or_else(|| "reachable".to_owned())),
        );
        let (service, _) = &found.service;
        check(service.is_installed(), format!("Gateway service: {}", setting.place.shortened(&service.file)));
        let log = yabby_gateway::log_file(&setting.config()?, &setting.place);
        check(log.exists(), format!("Log: {}", setting.place.shortened(Path::new(&log))));
        for finding in &found.audit.findings {
            self.line(&format!("    {}: {} {}", finding.severity.as_str(), finding.title, finding.detail));
        }
        Ok(())
    }

    fn end(&mut self, setting: &Setting, arguments: &Arguments, found: &Found) {
        if arguments.all {
            self.heading("Pasteable debug report. Auth tokens redacted.");
            return;
        }
        self.heading("Next steps:");
        let mut steps =
            vec![("Need to share?", "status --all"), ("Need to see what goes on?", "logs --follow")];
        match found.probe.told {
            Ok(_) => steps.push(("Need to test channels?", "status --deep")),
            Err(_) => steps.push(("Need a gateway?", "gateway")),
        }
        steps
            .iter()
            .for_each(|(question, command)| self.line(&format!("  {question} {}", setting.command(command))));
    }
}

fn text_at(value: &Value, path: &[&str]) -> String {
    json::at(value, path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[expect(clippy::cast_possible_truncation, reason = "counts, and saturates")]
fn number_at(value: &Value, path: &[&str]) -> i64 {
    json::at(value, path).and_then(Value::as_f64).unwrap_or(0.0) as i64
}

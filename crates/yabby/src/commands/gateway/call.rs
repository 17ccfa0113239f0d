//! `yabby gateway call`, `health` and `usage-cost`: one question to the gateway (`cli.md` §7).

use std::io::Write as _;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tokio::runtime::Builder;
use yabby_domain::json::{self, Value};

use crate::client::{CallError, Client, Mode, Target, TargetOptions, explain, limit};
use crate::commands::health::channel_lines;
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

/// Whom to ask, and how.
#[derive(Args)]
pub struct Asking {
    #[command(flatten)]
    target: TargetOptions,
    /// How long to wait, in milliseconds [default: 10000]
    #[arg(long, value_name = "MS")]
    timeout: Option<String>,
    /// Wait for the last answer of those that come in two
    #[arg(long)]
    expect_final: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct Call {
    /// What to ask for, such as health, status or sessions.list
    method: String,
    /// What to ask with
    #[arg(long, value_name = "JSON", default_value = "{}", allow_hyphen_values = true)]
    params: String,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Args)]
pub struct UsageCost {
    /// How many days
    #[arg(long, value_name = "DAYS", default_value = "30")]
    days: String,
    #[command(flatten)]
    asking: Asking,
}

impl Asking {
    fn ask(&self, setting: &Setting, method: &str, params: Value) -> Result<Value> {
        let target = Target::find(setting, &self.target)?;
        let limit = limit(self.timeout.as_deref(), 10_000)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let answer = runtime.block_on(self.ask_within(&target, method, params, limit));
        answer.map_err(|error| explain(setting, error, self.json))
    }

    async fn ask_within(
        &self,
        target: &Target,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, CallError> {
        let mut client = Client::open(target, Mode::Cli, limit).await?;
        let answer = match self.expect_final {
            true => client.call_to_the_end(method, params, limit).await,
            false => client.call(method, params, limit).await,
        };
        client.close().await;
        answer
    }
}

pub fn call(setting: &Setting, arguments: &Call) -> Result<()> {
    let Call { method, params, asking } = arguments;
    let params = json::parse(params)
        .map_err(|error| Failure::bare(format!("Gateway call failed: SyntaxError: {error}")))?;
    let answer = asking.ask(setting, method, params).map_err(|error| failed("Gateway call failed", error))?;
    if !asking.json {
        writeln!(anstream::stdout(), "Gateway call: {}", terminal::harmless(method))?;
    }
    terminal::print_json(&answer)
}

pub fn health(setting: &Setting, asking: &Asking) -> Result<()> {
    let health = asking.ask(setting, "health", Value::Null)?;
    if asking.json {
        return terminal::print_json(&health);
    }
    let took = health.get("durationMs").and_then(Value::as_f64);
    let took = took.map(|ms| format!(" ({}ms)", json::number_text(ms))).unwrap_or_default();
    let mut out = anstream::stdout().lock();
    writeln!(out, "Gateway Health\nOK{took}")?;
    for line in channel_lines(&health, false) {
        writeln!(out, "{}", terminal::harmless(&line))?;
    }
    Ok(())
}

pub fn usage_cost(setting: &Setting, arguments: &UsageCost) -> Result<()> {
    let asking = &arguments.asking;
    let days = json::number_in(&arguments.days).filter(|days| *days >= 1.0).map(f64::floor);
    let days = days.ok_or_else(|| Failure::bare("--days must be a positive integer"))?;
    let asked = asking.ask(setting, "usage.cost", json!({"days": json::number(days)}));
    let usage = asked.map_err(|error| failed("Gateway usage cost failed", error))?;
    if asking.json {
        return terminal::print_json(&usage);
    }
    let totals = usage.get("totals").unwrap_or(&Value::Null);
    let mut out = anstream::stdout().lock();
    writeln!(out, "Usage cost ({} days)\nTotal: {}", json::number_text(days), spent(totals))?;
    let unpriced = totals.get("missingCostEntries").and_then(Value::as_f64).filter(|count| *count > 0.0);
    if let Some(unpriced) = unpriced {
        writeln!(out, "Missing entries: {}", json::number_text(unpriced))?;
    }
    if let Some(latest) = usage.get("daily").and_then(|days| days.as_array()?.last()) {
        let date = terminal::harmless(latest.get("date").and_then(Value::as_str).unwrap_or_default());
        writeln!(out, "Latest day: {date} · {}", spent(latest))?;
    }
    Ok(())
}

/// `$0.0016 · 396 tokens`
fn spent(totals: &Value) -> String {
    let number = |name: &str| totals.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let cost = number("totalCost");
    let decimals = if cost > 0.0 && cost < 0.01 { 4 } else { 2 };
    format!("${} · {} tokens", json::fixed(cost, decimals), tokens(number("totalTokens")))
}

/// `396`, `1.2k`, `3.4m`
fn tokens(count: f64) -> String {
    match count {
        many if many >= 1_000_000.0 => format!("{}m", json::fixed(many / 1_000_000.0, 1)),
        some if some >= 10_000.0 => format!("{}k", json::fixed(some / 1000.0, 0)),
        some if some >= 1000.0 => format!("{}k", json::fixed(some / 1000.0, 1)),
        few => json::fixed(few.max(0.0), 0),
    }
}

/// What the reference says before an error of these commands.
fn failed(what: &str, error: anyhow::Error) -> anyhow::Error {
    match error.is::<Failure>() {
        true => error,
        false => Failure::bare(format!("{what}: Error: {error}")).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_is_told_shortly() {
        let table = [
            (json!({}), "$0.00 · 0 tokens"),
            (json!({"totalCost": 0.00162, "totalTokens": 396}), "$0.0016 · 396 tokens"),
            (json!({"totalCost": 1.5, "totalTokens": 1234}), "$1.50 · 1.2k tokens"),
            (json!({"totalCost": 12, "totalTokens": 3_400_000}), "$12.00 · 3.4m tokens"),
        ];
        for (totals, told) in table {
            assert_eq!(spent(&totals), told);
        }
    }
}

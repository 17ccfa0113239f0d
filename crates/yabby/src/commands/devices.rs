//! `yabby devices`: which devices may connect to the gateway, and which ask to.

use std::io::Write as _;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use yabby_domain::json::{Object, Value};
use yabby_domain::text;

use crate::boxes::{self, fixed, wide};
use crate::client::{Target, TargetOptions, ask_blocking, limit};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the devices, and the requests that wait
    #[command(after_help = "Examples:\n  yabby devices list\n  yabby devices list --json")]
    List(Asking),
    /// Let a device in
    #[command(after_help = "Examples:\n  yabby devices approve 5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11")]
    Approve(Request),
    /// Turn a device away
    #[command(after_help = "Examples:\n  yabby devices reject 5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11")]
    Reject(Request),
    /// Give a device a new token; the old one is worth nothing any more
    #[command(
        after_help = "Examples:\n  yabby devices rotate --device 6dcace04f0b0d2c1a5b0f3f1d7a4c9e8b2a6f5d4c3b2a1908f7e6d5c4b3a2918 --role operator --scope operator.read"
    )]
    Rotate(Rotate),
    /// Take the token of a device away
    #[command(
        after_help = "Examples:\n  yabby devices revoke --device 6dcace04f0b0d2c1a5b0f3f1d7a4c9e8b2a6f5d4c3b2a1908f7e6d5c4b3a2918 --role operator"
    )]
    Revoke(Revoke),
}

#[derive(Args)]
struct Asking {
    #[command(flatten)]
    target: TargetOptions,
    /// How long to wait, in milliseconds [default: 10000]
    #[arg(long, value_name = "MS")]
    timeout: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Request {
    /// The request, as `yabby devices list` names it
    #[arg(value_name = "requestId")]
    request: String,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Args)]
struct Rotate {
    /// The device
    #[arg(long, value_name = "ID")]
    device: String,
    /// The role that the token is for
    #[arg(long, value_name = "ROLE")]
    role: String,
    /// What the token allows; may be given several times [default: what it allowed before]
    #[arg(long, value_name = "SCOPE", num_args = 1..)]
    scope: Vec<String>,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Args)]
struct Revoke {
    /// The device
    #[arg(long, value_name = "ID")]
    device: String,
    /// The role that the token is for
    #[arg(long, value_name = "ROLE")]
    role: String,
    #[command(flatten)]
    asking: Asking,
}

impl Asking {
    fn ask(&self, setting: &Setting, method: &str, params: Value) -> Result<Value> {
        let target = Target::find(setting, &self.target)?;
        ask_blocking(setting, &target, method, params, limit(self.timeout.as_deref(), 10_000)?, self.json)
    }
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::List(asking) => list(setting, asking),
        Command::Approve(request) => {
            let answer =
                request.asking.ask(setting, "device.pair.approve", json!({"requestId": request.request}))?;
            let device = answer.get("device").and_then(|device| device.get("deviceId")).cloned();
            settled(&request.asking, "Approved", &answer, device.as_ref())
        }
        Command::Reject(request) => {
            let answer =
                request.asking.ask(setting, "device.pair.reject", json!({"requestId": request.request}))?;
            settled(&request.asking, "Rejected", &answer, answer.get("deviceId"))
        }
        Command::Rotate(Rotate { device, role, scope, asking }) => {
            let mut params = token_of(device, role)?;
            if !scope.is_empty() {
                params["scopes"] = scope.clone().into();
            }
            terminal::print_json(&asking.ask(setting, "device.token.rotate", params)?)
        }
        Command::Revoke(Revoke { device, role, asking }) => {
            let params = token_of(device, role)?;
            terminal::print_json(&asking.ask(setting, "device.token.revoke", params)?)
        }
    }
}

/// Which token is meant.
fn token_of(device: &str, role: &str) -> Result<Value> {
    match (text::non_blank(device), text::non_blank(role)) {
        (Some(device), Some(role)) => Ok(json!({"deviceId": device, "role": role})),
        _ => Err(Failure::bare("--device and --role required").into()),
    }
}

fn settled(asking: &Asking, what: &str, answer: &Value, device: Option<&Value>) -> Result<()> {
    if asking.json {
        return terminal::print_json(answer);
    }
    let device = device.and_then(Value::as_str).unwrap_or("ok");
    Ok(writeln!(anstream::stdout(), "{what} {}", terminal::harmless(device))?)
}

fn list(setting: &Setting, asking: &Asking) -> Result<()> {
    let answer = asking.ask(setting, "device.pair.list", json!({}))?;
    let rows = |name: &str| answer.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let (pending, paired) = (rows("pending"), rows("paired"));
    if asking.json {
        let told = [("pending".to_owned(), pending.into()), ("paired".to_owned(), paired.into())];
        return terminal::print_json(&Value::Object(Object::from_iter(told)));
    }
    let mut out = anstream::stdout().lock();
    if !pending.is_empty() {
        let rows = pending.iter().map(|request| {
            let flag = if request.get("isRepair") == Some(&Value::Bool(true)) { "repair" } else { "" };
            [
                word(request, "requestId"),
                name(request),
                word(request, "role"),
                word(request, "remoteIp"),
                age(request),
                flag.to_owned(),
            ]
        });
        writeln!(out, "Pending ({})", pending.len())?;
        let heads = [
            fixed("Request", 10),
            wide("Device", 16),
            fixed("Role", 8),
            fixed("IP", 12),
            fixed("Age", 8),
            fixed("Flags", 8),
        ];
        write!(out, "{}", boxes::table(&heads, rows))?;
    }
    if !paired.is_empty() {
        let rows = paired.iter().map(|device| {
            [
                name(device),
                joined(device, "roles"),
                joined(device, "scopes"),
                tokens(device),
                word(device, "remoteIp"),
            ]
        });
        writeln!(out, "Paired ({})", paired.len())?;
        let heads =
            [wide("Device", 16), wide("Roles", 12), wide("Scopes", 12), wide("Tokens", 12), fixed("IP", 12)];
        write!(out, "{}", boxes::table(&heads, rows))?;
    }
    if pending.is_empty() && paired.is_empty() {
        writeln!(out, "No device pairing entries.")?;
    }
    Ok(())
}

fn word(record: &Value, field: &str) -> String {
    record.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn name(record: &Value) -> String {
    let called = word(record, "displayName");
    if called.is_empty() { word(record, "deviceId") } else { called }
}

fn joined(record: &Value, field: &str) -> String {
    let items = record.get(field).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

fn age(request: &Value) -> String {
    let now = jiff::Timestamp::now().as_millisecond();
    let seconds = |at: i64| (now.saturating_sub(at) / 1000).max(0);
    match request.get("ts").and_then(Value::as_i64).map(seconds) {
        None => String::new(),
        Some(seconds) if seconds < 60 => format!("{seconds}s ago"),
        Some(seconds) if seconds < 3600 => format!("{}m ago", seconds / 60),
        Some(seconds) if seconds < 24 * 3600 => format!("{}h ago", seconds / 3600),
        Some(seconds) => format!("{}d ago", seconds / (24 * 3600)),
    }
}

fn tokens(device: &Value) -> String {
    let tokens = device.get("tokens").and_then(Value::as_array).into_iter().flatten();
    let mut told: Vec<String> = tokens
        .map(|token| {
            let is_revoked = token.get("revokedAtMs").is_some_and(yabby_domain::json::truthy);
            format!("{}{}", word(token, "role"), if is_revoked { " (revoked)" } else { "" })
        })
        .collect();
    told.sort();
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}

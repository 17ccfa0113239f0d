//! `yabby system`: events, presence and heartbeats of a running gateway (`cli.md` §14).

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::text;

use crate::client::{CallError, Target, TargetOptions, ask_blocking, limit};
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
    /// Tell the main session of something that happened
    #[command(
        after_help = "Examples:\n  yabby system event --text \"The backup is done\"\n  yabby system event --text \"The door bell rings\" --mode now --json"
    )]
    Event(Event),
    /// Show who is connected
    #[command(after_help = "Examples:\n  yabby system presence\n  yabby system presence --json")]
    Presence(Asking),
    /// Show or switch heartbeats, which a gateway of OpenClaw's has; yabby's has none yet
    #[command(after_help = "Examples:\n  yabby system heartbeat last\n  yabby system heartbeat disable")]
    Heartbeat(Heartbeat),
}

#[derive(Args)]
struct Event {
    /// What happened
    #[arg(long, value_name = "TEXT")]
    text: String,
    /// When the agent hears of it: now, or next-heartbeat. A gateway without heartbeats tells it with the next message
    #[arg(long, value_name = "MODE", default_value = "next-heartbeat")]
    mode: String,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Args)]
#[command(arg_required_else_help = true)]
struct Heartbeat {
    #[command(subcommand)]
    command: HeartbeatCommand,
}

#[derive(Subcommand)]
enum HeartbeatCommand {
    /// Show the last one
    #[command(after_help = "Examples:\n  yabby system heartbeat last --json")]
    Last(Asking),
    /// Switch them on
    #[command(after_help = "Examples:\n  yabby system heartbeat enable")]
    Enable(Asking),
    /// Switch them off
    #[command(after_help = "Examples:\n  yabby system heartbeat disable")]
    Disable(Asking),
}

#[derive(Args)]
struct Asking {
    #[command(flatten)]
    target: TargetOptions,
    /// How long to wait, in milliseconds [default: 30000]
    #[arg(long, value_name = "MS")]
    timeout: Option<String>,
    #[arg(long, hide = true)]
    expect_final: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Asking {
    fn ask(&self, setting: &Setting, method: &str, params: Value) -> Result<Value> {
        let target = Target::find(setting, &self.target)?;
        ask_blocking(setting, &target, method, params, limit(self.timeout.as_deref(), 30_000)?, self.json)
    }
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Event(event) => tell(setting, event),
        // As the reference: JSON either way.
        Command::Presence(asking) => {
            terminal::print_json(&asking.ask(setting, "system-presence", Value::Null)?)
        }
        Command::Heartbeat(Heartbeat { command }) => {
            let answer = match command {
                HeartbeatCommand::Last(asking) => asking.ask(setting, "last-heartbeat", Value::Null),
                HeartbeatCommand::Enable(asking) => {
                    asking.ask(setting, "set-heartbeats", json!({"enabled": true}))
                }
                HeartbeatCommand::Disable(asking) => {
                    asking.ask(setting, "set-heartbeats", json!({"enabled": false}))
                }
            };
            terminal::print_json(&answer?)
        }
    }
}

fn tell(setting: &Setting, event: &Event) -> Result<()> {
    let Some(happened) = text::non_blank(&event.text) else { bail!("--text is required") };
    let mode = match text::trim(&event.mode) {
        "" => "next-heartbeat",
        mode @ ("now" | "next-heartbeat") => mode,
        _ => bail!("--mode must be now or next-heartbeat"),
    };
    let answer = match event.asking.ask(setting, "wake", json!({"mode": mode, "text": happened})) {
        Err(error) if wakes_nobody(&error) => {
            if mode == "now" {
                anstream::eprintln!(
                    "note: this gateway wakes nobody yet; the agent hears of it with the next message"
                );
            }
            event.asking.ask(setting, "system-event", json!({"text": happened}))?
        }
        answer => answer?,
    };
    if event.asking.json { terminal::print_json(&answer) } else { Ok(writeln!(anstream::stdout(), "ok")?) }
}

/// Whether a gateway of ours says that it has no heartbeat yet; it takes a notice for the main session all the same.
fn wakes_nobody(error: &anyhow::Error) -> bool {
    let refusal = error.downcast_ref::<CallError>();
    matches!(refusal, Some(CallError::Refused { message, .. }) if message.starts_with("yabby has no heartbeat yet"))
}

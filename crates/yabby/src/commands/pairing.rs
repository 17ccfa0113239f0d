//! `yabby pairing`: who asks to talk to the agent in a channel, and letting them in (`cli.md` §10).

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use yabby_domain::channel::normalize_channel;
use yabby_domain::json::{self, Value};
use yabby_domain::text;
use yabby_store::clock::SystemClock;
use yabby_store::files::channel_pairing::ChannelPairing;

use super::channels::channels;
use crate::boxes::{self, fixed, wide};
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
    /// List who asks to be let in
    #[command(
        after_help = "Examples:\n  yabby pairing list telegram\n  yabby pairing list --channel telegram --json"
    )]
    List(List),
    /// Let somebody in, by the code they were given
    #[command(
        after_help = "Examples:\n  yabby pairing approve telegram ABCD2345\n  yabby pairing approve --channel telegram ABCD2345"
    )]
    Approve(Approve),
}

#[derive(Args)]
struct List {
    /// The channel
    #[arg(value_name = "CHANNEL")]
    named: Option<String>,
    /// The channel
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Approve {
    /// The channel, or with --channel the code
    #[arg(value_name = "CODEORCHANNEL")]
    first: String,
    /// The code
    #[arg(value_name = "CODE")]
    code: Option<String>,
    /// The channel
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Tell them, in the channel
    #[arg(long)]
    notify: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::List(arguments) => list(setting, arguments),
        Command::Approve(arguments) => approve(setting, arguments),
    }
}

fn files(setting: &Setting, channel: &str) -> ChannelPairing {
    ChannelPairing::of(&setting.place, channel, std::sync::Arc::new(SystemClock))
}

fn list(setting: &Setting, arguments: &List) -> Result<()> {
    let Some(channel) = arguments.channel.as_ref().or(arguments.named.as_ref()) else {
        let known: Vec<&str> = channels(setting)?.iter().map(|channel| channel.about.id).collect();
        if known.is_empty() && !setting.keeps_reference_text() {
            bail!("no channels are set up, so that nobody can ask to be let in");
        }
        bail!(
            "Channel required. Use --channel <channel> or pass it as the first argument (expected one of: {})",
            known.join(", ")
        );
    };
    let channel = parsed(channel)?;
    let requests = files(setting, &channel).requests()?;
    if arguments.json {
        return terminal::print_json(&json!({"channel": channel, "requests": requests}));
    }
    let mut out = anstream::stdout().lock();
    if requests.is_empty() {
        return Ok(writeln!(out, "No pending {channel} pairing requests.")?);
    }
    let field = |request: &Value, name: &str| {
        request.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let rows = requests.iter().map(|request| {
        let about = request.get("meta").map(json::stringify).unwrap_or_default();
        [field(request, "code"), field(request, "id"), about, field(request, "createdAt")]
    });
    writeln!(out, "Pairing requests ({})", requests.len())?;
    let heads = [fixed("Code", 10), wide(id_label(&channel), 12), wide("Meta", 8), fixed("Requested", 12)];
    Ok(write!(out, "{}", boxes::table(&heads, rows))?)
}

/// What a channel calls those who write.
fn id_label(channel: &str) -> &'static str {
    match channel {
        "telegram" => "telegramUserId",
        "discord" => "discordUserId",
        "slack" => "slackUserId",
        "googlechat" => "googlechatUserId",
        "signal" => "signalNumber",
        "whatsapp" => "whatsappSenderId",
        "imessage" => "imessageSenderId",
        _ => "userId",
    }
}

fn approve(setting: &Setting, arguments: &Approve) -> Result<()> {
    let (channel, code) = match (&arguments.channel, &arguments.code) {
        (Some(channel), None) => (channel, &arguments.first),
        (None, Some(code)) => (&arguments.first, code),
        (Some(_), Some(_)) => bail!(
            "Too many arguments. Use: {}",
            setting.command("pairing approve --channel <channel> <code>")
        ),
        (None, None) => bail!(
            "Usage: {} (or: {})",
            setting.command("pairing approve <channel> <code>"),
            setting.command("pairing approve --channel <channel> <code>")
        ),
    };
    let channel = parsed(channel)?;
    let Some(id) = files(setting, &channel).approve(code)? else {
        bail!("No pending pairing request found for code: {code}");
    };
    if arguments.notify {
        anstream::eprintln!("note: nobody was told: channels are not served yet");
    }
    if arguments.json {
        return terminal::print_json(&json!({"channel": channel, "id": id}));
    }
    let line = format!("Approved {channel} sender {id}.");
    Ok(writeln!(anstream::stdout(), "{}", terminal::harmless(&line))?)
}

/// A channel of ours, or one that a plugin of OpenClaw's may have.
fn parsed(raw: &str) -> Result<String> {
    let Some(name) = normalize_channel(raw) else { bail!("Channel required") };
    let mut characters = name.chars();
    let begins = characters.next().is_some_and(|c| c.is_ascii_lowercase());
    let is_name =
        begins && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'));
    if is_name && text::units(&name) <= 64 { Ok(name) } else { bail!("Invalid channel: {name}") }
}

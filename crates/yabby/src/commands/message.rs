//! `yabby message send`: sends a message without an agent having said it (`cli.md` §5).

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use yabby_domain::channel::status::{Account, ConfiguredChannel};
use yabby_domain::channel::{CORE_CHANNELS, WEBCHAT, normalize_channel};
use yabby_domain::json::{self, Value};
use yabby_domain::reply::target;
use yabby_domain::text;

use super::channels::channels;
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
    /// Send a message
    #[command(
        after_help = "Examples:\n  yabby message send --channel webchat -t agent:main:main -m \"The backup is done\"\n  yabby message send --channel telegram -t 123456 -m \"hello\" --dry-run --json"
    )]
    Send(Box<Send>),
}

#[derive(Args)]
struct Send {
    /// To whom: a number, a chat, or with --channel webchat a session
    #[arg(short, long, value_name = "DEST")]
    target: Option<String>,
    /// What to say
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// A picture or another file to send along: a path or an address
    #[arg(long, value_name = "PATH")]
    media: Option<String>,
    /// Which channel: telegram, whatsapp, discord, googlechat, slack, signal, imessage or webchat [default: the only one that is set up]
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Which account of the channel
    #[arg(long, value_name = "ID")]
    account: Option<String>,
    /// The message that it answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// The thread that it belongs to
    #[arg(long, value_name = "ID")]
    thread_id: Option<String>,
    /// Buttons below the message, as JSON
    #[arg(long, value_name = "JSON")]
    buttons: Option<String>,
    /// A card, as JSON
    #[arg(long, value_name = "JSON")]
    card: Option<String>,
    /// Show a video as a moving picture
    #[arg(long)]
    gif_playback: bool,
    /// Without a sound
    #[arg(long)]
    silent: bool,
    /// Only say what would be sent
    #[arg(long)]
    dry_run: bool,
    /// Say more
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    gateway: TargetOptions,
    /// How long to wait, in milliseconds [default: 10000]
    #[arg(long, value_name = "MS")]
    timeout: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let Command::Send(arguments) = &arguments.command;
    let Some(target) = &arguments.target else {
        return Err(Failure::bare("error: required option '-t, --target <dest>' not specified").into());
    };
    for (name, given) in [("--buttons", &arguments.buttons), ("--card", &arguments.card)] {
        let given = given.as_deref().and_then(text::non_blank);
        if given.is_some_and(|given| json::parse(given).is_err()) {
            bail!("{name} must be valid JSON");
        }
    }
    let Some(target) = text::non_blank(target) else { bail!("Action send requires a target.") };
    let channel = channel(setting, arguments.channel.as_deref())?;
    let to = destination(&channel, target)?;
    let said = arguments.message.as_deref().and_then(text::non_blank);
    let media = arguments.media.as_deref().and_then(text::non_blank);
    if said.is_none() && media.is_none() {
        bail!("message required");
    }
    if arguments.dry_run {
        return dry_run(arguments, &channel, &to, media);
    }
    for (name, given) in [
        ("--reply-to", arguments.reply_to.is_some()),
        ("--thread-id", arguments.thread_id.is_some()),
        ("--buttons", arguments.buttons.is_some()),
        ("--card", arguments.card.is_some()),
        ("--silent", arguments.silent),
    ] {
        if given {
            bail!("{name} is not something that {} can do here", channel.label);
        }
    }
    let mut params = json!({
        "to": to,
        // A message has at least one character; whoever sends media alone says nothing with it.
        "message": said.unwrap_or(" "),
        "channel": channel.id,
        "idempotencyKey": uuid::Uuid::new_v4().to_string(),
    });
    if let Some(media) = media {
        params["mediaUrl"] = media.into();
    }
    if let Some(account) = &arguments.account {
        params["accountId"] = account.clone().into();
    }
    if arguments.gif_playback {
        params["gifPlayback"] = true.into();
    }
    let gateway = Target::find(setting, &arguments.gateway)?;
    let limit = limit(arguments.timeout.as_deref(), 10_000)?;
    let sent = ask_blocking(setting, &gateway, "send", params, limit, arguments.json)?;
    if arguments.json {
        let mut payload = payload(&channel, &to, "gateway", media);
        payload["result"] = sent;
        return terminal::print_json(&envelope(&channel.id, false, &payload));
    }
    let id = sent.get("messageId").and_then(Value::as_str).unwrap_or("unknown");
    let line = format!("✅ Sent via gateway ({}). Message ID: {id}", channel.id);
    Ok(writeln!(anstream::stdout(), "{}", terminal::harmless(&line))?)
}

/// Where a message goes.
struct Channel {
    id: String,
    label: String,
}

/// The channel that is named, else the only one that is set up. Whoever talks to the gateway directly is a
/// channel, too, which is always there.
fn channel(setting: &Setting, named: Option<&str>) -> Result<Channel> {
    let known = channels(setting)?;
    let of = |id: &str| known.iter().find(|channel| channel.about.id == id);
    if let Some(name) = named.and_then(normalize_channel) {
        if name == WEBCHAT {
            return Ok(Channel { id: name, label: "webchat".to_owned() });
        }
        let Some(found) = of(&name).filter(|_| CORE_CHANNELS.contains(&name.as_str())) else {
            bail!("Unknown channel: {name}");
        };
        return Ok(Channel { id: name, label: found.about.label.to_owned() });
    }
    let is_ready = |channel: &&ConfiguredChannel| channel.accounts.iter().any(Account::is_ready);
    let ready: Vec<&str> = known.iter().filter(is_ready).map(|channel| channel.about.id).collect();
    match ready.as_slice() {
        [] => bail!("Channel is required (no configured channels detected)."),
        [only] => Ok(Channel {
            id: (*only).to_owned(),
            label: of(only).map_or(*only, |found| found.about.label).to_owned(),
        }),
        several => bail!("Channel is required when multiple channels are configured: {}", several.join(", ")),
    }
}

/// The address as the channel writes it.
fn destination(channel: &Channel, named: &str) -> Result<String> {
    if channel.id == "telegram" && !target::is_telegram_address(named) {
        bail!("Unknown target \"{named}\" for {}. Hint: <chatId>", channel.label);
    }
    // A session is called what it is called, and Slack tells capitals from small letters.
    let keeps_letters = [WEBCHAT, "slack"].contains(&channel.id.as_str());
    let spelt = (!keeps_letters).then(|| target::comparable_target(&channel.id, named)).flatten();
    Ok(spelt.unwrap_or_else(|| named.to_owned()))
}

fn dry_run(arguments: &Send, channel: &Channel, to: &str, media: Option<&str>) -> Result<()> {
    if arguments.json {
        // Whoever is connected all the time is the gateway's.
        let via = if channel.id == "whatsapp" { "gateway" } else { "direct" };
        let mut payload = payload(channel, to, via, media);
        payload["dryRun"] = true.into();
        return terminal::print_json(&envelope(&channel.id, true, &payload));
    }
    // The reference says that it was sent.
    writeln!(anstream::stdout(), "✅ Sent via {}. Message ID: unknown", channel.label)?;
    anstream::eprintln!("note: nothing was sent; that was a dry run");
    Ok(())
}

fn payload(channel: &Channel, to: &str, via: &str, media: Option<&str>) -> Value {
    let mut payload = json!({"channel": channel.id, "to": to, "via": via, "mediaUrl": media});
    if let Some(media) = media {
        payload["mediaUrls"] = json!([media]);
    }
    payload
}

fn envelope(channel: &str, dry_run: bool, payload: &Value) -> Value {
    json!({"action": "send", "channel": channel, "dryRun": dry_run, "handledBy": "core", "payload": payload})
}

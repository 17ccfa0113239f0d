//! `message`: sends something on a channel, here or elsewhere.

use std::path::PathBuf;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::delivery::DeliveryContext;
use yabby_domain::inbound::ThreadId;
use yabby_domain::json::Object;
use yabby_domain::reply::duplicates::SentTarget;
use yabby_domain::seam::office::Letter;
use yabby_domain::seam::tool::{Company, Effect, Sent, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use crate::arguments::Arguments;
use crate::places::{Access, Places};

pub(crate) struct Message {
    /// Folders that may be read besides the workspace.
    pub(crate) readable: Vec<PathBuf>,
}

#[async_trait]
impl Tool for Message {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "message".to_owned(),
            description:
                "Send a message on a channel. Without a target it goes to this conversation. Your normal answer is sent by itself: do not send it twice."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": ["send"]},
                    "message": {"type": "string"},
                    "channel": {"type": "string", "description": "telegram, discord, slack, whatsapp, …"},
                    "target": {"type": "string", "description": "A chat, a person or a number"},
                    "accountId": {"type": "string"},
                    "threadId": {"type": "string"},
                    "replyTo": {"type": "string"},
                    "media": {"type": "string", "description": "A file or an address to attach"},
                },
                "required": ["message"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::Lasting
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let mut letter = match letter(Arguments(arguments), context) {
            Ok(letter) => letter,
            Err(why) => return ToolOutput::error(&why),
        };
        if let Some(media) = letter.media.take() {
            let places = Places::of(context, &self.readable);
            match crate::found(move || attached(&places, &media)).await {
                Ok(media) => letter.media = Some(media),
                Err(why) => return ToolOutput::error(&format!("not sent: {why}")),
            }
        }
        let (text, to) = (letter.text.clone(), letter.to.clone());
        match context.office.send(letter).await {
            Ok(id) => {
                let provider = to.channel.clone().unwrap_or_default();
                let details = json!({"ok": true, "channel": provider, "to": to.to, "messageId": id});
                let target = SentTarget { provider, to: to.to, account: to.account };
                ToolOutput {
                    details: Some(details),
                    sent: vec![Sent { text, target }],
                    ..ToolOutput::text("Sent.")
                }
            }
            Err(why) => ToolOutput::error(&format!("not sent: {why}")),
        }
    }
}

/// An attachment as a channel may take it: a page's address, or a file that may be read, by its real name.
fn attached(places: &Places, media: &str) -> Result<String, String> {
    let path = match media.split_once("://") {
        Some((scheme, _)) if matches!(text::lower(scheme).as_str(), "http" | "https") => {
            return Ok(media.to_owned());
        }
        Some(("file", path)) => path,
        Some(_) => return Err(format!("{media} cannot be attached; name a file, or an address of the web")),
        None => media,
    };
    let found = places.find(path, Access::Read)?;
    found.file(path)?;
    Ok(found.real().to_string_lossy().into_owned())
}

fn letter(arguments: Arguments<'_>, context: &ToolContext) -> Result<Letter, String> {
    let given = |names: &[&str]| {
        names.iter().find_map(|name| arguments.text(name).and_then(text::non_blank)).map(str::to_owned)
    };
    match given(&["action"]).as_deref() {
        None | Some("send") => {}
        Some(other) => return Err(format!("the action {other} is not available here; there is: send")),
    }
    let (said, media) = (given(&["message", "text"]), given(&["media", "path", "filePath"]));
    if said.is_none() && media.is_none() {
        return Err("message required".to_owned());
    }
    let here = context.address.clone().unwrap_or_default();
    let channel = given(&["channel"]).map(|channel| text::lower(&channel)).or_else(|| here.channel.clone());
    let to = given(&["target", "to"]);
    let (account, thread) = (given(&["accountId"]), given(&["threadId"]));
    let same_channel = channel == here.channel;
    // Another account or thread is another conversation, with other people in it.
    let stays_here = same_channel
        && to.as_ref().is_none_or(|to| Some(to) == here.to.as_ref())
        && account.as_ref().is_none_or(|account| Some(account) == here.account.as_ref())
        && thread.as_ref().is_none_or(|thread| Some(thread) == here.thread.as_ref().map(in_words).as_ref());
    if !stays_here {
        may_leave(&context.config, context.company, here.channel.is_some(), same_channel)?;
    }
    let from_here = |part: &Option<String>| part.clone().filter(|_| same_channel);
    let to = DeliveryContext {
        account: account.or_else(|| from_here(&here.account)),
        thread: match stays_here {
            true => here.thread.clone(),
            false => thread.map(ThreadId::Text),
        },
        to: to.or_else(|| from_here(&here.to)),
        channel,
    };
    if to.channel.is_none() {
        return Err("channel required: this conversation has none of its own".to_owned());
    }
    if to.to.is_none() {
        return Err("target required".to_owned());
    }
    Ok(Letter { to, text: said.unwrap_or_default(), media, reply_to: given(&["replyTo"]) })
}

fn in_words(thread: &ThreadId) -> String {
    thread.to_string()
}

/// Whether something may be sent from one conversation to another.
fn may_leave(
    config: &Config,
    company: Company,
    is_on_channel: bool,
    same_channel: bool,
) -> Result<(), String> {
    if company != Company::OwnerAlone {
        return Err("from here messages can be sent to this conversation only".to_owned());
    }
    let message = &config.tools.message;
    let anywhere = message.allow_cross_context_send == Some(true);
    let within = anywhere || message.cross_context.allow_within_provider();
    let across = anywhere || message.cross_context.allow_across_providers();
    match (is_on_channel, same_channel) {
        (false, _) => Ok(()),
        (true, true) if within => Ok(()),
        (true, false) if across => Ok(()),
        (true, true) => Err("sending to other conversations is switched off (tools.message.crossContext.allowWithinProvider)".to_owned()),
        (true, false) => Err("sending on another channel is switched off; tools.message.crossContext.allowAcrossProviders allows it".to_owned()),
    }
}

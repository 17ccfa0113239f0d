//! Talking to an agent through the gateway (`cli.md` §1, `gateway.md` §5.1).
//!
//! A message is said once. It is said here instead only if the gateway cannot be reached or says that it does not
//! take it; where it took the message, or may have, the run goes on there, whatever becomes of the connection.

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::json;
use tokio::runtime::Builder;
use tokio::time::{Instant, timeout_at};
use yabby_domain::channel::normalize_channel;
use yabby_domain::config::Config;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::office::Decision;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::session::open;
use yabby_domain::text;

use super::shown::{Screen, harmless_lines};
use super::{Answer, Arguments, Levels, approval, choose_session, seconds};
use crate::book::Book;
use crate::client::{CallError, Client, Mode, News, Target, TargetOptions};
use crate::setting::Setting;

/// The channel of a reply that names none.
const USUAL_CHANNEL: &str = "whatsapp";
/// How much longer than the run may take somebody waits for its end.
const GRACE: Duration = Duration::from_secs(30);
/// How long connecting may take.
const CONNECTING: Duration = Duration::from_secs(10);

/// Why there is no answer.
pub(super) enum Silence {
    /// The message was not taken: it can be said elsewhere.
    NotTaken(anyhow::Error),
    /// It was, or may have been.
    Taken(anyhow::Error),
}

/// Says something to an agent, and waits for the answer.
pub(super) fn ask(
    setting: &Setting,
    arguments: &Arguments,
    said: &str,
    live: bool,
) -> Result<Answer, Silence> {
    let prepared = || -> Result<_> {
        let config = setting.config()?;
        let request = Request::of(setting, arguments, &config, said)?;
        let target = Target::find(setting, &TargetOptions::default())?;
        Ok((request, target, Builder::new_current_thread().enable_all().build()?))
    };
    let (request, target, runtime) = prepared().map_err(Silence::NotTaken)?;
    runtime.block_on(request.make(setting, &target, live))
}

/// What is asked for.
struct Request {
    run_id: String,
    params: Object,
    /// The session, where it is known without asking.
    key: Option<String>,
    /// How much to tell of the run, from now on; nothing once the session was told.
    verbose: Option<&'static str>,
    /// Whom the session is with, where that is how it was named.
    to: Option<SessionKey>,
    session_id: Option<String>,
    limit: Duration,
}

impl Request {
    fn of(setting: &Setting, arguments: &Arguments, config: &Config, said: &str) -> Result<Self> {
        let given = |option: &Option<String>| option.as_deref().and_then(text::non_blank).map(str::to_owned);
        let Some(said) = text::non_blank(said) else {
            return Err(anyhow!("Message (--message) is required"));
        };
        choose_session(arguments, config)?;
        let agent = given(&arguments.agent).map(|named| Book::open(setting)?.agent(&named)).transpose()?;
        let seconds = seconds(arguments)?.unwrap_or_else(|| config.agents.defaults.timeout_seconds());
        let levels = Levels::of(arguments)?;
        let policy = KeyPolicy::from_config(config);
        let (id, to) = (given(&arguments.session_id), given(&arguments.to));
        let key = match (&id, &agent, &to) {
            (None, Some(agent), _) => Some(SessionKey::main(agent, &policy.main_key)),
            (None, None, None) => Some(policy.main_session()),
            // The gateway knows its sessions.
            _ => None,
        };
        let key = key.map(|key| key.as_str().to_owned());
        let run_id = uuid::Uuid::new_v4().to_string();
        let with = to.as_ref().filter(|_| id.is_none() && key.is_none()).map(|to| {
            let message =
                InboundMessage { from: Some(to.clone()), to: Some(to.clone()), ..InboundMessage::default() };
            open::Target::of(&message, &policy).key
        });
        let session_id = id.clone();
        let channel = given(&arguments.channel).as_deref().and_then(normalize_channel);
        let members: [(&str, Option<Value>); 13] = [
            ("message", Some(text::from_outside(said).into())),
            ("agentId", agent.map(|agent| agent.as_str().into())),
            ("to", to.map(Value::from)),
            ("replyTo", given(&arguments.reply_to).map(Value::from)),
            ("sessionId", id.map(Value::from)),
            ("sessionKey", key.clone().map(Value::from)),
            ("thinking", given(&arguments.thinking).map(Value::from)),
            ("deliver", Some(arguments.deliver.into())),
            ("channel", Some(channel.unwrap_or_else(|| USUAL_CHANNEL.to_owned()).into())),
            ("replyChannel", given(&arguments.reply_channel).map(Value::from)),
            ("replyAccountId", given(&arguments.reply_account).map(Value::from)),
            ("timeout", Some(json::number(seconds))),
            ("idempotencyKey", Some(run_id.clone().into())),
        ];
        let params =
            members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).saturating_add(GRACE);
        Ok(Self { run_id, params, key, verbose: levels.verbose_text(), to: with, session_id, limit })
    }

    async fn make(mut self, setting: &Setting, target: &Target, live: bool) -> Result<Answer, Silence> {
        let not_taken = |error: CallError| Silence::NotTaken(error.into());
        let mode = match live {
            true => Mode::Watching { answers: std::io::stdin().is_terminal() },
            false => Mode::Cli,
        };
        let mut client = Client::open(target, mode, CONNECTING).await.map_err(not_taken)?;
        // What is said to one's own agents is not for those of somebody else.
        if let Some(folder) = client.other_folder(setting) {
            let url = &target.url;
            return Err(Silence::NotTaken(anyhow!("the gateway at {url} works on another folder, {folder}")));
        }
        self.set_verbose(&mut client).await;
        let params = Value::Object(std::mem::take(&mut self.params));
        let id = client.send("agent", params).await.map_err(|error| self.lost(false, &error))?;
        let answer = self.listen(&mut client, &id, live).await;
        client.close().await;
        answer
    }

    /// The gateway is told by another request; where that does not work, the message is said all the same. A session
    /// that is not there yet is told once it is.
    async fn set_verbose(&mut self, client: &mut Client) {
        let Some(level) = self.verbose else { return };
        let Some(key) = self.known_key(client).await else { return };
        self.verbose = None;
        let params = json!({"key": key, "verboseLevel": level});
        if let Err(error) = client.call("sessions.patch", params, CONNECTING).await {
            anstream::eprintln!(
                "note: --verbose changed nothing: {}",
                crate::terminal::harmless(&error.brief())
            );
        }
    }

    /// The key of the session, if there is one already.
    async fn known_key(&self, client: &mut Client) -> Option<String> {
        let named = self.key.clone().or_else(|| Some(self.to.as_ref()?.as_str().to_owned()));
        if named.is_some() {
            return named;
        }
        let params = json!({"sessionId": self.session_id.as_deref()?});
        let found = client.call("sessions.resolve", params, CONNECTING).await.ok()?;
        Some(found.get("key")?.as_str()?.to_owned())
    }

    async fn listen(&mut self, client: &mut Client, id: &str, live: bool) -> Result<Answer, Silence> {
        let taken = |error: anyhow::Error| Silence::Taken(error);
        let deadline = Instant::now().checked_add(self.limit);
        let deadline = deadline.unwrap_or_else(|| Instant::now() + Duration::from_secs(365 * 24 * 3600));
        let mut screen = Screen::default();
        let (mut is_accepted, mut is_stopping) = (false, false);
        loop {
            let news = tokio::select! {
                news = timeout_at(deadline, client.next_news(id)) => news,
                signal = tokio::signal::ctrl_c() => {
                    signal.map_err(|error| taken(error.into()))?;
                    if std::mem::replace(&mut is_stopping, true) || !self.stop(client).await {
                        return Err(taken(anyhow!("left before the answer; the message is on record, and goes on in the gateway")));
                    }
                    continue;
                }
            };
            let news = match news {
                Ok(news) => news.map_err(|error| self.lost(is_accepted, &error))?,
                Err(_) => {
                    let waited = self.limit.as_secs();
                    return Err(taken(anyhow!(
                        "there is no answer yet after {waited} s; the run goes on in the gateway"
                    )));
                }
            };
            match news {
                News::Accepted(_) => is_accepted = true,
                News::Event(event) => self.hear(client, &event, &mut screen, live).await.map_err(taken)?,
                News::Answer(Ok(answer)) => {
                    let answer = answered(answer);
                    if live {
                        screen.end(&answer.payloads).map_err(taken)?;
                    }
                    return Ok(answer);
                }
                // A refusal after the message was taken is how the run ended.
                News::Answer(Err(error)) if is_accepted || is_ended(&error) => {
                    return Err(taken(plain(&error)));
                }
                News::Answer(Err(error)) => return Err(Silence::NotTaken(error.into())),
            }
        }
    }

    /// Asks the gateway to stop the run; whether that was possible.
    async fn stop(&self, client: &mut Client) -> bool {
        let Some(key) = &self.key else { return false };
        client.send("chat.abort", json!({"sessionKey": key, "runId": self.run_id})).await.is_ok()
    }

    /// Something happened: shows it if it belongs to the run, and asks whoever sits there if they are asked.
    async fn hear(
        &mut self,
        client: &mut Client,
        event: &Value,
        screen: &mut Screen,
        live: bool,
    ) -> Result<()> {
        let text = |path: &[&str]| json::at(event, path).and_then(Value::as_str);
        match text(&["event"]) {
            Some("agent") if text(&["payload", "runId"]) == Some(&self.run_id) => {
                if let Some(key) = text(&["payload", "sessionKey"]) {
                    self.key.get_or_insert_with(|| key.to_owned());
                    if let Some(level) = self.verbose.take() {
                        let params = json!({"key": key, "verboseLevel": level});
                        client.send("sessions.patch", params).await?;
                    }
                }
                let data = json::at(event, &["payload", "data"]).unwrap_or(&Value::Null);
                let field = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default();
                match (text(&["payload", "stream"]), field("phase")) {
                    (Some("assistant"), _) if live => screen.say(field("delta")),
                    (Some("tool"), "start") if live => {
                        screen.tool(field("name"), data.get("args").unwrap_or(&Value::Null))
                    }
                    (Some("compaction"), "start") if live => screen.summarising(),
                    _ => Ok(()),
                }
            }
            Some("exec.approval.requested") if live && std::io::stdin().is_terminal() => {
                let of_session = text(&["payload", "request", "sessionKey"]);
                if of_session.is_some() && of_session != self.key.as_deref() {
                    return Ok(());
                }
                screen.pause()?;
                decide(client, event.get("payload").unwrap_or(&Value::Null)).await
            }
            _ => Ok(()),
        }
    }

    fn lost(&self, is_accepted: bool, error: &CallError) -> Silence {
        let why = error.brief();
        Silence::Taken(match is_accepted {
            true => anyhow!(
                "the connection to the gateway is lost ({why}); the message is on record, and goes on there"
            ),
            false => anyhow!(
                "the connection to the gateway was lost before it said whether it took the message ({why}); look with `yabby turns` or `yabby history` before saying it again"
            ),
        })
    }
}

/// Puts a question about a command to whoever sits there, and hands the answer on.
async fn decide(client: &mut Client, asked: &Value) -> Result<()> {
    let text = |path: &[&str]| json::at(asked, path).and_then(Value::as_str).unwrap_or_default();
    let expires = asked.get("expiresAtMs").and_then(Value::as_i64).unwrap_or(i64::MAX);
    let is_open = move || jiff::Timestamp::now().as_millisecond() < expires;
    let decision = approval::put(text(&["request", "cwd"]), text(&["request", "command"]), is_open).await?;
    let decision = match decision {
        Some(Decision::Once) => "allow-once",
        Some(Decision::Always) => "allow-always",
        Some(Decision::Deny) => "deny",
        Some(Decision::Unanswered) | None => return Ok(()),
    };
    // The answer to this is passed over: whether it came in time shows in what happens.
    client.send("exec.approval.resolve", json!({"id": text(&["id"]), "decision": decision})).await?;
    Ok(())
}

/// Whether a refusal is the end of a run, and not of a request.
fn is_ended(error: &CallError) -> bool {
    matches!(error, CallError::Refused { payload: Some(payload), .. } if payload.get("runId").is_some())
}

/// An error as the gateway tells it, which says itself that it is one.
fn plain(error: &CallError) -> anyhow::Error {
    let told = harmless_lines(&error.to_string());
    anyhow!("{}", told.strip_prefix("Error: ").unwrap_or(&told))
}

fn answered(answer: Value) -> Answer {
    let list = json::at(&answer, &["result", "payloads"]).and_then(Value::as_array);
    let payload = |payload: &Value| {
        let text = |name: &str| payload.get(name).and_then(Value::as_str).map(str::to_owned);
        let urls = payload.get("mediaUrls").and_then(Value::as_array);
        let urls: Option<Vec<String>> =
            urls.map(|urls| urls.iter().filter_map(|url| Some(url.as_str()?.to_owned())).collect());
        ReplyPayload {
            text: text("text").filter(|text| !text.is_empty()),
            // Whoever tells all of them tells the first again.
            media_url: text("mediaUrl").filter(|_| urls.is_none()),
            media_urls: urls,
            is_error: payload.get("isError").and_then(Value::as_bool),
            ..ReplyPayload::default()
        }
    };
    let payloads: Vec<ReplyPayload> = list.into_iter().flatten().map(payload).collect();
    let error = json::at(&answer, &["result", "meta", "error"]).and_then(Value::as_str).map(str::to_owned);
    let is_failed = payloads.iter().all(|payload| payload.is_error == Some(true));
    Answer {
        failed: error.filter(|_| is_failed),
        is_aborted: json::at(&answer, &["result", "meta", "aborted"]) == Some(&Value::Bool(true)),
        payloads,
        json: answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_failed_if_nothing_but_errors_was_said() {
        let told = |payloads: Value, error: Value| {
            answered(json!({"result": {"payloads": payloads, "meta": {"error": error, "aborted": false}}}))
        };
        let good = told(json!([{"text": "hi", "mediaUrl": null}]), Value::Null);
        assert_eq!(
            (good.payloads[0].text.as_deref(), good.failed, good.is_aborted),
            (Some("hi"), None, false)
        );
        let bad = told(json!([{"text": "no", "mediaUrl": null, "isError": true}]), json!("no"));
        assert_eq!(bad.failed.as_deref(), Some("no"));
        let mixed = told(json!([{"text": "hi"}, {"text": "no", "isError": true}]), json!("no"));
        assert_eq!(mixed.failed, None);
        let media = told(json!([{"text": "", "mediaUrl": "a", "mediaUrls": ["a", "b"]}]), Value::Null);
        assert_eq!(
            (media.payloads[0].media_url.as_deref(), media.payloads[0].media_urls.as_ref().map(Vec::len)),
            (None, Some(2))
        );
    }
}

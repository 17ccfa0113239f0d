//! `agent`: says something to an agent, and waits for the answer. It is answered twice: when the message is on
//! record, and when the run is over (`gateway.md` §5.1).

use futures_util::FutureExt as _;
use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::agent::agents;
use yabby_domain::channel::{core_channel, normalize_channel};
use yabby_domain::config::Config;
use yabby_domain::directive::level::{Level as _, ThinkLevel, supports_xhigh};
use yabby_domain::id::AgentId;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::json::Value;
use yabby_domain::session::address::{Address, session_of_unknown_id};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::session::open::{OpenRequest, Target, is_fresh};
use yabby_domain::text;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::turn::{LaneClass, Outcome, TurnOptions};
use yabby_engine::TurnReport;
use yabby_engine::services::find_by_id;

use super::{Access, Call, Listing, Method};
use crate::asking::{self, Asked, INTERRUPTED, Question};
use crate::frames::{Answer, Refusal};
use crate::in_turn::Turn;
use crate::runs::{self, Ending};
use crate::schema::{BOOLEAN, COUNT, NON_EMPTY, Schema, TEXT, optional, required};

pub(super) const METHOD: Method = Method {
    name: "agent",
    access: Access::Write,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("message", NON_EMPTY),
        optional("agentId", NON_EMPTY),
        optional("to", TEXT),
        optional("replyTo", TEXT),
        optional("sessionId", TEXT),
        optional("sessionKey", TEXT),
        optional("thinking", TEXT),
        optional("deliver", BOOLEAN),
        optional("attachments", Schema::List { of: &Schema::Any, min: 0, max: usize::MAX }),
        optional("channel", TEXT),
        optional("replyChannel", TEXT),
        optional("accountId", TEXT),
        optional("replyAccountId", TEXT),
        optional("threadId", TEXT),
        optional("groupId", TEXT),
        optional("groupChannel", TEXT),
        optional("groupSpace", TEXT),
        optional("timeout", COUNT),
        optional("lane", TEXT),
        optional("extraSystemPrompt", TEXT),
        required("idempotencyKey", NON_EMPTY),
        optional("label", Schema::Text { min: 1, max: 64 }),
        optional("spawnedBy", TEXT),
    ]),
    about: "Says something to an agent and waits for the answer; answers when the message is on record, and again when the run is over.",
    answer: |call| Box::pin(answer(call)),
};

/// The channel that a session's last message came from.
const LAST: &str = "last";
/// Where a reply is meant to go if nothing says where.
const USUAL_CHANNEL: &str = "whatsapp";

async fn answer(call: Call) -> Answer {
    let config = call.gateway.config();
    let run_id = call.text("idempotencyKey").unwrap_or_default().to_owned();
    let remembered = format!("agent:{run_id}");
    if let Some(answer) = call.gateway.dedupe.find(&remembered) {
        return answer;
    }
    let pictures = super::attachments::pictures(&call.params)?;
    let agent = agent(&call, &config)?;
    let wish = given(&call, "sessionKey");
    if let (Some(agent), Some(key)) = (&agent, &wish) {
        let of_key = KeyPolicy::from_config(&config).session_agent(key);
        if *agent != of_key {
            let named = call.text("agentId").unwrap_or_default();
            let text = format!(
                "invalid agent params: agent \"{named}\" does not match session key agent \"{of_key}\""
            );
            return Err(Refusal::invalid(text));
        }
    }
    let turn = turn(&call, agent.as_ref(), wish.as_deref()).await;
    let place = place(&call, &config, agent, wish).await?;
    let entry = match &place {
        Some(place) => allowed(&call, place, &config).await?,
        None => None,
    };
    let accepted = json!({"runId": run_id, "status": "accepted", "acceptedAt": call.gateway.now()});
    let place = match runnable(&call, place, entry.as_ref()) {
        Ok(place) => place,
        Err(why) => {
            call.answer_first(accepted);
            return finished(&call, &remembered, Err(failed(&run_id, &format!("Error: {why}"))));
        }
    };
    note(&call, &place, entry.as_ref(), &config).await?;
    let undelivered = undelivered(&call, &place, entry.as_ref(), &config);
    let question = Question {
        run_id: &run_id,
        key: &place.key,
        told_key: &place.told_key,
        message: asking::spoken(&call.gateway, call.text("message").unwrap_or_default()),
        options: TurnOptions { pictures, ..options(&call) },
        dedupe: remembered.clone(),
    };
    let (ticket, run, held) = match asking::ask(&call.gateway, &call.client, question).await? {
        Asked::Accepted(ticket, run, held) => (ticket, run, held),
        // It came before, perhaps before we were started.
        Asked::Repeated => {
            drop(turn);
            return repeated(&call, &run_id, accepted).await;
        }
    };
    call.gateway.dedupe.remember(&remembered, &Ok(accepted.clone()));
    call.answer_first(accepted);
    drop((held, turn));
    let Ok(report) = ticket.done.await else {
        call.gateway.runs.finish(&run, Ending::Failed(INTERRUPTED.to_owned())).await;
        return finished(&call, &remembered, Err(failed(&run_id, INTERRUPTED)));
    };
    call.gateway.runs.finish(&run, runs::ending_of(&report, None)).await;
    let answer = match undelivered {
        Some(why) => Err(failed(&run_id, &why)),
        None => result(&run_id, &report),
    };
    finished(&call, &remembered, answer)
}

/// Why a request that is accepted is not run all the same, in the order in which the reference looks.
fn runnable(call: &Call, place: Option<Place>, entry: Option<&SessionEntry>) -> Result<Place, String> {
    const NO_PLACE: &str = "Pass --to <E.164>, --session-id, or --agent to choose a session";
    if given(call, "message").is_none() {
        return Err("Message (--message) is required".to_owned());
    }
    let place = place.ok_or(NO_PLACE)?;
    let thinking = call.text("thinking").filter(|level| !level.is_empty());
    let level = thinking.and_then(ThinkLevel::parse);
    if thinking.is_some() && level.is_none() {
        let model = call.gateway.engine.common_model();
        let highest = if supports_xhigh(Some(&model.provider), &model.model) { ", xhigh" } else { "" };
        return Err(format!("Invalid thinking level. Use one of: off, minimal, low, medium, high{highest}."));
    }
    if call.number("timeout") == Some(0.0) {
        return Err("--timeout must be a positive integer (seconds)".to_owned());
    }
    let model = call.gateway.model_in(&place.key, entry);
    if level == Some(ThinkLevel::Xhigh) && !supports_xhigh(Some(&model.provider), &model.model) {
        return Err(
            "Thinking level \"xhigh\" is only supported for openai/gpt-5.2, openai-codex/gpt-5.2-codex or \
                    openai-codex/gpt-5.1-codex."
                .to_owned(),
        );
    }
    Ok(place)
}

/// Why the reply does not go where it is meant to: no channel is served yet. In the main session nobody minds, as
/// in the reference.
fn undelivered(call: &Call, place: &Place, entry: Option<&SessionEntry>, config: &Config) -> Option<String> {
    let is_wanted = call.flag("deliver") == Some(true);
    let main = KeyPolicy::from_config(config).resolve_main_alias(&place.key.agent_id(), "main");
    if !is_wanted || (place.is_named && place.key == main) {
        return None;
    }
    let meant = call.text("replyChannel").or(call.text("channel")).and_then(normalize_channel);
    let last = || entry?.last_channel().filter(|channel| *channel != asking::WEBCHAT).map(str::to_owned);
    let channel = meant.filter(|channel| channel != LAST).or_else(last);
    let channel = channel.unwrap_or_else(|| USUAL_CHANNEL.to_owned());
    (channel != asking::WEBCHAT).then(|| format!("Error: Unknown channel: {channel}"))
}

/// Waits for a run that goes on already; what it said is in its session.
async fn repeated(call: &Call, run_id: &str, accepted: Value) -> Answer {
    let runs = &call.gateway.runs;
    if runs.active(run_id).is_some() {
        call.answer_first(accepted);
        let ended = tokio::select! {
            ended = runs.ended(run_id) => ended,
            _ = call.client.out.ended() => return Err(failed(run_id, super::LEFT)),
        };
        if let Some(error) = ended.error {
            return Err(failed(run_id, &error));
        }
    }
    Ok(json!({"runId": run_id, "status": "ok", "summary": "completed"}))
}

fn finished(call: &Call, remembered: &str, answer: Answer) -> Answer {
    call.gateway.dedupe.remember(remembered, &answer);
    answer
}

fn result(run_id: &str, report: &TurnReport) -> Answer {
    match (&report.error, report.outcome, report.asked_model()) {
        (Some(error), Outcome::Failed, false) => Err(failed(run_id, &format!("Error: {error}"))),
        _ => {
            let mut told = json!({"runId": run_id, "status": "ok", "summary": "completed"});
            // Not within the macro, which would copy it.
            told["result"] = report.to_json();
            Ok(told)
        }
    }
}

fn failed(run_id: &str, why: &str) -> Refusal {
    let payload = json!({"runId": run_id, "status": "error", "summary": why});
    Refusal::unavailable(why).with_payload(payload)
}

/// The session that is meant.
struct Place {
    key: SessionKey,
    told_key: String,
    /// The conversation that is meant.
    session_id: Option<String>,
    /// The request says by its key or its id which session is meant. It goes on, whatever its age.
    is_named: bool,
}

fn given(call: &Call, name: &str) -> Option<String> {
    call.text(name).and_then(text::non_blank).map(|text| text::trim(text).to_owned())
}

fn agent(call: &Call, config: &Config) -> Result<Option<AgentId>, Refusal> {
    let is_known =
        |channel: &str| [LAST, asking::WEBCHAT].contains(&channel) || core_channel(channel).is_some();
    for name in ["channel", "replyChannel"] {
        let channel = call.text(name).and_then(normalize_channel);
        if let Some(channel) = channel.filter(|channel| !is_known(channel)) {
            return Err(Refusal::invalid(format!("invalid agent params: unknown channel: {channel}")));
        }
    }
    let Some(named) = given(call, "agentId") else { return Ok(None) };
    let agent = AgentId::normalize(&named);
    let known = call.gateway.place.with_folders(|folders| agents(config, folders));
    if known.iter().all(|known| known.id != agent) {
        let named = call.text("agentId").unwrap_or_default();
        return Err(Refusal::invalid(format!("invalid agent params: unknown agent id \"{named}\"")));
    }
    Ok(Some(agent))
}

/// The turn of the session that is meant, as far as the request itself says which that is.
fn turn(
    call: &Call,
    agent: Option<&AgentId>,
    wish: Option<&str>,
) -> impl Future<Output = Option<Turn>> + Send + use<> {
    match (wish, given(call, "sessionId"), agent) {
        (Some(key), _, _) => call.turn_in(key).left_future(),
        (None, None, Some(agent)) => call.turn_in(&format!("agent:{agent}:main")).left_future(),
        (None, id, _) => {
            let name = id.or_else(|| given(call, "to")).unwrap_or_default();
            call.client.accepting.turn(&name).right_future()
        }
    }
}

async fn place(
    call: &Call,
    config: &Config,
    agent: Option<AgentId>,
    wish: Option<String>,
) -> Result<Option<Place>, Refusal> {
    let policy = KeyPolicy::from_config(config);
    let session_id = given(call, "sessionId");
    let known = |told_key: String, key, is_named| {
        Some(Place { key, told_key, session_id: session_id.clone(), is_named })
    };
    if let Some(wish) = wish {
        let key = Address::of_client(&wish, &policy).key;
        return Ok(known(wish, key, true));
    }
    let peer = given(call, "to").map(|to| {
        let message = InboundMessage { from: Some(to.clone()), to: Some(to), ..InboundMessage::default() };
        Target::of(&message, &policy).key
    });
    if let Some(id) = &session_id {
        if let Some(key) = by_id(call, config, id, agent.as_ref()).await? {
            return Ok(known(key.as_str().to_owned(), key, true));
        }
        if TranscriptId::new(id, None).is_err() {
            return Err(Refusal::invalid(format!(
                "invalid agent params: {id:?} cannot be the id of a session"
            )));
        }
        let is_named = agent.is_some() || peer.is_none();
        let key = session_of_unknown_id(id, agent.as_ref(), peer, &policy);
        return Ok(known(key.as_str().to_owned(), key, is_named));
    }
    if let Some(agent) = &agent {
        let key = SessionKey::main(agent, &policy.main_key);
        return Ok(known(key.as_str().to_owned(), key, true));
    }
    Ok(peer.and_then(|key| known(key.as_str().to_owned(), key, false)))
}

/// The session with this id.
async fn by_id(
    call: &Call,
    config: &Config,
    id: &str,
    agent: Option<&AgentId>,
) -> Result<Option<SessionKey>, Refusal> {
    let known = call.gateway.place.with_folders(|folders| agents(config, folders));
    let agents = known.into_iter().map(|known| known.id);
    for agent in agents.filter(|known| agent.is_none_or(|agent| known == agent)) {
        let home = call.gateway.engine.home(&agent)?;
        if let Some(key) = find_by_id(home.sessions.as_ref(), id).await? {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// The record of the session, if something may be said in it.
async fn allowed(call: &Call, place: &Place, config: &Config) -> Result<Option<SessionEntry>, Refusal> {
    let agent = place.key.agent_id();
    let entry = call.gateway.engine.home(&agent)?.sessions.get(&place.key).await?;
    let named = asking::Named { key: place.key.clone(), agent, entry };
    call.gateway.check_send_policy(&named, config)?;
    Ok(named.entry)
}

/// Writes down what the request says about the session, before anything is said in it.
async fn note(
    call: &Call,
    place: &Place,
    before: Option<&SessionEntry>,
    config: &Config,
) -> Result<(), Refusal> {
    let thinking = given(call, "thinking").and_then(|level| ThinkLevel::parse(&level));
    let (label, parent) = (given(call, "label"), given(call, "spawnedBy"));
    let place_of_group = Group::of(call).filter(|_| place.is_named);
    let begins_with = place.session_id.clone().filter(|_| before.is_none());
    let now = call.gateway.now_ms();
    let is_old = before.is_some_and(|entry| place.is_named && is_old(&place.key, entry, now, config));
    if thinking.is_none()
        && label.is_none()
        && parent.is_none()
        && place_of_group.is_none()
        && begins_with.is_none()
        && !is_old
    {
        return Ok(());
    }
    let change = move |entry: &mut Option<SessionEntry>| {
        let mut patch = Patch::default();
        patch.set_updated_at(Some(now));
        if let Some(level) = thinking {
            patch.set_thinking_level(Some(level.as_str()).filter(|_| level != ThinkLevel::Off));
        }
        if let Some(label) = &label {
            patch.set_label(Some(label));
        }
        if let Some(parent) = &parent {
            patch.set_spawned_by(Some(parent));
        }
        if let Some(group) = &place_of_group {
            group.note(entry.as_ref(), &mut patch);
        }
        if entry.is_none() {
            let id = begins_with.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
            patch.set_session_id(Some(&id));
        }
        entry.get_or_insert_default().apply(&patch);
    };
    let home = call.gateway.engine.home(&place.key.agent_id())?;
    home.sessions.update(&place.key, Box::new(change)).await?;
    Ok(())
}

/// Where a session is, as a request says.
struct Group {
    channel: Option<String>,
    id: Option<String>,
    room: Option<String>,
    space: Option<String>,
}

impl Group {
    /// `None` if the request says nothing of it.
    fn of(call: &Call) -> Option<Self> {
        let given = |name| given(call, name);
        let group = Self {
            channel: given("channel"),
            id: given("groupId"),
            room: given("groupChannel"),
            space: given("groupSpace"),
        };
        let is_somewhere =
            [&group.channel, &group.id, &group.room, &group.space].iter().any(|said| said.is_some());
        is_somewhere.then_some(group)
    }

    /// The channel stays what it was; everything else is what was said last.
    fn note(&self, entry: Option<&SessionEntry>, patch: &mut Patch) {
        if entry.is_none_or(|entry| entry.channel().is_none()) {
            patch.set_channel(self.channel.as_deref());
        }
        for (field, said) in [("groupId", &self.id), ("groupChannel", &self.room), ("space", &self.space)] {
            if let Some(said) = said {
                patch.put(field, Some(said.as_str().into()));
            }
        }
    }
}

/// Whether a turn would begin the session anew because of its age.
fn is_old(key: &SessionKey, entry: &SessionEntry, now: f64, config: &Config) -> bool {
    let message = InboundMessage { session_key: Some(key.as_str().to_owned()), ..InboundMessage::default() };
    let target = Target::of(&message, &KeyPolicy::from_config(config));
    let zone = TimeZone::system();
    let request =
        OpenRequest { message: &message, config, entry: Some(entry), authorized: false, now, zone: &zone };
    !is_fresh(&target, &request, entry)
}

fn options(call: &Call) -> TurnOptions {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of seconds")]
    let timeout_ms =
        call.number("timeout").filter(|seconds| *seconds > 0.0).map(|seconds| (seconds * 1000.0) as u64);
    let lane = match call.text("lane") {
        Some("subagent") => LaneClass::Subagent,
        Some("nested") => LaneClass::Nested,
        Some("cron") => LaneClass::Cron,
        _ => LaneClass::Main,
    };
    TurnOptions {
        timeout_ms,
        lane,
        // The record does not say that there is to be no thinking; this run is to know.
        thinking: given(call, "thinking"),
        extra_system_prompt: given(call, "extraSystemPrompt"),
        alone: true,
        ..TurnOptions::default()
    }
}

//! After a crash: every message that was accepted and not settled goes on where it was.

use std::sync::Arc;

use yabby_domain::json::Value;
use yabby_domain::message::Role;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::StoreError;
use yabby_domain::text;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::turn::{Outcome, Progress, progress};

use crate::Engine;
use crate::TurnHandle;
use crate::agent::said::text_of;
use crate::commands::queued_prompt;
use crate::inbound::Inbound;

impl Engine {
    /// Takes up what an engine that is no more left undone; the way to what becomes of each message.
    /// Messages that come from now on wait behind these.
    pub async fn recover(&self) -> Result<Vec<TurnHandle>, StoreError> {
        let turns = progress(self.0.log.replay().await?);
        self.remember(turns.values());
        if let Some(last) = turns.values().map(|progress| progress.accepted_at).max() {
            self.not_before(last);
        }
        let config = self.config();
        let mut tickets = Vec::new();
        let mut settled = Vec::new();
        for (turn, progress) in &turns {
            if progress.settled.is_some() {
                continue;
            }
            let mut inbound = Inbound::from_journal(turn.clone(), progress, &config);
            let joined = progress.run.as_ref().filter(|run| *run != turn);
            if let Some(run) = joined
                && self.was_asked(&inbound, turns.get(run)).await?
            {
                settled.push((turn.clone(), Outcome::Joined));
                continue;
            }
            if let Some(reason) = progress.not_answered {
                self.leave_unanswered(inbound.key(), &[&inbound], reason).await;
                continue;
            }
            inbound.resume = Some(Arc::new(progress.clone()));
            tickets.push(self.send_to_lane(inbound));
        }
        if !settled.is_empty() {
            self.0.log.settle(settled).await;
        }
        Ok(tickets)
    }

    /// A platform may deliver messages again that were accepted before the crash.
    fn remember<'p>(&self, turns: impl Iterator<Item = &'p Progress>) {
        let now = self.now_ms();
        for progress in turns {
            if let Some(key) = &progress.accepted.dedupe {
                let age = now.saturating_sub(progress.accepted_at).max(0);
                self.0.arrivals.remember(key, age);
            }
        }
    }

    /// Whether a message that joined a run is in the transcript: by itself, or in the question of the run.
    pub(crate) async fn was_asked(
        &self,
        message: &Inbound,
        run: Option<&Progress>,
    ) -> Result<bool, StoreError> {
        let Some(run) = run else { return Ok(false) };
        let Some(opened) = &run.opened else { return Ok(false) };
        let Ok(id) = TranscriptId::of_file(&format!("{}.jsonl", opened.transcript)) else { return Ok(false) };
        let key = yabby_domain::session::key::SessionKey::new(opened.session_key.as_str());
        let home = self.home(&key.agent_id())?;
        let Some(transcript) = home.transcripts.load(&id).await? else { return Ok(false) };
        let words = queued_prompt(message, &self.config());
        let words = text::trim(&words);
        let found =
            transcript.entries().iter().rev().filter(|entry| entry.role() == Some(Role::User)).any(|entry| {
                let Some(question) = entry.message() else { return false };
                let at = question.get("timestamp").and_then(Value::as_i64);
                let in_question = || at == Some(opened.asked_at) && text_of(&question).contains(words);
                at == Some(message.accepted_at) || in_question()
            });
        Ok(found)
    }
}

/// The reply of a turn that was ready to be sent when the engine was stopped.
pub(crate) fn ready_reply(inbound: &Inbound) -> Option<Vec<ReplyPayload>> {
    inbound.resume.as_ref()?.ready.clone()
}

/// Whether something was done for the message before the engine was stopped.
pub(crate) fn is_underway(inbound: &Inbound) -> bool {
    inbound.resume.as_ref().is_some_and(|progress| progress.opened.is_some() || progress.ready.is_some())
}

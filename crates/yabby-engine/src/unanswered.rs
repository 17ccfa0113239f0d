//! Messages that were accepted and get no answer, since their session was stopped, reset or deleted while they waited,
//! or its queue was full. Their words go into the transcript, and the sender is told.

use std::collections::HashSet;

use yabby_domain::json::Value;
use yabby_domain::message::Role;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::seam::Begin;
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::Transcript;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::not_answered::{self, NotAnsweredReason};
use yabby_domain::turn::{Outcome, Step};

use crate::Engine;
use crate::commands::queued_prompt;
use crate::events::EventKind;
use crate::inbound::Inbound;
use crate::lane::route;
use crate::report::TurnReport;
use crate::turn::TurnError;
use crate::turn::deliver::deliver_answer;
use crate::turn::open::plan_opening;
use crate::turn::prompt::illustrated;

impl Engine {
    /// Records that messages of a session get no answer; what whoever waits for them is told.
    pub(crate) async fn give_up(
        &self,
        key: &SessionKey,
        messages: &[&Inbound],
        reason: NotAnsweredReason,
    ) -> Vec<TurnReport> {
        let outcome = outcome(reason);
        let mut reports = Vec::new();
        for inbound in messages {
            if let Err(error) = self.0.log.note(&inbound.turn, [Step::NotAnswered { reason }]).await {
                tracing::warn!(session = %key, turn = %inbound.turn, %error, "an unanswered message was not noted");
            }
            let payloads = vec![ReplyPayload::from_text(reason.notice())];
            reports.push(TurnReport { payloads, ..TurnReport::new(&inbound.turn, key, outcome) });
        }
        reports
    }

    /// Keeps the words of messages that were given up, tells whoever sent them, and settles them. If their words
    /// cannot be written they stay in the journal, and the next start takes them up.
    pub(crate) async fn leave_unanswered(
        &self,
        key: &SessionKey,
        messages: &[&Inbound],
        reason: NotAnsweredReason,
    ) {
        if messages.is_empty() {
            return;
        }
        if let Err(error) = self.keep_words(key, messages, reason).await {
            let count = messages.len();
            tracing::warn!(session = %key, count, %error, "unanswered messages stay in the journal");
            return;
        }
        if reason == NotAnsweredReason::Stopped {
            self.tell_senders(messages, reason).await;
        }
        let outcome = outcome(reason);
        self.0.log.settle(messages.iter().map(|inbound| (inbound.turn.clone(), outcome))).await;
    }

    /// Writes the words of unanswered messages into the transcript of their session, each once.
    pub(crate) async fn keep_words(
        &self,
        key: &SessionKey,
        messages: &[&Inbound],
        reason: NotAnsweredReason,
    ) -> Result<(), TurnError> {
        let Some(first) = messages.first() else { return Ok(()) };
        let home = self.home(&first.target().agent)?;
        let entry = match home.sessions.get(key).await? {
            Some(entry) => entry,
            None => {
                let recorded = first.durable.wait().await?;
                plan_opening(self, first).await?.commit(self, first, &recorded).await?.entry
            }
        };
        let begin = Begin {
            session_id: entry.session_id().unwrap_or_default().to_owned(),
            cwd: home.workspace.to_string_lossy().into_owned(),
            parent: None,
        };
        let id = TranscriptId::of_record(&entry)?;
        let mut writer = home.transcripts.open(&id, begin).await?;
        let config = self.config();
        let entry = |inbound: &&&Inbound| {
            let text = queued_prompt(inbound, &config);
            let message = illustrated(&text, inbound.pictures(), inbound.accepted_at);
            not_answered::entry(&inbound.turn, &message, reason)
        };
        let kept = Kept::in_transcript(writer.transcript());
        let entries: Vec<_> =
            messages.iter().filter(|inbound| !kept.contains(inbound)).map(|one| entry(&one)).collect();
        if !entries.is_empty() {
            writer.append(entries).await?;
            let transcript = id.as_str().to_owned();
            self.tell(key, None, EventKind::TranscriptChanged { transcript });
        }
        Ok(())
    }

    /// One notice for each place that the messages came from.
    async fn tell_senders(&self, messages: &[&Inbound], reason: NotAnsweredReason) {
        let mut told = Vec::new();
        for inbound in messages.iter().rev().filter(|inbound| inbound.reply_to.is_sent()) {
            let from = route(inbound);
            if told.contains(&from) {
                continue;
            }
            told.push(from);
            let report = TurnReport::new(&inbound.turn, inbound.key(), Outcome::Aborted);
            let notice = vec![ReplyPayload::from_text(reason.notice())];
            let Ok(recorded) = inbound.durable.wait().await else { continue };
            if let Err(error) = deliver_answer(self, inbound, report, notice, &recorded).await {
                tracing::warn!(session = %inbound.key(), %error, "the sender of an unanswered message was not told");
            }
        }
    }
}

fn outcome(reason: NotAnsweredReason) -> Outcome {
    match reason {
        NotAnsweredReason::Stopped => Outcome::Aborted,
        NotAnsweredReason::QueueFull => Outcome::Dropped,
    }
}

/// The messages whose words a transcript has: as questions, by their times, or as unanswered ones, by their turns.
struct Kept {
    asked_at: HashSet<i64>,
    turns: HashSet<String>,
}

impl Kept {
    fn in_transcript(transcript: &Transcript) -> Self {
        let entries = || transcript.entries().iter();
        let questions = entries().filter(|entry| entry.role() == Some(Role::User));
        let time = |message: yabby_domain::message::Message| message.get("timestamp").and_then(Value::as_i64);
        Self {
            asked_at: questions.filter_map(|entry| time(entry.message()?)).collect(),
            turns: entries()
                .filter_map(not_answered::read)
                .map(|(turn, ..)| turn.as_str().to_owned())
                .collect(),
        }
    }

    fn contains(&self, inbound: &Inbound) -> bool {
        self.asked_at.contains(&inbound.accepted_at) || self.turns.contains(inbound.turn.as_str())
    }
}

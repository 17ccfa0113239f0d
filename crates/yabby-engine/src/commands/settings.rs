//! Settings of a session that a message sets: thinking, verbosity, reasoning, queue, model
//! (`sessions.md` §15, §18).

use yabby_domain::directive::level::{Level, LevelDirective};
use yabby_domain::directive::take_status;
use yabby_domain::queue::directive::{QueueRequest, Written};
use yabby_domain::queue::{QueueSettings, QueueWishes};
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::session::entry::Patch;
use yabby_domain::text;

use super::{directives, model, status, without_structure};
use crate::Engine;
use crate::durability::Recorded;
use crate::inbound::Inbound;
use crate::turn::TurnError;
use crate::turn::open::Opened;

/// What a message was apart from settings.
pub(crate) enum Applied {
    /// Nothing; what became of the settings.
    Told(String),
    /// These words.
    Words(String),
    /// All of it.
    Nothing,
}

/// Carries out a message that is nothing but settings, and says what became of them. Settings among other
/// words are taken out of these and have no effect.
pub(crate) async fn apply(
    engine: &Engine,
    inbound: &Inbound,
    opened: &mut Opened,
    recorded: &Recorded,
) -> Result<Applied, TurnError> {
    let Some(found) = directives(inbound, &opened.body, &opened.config) else { return Ok(Applied::Nothing) };
    let words = without_structure(inbound, &opened.config, &found.rest);
    if text::non_blank(&words).is_some() {
        // The one thing that is also done among other words: who asks how it is gets told.
        if take_status(&opened.body).is_some() {
            let told = status::text(engine, inbound, opened);
            opened.notices.push(ReplyPayload::from_text(told));
        }
        opened.body = found.rest;
        return Ok(Applied::Words(words));
    }
    let mut told = Vec::new();
    let mut patch = Patch::default();
    told.extend(
        found
            .think
            .as_ref()
            .map(|level| set(level, "Thinking", "thinkingLevel", opened.thinking(), &mut patch)),
    );
    told.extend(
        found
            .verbose
            .as_ref()
            .map(|level| set(level, "Verbose", "verboseLevel", opened.verbose(), &mut patch)),
    );
    told.extend(
        found
            .reasoning
            .as_ref()
            .map(|level| set(level, "Reasoning", "reasoningLevel", opened.reasoning(), &mut patch)),
    );
    told.extend(found.queue.as_ref().map(|request| set_queue(request, opened, &mut patch)));
    if found.elevated.is_some() || found.exec.is_some() {
        told.push("There are no elevated commands here yet.".to_owned());
    }
    if !patch.is_empty() {
        #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
        patch.set_updated_at(Some(engine.now_ms() as f64));
        opened.update(move |_| Some(patch), recorded).await?;
    }
    if let Some(wanted) = &found.model {
        told.push(model::choose(engine, inbound, opened, wanted, recorded).await?);
    }
    if found.status {
        told.push(status::text(engine, inbound, opened));
    }
    Ok(if told.is_empty() { Applied::Nothing } else { Applied::Told(told.join("\n")) })
}

/// Sets a level; without a word, tells what it is.
fn set<L: Level>(wanted: &LevelDirective<L>, what: &str, field: &str, now: L, patch: &mut Patch) -> String {
    match (wanted.level, wanted.word.as_deref()) {
        (Some(level), _) => {
            // Reasoning is not shown unless somebody wants it: that needs no word in the record.
            let is_usual = level.as_str() == "off" && field == "reasoningLevel";
            patch.put(field, (!is_usual).then(|| level.as_str().into()));
            format!("{what}: {}.", level.as_str())
        }
        (None, Some(word)) => {
            format!("{what} cannot be {word:?}. It is {} now; {}", now.as_str(), levels::<L>())
        }
        (None, None) => format!("{what} is {} now; {}", now.as_str(), levels::<L>()),
    }
}

fn levels<L: Level>() -> String {
    let name = L::NAMES.iter().max_by_key(|name| name.len()).copied().unwrap_or_default();
    let words = ["off", "on", "minimal", "low", "medium", "high", "xhigh", "full", "ask", "stream"];
    let own = words.iter().filter(|word| L::parse(word).is_some_and(|level| level.as_str() == **word));
    format!("there is {} (/{name} …).", own.copied().collect::<Vec<_>>().join(", "))
}

fn set_queue(request: &QueueRequest, opened: &Opened, patch: &mut Patch) -> String {
    if let Some(wrong) = wrong_word(request) {
        return format!(
            "The queue does not know {wrong:?}. Say /queue with steer, followup, collect, steer-backlog or interrupt, and debounce:2s, cap:20 or drop:old, new or summarize."
        );
    }
    if request.reset {
        ["queueMode", "queueDebounceMs", "queueCap", "queueDrop"]
            .into_iter()
            .for_each(|field| patch.put(field, None));
        return "The queue is as configured again.".to_owned();
    }
    let wishes = request.wishes();
    if let Some(mode) = wishes.mode {
        patch.set_queue_mode(Some(mode.as_str()));
    }
    if let Some(debounce) = wishes.debounce_ms {
        patch.set_queue_debounce_ms(Some(debounce));
    }
    if let Some(cap) = wishes.cap {
        patch.set_queue_cap(Some(cap));
    }
    if let Some(drop) = wishes.drop {
        patch.set_queue_drop(Some(drop.as_str()));
    }
    let session = QueueWishes::from_session(&opened.entry);
    let now = QueueSettings::resolve(&wishes, &session, &opened.config, opened.entry.last_channel());
    let state = format!(
        "{}; waits {} ms for more, holds {}, then drops {}",
        now.mode.as_str(),
        now.debounce_ms,
        now.cap,
        now.drop.as_str()
    );
    if request.mode.is_none() && !request.has_options() {
        format!("Queue: {state}. Say /queue and a mode to change it.")
    } else {
        format!("Queue: {state}.")
    }
}

/// A word of the request that means nothing.
fn wrong_word(request: &QueueRequest) -> Option<&str> {
    fn wrong<T>(written: Option<&Written<T>>) -> Option<&str> {
        written.filter(|written| written.value.is_none()).map(|written| written.raw.as_str())
    }
    wrong(request.mode.as_ref())
        .or(wrong(request.debounce_ms.as_ref()))
        .or(wrong(request.cap.as_ref()))
        .or(wrong(request.drop.as_ref()))
}

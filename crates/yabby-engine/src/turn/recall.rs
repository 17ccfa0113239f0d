//! What is remembered about a message goes before it, if that is wanted (`memory.autoRecall`).
//!
//! It becomes part of the question, and stands in the transcript as the model read it: what providers have
//! cached of a conversation stays the same, and a turn that goes on after a crash need not ask again.

use std::collections::HashSet;
use std::time::Duration;

use yabby_domain::body::strip_structure;
use yabby_domain::history_limit::{dm_limit, first_kept};
use yabby_domain::message::Role;
use yabby_domain::recollection::{Remembered, Says, wanted, with_memories};
use yabby_domain::seam::recollection::{Asked, Recollection};
use yabby_domain::seam::tool::Company;
use yabby_domain::session::reset::BARE_RESET;
use yabby_domain::text;
use yabby_domain::transcript::entry::Entry;

use super::open::Opened;
use super::prompt::{Prompt, said};
use crate::Engine;
use crate::agent::conversation::Conversation;
use crate::agent::is_asked;
use crate::inbound::Inbound;
use crate::steering::RunControl;

/// A message does not wait longer for what is remembered about it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The text of a prompt with what is remembered for it; `None` if nothing is wanted.
pub(crate) async fn remember(
    engine: &Engine,
    inbound: &Inbound,
    opened: &Opened,
    prompt: &Prompt,
    control: &RunControl,
    conversation: &Conversation,
) -> Option<String> {
    let (most, memory) = (wanted(&opened.config)?, opened.home.memory.as_ref()?);
    let words = said(inbound, opened);
    let is_of_a_person = !inbound.principal.is_agent() && !inbound.principal.is_heartbeat();
    if !is_of_a_person || words == Some(BARE_RESET) || is_asked(inbound, prompt, conversation) {
        return None;
    }
    let Some(words) = words.and_then(text::non_blank) else {
        return Some(with_memories(&[], &prompt.text, Says::Nothing));
    };
    let asked = Asked {
        words: question(words),
        session_key: opened.key.clone(),
        session_id: opened.session_id.clone(),
        told: told(opened, conversation),
        is_owner_alone: inbound.is_owner() && inbound.company(Some(&opened.entry)) == Company::OwnerAlone,
        most,
        now: engine.0.clock.now(),
    };
    let remembered = tokio::select! {
        remembered = remembered(&**memory, asked) => remembered,
        // The run sees to it that nothing more happens.
        () = control.cancel.cancelled() => Vec::new(),
    };
    Some(with_memories(&remembered, &prompt.text, Says::Something))
}

async fn remembered(memory: &dyn Recollection, asked: Asked) -> Vec<Remembered> {
    let session = asked.session_key.clone();
    tokio::time::timeout(PATIENCE, memory.recollect(asked)).await.unwrap_or_else(|_| {
        tracing::warn!(%session, "a message did not wait for what is remembered about it");
        Vec::new()
    })
}

/// What is asked of the memory: the words, without what channels put around them. A date in a header is no
/// question about that day.
fn question(words: &str) -> String {
    let bare = strip_structure(words);
    if bare.is_empty() { words.to_owned() } else { bare }
}

/// The entries that the model is told anyway.
fn told(opened: &Opened, conversation: &Conversation) -> HashSet<String> {
    let entries = conversation.transcript().told_entries();
    let limit = dm_limit(opened.key.as_str(), &opened.config);
    let from = first_kept(&entries, |entry| entry.role() == Some(Role::User), limit);
    entries[from..].iter().filter_map(|entry| Entry::id(entry)).map(str::to_owned).collect()
}

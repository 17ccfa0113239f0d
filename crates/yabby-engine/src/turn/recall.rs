//! What is remembered about a message goes before it, if that is wanted (`memory.autoRecall`).

use yabby_domain::channel::ChatType;
use yabby_domain::recollection::{wanted, with_memories};
use yabby_domain::seam::recollection::Asked;
use yabby_domain::session::key::Audience;
use yabby_domain::text;

use super::open::Opened;
use crate::Engine;
use crate::inbox::Inbound;

/// The prompt of a message with what is remembered for it.
pub(crate) async fn remember(engine: &Engine, inbound: &Inbound, opened: &Opened, prompt: String) -> String {
    let (Some(most), Some(memory)) = (wanted(&opened.config), &opened.home.memory) else { return prompt };
    let Some(words) = text::non_blank(&opened.body) else { return with_memories(&[], &prompt, false) };
    let chat_type = opened.entry.chat_type().map(ChatType::as_str);
    let goes_to_others = inbound.options.behalf.as_ref().is_some_and(|behalf| behalf.among_others);
    let asked = Asked {
        words: words.to_owned(),
        session_key: opened.key.clone(),
        session_id: opened.session_id.clone(),
        is_owner_alone: inbound.is_owner()
            && !goes_to_others
            && opened.key.audience(chat_type) == Audience::Person,
        most,
        now: engine.0.clock.now(),
    };
    with_memories(&memory.recollect(asked).await, &prompt, true)
}

//! Group keys as two seed documents write them: `agent:main:discord-chan-1`, `…:whatsapp-group-1`.
//! The reference takes them for direct chats; for us they are groups. Found here by cutting at fixed
//! words, apart from the code under test.

use yabby_domain::channel::CORE_CHANNELS;

/// The name under which `docs/compatibility.md` explains the difference.
pub const NAME: &str = "dashed-group-keys";

pub struct DashedGroup {
    pub channel: String,
    pub kind: &'static str,
    pub id: String,
}

pub fn group_of(key: &str) -> Option<DashedGroup> {
    let key = key.trim();
    let rest = match key.strip_prefix("agent:") {
        Some(below) => below.split_once(':').filter(|(agent, _)| !agent.is_empty())?.1,
        None => key,
    };
    for channel in CORE_CHANNELS.into_iter().chain(["webchat"]) {
        for (word, kind) in [("group", "group"), ("chan", "channel")] {
            let id = rest.strip_prefix(&format!("{channel}-{word}-")).and_then(|tail| tail.split(':').next());
            if let Some(id) = id.filter(|id| !id.is_empty()) {
                return Some(DashedGroup { channel: channel.to_owned(), kind, id: id.to_owned() });
            }
        }
    }
    None
}

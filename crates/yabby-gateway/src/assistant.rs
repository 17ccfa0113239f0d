//! Whoever answers, as pages show them.
use yabby_domain::id::AgentId;

use crate::Gateway;
use crate::frames::Refusal;

pub(crate) struct Shown {
    pub(crate) name: String,
    pub(crate) avatar: String,
}
impl Shown {
    pub(crate) fn has_file(&self) -> bool {
        false
    }
}
impl Gateway {
    pub(crate) async fn assistant(&self, _: Option<&AgentId>) -> Result<(AgentId, Shown), Refusal> {
        Ok((AgentId::default(), Shown { name: "Assistant".to_owned(), avatar: "A".to_owned() }))
    }
    pub(crate) fn avatar_address(&self, _: &AgentId, shown: &Shown) -> String {
        shown.avatar.clone()
    }
}

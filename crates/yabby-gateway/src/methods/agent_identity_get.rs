//! `agent.identity.get`: whoever answers, as pages show them (`gateway.md` §5.1).

use yabby_domain::id::AgentId;
use yabby_domain::session::key::SessionKey;
use yabby_domain::text;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, TEXT, optional};

pub(super) const METHOD: Method = Method {
    name: "agent.identity.get",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[optional("agentId", NON_EMPTY), optional("sessionKey", TEXT)]),
    about: "The name and the face of an agent.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let named = call.text("agentId").and_then(text::non_blank);
    let mut agent = named.map(AgentId::normalize);
    if let Some(key) = call.text("sessionKey").and_then(text::non_blank) {
        let of_key = SessionKey::new(key).agent_id();
        if let (Some(named), Some(_)) = (named, agent.as_ref().filter(|agent| **agent != of_key)) {
            return Err(Refusal::invalid(format!(
                "invalid agent.identity.get params: agent \"{named}\" does not match session key agent \"{of_key}\""
            )));
        }
        agent = Some(of_key);
    }
    call.gateway.identity(agent.as_ref()).await
}

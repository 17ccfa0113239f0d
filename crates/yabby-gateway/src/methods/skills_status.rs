//! `skills.status`: what an agent has been taught, and what is missing for the rest.

use serde_json::json;
use yabby_domain::id::AgentId;
use yabby_domain::session::key::default_agent;
use yabby_domain::text;

use super::skills;
use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, optional};

pub(super) const METHOD: Method = Method {
    name: "skills.status",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[optional("agentId", NON_EMPTY)]),
    about: "The skills of an agent, and what is missing for each.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let named = call.text("agentId").and_then(text::non_blank);
    let id = named.map_or_else(|| default_agent(&gateway.config()), AgentId::normalize);
    let unknown = || Refusal::invalid(format!("unknown agent id \"{}\"", named.unwrap_or(id.as_str())));
    let agent = gateway.agent(&id).ok_or_else(unknown)?;
    let found = skills::of(gateway, &agent).await?;
    Ok(json!({
        "workspaceDir": agent.workspace,
        "managedSkillsDir": gateway.place.folder.path().join("skills").to_string_lossy(),
        "skills": found.iter().map(skills::told).collect::<Vec<_>>(),
    }))
}

//! The memory that a request is about, and what is said where there is none.

use yabby_domain::id::AgentId;
use yabby_domain::session::key::default_agent;
use yabby_domain::text;
use yabby_memory::memory::Memory;

use super::Call;
use crate::frames::Refusal;

/// The agent that a request names, else the default one, and what it remembers if it does.
pub(super) fn of(call: &Call) -> Result<(AgentId, Option<Memory>), Refusal> {
    let gateway = &call.gateway;
    let named = call.text("agentId").and_then(text::non_blank);
    let agent = named.map_or_else(|| default_agent(&gateway.config()), AgentId::normalize);
    if let Some(named) = named.filter(|_| gateway.agent(&agent).is_none()) {
        return Err(Refusal::invalid(format!("unknown agent id \"{named}\"")));
    }
    // It is opened with everything else of the agent's.
    gateway.engine.home(&agent)?;
    let memory = (gateway.memories)(&agent);
    Ok((agent, memory))
}

/// The same where it has to be there.
pub(super) fn needed(call: &Call) -> Result<(AgentId, Memory), Refusal> {
    let (agent, memory) = of(call)?;
    let memory = memory.ok_or_else(|| {
        Refusal::unavailable(format!(
            "{agent} remembers nothing: agents.defaults.memorySearch.enabled is false"
        ))
    })?;
    Ok((agent, memory))
}

pub(super) fn failed(error: impl std::fmt::Display) -> Refusal {
    Refusal::unavailable(format!("Error: {error}"))
}

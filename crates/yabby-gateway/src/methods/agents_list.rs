//! `agents.list`: who there is to talk to (`gateway.md` §7).

use std::path::Path;

use serde_json::json;
use yabby_domain::agent::Agent;
use yabby_domain::json::{Object, Value};
use yabby_domain::session::key::KeyPolicy;
use yabby_domain::text;

use super::{Access, Call, Listing, Method};
use crate::control_ui::picture_as_address;
use crate::frames::Answer;
use crate::schema::NOTHING;

pub(super) const METHOD: Method = Method {
    name: "agents.list",
    access: Access::Read,
    listing: Listing::Advertised,
    params: NOTHING,
    about: "Who there is to talk to.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let config = gateway.config();
    let policy = KeyPolicy::from_config(&config);
    let known = gateway.agents();
    let mut agents = Vec::new();
    for id in gateway.listed_agents() {
        let mut told = Object::from_iter([("id".to_owned(), Value::from(id.as_str()))]);
        if let Some(agent) = known.iter().find(|agent| agent.id == id) {
            told.extend(agent.name.as_ref().map(|name| ("name".to_owned(), name.clone().into())));
            if config.agent(&id).is_some_and(|entry| entry.identity.is_some()) {
                told.insert("identity".to_owned(), Value::Object(identity(agent).await));
            }
        }
        agents.push(Value::Object(told));
    }
    Ok(json!({
        "defaultId": policy.default_agent.as_str(),
        "mainKey": policy.main_key.as_str(),
        "scope": config.session.scope().word(),
        "agents": agents,
    }))
}

async fn identity(agent: &Agent) -> Object {
    let own = &agent.identity;
    let is_address = |avatar: &str| {
        ["http://", "https://", "data:"]
            .iter()
            .any(|start| text::starts_with_ignoring_ascii_case(avatar, start))
    };
    let address = match own.avatar.as_deref().map(str::trim) {
        Some(avatar) if is_address(avatar) => Some(avatar.to_owned()),
        Some(avatar) => picture_as_address(Path::new(&agent.workspace), avatar).await,
        None => None,
    };
    let texts = [
        ("name", own.name.as_ref()),
        ("theme", own.theme.as_ref()),
        ("emoji", own.emoji.as_ref()),
        ("avatar", own.avatar.as_ref()),
        ("avatarUrl", address.as_ref()),
    ];
    let said = texts.into_iter().filter_map(|(name, said)| Some((name, text::non_blank(said?)?)));
    said.map(|(name, said)| (name.to_owned(), said.into())).collect()
}

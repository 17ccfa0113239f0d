//! `skills.bins`: the programs that skills need, for nodes.

use std::collections::BTreeSet;

use serde_json::json;
use yabby_domain::text;

use super::skills;
use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::NOTHING;

pub(super) const METHOD: Method = Method {
    name: "skills.bins",
    access: Access::Node,
    listing: Listing::Advertised,
    params: NOTHING,
    about: "The programs that skills need.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let mut programs = BTreeSet::new();
    for agent in call.gateway.agents() {
        for skill in skills::of(&call.gateway, &agent).await? {
            let installed = skill.install.into_iter().flat_map(|way| way.programs);
            let needed = skill.needs.programs.into_iter().chain(skill.needs.any_program).chain(installed);
            programs.extend(needed.filter_map(|name| text::non_blank(&name).map(str::to_owned)));
        }
    }
    Ok(json!({"bins": programs}))
}

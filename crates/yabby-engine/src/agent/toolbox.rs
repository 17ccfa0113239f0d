//! The tools of a run: those of the agent, of which its policies leave some.

use std::sync::Arc;

use yabby_domain::access::group_policy::GroupSender;
use yabby_domain::access::tool_policy::{ToolPolicy, ToolUser};
use yabby_domain::model::ModelRef;
use yabby_domain::seam::model::Purpose;
use yabby_domain::seam::tool::{Company, Tool};
use yabby_domain::session::key::SessionKey;

use crate::home::Known;
use crate::inbound::Inbound;
use crate::turn::open::Opened;

/// What a memory flush has where others listen: it can put something down, and look at nothing.
const FLUSH_AMONG_OTHERS: &str = "write";

/// Who uses the tools, for what.
#[derive(Clone, Copy)]
pub(crate) struct User {
    pub(crate) company: Company,
    pub(crate) is_confined: bool,
    pub(crate) purpose: Purpose,
}

#[derive(Clone)]
pub(crate) struct Toolbox {
    known: Vec<Known>,
    allowed: Vec<usize>,
}

impl Toolbox {
    /// Every tool that the agent has.
    pub(crate) async fn open(opened: &Opened) -> Self {
        let mut known = opened.home.tools.known().to_vec();
        for source in &opened.home.sources {
            known.extend(source.tools().await.into_iter().map(Known::of));
        }
        Self { allowed: (0..known.len()).collect(), known }
    }

    /// Leaves what may be used with a model.
    pub(crate) fn restrict(&mut self, inbound: &Inbound, opened: &Opened, model: &ModelRef, whose: User) {
        let names: Vec<&str> = self.known.iter().map(|known| known.spec.name.as_str()).collect();
        let spawned_by = opened.entry.spawned_by().map(SessionKey::new);
        let sender = inbound.message.sender();
        let user = ToolUser {
            config: &opened.config,
            agent: &inbound.target().agent,
            model,
            session: &opened.key,
            spawned_by: spawned_by.as_ref(),
            account: inbound.message.account_id.as_deref(),
            sender: GroupSender {
                id: sender.id,
                e164: sender.e164,
                username: sender.username,
                name: sender.name,
            },
            is_owner: inbound.is_owner(),
            is_confined: whose.is_confined,
            among_others: whose.company != Company::OwnerAlone,
        };
        let mut allowed = ToolPolicy::of(&user).allowed(&names);
        if whose.purpose == Purpose::Flush && whose.company != Company::OwnerAlone {
            allowed.retain(|name| *name == FLUSH_AMONG_OTHERS);
        }
        self.allowed = (0..names.len()).filter(|at| allowed.contains(&names[*at])).collect();
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.allowed().find(|known| known.spec.name == name).map(|known| known.tool.clone())
    }

    pub(crate) fn allowed(&self) -> impl Iterator<Item = &Known> {
        self.allowed.iter().filter_map(|at| self.known.get(*at))
    }
}

//! The skills of a session: a snapshot is taken on its first turn, and when their files change
//! (`sessions.md` §20).

use yabby_domain::access::group_policy::group_policy;
use yabby_domain::config::Config;
use yabby_domain::config::channels::settings::GroupSettings;
use yabby_domain::json::Object;
use yabby_domain::seam::shelf::Shelf;
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::skills::{SkillFile, Surroundings, needs_refresh, platform, snapshot};

use super::TurnError;
use super::open::Opened;
use crate::durability::Recorded;
use crate::inbound::Inbound;

/// Whether the snapshot is to be taken, or taken again. A subagent has none: its task says what it needs.
pub(crate) async fn is_refresh_due(inbound: &Inbound, opened: &Opened) -> bool {
    if inbound.concurrent || opened.key.is_subagent() {
        return false;
    }
    let version = opened.home.shelf.skills_version(&opened.config).await;
    needs_refresh(&opened.entry, opened.is_new, version)
}

pub(crate) async fn refresh_skills(
    inbound: &Inbound,
    opened: &mut Opened,
    recorded: &Recorded,
) -> Result<(), TurnError> {
    if !is_refresh_due(inbound, opened).await {
        return Ok(());
    }
    let (shelf, config) = (opened.home.shelf.clone(), opened.config.clone());
    let version = shelf.skills_version(&config).await;
    let files = shelf.skills(&config).await;
    let taken = taken(&files, &*shelf, &config, wanted(inbound, &config).as_deref(), version);
    if opened.entry.skills_snapshot() == Some(&taken) {
        return Ok(());
    }
    let change = move |_: &SessionEntry| {
        let mut patch = Patch::default();
        patch.set_skills_snapshot(Some(taken.clone()));
        Some(patch)
    };
    opened.update(change, recorded).await
}

fn taken(
    files: &[SkillFile],
    shelf: &dyn Shelf,
    config: &Config,
    filter: Option<&[String]>,
    version: f64,
) -> Object {
    let here = Surroundings {
        config,
        platform: platform(std::env::consts::OS),
        has_program: &|name| shelf.has_program(name),
        has_variable: &|name| shelf.has_variable(name),
    };
    snapshot(files, &here, filter, None, Some(version).filter(|version| *version > 0.0)).to_object()
}

/// The skills that the agent and the group allow; both must, where both say something.
fn wanted(inbound: &Inbound, config: &Config) -> Option<Vec<String>> {
    let agent = config.agent(&inbound.target().agent).and_then(|agent| agent.skills.clone());
    let group = inbound.target().group.as_ref().and_then(|group| {
        let account = inbound.message.account_id.as_deref();
        let policy = group_policy(config, &group.channel, account, Some(&group.id));
        let names = |settings: Option<&GroupSettings>| settings?.skills.clone();
        names(policy.own).or_else(|| names(policy.default))
    });
    match (agent, group) {
        (Some(agent), Some(group)) => Some(agent.into_iter().filter(|name| group.contains(name)).collect()),
        (agent, group) => agent.or(group),
    }
}

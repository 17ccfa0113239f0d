//! Folders of agents.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;
use yabby_domain::id::AgentId;
use yabby_domain::seam::StoreError;
use yabby_store::paths::StateFolder;

#[test]
fn an_agent_s_folder_is_in_the_state_folder_whatever_it_is_called() {
    let home = TempDir::new().unwrap();
    let state = StateFolder::new(home.path().join("state"));
    for name in ["main", "../../etc", "/", "..", "a/b"] {
        let folder = state.sessions(&AgentId::normalize(name)).unwrap();
        let below = folder.strip_prefix(state.path().join("agents")).unwrap();
        assert_eq!(below.components().count(), 2, "{name}: {}", folder.display());
    }
}

#[test]
fn a_link_may_lead_elsewhere_in_the_state_folder_but_not_out_of_it() {
    let home = TempDir::new().unwrap();
    let outside = home.path().join("outside");
    let state = home.path().join("state");
    for folder in [outside.join("sessions"), state.join("agents/real/sessions")] {
        fs::create_dir_all(folder).unwrap();
    }
    symlink(&outside, state.join("agents/evil")).unwrap();
    symlink(state.join("agents/real"), state.join("agents/alias")).unwrap();
    symlink(home.path().join("nowhere"), state.join("agents/broken")).unwrap();
    let link = home.path().join("link");
    symlink(&state, &link).unwrap();
    for state in [StateFolder::new(&state), StateFolder::new(&link)] {
        let sessions = |name: &str| state.sessions(&AgentId::normalize(name));
        assert!(sessions("real").is_ok() && sessions("alias").is_ok() && sessions("new").is_ok());
        assert!(matches!(sessions("evil"), Err(StoreError::Outside { .. })));
        assert!(sessions("broken").is_err());
        let agents: Vec<String> = state.agents().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(agents, ["alias", "evil", "real"]);
    }
}

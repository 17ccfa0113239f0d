//! What a tool is told about the turn that calls it, where there is no engine.

use std::path::PathBuf;
use std::sync::Arc;

use yabby_domain::config::Config;
use yabby_domain::seam::Clock as _;
use yabby_domain::seam::tool::{Company, ToolContext};
use yabby_domain::session::key::SessionKey;
use yabby_domain::status::SessionStatus;

use crate::clock::FixedClock;
use crate::note_office::NoteOffice;
use crate::stage::NOON;

/// A call in the main session, for the owner, who is alone, at [`NOON`].
pub fn owners_call(config: Arc<Config>, office: &NoteOffice, workspace: PathBuf) -> ToolContext {
    ToolContext {
        config,
        office: Arc::new(office.clone()),
        call: "call".to_owned(),
        company: Company::OwnerAlone,
        is_confined: false,
        address: None,
        sees_images: true,
        agent: Default::default(),
        session_key: SessionKey::new("agent:main:main"),
        session_id: "now".to_owned(),
        workspace,
        now: FixedClock::at(NOON).now(),
        sender_is_owner: true,
        status: Arc::new(SessionStatus { version: "1.2.3".to_owned(), ..SessionStatus::default() }),
    }
}

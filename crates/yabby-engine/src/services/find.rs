//! Finding a session by the id of its conversation.

use yabby_domain::seam::{Choice, SessionStore, StoreError};
use yabby_domain::session::glance::{Field, Glance};
use yabby_domain::session::key::SessionKey;

/// The session of a store with exactly this id; of several, the one that changed last.
pub async fn find_by_id(sessions: &dyn SessionStore, id: &str) -> Result<Option<SessionKey>, StoreError> {
    let wanted = id.to_owned();
    let has_it = move |_: &SessionKey, glance: &Glance| {
        glance.text(Field::SessionId).as_deref() == Some(wanted.as_str())
    };
    let choice = Choice { keys: Box::new(|_| true), records: Some(Box::new(has_it)), most: 1 };
    Ok(sessions.newest(choice).await?.entries.into_iter().next().map(|(key, _)| key))
}

//! The reference's index of an agent, for those who may never need it.

use std::sync::Arc;

use tokio::sync::OnceCell;

use super::embedding::Embedders;
use super::index::{CompatIndex, IndexError, Places};
use crate::settings::Settings;

/// The reference's index, opened when it is first needed. Clones share it.
#[derive(Clone)]
pub struct Reference(Arc<Closed>);

struct Closed {
    places: Places,
    settings: Settings,
    embedders: Embedders,
    index: OnceCell<CompatIndex>,
}

impl Reference {
    pub fn new(places: Places, settings: Settings, embedders: Embedders) -> Self {
        Self(Arc::new(Closed { places, settings, embedders, index: OnceCell::new() }))
    }

    pub async fn index(&self) -> Result<&CompatIndex, IndexError> {
        let closed = &self.0;
        let open =
            || CompatIndex::open(closed.places.clone(), closed.settings.clone(), closed.embedders.clone());
        closed.index.get_or_try_init(open).await
    }
}

//! Patch: the settings of a session, changed from outside (`gateway.md` §6). The rule is
//! `yabby_domain::session::change`.

use std::sync::{Arc, Mutex};

use yabby_domain::id::AgentId;
use yabby_domain::json::Object;
use yabby_domain::model::{AllowedModels, CatalogModel, ModelAliases, ModelRef};
use yabby_domain::seam::StoreError;
use yabby_domain::session::change::{Ground, Refused, changed, new_label};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::label::LabelError;

use super::label::{LabelConflict, ensure_label_is_free};
use crate::{Engine, fresh_id, unpoisoned};

/// What is to change in a session.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchRequest {
    /// The agent whose session it is.
    pub agent: AgentId,
    pub key: SessionKey,
    /// The fields of a record, as a client names them; null clears one.
    pub fields: Object,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PatchOutcome {
    pub entry: SessionEntry,
    /// Who is going to answer.
    pub model: ModelRef,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum PatchError {
    #[error(transparent)]
    Label(#[from] LabelError),
    #[error(transparent)]
    LabelInUse(#[from] LabelConflict),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Changes the settings of a session, which begins if there is none. A turn that runs keeps what it began with.
    pub async fn patch_session(&self, request: PatchRequest) -> Result<PatchOutcome, PatchError> {
        let PatchRequest { agent, key, fields } = request;
        let scope = self.home(&agent)?.scope();
        let _labelling = match new_label(&fields)? {
            Some(label) => {
                let labelling = self.0.services.labelling().await;
                ensure_label_is_free(&scope, label, Some(&key)).await??;
                Some(labelling)
            }
            None => None,
        };
        let usual = self.usual_model(&agent);
        let (aliases, allowed) = match fields.contains_key("model") {
            true => self.models_to_choose(&usual),
            false => Default::default(),
        };
        let (own, now) = (key.clone(), self.changed_at());
        let refused: Arc<Mutex<Option<Refused>>> = Arc::default();
        let (slot, default) = (refused.clone(), usual.clone());
        let change = move |entry: &mut Option<SessionEntry>| {
            let new_id = fresh_id();
            let ground =
                Ground { usual: &default, aliases: &aliases, allowed: &allowed, now, new_id: &new_id };
            match changed(&own, entry.as_ref(), &fields, &ground) {
                Ok(after) => *entry = Some(after),
                Err(why) => *unpoisoned(&slot) = Some(why),
            }
        };
        let entry = scope.sessions.update(&key, Box::new(change)).await?.unwrap_or_default();
        if let Some(why) = unpoisoned(&refused).take() {
            return Err(why.into());
        }
        let model = yabby_domain::session::listing::model_of(Some(&entry), &usual);
        Ok(PatchOutcome { entry, model })
    }

    fn models_to_choose(&self, usual: &ModelRef) -> (ModelAliases, AllowedModels) {
        let config = self.config();
        let known = self.known_models().into_iter();
        let catalog: Vec<CatalogModel> =
            known.map(|(model, info)| CatalogModel { model, reasoning: info.reasoning }).collect();
        let aliases = ModelAliases::from_config(&config, &usual.provider);
        (aliases, AllowedModels::from_config(&config, &catalog, &usual.provider, &usual.model))
    }
}

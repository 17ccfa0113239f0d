//! `sessions.patch`: changes the settings of a session (`gateway.md` §6). The rule is
//! `yabby_domain::session::change`.

use std::sync::{Arc, Mutex};

use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::model::{AllowedModels, CatalogModel, ModelAliases};
use yabby_domain::seam::Choice;
use yabby_domain::session::change::{Ground, Refused, changed, new_label};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::glance::Field;
use yabby_domain::session::label;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, optional, required};
use crate::sessions::Session;
use crate::{Gateway, unpoisoned};

/// A word, or none any more.
const WORD: Schema = Schema::OneOf(&[NON_EMPTY, Schema::Null]);

pub(super) const METHOD: Method = Method {
    name: "sessions.patch",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("key", NON_EMPTY),
        optional("label", Schema::OneOf(&[Schema::Text { min: 1, max: label::MAX_UNITS }, Schema::Null])),
        optional("thinkingLevel", WORD),
        optional("verboseLevel", WORD),
        optional("reasoningLevel", WORD),
        optional(
            "responseUsage",
            Schema::OneOf(&[
                Schema::Constant("off"),
                Schema::Constant("tokens"),
                Schema::Constant("full"),
                Schema::Constant("on"),
                Schema::Null,
            ]),
        ),
        optional("elevatedLevel", WORD),
        optional("execHost", WORD),
        optional("execSecurity", WORD),
        optional("execAsk", WORD),
        optional("execNode", WORD),
        optional("model", WORD),
        optional("spawnedBy", WORD),
        optional(
            "sendPolicy",
            Schema::OneOf(&[Schema::Constant("allow"), Schema::Constant("deny"), Schema::Null]),
        ),
        optional(
            "groupActivation",
            Schema::OneOf(&[Schema::Constant("mention"), Schema::Constant("always"), Schema::Null]),
        ),
    ]),
    about: "Changes the settings of a session: label, levels, model and the like.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let session = gateway.session(call.text("key").unwrap_or_default()).await?;
    let request = call.params.as_object().cloned().unwrap_or_default();
    let label = new_label(&request).map_err(|error| Refusal::invalid(error.to_string()))?;
    // Whoever gives a label looks first whether it is free; nobody else gives one meanwhile.
    let _labelling = match label {
        Some(label) => {
            let labelling = gateway.labelling.lock().await;
            check_free(&session, label).await?;
            Some(labelling)
        }
        None => None,
    };
    let usual = gateway.engine.usual_model(&session.agent);
    let (aliases, allowed) = match request.contains_key("model") {
        true => models(gateway, &usual),
        false => Default::default(),
    };
    let (key, now) = (session.key.clone(), gateway.changed_ms());
    let refused: Arc<Mutex<Option<Refused>>> = Arc::default();
    let slot = refused.clone();
    let change = move |entry: &mut Option<SessionEntry>| {
        let new_id = uuid::Uuid::new_v4().to_string();
        let ground = Ground { usual: &usual, aliases: &aliases, allowed: &allowed, now, new_id: &new_id };
        match changed(&key, entry.as_ref(), &request, &ground) {
            Ok(after) => *entry = Some(after),
            Err(why) => *unpoisoned(&slot) = Some(why),
        }
    };
    let entry = session.update(Box::new(change)).await?;
    if let Some(why) = unpoisoned(&refused).take() {
        return Err(Refusal::invalid(why.to_string()));
    }
    let model = gateway.model_in(&session.key, entry.as_ref());
    Ok(json!({
        "ok": true,
        "path": gateway.store_path(&session.agent),
        "key": session.key.as_str(),
        "entry": entry.map_or(Value::Null, |entry| Value::Object(entry.into_object())),
        "resolved": {"modelProvider": model.provider, "model": model.model},
    }))
}

/// Refuses a label that another session of the store has.
pub(super) async fn check_free(session: &Session, label: &str) -> Result<(), Refusal> {
    let (own, wanted) = (session.key.clone(), label.to_owned());
    let choice = Choice {
        keys: Box::new(move |key| *key != own),
        records: Some(Box::new(move |_, glance| {
            glance.text(Field::Label).as_deref() == Some(wanted.as_str())
        })),
        most: 1,
    };
    match session.home.sessions.newest(choice).await?.entries.is_empty() {
        true => Ok(()),
        false => Err(Refusal::invalid(format!("label already in use: {label}"))),
    }
}

fn models(gateway: &Gateway, usual: &yabby_domain::model::ModelRef) -> (ModelAliases, AllowedModels) {
    let config = gateway.config();
    let known = gateway.engine.known_models().into_iter();
    let catalog: Vec<CatalogModel> =
        known.map(|(model, info)| CatalogModel { model, reasoning: info.reasoning }).collect();
    let aliases = ModelAliases::from_config(&config, &usual.provider);
    (aliases, AllowedModels::from_config(&config, &catalog, &usual.provider, &usual.model))
}

//! `models.list`: every model that could be asked (`gateway.md` §7).

use serde_json::json;
use yabby_domain::collation;
use yabby_domain::model::name_of;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::NOTHING;

pub(super) const METHOD: Method = Method {
    name: "models.list",
    access: Access::Read,
    listing: Listing::Advertised,
    params: NOTHING,
    about: "Every model that could be asked.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let config = call.gateway.config();
    let known = call.gateway.engine.known_models().into_iter();
    let mut models: Vec<_> = known.map(|(model, info)| (name_of(&config, &model), model, info)).collect();
    models.sort_by(|(a, first, _), (b, second, _)| {
        collation::compare(&first.provider, &second.provider).then_with(|| collation::compare(a, b))
    });
    let models = models.into_iter().map(|(name, model, info)| {
        let input = if info.images { vec!["text", "image"] } else { vec!["text"] };
        json!({
            "id": model.model,
            "name": name,
            "provider": model.provider,
            "contextWindow": info.context_window,
            "reasoning": info.reasoning,
            "input": input,
        })
    });
    Ok(json!({"models": models.collect::<Vec<_>>()}))
}

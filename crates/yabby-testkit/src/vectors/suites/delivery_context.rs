//! `delivery-context.json`.

use serde_json::json;
use yabby_domain::delivery::{DeliveryContext, LastFields, RawContext, mirror};
use yabby_domain::json::{Object, Value};
use yabby_domain::session::entry::SessionEntry;

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "delivery-context.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    let entry = |field: &str| case.arg(field).as_object().cloned().map(SessionEntry::new);
    Some(match case.rule.as_str() {
        "normalizeDeliveryContext" => value(normalize(case.arg("context"))),
        "deliveryContextKey" => json!(normalize(case.arg("context")).and_then(|context| context.key())),
        "mergeDeliveryContext" => {
            value(DeliveryContext::merge(normalize(case.arg("primary")), normalize(case.arg("fallback"))))
        }
        "deliveryContextFromSession" => value(entry("entry").and_then(|entry| entry.delivery())),
        "normalizeSessionDeliveryFields" => {
            let context =
                entry("source").and_then(|entry| DeliveryContext::of_fields(&LastFields::of_entry(&entry)));
            Value::Object(mirror(context.as_ref(), None).to_object())
        }
        _ => return None,
    })
}

fn normalize(context: &Value) -> Option<DeliveryContext> {
    DeliveryContext::normalize(&RawContext::of_object(context.as_object().unwrap_or(&Object::new())))
}

fn value(context: Option<DeliveryContext>) -> Value {
    context.map_or(Value::Null, |context| Value::Object(context.to_object()))
}

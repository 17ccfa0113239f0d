//! `delivery-context.json`.

use serde_json::json;
use yabby_domain::delivery::{DeliveryContext, LastFields, RawContext, mirror};
use yabby_domain::json::{Object, Value};
use yabby_domain::session::entry::SessionEntry;

use super::rows;
use crate::vectors::{Case, Difference, Suite};

pub const SUITE: Suite =
    Suite { file: "delivery-context.json", cases: rows, answer, differences: &[OLDER_NAMES] };

/// Contexts with `target` and `account`, as the seed documents write them, mean `to` and `accountId`:
/// the answer is the one for the same input in the present spelling.
const OLDER_NAMES: Difference = Difference {
    name: "delivery-target-and-account",
    applies: |case| respelt(case).is_some(),
    expected: |case| respelt(case).as_ref().and_then(answer).unwrap_or_default(),
};

/// The case with its contexts in the present spelling; `None` if they already are.
fn respelt(case: &Case) -> Option<Case> {
    let mut respelt = case.clone();
    for field in ["context", "primary", "fallback"] {
        respelt.input.get_mut(field).and_then(Value::as_object_mut).map(rename);
    }
    for entry in ["entry", "source"] {
        let entry = respelt.input.get_mut(entry).and_then(|entry| entry.get_mut("deliveryContext"));
        entry.and_then(Value::as_object_mut).map(rename);
    }
    (respelt.input != case.input).then_some(respelt)
}

fn rename(context: &mut Object) {
    for (old, new) in [("target", "to"), ("account", "accountId")] {
        if !context.contains_key(new)
            && let Some(value) = context.shift_remove(old)
        {
            context.insert(new.to_owned(), value);
        }
    }
}

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
            Value::Object(mirror(context.as_ref(), None).into_object())
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

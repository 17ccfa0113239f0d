//! `skills.update`: switches a skill on or off, and gives it its key and variables.

use serde_json::json;
use yabby_config::key_path::KeyPath;
use yabby_config::redaction::redacted;
use yabby_domain::json::{Object, Value};
use yabby_domain::text;
use yabby_store::config_file::Snapshot;
use yabby_store::config_file::edit::{ConfigFile, Edit, EditError};

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::on_disk;
use crate::schema::{BOOLEAN, NON_EMPTY, Schema, TEXT, optional, required};

pub(super) const METHOD: Method = Method {
    name: "skills.update",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("skillKey", NON_EMPTY),
        optional("enabled", BOOLEAN),
        optional("apiKey", TEXT),
        optional("env", Schema::Map(&TEXT)),
    ]),
    about: "Switches a skill on or off, and gives it its key and variables.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let key = call.text("skillKey").unwrap_or_default().to_owned();
    let place = call.gateway.place.clone();
    let params = call.params.clone();
    on_disk(move || {
        let path = KeyPath::of(["skills", "entries", &key]);
        let written = Snapshot::read(&place).parsed;
        let mut entry = path.get(&written).and_then(Value::as_object).cloned().unwrap_or_default();
        change(&mut entry, &params);
        let edit = Edit::Set(Value::Object(entry.clone()));
        match ConfigFile::of(&place).edit(&path, &edit) {
            Ok(_) => {}
            Err(EditError::Store(error)) => return Err(error.into()),
            Err(error) => return Err(Refusal::invalid(error.to_string())),
        }
        let shown = redacted(&json!({"skills": {"entries": {"x": entry}}}));
        Ok(json!({"ok": true, "skillKey": key, "config": shown["skills"]["entries"]["x"]}))
    })
    .await?
}

/// A blank key or variable is taken away.
fn change(entry: &mut Object, params: &Value) {
    if let Some(enabled) = params.get("enabled").filter(|enabled| enabled.is_boolean()) {
        entry.insert("enabled".to_owned(), enabled.clone());
    }
    if let Some(key) = params.get("apiKey").and_then(Value::as_str) {
        put(entry, "apiKey", key);
    }
    let Some(variables) = params.get("env").and_then(Value::as_object) else { return };
    let own = entry.entry("env".to_owned()).or_insert_with(|| Value::Object(Object::new()));
    if !own.is_object() {
        *own = Value::Object(Object::new());
    }
    let Value::Object(own) = own else { return };
    for (name, value) in variables {
        if let Some(name) = text::non_blank(name) {
            put(own, name, value.as_str().unwrap_or_default());
        }
    }
}

fn put(object: &mut Object, name: &str, value: &str) {
    match text::non_blank(value) {
        Some(value) => drop(object.insert(name.to_owned(), value.into())),
        None => drop(object.shift_remove(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_gets_what_it_is_given_and_loses_what_is_blank() {
        let mut entry = json!({"apiKey": "old", "env": {"A": "1", "B": "2"}}).as_object().unwrap().clone();
        change(&mut entry, &json!({"enabled": false, "apiKey": " ", "env": {" B ": "", "C": " 3 "}}));
        assert_eq!(Value::Object(entry), json!({"env": {"A": "1", "C": "3"}, "enabled": false}));
    }
}

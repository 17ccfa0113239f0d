//! How pages show the configuration: groups, their order, and what is secret (`gateway.md` §7, `config.schema`).

use serde_json::json;
use yabby_base::json::{Object, Value};
use yabby_base::secret_name::is_secret_key;

use crate::schema::Group;
use crate::sections::Sections;

/// How deep settings lie at most.
const DEEPEST: usize = 12;

/// The hints for a schema: its groups, and the settings that hold secrets.
pub fn of(schema: &Value) -> Object {
    let mut hints = Object::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let groups = Sections::PARTS.iter().filter_map(|part| Some((part.key, part.group.as_ref()?)));
    let mut groups: Vec<_> = groups.collect();
    groups.sort_by_key(|(_, group)| group.order);
    for (key, Group { label, order }) in groups {
        if properties.is_some_and(|properties| properties.contains_key(key)) {
            hints.insert(key.to_owned(), json!({"label": label, "group": label, "order": order}));
        }
    }
    mark_secrets(schema, schema, &mut Vec::new(), &mut hints);
    hints
}

fn mark_secrets<'s>(root: &'s Value, schema: &'s Value, path: &mut Vec<&'s str>, hints: &mut Object) {
    if path.len() > DEEPEST {
        return;
    }
    let schema = resolved(root, schema);
    let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    for (key, member) in members {
        path.push(key);
        let is_text = resolved(root, member).get("type").is_some_and(|kind| kind == "string");
        if is_text && is_secret_key(key) {
            hints.insert(path.join("."), json!({"sensitive": true}));
        }
        mark_secrets(root, member, path, hints);
        path.pop();
    }
    let below = [("items", "[]"), ("additionalProperties", "*")];
    for (keyword, name) in below {
        if let Some(inner) = schema.get(keyword).filter(|inner| inner.is_object()) {
            path.push(name);
            mark_secrets(root, inner, path, hints);
            path.pop();
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for choice in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
            mark_secrets(root, choice, path, hints);
        }
    }
}

fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'));
    reference.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_their_order_and_secrets_a_mark() {
        let hints = of(&crate::schema::schema());
        assert_eq!(hints["gateway"], json!({"label": "Gateway", "group": "Gateway", "order": 30}));
        for secret in
            ["gateway.auth.token", "gateway.auth.password", "hooks.token", "models.providers.*.apiKey"]
        {
            assert_eq!(hints.get(secret), Some(&json!({"sensitive": true})), "{secret}");
        }
        assert!(!hints.contains_key("gateway.port"));
    }
}

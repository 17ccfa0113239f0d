//! Changes of values: what to change in the main file to reach a value, and what it is then.

use yabby_config::include::{Resolved, Shape, Traced};
use yabby_config::key_path::{KeyPath, Step, index};
use yabby_domain::json::{Object, Value};

use super::Edit;

/// An edit of what is at the end of these steps.
pub(super) type Change = (Vec<Step>, Edit);

/// Changes a value as its text is changed.
pub(super) fn put(value: &mut Value, steps: &[Step], edit: &Edit) {
    let Some((step, below)) = steps.split_first() else {
        if let Edit::Set(new) = edit {
            *value = new.clone();
        }
        return;
    };
    let is_last = below.is_empty();
    match (step, edit) {
        (Step::Key(key), Edit::Unset) => match value.as_object_mut() {
            Some(object) if is_last => _ = object.shift_remove(key),
            Some(object) => object.get_mut(key).into_iter().for_each(|value| put(value, below, edit)),
            None => {}
        },
        (Step::Index(index), Edit::Unset) => match value.as_array_mut() {
            Some(items) if is_last && *index < items.len() => _ = items.remove(*index),
            Some(items) => items.get_mut(*index).into_iter().for_each(|value| put(value, below, edit)),
            None => {}
        },
        (Step::Key(key), Edit::Set(_)) => {
            if !value.is_object() {
                *value = Value::Object(Object::new());
            }
            if let Some(object) = value.as_object_mut() {
                put(object.entry(key.clone()).or_insert(Value::Null), below, edit);
            }
        }
        (Step::Index(index), Edit::Set(_)) => {
            if !value.is_array() {
                *value = Value::Array(Vec::new());
            }
            if let Some(items) = value.as_array_mut() {
                if *index >= items.len() {
                    items.push(Value::Null);
                }
                let index = (*index).min(items.len() - 1);
                put(&mut items[index], below, edit);
            }
        }
    }
}

/// The edits that make one value of another. A list of another length is one edit.
pub(super) fn differences(old: &Value, new: &Value) -> Vec<Change> {
    fn walk(old: &Value, new: &Value, steps: &mut Vec<Step>, found: &mut Vec<Change>) {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
                    steps.push(Step::Key(key.clone()));
                    match (old.get(key), new.get(key)) {
                        (Some(old), Some(new)) => walk(old, new, steps, found),
                        (_, Some(new)) => found.push((steps.clone(), Edit::Set(new.clone()))),
                        (_, None) => found.push((steps.clone(), Edit::Unset)),
                    }
                    steps.pop();
                }
            }
            (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
                for (index, (old, new)) in old.iter().zip(new).enumerate() {
                    steps.push(Step::Index(index));
                    walk(old, new, steps, found);
                    steps.pop();
                }
            }
            (old, new) if same(old, new) => {}
            (_, new) => found.push((steps.clone(), Edit::Set(new.clone()))),
        }
    }
    let mut found = Vec::new();
    walk(old, new, &mut Vec::new(), &mut found);
    found
}

/// The edits that give a value the members that another has and it has not.
pub(super) fn missing_in(written: &Value, filled: &Value) -> Vec<Change> {
    fn walk(written: &Value, filled: &Value, steps: &mut Vec<Step>, found: &mut Vec<Change>) {
        match (written, filled) {
            (Value::Object(written), Value::Object(filled)) => {
                for (key, value) in filled {
                    steps.push(Step::Key(key.clone()));
                    match written.get(key) {
                        Some(written) => walk(written, value, steps, found),
                        None => found.push((steps.clone(), Edit::Set(value.clone()))),
                    }
                    steps.pop();
                }
            }
            (Value::Array(written), Value::Array(filled)) if written.len() == filled.len() => {
                for (index, (written, value)) in written.iter().zip(filled).enumerate() {
                    steps.push(Step::Index(index));
                    walk(written, value, steps, found);
                    steps.pop();
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(written, filled, &mut Vec::new(), &mut found);
    found
}

/// The way to a value in the main file: to what is there, or to where it can be laid over what is
/// included. The error is the file that would have to be changed instead.
pub(super) fn steps_in_main(resolved: &Resolved, main: &Value, path: &KeyPath) -> Result<Vec<Step>, usize> {
    let mut steps = Vec::new();
    let mut above = Some(&resolved.root);
    for segment in path.segments() {
        let child = above.and_then(|above| above.child(segment));
        let is_list = above.map(|above| matches!(above.shape, Shape::List(_)));
        match (child, is_list) {
            (Some(child), _) if child.file == 0 => steps = child.steps.clone(),
            (Some(child), Some(true)) => return Err(child.file),
            // Behind the elements that are included.
            (None, Some(true)) => steps.push(Step::Index(length_at(main, &steps))),
            (None, _) if is_list.is_none() && index(segment).is_some() => steps.push(Step::Index(0)),
            _ => steps.push(Step::Key(segment.clone())),
        }
        above = child;
    }
    Ok(steps)
}

fn length_at(main: &Value, steps: &[Step]) -> usize {
    let list = steps.iter().try_fold(main, |value, step| match step {
        Step::Key(key) => value.as_object()?.get(key),
        Step::Index(index) => value.as_array()?.get(*index),
    });
    list.and_then(Value::as_array).map_or(0, Vec::len)
}

/// The first file but the main one that has a part in a value.
pub(super) fn first_included(traced: &Traced) -> Option<usize> {
    if traced.file != 0 {
        return Some(traced.file);
    }
    match &traced.shape {
        Shape::Scalar(_) => None,
        Shape::List(items) => items.iter().find_map(first_included),
        Shape::Object(members) => members.values().find_map(first_included),
    }
}

/// Whether two values are equal; the order of keys says nothing, and a number is a number.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    let members = |one: &Object, other: &Object| {
        one.len() == other.len()
            && one.iter().all(|(key, value)| other.get(key).is_some_and(|found| same(value, found)))
    };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => members(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use yabby_domain::json;

    use super::*;

    #[test]
    fn differences_make_one_value_of_another() {
        //  old                                new                               edits
        let table = [
            (r#"{"a":1,"b":{"c":2}}"#, r#"{"b":{"c":3,"d":4}}"#, 3),
            (r#"{"l":[1,{"x":1}]}"#, r#"{"l":[1,{"x":2}]}"#, 1),
            (r#"{"l":[1,2]}"#, r#"{"l":[2]}"#, 1),
            (r#"{"a":"x"}"#, r#"{"a":{"b":[{}]}}"#, 1),
            (r#"{"a":1}"#, r#"{"a":1.0}"#, 0),
        ];
        for (old, new, count) in table {
            let (mut old, new) = (json::parse(old).unwrap(), json::parse(new).unwrap());
            let edits = differences(&old, &new);
            assert_eq!(edits.len(), count, "{edits:?}");
            for (steps, edit) in &edits {
                put(&mut old, steps, edit);
            }
            assert!(same(&old, &new), "{old} is not {new}");
        }
    }

    #[test]
    fn only_what_is_missing_is_filled_in() {
        let written = json::parse(r#"{"a":{"x":1},"l":[{"k":1},{}],"m":[1]}"#).unwrap();
        let filled = json::parse(r#"{"a":{"x":2,"y":3},"l":[{"k":1},{"k":2}],"m":[1,2],"n":{}}"#).unwrap();
        let mut reached = written.clone();
        for (steps, edit) in missing_in(&written, &filled) {
            put(&mut reached, &steps, &edit);
        }
        assert_eq!(json::stringify(&reached), r#"{"a":{"x":1,"y":3},"l":[{"k":1},{"k":2}],"m":[1],"n":{}}"#);
    }
}

//! Nodes in the older way of pairing: who asked, and who was let in (`gateway.md` §7 `node.pair.*`,
//! `state-files.md` §5). No node is served yet; what others paired stays known.

use crate::device::PENDING_MS;
use crate::json::{self, Object, Value};
use crate::text;

/// What a node says about itself.
const TOLD: [&str; 11] = [
    "displayName",
    "platform",
    "version",
    "coreVersion",
    "uiVersion",
    "deviceFamily",
    "modelIdentifier",
    "caps",
    "commands",
    "permissions",
    "remoteIp",
];

/// Both files: requests by their names, and nodes by theirs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nodes {
    pub pending: Object,
    pub paired: Object,
}

impl Nodes {
    /// Forgets requests that are too old.
    pub fn prune(&mut self, now: f64) {
        let is_fresh = |request: &Value| at(request, "ts").is_some_and(|at| now - at <= PENDING_MS);
        self.pending.retain(|_, request| is_fresh(request));
    }

    /// The request of a node, and whether it is a new one: a node has one at a time.
    pub fn request(&mut self, told: &Object, name: String, now: f64) -> (Value, bool) {
        let node = told.get("nodeId").and_then(Value::as_str).map(text::trim).unwrap_or_default();
        let same = |request: &&Value| request.get("nodeId").and_then(Value::as_str) == Some(node);
        if let Some(known) = self.pending.values().find(same) {
            return (known.clone(), false);
        }
        let mut request = Object::new();
        request.insert("requestId".to_owned(), name.clone().into());
        request.insert("nodeId".to_owned(), node.into());
        copy(told, &mut request);
        if let Some(silent) = told.get("silent") {
            request.insert("silent".to_owned(), silent.clone());
        }
        request.insert("isRepair".to_owned(), self.paired.contains_key(node).into());
        request.insert("ts".to_owned(), json::number(now));
        let request = Value::Object(request);
        self.pending.insert(name, request.clone());
        (request, true)
    }

    /// Lets a node in; `None` if nobody asked under this name.
    pub fn approve(&mut self, request: &str, token: String, now: f64) -> Option<Value> {
        let request = self.pending.shift_remove(request)?;
        let request = request.as_object()?;
        let id = request.get("nodeId")?.as_str()?.to_owned();
        let before = self.paired.get(&id).and_then(|node| node.get("createdAtMs")).cloned();
        let mut node = Object::new();
        node.insert("nodeId".to_owned(), id.clone().into());
        node.insert("token".to_owned(), token.into());
        copy(request, &mut node);
        node.insert("createdAtMs".to_owned(), before.unwrap_or_else(|| json::number(now)));
        node.insert("approvedAtMs".to_owned(), json::number(now));
        let node = Value::Object(node);
        self.paired.insert(id, node.clone());
        Some(node)
    }

    /// Turns a request down; the node that asked.
    pub fn reject(&mut self, request: &str) -> Option<String> {
        let request = self.pending.shift_remove(request)?;
        Some(request.get("nodeId").and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    /// Whether this is the token of a node; the node if it is.
    pub fn verify(&self, node: &str, is_it: impl FnOnce(&str) -> bool) -> Option<Value> {
        let node = self.paired.get(text::trim(node))?;
        node.get("token")?.as_str().filter(|token| is_it(token)).map(|_| node.clone())
    }

    /// Gives a node another name; the node as it is then.
    pub fn rename(&mut self, node: &str, name: &str) -> Option<Value> {
        let node = self.paired.get_mut(text::trim(node))?;
        node.as_object_mut()?.insert("displayName".to_owned(), name.into());
        Some(node.clone())
    }

    /// Everything, as clients are told: without tokens, the newest first.
    pub fn told(&self) -> (Vec<Value>, Vec<Value>) {
        let newest_first = |records: &Object, field: &str| {
            let mut records: Vec<Value> = records.values().cloned().collect();
            records.sort_by(|a, b| at(b, field).unwrap_or(0.0).total_cmp(&at(a, field).unwrap_or(0.0)));
            records
        };
        let mut paired = newest_first(&self.paired, "approvedAtMs");
        for node in paired.iter_mut().filter_map(Value::as_object_mut) {
            node.shift_remove("token");
        }
        (newest_first(&self.pending, "ts"), paired)
    }
}

fn copy(from: &Object, to: &mut Object) {
    for name in TOLD {
        if let Some(value) = from.get(name) {
            to.insert(name.to_owned(), value.clone());
        }
    }
}

fn at(record: &Value, field: &str) -> Option<f64> {
    record.get(field)?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_node_asks_once_and_is_known_by_its_token() {
        let mut nodes = Nodes::default();
        let told = json!({"nodeId": " n1 ", "displayName": "N1", "platform": "linux"});
        let told = told.as_object().unwrap();
        let (request, is_new) = nodes.request(told, "r".to_owned(), 5.0);
        assert!(is_new);
        let expected = json!({"requestId": "r", "nodeId": "n1", "displayName": "N1", "platform": "linux", "isRepair": false, "ts": 5});
        assert_eq!(request, expected);
        assert_eq!(nodes.request(told, "other".to_owned(), 6.0), (request, false));
        assert_eq!(nodes.approve("nobody", "t".to_owned(), 7.0), None);
        let node = nodes.approve("r", "t".to_owned(), 7.0).unwrap();
        assert_eq!(
            node,
            json!({"nodeId": "n1", "token": "t", "displayName": "N1", "platform": "linux", "createdAtMs": 7, "approvedAtMs": 7})
        );
        assert!(nodes.verify("n1", |token| token == "bad").is_none());
        assert!(nodes.verify("n1", |token| token == "t").is_some());
        assert_eq!(nodes.rename("n1", "N One").unwrap()["displayName"], "N One");
        assert_eq!(nodes.rename("n2", "x"), None);
        assert!(nodes.told().1[0].get("token").is_none());
        nodes.request(told, "s".to_owned(), 8.0);
        nodes.prune(8.0 + PENDING_MS + 1.0);
        assert!(nodes.pending.is_empty());
    }
}

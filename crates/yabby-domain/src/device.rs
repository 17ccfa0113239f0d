//! Devices that may connect to the gateway: who asked, who was let in, and with which tokens
//! (`gateway.md` §2.4, `state-files.md` §5).
//!
//! Records are objects that keep what they do not know. Tokens are passed in: nothing here makes any up.

use std::collections::BTreeSet;

use crate::json::{self, Object, Value};
use crate::text;

/// How long a request to be let in stands.
pub const PENDING_MS: f64 = 5.0 * 60_000.0;

/// As what somebody connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A person or their program.
    Operator,
    /// A machine that does things.
    Node,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Node => "node",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        [Self::Operator, Self::Node].into_iter().find(|role| role.as_str() == name)
    }
}

/// What a signature of a device is about.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'s> {
    pub device: &'s str,
    pub client_id: &'s str,
    pub client_mode: &'s str,
    pub role: &'s str,
    /// As they were sent.
    pub scopes: &'s [String],
    pub signed_at: i64,
    pub token: Option<&'s str>,
    pub nonce: Option<&'s str>,
}

impl Signed<'_> {
    /// The text that is signed.
    pub fn text(&self) -> String {
        let version = if self.nonce.is_some() { "v2" } else { "v1" };
        let (scopes, at) = (self.scopes.join(","), self.signed_at.to_string());
        let token = self.token.unwrap_or_default();
        let parts = [version, self.device, self.client_id, self.client_mode, self.role, &scopes, &at, token];
        parts.into_iter().chain(self.nonce).collect::<Vec<_>>().join("|")
    }
}

/// What a device says when it asks to be let in.
#[derive(Clone, Debug, Default)]
pub struct Introduction {
    pub device: String,
    pub public_key: String,
    pub display_name: Option<String>,
    pub platform: Option<String>,
    pub client_id: Option<String>,
    pub client_mode: Option<String>,
    pub role: Option<String>,
    pub scopes: Vec<String>,
    pub remote_ip: Option<String>,
    /// It is let in without anybody being asked.
    pub silent: bool,
}

/// Both files: requests by their names, and devices by theirs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Devices {
    pub pending: Object,
    pub paired: Object,
}

/// Whether a device that is known may connect as it wants to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Welcome,
    /// It has to ask: it is new, or wants more than before.
    MustAsk,
}

/// A token of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub token: String,
    pub role: String,
    pub scopes: Vec<String>,
    pub issued_at: f64,
}

impl Devices {
    /// Forgets requests that are too old.
    pub fn prune(&mut self, now: f64) {
        let is_fresh = |request: &Value| number(request, "ts").is_some_and(|at| now - at <= PENDING_MS);
        self.pending.retain(|_, request| is_fresh(request));
    }

    pub fn device(&self, id: &str) -> Option<&Value> {
        self.paired.get(id)
    }

    /// Whether a device with this key was let in before.
    pub fn knows(&self, id: &str, public_key: &str) -> bool {
        self.device(id).is_some_and(|known| word(known, "publicKey") == Some(public_key))
    }

    /// Whether a device may connect in a role and with these scopes.
    pub fn standing(&self, id: &str, public_key: &str, role: &str, scopes: &[String]) -> Standing {
        let Some(device) = self.device(id).filter(|known| word(known, "publicKey") == Some(public_key))
        else {
            return Standing::MustAsk;
        };
        let roles = roles_of(device);
        let known = words(device, "scopes");
        let has_scopes = scopes.iter().all(|scope| known.contains(scope));
        if roles.iter().any(|known| known == role) && has_scopes {
            Standing::Welcome
        } else {
            Standing::MustAsk
        }
    }

    /// The request of a device, and whether it is a new one: a device has one at a time.
    pub fn request(&mut self, who: &Introduction, name: String, now: f64) -> (Value, bool) {
        let same = |request: &&Value| word(request, "deviceId") == Some(who.device.as_str());
        if let Some(known) = self.pending.values().find(same) {
            return (known.clone(), false);
        }
        let mut request = Object::new();
        request.insert("requestId".to_owned(), name.clone().into());
        request.insert("deviceId".to_owned(), who.device.clone().into());
        request.insert("publicKey".to_owned(), who.public_key.clone().into());
        who.describe(&mut request);
        request.insert("silent".to_owned(), who.silent.into());
        request.insert("isRepair".to_owned(), self.paired.contains_key(&who.device).into());
        request.insert("ts".to_owned(), json::number(now));
        let request = Value::Object(request);
        self.pending.insert(name, request.clone());
        (request, true)
    }

    /// Lets a device in; `None` if nobody asked under this name.
    pub fn approve(&mut self, request: &str, token: String, now: f64) -> Option<Value> {
        let request = self.pending.shift_remove(request)?;
        let id = word(&request, "deviceId").unwrap_or_default().to_owned();
        let before = self.paired.shift_remove(&id);
        let mut device = Object::new();
        for name in ["deviceId", "publicKey", "displayName", "platform", "clientId", "clientMode", "role"] {
            if let Some(value) = request.get(name) {
                device.insert(name.to_owned(), value.clone());
            }
        }
        let old = before.as_ref().unwrap_or(&Value::Null);
        device.insert("roles".to_owned(), union([roles_of(old), roles_of(&request)]).into());
        device.insert("scopes".to_owned(), union([words(old, "scopes"), words(&request, "scopes")]).into());
        if let Some(ip) = request.get("remoteIp") {
            device.insert("remoteIp".to_owned(), ip.clone());
        }
        let mut tokens = old.get("tokens").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(role) = word(&request, "role").and_then(text::non_blank) {
            let renewed = renewed(tokens.get(role), role, &words(&request, "scopes"), token, now);
            tokens.insert(role.to_owned(), renewed);
        }
        device.insert("tokens".to_owned(), Value::Object(tokens));
        let created = old.get("createdAtMs").cloned().unwrap_or_else(|| json::number(now));
        device.insert("createdAtMs".to_owned(), created);
        device.insert("approvedAtMs".to_owned(), json::number(now));
        // Fields of other programs stay.
        for (name, value) in old.as_object().into_iter().flatten() {
            device.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let device = Value::Object(device);
        self.paired.insert(id, device.clone());
        Some(device)
    }

    /// Turns a request down; the device that asked.
    pub fn reject(&mut self, request: &str) -> Option<String> {
        let request = self.pending.shift_remove(request)?;
        Some(word(&request, "deviceId").unwrap_or_default().to_owned())
    }

    /// Notes what a device that is let in says about itself now; whether that changed anything.
    pub fn describe(&mut self, who: &Introduction) -> bool {
        let Some(Value::Object(device)) = self.paired.get_mut(&who.device) else { return false };
        let before = device.clone();
        let (roles, scopes) = {
            let known = Value::Object(before.clone());
            let role = who.role.iter().cloned().collect();
            (union([roles_of(&known), role]), union([words(&known, "scopes"), who.scopes.clone()]))
        };
        who.describe(device);
        device.insert("roles".to_owned(), roles.into());
        device.insert("scopes".to_owned(), scopes.into());
        *device != before
    }

    /// Whether this is the token of a device for a role and at least these scopes.
    pub fn knows_token(
        &self,
        id: &str,
        role: &str,
        scopes: &[String],
        is_it: impl FnOnce(&str) -> bool,
    ) -> bool {
        let Some(entry) = self.token_entry(id, role) else { return false };
        let is_live = !entry.get("revokedAtMs").is_some_and(json::truthy);
        let known = words(entry, "scopes");
        let allowed = scopes.iter().all(|scope| known.contains(scope));
        is_live && word(entry, "token").is_some_and(is_it) && allowed
    }

    /// Notes that a token was used.
    pub fn used_token(&mut self, id: &str, role: &str, now: f64) {
        if let Some(Value::Object(entry)) = self.token_entry_mut(id, role) {
            entry.insert("lastUsedAtMs".to_owned(), json::number(now));
        }
    }

    /// The token of a device for a role, made anew if it does not reach; `None` if the device is not known.
    pub fn ensure_token(
        &mut self,
        id: &str,
        role: &str,
        scopes: &[String],
        token: String,
        now: f64,
    ) -> Option<Token> {
        self.device(id)?;
        let known =
            self.token_entry(id, role).filter(|entry| !entry.get("revokedAtMs").is_some_and(json::truthy));
        let reaches = |entry: &&Value| {
            let known = words(entry, "scopes");
            scopes.iter().all(|scope| known.contains(scope))
        };
        if let Some(entry) = known.filter(reaches) {
            return token_of(entry);
        }
        self.put_token(id, role, scopes, token, now)
    }

    /// A new token for a device, with the scopes of the old one unless others are named, which are then those of the
    /// device.
    pub fn rotate_token(
        &mut self,
        id: &str,
        role: &str,
        scopes: Option<&[String]>,
        token: String,
        now: f64,
    ) -> Option<Token> {
        let known = self.token_scopes(id, role)?;
        if let (Some(scopes), Some(device)) = (scopes, self.paired.get_mut(id).and_then(Value::as_object_mut))
        {
            device.insert("scopes".to_owned(), scopes.to_vec().into());
        }
        let scopes = scopes.map_or(known, <[String]>::to_vec);
        let token = self.put_token(id, role, &scopes, token, now)?;
        // Also where there was none before.
        let entry = self.token_entry_mut(id, role)?.as_object_mut()?;
        entry.insert("rotatedAtMs".to_owned(), json::number(now));
        Some(token)
    }

    /// The scopes that a device gets if its request is granted.
    pub fn asked_scopes(&self, request: &str) -> Option<Vec<String>> {
        let request = self.pending.get(request)?;
        let device = word(request, "deviceId").and_then(|id| self.device(id)).unwrap_or(&Value::Null);
        Some(union([words(device, "scopes"), words(request, "scopes")]))
    }

    /// The scopes of a device's token for a role, which are those of the device if it has none yet.
    pub fn token_scopes(&self, id: &str, role: &str) -> Option<Vec<String>> {
        let device = self.device(id).filter(|_| !role.is_empty())?;
        Some(words(self.token_entry(id, role).unwrap_or(device), "scopes"))
    }

    /// Makes a token worthless; when, if there is one.
    pub fn revoke_token(&mut self, id: &str, role: &str, now: f64) -> Option<f64> {
        match self.token_entry_mut(id, role)? {
            Value::Object(entry) => {
                entry.insert("revokedAtMs".to_owned(), json::number(now));
                Some(now)
            }
            _ => None,
        }
    }

    /// Everything, as clients are told: without tokens, the newest first.
    pub fn told(&self) -> (Vec<Value>, Vec<Value>) {
        let newest_first = |records: &Object, field: &str| {
            let mut records: Vec<Value> = records.values().cloned().collect();
            let at = |record: &Value| number(record, field).unwrap_or(0.0);
            records.sort_by(|a, b| at(b).total_cmp(&at(a)));
            records
        };
        let paired = newest_first(&self.paired, "approvedAtMs");
        (newest_first(&self.pending, "ts"), paired.iter().map(without_tokens).collect())
    }

    fn put_token(
        &mut self,
        id: &str,
        role: &str,
        scopes: &[String],
        token: String,
        now: f64,
    ) -> Option<Token> {
        let renewed = renewed(self.token_entry(id, role), role, scopes, token, now);
        let device = self.paired.get_mut(id)?.as_object_mut()?;
        let tokens = device.entry("tokens").or_insert_with(|| Value::Object(Object::new()));
        tokens.as_object_mut()?.insert(role.to_owned(), renewed.clone());
        token_of(&renewed)
    }

    fn token_entry(&self, id: &str, role: &str) -> Option<&Value> {
        self.device(id)?.get("tokens")?.get(role)
    }

    fn token_entry_mut(&mut self, id: &str, role: &str) -> Option<&mut Value> {
        self.paired.get_mut(id)?.get_mut("tokens")?.get_mut(role)
    }
}

impl Introduction {
    /// What it says about itself, where it says anything.
    fn describe(&self, record: &mut Object) {
        let texts = [
            ("displayName", &self.display_name),
            ("platform", &self.platform),
            ("clientId", &self.client_id),
            ("clientMode", &self.client_mode),
            ("role", &self.role),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                record.insert(name.to_owned(), value.clone().into());
            }
        }
        if let Some(role) = &self.role {
            record.insert("roles".to_owned(), vec![role.clone()].into());
        }
        record.insert("scopes".to_owned(), self.scopes.clone().into());
        if let Some(ip) = &self.remote_ip {
            record.insert("remoteIp".to_owned(), ip.clone().into());
        }
    }
}

/// A device as clients are told of it: its tokens without their texts.
pub fn without_tokens(device: &Value) -> Value {
    let Value::Object(mut device) = device.clone() else { return device.clone() };
    let tokens = match device.shift_remove("tokens") {
        Some(Value::Object(tokens)) => tokens,
        _ => Object::new(),
    };
    let mut told: Vec<Value> = tokens
        .values()
        .map(|entry| {
            let names = ["role", "scopes", "createdAtMs", "rotatedAtMs", "revokedAtMs", "lastUsedAtMs"];
            let fields =
                names.into_iter().filter_map(|name| Some((name.to_owned(), entry.get(name)?.clone())));
            Value::Object(fields.collect())
        })
        .collect();
    told.sort_by(|a, b| word(a, "role").cmp(&word(b, "role")));
    if !told.is_empty() {
        device.insert("tokens".to_owned(), told.into());
    }
    Value::Object(device)
}

/// A token made anew, which keeps when the first one was made.
fn renewed(before: Option<&Value>, role: &str, scopes: &[String], token: String, now: f64) -> Value {
    let mut entry = Object::new();
    entry.insert("token".to_owned(), token.into());
    entry.insert("role".to_owned(), role.into());
    let scopes: BTreeSet<&String> = scopes.iter().collect();
    entry.insert("scopes".to_owned(), scopes.into_iter().cloned().collect::<Vec<_>>().into());
    let created = before.and_then(|before| before.get("createdAtMs")).cloned();
    entry.insert("createdAtMs".to_owned(), created.unwrap_or_else(|| json::number(now)));
    if let Some(before) = before {
        entry.insert("rotatedAtMs".to_owned(), json::number(now));
        if let Some(used) = before.get("lastUsedAtMs") {
            entry.insert("lastUsedAtMs".to_owned(), used.clone());
        }
    }
    Value::Object(entry)
}

fn token_of(entry: &Value) -> Option<Token> {
    Some(Token {
        token: word(entry, "token")?.to_owned(),
        role: word(entry, "role")?.to_owned(),
        scopes: words(entry, "scopes"),
        issued_at: number(entry, "rotatedAtMs").or_else(|| number(entry, "createdAtMs")).unwrap_or(0.0),
    })
}

fn roles_of(record: &Value) -> Vec<String> {
    let named = word(record, "role").and_then(text::non_blank).map(str::to_owned);
    union([words(record, "roles"), named.into_iter().collect()])
}

fn union<const N: usize>(lists: [Vec<String>; N]) -> Vec<String> {
    let mut all = Vec::new();
    for one in lists.into_iter().flatten() {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

fn word<'v>(record: &'v Value, name: &str) -> Option<&'v str> {
    record.get(name)?.as_str()
}

fn number(record: &Value, name: &str) -> Option<f64> {
    record.get(name)?.as_f64()
}

fn words(record: &Value, name: &str) -> Vec<String> {
    let items = record.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn laptop(scopes: &[&str]) -> Introduction {
        Introduction {
            device: "d1".to_owned(),
            public_key: "key".to_owned(),
            display_name: Some("laptop".to_owned()),
            role: Some("operator".to_owned()),
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            ..Introduction::default()
        }
    }

    fn scopes(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_device_asks_once_and_is_let_in_as_it_asked() {
        let mut devices = Devices::default();
        let read = scopes(&["operator.read"]);
        assert_eq!(devices.standing("d1", "key", "operator", &read), Standing::MustAsk);
        let (request, is_new) = devices.request(&laptop(&["operator.read"]), "r1".to_owned(), 1000.0);
        assert!(is_new && request["isRepair"] == false);
        assert!(!devices.request(&laptop(&["operator.admin"]), "r2".to_owned(), 2000.0).1);
        let device = devices.approve("r1", "secret".to_owned(), 3000.0).unwrap();
        assert_eq!(device["tokens"]["operator"]["token"], "secret");
        assert_eq!(devices.standing("d1", "key", "operator", &read), Standing::Welcome);
        for (key, role, wanted) in [
            ("other", "operator", "operator.read"),
            ("key", "node", "operator.read"),
            ("key", "operator", "operator.admin"),
        ] {
            assert_eq!(
                devices.standing("d1", key, role, &scopes(&[wanted])),
                Standing::MustAsk,
                "{key} {role}"
            );
        }
        assert_eq!(devices.approve("r1", "again".to_owned(), 4000.0), None);
    }

    #[test]
    fn what_a_device_may_do_only_grows_and_its_token_is_renewed() {
        let paired = json!({"d1": {"deviceId": "d1", "publicKey": "key", "role": "operator",
            "roles": ["operator"], "scopes": ["operator.read"], "note": "kept", "createdAtMs": 1,
            "tokens": {"operator": {"token": "old", "role": "operator", "scopes": ["operator.read"], "createdAtMs": 1}}}});
        let mut devices = Devices { paired: paired.as_object().unwrap().clone(), ..Devices::default() };
        devices.request(&laptop(&["operator.write"]), "r".to_owned(), 10.0);
        let device = devices.approve("r", "new".to_owned(), 20.0).unwrap();
        assert_eq!(device["scopes"], json!(["operator.read", "operator.write"]));
        assert_eq!(device["note"], "kept");
        assert_eq!(
            device["tokens"]["operator"],
            json!({"token": "new", "role": "operator", "scopes": ["operator.write"], "createdAtMs": 1, "rotatedAtMs": 20})
        );
        assert!(!devices.knows_token("d1", "operator", &[], |token| token == "old"));
        assert!(devices.knows_token("d1", "operator", &scopes(&["operator.write"]), |token| token == "new"));
        assert!(!devices.knows_token("d1", "operator", &scopes(&["operator.read"]), |token| token == "new"));
        let kept = devices
            .ensure_token("d1", "operator", &scopes(&["operator.write"]), "x".to_owned(), 30.0)
            .unwrap();
        assert_eq!((kept.token.as_str(), kept.issued_at), ("new", 20.0));
        devices.revoke_token("d1", "operator", 40.0);
        assert!(!devices.knows_token("d1", "operator", &[], |token| token == "new"));
        let fresh = devices.ensure_token("d1", "operator", &[], "y".to_owned(), 50.0).unwrap();
        assert_eq!(fresh.token, "y");
    }

    #[test]
    fn scopes_that_a_new_token_is_given_are_those_of_the_device() {
        let mut devices = Devices::default();
        devices.request(&laptop(&["operator.read", "operator.write"]), "r".to_owned(), 1.0);
        devices.approve("r", "old".to_owned(), 2.0);
        let mut rotated = |role: &str, given: Option<&[String]>| {
            let token = devices.rotate_token("d1", role, given, "new".to_owned(), 3.0)?;
            Some((token.scopes, words(devices.device("d1")?, "scopes")))
        };
        let both = scopes(&["operator.read", "operator.write"]);
        let read = scopes(&["operator.read"]);
        assert_eq!(rotated("operator", None), Some((both.clone(), both)));
        assert_eq!(rotated("operator", Some(&read)), Some((read.clone(), read.clone())));
        assert_eq!(rotated("node", None), Some((read.clone(), read)));
        assert_eq!(rotated("", None), None);
        assert_eq!(devices.device("d1").unwrap()["tokens"]["node"]["rotatedAtMs"], 3);
    }

    #[test]
    fn requests_expire_and_clients_never_see_tokens() {
        let mut devices = Devices::default();
        devices.request(&laptop(&[]), "r".to_owned(), 0.0);
        devices.prune(PENDING_MS);
        assert_eq!(devices.pending.len(), 1);
        devices.approve("r", "secret".to_owned(), 5.0);
        devices.request(&laptop(&[]), "r2".to_owned(), 0.0);
        devices.prune(PENDING_MS + 1.0);
        let (pending, paired) = devices.told();
        assert!(pending.is_empty());
        assert!(!Value::from(paired.clone()).to_string().contains("secret"));
        assert_eq!(paired[0]["tokens"], json!([{"role": "operator", "scopes": [], "createdAtMs": 5}]));
    }

    #[test]
    fn a_signature_is_about_everything_that_was_sent() {
        let mut signed = Signed {
            device: "d",
            client_id: "cli",
            client_mode: "cli",
            role: "operator",
            scopes: &scopes(&["a", "b"]),
            signed_at: 7,
            token: None,
            nonce: None,
        };
        assert_eq!(signed.text(), "v1|d|cli|cli|operator|a,b|7|");
        (signed.token, signed.nonce) = (Some("t"), Some("n"));
        assert_eq!(signed.text(), "v2|d|cli|cli|operator|a,b|7|t|n");
    }
}

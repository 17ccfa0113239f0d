//! Where a reply goes: the delivery context and its mirrored fields (`sessions.md` §8).

use serde::{Deserialize, Serialize};

use crate::channel::normalize_channel;
use crate::inbound::ThreadId;
use crate::json::{Object, Value};
use crate::session::entry::{Patch, SessionEntry};
use crate::text;

/// A normalised address: at least one part is there, and none is blank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeliveryContext {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
}

/// The parts of an address before anything is checked, as a record or a caller gives them.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawContext<'a> {
    pub channel: Option<&'a Value>,
    pub to: Option<&'a Value>,
    pub account: Option<&'a Value>,
    pub thread: Option<&'a Value>,
}

impl<'a> RawContext<'a> {
    /// The parts of a `deliveryContext` object. Folders of earlier programs say `target` and
    /// `account`; these count where the present names are absent.
    pub fn of_object(object: &'a Object) -> Self {
        Self {
            channel: object.get("channel"),
            to: object.get("to").or_else(|| object.get("target")),
            account: object.get("accountId").or_else(|| object.get("account")),
            thread: object.get("threadId"),
        }
    }
}

impl DeliveryContext {
    /// The address in `raw`, unless nothing is left of it.
    pub fn normalize(raw: &RawContext<'_>) -> Option<Self> {
        let text_of = |value: Option<&Value>| value?.as_str().and_then(text::non_blank).map(str::to_owned);
        let thread = match raw.thread {
            Some(Value::Number(n)) => n.as_f64().map(|n| ThreadId::Number(n.trunc())),
            Some(Value::String(s)) => text::non_blank(s).map(|s| ThreadId::Text(s.to_owned())),
            _ => None,
        };
        let context = Self {
            channel: raw.channel.and_then(Value::as_str).and_then(normalize_channel),
            to: text_of(raw.to),
            account: text_of(raw.account),
            thread,
        };
        (context != Self::default()).then_some(context)
    }

    /// Part by part: this context's, else the other's.
    pub fn or(self, fallback: Self) -> Self {
        Self {
            channel: self.channel.or(fallback.channel),
            to: self.to.or(fallback.to),
            account: self.account.or(fallback.account),
            thread: self.thread.or(fallback.thread),
        }
    }

    /// The context of `primary` filled up from `fallback`.
    pub fn merge(primary: Option<Self>, fallback: Option<Self>) -> Option<Self> {
        match (primary, fallback) {
            (Some(primary), Some(fallback)) => Some(primary.or(fallback)),
            (one, other) => one.or(other),
        }
    }

    /// One text per place; only an address with a channel and a recipient has one.
    pub fn key(&self) -> Option<String> {
        let (channel, to) = (self.channel.as_ref()?, self.to.as_ref()?);
        let thread = match &self.thread {
            Some(ThreadId::Number(n)) => crate::json::number_text(*n),
            Some(ThreadId::Text(s)) => s.clone(),
            None => String::new(),
        };
        Some(format!("{channel}|{to}|{}|{thread}", self.account.as_deref().unwrap_or("")))
    }

    /// The address of a record's last conversation.
    pub fn of_entry(entry: &SessionEntry) -> Option<Self> {
        let given = |field: &str| entry.get(field).filter(|value| !value.is_null());
        let context = entry.delivery_context_object();
        // A number or text counts here even if it is empty: it hides the ones behind it.
        let thread = given("lastThreadId")
            .or_else(|| context?.get("threadId").filter(|value| !value.is_null()))
            .or_else(|| entry.origin()?.get("threadId").filter(|value| !value.is_null()));
        Self::of_fields(&LastFields { thread, ..LastFields::of_entry(entry) })
    }

    /// The address that the `last…` fields and the context of a record give together.
    pub fn of_fields(fields: &LastFields<'_>) -> Option<Self> {
        let last = RawContext {
            channel: fields.last_channel.or(fields.channel),
            to: fields.last_to,
            account: fields.last_account,
            thread: fields.thread,
        };
        let context = fields.context.map(RawContext::of_object);
        Self::merge(Self::normalize(&last), context.as_ref().and_then(Self::normalize))
    }

    /// The object as it stands in a record.
    pub fn to_object(&self) -> Object {
        let mut object = Object::new();
        let mut put = |field: &str, value: Option<Value>| {
            if let Some(value) = value {
                object.insert(field.to_owned(), value);
            }
        };
        put("channel", self.channel.clone().map(Value::String));
        put("to", self.to.clone().map(Value::String));
        put("accountId", self.account.clone().map(Value::String));
        put("threadId", self.thread.as_ref().map(ThreadId::to_value));
        object
    }
}

impl SessionEntry {
    /// Where the conversation's replies go; older spellings of the fields are read as well.
    pub fn delivery(&self) -> Option<DeliveryContext> {
        DeliveryContext::of_entry(self)
    }
}

/// The fields of a record that say where its last conversation was.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastFields<'a> {
    pub channel: Option<&'a Value>,
    pub last_channel: Option<&'a Value>,
    pub last_to: Option<&'a Value>,
    pub last_account: Option<&'a Value>,
    pub thread: Option<&'a Value>,
    pub context: Option<&'a Object>,
}

impl<'a> LastFields<'a> {
    pub fn of_entry(entry: &'a SessionEntry) -> Self {
        let given = |field: &str| entry.get(field).filter(|value| !value.is_null());
        Self {
            channel: given("channel"),
            last_channel: given("lastChannel"),
            last_to: given("lastTo"),
            last_account: given("lastAccountId"),
            thread: given("lastThreadId"),
            context: entry.delivery_context_object(),
        }
    }
}

/// The context of a record and its four mirrors, as they are written together.
///
/// `kept` is the object that stood in the record before: what we do not know of it stays.
pub fn mirror(context: Option<&DeliveryContext>, kept: Option<&Object>) -> Patch {
    let mut patch = Patch::default();
    patch.set_delivery_context_object(with_kept_fields(context, kept));
    patch.set_last_channel(context.and_then(|c| c.channel.as_deref()));
    patch.set_last_to(context.and_then(|c| c.to.as_deref()));
    patch.set_last_account_id(context.and_then(|c| c.account.as_deref()));
    patch.set_last_thread_id(context.and_then(|c| c.thread.as_ref()));
    patch
}

/// Where the conversation now is: what was said explicitly, else the given parts, else the record's.
pub fn last_route(
    existing: Option<&SessionEntry>,
    explicit: Option<DeliveryContext>,
    given: Option<DeliveryContext>,
) -> Patch {
    let known = existing.and_then(DeliveryContext::of_entry);
    let context = DeliveryContext::merge(DeliveryContext::merge(explicit, given), known);
    mirror(context.as_ref(), existing.and_then(SessionEntry::delivery_context_object))
}

const OWN_FIELDS: [&str; 4] = ["channel", "to", "accountId", "threadId"];

fn with_kept_fields(context: Option<&DeliveryContext>, kept: Option<&Object>) -> Option<Object> {
    let is_own = |field: &String| OWN_FIELDS.contains(&field.as_str());
    let Some(kept) = kept.filter(|kept| !kept.keys().all(is_own)) else {
        return context.map(DeliveryContext::to_object);
    };
    let own = context.map(DeliveryContext::to_object).unwrap_or_default();
    let mut object = kept.clone();
    object.retain(|field, _| !is_own(field) || own.contains_key(field));
    for (field, value) in own {
        object.insert(field, value);
    }
    Some(object)
}

/// Brings the delivery fields of a record into one form before it is written; `None` if they are.
pub fn normalize_entry(entry: &SessionEntry) -> Option<Patch> {
    let context = DeliveryContext::of_entry(entry);
    let mirrored = context.as_ref().map(DeliveryContext::to_object).unwrap_or_default();
    let stored = entry.delivery_context_object();
    let same_context = OWN_FIELDS.iter().all(|field| {
        let now = stored.and_then(|object| object.get(*field)).filter(|value| !value.is_null());
        same(now, mirrored.get(*field))
    });
    let mirrors = [
        ("lastChannel", "channel"),
        ("lastTo", "to"),
        ("lastAccountId", "accountId"),
        ("lastThreadId", "threadId"),
    ];
    let same_mirrors = mirrors.iter().all(|(field, of)| same(entry.get(field), mirrored.get(*of)));
    (!same_context || !same_mirrors).then(|| mirror(context.as_ref(), stored))
}

/// Equal as the reference compares: `5` and `5.0` are the same number.
fn same(left: Option<&Value>, right: Option<&Value>) -> bool {
    match (left, right) {
        (Some(Value::Number(left)), Some(Value::Number(right))) => left.as_f64() == right.as_f64(),
        (left, right) => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn entry(text: &str) -> SessionEntry {
        SessionEntry::new(json::parse(text).unwrap().as_object().unwrap().clone())
    }

    #[test]
    fn the_last_fields_come_before_the_context() {
        let context =
            entry(r#"{"lastTo":"2","deliveryContext":{"channel":"IMSG","to":"1","threadId":0}}"#).delivery();
        let key = context.and_then(|context| context.key());
        assert_eq!(key.as_deref(), Some("imessage|2||0"));
    }

    #[test]
    fn target_and_account_are_read_as_to_and_account_id() {
        let old = entry(r#"{"deliveryContext":{"channel":"telegram","target":"+1415","account":"default"}}"#);
        let context = old.delivery().unwrap();
        assert_eq!(context.key().as_deref(), Some("telegram|+1415|default|"));
    }

    #[test]
    fn what_we_do_not_know_of_a_context_is_kept() {
        let mut old = entry(r#"{"deliveryContext":{"replyToMessageId":"9","channel":"slack","to":" C1 "}}"#);
        let patch = normalize_entry(&old).unwrap();
        old.apply(&patch);
        assert_eq!(
            json::stringify_object(old.as_object()),
            r#"{"deliveryContext":{"replyToMessageId":"9","channel":"slack","to":"C1"},"lastChannel":"slack","lastTo":"C1"}"#
        );
        assert_eq!(normalize_entry(&old), None);
        let mut without_address = entry(r#"{"lastTo":" ","deliveryContext":{"replyToMessageId":"9"}}"#);
        without_address.apply(&normalize_entry(&without_address).unwrap());
        assert_eq!(
            json::stringify_object(without_address.as_object()),
            r#"{"deliveryContext":{"replyToMessageId":"9"}}"#
        );
    }
}

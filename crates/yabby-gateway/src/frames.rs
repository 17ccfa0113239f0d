//! What goes over the wire: requests, responses and events (`gateway.md` §1).

use std::sync::Arc;

use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::StoreError;
use yabby_engine::services::{AppendError, DeleteError, ForkError, InLaneError, PatchError, UndoError};

use crate::schema::{NON_EMPTY, Schema, optional, required};

/// The protocol that we speak.
pub(crate) const PROTOCOL: i64 = 3;
/// The method that every connection begins with.
pub(crate) const CONNECT: &str = "connect";
/// The longest text that a client may send.
pub(crate) const MAX_PAYLOAD: usize = 512 * 1024;

const REQUEST: Schema = Schema::Object(&[
    required("type", Schema::Constant("req")),
    required("id", NON_EMPTY),
    required("method", NON_EMPTY),
    optional("params", Schema::Any),
]);

/// Somebody wants something.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) params: Value,
}

impl Request {
    /// Takes the request out of a frame; or what is wrong with the frame, which stays as it is. No parameters are none
    /// that are named, save for `connect`, which says that it has none.
    pub(crate) fn take(frame: &mut Value) -> Result<Self, String> {
        if let Some(fault) = REQUEST.fault(frame) {
            return Err(fault);
        }
        let mut field = |name: &str| frame.get_mut(name).map(Value::take).unwrap_or_default();
        let text = |value| if let Value::String(text) = value { text } else { String::new() };
        let (id, method) = (text(field("id")), text(field("method")));
        let params = match field("params") {
            Value::Null if method != CONNECT => Value::Object(Object::new()),
            params => params,
        };
        Ok(Self { id, method, params })
    }
}

/// What becomes of a request.
pub(crate) type Answer = Result<Value, Refusal>;

/// An answer on its way to whoever asked.
pub(crate) enum Payload {
    Value(Value),
    Written(Written),
}

impl From<Value> for Payload {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<Written> for Payload {
    fn from(written: Written) -> Self {
        Self::Written(written)
    }
}

/// A payload as it goes over the wire.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) start: String,
    /// Others may be told the same.
    pub(crate) rest: Arc<String>,
}

/// Why something was not done, for whoever asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) details: Option<Box<Value>>,
    /// What is told all the same.
    pub(crate) payload: Option<Box<Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidRequest,
    Unavailable,
    NotPaired,
}

impl Code {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::Unavailable => "UNAVAILABLE",
            Self::NotPaired => "NOT_PAIRED",
        }
    }
}

impl Refusal {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None, payload: None }
    }

    /// The request is at fault.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, message)
    }

    /// We are.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Code::Unavailable, message)
    }

    pub(crate) fn not_paired(message: impl Into<String>) -> Self {
        Self::new(Code::NotPaired, message)
    }

    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    pub(crate) fn with_payload(mut self, payload: Value) -> Self {
        self.payload = Some(Box::new(payload));
        self
    }

    fn to_value(&self) -> Value {
        let mut error = Object::new();
        error.insert("code".to_owned(), self.code.as_str().into());
        error.insert("message".to_owned(), self.message.clone().into());
        if let Some(details) = &self.details {
            error.insert("details".to_owned(), Value::clone(details));
        }
        Value::Object(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::unavailable(format!("Error: {error}"))
    }
}

impl<E: Into<Self>> From<InLaneError<E>> for Refusal {
    fn from(error: InLaneError<E>) -> Self {
        match error {
            InLaneError::Busy(busy) => Self::unavailable(busy.to_string()),
            InLaneError::Service(error) => error.into(),
        }
    }
}

/// What the service itself refuses is the fault of whoever asked.
macro_rules! refused_by_services {
    ($($error:ident)*) => {$(
        impl From<$error> for Refusal {
            fn from(error: $error) -> Self {
                match error {
                    $error::Store(error) => error.into(),
                    error => Self::invalid(error.to_string()),
                }
            }
        }
    )*};
}

refused_by_services! { AppendError DeleteError ForkError PatchError UndoError }

/// The text of a response. The id of a frame that is no request may be anything.
pub(crate) fn response(id: Value, answer: Answer) -> String {
    let mut frame = Object::new();
    frame.insert("type".to_owned(), "res".into());
    frame.insert("id".to_owned(), id);
    frame.insert("ok".to_owned(), answer.is_ok().into());
    match answer {
        Ok(payload) => {
            frame.insert("payload".to_owned(), payload);
        }
        Err(mut refusal) => {
            if let Some(payload) = refusal.payload.take() {
                frame.insert("payload".to_owned(), *payload);
            }
            frame.insert("error".to_owned(), refusal.to_value());
        }
    }
    json::stringify(&Value::Object(frame))
}

/// The text of a response with a payload that is written already.
pub(crate) fn written_response(id: &str, payload: &Written) -> String {
    const AROUND: usize = 64;
    let Written { start, rest } = payload;
    let mut frame = String::with_capacity(AROUND + id.len() + start.len() + rest.len());
    frame.push_str("{\"type\":\"res\",\"id\":");
    json::push_string(&mut frame, id);
    frame.push_str(",\"ok\":true,\"payload\":");
    frame.push_str(start);
    frame.push_str(rest);
    frame.push('}');
    frame
}

/// How often presence and health have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateVersion {
    pub(crate) presence: u64,
    pub(crate) health: u64,
}

impl StateVersion {
    pub(crate) fn to_value(self) -> Value {
        json!({"presence": self.presence, "health": self.health})
    }
}

/// An event whose payload is written already; its number is known last.
pub(crate) struct Event {
    start: String,
    end: String,
}

impl Event {
    pub(crate) fn new(name: &str, payload: &Value, version: Option<StateVersion>) -> Self {
        let mut start = String::from("{\"type\":\"event\",\"event\":");
        json::push_string(&mut start, name);
        start.push_str(",\"payload\":");
        start.push_str(&json::stringify(payload));
        let end = match version {
            Some(version) => format!(",\"stateVersion\":{}}}", json::stringify(&version.to_value())),
            None => "}".to_owned(),
        };
        Self { start, end }
    }

    /// The text for one client alone.
    pub(crate) fn targeted(&self) -> String {
        format!("{}{}", self.start, self.end)
    }

    /// The text for everybody.
    pub(crate) fn numbered(&self, seq: u64) -> String {
        format!("{},\"seq\":{seq}{}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_written_without_what_is_not_there() {
        let told = response("7".into(), Err(Refusal::invalid("no").with_details(json!({"a": 1}))));
        assert_eq!(
            told,
            r#"{"type":"res","id":"7","ok":false,"error":{"code":"INVALID_REQUEST","message":"no","details":{"a":1}}}"#
        );
        let event = Event::new("tick", &json!({"ts": 5}), None);
        assert_eq!(event.numbered(3), r#"{"type":"event","event":"tick","payload":{"ts":5},"seq":3}"#);
        let version = Some(StateVersion { presence: 1, health: 2 });
        assert_eq!(
            Event::new("health", &json!({}), version).targeted(),
            r#"{"type":"event","event":"health","payload":{},"stateVersion":{"presence":1,"health":2}}"#
        );
    }

    #[test]
    fn a_request_without_parameters_has_none_that_are_named() {
        let read = |mut frame: Value| Request::take(&mut frame).map(|request| request.params);
        assert_eq!(read(json!({"type": "req", "id": "1", "method": "m"})), Ok(json!({})));
        assert_eq!(read(json!({"type": "req", "id": "1", "method": "m", "params": null})), Ok(json!({})));
        assert_eq!(read(json!({"type": "req", "id": "1", "method": "connect"})), Ok(Value::Null));
        assert_eq!(
            read(json!({"type": "req", "id": "1"})),
            Err("must have required property 'method'".to_owned())
        );
        assert_eq!(
            read(json!({"type": "event", "event": "x"})),
            Err("must have required property 'id'; must have required property 'method'; at root: unexpected property 'event'; at /type: must be equal to constant".to_owned())
        );
    }
}

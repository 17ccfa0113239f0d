//! How we are (`gateway.md` §7, `health`): looked at when somebody comes, when somebody asks, and now and then.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use yabby_domain::json::{Object, Value};

use crate::hub::Weight;
use crate::{Gateway, unpoisoned};

pub(crate) struct Health {
    last: Mutex<Value>,
    version: AtomicU64,
}

impl Default for Health {
    fn default() -> Self {
        Self { last: Mutex::new(Value::Object(Object::new())), version: AtomicU64::new(1) }
    }
}

impl Health {
    /// What was seen last; nothing before anybody looked.
    pub(crate) fn last(&self) -> Value {
        unpoisoned(&self.last).clone()
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    fn seen(&self, health: Value) {
        *unpoisoned(&self.last) = health;
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

impl Gateway {
    /// Looks, and tells everybody what was seen.
    pub(crate) async fn look_at_health(&self) -> Value {
        let health = self.examine().await;
        self.health.seen(health.clone());
        self.tell_state("health", &health, Weight::Needed);
        health
    }

    async fn examine(&self) -> Value {
        serde_json::json!({"ok": true, "ts": self.now(), "durationMs": 0})
    }
}

//! What calls of models took (`sessions.md` §14).

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallRecord {
    pub at: i64,
    pub session_key: String,
    pub session_id: String,
    pub agent: String,
    pub provider: String,
    pub model: String,
    pub purpose: String,
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub cost: f64,
    pub turn: Option<String>,
    pub duration_ms: u64,
    pub sender: Option<String>,
}

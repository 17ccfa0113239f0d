//! `diagnostics`: traces for whoever looks for a fault.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{Fraction, NonNegativeInteger};

/// Traces for whoever looks for a fault.
#[section]
pub struct Diagnostics {
    pub enabled: Option<bool>,
    /// Parts of the program that should say more.
    pub flags: Option<Vec<String>>,
    #[serde(default)]
    pub otel: OpenTelemetry,
    #[serde(default)]
    pub cache_trace: CacheTrace,
}

/// Traces and metrics for a collector.
#[section]
pub struct OpenTelemetry {
    pub enabled: Option<bool>,
    pub endpoint: Option<String>,
    pub protocol: Option<OtelProtocol>,
    pub headers: Option<Map<String>>,
    pub service_name: Option<String>,
    pub traces: Option<bool>,
    pub metrics: Option<bool>,
    pub logs: Option<bool>,
    /// The share of traces that is sent.
    pub sample_rate: Option<Fraction>,
    pub flush_interval_ms: Option<NonNegativeInteger>,
}

/// A record of what providers could take from their cache.
#[section]
pub struct CacheTrace {
    pub enabled: Option<bool>,
    pub file_path: Option<String>,
    pub include_messages: Option<bool>,
    pub include_prompt: Option<bool>,
    pub include_system: Option<bool>,
}

#[section]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum OtelProtocol {
    #[serde(rename = "http/protobuf")]
    HttpProtobuf,
    Grpc,
}

//! MISSING diagnostics

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{Fraction, NonNegativeInteger};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Diagnostics {
    pub enabled: Option<bool>,
    pub flags: Option<Vec<String>>,
    pub otel: Option<OpenTelemetry>,
    pub cache_trace: Option<CacheTrace>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenTelemetry {
    pub enabled: Option<bool>,
    pub endpoint: Option<String>,
    pub protocol: Option<OtelProtocol>,
    pub headers: Option<Map<String>>,
    pub service_name: Option<String>,
    pub traces: Option<bool>,
    pub metrics: Option<bool>,
    pub logs: Option<bool>,
    pub sample_rate: Option<Fraction>,
    pub flush_interval_ms: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CacheTrace {
    pub enabled: Option<bool>,
    pub file_path: Option<String>,
    pub include_messages: Option<bool>,
    pub include_prompt: Option<bool>,
    pub include_system: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum OtelProtocol {
    #[serde(rename = "http/protobuf")]
    HttpProtobuf,
    Grpc,
}

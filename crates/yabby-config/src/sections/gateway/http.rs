//! `gateway.http`: endpoints for programs that speak the OpenAI protocol.

use schemars::JsonSchema;

use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::switch::Switch;

/// Endpoints for other programs.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayHttp {
    pub endpoints: Option<HttpEndpoints>,
}

/// The endpoints.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpEndpoints {
    /// OpenAI's older protocol. Default: off.
    pub chat_completions: Option<Switch>,
    /// OpenAI's newer protocol. Default: off.
    pub responses: Option<ResponsesEndpoint>,
}

/// OpenAI's newer protocol.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResponsesEndpoint {
    /// Whether it is on. Default: false.
    pub enabled: Option<bool>,
    pub max_body_bytes: Option<PositiveInteger>,
    pub files: Option<ResponseFiles>,
    pub images: Option<ResponseImages>,
}

/// Files in requests.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResponseFiles {
    pub allow_url: Option<bool>,
    pub allowed_mimes: Option<Vec<String>>,
    pub max_bytes: Option<PositiveInteger>,
    pub max_chars: Option<PositiveInteger>,
    pub max_redirects: Option<NonNegativeInteger>,
    pub timeout_ms: Option<PositiveInteger>,
    pub pdf: Option<PdfLimits>,
}

/// How much of a PDF is read.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PdfLimits {
    pub max_pages: Option<PositiveInteger>,
    pub max_pixels: Option<PositiveInteger>,
    pub min_text_chars: Option<NonNegativeInteger>,
}

/// Pictures in requests.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResponseImages {
    pub allow_url: Option<bool>,
    pub allowed_mimes: Option<Vec<String>>,
    pub max_bytes: Option<PositiveInteger>,
    pub max_redirects: Option<NonNegativeInteger>,
    pub timeout_ms: Option<PositiveInteger>,
}

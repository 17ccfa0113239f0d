//! MISSING gateway/http

use schemars::JsonSchema;

use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::switch::Switch;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayHttp {
    pub endpoints: Option<HttpEndpoints>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpEndpoints {
    pub chat_completions: Option<Switch>,
    pub responses: Option<ResponsesEndpoint>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResponsesEndpoint {
    pub enabled: Option<bool>,
    pub max_body_bytes: Option<PositiveInteger>,
    pub files: Option<ResponseFiles>,
    pub images: Option<ResponseImages>,
}

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

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PdfLimits {
    pub max_pages: Option<PositiveInteger>,
    pub max_pixels: Option<PositiveInteger>,
    pub min_text_chars: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResponseImages {
    pub allow_url: Option<bool>,
    pub allowed_mimes: Option<Vec<String>>,
    pub max_bytes: Option<PositiveInteger>,
    pub max_redirects: Option<NonNegativeInteger>,
    pub timeout_ms: Option<PositiveInteger>,
}

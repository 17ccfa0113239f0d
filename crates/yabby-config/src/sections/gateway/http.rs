//! `gateway.http`: endpoints for programs that speak the OpenAI protocol.

use yabby_config_derive::section;

use crate::sections::number::{NonNegativeInteger, PositiveInteger};
use crate::sections::switch::Switch;

/// Endpoints for other programs.
#[section]
pub struct GatewayHttp {
    #[serde(default)]
    pub endpoints: HttpEndpoints,
}

/// The endpoints.
#[section]
pub struct HttpEndpoints {
    /// OpenAI's older protocol. Default: off.
    #[serde(default)]
    pub chat_completions: Switch,
    /// OpenAI's newer protocol. Default: off.
    #[serde(default)]
    pub responses: ResponsesEndpoint,
}

/// OpenAI's newer protocol.
#[section]
pub struct ResponsesEndpoint {
    /// Whether it is on.
    #[config(default = false)]
    pub enabled: Option<bool>,
    pub max_body_bytes: Option<PositiveInteger>,
    #[serde(default)]
    pub files: ResponseFiles,
    #[serde(default)]
    pub images: ResponseImages,
}

/// Files in requests.
#[section]
pub struct ResponseFiles {
    pub allow_url: Option<bool>,
    pub allowed_mimes: Option<Vec<String>>,
    pub max_bytes: Option<PositiveInteger>,
    pub max_chars: Option<PositiveInteger>,
    pub max_redirects: Option<NonNegativeInteger>,
    pub timeout_ms: Option<PositiveInteger>,
    #[serde(default)]
    pub pdf: PdfLimits,
}

/// How much of a PDF is read.
#[section]
pub struct PdfLimits {
    pub max_pages: Option<PositiveInteger>,
    pub max_pixels: Option<PositiveInteger>,
    pub min_text_chars: Option<NonNegativeInteger>,
}

/// Pictures in requests.
#[section]
pub struct ResponseImages {
    pub allow_url: Option<bool>,
    pub allowed_mimes: Option<Vec<String>>,
    pub max_bytes: Option<PositiveInteger>,
    pub max_redirects: Option<NonNegativeInteger>,
    pub timeout_ms: Option<PositiveInteger>,
}

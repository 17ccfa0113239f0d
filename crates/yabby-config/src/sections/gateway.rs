//! MISSING gateway

pub mod http;

use schemars::JsonSchema;

use crate::sections::gateway::http::GatewayHttp;
use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gateway {
    pub port: Option<PositiveInteger>,
    pub mode: Option<GatewayMode>,
    pub bind: Option<GatewayBind>,
    pub control_ui: Option<ControlUi>,
    pub auth: Option<GatewayAuth>,
    pub trusted_proxies: Option<Vec<String>>,
    pub tailscale: Option<GatewayTailscale>,
    pub remote: Option<GatewayRemote>,
    pub reload: Option<GatewayReload>,
    pub tls: Option<GatewayTls>,
    pub http: Option<GatewayHttp>,
    pub nodes: Option<GatewayNodes>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlUi {
    pub enabled: Option<bool>,
    pub base_path: Option<String>,
    pub root: Option<String>,
    pub allowed_origins: Option<Vec<String>>,
    pub allow_insecure_auth: Option<bool>,
    pub dangerously_disable_device_auth: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayAuth {
    pub mode: Option<GatewayAuthMode>,
    pub token: Option<String>,
    pub password: Option<String>,
    pub allow_tailscale: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayTailscale {
    pub mode: Option<TailscaleMode>,
    pub reset_on_exit: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayRemote {
    pub url: Option<String>,
    pub transport: Option<RemoteTransport>,
    pub token: Option<String>,
    pub password: Option<String>,
    pub tls_fingerprint: Option<String>,
    pub ssh_target: Option<String>,
    pub ssh_identity: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayReload {
    pub mode: Option<ReloadMode>,
    pub debounce_ms: Option<NonNegativeInteger>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayTls {
    pub enabled: Option<bool>,
    pub auto_generate: Option<bool>,
    pub cert_path: Option<String>,
    pub key_path: Option<String>,
    pub ca_path: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayNodes {
    pub browser: Option<NodeBrowser>,
    pub allow_commands: Option<Vec<String>>,
    pub deny_commands: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeBrowser {
    pub mode: Option<NodeBrowserMode>,
    pub node: Option<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum GatewayMode {
    Local,
    Remote,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum TailscaleMode {
    Off,
    Serve,
    Funnel,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum GatewayBind {
    Auto,
    Lan,
    Loopback,
    Custom,
    Tailnet,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum GatewayAuthMode {
    Token,
    Password,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum RemoteTransport {
    Ssh,
    Direct,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ReloadMode {
    Off,
    Restart,
    Hot,
    Hybrid,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum NodeBrowserMode {
    Auto,
    Manual,
    Off,
}

//! `gateway`: the server and how to reach it.

pub mod http;

use schemars::JsonSchema;

use crate::sections::gateway::http::GatewayHttp;
use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};

/// The server and how to reach it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gateway {
    /// The port for everything. Default: 18789. `--port` and `OPENCLAW_GATEWAY_PORT` win.
    pub port: Option<PositiveInteger>,
    /// Where the server is; it runs here only if this is `local`.
    pub mode: Option<GatewayMode>,
    /// Which addresses it listens on. Default: loopback.
    pub bind: Option<GatewayBind>,
    /// The interface in the browser.
    pub control_ui: Option<ControlUi>,
    /// The secret that clients must know.
    pub auth: Option<GatewayAuth>,
    /// Proxies whose word on addresses counts.
    pub trusted_proxies: Option<Vec<String>>,
    /// Whether Tailscale serves the gateway.
    pub tailscale: Option<GatewayTailscale>,
    /// The server elsewhere, for `mode` remote.
    pub remote: Option<GatewayRemote>,
    /// What happens when this file changes.
    pub reload: Option<GatewayReload>,
    /// Encryption. Other keys are ignored.
    pub tls: Option<GatewayTls>,
    /// Endpoints for other programs.
    pub http: Option<GatewayHttp>,
    /// What nodes may be asked for.
    pub nodes: Option<GatewayNodes>,
}

/// The interface in the browser.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlUi {
    /// Whether it is served. Default: true.
    pub enabled: Option<bool>,
    /// Below which path. Default: the root.
    pub base_path: Option<String>,
    /// The folder of its files. Default: those that come along.
    pub root: Option<String>,
    /// Other sites that may connect.
    pub allowed_origins: Option<Vec<String>>,
    /// Whether devices may connect without encryption. Default: false.
    pub allow_insecure_auth: Option<bool>,
    /// Whether devices need not be known. Default: false.
    pub dangerously_disable_device_auth: Option<bool>,
}

/// The secret that clients must know.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayAuth {
    /// Which kind of secret. Default: token.
    pub mode: Option<GatewayAuthMode>,
    /// The token. Default: the variable `OPENCLAW_GATEWAY_TOKEN`.
    pub token: Option<String>,
    /// The password. Default: the variable `OPENCLAW_GATEWAY_PASSWORD`.
    pub password: Option<String>,
    /// Whether Tailscale's word on who calls is enough. Default: only where Tailscale serves.
    pub allow_tailscale: Option<bool>,
}

/// Whether Tailscale serves the gateway.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayTailscale {
    /// For the tailnet or for all. Default: off.
    pub mode: Option<TailscaleMode>,
    /// Whether that ends with the gateway. Default: false.
    pub reset_on_exit: Option<bool>,
}

/// The server elsewhere.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayRemote {
    /// Its address.
    pub url: Option<String>,
    /// How it is reached.
    pub transport: Option<RemoteTransport>,
    /// Its token.
    pub token: Option<String>,
    /// Its password.
    pub password: Option<String>,
    /// Its certificate's fingerprint.
    pub tls_fingerprint: Option<String>,
    /// The machine to go through.
    pub ssh_target: Option<String>,
    /// The key for it.
    pub ssh_identity: Option<String>,
}

/// What happens when this file changes.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayReload {
    /// What a change leads to. Default: hybrid.
    pub mode: Option<ReloadMode>,
    /// How long the file must be quiet. Default: 300.
    pub debounce_ms: Option<NonNegativeInteger>,
}

/// Encryption.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayTls {
    /// Whether it is on. Default: false.
    pub enabled: Option<bool>,
    /// Whether a certificate is made if there is none.
    pub auto_generate: Option<bool>,
    /// The certificate.
    pub cert_path: Option<String>,
    /// Its key.
    pub key_path: Option<String>,
    /// Who signed it.
    pub ca_path: Option<String>,
}

/// What nodes may be asked for.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayNodes {
    pub browser: Option<NodeBrowser>,
    /// Commands beyond the usual ones.
    pub allow_commands: Option<Vec<String>>,
    /// Commands that are not allowed.
    pub deny_commands: Option<Vec<String>>,
}

/// Browsers of nodes.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeBrowser {
    /// Whether one is chosen. Default: auto.
    pub mode: Option<NodeBrowserMode>,
    /// Which node.
    pub node: Option<String>,
}

/// Here or elsewhere.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum GatewayMode {
    Local,
    Remote,
}

/// For whom Tailscale serves something.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum TailscaleMode {
    Off,
    Serve,
    Funnel,
}

/// Which addresses are listened on.
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

/// A kind of secret.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum GatewayAuthMode {
    Token,
    Password,
}

/// How the server is reached.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum RemoteTransport {
    Ssh,
    Direct,
}

/// What a change of this file leads to: nothing, a restart, what can be done without one, or
/// whichever is needed.
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

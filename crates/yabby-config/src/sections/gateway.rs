//! `gateway`: the server and how to reach it.

pub mod http;

use yabby_config_derive::section;

use crate::sections::gateway::http::GatewayHttp;
use crate::sections::literal::as_literals;
use crate::sections::number::{NonNegativeInteger, PositiveInteger};

/// The server and how to reach it.
#[section]
pub struct Gateway {
    /// The port for everything. Default: 18789. `--port` and `OPENCLAW_GATEWAY_PORT` win.
    pub port: Option<PositiveInteger>,
    /// Where the server is; it runs here only if this is `local`.
    pub mode: Option<GatewayMode>,
    /// Which addresses it listens on.
    #[config(default = Loopback)]
    pub bind: Option<GatewayBind>,
    /// The interface in the browser.
    #[config(live)]
    #[serde(default)]
    pub control_ui: ControlUi,
    /// The secret that clients must know.
    #[config(live)]
    #[serde(default)]
    pub auth: GatewayAuth,
    /// Proxies whose word on addresses counts.
    #[config(live)]
    pub trusted_proxies: Option<Vec<String>>,
    /// Whether Tailscale serves the gateway.
    #[serde(default)]
    pub tailscale: GatewayTailscale,
    /// The server elsewhere, for `mode` remote.
    #[config(live)]
    #[serde(default)]
    pub remote: GatewayRemote,
    /// What happens when this file changes.
    #[config(live)]
    #[serde(default)]
    pub reload: GatewayReload,
    /// Encryption. Other keys are ignored.
    #[serde(default)]
    pub tls: GatewayTls,
    /// Endpoints for other programs.
    #[serde(default)]
    pub http: GatewayHttp,
    /// What nodes may be asked for.
    #[serde(default)]
    pub nodes: GatewayNodes,
    /// The address for `bind` custom.
    #[config(whole)]
    pub custom: CustomBind,
}

/// Where a custom address would stand. The reference reads it, and refuses a file that has it.
#[section(open)]
pub struct CustomBind {
    pub custom_bind_host: Option<String>,
}

/// The interface in the browser.
#[section]
pub struct ControlUi {
    /// Whether it is served.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Below which path. Default: the root.
    pub base_path: Option<String>,
    /// The folder of its files. Default: those that come along.
    pub root: Option<String>,
    /// Other sites that may connect.
    pub allowed_origins: Option<Vec<String>>,
    /// Whether devices may connect without encryption.
    #[config(default = false)]
    pub allow_insecure_auth: Option<bool>,
    /// Whether devices need not be known.
    #[config(default = false)]
    pub dangerously_disable_device_auth: Option<bool>,
}

/// The secret that clients must know.
#[section]
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
#[section]
pub struct GatewayTailscale {
    /// For the tailnet or for all.
    #[config(default = Off)]
    pub mode: Option<TailscaleMode>,
    /// Whether that ends with the gateway.
    #[config(default = false)]
    pub reset_on_exit: Option<bool>,
}

/// The server elsewhere.
#[section]
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
#[section]
pub struct GatewayReload {
    /// What a change leads to.
    #[config(default = Hybrid)]
    pub mode: Option<ReloadMode>,
    /// How long the file must be quiet.
    #[config(default = 300)]
    pub debounce_ms: Option<NonNegativeInteger>,
}

/// Encryption.
#[section(open)]
pub struct GatewayTls {
    /// Whether it is on.
    #[config(default = false)]
    pub enabled: Option<bool>,
    /// Whether a certificate is made if there is none.
    #[config(default = true)]
    pub auto_generate: Option<bool>,
    /// The certificate.
    pub cert_path: Option<String>,
    /// Its key.
    pub key_path: Option<String>,
    /// Who signed it.
    pub ca_path: Option<String>,
}

/// What nodes may be asked for.
#[section]
pub struct GatewayNodes {
    #[serde(default)]
    pub browser: NodeBrowser,
    /// Commands beyond the usual ones.
    pub allow_commands: Option<Vec<String>>,
    /// Commands that are not allowed.
    pub deny_commands: Option<Vec<String>>,
}

/// Browsers of nodes.
#[section]
pub struct NodeBrowser {
    /// Whether one is chosen.
    #[config(default = Auto)]
    pub mode: Option<NodeBrowserMode>,
    /// Which node.
    pub node: Option<String>,
}

/// Here or elsewhere.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum GatewayMode {
    Local,
    Remote,
}

/// For whom Tailscale serves something.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum TailscaleMode {
    Off,
    Serve,
    Funnel,
}

/// Which addresses are listened on.
#[section]
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
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum GatewayAuthMode {
    Token,
    Password,
}

/// How the server is reached.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum RemoteTransport {
    Ssh,
    Direct,
}

/// What a change of this file leads to: nothing, a restart, what can be done without one, or
/// whichever is needed.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ReloadMode {
    Off,
    Restart,
    Hot,
    Hybrid,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum NodeBrowserMode {
    Auto,
    Manual,
    Off,
}

//! Who may connect: the secret that all clients share, where a connection comes from, and the signatures of
//! devices (`gateway.md` §2.2–2.4).

use std::net::{IpAddr, SocketAddr};

use axum::http::uri::Authority;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ed25519_dalek::pkcs8::DecodePublicKey as _;
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use yabby_config::environment::Environment;
use yabby_domain::config::Config;
use yabby_domain::config::gateway::GatewayAuthMode;
use yabby_domain::text;

use crate::hub::About;

/// The secret that clients share with us.
#[derive(Clone)]
pub(crate) struct SharedSecret {
    pub(crate) kind: SecretKind,
    token: Option<String>,
    password: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretKind {
    Token,
    Password,
}

impl SecretKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Password => "password",
        }
    }
}

/// What a client shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown<'s> {
    pub(crate) token: Option<&'s str>,
    pub(crate) password: Option<&'s str>,
}

/// Why a secret did not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    Missing,
    Mismatch,
}

impl SharedSecret {
    pub(crate) fn of(config: &Config, environment: &Environment) -> Self {
        let auth = &config.gateway.auth;
        let set = |configured: &Option<String>, variables: &[&str]| {
            let configured = configured.as_deref().and_then(text::non_blank);
            configured.or_else(|| environment.first(variables)).map(str::to_owned)
        };
        let token = set(&auth.token, &["OPENCLAW_GATEWAY_TOKEN", "CLAWDBOT_GATEWAY_TOKEN"]);
        let password = set(&auth.password, &["OPENCLAW_GATEWAY_PASSWORD", "CLAWDBOT_GATEWAY_PASSWORD"]);
        let kind = match auth.mode {
            Some(GatewayAuthMode::Password) => SecretKind::Password,
            Some(GatewayAuthMode::Token) => SecretKind::Token,
            None if password.is_some() => SecretKind::Password,
            None => SecretKind::Token,
        };
        Self { kind, token, password }
    }

    /// Whether there is one to know.
    pub(crate) fn is_set(&self) -> bool {
        self.expected().is_some()
    }

    fn expected(&self) -> Option<&str> {
        match self.kind {
            SecretKind::Token => self.token.as_deref(),
            SecretKind::Password => self.password.as_deref(),
        }
    }

    pub(crate) fn check(&self, shown: Shown<'_>) -> Result<(), Unknown> {
        let given = match self.kind {
            SecretKind::Token => shown.token,
            SecretKind::Password => shown.password,
        };
        let given = given.filter(|given| !given.is_empty()).ok_or(Unknown::Missing)?;
        let is_it = self.expected().is_some_and(|expected| same_secret(expected, given));
        if is_it { Ok(()) } else { Err(Unknown::Mismatch) }
    }

    /// The same for HTTP, where either secret will do.
    pub(crate) fn knows_bearer(&self, given: &str) -> bool {
        self.expected().is_some_and(|expected| same_secret(expected, given))
    }

    /// Whether whoever knew this one knows that one, too.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.expected() == other.expected()
    }

    /// What a client is told that did not know it.
    pub(crate) fn unauthorized(&self, why: Unknown, about: &About) -> String {
        let kind = self.kind.as_str();
        let word = match why {
            Unknown::Missing => "missing",
            Unknown::Mismatch => "mismatch",
        };
        let is_browser = about.is_control_ui() || about.is_webchat();
        let hint = match (self.kind, about.is_command_line(), is_browser) {
            (SecretKind::Token, true, _) => "set gateway.remote.token to match gateway.auth.token",
            (SecretKind::Password, true, _) => "set gateway.remote.password to match gateway.auth.password",
            (SecretKind::Token, _, true) => {
                "open a tokenized dashboard URL or paste token in Control UI settings"
            }
            (SecretKind::Password, _, true) => "enter the password in Control UI settings",
            (SecretKind::Token, _, _) => "provide gateway auth token",
            (SecretKind::Password, _, _) => "provide gateway auth password",
        };
        format!("unauthorized: gateway {kind} {word} ({hint})")
    }
}

/// Whether two secrets are one, in a time that tells nothing about them.
pub(crate) fn same_secret(a: &str, b: &str) -> bool {
    Sha256::digest(a).ct_eq(&Sha256::digest(b)).into()
}

/// Where a connection comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    pub(crate) address: Option<IpAddr>,
    /// The header `Host`.
    pub(crate) host: Option<String>,
    pub(crate) origin: Option<String>,
    /// Whom proxies say they speak for, the last one last.
    pub(crate) forwarded_for: Option<String>,
    pub(crate) real_ip: Option<String>,
    /// Something else says that it went through a proxy.
    pub(crate) is_forwarded: bool,
    pub(crate) forwarded_proto: Option<String>,
    /// It came over TLS.
    pub(crate) is_encrypted: bool,
}

impl Peer {
    /// The address of whoever is at the other end, behind proxies that may be believed; `None` if one of them names
    /// no address. Every proxy adds whom it speaks for to the end of the list, and what stands before an address that
    /// is not one of those proxies may be anybody's invention.
    pub(crate) fn client_address(&self, config: &Config) -> Option<IpAddr> {
        let mut address = self.address?;
        let Some(list) = self.forwarded_for.as_deref().or(self.real_ip.as_deref()) else {
            return Some(address);
        };
        for name in list.rsplit(',') {
            if !is_trusted_proxy(address, config) {
                break;
            }
            address = address_in(name)?;
        }
        Some(address)
    }

    /// The address that wrong secrets are counted for: that of the proxy, if it does not say for whom it speaks.
    pub(crate) fn counted_address(&self, config: &Config) -> IpAddr {
        let unknown = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
        self.client_address(config).or(self.address).unwrap_or(unknown)
    }

    /// Somebody at this machine, as far as can be seen.
    pub(crate) fn is_local(&self, config: &Config) -> bool {
        let is_here = self.client_address(config).is_some_and(|address| plain(address).is_loopback());
        let name = self.host.as_deref().map(host_name).unwrap_or_default();
        let names_us =
            matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1") || name.ends_with(".ts.net");
        let forwarded = self.forwarded_for.is_some() || self.real_ip.is_some() || self.is_forwarded;
        let by_trusted = || self.address.is_some_and(|address| is_trusted_proxy(address, config));
        is_here && names_us && (!forwarded || by_trusted())
    }

    /// The address of somebody elsewhere.
    pub(crate) fn remote_address(&self, config: &Config) -> Option<IpAddr> {
        let address = self.client_address(config).map(plain)?;
        (!self.is_local(config) && !address.is_loopback()).then_some(address)
    }

    /// Whether a page of this origin may connect.
    pub(crate) fn origin_is_allowed(&self, config: &Config) -> bool {
        let Some(origin) = self.origin.as_deref().map(str::trim).filter(|origin| *origin != "null") else {
            return false;
        };
        let Some((scheme, rest)) = origin.split_once("://") else { return false };
        let authority = text::lower(rest.split('/').next().unwrap_or_default());
        let origin = format!("{}://{authority}", text::lower(scheme));
        let allowed = config.gateway.control_ui.allowed_origins.iter().flatten();
        let mut allowed = allowed.map(|one| text::lower(one.trim()));
        if allowed.any(|one| one == origin) {
            return true;
        }
        let host = text::lower(self.host.as_deref().unwrap_or_default().trim());
        !host.is_empty() && (authority == host || (is_loopback(&authority) && is_loopback(&host)))
    }
}

/// Whether the host of `host:port` is this machine. What is no such thing is nowhere.
fn is_loopback(authority: &str) -> bool {
    let Ok(read) = authority.parse::<Authority>() else { return false };
    let name = read.host();
    let is_whole = match authority.strip_prefix(name) {
        Some("") => true,
        Some(port) => port.starts_with(':') && read.port_u16().is_some(),
        None => false,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_here = || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_whole && (name.eq_ignore_ascii_case("localhost") || is_here())
}

/// Whether what a proxy at this address says is believed.
fn is_trusted_proxy(address: IpAddr, config: &Config) -> bool {
    let proxies = config.gateway.trusted_proxies.iter().flatten();
    let mut proxies = proxies.filter_map(|proxy| proxy.trim().parse::<IpAddr>().ok());
    proxies.any(|proxy| plain(proxy) == plain(address))
}

/// The address that a proxy names, which may have a port.
fn address_in(name: &str) -> Option<IpAddr> {
    let name = name.trim();
    let with_port = || name.parse::<SocketAddr>().ok().map(|address| address.ip());
    name.parse().ok().or_else(with_port)
}

/// IPv4 as such, also where it comes in IPv6.
fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// The name in `name:port`, without brackets.
pub(crate) fn host_name(host: &str) -> String {
    let host = host.trim();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None if host.matches(':').count() > 1 => host,
        None => host.split(':').next().unwrap_or_default(),
    };
    text::lower(name)
}

/// A device's public key, which may come as 32 bytes or as PEM.
pub(crate) struct DeviceKey(VerifyingKey);

impl DeviceKey {
    pub(crate) fn read(key: &str) -> Option<Self> {
        if key.contains("BEGIN") {
            return VerifyingKey::from_public_key_pem(key).ok().map(Self);
        }
        let bytes: [u8; 32] = decoded(key)?.try_into().ok()?;
        VerifyingKey::from_bytes(&bytes).ok().map(Self)
    }

    /// What the device is called.
    pub(crate) fn device(&self) -> String {
        hex(&Sha256::digest(self.0.as_bytes()))
    }

    /// As it is kept.
    pub(crate) fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.as_bytes())
    }

    pub(crate) fn has_signed(&self, text: &str, signature: &str) -> bool {
        let signature = decoded(signature).and_then(|bytes| Signature::from_slice(&bytes).ok());
        signature.is_some_and(|signature| self.0.verify_strict(text.as_bytes(), &signature).is_ok())
    }
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).or_else(|_| STANDARD.decode(text)).ok()
}

/// Bytes as they are written in file names and ids.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn peer(address: &str, host: &str) -> Peer {
        Peer { address: address.parse().ok(), host: Some(host.to_owned()), ..Peer::default() }
    }

    #[test]
    fn somebody_is_local_if_nothing_speaks_against_it() {
        let config = Config::new(json!({"gateway": {"trustedProxies": ["127.0.0.2"]}}));
        let table = [
            (peer("127.0.0.1", "127.0.0.1:18789"), true),
            (peer("::1", "[::1]:18789"), true),
            (peer("::ffff:127.0.0.1", "localhost"), true),
            (peer("127.0.0.1", "box.tail.ts.net"), true),
            (peer("127.0.0.1", "gw.example:18789"), false),
            (peer("192.0.2.7", "127.0.0.1:18789"), false),
            (Peer { forwarded_for: Some("127.0.0.1".to_owned()), ..peer("127.0.0.1", "localhost") }, false),
            (Peer { real_ip: Some("x".to_owned()), ..peer("127.0.0.1", "localhost") }, false),
            (Peer { is_forwarded: true, ..peer("127.0.0.1", "localhost") }, false),
            (Peer { forwarded_for: Some("127.0.0.1".to_owned()), ..peer("127.0.0.2", "localhost") }, true),
            (Peer { forwarded_for: Some("203.0.113.9".to_owned()), ..peer("127.0.0.2", "localhost") }, false),
            // What stands before the address that the proxy added is what the client says of itself.
            (
                Peer {
                    forwarded_for: Some("127.0.0.1, 203.0.113.9".to_owned()),
                    ..peer("127.0.0.2", "localhost")
                },
                false,
            ),
            (
                Peer {
                    forwarded_for: Some("203.0.113.9, 127.0.0.1".to_owned()),
                    ..peer("127.0.0.2", "localhost")
                },
                true,
            ),
            (
                Peer {
                    forwarded_for: Some("203.0.113.9, 127.0.0.2".to_owned()),
                    ..peer("127.0.0.2", "localhost")
                },
                false,
            ),
            (
                Peer {
                    forwarded_for: Some("127.0.0.1:99, 127.0.0.2".to_owned()),
                    ..peer("127.0.0.2", "localhost")
                },
                true,
            ),
            (Peer { forwarded_for: Some("\u{fffd}".to_owned()), ..peer("127.0.0.2", "localhost") }, false),
            (Peer { forwarded_for: Some(String::new()), ..peer("127.0.0.2", "localhost") }, false),
            (Peer { real_ip: Some("nobody".to_owned()), ..peer("127.0.0.2", "localhost") }, false),
            (Peer { host: None, ..peer("127.0.0.1", "") }, false),
        ];
        for (peer, is_local) in table {
            assert_eq!(peer.is_local(&config), is_local, "{peer:?}");
        }
    }

    #[test]
    fn a_page_may_connect_from_the_same_host_or_where_it_is_allowed() {
        let config =
            Config::new(json!({"gateway": {"controlUi": {"allowedOrigins": ["https://My.example"]}}}));
        let table = [
            (Some("http://127.0.0.1:18789"), "127.0.0.1:18789", true),
            (Some("http://localhost:5173"), "127.0.0.1:18789", true),
            (Some("http://gw.example:18789"), "gw.example:18789", true),
            (Some("https://my.example"), "gw.example:18789", true),
            (Some("https://my.example/"), "gw.example:18789", true),
            (Some("https://evil.example"), "127.0.0.1:18789", false),
            (Some("http://127.0.0.1.evil.example"), "127.0.0.1:18789", false),
            (Some("http://127.0.0.1:18789.evil.example"), "127.0.0.1:18789", false),
            (Some("http://[::1].evil.example"), "127.0.0.1:18789", false),
            (Some("http://127.0.0.1:x"), "127.0.0.1:18789", false),
            (Some("http://evil@127.0.0.1"), "127.0.0.1:18789", false),
            (Some("http://[::1]:5173"), "127.0.0.1:18789", true),
            (Some("https://my.example.evil"), "gw.example", false),
            (Some("null"), "127.0.0.1", false),
            (Some("http://localhost"), "gw.example", false),
            (None, "127.0.0.1:18789", false),
        ];
        for (origin, host, is_allowed) in table {
            let peer = Peer { origin: origin.map(str::to_owned), ..peer("127.0.0.1", host) };
            assert_eq!(peer.origin_is_allowed(&config), is_allowed, "{origin:?} {host}");
        }
    }

    #[test]
    fn the_secret_is_a_token_unless_there_is_a_password() {
        let secret = |config, environment: &[(&str, &str)]| {
            let environment = environment.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            SharedSecret::of(&Config::new(config), &environment)
        };
        let token = |token| Shown { token: Some(token), password: None };
        let password = |password| Shown { token: None, password: Some(password) };
        let by_config =
            secret(json!({"gateway": {"auth": {"token": "t"}}}), &[("OPENCLAW_GATEWAY_TOKEN", "e")]);
        assert_eq!(by_config.check(token("t")), Ok(()));
        assert_eq!(by_config.check(token("e")), Err(Unknown::Mismatch));
        assert_eq!(by_config.check(password("t")), Err(Unknown::Missing));
        let by_environment = secret(json!({}), &[("OPENCLAW_GATEWAY_TOKEN", "e")]);
        assert_eq!(by_environment.check(token("e")), Ok(()));
        let both = secret(json!({"gateway": {"auth": {"password": "p", "token": "t"}}}), &[]);
        assert_eq!(both.check(password("p")), Ok(()));
        assert_eq!(both.check(token("t")), Err(Unknown::Missing));
        let none = secret(json!({}), &[]);
        assert!(!none.is_set());
        assert_eq!(none.check(token("anything")), Err(Unknown::Mismatch));
    }
}

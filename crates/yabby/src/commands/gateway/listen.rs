//! Where a gateway listens.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use yabby_config::environment::Environment;
use yabby_domain::config::Config;
use yabby_domain::config::gateway::GatewayBind;
use yabby_gateway::base_path;

/// Where gateways are unless somebody says otherwise.
const PORT: u16 = 18789;

/// Variables that name the port.
const PORT_VARIABLES: [&str; 2] = ["OPENCLAW_GATEWAY_PORT", "CLAWDBOT_GATEWAY_PORT"];

/// Whether what the environment names is a port. Nobody wants another one than they named.
pub fn check_variables(environment: &Environment) -> Result<(), String> {
    let named = PORT_VARIABLES.iter().find_map(|name| Some((name, environment.first(&[*name])?)));
    match named {
        Some((name, port)) if !matches!(port.trim().parse::<u16>(), Ok(1..)) => {
            Err(format!("{name} is no port: {port} (allowed: a whole number from 1 to 65535)"))
        }
        _ => Ok(()),
    }
}

/// The port that the command line, the environment or the configuration names.
pub fn port(option: Option<&str>, config: &Config, environment: &Environment) -> u16 {
    let named = option.or_else(|| environment.first(&PORT_VARIABLES));
    let named = named.and_then(|port| port.trim().parse().ok());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "in range, as its check sees to it"
    )]
    let configured = || config.gateway.port.map(|port| f64::from(port) as u16);
    named.or_else(configured).filter(|port| *port != 0).unwrap_or(PORT)
}

/// The page of the gateway, on this machine.
pub fn dashboard(config: &Config, port: u16) -> String {
    let scheme = if is_encrypted(config) { "https" } else { "http" };
    format!("{scheme}://127.0.0.1:{port}{}/", base_path(config))
}

/// Whether the gateway encrypts.
pub fn is_encrypted(config: &Config) -> bool {
    config.gateway.tls.enabled()
}

/// Who may reach us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// This machine.
    Loopback,
    /// Everybody in the network.
    Lan,
    /// Everybody in the tailnet.
    Tailnet,
    Auto,
    Custom,
}

impl Bind {
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "loopback" => Self::Loopback,
            "lan" => Self::Lan,
            "tailnet" => Self::Tailnet,
            "auto" => Self::Auto,
            "custom" => Self::Custom,
            _ => return None,
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Lan => "lan",
            Self::Tailnet => "tailnet",
            Self::Auto => "auto",
            Self::Custom => "custom",
        }
    }

    pub fn of(option: Option<&str>, config: &Config) -> Self {
        let word = option.or_else(|| config.gateway.bind.map(GatewayBind::word));
        word.and_then(Self::parse).unwrap_or(Self::Loopback)
    }

    /// The addresses to listen on. A tailnet is an address of this machine in the range that Tailscale uses;
    /// where there is none, and wherever nothing else is named, we stay on this machine.
    pub fn addresses(self, config: &Config) -> Vec<IpAddr> {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let loopback = vec![here, IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let named = match self {
            Self::Loopback | Self::Auto => None,
            Self::Lan => return vec![IpAddr::V4(Ipv4Addr::UNSPECIFIED)],
            Self::Tailnet => tailnet().map(IpAddr::V4),
            Self::Custom => custom(config),
        };
        match named {
            Some(address) if address.is_unspecified() => vec![address],
            // Commands on this machine come by loopback, wherever else we listen.
            Some(address) if !address.is_loopback() => vec![address, here],
            Some(_) | None => loopback,
        }
    }

    /// What is wrong with a wish that cannot be fulfilled: we stay on this machine then.
    pub fn shortcoming(self, config: &Config) -> Option<&'static str> {
        match self {
            Self::Tailnet if tailnet().is_none() => {
                Some("this machine has no address in a tailnet; listening on loopback alone")
            }
            Self::Custom if custom(config).is_none() => {
                Some("gateway.customBindHost names no address to listen on; listening on loopback alone")
            }
            _ => None,
        }
    }
}

/// The address that the configuration names. The reference reads this setting, and refuses a file that has it: it can
/// stand among our own settings.
fn custom(config: &Config) -> Option<IpAddr> {
    config.gateway.custom.custom_bind_host.as_deref()?.trim().parse().ok()
}

/// Our address in the tailnet: the one from which Tailscale's own resolver would be asked. Nothing is sent.
fn tailnet() -> Option<Ipv4Addr> {
    const RESOLVER: (Ipv4Addr, u16) = (Ipv4Addr::new(100, 100, 100, 100), 53);
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect(RESOLVER).ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            (first == 100 && (64..128).contains(&second)).then_some(address)
        }
        IpAddr::V6(_) => None,
    }
}

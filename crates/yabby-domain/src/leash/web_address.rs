//! Which addresses the agent may fetch from: the public internet, and what the owner allows besides
//! (`config.md` §9, `tools.web`).
//!
//! A name is judged, and then every address that it resolves to; whoever connects does so to an address
//! that was judged here, and asks again at every redirection.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use url::{Host, Url};

use crate::config::Config;
use crate::text;

/// Why something may not be fetched. Models read it, and people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{0:?} is no address of a page: it has to begin with http:// or https://")]
    NoAddress(String),
    #[error("{0}: addresses cannot be fetched, only http and https")]
    Scheme(String),
    #[error("the address holds a user name or a password; they are not sent anywhere")]
    Credentials,
    #[error("port {0} belongs to another kind of service than the web")]
    Port(u16),
    #[error(
        "{host} is a name of this machine or of the network around it, which pages are not fetched from{REMEDY}"
    )]
    PrivateName { host: String },
    #[error("{host} leads to {address}, which is {what}; pages are not fetched from there{REMEDY}")]
    PrivateAddress { host: String, address: IpAddr, what: &'static str },
    #[error("{host} has no address")]
    Unresolved { host: String },
}

const REMEDY: &str = " (the owner can allow it with tools.web.allowPrivate in yabby-extras.json)";

/// What the owner allows besides the public internet: `tools.web.allowPrivate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceptions {
    names: Vec<String>,
    networks: Vec<IpNet>,
}

impl Exceptions {
    pub fn from_config(config: &Config) -> Self {
        let listed = config.extras.tools.web.allow_private.as_deref().unwrap_or_default();
        Self::new(listed.iter().map(String::as_str))
    }

    /// Names of hosts, addresses, and ranges such as `10.0.0.0/8`.
    pub fn new<'e>(entries: impl IntoIterator<Item = &'e str>) -> Self {
        let mut exceptions = Self::default();
        for entry in entries.into_iter().filter_map(text::non_blank) {
            let bare = entry.trim_start_matches('[').trim_end_matches(']');
            if let Ok(network) = bare.parse::<IpNet>() {
                exceptions.networks.push(network);
            } else if let Ok(address) = bare.parse::<IpAddr>() {
                exceptions.networks.push(IpNet::from(address));
            } else {
                exceptions.names.push(plain_name(entry));
            }
        }
        exceptions
    }

    fn allow_name(&self, host: &str) -> bool {
        self.names.contains(&plain_name(host))
    }

    fn allow_address(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(&address))
    }
}

/// Where a request would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// An address, which was judged.
    Address(IpAddr),
    /// A name. What it resolves to has to be judged.
    Name(String),
}

/// Reads an address and judges what can be said before its name is resolved.
pub fn judge(raw: &str, exceptions: &Exceptions) -> Result<(Url, Goal), Refusal> {
    let url =
        Url::parse(text::trim(raw)).map_err(|_| Refusal::NoAddress(text::head(raw, 200).into_owned()))?;
    let goal = judge_url(&url, exceptions)?;
    Ok((url, goal))
}

/// Judges an address. Number forms, full-width letters and the like are what they stand for by now.
pub fn judge_url(url: &Url, exceptions: &Exceptions) -> Result<Goal, Refusal> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refusal::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal::Credentials);
    }
    let host = url.host().ok_or_else(|| Refusal::NoAddress(url.as_str().to_owned()))?;
    let (goal, is_allowed) = match host {
        Host::Ipv4(address) => (Goal::Address(address.into()), exceptions.allow_address(address.into())),
        Host::Ipv6(address) => (Goal::Address(address.into()), exceptions.allow_address(address.into())),
        Host::Domain(name) => (Goal::Name(plain_name(name)), exceptions.allow_name(name)),
    };
    if let Some(port) = url.port()
        && OTHER_SERVICES.contains(&port)
        && !is_allowed
    {
        return Err(Refusal::Port(port));
    }
    match &goal {
        Goal::Address(address) => judge_address(&address.to_string(), *address, exceptions)?,
        Goal::Name(name) if !is_allowed && is_private_name(name) => {
            return Err(Refusal::PrivateName { host: name.clone() });
        }
        Goal::Name(_) => {}
    }
    Ok(goal)
}

/// Judges one address that a host leads to.
pub fn judge_address(host: &str, address: IpAddr, exceptions: &Exceptions) -> Result<(), Refusal> {
    if exceptions.allow_name(host) || exceptions.allow_address(address) {
        return Ok(());
    }
    match special_use(address) {
        None => Ok(()),
        Some(what) => Err(Refusal::PrivateAddress { host: host.to_owned(), address, what }),
    }
}

/// Judges all addresses that a name resolves to. One that is not allowed is enough: who answers with both
/// hopes that the other is taken.
pub fn judge_answers(host: &str, answers: &[IpAddr], exceptions: &Exceptions) -> Result<(), Refusal> {
    if answers.is_empty() {
        return Err(Refusal::Unresolved { host: host.to_owned() });
    }
    answers.iter().try_for_each(|address| judge_address(host, *address, exceptions))
}

/// In lower case, without the dot at the end.
fn plain_name(name: &str) -> String {
    name.trim().trim_end_matches('.').to_lowercase()
}

/// Names that mean this machine, the network around it, or the service that hands out a cloud's secrets.
fn is_private_name(name: &str) -> bool {
    const ENDS: [&str; 10] = [
        "localhost",
        "localdomain",
        "local",
        "internal",
        "intranet",
        "private",
        "lan",
        "home",
        "corp",
        "home.arpa",
    ];
    const NAMES: [&str; 4] = ["metadata", "instance-data", "ip6-localhost", "ip6-loopback"];
    let ends_in =
        |end: &&str| name.strip_suffix(*end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    // A name without a dot is looked for in the network around.
    !name.contains('.') || ENDS.iter().any(ends_in) || NAMES.contains(&name)
}

/// What an address is set aside for; `None` if it is an address of the public internet.
fn special_use(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_use_4(address),
        IpAddr::V6(address) => special_use_6(address),
    }
}

fn special_use_4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "no host's address",
        [127, ..] => "this machine",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "a private network",
        [169, 254, 169, 254] | [100, 100, 100, 200] => "the service that hands out secrets of a cloud",
        [169, 254, ..] => "the link around this machine",
        [100, 64..=127, ..] => "the network of a provider",
        [192, 0, 0, _] => "set aside for protocols",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "set aside for documentation",
        [192, 88, 99, _] => "a relay",
        [198, 18..=19, ..] => "set aside for measurements",
        [224..=239, ..] => "a group of hosts",
        [240..=255, ..] => "set aside",
        _ => return None,
    })
}

fn special_use_6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    let low = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    // An address that holds one of the old kind leads there, whatever it looks like.
    let inner = match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => return Some("no host's address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => return Some("this machine"),
        // Mapped and compatible.
        [0, 0, 0, 0, 0, 0xffff | 0, g, h] => {
            return special_use_4(low(g, h)).or(Some("another form of an old address"));
        }
        // Translated by the stack itself.
        [0, 0, 0, 0, 0xffff, 0, g, h] => {
            return special_use_4(low(g, h)).or(Some("another form of an old address"));
        }
        // Translated by a gateway: the well-known prefix, and the one for local use.
        [0x64, 0xff9b, 0, 0, 0, 0, g, h] => Some(low(g, h)),
        [0x64, 0xff9b, 1, ..] => return Some("a private network"),
        // 6to4.
        [0x2002, b, c, ..] => Some(low(b, c)),
        // Teredo: the host is behind the server, with all its bits turned.
        [0x2001, 0, ..] => return Some("a tunnel"),
        _ => None,
    };
    if let Some(inner) = inner {
        return special_use_4(inner);
    }
    Some(match segments {
        [0x100, 0, 0, 0 | 1, ..] => "a hole that nothing comes back from",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => "set aside for documentation",
        [0x2001, 2, 0, ..] => "set aside for measurements",
        [0x2001, 0x10..=0x3f, ..] => "set aside for experiments",
        [0x2001, 0..=0x1ff, ..] => "set aside for protocols",
        [0x5f00, ..] => "set aside for routing",
        [0xfc00..=0xfdff, ..] => "a private network",
        [0xfe80..=0xfebf, ..] => "the link around this machine",
        [0xfec0..=0xfeff, ..] => "a private network",
        [0xff00..=0xffff, ..] => "a group of hosts",
        // Only this part of the space is given out to hosts of the internet.
        [0x2000..=0x3fff, ..] => return None,
        _ => "set aside",
    })
}

/// Ports that browsers do not connect to either: a request can be made to look like words of those services.
const OTHER_SERVICES: &[u16] = &[
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
    109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
    526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
    3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6697, 11211,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(raw: &str) -> Result<Goal, Refusal> {
        judge(raw, &Exceptions::default()).map(|(_, goal)| goal)
    }

    #[test]
    fn public_pages_may_be_fetched() {
        let table = [
            ("https://example.com/a?b#c", "example.com"),
            ("HTTP://Example.COM./", "example.com"),
            ("http://example.com:8080/", "example.com"),
            ("http://93.184.216.34/", "93.184.216.34"),
            ("http://[2606:4700::1111]/", "2606:4700::1111"),
            ("http://1.1/", "1.0.0.1"),
            // Translated addresses of public hosts are public.
            ("http://[64:ff9b::808:808]/", "64:ff9b::808:808"),
            ("http://[2002:808:808::1]/", "2002:808:808::1"),
            ("https://münchen.example/", "xn--mnchen-3ya.example"),
            ("https://internal.example.com/", "internal.example.com"),
            ("https://notlocalhost.com/", "notlocalhost.com"),
            ("http://172.32.0.1/", "172.32.0.1"),
            ("http://100.128.0.1/", "100.128.0.1"),
        ];
        for (raw, goal) in table {
            let goal = goal.parse().map_or_else(|_| Goal::Name(goal.to_owned()), Goal::Address);
            assert_eq!(judged(raw), Ok(goal), "{raw}");
        }
    }

    #[test]
    fn only_plain_web_addresses_are_addresses() {
        let scheme = |scheme: &str| Refusal::Scheme(scheme.to_owned());
        let table = [
            ("file:///etc/passwd", scheme("file")),
            ("ftp://example.com/", scheme("ftp")),
            ("gopher://127.0.0.1:6379/_FLUSHALL", scheme("gopher")),
            ("data:text/html,hello", scheme("data")),
            ("javascript:alert(1)", scheme("javascript")),
            ("unix:///var/run/docker.sock", scheme("unix")),
            ("ws://example.com", scheme("ws")),
            ("example.com", Refusal::NoAddress("example.com".into())),
            ("", Refusal::NoAddress(String::new())),
            ("http://", Refusal::NoAddress("http://".into())),
            ("http://[::1", Refusal::NoAddress("http://[::1".into())),
            ("http://a b/", Refusal::NoAddress("http://a b/".into())),
            ("http://1.2.3.4.5/", Refusal::NoAddress("http://1.2.3.4.5/".into())),
            ("http://256.1.1.1/", Refusal::NoAddress("http://256.1.1.1/".into())),
            ("http://[fe80::1%25eth0]/", Refusal::NoAddress("http://[fe80::1%25eth0]/".into())),
            ("http://user:pw@example.com/", Refusal::Credentials),
            ("http://example.com@127.0.0.1/", Refusal::Credentials),
            ("http://:pw@example.com/", Refusal::Credentials),
            ("http://example.com:22/", Refusal::Port(22)),
            ("http://example.com:6379/", Refusal::Port(6379)),
            ("https://example.com:25/", Refusal::Port(25)),
        ];
        for (raw, refusal) in table {
            assert_eq!(judged(raw), Err(refusal), "{raw}");
        }
    }

    #[test]
    fn whatever_leads_inside_is_refused_in_every_form() {
        //  address, what it is
        let table = [
            ("http://127.0.0.1/", "this machine"),
            ("http://127.1/", "this machine"),
            ("http://2130706433/", "this machine"),
            ("http://0x7f000001/", "this machine"),
            ("http://0x7f.1/", "this machine"),
            ("http://0177.0.0.1/", "this machine"),
            ("http://017700000001/", "this machine"),
            ("http://127.0.0.1./", "this machine"),
            ("http://１２７.０.０.１/", "this machine"),
            ("http://127。0。0。1/", "this machine"),
            ("http://①②⑦.⓪.⓪.①/", "this machine"),
            ("http://%31%32%37.0.0.1/", "this machine"),
            ("http:\\\\127.0.0.1\\", "this machine"),
            ("http:127.0.0.1", "this machine"),
            ("\thttp://127.0.\n0.1/ ", "this machine"),
            ("http://0/", "no host's address"),
            ("http://0.0.0.0/", "no host's address"),
            ("http://10.1.2.3/", "a private network"),
            ("http://172.16.0.1/", "a private network"),
            ("http://172.31.255.255/", "a private network"),
            ("http://192.168.1.1/", "a private network"),
            ("http://3232235777/", "a private network"),
            ("http://169.254.169.254/latest/meta-data/", "the service that hands out secrets of a cloud"),
            ("http://0xa9fea9fe/", "the service that hands out secrets of a cloud"),
            ("http://100.100.100.200/", "the service that hands out secrets of a cloud"),
            ("http://169.254.1.1/", "the link around this machine"),
            ("http://100.64.0.1/", "the network of a provider"),
            ("http://100.127.255.255/", "the network of a provider"),
            ("http://192.0.0.8/", "set aside for protocols"),
            ("http://192.0.2.1/", "set aside for documentation"),
            ("http://198.51.100.1/", "set aside for documentation"),
            ("http://203.0.113.1/", "set aside for documentation"),
            ("http://192.88.99.1/", "a relay"),
            ("http://198.18.0.1/", "set aside for measurements"),
            ("http://224.0.0.1/", "a group of hosts"),
            ("http://240.0.0.1/", "set aside"),
            ("http://255.255.255.255/", "set aside"),
            ("http://[::]/", "no host's address"),
            ("http://[::1]/", "this machine"),
            ("http://[0:0:0:0:0:0:0:1]/", "this machine"),
            ("http://[::ffff:127.0.0.1]/", "this machine"),
            ("http://[::ffff:7f00:1]/", "this machine"),
            ("http://[::127.0.0.1]/", "this machine"),
            ("http://[::ffff:8.8.8.8]/", "another form of an old address"),
            ("http://[::ffff:0:127.0.0.1]/", "this machine"),
            ("http://[64:ff9b::127.0.0.1]/", "this machine"),
            ("http://[64:ff9b::a9fe:a9fe]/", "the service that hands out secrets of a cloud"),
            ("http://[64:ff9b:1::1]/", "a private network"),
            ("http://[2002:7f00:1::]/", "this machine"),
            ("http://[2002:c0a8:101::1]/", "a private network"),
            ("http://[2001:0:53aa:64c:0:fbff:80ff:fffe]/", "a tunnel"),
            ("http://[fc00::1]/", "a private network"),
            ("http://[fd00:ec2::254]/", "a private network"),
            ("http://[fe80::1]/", "the link around this machine"),
            ("http://[fec0::1]/", "a private network"),
            ("http://[ff02::1]/", "a group of hosts"),
            ("http://[2001:db8::1]/", "set aside for documentation"),
            ("http://[3fff::1]/", "set aside for documentation"),
            ("http://[2001:2::1]/", "set aside for measurements"),
            ("http://[2001:20::1]/", "set aside for experiments"),
            ("http://[100::1]/", "a hole that nothing comes back from"),
            ("http://[4000::1]/", "set aside"),
        ];
        for (raw, expected) in table {
            match judged(raw) {
                Err(Refusal::PrivateAddress { what, .. }) => assert_eq!(what, expected, "{raw}"),
                other => panic!("{raw}: {other:?}"),
            }
        }
    }

    #[test]
    fn names_of_the_network_around_are_refused_before_they_are_resolved() {
        let table = [
            "http://localhost/",
            "http://LOCALHOST./",
            "http://ｌｏｃａｌｈｏｓｔ/",
            "http://ⓛocalhost/",
            "http://app.localhost:3000/",
            "http://localhost.localdomain/",
            "http://printer.local/",
            "http://metadata.google.internal/computeMetadata/v1/",
            "http://metadata/",
            "http://instance-data/",
            "http://router/",
            "http://nas.lan/",
            "http://wiki.corp/",
            "http://fritz.home.arpa/",
        ];
        for raw in table {
            assert!(matches!(judged(raw), Err(Refusal::PrivateName { .. })), "{raw}: {:?}", judged(raw));
        }
    }

    #[test]
    fn all_answers_have_to_be_public() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let none = Exceptions::default();
        let judged = |answers: &[&str]| {
            let answers: Vec<IpAddr> = answers.iter().map(|answer| address(answer)).collect();
            judge_answers("x.example", &answers, &none).is_ok()
        };
        assert!(judged(&["93.184.216.34", "2606:4700::1111"]));
        assert!(!judged(&["93.184.216.34", "127.0.0.1"]));
        assert!(!judged(&["2606:4700::1111", "::ffff:10.0.0.1"]));
        assert!(!judged(&[]));
    }

    #[test]
    fn the_owner_can_allow_more() {
        let exceptions =
            Exceptions::new(["NAS.lan.", "192.168.1.0/24", "[::1]", "fd00::/8", " ", "10.0.0.5"]);
        //  address, allowed
        let table = [
            ("http://nas.lan/", true),
            ("http://nas.lan:22/", true),
            ("http://other.lan/", false),
            ("http://192.168.1.77/", true),
            ("http://192.168.2.1/", false),
            ("http://[::1]:8080/", true),
            ("http://127.0.0.1/", false),
            ("http://[fd12::1]/", true),
            ("http://10.0.0.5/", true),
            ("http://10.0.0.6/", false),
            ("file:///etc/passwd", false),
            ("http://me:pw@nas.lan/", false),
        ];
        for (raw, allowed) in table {
            assert_eq!(judge(raw, &exceptions).is_ok(), allowed, "{raw}");
        }
        let inside = ["192.168.77.1".parse().unwrap()];
        assert!(
            judge_answers("nas.lan", &inside, &exceptions).is_ok(),
            "a name that is allowed leads where it leads"
        );
        assert!(judge_answers("x.example", &inside, &exceptions).is_err());
        let listed = Config::new(serde_json::json!({"tools": {"web": {"allowPrivate": ["nas.lan", 5]}}}));
        assert_eq!(Exceptions::from_config(&listed), Exceptions::new(["nas.lan"]));
    }
}

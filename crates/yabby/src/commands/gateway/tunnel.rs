//! A way to a gateway on another machine that listens only there: a port of ours, carried over by `ssh`.

use std::net::Ipv4Addr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use yabby_domain::text;

/// How much of what `ssh` complains about is told.
const COMPLAINT: u64 = 4096;

/// Whom `ssh` is to ask: `user@host:port`, where only the host is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshTarget {
    /// With the user, if one is named.
    host: String,
    /// Otherwise `ssh` knows.
    port: Option<u16>,
}

impl SshTarget {
    pub fn parse(written: &str) -> Option<Self> {
        let written = written.trim();
        let written = written.strip_prefix("ssh ").unwrap_or(written).trim_start();
        let (user, host) = match written.split_once('@') {
            Some((user, host)) => (text::non_blank(user.trim()), host.trim()),
            None => (None, written),
        };
        let (host, port) = match host.rsplit_once(':') {
            Some((name, port)) if !name.is_empty() && !port.is_empty() => {
                (name.trim(), Some(port.trim().parse().ok().filter(|port| *port != 0)?))
            }
            _ => (host, None),
        };
        // A name that begins with a dash would be an option.
        let is_name =
            |name: &str| !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace);
        if !is_name(host) || !user.is_none_or(is_name) {
            return None;
        }
        let host = user.map_or_else(|| host.to_owned(), |user| format!("{user}@{host}"));
        Some(Self { host, port })
    }
}

/// An open way; it is closed when it is dropped.
pub struct Tunnel {
    ssh: Child,
    pub local_port: u16,
}

impl Tunnel {
    /// Opens a way to a port on the other machine's own loopback; or why there is none.
    pub async fn open(
        target: &SshTarget,
        identity: Option<&str>,
        remote_port: u16,
        limit: Duration,
    ) -> Result<Self, String> {
        let local_port = free_port().await.map_err(|error| format!("no free port: {error}"))?;
        let mut command = Command::new("ssh");
        command.args(["-N", "-L", &format!("127.0.0.1:{local_port}:127.0.0.1:{remote_port}")]);
        // Nobody is there to be asked for a password, and a key that changed is refused.
        for option in [
            "ExitOnForwardFailure=yes",
            "BatchMode=yes",
            "StrictHostKeyChecking=accept-new",
            "ConnectTimeout=5",
        ] {
            command.args(["-o", option]);
        }
        if let Some(port) = target.port {
            command.args(["-p", &port.to_string()]);
        }
        if let Some(identity) = identity {
            command.args(["-i", identity]);
        }
        command.args(["--", &target.host]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let ssh = command.spawn().map_err(|error| format!("ssh cannot be run: {error}"))?;
        let mut tunnel = Self { ssh, local_port };
        match tokio::time::timeout(limit, tunnel.opened()).await {
            Ok(Ok(())) => Ok(tunnel),
            Ok(Err(why)) => Err(why),
            Err(_) => Err(format!("there was no way within {} ms", limit.as_millis())),
        }
    }

    pub fn pid(&self) -> Option<u32> {
        self.ssh.id()
    }

    /// Comes back when the port is there, or with what `ssh` said when it gave up.
    async fn opened(&mut self) -> Result<(), String> {
        let is_there = async {
            while TcpStream::connect((Ipv4Addr::LOCALHOST, self.local_port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let code = tokio::select! {
            () = is_there => return Ok(()),
            ended = self.ssh.wait() => ended.map_err(|error| error.to_string())?,
        };
        let mut complaint = Vec::new();
        if let Some(stderr) = self.ssh.stderr.take() {
            let _ = stderr.take(COMPLAINT).read_to_end(&mut complaint).await;
        }
        let complaint = String::from_utf8_lossy(&complaint);
        let lines = complaint.lines().map(str::trim).filter(|line| !line.is_empty());
        Err([format!("ssh ended ({code})").as_str()].into_iter().chain(lines).collect::<Vec<_>>().join("; "))
    }
}

async fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_a_host_and_perhaps_a_user_and_a_port() {
        let known = |host: &str, port| Some(SshTarget { host: host.to_owned(), port });
        let table = [
            ("den", known("den", None)),
            (" sam@den ", known("sam@den", None)),
            ("ssh sam@den:2222", known("sam@den", Some(2222))),
            ("@den", known("den", None)),
            ("den:", known("den:", None)),
            ("", None),
            ("sam@", None),
            ("den:0", None),
            ("den:door", None),
            ("-oProxyCommand=x", None),
            ("sam@-den", None),
            ("-l@den", None),
            ("den -v", None),
        ];
        for (written, expected) in table {
            assert_eq!(SshTarget::parse(written), expected, "{written:?}");
        }
    }
}

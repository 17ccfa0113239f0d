//! The machine that we run on, as clients see it.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use crate::presence::Machine;

pub(crate) fn this() -> Machine {
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy().into_owned();
    let model = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let platform = if cfg!(target_os = "macos") { "macos" } else { std::env::consts::OS };
    Machine {
        ip: address().map_or_else(|| host.clone(), |address| address.to_string()),
        host,
        // That of an app, which we are not.
        version: "unknown".to_owned(),
        platform: format!("{platform} {}", system.release().to_string_lossy()),
        family: if cfg!(target_os = "macos") { "Mac" } else { "Linux" }.to_owned(),
        model: model.to_owned(),
    }
}

/// The address by which others reach us. Nothing is sent: the system only says where it would send from.
pub(crate) fn address() -> Option<Ipv4Addr> {
    // An address that belongs to nobody.
    const ELSEWHERE: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 9);
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect(ELSEWHERE).ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(address) if !address.is_loopback() && !address.is_unspecified() => Some(address),
        _ => None,
    }
}

//! `yabby gateway run`: runs the gateway until somebody stops it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use yabby_gateway::{Parts, start};
use yabby_store::clock::SystemClock;
use yabby_store::files::turns::Kind;

use crate::setting::Setting;
use crate::wire::Wired;

/// Where gateways are unless somebody says otherwise.
const PORT: u16 = 18789;

#[derive(Args)]
pub struct Arguments {
    /// The port for everything [default: gateway.port, else 18789]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let config = setting.config()?;
    let configured = config.number(&["gateway", "port"]);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let port = arguments.port.or(configured.map(|port| port as u16)).unwrap_or(PORT);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let wired = {
        let _inside = runtime.enter();
        Wired::new(setting, config.clone(), Kind::Gateway)?
    };
    let parts = Parts {
        engine: wired.engine.clone(),
        config: Arc::new(config),
        clock: Arc::new(SystemClock),
        place: setting.place.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    runtime.block_on(async {
        let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let listening = start(parts, &addresses, port).await?;
        for address in &listening.addresses {
            anstream::println!("listening on ws://{address} (PID {})", std::process::id());
        }
        let mut terminated = signal(SignalKind::terminate())?;
        tokio::select! {
            _ = terminated.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        listening.stop("gateway stopping", None).await;
        wired.close().await;
        Ok::<_, anyhow::Error>(())
    })?;
    runtime.shutdown_timeout(std::time::Duration::from_secs(10));
    Ok(())
}

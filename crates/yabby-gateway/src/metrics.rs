//! Figures about us, in the text that Prometheus reads.

use metrics::{counter, gauge};
use metrics_exporter_prometheus::PrometheusBuilder;

use crate::Gateway;

/// What is counted from the start.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) connections: std::sync::atomic::AtomicU64,
    pub(crate) rejected: std::sync::atomic::AtomicU64,
    pub(crate) requests: std::sync::atomic::AtomicU64,
}

/// All figures, as they are now.
pub(crate) fn told(gateway: &Gateway) -> String {
    let recorder = PrometheusBuilder::new().build_recorder();
    let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let total = |number: &std::sync::atomic::AtomicU64| number.load(std::sync::atomic::Ordering::Relaxed);
    metrics::with_local_recorder(&recorder, || {
        gauge!("yabby_info", "version" => gateway.version.clone()).set(1.0);
        gauge!("yabby_uptime_seconds").set(gateway.uptime_ms() / 1000.0);
        gauge!("yabby_clients").set(count(gateway.hub.count()));
        gauge!("yabby_runs").set(count(gateway.runs.count()));
        gauge!("yabby_open_sessions").set(count(gateway.engine.open_lanes()));
        gauge!("yabby_resident_bytes").set(resident_bytes().unwrap_or(0.0));
        counter!("yabby_connections_total").absolute(total(&gateway.counts.connections));
        counter!("yabby_rejected_total").absolute(total(&gateway.counts.rejected));
        counter!("yabby_requests_total").absolute(total(&gateway.counts.requests));
        counter!("yabby_events_total").absolute(gateway.hub.told());
    });
    recorder.handle().render()
}

/// How much memory we use.
fn resident_bytes() -> Option<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: f64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let size = rustix::param::page_size() as f64;
    Some(pages * size)
}

//! The settings that a gateway needs: which mode it runs in, and a secret that clients must know.
//!
//! `yabby setup` writes them. `yabby --dev gateway`, and `yabby gateway` on a folder of ours that says nothing about a
//! gateway, write them on their first start. `gateway run`, which services and scripts use, writes nothing.

use anyhow::{Context as _, Result};
use serde_json::json;
use yabby_config::key_path::KeyPath;
use yabby_config::lookup::Profile;
use yabby_domain::config::Config;
use yabby_domain::config::gateway::GatewayMode;
use yabby_domain::text;
use yabby_store::config_file::Snapshot;
use yabby_store::config_file::edit::{ConfigFile, Edit};

use crate::setting::Setting;

/// Whether the folder is the one to try things in.
pub fn is_dev(setting: &Setting) -> bool {
    setting.place.environment.get("OPENCLAW_PROFILE") == Some(Profile::dev().as_str())
}

/// Writes the missing settings where things are tried and there is no configuration.
pub fn prepare_dev_folder(setting: &Setting) -> Result<()> {
    match is_dev(setting) && !setting.place.config.exists() {
        true => prepare(setting),
        false => Ok(()),
    }
}

/// Writes the missing settings into a configuration of ours that names no mode. One of the reference is left alone.
pub fn prepare_own_folder(setting: &Setting) -> Result<()> {
    let snapshot = Snapshot::read(&setting.place);
    let names_mode = snapshot.with_extras().gateway.mode.is_some();
    match setting.is_own_folder() && snapshot.is_valid() && !names_mode {
        true => prepare(setting),
        false => Ok(()),
    }
}

fn prepare(setting: &Setting) -> Result<()> {
    let file = &setting.place.config;
    let edits = missing_settings(setting, &Snapshot::read(&setting.place).with_extras())?;
    if edits.is_empty() {
        return Ok(());
    }
    ConfigFile::of(&setting.place)
        .edit_all(&edits)
        .with_context(|| format!("cannot write {}", file.display()))?;
    anstream::eprintln!("Wrote {}, with a token of its own.", setting.place.shortened(file));
    Ok(())
}

/// What the configuration does not say and a gateway needs; what it says stays.
pub fn missing_settings(setting: &Setting, config: &Config) -> Result<Vec<(KeyPath, Edit)>> {
    let gateway = &config.gateway;
    let is_set = |written: &Option<String>| written.as_deref().and_then(text::non_blank).is_some();
    let mut edits = Vec::new();
    if gateway.mode.is_none() {
        edits.push((KeyPath::parse("gateway.mode")?, Edit::Set(json!("local"))));
        if gateway.bind.is_none() {
            edits.push((KeyPath::parse("gateway.bind")?, Edit::Set(json!("loopback"))));
        }
    }
    let variables = ["OPENCLAW_GATEWAY_TOKEN", "OPENCLAW_GATEWAY_PASSWORD"];
    let has_secret = is_set(&gateway.auth.token)
        || is_set(&gateway.auth.password)
        || setting.place.environment.first(&variables).is_some();
    let is_elsewhere = gateway.mode == Some(GatewayMode::Remote);
    if !has_secret && !is_elsewhere {
        let token = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        edits.push((KeyPath::parse("gateway.auth.token")?, Edit::Set(json!(token))));
    }
    Ok(edits)
}

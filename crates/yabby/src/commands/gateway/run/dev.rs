//! `yabby --dev gateway`: a gateway to try things with needs nothing set up. On a folder without a configuration it
//! writes one, with a secret of its own.

use anyhow::{Context as _, Result};
use serde_json::json;
use yabby_config::key_path::KeyPath;
use yabby_config::lookup::Profile;
use yabby_store::config_file::edit::{ConfigFile, Edit};

use crate::setting::Setting;

/// Whether the folder is the one to try things in.
pub fn is_meant(setting: &Setting) -> bool {
    setting.place.environment.get("OPENCLAW_PROFILE") == Some(Profile::dev().as_str())
}

/// Writes a configuration, where things are tried and there is none.
pub fn begin(setting: &Setting) -> Result<()> {
    let file = &setting.place.config;
    if !is_meant(setting) || file.exists() {
        return Ok(());
    }
    let token = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
    let settings = [
        ("gateway.mode", json!("local")),
        ("gateway.bind", json!("loopback")),
        ("gateway.auth.token", json!(token)),
    ];
    let edits: Result<Vec<_>> =
        settings.into_iter().map(|(path, value)| Ok((KeyPath::parse(path)?, Edit::Set(value)))).collect();
    ConfigFile::of(&setting.place)
        .edit_all(&edits?)
        .with_context(|| format!("cannot write {}", file.display()))?;
    anstream::eprintln!("Wrote {}, with a token of its own.", setting.place.shortened(file));
    Ok(())
}

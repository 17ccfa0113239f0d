//! `yabby models set`.

use std::io::Write as _;

use anyhow::Result;
use yabby_config::key_path::KeyPath;
use yabby_domain::json::{Object, Value};
use yabby_domain::model::ModelRef;
use yabby_store::config_file::edit::Edit;

use super::{Configured, DEFAULT_PROVIDER, edit, known, listed_at, shared_config, told_update};
use crate::setting::Setting;
use crate::terminal;
use crate::wire::models::{main_folder, offered};

pub fn run(setting: &Setting, raw: &str) -> Result<()> {
    let config = shared_config(setting)?;
    let model = known(raw, &config, &offered(&setting.place, &config, &main_folder(&setting.place)))?;
    let listed = Configured::of(&config).listed;
    let is_listed =
        listed.iter().any(|name| ModelRef::parse(name, DEFAULT_PROVIDER).as_ref() == Some(&model));
    // Where there is a list of models that may be used, this one is among them. Where there is none,
    // a list of one would forbid all others.
    if !listed.is_empty() && !is_listed {
        edit(setting, &listed_at(&model.to_string(), "")?, Edit::Set(Value::Object(Object::new())))?;
    }
    let primary = KeyPath::parse("agents.defaults.model.primary")?;
    edit(setting, &primary, Edit::Set(model.to_string().into()))?;
    let mut out = anstream::stdout();
    writeln!(out, "{}\nDefault model: {}", told_update(setting), terminal::harmless(&model.to_string()))?;
    Ok(())
}

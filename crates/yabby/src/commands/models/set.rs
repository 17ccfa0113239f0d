//! `yabby models set` and `yabby models set-image`.

use std::io::Write as _;

use anyhow::Result;
use yabby_store::config_file::edit::Edit;

use super::{Configured, Slot, edit, known, listing, shared_config, told_update};
use crate::setting::Setting;
use crate::terminal;
use crate::wire::keys::Found;
use crate::wire::models::{main_folder, offered, services};

pub fn run(setting: &Setting, slot: Slot, raw: &str) -> Result<()> {
    let config = shared_config(setting)?;
    let model = known(raw, &config, &offered(&setting.place, &config, &main_folder(&setting.place)))?;
    let mut edits: Vec<_> = listing(&model, &Configured::of(&config))?.into_iter().collect();
    edits.push((slot.at("primary")?, Edit::Set(model.to_string().into())));
    edit(setting, &edits)?;
    let heading = match slot {
        Slot::Model => "Default model",
        Slot::Image => "Image model",
    };
    let shown = terminal::harmless(&model.to_string());
    writeln!(anstream::stdout(), "{}\n{heading}: {shown}", told_update(setting))?;
    // It is set all the same: the key may follow.
    let services = services(&setting.place, &config, &main_folder(&setting.place));
    let of_model = services.iter().find(|service| service.settings.id == model.provider);
    if let Some(service) = of_model.filter(|service| service.keys.found() == Found::Nowhere) {
        anstream::eprintln!("warning: it cannot answer yet. {}", service.keys.remedy());
    }
    Ok(())
}

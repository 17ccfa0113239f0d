//! `yabby doctor`

use anyhow::{Result, bail};
use clap::Args;

use crate::setting::Setting;

#[derive(Args)]
pub struct Arguments {}

pub fn run(_: &Setting, _: &Arguments) -> Result<()> {
    bail!("not here yet")
}

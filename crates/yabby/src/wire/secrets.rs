//! What must never be seen: keys of the configuration, of the environment and of the profiles.

use yabby_config::environment::Environment;
use yabby_domain::config::Config;
use yabby_domain::secrets::Secrets;
use yabby_store::paths::Place;

use super::models::profile_files;

/// The name that a key of a profile goes by, like a variable's.
const PROFILE: &str = "PROFILE_TOKEN";

pub fn secrets(place: &Place, config: &Config, environment: &Environment) -> Secrets {
    let files = profile_files(place, config);
    let keys: Vec<String> =
        files.values().filter_map(|file| file.read().ok()).flat_map(|profiles| profiles.secrets()).collect();
    let keys = keys.iter().map(|key| (PROFILE, key.as_str()));
    Secrets::of_config(config, environment.iter().chain(keys))
}

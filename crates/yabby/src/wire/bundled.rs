//! The skills that come with the program. They lie in the folder of everything, so that the agent can read
//! them; what somebody changes there comes back as it was.

use std::path::PathBuf;

use yabby_store::disk::{Disk as _, LocalDisk};
use yabby_store::paths::Place;

const SKILLS: [(&str, &str); 4] = [
    ("github", include_str!("../../skills/github/SKILL.md")),
    ("tmux", include_str!("../../skills/tmux/SKILL.md")),
    ("weather", include_str!("../../skills/weather/SKILL.md")),
    ("write-a-skill", include_str!("../../skills/write-a-skill/SKILL.md")),
];

/// The folder they lie in; `None` if they cannot be put there, which is no reason to do nothing else.
pub fn folder(place: &Place) -> Option<PathBuf> {
    let named = ["YABBY_BUNDLED_SKILLS_DIR", "OPENCLAW_BUNDLED_SKILLS_DIR"];
    if let Some(other) = place.environment.first(&named) {
        return Some(other.into());
    }
    let folder = place.folder.path().join("bundled-skills");
    for (name, text) in SKILLS {
        let (own, file) = (folder.join(name), folder.join(name).join("SKILL.md"));
        if std::fs::read(&file).is_ok_and(|held| held == text.as_bytes()) {
            continue;
        }
        if let Err(error) = LocalDisk.create_folder(&own).and_then(|()| std::fs::write(&file, text)) {
            tracing::warn!(%error, skill = name, "a skill that comes with the program cannot be written");
            return None;
        }
    }
    Some(folder)
}

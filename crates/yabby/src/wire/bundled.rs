//! The skills that come with the program. They lie in the folder of everything, so that the agent can read
//! them; what somebody changes in them comes back as it was.
//!
//! Nothing is written through a link, and of what else lies there nothing is touched but what a former
//! release wrote, which is known by its list.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yabby_domain::skills::{SkillFile, SkillSource};
use yabby_store::disk::{Disk as _, LocalDisk};
use yabby_store::files::atomic;
use yabby_store::paths::Place;

const SKILLS: [(&str, &str); 4] = [
    ("github", include_str!("../../skills/github/SKILL.md")),
    ("tmux", include_str!("../../skills/tmux/SKILL.md")),
    ("weather", include_str!("../../skills/weather/SKILL.md")),
    ("write-a-skill", include_str!("../../skills/write-a-skill/SKILL.md")),
];
const FILE: &str = "SKILL.md";
/// Which of the folders are ours, a name in each line.
const LIST: &str = ".written-by-yabby";

/// The folder they lie in; `None` if they cannot be put there, which is no reason to do nothing else.
pub fn folder(place: &Place) -> Option<PathBuf> {
    if let Some(other) = elsewhere(place) {
        return Some(other);
    }
    let folder = own_folder(place);
    match put_into(&folder) {
        Ok(()) => Some(folder),
        Err(error) => {
            let at = folder.display().to_string();
            tracing::warn!(%error, at, "the skills that come with the program cannot be put there");
            // What is there already is better than nothing.
            is_folder(&folder).then_some(folder)
        }
    }
}

/// The folder that somebody else looks after.
pub fn elsewhere(place: &Place) -> Option<PathBuf> {
    let named = ["YABBY_BUNDLED_SKILLS_DIR", "OPENCLAW_BUNDLED_SKILLS_DIR"];
    place.environment.first(&named).map(PathBuf::from)
}

/// What the folder holds, for whoever only wants to look.
pub fn files(place: &Place) -> Vec<SkillFile> {
    let folder = own_folder(place);
    let file = |(name, text): (&str, &str)| SkillFile {
        source: SkillSource::Bundled,
        path: folder.join(name).join(FILE).to_string_lossy().into_owned(),
        text: text.to_owned(),
    };
    SKILLS.map(file).into()
}

fn own_folder(place: &Place) -> PathBuf {
    place.folder.path().join("bundled-skills")
}

fn put_into(folder: &Path) -> io::Result<()> {
    let list: String = SKILLS.iter().map(|(name, _)| format!("{name}\n")).collect();
    let is_there = |(name, text): &(&str, &str)| is_text(&folder.join(name).join(FILE), text);
    if is_text(&folder.join(LIST), &list) && SKILLS.iter().all(is_there) {
        return Ok(());
    }
    own(folder)?;
    remove_former(folder)?;
    for (name, text) in SKILLS {
        own(&folder.join(name))?;
        put(&folder.join(name).join(FILE), text)?;
    }
    // Last: what it does not name yet is written again.
    put(&folder.join(LIST), &list)
}

/// A folder of ours; a link in its place would lead us elsewhere.
fn own(folder: &Path) -> io::Result<()> {
    LocalDisk.create_folder(folder)?;
    match is_folder(folder) {
        true => Ok(()),
        false => Err(io::Error::other(format!("{} is a link", folder.display()))),
    }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

fn put(file: &Path, text: &str) -> io::Result<()> {
    match is_text(file, text) {
        true => Ok(()),
        false => atomic::replace(&LocalDisk, file, text.as_bytes()).map_err(io::Error::other),
    }
}

fn is_text(file: &Path, text: &str) -> bool {
    fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file())
        && fs::read(file).is_ok_and(|held| held == text.as_bytes())
}

/// Removes the skills that a former release wrote and this one does not have.
fn remove_former(folder: &Path) -> io::Result<()> {
    let list = folder.join(LIST);
    if !fs::symlink_metadata(&list).is_ok_and(|meta| meta.is_file()) {
        return Ok(());
    }
    let written = fs::read_to_string(list)?;
    let is_name = |name: &&str| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
    let is_former = |name: &&str| SKILLS.iter().all(|(known, _)| known != name);
    for name in written.lines().filter(is_name).filter(is_former) {
        let former = folder.join(name);
        if is_folder(&former) {
            match fs::remove_file(former.join(FILE)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            // What somebody else put there stays, and the folder with it.
            let _ = fs::remove_dir(former);
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn what_a_former_release_wrote_goes_and_what_others_wrote_stays() {
        let kept = tempfile::tempdir().unwrap();
        let folder = kept.path().join("bundled-skills");
        for name in ["old", "mixed", "mine"] {
            fs::create_dir_all(folder.join(name)).unwrap();
            fs::write(folder.join(name).join(FILE), "x").unwrap();
        }
        fs::write(folder.join("mixed/notes"), "x").unwrap();
        fs::write(folder.join(LIST), "old\nmixed\n../outside\n\n").unwrap();
        fs::create_dir(kept.path().join("outside")).unwrap();
        fs::write(kept.path().join("outside").join(FILE), "x").unwrap();
        put_into(&folder).unwrap();
        assert!(!folder.join("old").exists() && !folder.join("mixed").join(FILE).exists());
        assert!(folder.join("mixed/notes").exists() && folder.join("mine").join(FILE).exists());
        assert!(kept.path().join("outside").join(FILE).exists());
        assert_eq!(fs::read_to_string(folder.join(LIST)).unwrap(), "github\ntmux\nweather\nwrite-a-skill\n");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 7);
    }

    #[test]
    fn what_was_changed_comes_back_and_no_link_is_written_through() {
        let kept = tempfile::tempdir().unwrap();
        let (folder, other) = (kept.path().join("bundled-skills"), kept.path().join("other"));
        put_into(&folder).unwrap();
        fs::write(folder.join("tmux").join(FILE), "changed").unwrap();
        fs::write(&other, "other").unwrap();
        fs::remove_file(folder.join("weather").join(FILE)).unwrap();
        std::os::unix::fs::symlink(&other, folder.join("weather").join(FILE)).unwrap();
        put_into(&folder).unwrap();
        assert!(SKILLS.iter().all(|(name, text)| is_text(&folder.join(name).join(FILE), text)));
        assert_eq!(fs::read_to_string(&other).unwrap(), "other");
        // A folder that is a link is not gone into.
        let elsewhere = kept.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::remove_dir_all(folder.join("github")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.join("github")).unwrap();
        assert!(put_into(&folder).unwrap_err().to_string().ends_with("github is a link"));
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}

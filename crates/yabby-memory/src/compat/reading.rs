//! Lines of a memory file, as `memory_get` gives them (`memory.md` §9).

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use yabby_domain::session::path::absolute;
use yabby_domain::text;

use super::files::{self, Kind, kind_of};
use super::paths::{extra_paths, is_inside, is_memory_path, relative};

/// Which lines are wanted; all if neither number says anything.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lines {
    /// The first one, counted from 1.
    pub from: Option<f64>,
    pub count: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub text: String,
    /// From the workspace.
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Every refusal reads the same: what else there is, is nobody's business.
    #[error("path required")]
    Refused,
    /// As Node says it, since agents know these words.
    #[error("{0}")]
    System(String),
}

/// Reads a file that is memory: one of the workspace, or one in a place that was configured.
///
/// The reference follows a link that a folder inside `memory/` is. Nobody would expect it, as it does not
/// index such folders; here they are refused.
pub fn read(workspace: &Path, extra: &[String], path: &str, lines: Lines) -> Result<Reading, ReadError> {
    let path = text::non_blank(path).ok_or(ReadError::Refused)?;
    let workspace = absolute(&workspace.to_string_lossy(), "/");
    let file = absolute(path, &workspace);
    let name = relative(&workspace, &file);
    let base = base(&workspace, extra, &file, &name).ok_or(ReadError::Refused)?;
    if !file.ends_with(".md") || leads_through_a_link(&base, &file) {
        return Err(ReadError::Refused);
    }
    let file = PathBuf::from(file);
    let kind = std::fs::symlink_metadata(&file).map_err(|error| told(&error, "lstat", &file))?;
    if !kind.is_file() {
        return Err(ReadError::Refused);
    }
    let mut bytes = Vec::new();
    files::open(&file)
        .and_then(|mut opened| opened.read_to_end(&mut bytes))
        .map_err(|error| told(&error, "open", &file))?;
    Ok(Reading { text: lines.of(&text::lossy(&bytes)), path: name })
}

/// The folder below which the file may be read, or the file itself.
fn base(workspace: &str, extra: &[String], file: &str, name: &str) -> Option<String> {
    if is_inside(name) && is_memory_path(name) {
        return Some(workspace.to_owned());
    }
    extra_paths(workspace, extra).into_iter().find(|place| match kind_of(Path::new(place)) {
        Some(Kind::Folder) => file == place || file.starts_with(&format!("{place}/")),
        Some(Kind::File) => file == place,
        Some(Kind::Other) | None => false,
    })
}

/// Whether a folder on the way from the base to the file is a link.
fn leads_through_a_link(base: &str, file: &str) -> bool {
    let above = Path::new(file).ancestors().skip(1);
    let mut between = above.take_while(|folder| *folder != Path::new(base) && folder.starts_with(base));
    between.any(|folder| kind_of(folder) == Some(Kind::Other))
}

/// The error of a system call in Node's words.
fn told(error: &io::Error, call: &str, file: &Path) -> ReadError {
    let what = match error.kind() {
        io::ErrorKind::NotFound => "ENOENT: no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "EACCES: permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "ENOTDIR: not a directory".to_owned(),
        _ => error.to_string(),
    };
    ReadError::System(format!("{what}, {call} '{}'", file.display()))
}

impl Lines {
    pub fn of(self, text: &str) -> String {
        let says = |number: Option<f64>| number.is_some_and(|number| number != 0.0);
        if !says(self.from) && !says(self.count) {
            return text.to_owned();
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let whole = |number: f64| number.max(1.0) as usize;
        let first = self.from.map_or(1, whole);
        let count = self.count.map_or(usize::MAX, whole);
        text.split('\n').skip(first - 1).take(count).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        //  from        count       text
        let table = [
            (None, None, "a\nb\nc"),
            (Some(0.0), Some(0.0), "a\nb\nc"),
            (Some(2.0), None, "b\nc"),
            (Some(2.0), Some(1.0), "b"),
            (Some(2.0), Some(0.0), "b"),
            (None, Some(-3.0), "a"),
            (Some(-5.0), Some(2.0), "a\nb"),
            (Some(9.0), None, ""),
            (Some(f64::MAX), Some(f64::MAX), ""),
            (Some(f64::NAN), None, "a\nb\nc"),
        ];
        for (from, count, expected) in table {
            assert_eq!(Lines { from, count }.of("a\nb\nc"), expected, "{from:?} {count:?}");
        }
    }
}

//! Paths as text: nothing is looked up. The folders that they are resolved against come from the caller.

use crate::text;

/// A path that a person wrote: absolute, with `~` filled in and without the blanks around it.
pub fn user_path(path: &str, home: &str, current: &str) -> String {
    absolute(&expand_home(text::trim(path), home), current)
}

/// The folder that a file is in.
pub fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((folder, _)) => folder,
    }
}

/// A name in a folder.
pub fn join(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}

/// What a file or a folder is called.
pub fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `~` and `~/…` name the home folder; `~user` is left alone.
pub fn expand_home(path: &str, home: &str) -> String {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with(['/', '\\']) => format!("{home}{rest}"),
        _ => path.to_owned(),
    }
}

/// An absolute path without `.`, `..` and doubled slashes.
pub fn absolute(path: &str, current: &str) -> String {
    let joined = if path.starts_with('/') { path.to_owned() } else { format!("{current}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

//! Which paths are memory (`memory.md` §1, §9).

use yabby_domain::session::path::absolute;
use yabby_domain::text;

/// A path as it is compared: without blanks around it, without the dots and slashes it begins with.
pub fn normalized(path: &str) -> String {
    text::trim(path).trim_start_matches(['.', '/']).replace('\\', "/")
}

/// Whether a path of the workspace is the memory's.
pub fn is_memory_path(path: &str) -> bool {
    let path = normalized(path);
    path == "MEMORY.md" || path == "memory.md" || path.starts_with("memory/")
}

/// The other places that are configured, as absolute paths. `~` is a name like any other here.
pub fn extra_paths(workspace: &str, configured: &[String]) -> Vec<String> {
    let named = configured.iter().filter_map(|path| text::non_blank(path));
    unique(named.map(|path| absolute(path, workspace)))
}

/// Every item once, where it is first.
pub(crate) fn unique(items: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

/// The way from a folder to a path; both absolute and without dots.
pub fn relative(folder: &str, path: &str) -> String {
    let names = |path: &str| -> Vec<String> {
        path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let (folder, path) = (names(folder), names(path));
    let shared = folder.iter().zip(&path).take_while(|(left, right)| left == right).count();
    let up = std::iter::repeat_n("..", folder.len() - shared);
    up.chain(path[shared..].iter().map(String::as_str)).collect::<Vec<_>>().join("/")
}

/// Whether what [`relative`] found is below the folder.
pub fn is_inside(relative: &str) -> bool {
    !relative.is_empty() && !relative.starts_with("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_lead_up_and_down() {
        //  folder, path, way, inside
        let table = [
            ("/ws", "/ws/a/b.md", "a/b.md", true),
            ("/ws", "/other/x.md", "../other/x.md", false),
            ("/ws/", "/ws", "", false),
            ("/", "/a.md", "a.md", true),
            ("/a/b", "/a/bc/x.md", "../bc/x.md", false),
        ];
        for (folder, path, way, inside) in table {
            assert_eq!(relative(folder, path), way);
            assert_eq!(is_inside(&relative(folder, path)), inside, "{path}");
        }
    }
}

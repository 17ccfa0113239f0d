//! The names that tools of servers go by: `mcp_{server}_{tool}`, in letters that every provider takes, no two
//! the same.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

/// Providers take no longer names.
const LONGEST: usize = 64;

/// How much of a fingerprint tells names apart.
const MARK: usize = 8;

#[derive(Default)]
pub(crate) struct Names(HashSet<String>);

impl Names {
    pub(crate) fn name(&mut self, server: &str, tool: &str) -> String {
        let plain = |text: &str| -> String {
            text.chars()
                .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
                .collect()
        };
        let mut name = format!("mcp_{}_{}", plain(server), plain(tool));
        if name.len() > LONGEST || self.0.contains(&name) {
            // What the name was tells it apart from others, today and tomorrow.
            let mark: String = Sha256::digest(format!("{server}\0{tool}"))
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            name.truncate(LONGEST - MARK - 1);
            name = format!("{name}_{}", &mark[..MARK]);
        }
        self.0.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_differ() {
        let mut names = Names::default();
        assert_eq!(names.name("files", "read_file"), "mcp_files_read_file");
        assert_eq!(names.name("my files", "größe/x"), "mcp_my_files_gr__e_x");
        let other = names.name("my_files", "größe.x");
        assert!(other.starts_with("mcp_my_files_gr__e_x_") && other.len() == 29, "{other}");
        let (a, b) = (names.name("s", &"x".repeat(99)), names.name("s", &"x".repeat(98)));
        assert!(a != b && a.len() == LONGEST && b.len() == LONGEST, "{a} {b}");
        assert_eq!(Names::default().name("s", &"x".repeat(99)), a, "the same as yesterday");
    }
}

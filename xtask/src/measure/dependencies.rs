//! What the program depends on: packages in the lock, and the direct ones that nobody has justified.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};

use super::Figure;
use crate::sources::project;

pub fn figures() -> Result<Vec<Figure>> {
    let lock = read("Cargo.lock")?;
    let packages = lock.lines().filter(|line| *line == "[[package]]").count();
    let unexplained = unexplained()?;
    let direct = direct()?.len();
    let figure = |what: &str, value, aim, details| Figure { what: what.to_owned(), value, aim, details };
    Ok(vec![
        figure("packages in the lock", packages, Some(450), Vec::new()),
        figure("direct dependencies", direct, None, Vec::new()),
        figure(
            "direct dependencies without a line in docs/dependencies.md",
            unexplained.len(),
            Some(0),
            unexplained,
        ),
    ])
}

fn read(file: &str) -> Result<String> {
    fs::read_to_string(project().join(file)).with_context(|| format!("reading {file}"))
}

/// What the workspace names, without its own crates.
fn direct() -> Result<BTreeSet<String>> {
    let manifest = read("Cargo.toml")?;
    let section =
        manifest.split("[workspace.dependencies]").nth(1).context("the workspace has dependencies")?;
    let section = section.split("\n[").next().unwrap_or_default();
    let names =
        section.lines().filter(|line| !line.contains("path =")).filter_map(|line| line.split_once(" = "));
    Ok(names.map(|(name, _)| name.to_owned()).collect())
}

/// Direct dependencies that have no line.
fn unexplained() -> Result<Vec<String>> {
    let page = fs::read_to_string(project().join("docs/dependencies.md")).unwrap_or_default();
    let is_unexplained = |name: &String| !page.lines().any(|line| line.starts_with(&format!("| `{name}` |")));
    Ok(direct()?.into_iter().filter(is_unexplained).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_direct_dependency_is_justified() {
        assert_eq!(unexplained().expect("the files can be read"), Vec::<String>::new());
    }

    /// A line of what is not used any more would mislead.
    #[test]
    fn nothing_else_is_justified() {
        let page = read("docs/dependencies.md").expect("the page exists");
        let direct = direct().expect("the workspace can be read");
        let named = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let gone: Vec<&str> = named.map(|(name, _)| name).filter(|name| !direct.contains(*name)).collect();
        assert_eq!(gone, Vec::<&str>::new());
    }
}

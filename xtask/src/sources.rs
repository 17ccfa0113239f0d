//! The program as it is written: its modules, what each brings into scope, and what its functions name. Tests and what
//! only tests use are left out.

mod calls;
mod names;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

pub use calls::Calls;
pub use names::{Names, names};

/// A module of a crate.
pub struct Module {
    /// The crate, and the modules down to this one.
    pub path: Vec<String>,
    /// The file that it is written in.
    pub file: PathBuf,
    /// Whether the file is this module's own.
    pub is_file: bool,
    /// What stands in it, without its modules.
    pub items: Vec<Item>,
    pub uses: Vec<Use>,
}

/// A name that a module brings into scope.
pub struct Use {
    /// `*` for all that the target holds.
    pub name: String,
    pub target: Vec<String>,
}

/// The root of the project.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The crates that the program is made of, by folder: without what tests stand on.
pub fn crates_of_program() -> Result<Vec<PathBuf>> {
    let folder = project().join("crates");
    let listed = fs::read_dir(&folder).with_context(|| format!("listing {}", folder.display()))?;
    let mut crates = listed.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    crates.retain(|folder| !folder.ends_with("yabby-testkit"));
    crates.sort();
    Ok(crates)
}

/// The name of a crate as paths have it.
pub fn crate_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().replace('-', "_")
}

/// All modules of the crate in `folder`, without tests.
pub fn modules(folder: &Path) -> Result<Vec<Module>> {
    let source = folder.join("src");
    let root = ["lib.rs", "main.rs"].iter().map(|name| source.join(name)).find(|file| file.is_file());
    let root = root.with_context(|| format!("{} has no lib.rs and no main.rs", source.display()))?;
    let mut found = Vec::new();
    read_file(&root, &source, vec![crate_name(folder)], &mut found)?;
    Ok(found)
}

fn read_file(file: &Path, inner: &Path, path: Vec<String>, found: &mut Vec<Module>) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let parsed = syn::parse_file(&text).with_context(|| format!("parsing {}", file.display()))?;
    read_module(parsed.items, (file, true), inner, path, found)
}

/// `inner` is the folder that the files of its modules are in.
fn read_module(
    items: Vec<Item>,
    (file, is_file): (&Path, bool),
    inner: &Path,
    path: Vec<String>,
    found: &mut Vec<Module>,
) -> Result<()> {
    let (mut own, mut uses) = (Vec::new(), Vec::new());
    for item in items.into_iter().filter(|item| !is_test(attributes(item))) {
        match item {
            Item::Mod(module) => {
                let name = module.ident.to_string();
                let below = [path.clone(), vec![name.clone()]].concat();
                let folder = inner.join(&name);
                match module.content {
                    Some((_, items)) => read_module(items, (file, false), &folder, below, found)?,
                    None => {
                        let beside = inner.join(format!("{name}.rs"));
                        let file = if beside.is_file() { beside } else { folder.join("mod.rs") };
                        read_file(&file, &folder, below, found)?;
                    }
                }
            }
            item => {
                UsesOf(&mut uses).visit_item(&item);
                own.push(item);
            }
        }
    }
    found.push(Module { path, file: file.to_owned(), is_file, items: own, uses });
    Ok(())
}

/// Collects what is used at any depth: inside of a function it counts for the whole module.
struct UsesOf<'u>(&'u mut Vec<Use>);

impl<'ast> Visit<'ast> for UsesOf<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        collect(&item.tree, &mut Vec::new(), self.0);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }
}

fn collect(tree: &UseTree, before: &mut Vec<String>, uses: &mut Vec<Use>) {
    let mut push = |name: String, last: Option<String>| {
        let mut target = before.clone();
        target.extend(last.filter(|last| last != "self"));
        uses.push(Use { name, target });
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            collect(&path.tree, before, uses);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => push(before.last().cloned().unwrap_or_default(), None),
        UseTree::Name(name) => push(name.ident.to_string(), Some(name.ident.to_string())),
        UseTree::Rename(name) => push(name.rename.to_string(), Some(name.ident.to_string())),
        UseTree::Glob(_) => push("*".to_owned(), None),
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect(tree, before, uses)),
    }
}

/// Whether something is there for tests only.
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let text = attribute.meta.to_token_stream().to_string();
        let is_condition = path.is_ident("cfg") && text.contains("test") && !text.contains("not");
        is_condition || path.segments.last().is_some_and(|last| last.ident == "test")
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether something can be named outside of its module, be it only within the crate.
pub fn is_public(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

/// Finds what a path means.
pub struct Scope<'m> {
    modules: HashMap<&'m [String], &'m Module>,
}

/// How often a name may stand for another one.
const RENAMINGS: usize = 12;

impl<'m> Scope<'m> {
    pub fn new(modules: impl IntoIterator<Item = &'m Module>) -> Self {
        Self { modules: modules.into_iter().map(|module| (module.path.as_slice(), module)).collect() }
    }

    /// Where what `path` says in a module is written: the full path of its item, or of its module. `None` if it is
    /// none of ours.
    pub fn resolve(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        self.lookup(module, path, RENAMINGS)
    }

    fn lookup(&self, module: &[String], path: &[String], left: usize) -> Option<Vec<String>> {
        let left = left.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        let full = match first.as_str() {
            "crate" => [&module[..1], rest].concat(),
            "self" => [module, rest].concat(),
            "super" => {
                let (_, above) = module.split_last()?;
                return self.lookup(above, &[&["self".to_owned()], rest].concat(), left);
            }
            name if self.modules.contains_key([name.to_owned()].as_slice()) => path.to_vec(),
            _ => return self.inside(module, path, left),
        };
        // What the last word means is for the module that holds it to say.
        let depth = (1..full.len().max(2)).rev().find(|depth| self.modules.contains_key(&full[..*depth]))?;
        match &full[depth..] {
            [] => Some(full),
            beyond => self.inside(&full[..depth], beyond, left),
        }
    }

    /// The meaning of a path that begins with a name of a module.
    fn inside(&self, module: &[String], path: &[String], left: usize) -> Option<Vec<String>> {
        let left = left.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        let known = self.modules.get(module)?;
        let below = [module, path].concat();
        // A function holds nothing: what follows its name is a module of the same name.
        let holds = |item: &Item| rest.is_empty() || !matches!(item, Item::Fn(_));
        if known.items.iter().any(|item| holds(item) && defined(item).is_some_and(|name| name == *first)) {
            return Some(below);
        }
        let named = known.uses.iter().filter(|used| used.name == *first);
        let mut named = named.map(|used| [used.target.as_slice(), rest].concat());
        // A function may be called as the module is that it comes from: it is the one that was named.
        let is_module = self.modules.contains_key(&below[..=module.len()]);
        let is_new = |target: &Vec<String>| target != path && (rest.is_empty() || !is_module);
        if let Some(found) =
            named.find_map(|target| is_new(&target).then(|| self.lookup(module, &target, left)).flatten())
        {
            return Some(found);
        }
        if is_module {
            return match rest {
                [] => Some(below),
                rest => self.inside(&below[..=module.len()], rest, left),
            };
        }
        let globs = known.uses.iter().filter(|used| used.name == "*");
        let mut globs = globs.map(|used| [used.target.as_slice(), path].concat());
        globs.find_map(|target| self.lookup(module, &target, left))
    }
}

/// The name that an item gives.
pub fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The source files below a folder. Programs of their own (`bin`) have modules of their own.
    fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("src/bin") {
                files_below(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }

    /// A file that nothing names is not compiled, and looks as if it were.
    #[test]
    fn every_file_is_a_module_of_its_crate() {
        let mut files = Vec::new();
        for entry in fs::read_dir(project().join("crates")).unwrap() {
            files_below(&entry.unwrap().path().join("src"), &mut files);
        }
        assert!(files.len() > 500, "{} files", files.len());
        for file in files {
            let (folder, name) = (file.parent().unwrap(), file.file_stem().unwrap().to_str().unwrap());
            if ["lib", "main"].contains(&name) {
                continue;
            }
            let parents = [folder.with_extension("rs"), folder.join("lib.rs"), folder.join("main.rs")];
            let declares = |parent: &PathBuf| {
                fs::read_to_string(parent).is_ok_and(|text| text.contains(&format!("mod {name};")))
            };
            assert!(parents.iter().any(declares), "no module names {}", file.display());
        }
    }
}

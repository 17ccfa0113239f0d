//! Modules at the top of a crate that use each other in a ring.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens;

use super::Figure;
use crate::sources::{Module, Scope, names};

/// Who uses whom among the top modules of a crate, with an example for each use.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

pub fn figures(name: &str, label: &str, modules: &[Module]) -> Vec<Figure> {
    let uses = uses(name, modules);
    let rings = rings(&uses);
    let is_used = |of: &str, by: &str| uses.get(by).is_some_and(|used| used.contains_key(of));
    let mut pairs = Vec::new();
    for (by, used) in &uses {
        for (of, example) in used.iter().filter(|(of, _)| *of > by) {
            if is_used(by, of) {
                pairs.push(format!("{by} ⇄ {of}: {example}; {}", uses[of][by]));
            }
        }
    }
    let in_rings = rings.iter().map(Vec::len).sum();
    let details = rings.iter().map(|ring| ring.join(", ")).collect();
    vec![
        Figure {
            what: format!("modules of {label} that are in a ring"),
            value: in_rings,
            aim: Some(0),
            details,
        },
        Figure {
            what: format!("pairs of modules of {label} that use each other"),
            value: pairs.len(),
            aim: Some(0),
            details: pairs,
        },
    ]
}

fn uses(name: &str, modules: &[Module]) -> Uses {
    let scope = Scope::new(modules);
    let mut uses = Uses::new();
    for module in modules.iter().filter(|module| module.path[0] == name) {
        let Some(by) = module.path.get(1) else { continue };
        let mut seen: BTreeSet<Vec<String>> = BTreeSet::new();
        for item in &module.items {
            seen.extend(names(item.to_token_stream()).paths);
        }
        seen.extend(module.uses.iter().map(|used| used.target.clone()));
        for path in seen {
            let Some(target) = scope.resolve(&module.path, &path) else { continue };
            if target[0] != name || target.len() < 2 {
                continue;
            }
            // What stands at the top of the crate itself is no module.
            let of = &target[1];
            let is_module = modules.iter().any(|other| other.path == target[..2]);
            if is_module && of != by {
                let example = format!("{} names {}", module.path[1..].join("::"), target[1..].join("::"));
                uses.entry(by.clone()).or_default().entry(of.clone()).or_insert(example);
            }
        }
    }
    uses
}

/// The modules that reach each other, for each ring.
fn rings(uses: &Uses) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|from| (from, reached_from(from, uses))).collect();
    let mut rings: Vec<Vec<String>> = Vec::new();
    for (from, to) in &reached {
        if !to.contains(*from) || rings.iter().any(|ring| ring.contains(from)) {
            continue;
        }
        let comes_back = |other: &&&String| reached.get(**other).is_some_and(|back| back.contains(*from));
        rings.push(to.iter().filter(comes_back).map(|name| (*name).clone()).collect());
    }
    rings
}

fn reached_from<'u>(from: &str, uses: &'u Uses) -> BTreeSet<&'u String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(name) = open.pop() {
        for of in uses.get(&name).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(of) {
                open.push(of.clone());
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources;

    #[test]
    fn no_modules_of_the_domain_are_in_a_ring() {
        let domain = sources::project().join("crates/yabby-domain");
        let modules = sources::modules(&domain).expect("the crate can be read");
        assert_eq!(rings(&uses("yabby_domain", &modules)), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_ring_is_found_and_a_line_is_none() {
        let uses = |pairs: &[(&str, &str)]| {
            let mut uses = Uses::new();
            for (by, of) in pairs {
                uses.entry((*by).to_owned()).or_default().insert((*of).to_owned(), String::new());
            }
            uses
        };
        assert_eq!(rings(&uses(&[("a", "b"), ("b", "c"), ("a", "c")])), Vec::<Vec<String>>::new());
        let found = rings(&uses(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "f"), ("f", "e")]));
        assert_eq!(found, [vec!["a", "b", "c"], vec!["e", "f"]]);
    }
}

//! What the program calls, beginning at its `main`: an estimate that rather calls too much than too little, since a
//! method is known by its name alone, and whatever a trait asks for counts as called.

use std::collections::{BTreeSet, HashMap};

use quote::ToTokens;
use syn::{ImplItem, Item, TraitItem, Type};

use super::{Module, Names, Scope, defined, is_test, names};

/// A function or a constant, by its full path; a method stands below its type.
struct Node<'m> {
    path: String,
    /// The type that it belongs to.
    holder: Option<String>,
    module: &'m Module,
    names: Names,
}

/// What is reached while calls are followed.
#[derive(Default)]
struct Reach {
    open: Vec<usize>,
    /// Words in paths, the names of types among them.
    types: BTreeSet<String>,
    members: BTreeSet<String>,
}

/// All functions of the program, and those of them that it calls.
pub struct Calls<'m> {
    scope: Scope<'m>,
    nodes: Vec<Node<'m>>,
    by_path: HashMap<String, usize>,
    /// Other names of types.
    aliases: HashMap<String, String>,
    /// Methods by their names.
    methods: HashMap<String, Vec<usize>>,
    called: BTreeSet<usize>,
}

impl<'m> Calls<'m> {
    /// Of these modules, beginning at the function with this path.
    pub fn of(modules: &'m [Module], main: &str) -> Self {
        let mut calls = Self {
            scope: Scope::new(modules),
            nodes: Vec::new(),
            by_path: HashMap::new(),
            aliases: HashMap::new(),
            methods: HashMap::new(),
            called: BTreeSet::new(),
        };
        let mut roots = Vec::new();
        for module in modules {
            for item in &module.items {
                calls.add(module, item, &mut roots);
            }
        }
        let mut reach = Reach::default();
        for (module, holder, found) in &roots {
            calls.reach_from(module, holder.as_deref(), found, &mut reach);
        }
        reach.open.extend(calls.by_path.get(main));
        loop {
            while let Some(node) = reach.open.pop() {
                if calls.called.insert(node) {
                    let Node { module, holder, names, .. } = &calls.nodes[node];
                    calls.reach_from(module, holder.as_deref(), names, &mut reach);
                }
            }
            let methods = reach.members.iter().flat_map(|name| calls.of_member(name));
            let is_new = |node: &usize| {
                let holder = calls.nodes[*node].holder.as_ref();
                !calls.called.contains(node) && holder.is_some_and(|holder| reach.types.contains(holder))
            };
            reach.open.extend(methods.filter(is_new).collect::<BTreeSet<_>>());
            if reach.open.is_empty() {
                return calls;
            }
        }
    }

    /// Adds what these names reach. A method is reached by its name where its type is named by anybody else.
    fn reach_from(&self, module: &Module, holder: Option<&str>, names: &Names, reach: &mut Reach) {
        for path in &names.paths {
            reach.open.extend(self.of_path(&self.scope, module, holder, path));
            reach.types.extend(path.iter().filter(|word| holder != Some(word)).cloned());
        }
        reach.members.extend(names.members.iter().cloned());
    }

    fn add(&mut self, module: &'m Module, item: &Item, roots: &mut Vec<(&'m Module, Option<String>, Names)>) {
        match item {
            Item::Fn(_) | Item::Const(_) | Item::Static(_) => {
                let name = defined(item).unwrap_or_default();
                self.insert(module, None, &name, names(item.to_token_stream()));
            }
            Item::Impl(block) => {
                let holder = type_name(&block.self_ty);
                for inner in &block.items {
                    match inner {
                        ImplItem::Fn(function) if is_test(&function.attrs) => {}
                        ImplItem::Fn(function) if block.trait_.is_none() => {
                            let name = function.sig.ident.to_string();
                            self.insert(
                                module,
                                Some(holder.clone()),
                                &name,
                                names(function.to_token_stream()),
                            );
                        }
                        other => roots.push((module, Some(holder.clone()), names(other.to_token_stream()))),
                    }
                }
            }
            Item::Trait(item) => {
                let methods = item.items.iter().filter(|inner| matches!(inner, TraitItem::Fn(_)));
                roots.extend(methods.map(|method| (module, None, names(method.to_token_stream()))));
            }
            Item::Type(item) => drop(self.aliases.insert(item.ident.to_string(), type_name(&item.ty))),
            Item::Use(_) => {}
            other => roots.push((module, defined(other), names(other.to_token_stream()))),
        }
    }

    fn insert(&mut self, module: &'m Module, holder: Option<String>, name: &str, names: Names) {
        let parts = module.path.iter().cloned().chain(holder.clone()).chain([name.to_owned()]);
        let path = parts.collect::<Vec<_>>().join("::");
        let node = self.nodes.len();
        if holder.is_some() {
            self.methods.entry(name.to_owned()).or_default().push(node);
        }
        self.by_path.insert(path.clone(), node);
        self.nodes.push(Node { path, holder, module, names });
    }

    fn of_member(&self, name: &str) -> Vec<usize> {
        self.methods.get(name).cloned().unwrap_or_default()
    }

    fn of_path(
        &self,
        scope: &Scope<'_>,
        module: &Module,
        holder: Option<&str>,
        path: &[String],
    ) -> Vec<usize> {
        let full = scope.resolve(&module.path, path);
        if let Some(node) = full.as_ref().and_then(|full| self.by_path.get(&full.join("::"))) {
            return vec![*node];
        }
        // `Type::method`, wherever the type has it.
        let Some([.., kind, name]) = full.as_deref().or(Some(path)) else { return Vec::new() };
        if !kind.starts_with(char::is_uppercase) {
            return Vec::new();
        }
        let kind = if kind == "Self" { holder.unwrap_or_default() } else { kind.as_str() };
        let kind = self.aliases.get(kind).map_or(kind, String::as_str);
        let is_of_type = |node: &usize| self.nodes[*node].holder.as_deref() == Some(kind);
        self.of_member(name).into_iter().filter(is_of_type).collect()
    }

    /// What these modules name and nothing calls, by its full path. Where a method's name leaves open which one is
    /// meant, it is called if one of them is.
    #[cfg(test)]
    pub fn uncalled(&self, by: &[Module], scope: &Scope<'_>) -> Vec<String> {
        let mut found = BTreeSet::new();
        for module in by {
            for item in &module.items {
                let names = names(item.to_token_stream());
                let paths = names.paths.iter().map(|path| self.of_path(scope, module, None, path));
                let members = names.members.iter().map(|name| self.of_member(name));
                for meant in paths.chain(members) {
                    if !meant.iter().any(|node| self.called.contains(node)) {
                        found.extend(meant.iter().map(|node| self.nodes[*node].path.clone()));
                    }
                }
            }
        }
        found.into_iter().collect()
    }

    /// Everything that nothing calls.
    pub fn all_uncalled(&self) -> Vec<String> {
        let nodes = self.nodes.iter().enumerate().filter(|(node, _)| !self.called.contains(node));
        nodes.map(|(_, node)| node.path.clone()).collect()
    }
}

/// The name of a type, without what it is given.
fn type_name(kind: &Type) -> String {
    match kind {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
        Type::Reference(inner) => type_name(&inner.elem),
        other => other.to_token_stream().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::{crates_of_program, modules, project};

    fn program() -> Vec<Module> {
        let crates = crates_of_program().expect("the crates can be listed");
        crates.iter().flat_map(|folder| modules(folder).expect("the crate can be read")).collect()
    }

    /// What is judged and not called yet, and why.
    const EXCUSED: &[(&str, &[&str])] = &[
        (
            "channels ask these, and come next: nothing is heard from a platform, or sent to one, until then",
            &[
                "yabby_domain::access::allow_list::AllowMatch::wildcard",
                "yabby_domain::access::allow_list::DiscordList::new",
                "yabby_domain::access::allow_list::TelegramList::new",
                "yabby_domain::access::allow_list::discord_slug",
                "yabby_domain::access::allow_list::imessage_allows",
                "yabby_domain::access::allow_list::signal_allows",
                "yabby_domain::access::allow_list::slack_allows",
                "yabby_domain::access::allow_list::slack_match",
                "yabby_domain::access::allow_list::slack_slug",
                "yabby_domain::access::channel_entry::find_entry",
                "yabby_domain::access::command_auth::commands_allowed",
                "yabby_domain::access::group_policy::GuildPolicy::admits",
                "yabby_domain::access::group_policy::GuildPolicy::parse",
                "yabby_domain::access::group_policy::guild_settings",
                "yabby_domain::delivery::last_route",
                "yabby_domain::envelope::body_with_author",
                "yabby_domain::inbound::debounce_ms",
                "yabby_domain::inbound::media::MediaFields::attachments",
                "yabby_domain::reply::reference::ReferencePlanner::has_replied",
                "yabby_domain::reply::reference::ReferencePlanner::mark_sent",
                "yabby_domain::reply::reference::ReferencePlanner::new",
                "yabby_domain::reply::reference::ReferencePlanner::next_reference",
                "yabby_domain::reply::reference::ReferencePlanner::without_references",
                "yabby_domain::route::bound_accounts",
                "yabby_domain::record::SessionEntry::merged",
                "yabby_domain::session::meta::recorded",
                "yabby_domain::transcript::file::header_before_mirror",
                "yabby_domain::transcript::mirror::mirror",
                "yabby_domain::transcript::mirror::mirror_message",
                "yabby_domain::transcript::mirror::mirrored_text",
            ],
        ),
        (
            "heartbeats come later",
            &[
                "yabby_domain::reply::tokens::TokenContext::of_heartbeat",
                "yabby_domain::reply::tokens::heartbeat_file_is_empty",
            ],
        ),
        (
            "OpenClaw's own interactive client asks these, of which there is none here",
            &[
                "yabby_domain::compaction::branch::prepare",
                "yabby_domain::compaction::branch::token_budget",
                "yabby_domain::key::SessionKey::for_request",
                "yabby_domain::key::SessionKey::for_store",
                "yabby_domain::key::SessionKey::is_acp",
                "yabby_domain::transcript::file::most_recent",
                "yabby_domain::transcript::listing::listing",
            ],
        ),
        (
            "the program does it otherwise, and its way is not what the cases are judged by yet",
            &[
                "yabby_domain::reply::deliverable::PrefixValues::fill_in",
                "yabby_domain::transcript::file::TranscriptFile::prepare_for_run",
                "yabby_domain::transcript::file::header_before_run",
                "yabby_domain::transcript::file_repair::repair",
                "yabby_domain::transcript::guard::ToolResultGuard::new",
            ],
        ),
    ];

    /// A recorded case proves a rule that users get, or it proves nothing.
    #[test]
    fn what_is_judged_is_what_runs() {
        let program = program();
        let calls = Calls::of(&program, "yabby::main");
        let testkit = modules(&project().join("crates/yabby-testkit")).expect("the crate can be read");
        let is_suite = |module: &Module| module.path.get(1..3).is_some_and(|at| at == ["vectors", "suites"]);
        let suites: Vec<Module> = testkit.into_iter().filter(is_suite).collect();
        assert!(suites.len() > 20, "only {} suites were found", suites.len());
        let uncalled = calls.uncalled(&suites, &Scope::new(program.iter().chain(&suites)));
        let excused: Vec<&str> = EXCUSED.iter().flat_map(|(_, paths)| *paths).copied().collect();
        let is_excused = |path: &String| excused.contains(&path.as_str());
        let told: Vec<&String> = uncalled.iter().filter(|path| !is_excused(path)).collect();
        assert!(told.is_empty(), "judged, and called by nothing in the program: {told:#?}");
        let is_called = |path: &&&str| !uncalled.iter().any(|other| other == **path);
        let called: Vec<&&str> = excused.iter().filter(is_called).collect();
        assert!(called.is_empty(), "excused without need: {called:#?}");
    }

    #[test]
    fn what_nobody_calls_is_found() {
        let source = "
            mod rules {
                pub fn used() -> u8 { inner::deep() }
                pub fn unused() -> u8 { 1 }
                pub fn by_twin() -> u8 { unused() + by_twin() }
                mod inner { pub fn deep() -> u8 { super::Table::entry(&super::Table) } }
                pub struct Table;
                impl Table {
                    pub fn entry(&self) -> u8 { Self::cell() + self.row() }
                    fn cell() -> u8 { 0 }
                    fn row(&self) -> u8 { 0 }
                    pub fn column(&self) -> u8 { 0 }
                }
            }
            use rules::used as renamed;
            fn main() { println!(\"{}\", renamed()); }";
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("src")).expect("a folder");
        std::fs::write(folder.path().join("src/main.rs"), source).expect("a file");
        let own = modules(folder.path()).expect("it can be read");
        let name = super::super::crate_name(folder.path());
        let calls = Calls::of(&own, &format!("{name}::main"));
        let uncalled: Vec<String> =
            calls.all_uncalled().iter().map(|path| path.replacen(&format!("{name}::"), "", 1)).collect();
        assert_eq!(uncalled, ["rules::unused", "rules::by_twin", "rules::Table::column"]);
    }
}

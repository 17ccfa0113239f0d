//! What is left to be looked up by names in texts: JSON in public signatures and fields; and what is shared behind locks.

use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{ImplItemFn, ItemFn, Signature, TraitItemFn, Type, Visibility};

use super::Figure;
use crate::sources::{Module, Scope, is_public, is_test};

pub fn figures(modules: &[Module], lines: usize) -> Vec<Figure> {
    let scope = Scope::new(modules);
    let mut json = Vec::new();
    let mut shared = Vec::new();
    for module in modules {
        let mut walk = Walk { module, scope: &scope, json: Vec::new(), shared: 0, in_trait: false };
        module.items.iter().for_each(|item| walk.visit_item(item));
        let name = module.path.join("::");
        json.extend(walk.json.into_iter().map(|what| format!("{name}: {what}")));
        if walk.shared > 0 {
            shared.push((walk.shared, name));
        }
    }
    let shared_in_all = shared.iter().map(|(count, _)| count).sum();
    let figure = |what: &str, value, aim, details| Figure { what: what.to_owned(), value, aim, details };
    vec![
        figure(
            "`serde_json::Value` in public signatures and fields, per 100,000 lines",
            json.len() * 100_000 / lines.max(1),
            Some(150),
            json,
        ),
        figure(
            "`Arc` around a `Mutex` or `RwLock`",
            shared_in_all,
            None,
            shared.into_iter().map(|(count, name)| format!("{count:>3}  {name}")).collect(),
        ),
    ]
}

struct Walk<'w> {
    module: &'w Module,
    scope: &'w Scope<'w>,
    json: Vec<String>,
    shared: usize,
    in_trait: bool,
}

impl Walk<'_> {
    /// Counts each mention of a JSON value in a type.
    fn count(&mut self, kind: &Type, what: &str) {
        let mut values = Values { module: self.module, scope: self.scope, found: 0 };
        values.visit_type(kind);
        self.json.extend((0..values.found).map(|_| what.to_owned()));
    }

    fn signature(&mut self, signature: &Signature) {
        let name = signature.ident.to_string();
        for input in &signature.inputs {
            if let syn::FnArg::Typed(input) = input {
                self.count(&input.ty, &format!("fn {name}"));
            }
        }
        if let syn::ReturnType::Type(_, kind) = &signature.output {
            self.count(kind, &format!("fn {name}"));
        }
    }

    fn field(&mut self, visibility: &Visibility, holder: &str, field: &syn::Field) {
        if is_public(visibility) {
            let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            self.count(&field.ty, &format!("{holder}.{name}"));
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if is_public(&item.vis) {
            self.signature(&item.sig);
        }
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if is_test(&item.attrs) {
            return;
        }
        if is_public(&item.vis) {
            self.signature(&item.sig);
        }
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.in_trait = is_public(&item.vis);
        visit::visit_item_trait(self, item);
        self.in_trait = false;
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if self.in_trait {
            self.signature(&item.sig);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if is_public(&item.vis) {
            for field in &item.fields {
                self.field(&field.vis, &item.ident.to_string(), field);
            }
        }
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if is_public(&item.vis) {
            for field in item.variants.iter().flat_map(|variant| &variant.fields) {
                self.field(&item.vis, &item.ident.to_string(), field);
            }
        }
        visit::visit_item_enum(self, item);
    }

    fn visit_type(&mut self, kind: &'ast Type) {
        let text: String = kind.to_token_stream().to_string().split_whitespace().collect();
        let is_lock = ["Mutex<", "RwLock<"].iter().any(|lock| {
            text.strip_prefix("Arc<").is_some_and(|inner| {
                inner.starts_with(lock)
                    || inner.split_once("::").is_some_and(|(_, last)| last.starts_with(lock))
            })
        });
        self.shared += usize::from(is_lock);
        visit::visit_type(self, kind);
    }
}

/// Counts JSON values in a type.
struct Values<'v> {
    module: &'v Module,
    scope: &'v Scope<'v>,
    found: usize,
}

impl<'ast> Visit<'ast> for Values<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.found += usize::from(is_json(self.module, self.scope, &words));
        visit::visit_path(self, path);
    }
}

/// Whether a path means `serde_json::Value`, or an object of such values.
fn is_json(module: &Module, scope: &Scope<'_>, path: &[String]) -> bool {
    let last = path.last().map(String::as_str).unwrap_or_default();
    if last != "Value" && last != "Object" && last != "Map" {
        return false;
    }
    // One of our own is written somewhere; what comes from elsewhere is not.
    let own = scope.resolve(&module.path, path);
    match own {
        Some(own) => own.join("::") == "yabby_domain::json::Object",
        None => last == "Value" || brings_json(module, path, last),
    }
}

/// Whether `Map` and `Object` come from where JSON is.
fn brings_json(module: &Module, path: &[String], last: &str) -> bool {
    let from_json = |target: &[String]| target.iter().any(|part| part == "serde_json" || part == "json");
    from_json(path) || module.uses.iter().any(|used| used.name == last && from_json(&used.target))
}

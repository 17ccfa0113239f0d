//! `yabby models list`.

use std::io::Write as _;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::model::{ModelRef, configured_model, normalize_provider};

use super::{Configured, one_form, shared_config};
use crate::setting::Setting;
use crate::terminal;
use crate::wire::keys::Found;
use crate::wire::models::{Offered, default_model, main_folder, offered};

#[derive(Args)]
pub struct Arguments {
    /// All models that are known, not only those that the configuration names
    #[arg(long)]
    all: bool,
    /// Only models on this machine
    #[arg(long)]
    local: bool,
    /// Only models of this provider
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print names only
    #[arg(long)]
    plain: bool,
}

/// A model as it is printed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    key: String,
    name: String,
    input: &'static str,
    context_window: Option<u64>,
    local: Option<bool>,
    available: Option<bool>,
    tags: Vec<String>,
    missing: bool,
}

/// A model that the configuration names, and as what.
struct Named {
    model: ModelRef,
    tags: Vec<String>,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    one_form(arguments.json, arguments.plain)?;
    let config = shared_config(setting)?;
    let place = &setting.place;
    let offered = offered(place, &config, &main_folder(place));
    let named = named(&config, configured_model(&config, &default_model(place, &config)));
    let provider = arguments.provider.as_deref().map(normalize_provider);
    let is_asked_for =
        |model: &ModelRef| provider.as_ref().is_none_or(|provider| *provider == model.provider);
    let rows: Vec<Row> = match arguments.all {
        true => {
            let mut all: Vec<&Offered> = offered.iter().collect();
            all.sort_by_key(|known| (known.model.provider.clone(), known.model.model.clone()));
            let row = |known: &Offered| {
                let tags =
                    named.iter().find(|named| named.model == known.model).map(|named| named.tags.clone());
                row(&known.model, Some(known), tags.unwrap_or_default())
            };
            all.into_iter().filter(|known| is_asked_for(&known.model)).map(row).collect()
        }
        false => {
            let found = |model: &ModelRef| offered.iter().find(|known| known.model == *model);
            let named = named.into_iter().filter(|named| is_asked_for(&named.model));
            named.map(|named| row(&named.model, found(&named.model), named.tags)).collect()
        }
    };
    let rows: Vec<Row> = rows.into_iter().filter(|row| !arguments.local || row.local == Some(true)).collect();
    if arguments.json {
        return terminal::print_json(&json!({ "count": rows.len(), "models": rows }));
    }
    let mut out = std::io::BufWriter::new(anstream::stdout().lock());
    if rows.is_empty() && !arguments.plain {
        writeln!(out, "No models found.")?;
    }
    for line in lines(&rows, arguments.plain, setting.keeps_reference_text()) {
        writeln!(out, "{}", terminal::harmless(&line))?;
    }
    Ok(out.flush()?)
}

/// The models that the configuration names, in the order of the reference.
fn named(config: &Config, default: ModelRef) -> Vec<Named> {
    let configured = Configured::of(config);
    let numbered = |tag: &str, names: &[String]| -> Vec<(String, String)> {
        let numbered = names.iter().enumerate();
        numbered.map(|(at, name)| (name.clone(), format!("{tag}#{}", at + 1))).collect()
    };
    let mut all = vec![(default.to_string(), "default".to_owned())];
    all.extend(numbered("fallback", &configured.fallbacks));
    all.extend(
        Some(configured.image.clone()).filter(|name| !name.is_empty()).map(|name| (name, "image".into())),
    );
    all.extend(numbered("img-fallback", &configured.image_fallbacks));
    all.extend(configured.listed.iter().map(|name| (name.clone(), "configured".to_owned())));
    let mut named: Vec<Named> = Vec::new();
    for (raw, tag) in all {
        let Some(model) = configured.resolve(&raw) else { continue };
        match named.iter_mut().find(|named| named.model == model) {
            Some(named) => named.tags.push(tag),
            None => named.push(Named { model, tags: vec![tag] }),
        }
    }
    for named in &mut named {
        let names: Vec<&str> = configured.aliases.names_of(&named.model).collect();
        if !names.is_empty() {
            named.tags.push(format!("alias:{}", names.join(",")));
        }
    }
    named
}

fn row(model: &ModelRef, known: Option<&Offered>, mut tags: Vec<String>) -> Row {
    let key = model.to_string();
    let Some(known) = known else {
        tags.push("missing".to_owned());
        return Row {
            name: key.clone(),
            key,
            input: "-",
            context_window: None,
            local: None,
            available: None,
            tags,
            missing: true,
        };
    };
    Row {
        key,
        name: known.name.clone(),
        input: if known.images { "text+image" } else { "text" },
        context_window: Some(known.context_window),
        local: Some(known.is_local),
        available: Some(known.found != Found::Nowhere),
        tags,
        missing: false,
    }
}

fn lines(rows: &[Row], plain: bool, by_1024: bool) -> Vec<String> {
    if plain {
        return rows.iter().map(|row| row.key.clone()).collect();
    }
    let line = |cells: [&str; 6]| {
        let [key, input, context, local, auth, tags] = cells;
        let key = terminal::short(key, 42);
        let blanks = 42_usize.saturating_sub(terminal::columns(&key));
        format!("{key}{:blanks$} {input:10} {context:8} {local:5} {auth:5} {tags}", "").trim_end().to_owned()
    };
    let answer = |known: Option<bool>| known.map_or("-", |yes| if yes { "yes" } else { "no" });
    let row = |row: &Row| {
        let context = row.context_window.map_or_else(|| "-".to_owned(), |tokens| thousands(tokens, by_1024));
        line([&row.key, row.input, &context, answer(row.local), answer(row.available), &row.tags.join(",")])
    };
    let heading = line(["Model", "Input", "Ctx", "Local", "Auth", "Tags"]);
    let heading = (!rows.is_empty()).then_some(heading);
    heading.into_iter().chain(rows.iter().map(row)).collect()
}

/// `200k`, as everywhere else; `195k` by 1024, for scripts of the reference.
fn thousands(tokens: u64, by_1024: bool) -> String {
    let unit = if by_1024 { 1024 } else { 1000 };
    if tokens < unit { tokens.to_string() } else { format!("{}k", (tokens + unit / 2) / unit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_told_in_thousands() {
        for (tokens, told, by_1024) in
            [(512, "512", "512"), (8192, "8k", "8k"), (128_000, "128k", "125k"), (200_000, "200k", "195k")]
        {
            assert_eq!(
                (thousands(tokens, false).as_str(), thousands(tokens, true).as_str()),
                (told, by_1024)
            );
        }
    }

    #[test]
    fn a_model_is_listed_once_with_all_that_it_is() {
        let config = Config::new(json!({"agents": {"defaults": {
            "model": {"primary": "sc", "fallbacks": ["b/two", "a/one"]},
            "imageModel": "c/three",
            "models": {"a/one": {"alias": "sc"}, "b/two": {}, "d/four": {"alias": "x"}},
        }}}));
        let default = configured_model(&config, &ModelRef::new("anthropic", "m"));
        let told: Vec<String> = named(&config, default)
            .iter()
            .map(|named| format!("{} {}", named.model, named.tags.join(" ")))
            .collect();
        let expected = [
            "a/one default fallback#2 configured alias:sc",
            "b/two fallback#1 configured",
            "c/three image",
            "d/four configured alias:x",
        ];
        assert_eq!(told, expected);
    }
}

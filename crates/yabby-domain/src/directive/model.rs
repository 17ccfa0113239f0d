//! `/model` and the aliases of models as directives (`sessions.md` §15).

use std::sync::LazyLock;

use regex::Regex;

use super::{find_directive, skip_spaces, without};
use crate::text;

/// A `/model` directive and what was in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelDirective {
    pub rest: String,
    pub model: Option<String>,
    /// The part after the first `@`.
    pub profile: Option<String>,
}

/// Takes the first `/model …`, or else the first `/<alias>`, out of `body`.
pub fn take_model(body: &str, aliases: &[String]) -> Option<ModelDirective> {
    let (taken, named) = model_command(body).or_else(|| model_alias(body, aliases))?;
    let (model, profile) = match named.as_deref().and_then(|named| named.split_once('@')) {
        Some((model, profile)) => {
            (Some(text::trim(model).to_owned()), text::non_blank(profile).map(str::to_owned))
        }
        None => (named, None),
    };
    Some(ModelDirective { rest: without(body, taken), model, profile })
}

static MODEL: LazyLock<Regex> = LazyLock::new(|| {
    let space = format!("[{}]", text::SPACE_CLASS);
    let name = r"[A-Za-z0-9_.:@-]+(?:/[A-Za-z0-9_.:@-]+)*";
    text::pattern(&format!("^{space}*:?{space}*({name})?"))
});

fn model_command(body: &str) -> Option<(&str, Option<String>)> {
    let (start, after_name) = find_directive(body, &["model"])?;
    let found = MODEL.captures(&body[after_name..])?;
    let end = after_name + found.get(0).map_or(0, |whole| whole.end());
    Some((&body[start..end], found.get(1).map(|name| name.as_str().to_owned())))
}

fn model_alias<'b>(body: &'b str, aliases: &[String]) -> Option<(&'b str, Option<String>)> {
    let names: Vec<&str> = aliases.iter().filter_map(|alias| text::non_blank(alias)).collect();
    let (start, after_name) = find_directive(body, &names)?;
    let name = text::trim_start(&body[start..after_name]).trim_start_matches('/').to_owned();
    let colon = skip_spaces(body, after_name);
    let end = if body[colon..].starts_with(':') { skip_spaces(body, colon + 1) } else { after_name };
    Some((&body[start..end], Some(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_may_be_named_by_its_alias() {
        let aliases = ["opus".to_owned()];
        let taken = |body| take_model(body, &aliases).map(|found| (found.rest, found.model, found.profile));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(taken("hi /model x/y@a@b"), Some(("hi".to_owned(), some("x/y"), some("a@b"))));
        assert_eq!(taken("/Opus: hello"), Some(("hello".to_owned(), some("Opus"), None)));
        assert_eq!(taken("/opusx"), None);
    }
}

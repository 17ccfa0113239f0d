//! The text of a configuration without its secrets, for clients (`gateway.md` §7, `config.get`).

use std::sync::LazyLock;

use regex::{Captures, Regex};
use yabby_config::redaction::{MARK, secrets};
use yabby_domain::json::Value;
use yabby_domain::secrets::{has_password, is_secret_key, is_secret_variable};

use super::text::Text;

/// A member whose value is a text in quotes, wherever it is written.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?s)(?P<start>["']?(?P<key>[A-Za-z_$][A-Za-z0-9_$-]*)["']?\s*:\s*)(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)')"#,
    )
    .expect("a constant pattern compiles")
});

/// A mark in the place of every secret; everything else stays as it is written.
pub(super) fn hidden_in(raw: &str, parsed: &Value) -> String {
    let places = secrets(parsed);
    let changed = Text::parse(raw).map(|text| {
        for steps in &places {
            text.set(steps, &MARK.into());
        }
        text.to_string()
    });
    match changed {
        // What is in comments, or written twice, has names, too.
        Ok(text) => {
            hidden_by_names(text.strip_suffix('\n').filter(|_| !raw.ends_with('\n')).unwrap_or(&text))
        }
        Err(_) => hidden_by_names(raw),
    }
}

/// The same for a text that cannot be read: by what its values are called.
pub(super) fn hidden_by_names(raw: &str) -> String {
    let hide = |found: &Captures<'_>| {
        let value = found.name("double").or(found.name("single")).map_or("", |value| value.as_str());
        let is_reference = value.starts_with("${") && value.ends_with('}');
        let key = &found["key"];
        let is_secret = is_secret_key(key) || is_secret_variable(key) || has_password(value);
        if value.is_empty() || is_reference || !is_secret {
            return found[0].to_owned();
        }
        let quote = if found.name("double").is_some() { '"' } else { '\'' };
        format!("{}{quote}{MARK}{quote}", &found["start"])
    };
    MEMBER.replace_all(raw, hide).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use yabby_domain::json;

    #[test]
    fn everything_but_the_secrets_stays_as_it_is_written() {
        let raw = "// mine\n{\n  gateway: { auth: { token: 'abc', /* token: \"old\" */ }, port: 1 },\n  \"hooks\": {\"token\": \"${T}\"}, // x\n}\n";
        let expected = format!(
            "// mine\n{{\n  gateway: {{ auth: {{ token: \"{MARK}\", /* token: \"{MARK}\" */ }}, port: 1 }},\n  \"hooks\": {{\"token\": \"${{T}}\"}}, // x\n}}\n"
        );
        assert_eq!(hidden_in(raw, &json::read_json5(raw).unwrap()), expected);
    }

    #[test]
    fn a_text_that_cannot_be_read_tells_no_secret_either() {
        let told = hidden_by_names("{ auth: { token: \"a\\\"b\", 'apiKey' : 'k', port: \"1\", ");
        assert_eq!(told, format!("{{ auth: {{ token: \"{MARK}\", 'apiKey' : '{MARK}', port: \"1\", "));
        let told = hidden_by_names("{ env: { MY_PAT: 'p', SHELL: 'sh' }, proxy: 'http://u:pw@host', ");
        assert_eq!(told, format!("{{ env: {{ MY_PAT: '{MARK}', SHELL: 'sh' }}, proxy: '{MARK}', "));
    }
}

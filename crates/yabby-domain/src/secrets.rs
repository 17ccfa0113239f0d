//! What must not be shown: the secrets of the configuration and the environment, and whatever looks like
//! one (`memory.md` §1.2, issue 7).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

use crate::config::Config;
use crate::json::{Object, Value};
use crate::text;

pub use yabby_base::secret_name::{has_password, is_secret_key, is_secret_variable, password_in_address};

/// What stands in the place of a secret.
pub const HIDDEN: &str = "***";

/// Shorter values are in too many texts.
const SHORTEST: usize = 6;

/// A value that is shorter may be a part of a word, and is a secret only where it is one.
const LONG: usize = 12;

/// Values that are secret, and the forms that others have.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    known: Option<AhoCorasick>,
    lengths: Vec<usize>,
}

impl Secrets {
    /// These values, besides what looks like a secret anyway.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let values: BTreeSet<String> = values.into_iter().flat_map(spellings).collect();
        let lengths = values.iter().map(String::len).collect();
        // Where one value begins with another, all of it is hidden.
        let known = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&values).ok();
        Self { known: known.filter(|_| !values.is_empty()), lengths }
    }

    /// The values that a configuration or an environment holds under names of secrets.
    pub fn of_config<'e>(config: &Config, environment: impl IntoIterator<Item = (&'e str, &'e str)>) -> Self {
        let environment: Vec<(&str, &str)> = environment.into_iter().collect();
        let mut values = Vec::new();
        collect(config.raw(), Holder::Section, &environment, &mut values);
        values.extend(given_to_skills(config));
        values.extend(given_to_servers(config));
        for (name, value) in &environment {
            if is_secret_variable(name) {
                values.push((*value).to_owned());
            }
            values.extend(password_in_address(value));
        }
        Self::new(values)
    }

    /// The text without secrets.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let without_known = match &self.known {
            Some(known) => {
                let found = known.find_iter(text).filter(|found| {
                    self.lengths[found.pattern().as_usize()] >= LONG || stands_alone(text, found.range())
                });
                without(Cow::Borrowed(text), found.map(|found| found.range()).collect())
            }
            None => Cow::Borrowed(text),
        };
        let found = forms(&without_known);
        without(without_known, found)
    }

    /// The same for every text in a value.
    pub fn redact_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(&text).into_owned()),
            Value::Array(list) => list.into_iter().map(|value| self.redact_value(value)).collect(),
            Value::Object(fields) => {
                // Among the letters of a picture everything turns up by chance.
                let is_image = fields.get("type").is_some_and(|kind| kind == "image");
                let redacted = |(name, value): (String, Value)| match is_image && name == "data" {
                    true => (name, value),
                    false => (name, self.redact_value(value)),
                };
                fields.into_iter().map(redacted).collect()
            }
            other => other,
        }
    }
}

/// A value as it may be written: plainly, in JSON, in an address.
fn spellings(value: String) -> Vec<String> {
    let value = text::trim(&value);
    // What goes before a key in a header is no secret.
    let value =
        value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("Basic ")).unwrap_or(value).trim();
    if !is_worth_hiding(value) {
        return Vec::new();
    }
    let quoted = serde_json::to_string(value).unwrap_or_default();
    let escaped = quoted.trim_matches('"').to_owned();
    let percent: String = value
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect();
    vec![value.to_owned(), escaped, percent]
}

/// Whether a value is so much of its own that hiding it does not hide other things.
fn is_worth_hiding(value: &str) -> bool {
    const COMMON: [&str; 12] = [
        "changeme",
        "default",
        "disabled",
        "enabled",
        "example",
        "localhost",
        "password",
        "required",
        "secret",
        "token",
        "undefined",
        "unknown",
    ];
    let is_digits = value.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | ','));
    let is_number = is_digits && value.len() < LONG;
    let is_one_letter = value.chars().all(|c| value.starts_with(c));
    let is_elsewhere =
        ["${", "file:", "command:"].iter().any(|start| value.starts_with(start)) || is_path(value);
    let is_common = COMMON.contains(&value.to_ascii_lowercase().as_str());
    let is_anything_else = is_number || is_one_letter || is_elsewhere || is_common;
    value.len() >= SHORTEST && !is_anything_else
}

/// A file that holds a secret is none itself. (Keys in base64 may begin with a slash.)
fn is_path(value: &str) -> bool {
    const ROOTS: [&str; 14] = [
        "etc", "home", "root", "run", "tmp", "usr", "var", "opt", "mnt", "srv", "nix", "proc", "Users",
        "private",
    ];
    let below_root = value.strip_prefix('/').and_then(|rest| rest.split_once('/'));
    value.starts_with("~/")
        || value.starts_with("./")
        || below_root.is_some_and(|(root, _)| ROOTS.contains(&root))
}

#[derive(Clone, Copy, PartialEq)]
enum Holder {
    Section,
    /// Every value is a secret.
    Secret,
}

fn collect(value: &Value, holder: Holder, environment: &[(&str, &str)], found: &mut Vec<String>) {
    match value {
        Value::String(value) => {
            found.extend(password_in_address(value));
            if holder == Holder::Secret {
                // A configuration may name the variable that holds a key.
                let named = environment.iter().find(|(name, _)| name == value);
                found.push(named.map_or(value.as_str(), |(_, value)| value).to_owned());
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, holder, environment, found);
            }
        }
        Value::Object(members) => collect_members(members, holder, environment, found),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn collect_members(members: &Object, holder: Holder, environment: &[(&str, &str)], found: &mut Vec<String>) {
    for (key, value) in members {
        let inner = match key.as_str() {
            "headers" => Holder::Secret,
            key if is_secret_key(key) || is_secret_variable(key) => Holder::Secret,
            // `token: {value: …}` is a secret all the way down.
            _ if holder == Holder::Secret => Holder::Secret,
            _ => Holder::Section,
        };
        collect(value, inner, environment, found);
    }
}

/// What skills are given as variables is theirs alone, whatever it is called; only an address is none.
fn given_to_skills(config: &Config) -> Vec<String> {
    let entries = config.skills.entries.iter().flatten();
    let variables = entries.filter_map(|(_, entry)| entry.env.as_ref()).flat_map(|env| env.values());
    variables.filter(|text| !is_address(text)).cloned().collect()
}

/// What MCP servers are given as variables, too, where it is no setting: no short word such as `production`,
/// and no folder.
fn given_to_servers(config: &Config) -> Vec<String> {
    let servers = config.extras.tools.mcp.servers.iter().flatten();
    let variables = servers.filter_map(|(_, server)| server.env.as_ref()).flat_map(|env| env.values());
    let is_setting = |text: &String| is_address(text) || text.len() < LONG || text.starts_with('/');
    variables.filter(|text| !is_setting(text)).cloned().collect()
}

fn is_address(text: &str) -> bool {
    text.contains("://")
}

/// Where something looks like a secret, whoever's it is.
fn forms(text: &str) -> Vec<Range<usize>> {
    let Some(forms) = FORMS.as_ref() else { return Vec::new() };
    let mut found = Vec::new();
    for captures in forms.captures_iter(text) {
        // What says that a secret follows stays, and an assignment in a program is none.
        let assigned =
            captures.name("assigned").or_else(|| captures.name("member")).or_else(|| captures.name("option"));
        match (assigned, captures.name("bearer"), captures.get(0)) {
            (Some(value), ..) if is_written_out(value.as_str()) => found.push(value.range()),
            (Some(_), ..) => {}
            (None, Some(value), _) => found.push(value.range()),
            (None, None, Some(whole)) => found.push(whole.range()),
            (None, None, None) => {}
        }
    }
    found
}

static FORMS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let forms = [
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.)*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        r"\bsk-[A-Za-z0-9_-]{16,}",
        r"\bgh[pousr]_[A-Za-z0-9]{20,}",
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\bglpat-[A-Za-z0-9_-]{16,}",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"\bxapp-[A-Za-z0-9-]{10,}",
        r"\bgsk_[A-Za-z0-9_-]{10,}",
        r"\bAIza[0-9A-Za-z_-]{20,}",
        r"\bpplx-[A-Za-z0-9_-]{10,}",
        r"\bnpm_[A-Za-z0-9]{20,}",
        r"\bhf_[A-Za-z0-9]{20,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        // Telegram
        r"\b[0-9]{8,}:[A-Za-z0-9_-]{30,}",
        // A signed token of three parts
        r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        r"(?i:\bBearer)[ \t]+(?P<bearer>[A-Za-z0-9._+/=~-]{18,})",
        r#"\b[A-Z0-9_]*(?:_KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD)\b["']?[ \t]*[=:][ \t]*["']?(?P<assigned>[^\s"'`,;\\]{8,})"#,
        r#""(?:apiKey|token|secret|password|passwd|accessToken|refreshToken|botToken|signingSecret)"[ \t]*:[ \t]*"(?P<member>[^"\s]{8,})""#,
        r#"--(?:api[-_]?key|token|secret|password|passwd)[ \t=]+["']?(?P<option>[^\s"'`]{8,})"#,
    ];
    // Boundaries of plain letters: those of all letters would be looked for slowly.
    Regex::new(&forms.join("|").replace(r"\b", r"(?-u:\b)")).ok()
});

/// Whether what is assigned is a value, and not where one is taken from or a place to put one.
fn is_written_out(value: &str) -> bool {
    let is_elsewhere = value.starts_with(['$', '<', '{', '[', '(', '%', '&', '*', '/', '~'])
        || value.contains(['(', '[', '{', '<'])
        || value.contains("::")
        || value.contains("...")
        || value.contains("env.")
        || value.to_ascii_lowercase().starts_with("your");
    let mut letters = value.chars().filter(|c| c.is_alphanumeric());
    let first = letters.next();
    let is_filled_in = letters.any(|c| Some(c) != first);
    !is_elsewhere && is_filled_in && !value.eq_ignore_ascii_case("undefined")
}

/// Whether the characters around it are no part of the same word.
fn stands_alone(text: &str, found: Range<usize>) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    !text[..found.start].chars().next_back().is_some_and(is_word)
        && !text[found.end..].chars().next().is_some_and(is_word)
}

fn without<'t>(text: Cow<'t, str>, ranges: Vec<Range<usize>>) -> Cow<'t, str> {
    if ranges.is_empty() {
        return text;
    }
    let mut safe = String::with_capacity(text.len());
    let mut done = 0;
    for range in ranges {
        safe.push_str(&text[done..range.start]);
        safe.push_str(HIDDEN);
        done = range.end;
    }
    safe.push_str(&text[done..]);
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_configuration_and_the_environment_keep_secret_is_hidden() {
        let config = Config::new(json!({
            "gateway": {"auth": {"token": "gateway-token-1", "mode": "token"}, "port": 18789},
            "channels": {
                "telegram": {"botToken": "tg-bot-value", "accounts": {"a": {"botToken": "second-bot-value"}}},
                "slack": {"signingSecret": "slack/sign\"ing+", "appToken": "short"},
            },
            "models": {"providers": {
                "one": {"apiKey": "MY_OWN_NAME", "baseUrl": "https://user:pass-word-9@host.example/v1"},
                "two": {"headers": {"X-Tenant": "tenant-value", "Authorization": "Bearer header-value-1"}},
                "three": {"apiKey": "file:~/key.txt"},
            }},
            "env": {"vars": {"OPENAI_API_KEY": "openai-value-77", "EDITOR": "editor-value"}},
            "tools": {"mcp": {"servers": {"x": {"env": {"X_TOKEN": "server-token-5", "TENANT": "server-tenant-5", "MODE": "production", "NOTES": "/data/my/notes"}, "command": "program-name"}}}},
            "session": {"mainKey": "main-key-value"},
            "agents": {"defaults": {"maxTokens": 123456}},
            "plugins": {"entries": {"p": {"config": {"credentials": {"user": "plugin-user", "list": ["plugin-list"]}}}}},
            "hooks": {"token": "true"},
            "skills": {"entries": {"k": {
                "apiKey": "skill-key-value",
                "env": {"TENANT": "skill-tenant-9", "PLACE": "https://skill.example/api"},
                "config": {"tone": "skill-tone-value"},
            }}},
        }));
        let environment = [
            ("MY_OWN_NAME", "value-of-own-name"),
            ("GITHUB_TOKEN", "github-value"),
            ("DB_PASSWORD", "pw12"),
            ("DATABASE_URL", "postgres://me:database-pw@localhost/x"),
            ("SSH_KEY", "/home/me/.ssh/id_rsa"),
            ("HOME", "/home/me-and-you"),
            ("PAGER_TOKEN", "12345678"),
        ];
        let secrets = Secrets::of_config(&config, environment);
        let hidden = [
            "skill-key-value",
            "skill-tenant-9",
            "server-tenant-5",
            "gateway-token-1",
            "tg-bot-value",
            "second-bot-value",
            "slack/sign\"ing+",
            "slack/sign\\\"ing+",
            "slack%2Fsign%22ing%2B",
            "value-of-own-name",
            "pass-word-9",
            "tenant-value",
            "header-value-1",
            "openai-value-77",
            "server-token-5",
            "plugin-user",
            "plugin-list",
            "github-value",
            "database-pw",
        ];
        for value in hidden {
            assert_eq!(secrets.redact(&format!("a {value} b")), "a *** b", "{value}");
        }
        let shown = [
            "MY_OWN_NAME",
            "short",
            "editor-value",
            "program-name",
            "production",
            "/data/my/notes",
            "main-key-value",
            "123456",
            "true",
            "pw12",
            "/home/me/.ssh/id_rsa",
            "/home/me-and-you",
            "12345678",
            "~/key.txt",
            "token",
            "18789",
            "user",
            "host.example",
        ];
        for value in shown {
            assert_eq!(secrets.redact(&format!("a {value} b")), format!("a {value} b"));
        }
    }

    #[test]
    fn what_looks_like_a_secret_is_hidden() {
        //  text, without secrets
        let table = [
            ("sk-ant-api03-0123456789abcdef", "***"),
            ("my key sk-proj-abcdefghijklmnop.", "my key ***."),
            ("ghp_0123456789abcdefghij0123", "***"),
            ("github_pat_11ABCDEFG0123456789_abc", "***"),
            ("xoxb-123456789012-abcdef", "***"),
            ("AIzaSyA0123456789abcdefghijk", "***"),
            ("AKIAIOSFODNN7EXAMPLE", "***"),
            ("12345678:AAF0123456789abcdefghijklmnopqrs", "***"),
            ("Authorization: Bearer abcdefghijklmnopqrstuv", "Authorization: Bearer ***"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijkl", "***"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nafter",
                "***\nafter",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMIIE, cut off", "***"),
            ("export DB_PASSWORD='hunter2hunter2'", "export DB_PASSWORD='***'"),
            ("MY_API_KEY=abc123def456\nNEXT=1", "MY_API_KEY=***\nNEXT=1"),
            ("{\"apiKey\": \"abc123def456\", \"a\": 1}", "{\"apiKey\": \"***\", \"a\": 1}"),
            ("curl --token abc123def456 x", "curl --token *** x"),
        ];
        for (text, without) in table {
            assert_eq!(Secrets::default().redact(text), without, "{text}");
        }
    }

    #[test]
    fn programs_and_prose_stay_as_they_are() {
        let table = [
            "let token: SecretString = config.token();",
            "API_KEY=${API_KEY}",
            "API_KEY=$OTHER_NAME_HERE",
            "API_KEY=<your key here>",
            "API_KEY=your-api-key",
            "API_KEY = os.environ[\"API_KEY\"]",
            "const API_KEY = process.env.API_KEY;",
            "PASSWORD=********",
            "SECRET: ...........",
            "\"token\": \"<token>\"",
            "max_tokens: 4096, monkey: banana-split",
            "the password: correct horse battery",
            "a task-list and a risk-free thing, disk-usage-report-2026",
            "at 12:30:59 on 2026-11-17T05:29:00Z",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----",
            "Bearer of bad news",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ];
        for text in table {
            let shown = Secrets::default();
            assert!(
                matches!(shown.redact(text), Cow::Borrowed(same) if same == text),
                "{text}: {}",
                shown.redact(text)
            );
        }
    }

    #[test]
    fn a_short_value_inside_a_word_is_none() {
        let secrets = Secrets::new(["summer".to_owned(), "summer-of-2026-long".to_owned()]);
        let table = [
            ("summer", "***"),
            ("summertime midsummer", "summertime midsummer"),
            ("pw=summer;", "pw=***;"),
            ("xsummer-of-2026-longx", "x***x"),
        ];
        for (text, without) in table {
            assert_eq!(secrets.redact(text), without);
        }
    }

    #[test]
    fn every_text_of_a_value_is_looked_through_but_pictures() {
        let secrets = Secrets::new(["known-secret-77".to_owned()]);
        let value = json!({"a": ["known-secret-77", 5], "b": {"type": "image", "data": "x/AIzaSyA0123456789abcdefghijk", "mimeType": "image/png"}});
        let expected = json!({"a": ["***", 5], "b": {"type": "image", "data": "x/AIzaSyA0123456789abcdefghijk", "mimeType": "image/png"}});
        assert_eq!(secrets.redact_value(value), expected);
    }

    #[test]
    fn long_texts_take_no_time() {
        let secrets = Secrets::new((0..200).map(|number| format!("known-secret-{number}-of-many")));
        let text =
            "A_LONG_NAME_WITHOUT_VALUE = 1; nothing to hide here, sk- xox- AIza Bearer\n".repeat(50_000);
        assert!(matches!(secrets.redact(&text), Cow::Borrowed(_)));
        let names = "A".repeat(2_000_000);
        assert!(matches!(secrets.redact(&names), Cow::Borrowed(_)));
    }
}

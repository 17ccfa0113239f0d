//! Transcripts without secrets (`memory.md` §1.2).
//!
//! Not [`yabby_domain::secrets`]: there nothing of a secret is shown, and prose is left alone. Here the
//! text must be the reference's to the letter, since its hash decides whether a transcript is indexed
//! anew.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use yabby_domain::text;

/// Tokens that are shorter are hidden wholly.
const SHORT: usize = 18;

/// The sixteen forms, applied in this order. `\s` is JavaScript's, filled in below.
///
/// Two of the reference's patterns refer back to the quote that opened a value. Since a value holds no
/// quotes, it is closed by the same one or has none at all; said so, no pattern needs backtracking, and
/// none takes long on a hostile text.
const FORMS: [&str; 16] = [
    r#"\b[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)\b\s*[=:]\s*(?:"([^\s"'\\]+)"|'([^\s"'\\]+)'|([^\s"'\\]+))"#,
    r#""(?:apiKey|token|secret|password|passwd|accessToken|refreshToken)"\s*:\s*"([^"]+)""#,
    r#"--(?:api[-_]?key|token|secret|password|passwd)\s+(?:"([^\s"']+)"|'([^\s"']+)'|([^\s"']+))"#,
    r"Authorization\s*[:=]\s*Bearer\s+([A-Za-z0-9._\-+=]+)",
    r"\bBearer\s+([A-Za-z0-9._\-+=]{18,})\b",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----",
    r"\b(sk-[A-Za-z0-9_-]{8,})\b",
    r"\b(ghp_[A-Za-z0-9]{20,})\b",
    r"\b(github_pat_[A-Za-z0-9_]{20,})\b",
    r"\b(xox[baprs]-[A-Za-z0-9-]{10,})\b",
    r"\b(xapp-[A-Za-z0-9-]{10,})\b",
    r"\b(gsk_[A-Za-z0-9_-]{10,})\b",
    r"\b(AIza[0-9A-Za-z\-_]{20,})\b",
    r"\b(pplx-[A-Za-z0-9_-]{10,})\b",
    r"\b(npm_[A-Za-z0-9]{10,})\b",
    r"\b([0-9]{6,}:[A-Za-z0-9_-]{20,})\b",
];

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compiled = FORMS.iter().map(|form| Regex::new(&in_rust(form)));
    compiled.collect::<Result<_, _>>().expect("constant patterns compile")
});

/// A JavaScript pattern with the flag `i`: there letters match across cases within ASCII only, and word
/// boundaries are those of ASCII words. Only what may match any character knows of Unicode.
fn in_rust(form: &str) -> String {
    let mut form = form.replace(r"[\s\S]", "(?su:.)");
    for class in [r#"[^\s"'\\]"#, r#"[^\s"']"#, r#"[^"]"#] {
        form = form.replace(class, &format!("(?u:{})", class.replace(r"\s", text::SPACE_CLASS)));
    }
    format!("(?i-u){}", form.replace(r"\s", &format!("(?u:[{}])", text::SPACE_CLASS)))
}

/// The text with every secret hidden but for its ends.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for pattern in PATTERNS.iter() {
        if let Cow::Owned(shorter) = pattern.replace_all(&text, |found: &Captures<'_>| hidden(found)) {
            text = Cow::Owned(shorter);
        }
    }
    text
}

fn hidden(found: &Captures<'_>) -> String {
    let whole = &found[0];
    if whole.contains("PRIVATE KEY-----") {
        return without_block(whole);
    }
    let groups = found.iter().skip(1).flatten().map(|group| group.as_str());
    let token = groups.filter(|group| !group.is_empty()).last().unwrap_or(whole);
    whole.replacen(token, &masked(token), 1)
}

/// A private key: its first and its last line.
fn without_block(block: &str) -> String {
    let lines: Vec<&str> = block
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .filter(|line| !line.is_empty())
        .collect();
    match lines.as_slice() {
        [first, .., last] => format!("{first}\n…redacted…\n{last}"),
        _ => "***".to_owned(),
    }
}

fn masked(token: &str) -> String {
    if text::units(token) < SHORT {
        return "***".to_owned();
    }
    format!("{}…{}", text::head(token, 6), text::tail(token, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_as_the_reference_does() {
        //  text, without secrets
        let table = [
            ("KEY=KEY", "***=KEY"),
            ("KEY=\"a'b", "KEY=\"a'b"),
            ("KEY='abc' x", "KEY='***' x"),
            ("KEY='abc\" x", "KEY='abc\" x"),
            ("--token 'abc' --token abc'd", "--token '***' --token ***'d"),
            ("-----begin private key-----\nabc\n-----end private key-----", "-----b…----"),
            (
                "-----BEGIN PRIVATE KEY-----\n\nabc\r\n-----END PRIVATE KEY-----",
                "-----BEGIN PRIVATE KEY-----\n…redacted…\n-----END PRIVATE KEY-----",
            ),
            (
                "-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----",
                "-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----",
            ),
            ("\"secret\":\"x\nPRIVATE KEY-----\nabc\"", "\"secret\":\"x\n…redacted…\nabc\""),
            ("KEY=😀😀😀aaaaaaaaaaaaaaaaa😀😀", "KEY=😀😀😀…😀😀"),
            ("sk-aaaaaaaa--- sk-aaaaaaaaaaaaaaaaaaaaaaaa-", "***--- sk-aaa…aaaa-"),
            ("ſk-12345678901234567890", "ſk-12345678901234567890"),
            ("xsk-12345678901234567890", "xsk-12345678901234567890"),
            ("é sk-12345678901234567890é", "é sk-123…7890é"),
            ("KEY\u{a0}=\u{2003}abc", "KEY\u{a0}=\u{2003}***"),
            ("key=a key=a", "key=*** key=***"),
            ("KEY=*** KEY=abcdef…wxyz", "KEY=*** KEY=***"),
            // The reference lets `$&` bring the secret back.
            ("PASSWORD=a$&aaaaaaaaaaaaaaaaaaaaa", "PASSWORD=a$&aaa…aaaa"),
        ];
        for (text, expected) in table {
            assert_eq!(redacted(text), expected, "{text}");
        }
    }

    #[test]
    fn long_texts_take_no_time() {
        for piece in ["A_", "KEY = ", "-----BEGIN PRIVATE KEY-----", "--token \"", "sk-aaaaaaaaaa-", "1:"] {
            let text = piece.repeat(200_000 / piece.len());
            assert!(redacted(&text).len() <= text.len(), "{piece}");
        }
    }
}

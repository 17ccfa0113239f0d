//! Messages that were delivered without a run, put into the transcript (`transcripts.md` §7.6).

use jiff::Timestamp;

use crate::json::{Object, Value};
use crate::message::{Message, text_block};
use crate::path::percent_encoded;
use crate::text;

/// Why nothing is mirrored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMirrored {
    #[error("missing sessionKey")]
    NoKey,
    #[error("empty text")]
    NoText,
    #[error("unknown sessionKey: {0}")]
    UnknownKey(String),
}

/// What was delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered<'a> {
    pub text: Option<&'a str>,
    pub media_urls: &'a [&'a str],
}

/// The text to mirror into the session called `key`; `known` tells whether there is one.
pub fn mirror(
    key: &str,
    known: impl FnOnce(&str) -> bool,
    delivered: Delivered<'_>,
) -> Result<String, NotMirrored> {
    let key = text::non_blank(key).ok_or(NotMirrored::NoKey)?;
    let text = mirrored_text(delivered).ok_or(NotMirrored::NoText)?;
    if known(key) { Ok(text) } else { Err(NotMirrored::UnknownKey(key.to_owned())) }
}

/// The names of the media if there are any, else the text.
pub fn mirrored_text(delivered: Delivered<'_>) -> Option<String> {
    let media: Vec<&str> = delivered.media_urls.iter().filter_map(|url| text::non_blank(url)).collect();
    if media.is_empty() {
        return delivered.text.and_then(text::non_blank).map(str::to_owned);
    }
    let names: Vec<String> =
        media.into_iter().filter_map(media_name).filter(|name| !text::trim(name).is_empty()).collect();
    Some(if names.is_empty() { "media".to_owned() } else { names.join(", ") })
}

/// The file name at the end of a URL or a path, without query and fragment.
fn media_name(media: &str) -> Option<String> {
    let media = media.split(['#', '?']).next().unwrap_or_default();
    match url_path(media) {
        Some(path) => base_name(&path).map(|base| percent_decoded(base).unwrap_or_else(|| base.to_owned())),
        None => base_name(media).filter(|base| *base != ".").map(str::to_owned),
    }
}

fn base_name(path: &str) -> Option<&str> {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().filter(|base| !base.is_empty())
}

/// The path of a URL as a browser spells it; `None` if it is none.
fn url_path(url: &str) -> Option<String> {
    let url: String =
        url.trim_matches(|c: char| c <= ' ').chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let (scheme, rest) = url.split_once(':')?;
    let mut letters = scheme.chars();
    let is_scheme = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    if !is_scheme {
        return None;
    }
    let path = match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" | "ws" | "wss" | "ftp" => {
            let rest = rest.replace('\\', "/");
            let (authority, path) = host_and_path(rest.trim_start_matches('/'));
            is_authority(authority, Host::Domain).then(|| absolute_path(path))?
        }
        "file" => {
            let rest = rest.replace('\\', "/");
            let (host, path) = rest.strip_prefix("//").map_or(("", rest.as_str()), host_and_path);
            (host.is_empty() || is_host(host, Host::Domain)).then(|| absolute_path(path))?
        }
        _ if rest.starts_with('/') => {
            let (authority, path) = rest.strip_prefix("//").map_or(("", rest), host_and_path);
            let is_valid = authority.is_empty() || is_authority(authority, Host::Opaque);
            is_valid.then(|| if path.is_empty() { String::new() } else { absolute_path(path) })?
        }
        // Only what no URL may hold is spelt out.
        _ => percent_encoded(rest, |c| c.is_control() || !c.is_ascii()),
    };
    Some(path)
}

fn host_and_path(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

#[derive(Clone, Copy, PartialEq)]
enum Host {
    /// A name or an address.
    Domain,
    /// Whatever the scheme makes of it.
    Opaque,
}

/// Whether a browser would take this for a host, with or without user and port.
fn is_authority(authority: &str, kind: Host) -> bool {
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    let port_at = host_and_port.rfind(':').filter(|at| !host_and_port[*at..].contains(']'));
    let (host, port) = host_and_port.split_at(port_at.unwrap_or(host_and_port.len()));
    let port = port.strip_prefix(':').unwrap_or(port);
    let is_port =
        port.is_empty() || (port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok());
    is_port && is_host(host, kind)
}

fn is_host(host: &str, kind: Host) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        return address
            .strip_suffix(']')
            .is_some_and(|address| address.parse::<core::net::Ipv6Addr>().is_ok());
    }
    match kind {
        Host::Opaque => !host.is_empty() && !host.contains(|c| "\0 #/:<>?@[\\]^|".contains(c)),
        Host::Domain => {
            let host = lenient_percent_decoded(host);
            let forbidden = |c: char| c <= ' ' || "\u{7f}#%/:<>?@[\\]^|".contains(c);
            !host.is_empty() && !host.contains(forbidden) && is_name_or_address(&host)
        }
    }
}

/// A host that ends in a number is an address, and an address has at most four numbers.
fn is_name_or_address(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_number = |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_digit());
    let ends_in_number = host.rsplit('.').next().is_some_and(is_number);
    !ends_in_number || (host.split('.').count() <= 4 && host.split('.').all(is_number))
}

/// A path without `.` and `..`, its special characters spelt out.
fn absolute_path(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    let mut parts = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        match dots(part) {
            0 => segments.push(part),
            dots => {
                if dots == 2 {
                    segments.pop();
                }
                if last {
                    segments.push("");
                }
            }
        }
    }
    let path = format!("/{}", segments.join("/"));
    percent_encoded(&path, |c| c <= ' ' || c == '\u{7f}' || !c.is_ascii() || "\"#<>?`{}".contains(c))
}

/// One for `.`, two for `..`, also where they are percent-encoded.
fn dots(segment: &str) -> usize {
    match segment.to_ascii_lowercase().replace("%2e", ".").as_str() {
        "." => 1,
        ".." => 2,
        _ => 0,
    }
}

/// The text that escapes spell; what is no escape stays.
fn lenient_percent_decoded(encoded: &str) -> String {
    let bytes = encoded.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match escaped_byte(bytes, at) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The byte that `%41` at this place spells.
fn escaped_byte(bytes: &[u8], at: usize) -> Option<u8> {
    let digits = bytes.get(at..at + 3)?.strip_prefix(b"%")?;
    let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The text that escapes spell; `None` if one is not an escape, or they do not spell text.
fn percent_decoded(encoded: &str) -> Option<String> {
    let bytes = encoded.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'%' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        out.push(escaped_byte(bytes, at)?);
        at += 3;
    }
    String::from_utf8(out).ok().map(|text| text::from_outside(&text).into_owned())
}

/// The message that stands for a delivery.
pub fn mirror_message(mirrored: &str, now: Timestamp) -> Message {
    const COUNTS: [&str; 4] = ["input", "output", "cacheRead", "cacheWrite"];
    let mut cost = zeros(&COUNTS);
    cost.insert("total".into(), 0.into());
    let mut usage = zeros(&COUNTS);
    usage.insert("totalTokens".into(), 0.into());
    usage.insert("cost".into(), Value::Object(cost));
    let mut message = Message::default();
    message.set("role", "assistant");
    message.set("content", vec![text_block(mirrored)]);
    message.set("api", "openai-responses");
    message.set("provider", "openclaw");
    message.set("model", "delivery-mirror");
    message.set("usage", Value::Object(usage));
    message.set("stopReason", "stop");
    message.set("timestamp", now.as_millisecond());
    message
}

/// A note for `chat.inject`, below `[label]` if it has one.
pub fn injected_message(body: &str, label: Option<&str>, now: Timestamp) -> Message {
    let label =
        label.filter(|label| !label.is_empty()).map(|label| format!("[{label}]\n\n")).unwrap_or_default();
    let mut message = Message::default();
    message.set("role", "assistant");
    message.set("content", vec![text_block(&format!("{label}{body}"))]);
    message.set("timestamp", now.as_millisecond());
    message.set("stopReason", "injected");
    message.set("usage", Value::Object(zeros(&["input", "output", "totalTokens"])));
    message
}

fn zeros(fields: &[&str]) -> Object {
    fields.iter().map(|field| ((*field).to_owned(), Value::from(0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::file::{OnOpen, TranscriptFile, Write};
    use crate::transcript::tree::NewEntry;
    use crate::transcript::{Stamp, Transcript};

    #[test]
    fn media_are_told_by_name() {
        let table: [(Option<&str>, &[&str], Option<&str>); 18] = [
            (Some(" hi "), &[], Some("hi")),
            (Some("  "), &[" "], None),
            (
                Some("t"),
                &["https://x.y/a/photo%20one.png?sig=1#f", "/out/report.pdf"],
                Some("photo one.png, report.pdf"),
            ),
            (None, &["https://x.y/"], Some("media")),
            (None, &["/", "."], Some("media")),
            (None, &["https://x.y/%E0%A4%A.png"], Some("%E0%A4%A.png")),
            (None, &["https://x.y/é b%zz.png"], Some("%C3%A9%20b%zz.png")),
            (None, &["https://x.y/é b.png"], Some("é b.png")),
            (None, &["C:\\dir\\f.txt"], Some("\\dir\\f.txt")),
            (None, &["file:///z/q%41.mp3"], Some("qA.mp3")),
            (None, &["q%41.mp3"], Some("q%41.mp3")),
            (None, &["https://x.y/a\\b%41"], Some("bA")),
            (None, &["https://x.y/dir/.."], Some("media")),
            (None, &["https://x.y/a/%2e/b/"], Some("b")),
            (None, &["http://no host/x%41"], Some("x%41")),
            (None, &["http://h:99999/x%41"], Some("x%41")),
            (None, &["data:image/png;base64,AA/B"], Some("B")),
            (None, &["http://"], Some("http:")),
        ];
        for (text, media_urls, expected) in table {
            assert_eq!(
                mirrored_text(Delivered { text, media_urls }).as_deref(),
                expected,
                "{text:?} {media_urls:?}"
            );
        }
    }

    #[test]
    fn a_mirror_needs_a_known_key_and_a_text() {
        let delivered = Delivered { text: Some("x"), media_urls: &[] };
        let reason =
            |key: &str, delivered| mirror(key, |key| key == "k", delivered).map_err(|e| e.to_string());
        assert_eq!(reason(" ", delivered), Err("missing sessionKey".into()));
        assert_eq!(reason("k", Delivered::default()), Err("empty text".into()));
        assert_eq!(reason(" j ", delivered), Err("unknown sessionKey: j".into()));
        assert_eq!(reason(" k ", delivered), Ok("x".into()));
    }

    /// A file with a note at its end.
    fn with_note(file: &str, note: Message) -> String {
        let mut fresh = || "0bad1dea-0000".to_owned();
        let mut stamp = Stamp { now: Timestamp::UNIX_EPOCH, fresh_id: &mut fresh };
        let (opened, action) = TranscriptFile::open(Some(file), "/w", &mut stamp);
        let planned = opened.plan(vec![NewEntry::Message(note)], &mut stamp).expect("it has a place");
        let before = match action {
            OnOpen::Nothing => file.to_owned(),
            OnOpen::Replace { text, .. } | OnOpen::SetAside { text } => text,
        };
        match planned.write {
            Write::File(text) => before + &text,
            Write::Journal(text) => panic!("a note is an answer: {text}"),
        }
    }

    #[test]
    fn a_note_hangs_from_the_leaf() {
        let file = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"x\",\"id\":\"a\",\"parentId\":null}";
        let note = injected_message("body", Some("ops"), Timestamp::UNIX_EPOCH);
        assert_eq!(
            with_note(file, note).lines().last(),
            Some(concat!(
                r#"{"type":"message","id":"0bad1dea","parentId":"a","timestamp":"1970-01-01T00:00:00.000Z","message":{"role":"assistant","#,
                r#""content":[{"type":"text","text":"[ops]\n\nbody"}],"timestamp":0,"stopReason":"injected","usage":{"input":0,"output":0,"totalTokens":0}}}"#
            ))
        );
    }

    #[test]
    fn a_note_in_a_plain_list_comes_last() {
        let list = "{\"type\":\"session\",\"version\":2,\"id\":\"s\"}\n\
            {\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"user\"}}\n\
            {\"type\":\"message\",\"id\":\"b\",\"message\":{\"role\":\"assistant\"}}\n";
        let grown = with_note(list, injected_message("body", None, Timestamp::UNIX_EPOCH));
        let grown = Transcript::read(&grown).expect("a header");
        assert_eq!(grown.context().messages.len(), 3);
    }
}

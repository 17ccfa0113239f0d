//! Dotenv files: `NAME=value` lines (`config.md` §1).

use std::sync::LazyLock;

use regex::Regex;
use yabby_base::text;

/// The variables of a file, in its order. Lines that say nothing are passed over.
///
/// Values may be quoted with any of the three quotes, then over several lines; in double quotes `\n` and
/// `\r` are line breaks. Nothing is filled in: `$X` is no reference here.
pub fn parse(source: &str) -> Vec<(String, String)> {
    static LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?m)^\s*(?:export\s+)?([A-Za-z0-9_.\-]+)(?:\s*=\s*?|:\s+?)",
            r#"(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?"#,
            r"\s*(?:#.*)?$",
        ))
        .ok()
    });
    let Some(line) = LINE.as_ref() else { return Vec::new() };
    let source = source.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    line.captures_iter(&source)
        .filter_map(|found| {
            Some((found.get(1)?.as_str().to_owned(), value(found.get(2).map_or("", |it| it.as_str()))))
        })
        .collect()
}

fn value(raw: &str) -> String {
    let raw = text::trim(raw);
    let unquoted = ['\'', '"', '`']
        .into_iter()
        .find_map(|quote| raw.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(raw);
    match raw.starts_with('"') {
        true => unquoted.replace("\\n", "\n").replace("\\r", "\r"),
        false => unquoted.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_the_reference_s_loader_reads_them() {
        //  text                                      variables
        let table: [(&str, &[(&str, &str)]); 14] = [
            ("A=1\nB = two words \n", &[("A", "1"), ("B", "two words")]),
            ("export A=1\r\nB: x\n", &[("A", "1"), ("B", "x")]),
            ("# A=1\n\nno line\nB=2", &[("B", "2")]),
            ("A=x # note\nB='x # no note' # note", &[("A", "x"), ("B", "x # no note")]),
            ("A=\nB=''\nC=\"\"", &[("A", ""), ("B", ""), ("C", "")]),
            ("A=\"a\\nb\"\nB='a\\nb'", &[("A", "a\nb"), ("B", "a\\nb")]),
            ("A=\"one\ntwo\"\nB=`x'\"`", &[("A", "one\ntwo"), ("B", "x'\"")]),
            ("A='it\\'s'", &[("A", "it\\'s")]),
            ("A=$B${C}", &[("A", "$B${C}")]),
            ("A.b-c_1=x", &[("A.b-c_1", "x")]),
            ("A=1\nA=2", &[("A", "1"), ("A", "2")]),
            ("A=\"x\"y", &[("A", "\"x\"y")]),
            ("A=a=b", &[("A", "a=b")]),
            ("A", &[]),
        ];
        for (text, variables) in table {
            let read = parse(text);
            let read: Vec<(&str, &str)> =
                read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(read, variables, "{text:?}");
        }
    }
}

//! Whether a text is as we would write it, told without reading it into values (`sessions.md` §6): a store of thousands
//! of records that are all well written is not to be taken apart in order to be put together the same again.

use super::number_text;

/// Whether a text is what [`super::stringify_pretty`] makes of the value in it, that many levels deep. Of texts that
/// are so in an unusual way it says no: whoever hears that reads and writes them, which is only slower.
pub fn is_pretty(text: &str, depth: usize) -> bool {
    let mut look = Look { text: text.as_bytes(), at: 0, names: Vec::new() };
    look.value(depth).is_some() && look.at == look.text.len()
}

/// More levels are read and written.
const DEEPEST: usize = 32;
/// In objects with more members it would take long to see that no two have one name.
const MOST_MEMBERS: usize = 64;

struct Look<'t> {
    text: &'t [u8],
    at: usize,
    /// The names in all objects that are not over yet.
    names: Vec<&'t [u8]>,
}

/// `None` for what is not as we would write it.
type Usual = Option<()>;

impl<'t> Look<'t> {
    fn value(&mut self, depth: usize) -> Usual {
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(drop),
            b't' => self.pass(b"true"),
            b'f' => self.pass(b"false"),
            b'n' => self.pass(b"null"),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Usual {
        self.pass(b"{")?;
        if self.peek()? == b'}' {
            return self.pass(b"}");
        }
        let first = self.names.len();
        loop {
            self.line(depth + 1)?;
            let name = self.string()?;
            // JavaScript puts names that are numbers first, and of two that are the same the last counts.
            let is_usual = !name.iter().all(u8::is_ascii_digit)
                && self.names.len() - first < MOST_MEMBERS
                && !self.names.get(first..)?.contains(&name);
            is_usual.then_some(())?;
            self.names.push(name);
            self.pass(b": ")?;
            self.value(depth + 1)?;
            if self.peek()? != b',' {
                break;
            }
            self.at += 1;
        }
        self.names.truncate(first);
        self.line(depth)?;
        self.pass(b"}")
    }

    fn list(&mut self, depth: usize) -> Usual {
        self.pass(b"[")?;
        if self.peek()? == b']' {
            return self.pass(b"]");
        }
        loop {
            self.line(depth + 1)?;
            self.value(depth + 1)?;
            if self.peek()? != b',' {
                break;
            }
            self.at += 1;
        }
        self.line(depth)?;
        self.pass(b"]")
    }

    /// What stands between the quotes.
    fn string(&mut self) -> Option<&'t [u8]> {
        self.pass(b"\"")?;
        let start = self.at;
        loop {
            let rest = self.text.get(self.at..)?;
            self.at += rest.iter().position(|byte| super::wants_care(*byte))?;
            match self.peek()? {
                b'"' => break,
                b'\\'
                    if matches!(
                        self.text.get(self.at + 1)?,
                        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't'
                    ) =>
                {
                    self.at += 2;
                }
                _ => return None,
            }
        }
        let inner = self.text.get(start..self.at)?;
        self.pass(b"\"")?;
        Some(inner)
    }

    fn number(&mut self) -> Usual {
        /// So many digits are exact.
        const EXACT: usize = 15;
        let rest = self.text.get(self.at..)?;
        let is_of_number =
            |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
        let number = rest.get(..rest.iter().take_while(|byte| is_of_number(byte)).count())?;
        let is_plain = number.len() <= EXACT
            && number.iter().all(u8::is_ascii_digit)
            && (number.len() == 1 || !number.starts_with(b"0"));
        let is_usual = match is_plain {
            true => !number.is_empty(),
            false => {
                let text = std::str::from_utf8(number).ok()?;
                let value: f64 = text.parse().ok()?;
                value.is_finite() && number_text(value) == text
            }
        };
        self.at += number.len();
        is_usual.then_some(())
    }

    /// A new line at this level.
    fn line(&mut self, depth: usize) -> Usual {
        const LINE: [u8; 1 + 2 * DEEPEST] = {
            let mut line = [b' '; 1 + 2 * DEEPEST];
            line[0] = b'\n';
            line
        };
        self.pass(LINE.get(..1 + 2 * depth)?)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Goes on behind what has to stand here.
    fn pass(&mut self, wanted: &[u8]) -> Usual {
        self.text.get(self.at..)?.starts_with(wanted).then_some(())?;
        self.at += wanted.len();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{parse, stringify, stringify_pretty};
    use super::*;

    #[test]
    fn whatever_is_as_written_is_what_would_be_written() {
        let values = [
            r#"{"a":[1,{"b":null}],"c":[],"d":{},"e":"x\"\\\b\f\n\r\té😀/","f":-0.5,"g":1.5e300,"h":[true,false]}"#,
            r#"[0,7,10,-3,123456789012345,9007199254740991,1e+21,1e-7,0.1]"#,
            "\"\"",
            "{}",
        ];
        for value in values {
            let value = parse(value).expect(value);
            let text = stringify_pretty(&value);
            assert!(is_pretty(&text, 0), "{text}");
            let deeper = text.replace('\n', "\n  ");
            assert!(is_pretty(&deeper, 1), "{deeper}");
            assert_eq!(is_pretty(&deeper, 0), deeper == text, "{deeper}");
            let compact = stringify(&value);
            assert_eq!(is_pretty(&compact, 0), compact == text, "{compact}");
        }
    }

    #[test]
    fn whatever_would_be_written_otherwise_is_not() {
        let others = [
            "",
            "{",
            "{ }",
            " {}",
            "{} ",
            "01",
            "-0",
            "1.0",
            "1e2",
            "1e999",
            "9007199254740993",
            "-",
            "tru",
            "\"\\/\"",
            "\"\\u0041\"",
            "\"\u{1}\"",
            "\"",
            "\"\\",
            "\"\\ud83d\"",
            "\"\u{10d83d}\"",
            "[]x",
            "[\n  1,\n  ]",
            "[\n  1, 2\n]",
            "{\n  \"a\": 1,\n  \"a\": 2\n}",
            "{\n  \"10\": 1,\n  \"9\": 2\n}",
            "{\n  \"a\" : 1\n}",
            "{\n  \"a\":1\n}",
            "{\n\t\"a\": 1\n}",
            "{\r\n  \"a\": 1\r\n}",
            "{\n  a: 1\n}",
            "{\n  \"a\": 1\n  }",
            "{\n  \"a\": 1\n}\n",
            "{\n}",
        ];
        for other in others {
            assert!(!is_pretty(other, 0), "{other:?}");
        }
        let deep = stringify_pretty(&parse(&format!("{}{}", "[".repeat(40), "]".repeat(40))).expect("JSON"));
        assert!(!is_pretty(&deep, 0), "it is read and written instead");
    }

    proptest::proptest! {
        /// One letter more or less is never overlooked.
        #[test]
        fn no_change_of_a_text_is_overlooked(at in 0_usize..90, letter in "[ \n{}\\[\\],:\"\\\\0a-]", replaces: bool) {
            let text = "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": \"x\\n\",\n  \"d\": -1.5\n}";
            let at = at.min(text.len());
            let end = if replaces { (at + 1).min(text.len()) } else { at };
            let changed = format!("{}{letter}{}", &text[..at], &text[end..]);
            if is_pretty(&changed, 0) {
                proptest::prop_assert_eq!(parse(&changed).map(|value| stringify_pretty(&value)).ok(), Some(changed));
            }
        }
    }
}

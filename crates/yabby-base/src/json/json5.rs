//! Where a text stops being JSON5, in the words of the library that the reference reads it with
//! (`config.md` §3).
//!
//! Nothing is built here: the text is only followed, character by character, to the first one that
//! cannot stand where it stands. The values are read by a parser that may then rely on the text.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::LazyLock;

use regex::Regex;

use super::MAX_DEPTH;

/// What is wrong in a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// The first line is 1.
    pub line: usize,
    /// Counted in UTF-16, the first column is 1.
    pub column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    Character(char),
    End,
    /// An escape in a name spells a character that no name may hold.
    Identifier,
    /// Nested deeper than [`MAX_DEPTH`].
    Depth,
    /// JSON5, but nothing that a value can be made of.
    Unreadable,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, line, column } = self;
        match kind {
            FaultKind::Character(c) => write!(f, "JSON5: invalid character '{}'", shown(*c)),
            FaultKind::End => write!(f, "JSON5: invalid end of input"),
            FaultKind::Identifier => write!(f, "JSON5: invalid identifier character"),
            FaultKind::Depth => write!(f, "JSON5: nested more than {MAX_DEPTH} deep"),
            FaultKind::Unreadable => write!(f, "JSON5: unreadable value"),
        }?;
        write!(f, " at {line}:{column}")
    }
}

impl std::error::Error for Fault {}

/// A character as it is told to a person.
fn shown(c: char) -> String {
    match c {
        '\'' | '"' | '\\' => format!("\\{c}"),
        '\u{8}' => "\\b".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\u{b}' => "\\v".to_owned(),
        '\0' => "\\0".to_owned(),
        '\u{2028}' => "\\u2028".to_owned(),
        '\u{2029}' => "\\u2029".to_owned(),
        '\0'..' ' => format!("\\x{:02x}", u32::from(c)),
        _ => c.to_string(),
    }
}

/// Follows a text to its end, if it is JSON5.
pub fn check(source: &str) -> Result<(), Fault> {
    let mut reader = Reader { rest: source.chars().peekable(), line: 1, column: 0 };
    let mut open = Vec::new();
    let mut next = Next::Value;
    loop {
        reader.skip_blanks()?;
        let Some(c) = reader.peek() else {
            return if next == Next::End { Ok(()) } else { Err(reader.refuse()) };
        };
        next = match next {
            Next::Value => reader.value(&mut open)?,
            Next::ValueOrClose if c == ']' => reader.close(&mut open),
            Next::ValueOrClose => reader.value(&mut open)?,
            Next::NameOrClose if c == '}' => reader.close(&mut open),
            Next::NameOrClose => reader.name()?,
            Next::Colon => reader.expect(c == ':', Next::Value)?,
            Next::CommaOrBrace if c == '}' => reader.close(&mut open),
            Next::CommaOrBrace => reader.expect(c == ',', Next::NameOrClose)?,
            Next::CommaOrBracket if c == ']' => reader.close(&mut open),
            Next::CommaOrBracket => reader.expect(c == ',', Next::ValueOrClose)?,
            Next::End => return Err(reader.refuse()),
        };
    }
}

/// What may come next, blanks and comments aside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    ValueOrClose,
    NameOrClose,
    Colon,
    CommaOrBrace,
    CommaOrBracket,
    End,
}

#[derive(Clone, Copy)]
enum Open {
    Object,
    List,
}

/// What comes behind a whole value.
fn after_value(open: &[Open]) -> Next {
    match open.last() {
        None => Next::End,
        Some(Open::Object) => Next::CommaOrBrace,
        Some(Open::List) => Next::CommaOrBracket,
    }
}

struct Reader<'s> {
    rest: Peekable<Chars<'s>>,
    line: usize,
    column: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    fn read(&mut self) -> Option<char> {
        let c = self.rest.next();
        match c {
            Some('\n') => {
                self.line += 1;
                self.column = 0;
            }
            Some(c) => self.column += c.len_utf16(),
            None => self.column += 1,
        }
        c
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        Fault { kind, line: self.line, column: self.column }
    }

    /// What comes next cannot stand here.
    fn refuse(&mut self) -> Fault {
        let kind = self.read().map_or(FaultKind::End, FaultKind::Character);
        self.fault(kind)
    }

    fn expect(&mut self, is_there: bool, next: Next) -> Result<Next, Fault> {
        if !is_there {
            return Err(self.refuse());
        }
        self.read();
        Ok(next)
    }

    fn close(&mut self, open: &mut Vec<Open>) -> Next {
        self.read();
        open.pop();
        after_value(open)
    }

    fn skip_blanks(&mut self) -> Result<(), Fault> {
        while let Some(c) = self.peek() {
            match c {
                '/' => self.comment()?,
                '\t'..='\r' | ' ' | '\u{a0}' | '\u{feff}' | '\u{2028}' | '\u{2029}' => _ = self.read(),
                '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
                    self.read();
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn comment(&mut self) -> Result<(), Fault> {
        self.read();
        match self.peek() {
            Some('/') => {
                while !matches!(self.read(), None | Some('\n' | '\r' | '\u{2028}' | '\u{2029}')) {
                    if self.peek().is_none() {
                        break;
                    }
                }
                Ok(())
            }
            Some('*') => {
                self.read();
                let mut star = false;
                loop {
                    match self.read() {
                        None => return Err(self.fault(FaultKind::End)),
                        Some('/') if star => return Ok(()),
                        Some(c) => star = c == '*',
                    }
                }
            }
            _ => Err(self.refuse()),
        }
    }

    fn value(&mut self, open: &mut Vec<Open>) -> Result<Next, Fault> {
        match self.peek() {
            Some(c @ ('{' | '[')) => {
                self.read();
                if open.len() == MAX_DEPTH {
                    return Err(self.fault(FaultKind::Depth));
                }
                let (kind, next) = match c {
                    '{' => (Open::Object, Next::NameOrClose),
                    _ => (Open::List, Next::ValueOrClose),
                };
                open.push(kind);
                return Ok(next);
            }
            Some('n') => self.word("null")?,
            Some('t') => self.word("true")?,
            Some('f') => self.word("false")?,
            Some('"' | '\'') => self.text()?,
            Some('+' | '-') => {
                self.read();
                self.number()?;
            }
            _ => self.number()?,
        }
        Ok(after_value(open))
    }

    fn word(&mut self, word: &str) -> Result<(), Fault> {
        for c in word.chars() {
            if self.peek() != Some(c) {
                return Err(self.refuse());
            }
            self.read();
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some('I') => self.word("Infinity"),
            Some('N') => self.word("NaN"),
            Some('.') => {
                self.read();
                self.digits(char::is_ascii_digit)?;
                self.exponent()
            }
            Some('0') => {
                self.read();
                match self.peek() {
                    Some('x' | 'X') => {
                        self.read();
                        self.digits(char::is_ascii_hexdigit)
                    }
                    _ => self.fraction(),
                }
            }
            Some('1'..='9') => {
                self.digits(char::is_ascii_digit)?;
                self.fraction()
            }
            _ => Err(self.refuse()),
        }
    }

    fn fraction(&mut self) -> Result<(), Fault> {
        if self.peek() == Some('.') {
            self.read();
            while self.peek().is_some_and(|c| c.is_ascii_digit()) {
                self.read();
            }
        }
        self.exponent()
    }

    fn exponent(&mut self) -> Result<(), Fault> {
        if !matches!(self.peek(), Some('e' | 'E')) {
            return Ok(());
        }
        self.read();
        if matches!(self.peek(), Some('+' | '-')) {
            self.read();
        }
        self.digits(char::is_ascii_digit)
    }

    /// One digit or more.
    fn digits(&mut self, is_digit: impl Fn(&char) -> bool) -> Result<(), Fault> {
        if !self.peek().is_some_and(|c| is_digit(&c)) {
            return Err(self.refuse());
        }
        while self.peek().is_some_and(|c| is_digit(&c)) {
            self.read();
        }
        Ok(())
    }

    fn text(&mut self) -> Result<(), Fault> {
        let quote = self.read();
        loop {
            match self.peek() {
                None | Some('\n' | '\r') => return Err(self.refuse()),
                Some('\\') => {
                    self.read();
                    self.escape()?;
                }
                c => {
                    self.read();
                    if c == quote {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// What follows a backslash in a text.
    fn escape(&mut self) -> Result<(), Fault> {
        match self.peek() {
            None | Some('1'..='9') => return Err(self.refuse()),
            Some('0') => {
                self.read();
                if self.peek().is_some_and(|c| c.is_ascii_digit()) {
                    return Err(self.refuse());
                }
            }
            Some('x') => _ = self.hex_escape(2)?,
            Some('u') => _ = self.hex_escape(4)?,
            Some('\r') => {
                self.read();
                if self.peek() == Some('\n') {
                    self.read();
                }
            }
            Some(_) => _ = self.read(),
        }
        Ok(())
    }

    /// The number that the digits behind `x` or `u` spell.
    fn hex_escape(&mut self, digits: usize) -> Result<u32, Fault> {
        self.read();
        let mut spelt = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) else { return Err(self.refuse()) };
            self.read();
            spelt = spelt * 16 + digit;
        }
        Ok(spelt)
    }

    fn name(&mut self) -> Result<Next, Fault> {
        match self.peek() {
            Some('"' | '\'') => self.text()?,
            Some('\\') => {
                self.escaped_name_character(begins_name)?;
                self.rest_of_name()?;
            }
            Some(c) if begins_name(c) => {
                self.read();
                self.rest_of_name()?;
            }
            _ => return Err(self.refuse()),
        }
        Ok(Next::Colon)
    }

    fn rest_of_name(&mut self) -> Result<(), Fault> {
        loop {
            match self.peek() {
                Some('\\') => self.escaped_name_character(continues_name)?,
                Some(c) if continues_name(c) => _ = self.read(),
                _ => return Ok(()),
            }
        }
    }

    fn escaped_name_character(&mut self, fits: fn(char) -> bool) -> Result<(), Fault> {
        self.read();
        if self.peek() != Some('u') {
            return Err(self.refuse());
        }
        let spelt = self.hex_escape(4)?;
        if char::from_u32(spelt).is_some_and(fits) {
            return Ok(());
        }
        // Where the escape begins.
        self.column = self.column.saturating_sub(5);
        Err(self.fault(FaultKind::Identifier))
    }
}

fn begins_name(c: char) -> bool {
    static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{ID_Start}$").ok());
    match c {
        '$' | '_' => true,
        _ if c.is_ascii() => c.is_ascii_alphabetic(),
        _ => LETTER.as_ref().is_some_and(|letter| letter.is_match(c.encode_utf8(&mut [0; 4]))),
    }
}

fn continues_name(c: char) -> bool {
    static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{ID_Continue}$").ok());
    match c {
        '$' | '_' | '\u{200c}' | '\u{200d}' => true,
        _ if c.is_ascii() => c.is_ascii_alphanumeric(),
        _ => LETTER.as_ref().is_some_and(|letter| letter.is_match(c.encode_utf8(&mut [0; 4]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_character_out_of_place_is_named() {
        //  text                                     what is wrong
        let table = [
            ("{ gateway: { port: 1,, } }", "invalid character ',' at 1:22"),
            ("{bad", "invalid end of input at 1:5"),
            ("", "invalid end of input at 1:1"),
            ("\n // only this", "invalid end of input at 2:14"),
            ("{\n  a: 1\n  b: 2\n}", "invalid character 'b' at 3:3"),
            ("{a: tru}", "invalid character '}' at 1:8"),
            ("{a: 'x\ny'}", "invalid character '\\n' at 2:0"),
            ("{'a' 1}", "invalid character '1' at 1:6"),
            ("[1 2]", "invalid character '2' at 1:4"),
            ("{a: 1} x", "invalid character 'x' at 1:8"),
            ("{🦀: 1}", "invalid character '🦀' at 1:3"),
            ("{a: 01}", "invalid character '1' at 1:6"),
            ("{a: +}", "invalid character '}' at 1:6"),
            ("{a: .}", "invalid character '}' at 1:6"),
            ("{a: 1e}", "invalid character '}' at 1:7"),
            ("{a: '\\1'}", "invalid character '1' at 1:7"),
            ("{a: '\\x4'}", "invalid character '\\'' at 1:9"),
            ("{\\u0021: 1}", "invalid identifier character at 1:2"),
            ("{a: /x", "invalid character 'x' at 1:6"),
            ("{a: /* x", "invalid end of input at 1:9"),
            ("{a: \u{1}", "invalid character '\\x01' at 1:5"),
        ];
        for (text, wrong) in table {
            assert_eq!(check(text).unwrap_err().to_string(), format!("JSON5: {wrong}"), "{text:?}");
        }
    }

    #[test]
    fn all_that_is_json5_passes() {
        let table = [
            "{}",
            "\u{feff}[]\u{a0}\u{3000}// end",
            "{a:+.5,b:0xFf,c:-Infinity,d:'x\\\r\ny\\x41\\v\u{2028}',\\u0061b:NaN,ünï:5.e+1,$_:null,}",
            "/***/ [1, [true,], {'a':{}}, /* ** */ \"\\0\" ]",
            "'text'",
        ];
        for text in table {
            assert_eq!(check(text), Ok(()), "{text:?}");
        }
    }
}

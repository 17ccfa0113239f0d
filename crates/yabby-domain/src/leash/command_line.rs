//! What programs a shell command runs, as far as that can be told from its text (`state-files.md` §4).
//!
//! Only for commands that can be read without doubt: programs with arguments, joined by `|`, `&&`, `||`
//! and `;`. Whatever makes a shell read a text otherwise than we do (substitutions, redirections, `$'…'`,
//! `${…}`, a second line) is [`Unreadable`], and then somebody has to be asked. Stricter than the
//! reference where that one and a shell disagree: `ls $'\'' ; reboot #'` is one word after `ls` to it.

use std::ops::Range;

/// A program and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    pub words: Vec<Word>,
    /// Where the name of the program stands in the command, in bytes.
    pub program: Range<usize>,
}

/// A word as the shell would pass it on, before it expands anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// A variable is filled in here.
    pub has_variable: bool,
    /// `*`, `?`, `[` or `{` stand outside of quotes: the word may become other words.
    pub has_pattern: bool,
    /// It begins with `~` outside of quotes.
    pub has_home: bool,
}

/// Why a command cannot be read without doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it is empty")]
    Empty,
    #[error("a quote is not closed")]
    OpenQuote,
    #[error("it has more than one line")]
    SecondLine,
    #[error("it substitutes the output of a command")]
    Substitution,
    #[error("it redirects input or output")]
    Redirection,
    #[error("it has parentheses")]
    Subshell,
    #[error("it leaves something running with &")]
    Background,
    #[error("it uses an expansion that cannot be judged")]
    Expansion,
    #[error("it sets a variable")]
    Assignment,
    #[error("nothing stands between two operators")]
    MissingCommand,
    #[error("it contains a control character")]
    Control,
}

/// The programs of a command, in the order in which they stand.
pub fn segments(command: &str) -> Result<Vec<Segment>, Unreadable> {
    let mut reader = Reader::default();
    let mut rest = command.char_indices().peekable();
    if command.trim_matches([' ', '\t']).is_empty() {
        return Err(Unreadable::Empty);
    }
    while let Some((at, c)) = rest.next() {
        reader.at = at;
        let next = rest.peek().map(|(_, next)| *next);
        match (reader.quote, c) {
            (_, '\n' | '\r') => return Err(Unreadable::SecondLine),
            (_, c) if c.is_control() && c != '\t' => return Err(Unreadable::Control),
            (Quote::Single, '\'') | (Quote::Double, '"') => reader.quote = Quote::None,
            (Quote::Single, c) => reader.word().text.push(c),
            (Quote::Double, '\\') => match next {
                Some('\n' | '\r') => return Err(Unreadable::SecondLine),
                Some(escaped @ ('\\' | '"' | '$' | '`')) => {
                    rest.next();
                    reader.word().text.push(escaped);
                }
                _ => reader.word().text.push('\\'),
            },
            (Quote::None, '\\') => match rest.next().map(|(_, escaped)| escaped) {
                None => return Err(Unreadable::OpenQuote),
                Some('\n' | '\r') => return Err(Unreadable::SecondLine),
                Some(escaped) => reader.word().text.push(escaped),
            },
            (Quote::None | Quote::Double, '`') => return Err(Unreadable::Substitution),
            (quote @ (Quote::None | Quote::Double), '$') => match next {
                Some('(') => return Err(Unreadable::Substitution),
                // To a shell these are quotes of another kind, and brackets within which quotes count anew.
                Some('{' | '[') => return Err(Unreadable::Expansion),
                Some('\'' | '"') if quote == Quote::None => return Err(Unreadable::Expansion),
                _ => {
                    let word = reader.word();
                    word.text.push('$');
                    word.has_variable = true;
                }
            },
            (Quote::Double, c) => reader.word().text.push(c),
            (Quote::None, '\'') => reader.open(Quote::Single),
            (Quote::None, '"') => reader.open(Quote::Double),
            (Quote::None, ' ' | '\t') => reader.end_word(),
            (Quote::None, '<' | '>') => return Err(Unreadable::Redirection),
            (Quote::None, '(' | ')') => return Err(Unreadable::Subshell),
            (Quote::None, '&') if next == Some('&') => {
                rest.next();
                reader.end_segment()?;
            }
            (Quote::None, '&') => return Err(Unreadable::Background),
            (Quote::None, '|') => {
                match next {
                    Some('&') => return Err(Unreadable::Redirection),
                    Some('|') => drop(rest.next()),
                    _ => {}
                }
                reader.end_segment()?;
            }
            (Quote::None, ';') => reader.end_segment()?,
            (Quote::None, c) => {
                let word = reader.word();
                word.has_home |= c == '~' && word.text.is_empty();
                word.has_pattern |= matches!(c, '*' | '?' | '[' | '{');
                word.text.push(c);
            }
        }
    }
    if reader.quote != Quote::None {
        return Err(Unreadable::OpenQuote);
    }
    reader.at = command.len();
    reader.end_segment()?;
    Ok(reader.done)
}

/// The command with every program named by its path. A name with a slash in it is no builtin of a shell, no function
/// and no reserved word, so a shell runs these programs and nothing else.
pub fn with_paths<'p>(
    command: &str,
    segments: &[Segment],
    paths: impl IntoIterator<Item = &'p str>,
) -> String {
    let (mut written, mut from) = (String::new(), 0);
    for (segment, path) in segments.iter().zip(paths) {
        written.push_str(&command[from..segment.program.start]);
        written.push_str(&format!("'{}'", path.replace('\'', "'\\''")));
        from = segment.program.end;
    }
    written.push_str(&command[from..]);
    written
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Quote {
    #[default]
    None,
    Single,
    Double,
}

#[derive(Default)]
struct Reader {
    quote: Quote,
    /// Where the character stands that is being read.
    at: usize,
    word: Option<Word>,
    segment: Segment,
    done: Vec<Segment>,
}

impl Reader {
    fn word(&mut self) -> &mut Word {
        if self.word.is_none() && self.segment.words.is_empty() {
            self.segment.program.start = self.at;
        }
        self.word.get_or_insert_default()
    }

    fn open(&mut self, quote: Quote) {
        // Two quotes with nothing between them are a word.
        self.word();
        self.quote = quote;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if self.segment.words.is_empty() {
            self.segment.program.end = self.at;
        }
        self.segment.words.push(word);
    }

    fn end_segment(&mut self) -> Result<(), Unreadable> {
        self.end_word();
        let segment = std::mem::take(&mut self.segment);
        let program = segment.words.first().ok_or(Unreadable::MissingCommand)?;
        if program.has_variable || program.has_pattern {
            return Err(Unreadable::Expansion);
        }
        // Also `x+=1`, and `X=/bin/ls`, which looks like a path.
        if program.text.split('/').next().is_some_and(|start| start.contains('=')) {
            return Err(Unreadable::Assignment);
        }
        // Somebody else's home folder.
        if program.has_home && program.text != "~" && !program.text.starts_with("~/") {
            return Err(Unreadable::Expansion);
        }
        self.done.push(segment);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(command: &str) -> Result<Vec<Vec<String>>, Unreadable> {
        let words = |segment: Segment| segment.words.into_iter().map(|word| word.text).collect();
        segments(command).map(|found| found.into_iter().map(words).collect())
    }

    #[test]
    fn programs_and_their_arguments() {
        let table: &[(&str, &[&[&str]])] = &[
            ("ls", &[&["ls"]]),
            ("  ls\t-la ", &[&["ls", "-la"]]),
            ("\\ls", &[&["ls"]]),
            ("l''s", &[&["ls"]]),
            ("\"ls\" 'a b' c\\ d", &[&["ls", "a b", "c d"]]),
            ("echo ''", &[&["echo", ""]]),
            ("echo '$(id)' '`id`' 'a;b' \"a;b|c&d\"", &[&["echo", "$(id)", "`id`", "a;b", "a;b|c&d"]]),
            ("echo \"\\$(id)\"", &[&["echo", "$(id)"]]),
            ("a|b | c", &[&["a"], &["b"], &["c"]]),
            ("a && b || c; d", &[&["a"], &["b"], &["c"], &["d"]]),
            ("rg $HOME", &[&["rg", "$HOME"]]),
            ("ls # it", &[&["ls", "#", "it"]]),
            ("ls\u{a0}-la", &[&["ls\u{a0}-la"]]),
        ];
        for (command, expected) in table {
            assert_eq!(read(command).as_deref().unwrap(), *expected, "{command}");
        }
    }

    #[test]
    fn what_a_shell_may_read_otherwise_is_not_read() {
        use Unreadable::*;
        let table = [
            ("", Empty),
            (" \t", Empty),
            ("ls 'a", OpenQuote),
            ("ls \"a", OpenQuote),
            ("ls \\", OpenQuote),
            ("ls\nrm x", SecondLine),
            ("ls\rrm x", SecondLine),
            ("l\\\ns", SecondLine),
            ("echo 'a\nb'", SecondLine),
            ("echo \"a\\\nb\"", SecondLine),
            ("ls $(id)", Substitution),
            ("ls \"$(id)\"", Substitution),
            ("ls `id`", Substitution),
            ("ls \"`id`\"", Substitution),
            ("ls > x", Redirection),
            ("ls 2>&1", Redirection),
            ("cat <<E", Redirection),
            ("cat <(id)", Redirection),
            ("ls |& cat", Redirection),
            ("(ls)", Subshell),
            ("f() ls", Subshell),
            ("ls & id", Background),
            ("ls &", Background),
            ("ls ${x:-`}", Expansion),
            ("ls \"${x}\"", Expansion),
            ("ls $[1]", Expansion),
            ("ls $'\\'' ; id #'", Expansion),
            ("ls $\"x\"", Expansion),
            ("$SHELL -c id", Expansion),
            ("l$x", Expansion),
            ("ls$IFS-la", Expansion),
            ("/bin/l?", Expansion),
            ("{ls,-la}", Expansion),
            ("~root/bin/x", Expansion),
            ("X=1 ls", Assignment),
            ("X=/bin/ls", Assignment),
            ("PATH+=x ls", Assignment),
            ("ls;", MissingCommand),
            ("; ls", MissingCommand),
            ("ls || ", MissingCommand),
            ("ls | | cat", MissingCommand),
            ("ls\0", Control),
            ("ls \u{1b}[0m", Control),
        ];
        for (command, expected) in table {
            assert_eq!(read(command), Err(expected), "{command:?}");
        }
    }

    #[test]
    fn programs_are_named_by_their_paths() {
        let table = [
            ("ls", "'/b/0'"),
            ("  ls -la ", "  '/b/0' -la "),
            ("'l's \"a b\"|\\wc -l&&l\"s\" $x; é ~", "'/b/0' \"a b\"|'/b/1' -l&&'/b/2' $x; '/b/3' ~"),
            ("printf -v 'a[$(id)]' x", "'/b/0' -v 'a[$(id)]' x"),
        ];
        for (command, expected) in table {
            let paths = ["/b/0", "/b/1", "/b/2", "/b/3"];
            assert_eq!(with_paths(command, &segments(command).unwrap(), paths), expected, "{command}");
        }
        assert_eq!(with_paths("ls", &segments("ls").unwrap(), ["/it's"]), "'/it'\\''s'");
    }

    #[test]
    fn a_tilde_in_quotes_is_no_home() {
        let home = |command: &str| segments(command).unwrap()[0].words[0].has_home;
        assert!(home("~/bin/x"));
        assert!(!home("'~/bin/x'") && !home("\\~/bin/x") && !home("a~"));
    }
}

//! What programs a shell command runs, as far as that can be told from its text (`state-files.md` §4).
//!
//! Only for commands that can be read without doubt: programs with arguments, joined by `|`, `&&`, `||`
//! and `;`. Whatever makes a shell read a text otherwise than we do (substitutions, redirections, `$'…'`,
//! `${…}`, a second line) is [`Unreadable`], and then somebody has to be asked. Stricter than the
//! reference where that one and a shell disagree: `ls $'\'' ; reboot #'` is one word after `ls` to it.

/// A program and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    pub words: Vec<Word>,
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
    let mut rest = command.trim_matches([' ', '\t']).chars().peekable();
    if rest.peek().is_none() {
        return Err(Unreadable::Empty);
    }
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
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
            (Quote::None, '\\') => match rest.next() {
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
    reader.end_word();
    reader.end_segment()?;
    Ok(reader.done)
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
    word: Option<Word>,
    segment: Segment,
    done: Vec<Segment>,
}

impl Reader {
    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn open(&mut self, quote: Quote) {
        // Two quotes with nothing between them are a word.
        self.word();
        self.quote = quote;
    }

    fn end_word(&mut self) {
        self.segment.words.extend(self.word.take());
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

/// The programs that run whatever they are told to: to allow one of them is to allow everything.
pub fn runs_anything(program: &str) -> bool {
    const NAMES: &[&str] = &[
        "ash",
        "awk",
        "bash",
        "bun",
        "busybox",
        "command",
        "csh",
        "dash",
        "deno",
        "doas",
        "docker",
        "env",
        "eval",
        "exec",
        "find",
        "fish",
        "flock",
        "gawk",
        "gdb",
        "ionice",
        "ksh",
        "lua",
        "make",
        "mawk",
        "nice",
        "node",
        "nohup",
        "parallel",
        "perl",
        "php",
        "podman",
        "python",
        "ruby",
        "script",
        "setsid",
        "sh",
        "ssh",
        "stdbuf",
        "strace",
        "su",
        "sudo",
        "systemd-run",
        "tclsh",
        "time",
        "timeout",
        "tmux",
        "unshare",
        "watch",
        "xargs",
        "zsh",
    ];
    let name = program.rsplit('/').next().unwrap_or_default().to_lowercase();
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    NAMES.contains(&name.as_str()) || NAMES.contains(&bare)
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
    fn a_tilde_in_quotes_is_no_home() {
        let home = |command: &str| segments(command).unwrap()[0].words[0].has_home;
        assert!(home("~/bin/x"));
        assert!(!home("'~/bin/x'") && !home("\\~/bin/x") && !home("a~"));
    }

    #[test]
    fn interpreters_run_anything() {
        let table = [
            ("/bin/sh", true),
            ("/usr/bin/python3.12", true),
            ("/usr/bin/env", true),
            ("/usr/bin/BASH", true),
            ("/usr/bin/rg", false),
            ("/usr/bin/git", false),
        ];
        for (program, expected) in table {
            assert_eq!(runs_anything(program), expected, "{program}");
        }
    }
}

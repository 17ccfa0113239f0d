//! Programs that may run unasked as long as they work on what is piped into them: `tools.exec.safeBins`
//! (`config.md` §9).
//!
//! The reference knows them by the names of their files, and refuses what looks like a path or names a file that
//! exists. Here they are programs of the system, and for those that it names itself the options are known that open
//! no file and run nothing; any other option is refused.

use super::command_line::Word;
use super::program::{FoundProgram, runs_no_other};
use crate::config::Config;
use crate::text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SafeBins(Vec<String>);

/// What one of the programs takes that is no file.
struct Known {
    name: &'static str,
    /// How many words beside options.
    operands: usize,
    /// Letters of options without a value, and with one.
    flags: &'static str,
    values: &'static str,
    /// `-5` is an option.
    takes_number: bool,
    /// Long options without a value or with one after `=`, and those that take so many of the next words.
    long: &'static [&'static str],
    long_values: &'static [(&'static str, usize)],
}

const NONE: Known =
    Known { name: "", operands: 0, flags: "", values: "", takes_number: false, long: &[], long_values: &[] };

const KNOWN: &[Known] = &[
    Known {
        name: "jq",
        operands: 1,
        flags: "nrjacsCMSeR",
        long: &[
            "null-input",
            "raw-output",
            "join-output",
            "ascii-output",
            "compact-output",
            "slurp",
            "raw-input",
            "color-output",
            "monochrome-output",
            "sort-keys",
            "exit-status",
            "tab",
            "stream",
            "seq",
        ],
        long_values: &[("indent", 1), ("arg", 2), ("argjson", 2)],
        ..NONE
    },
    Known {
        name: "grep",
        operands: 1,
        flags: "EFGivwxyclLnoqshHbaZzT",
        values: "ABCm",
        takes_number: true,
        long: &[
            "extended-regexp",
            "fixed-strings",
            "basic-regexp",
            "ignore-case",
            "invert-match",
            "word-regexp",
            "line-regexp",
            "count",
            "line-number",
            "only-matching",
            "quiet",
            "color",
            "colour",
            "max-count",
            "after-context",
            "before-context",
            "context",
        ],
        ..NONE
    },
    Known {
        name: "cut",
        flags: "nsz",
        values: "dfcb",
        long: &[
            "complement",
            "only-delimited",
            "delimiter",
            "fields",
            "characters",
            "bytes",
            "output-delimiter",
        ],
        ..NONE
    },
    Known {
        name: "sort",
        flags: "bdfghiMnRrVcCsuz",
        values: "kt",
        long: &[
            "ignore-leading-blanks",
            "dictionary-order",
            "ignore-case",
            "general-numeric-sort",
            "human-numeric-sort",
            "numeric-sort",
            "reverse",
            "version-sort",
            "stable",
            "unique",
            "key",
            "field-separator",
        ],
        ..NONE
    },
    Known {
        name: "uniq",
        flags: "cdDiuz",
        values: "fsw",
        long: &["count", "repeated", "ignore-case", "unique", "skip-fields", "skip-chars", "check-chars"],
        ..NONE
    },
    Known {
        name: "head",
        flags: "qvz",
        values: "nc",
        takes_number: true,
        long: &["lines", "bytes", "quiet", "verbose"],
        ..NONE
    },
    Known {
        name: "tail",
        flags: "qvz",
        values: "nc",
        takes_number: true,
        long: &["lines", "bytes", "quiet", "verbose"],
        ..NONE
    },
    Known {
        name: "tr",
        operands: 2,
        flags: "cCdst",
        long: &["complement", "delete", "squeeze-repeats", "truncate-set1"],
        ..NONE
    },
    Known {
        name: "wc",
        flags: "cmlwL",
        long: &["bytes", "chars", "lines", "words", "max-line-length"],
        ..NONE
    },
];

impl SafeBins {
    /// Those of the configuration, else the nine of the reference.
    pub fn from_config(config: &Config) -> Self {
        match &config.tools.exec.safe_bins {
            None => Self(KNOWN.iter().map(|known| known.name.to_owned()).collect()),
            Some(listed) => Self(listed.iter().filter_map(|name| text::lower_non_blank(name)).collect()),
        }
    }

    /// Whether a program works on its input only. `exists` tells whether there is such a file where the
    /// command runs.
    pub fn allow(&self, program: &FoundProgram, arguments: &[Word], exists: impl Fn(&str) -> bool) -> bool {
        let name = program.name();
        let judged = KNOWN.iter().find(|known| known.name == name);
        // Of those that we do not know only those pass that run no others and make nothing, whatever they are told.
        let is_harmless = || runs_no_other(name) && !["mkdir", "rmdir", "touch"].contains(&name);
        let is_listed = self.0.iter().any(|listed| listed == name) && (judged.is_some() || is_harmless());
        if !is_listed || !program.is_system() {
            return false;
        }
        // What the shell puts in the place of a word is not known.
        let is_plain = |word: &Word| !word.has_variable && !word.has_pattern && !word.has_home;
        let is_file = |word: &str| looks_like_path(word) || exists(word);
        let no_file = |word: &Word| match word.text.strip_prefix('-') {
            // The filter of jq is read as one below.
            None if name == "jq" => !exists(&word.text),
            None => !is_file(&word.text),
            Some("") => true,
            Some(option) if judged.is_some() => {
                option.split_once('=').is_none_or(|(_, value)| !is_file(value))
            }
            // Which letter takes the rest for its value is not known: `date -f/etc/shadow`, `date -fnotes.md`.
            Some(option) => !option.char_indices().any(|(at, _)| is_file(&option[at..])),
        };
        arguments.iter().all(is_plain)
            && arguments.iter().all(no_file)
            && judged.is_none_or(|known| known.takes(arguments))
    }
}

impl Known {
    fn takes(&self, arguments: &[Word]) -> bool {
        let mut operands = Vec::new();
        let mut words = arguments.iter().map(|word| word.text.as_str());
        while let Some(word) = words.next() {
            let (is_known, values) = match word.strip_prefix("--") {
                Some(long) => self.long_option(long),
                None => match word.strip_prefix('-').filter(|short| !short.is_empty()) {
                    Some(short) => self.short_options(short),
                    None => {
                        operands.push(word);
                        continue;
                    }
                },
            };
            if !is_known || (0..values).any(|_| words.next().is_none()) {
                return false;
            }
        }
        operands.len() <= self.operands && (self.name != "jq" || operands.into_iter().all(reads_input_only))
    }

    /// Whether a long option is known, and how many of the next words belong to it. Spelt out: what is cut short may
    /// be another one. After `--` everything is an operand; nobody needs that on a pipe.
    fn long_option(&self, long: &str) -> (bool, usize) {
        let name = long.split('=').next().unwrap_or_default();
        let takes = self.long_values.iter().find(|(known, _)| *known == long);
        match takes {
            Some((_, values)) => (true, *values),
            None => (self.long.contains(&name), 0),
        }
    }

    /// The same for short ones, which stand together, and with the value of the last.
    fn short_options(&self, short: &str) -> (bool, usize) {
        if self.takes_number && short.chars().all(|c| c.is_ascii_digit()) {
            return (true, 0);
        }
        for (at, letter) in short.char_indices() {
            if self.values.contains(letter) {
                let has_value = at + letter.len_utf8() < short.len();
                return (true, usize::from(!has_value));
            }
            if !self.flags.contains(letter) {
                return (false, 0);
            }
        }
        (true, 0)
    }
}

/// Whether a filter of jq looks at its input only. Modules are files, and the environment may hold keys. The words are
/// refused wherever they stand, in texts, too: there may be a filter in a text.
fn reads_input_only(filter: &str) -> bool {
    const REFUSED: &[&str] =
        &["import", "include", "modulemeta", "get_search_list", "input_filename", "env", "ENV"];
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !filter.split(|c| !is_word(c)).any(|word| REFUSED.contains(&word))
}

fn looks_like_path(word: &str) -> bool {
    let word = text::trim(word);
    word.contains('/') || word.starts_with('~') || word == ".."
}

#[cfg(test)]
mod tests {
    use super::super::command_line::segments;
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_input_is_worked_on() {
        let table = [
            ("jq .name", true),
            ("jq '[.name]'", true),
            ("jq -r '[.name]'", true),
            ("jq -f x '[.a]'", false),
            ("jq '[.a]' data.json", false),
            ("jq --rawfile a b '[.a]'", false),
            ("jq --slurpfile a b .a", false),
            ("jq -L. .a", false),
            ("jq -rL . .a", false),
            ("jq --library-path . .a", false),
            ("jq -nr --arg a b .a --indent 2", true),
            ("jq --arg a", false),
            ("jq '.a / 2'", true),
            ("jq 'import \"./x\" as $x; $x'", false),
            ("jq 'import \"x\" as $x {search:\"./\"}; $x::x'", false),
            ("jq 'include \"x\"; .'", false),
            ("jq '\"\\(\"x\"|modulemeta)\"'", false),
            ("jq -n env", false),
            ("jq -n '$ENV.KEY'", false),
            ("jq -n '$ENV|.KEY'", false),
            ("jq .environment", true),
            ("grep foo", true),
            ("grep -i foo -", false),
            ("grep -ri foo", false),
            ("grep -Rn foo", false),
            ("grep --recursive foo", false),
            ("grep --recurs foo", false),
            ("grep -fpatterns", false),
            ("grep -A 3 foo", true),
            ("grep foo notes", false),
            ("grep /etc/passwd", false),
            ("grep foo *", false),
            ("grep $x", false),
            ("head -n 5", true),
            ("head -5", true),
            ("head README.md", false),
            ("head ~/x", false),
            ("head .ssh", false),
            ("head $HOME/.ssh/id_rsa", false),
            ("head -c/etc/passwd", true), // head says that this is no number
            ("tail -f", false),
            ("cut -d , -f 1", true),
            ("cut -d, -f1", true),
            ("cut -f1 x", false),
            ("sort -u", true),
            ("sort -o out", false),
            ("sort -uo out", false),
            ("sort -oout", false),
            ("sort --output=out", false),
            ("sort --random-source=x", false),
            ("sort --files0-from=x", false),
            ("sort -k2 -t, -n", true),
            ("grep --exclude-from=x y", false),
            ("grep -m5 x", true),
            ("tail -5", true),
            ("tail -5f", false),
            ("head --lines=5", true),
            ("head --lin=5", false),
            ("sort --compress-program=sh", false),
            ("uniq -c", true),
            ("uniq - out", false),
            ("tr a-z A-Z", true),
            ("tr a b c", false),
            ("wc -l", true),
            ("wc --files0-from=x", false),
            ("wc -- x", false),
            ("cat", false),
            ("sed -n 1p", false),
        ];
        let safe = SafeBins::from_config(&Config::default());
        for (command, expected) in table {
            let found = segments(command).unwrap().remove(0);
            let path = format!("/usr/bin/{}", found.words[0].text);
            let program = FoundProgram { real: path.clone(), path, is_changeable: false };
            let allowed = safe.allow(&program, &found.words[1..], |name| name == "README.md");
            assert_eq!(allowed, expected, "{command}");
        }
    }

    #[test]
    fn a_list_of_ones_own_takes_the_place_of_ours() {
        let config = |bins| Config::new(json!({"tools": {"exec": {"safeBins": bins}}}));
        let allows = |bins, command: &str| {
            let found = segments(command).unwrap().remove(0);
            let path = format!("/usr/bin/{}", found.words[0].text);
            let program = FoundProgram { real: path.clone(), path, is_changeable: false };
            SafeBins::from_config(&config(bins)).allow(&program, &found.words[1..], |name| name == "x")
        };
        assert!(allows(json!([" Rev "]), "rev"));
        assert!(!allows(json!(["rev"]), "rev x"));
        assert!(!allows(json!(["rev"]), "grep p"));
        assert!(!allows(json!([]), "grep p"));
        for command in
            ["date -f/etc/shadow", "date -fx", "date -ux", "date --file=/etc/shadow", "date --file=x"]
        {
            assert!(!allows(json!(["date"]), command), "{command}");
        }
        assert!(allows(json!(["date"]), "date -u +%F") && allows(json!(["base64"]), "base64 -d"));
        // They make what is not there yet.
        for command in ["touch new", "mkdir new", "uniq - new", "shuf -onew", "xxd -r - new", "tree -o new"] {
            let name = command.split(' ').next().unwrap();
            assert!(!allows(json!([name]), command), "{command}");
        }
        // It can run others: `sed '1e cmd'`.
        assert!(!allows(json!(["sed"]), "sed p"));
    }

    #[test]
    fn a_program_of_that_name_elsewhere_is_another_one() {
        let safe = SafeBins::from_config(&Config::default());
        for (path, real) in
            [("/ws/wc", "/ws/wc"), ("/ws/repo/bin/wc", "/usr/bin/wc"), ("/ws/wc", "/usr/bin/bash")]
        {
            let program = FoundProgram { path: path.to_owned(), real: real.to_owned(), is_changeable: true };
            assert!(!safe.allow(&program, &[], |_| false), "{path}");
            let program = FoundProgram { is_changeable: false, ..program };
            assert!(!safe.allow(&program, &[], |_| false), "{path}");
        }
    }
}

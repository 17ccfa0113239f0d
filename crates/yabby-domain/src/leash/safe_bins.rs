//! Programs that may run unasked as long as they work on what is piped into them: `tools.exec.safeBins`
//! (`config.md` §9).
//!
//! The reference refuses what looks like a path or names a file that exists. For the programs that it
//! names itself we know better which argument is a file: `sort -o x`, `grep -r x` and `uniq - x` touch
//! files that do not exist yet, or that nobody named.

use super::command_line::Word;
use crate::config::Config;
use crate::json::Value;
use crate::text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SafeBins(Vec<String>);

/// What one of the programs takes that is no file.
struct Known {
    name: &'static str,
    /// How many words beside options.
    operands: usize,
    /// Options that take the next word.
    with_value: &'static [&'static str],
    /// Options that read or write files, or run something.
    refused: &'static [&'static str],
}

const KNOWN: &[Known] = &[
    Known {
        name: "jq",
        operands: 1,
        with_value: &["--indent"],
        refused: &[
            "-f",
            "--from-file",
            "-L",
            "--slurpfile",
            "--rawfile",
            "--argfile",
            "--args",
            "--jsonargs",
        ],
    },
    Known {
        name: "grep",
        operands: 1,
        with_value: &["-A", "-B", "-C", "-m"],
        refused: &[
            "-f",
            "--file",
            "-r",
            "-R",
            "--recursive",
            "--dereference-recursive",
            "-d",
            "--directories",
            "-e",
            "--exclude-from",
            "-P",
        ],
    },
    Known { name: "cut", operands: 0, with_value: &["-d", "-f", "-c", "-b"], refused: &[] },
    Known {
        name: "sort",
        operands: 0,
        with_value: &["-k", "-t"],
        refused: &[
            "-o",
            "--output",
            "-T",
            "--temporary-directory",
            "--compress-program",
            "--files0-from",
            "-S",
        ],
    },
    Known { name: "uniq", operands: 0, with_value: &["-f", "-s", "-w"], refused: &[] },
    Known { name: "head", operands: 0, with_value: &["-n", "-c"], refused: &[] },
    Known {
        name: "tail",
        operands: 0,
        with_value: &["-n", "-c"],
        refused: &["-f", "-F", "--follow", "--retry", "--pid"],
    },
    Known { name: "tr", operands: 2, with_value: &[], refused: &[] },
    Known { name: "wc", operands: 0, with_value: &[], refused: &["--files0-from"] },
];

impl SafeBins {
    /// Those of the configuration, else the nine of the reference.
    pub fn from_config(config: &Config) -> Self {
        match config.get(&["tools", "exec", "safeBins"]) {
            None => Self(KNOWN.iter().map(|known| known.name.to_owned()).collect()),
            Some(listed) => {
                let names = listed.as_array().into_iter().flatten().filter_map(Value::as_str);
                Self(names.filter_map(text::lower_non_blank).collect())
            }
        }
    }

    /// Whether a program works on its input only. `exists` tells whether there is such a file where the
    /// command runs.
    pub fn allow(&self, program: &str, arguments: &[Word], exists: impl Fn(&str) -> bool) -> bool {
        let name = text::lower(program.rsplit('/').next().unwrap_or_default());
        if !self.0.contains(&name) {
            return false;
        }
        // What the shell puts in the place of a word is not known.
        let is_plain = |word: &Word| !word.has_variable && !word.has_pattern && !word.has_home;
        let is_file = |word: &str| looks_like_path(word) || exists(word);
        let no_file = |word: &Word| match word.text.strip_prefix('-') {
            None => !is_file(&word.text),
            Some("") => true,
            Some(option) => option.split_once('=').is_none_or(|(_, value)| !is_file(value)),
        };
        let judged = KNOWN.iter().find(|known| known.name == name);
        arguments.iter().all(is_plain)
            && arguments.iter().all(no_file)
            && judged.is_none_or(|known| known.takes(arguments))
    }
}

impl Known {
    fn takes(&self, arguments: &[Word]) -> bool {
        let mut operands = 0;
        let mut words = arguments.iter().map(|word| word.text.as_str());
        while let Some(word) = words.next() {
            // After `--` everything is an operand; nobody needs that on a pipe.
            if word == "--" || self.refuses(word) {
                return false;
            }
            if self.with_value.contains(&word) {
                words.next();
            } else if word == "-" || !word.starts_with('-') {
                operands += 1;
            }
        }
        operands <= self.operands
    }

    /// Long options may be cut short, short ones stand together and with their value.
    fn refuses(&self, word: &str) -> bool {
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            let mut long_ones = self.refused.iter().filter_map(|refused| refused.strip_prefix("--"));
            return long_ones.any(|refused| refused.starts_with(name));
        }
        let Some(short) = word.strip_prefix('-') else { return false };
        let letters =
            |option: &&str| option.strip_prefix('-').filter(|letter| letter.len() == 1).map(str::to_owned);
        let mut refused = self.refused.iter().filter_map(letters);
        // `-d,` of cut: what follows the letter is its value, and no letter.
        let takes_rest = |option: &&&str| word.starts_with(**option) && word.len() > 2;
        let has_own_value =
            self.with_value.iter().filter(|option| option.len() == 2).any(|option| takes_rest(&option));
        let looked_at = if has_own_value { &short[..1] } else { short };
        refused.any(|letter| looked_at.contains(&letter))
    }
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
            let program = format!("/usr/bin/{}", found.words[0].text);
            let allowed = safe.allow(&program, &found.words[1..], |name| name == "README.md");
            assert_eq!(allowed, expected, "{command}");
        }
    }

    #[test]
    fn a_list_of_ones_own_takes_the_place_of_ours() {
        let config = |bins| Config::new(json!({"tools": {"exec": {"safeBins": bins}}}));
        let allows = |bins, command: &str| {
            let found = segments(command).unwrap().remove(0);
            SafeBins::from_config(&config(bins))
                .allow(&found.words[0].text, &found.words[1..], |name| name == "x")
        };
        assert!(allows(json!([" Sed "]), "sed p"));
        assert!(!allows(json!(["sed"]), "sed p x"));
        assert!(!allows(json!(["sed"]), "grep p"));
        assert!(!allows(json!([]), "grep p"));
    }
}

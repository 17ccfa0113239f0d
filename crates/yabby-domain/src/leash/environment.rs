//! What a command is given of the environment: little, and nothing that is secret (`config.md` §9).

use std::collections::BTreeMap;

use crate::json::Value;

/// The variables of the program that a command may know.
const GIVEN: &[&str] =
    &["HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER", "TMPDIR"];

const FALLBACK_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment of a command, of what the program has and the call wants.
pub fn environment(
    own: impl IntoIterator<Item = (String, String)>,
    path_first: &[String],
    wanted: &[(String, String)],
) -> Result<BTreeMap<String, String>, String> {
    let is_given = |name: &str| GIVEN.contains(&name) || name.starts_with("LC_");
    let mut given: BTreeMap<String, String> = own.into_iter().filter(|(name, _)| is_given(name)).collect();
    let path =
        given.remove("PATH").filter(|path| !path.is_empty()).unwrap_or_else(|| FALLBACK_PATH.to_owned());
    // A relative folder would make the same name another program elsewhere.
    let absolute = path.split(':').filter(|folder| folder.starts_with('/'));
    let path: Vec<&str> = path_first.iter().map(String::as_str).chain(absolute).collect();
    given.insert("PATH".to_owned(), path.join(":"));
    given.entry("TERM".to_owned()).or_insert_with(|| "dumb".to_owned());
    for (name, value) in wanted {
        if let Some(why) = refused(name) {
            return Err(format!("env.{name} is refused: {why}"));
        }
        if value.contains('\0') {
            return Err(format!("env.{name} is refused: it contains a NUL"));
        }
        given.insert(name.clone(), value.clone());
    }
    Ok(given)
}

/// Adds what is not there yet, and what a call might add, too.
pub fn add_missing(
    environment: &mut BTreeMap<String, String>,
    more: impl IntoIterator<Item = (String, String)>,
) {
    let harmless = more.into_iter().filter(|(name, value)| refused(name).is_none() && !value.contains('\0'));
    for (name, value) in harmless {
        environment.entry(name).or_insert(value);
    }
}

/// Whether a program that may run unasked may be given a variable: one of those that change how its output looks, with
/// a value that names no file. Any other may make it run other code, and nobody can list all that do.
pub fn is_harmless(name: &str, value: &str) -> bool {
    const NAMES: &[&str] = &[
        "CI",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "FORCE_COLOR",
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_COLLATE",
        "LC_CTYPE",
        "LC_MESSAGES",
        "LC_MONETARY",
        "LC_NUMERIC",
        "LC_TIME",
        "LINES",
        "NO_COLOR",
        "TERM",
        "TZ",
    ];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.@+-".contains(c);
    let names_file = match name {
        // A zone is called `Europe/Berlin`.
        "TZ" => value.starts_with('/') || value.contains(".."),
        _ => value.contains('/') || value.contains(".."),
    };
    NAMES.contains(&name) && value.chars().all(|c| is_plain(c) || c == '/') && !names_file
}

/// Why a call may not set a variable.
fn refused(name: &str) -> Option<&'static str> {
    const STARTS: &[&str] =
        &["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "NPM_CONFIG_", "YABBY_", "OPENCLAW_", "GCONV_"];
    const NAMES: &[&str] = &[
        "BASH_ENV",
        "CDPATH",
        "ENV",
        "GIT_ASKPASS",
        "GIT_EXTERNAL_DIFF",
        "GIT_PAGER",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GLOBIGNORE",
        "HOME",
        "IFS",
        "JAVA_TOOL_OPTIONS",
        "LESSOPEN",
        "MANPAGER",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PAGER",
        "PERL5LIB",
        "PERL5OPT",
        "PROMPT_COMMAND",
        "PS4",
        "PYTHONHOME",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "RUBYLIB",
        "RUBYOPT",
        "SHELL",
        "SHELLOPTS",
        "BASHOPTS",
        "EDITOR",
        "VISUAL",
        "ZDOTDIR",
    ];
    let upper = name.to_ascii_uppercase();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    match upper.as_str() {
        _ if !is_name => Some("that is no name of a variable"),
        "PATH" => Some("which programs run is not for a call to say; see tools.exec.pathPrepend"),
        upper if NAMES.contains(&upper) || STARTS.iter().any(|start| upper.starts_with(start)) => {
            Some("it makes programs run other code")
        }
        _ => None,
    }
}

/// `env` of a call.
pub fn wanted(value: Option<&Value>) -> Result<Vec<(String, String)>, String> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(variables)) => variables
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) => Ok((name.clone(), text.clone())),
                Value::Number(number) => Ok((name.clone(), number.to_string())),
                Value::Bool(flag) => Ok((name.clone(), flag.to_string())),
                _ => Err(format!("env.{name} has to be a text")),
            })
            .collect(),
        Some(_) => Err("env has to be an object of names and texts".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn nothing_secret_is_given() {
        let own = pairs(&[
            ("ANTHROPIC_API_KEY", "k"),
            ("OPENCLAW_GATEWAY_TOKEN", "t"),
            ("SSH_AUTH_SOCK", "/s"),
            ("LD_PRELOAD", "x"),
            ("HOME", "/h"),
            ("LC_ALL", "C"),
            ("PATH", "/a:.:b:/c:"),
        ]);
        let given = environment(own, &["/first".to_owned()], &pairs(&[("X", "1")])).unwrap();
        let given: Vec<String> = given.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(given, ["HOME=/h", "LC_ALL=C", "PATH=/first:/a:/c", "TERM=dumb", "X=1"]);
        let bare = environment([], &[], &[]).unwrap();
        assert_eq!(bare["PATH"], FALLBACK_PATH);
    }

    #[test]
    fn what_is_added_replaces_nothing_and_runs_no_other_code() {
        let mut given = environment([], &[], &pairs(&[("A", "call")])).unwrap();
        let more = [
            ("A", "skill"),
            ("B", "skill"),
            ("LD_PRELOAD", "x"),
            ("PATH", "/x"),
            ("no name", "x"),
            ("N", "\0"),
        ];
        add_missing(&mut given, pairs(&more));
        assert_eq!((given["A"].as_str(), given["B"].as_str()), ("call", "skill"));
        assert_eq!((given["PATH"].as_str(), given.len()), (FALLBACK_PATH, 4));
    }

    #[test]
    fn only_what_is_listed_is_harmless() {
        let table = [
            ("TZ", "Europe/Berlin", true),
            ("LC_ALL", "de_DE.UTF-8@euro", true),
            ("NO_COLOR", "1", true),
            ("TZ", ":/etc/shadow", false),
            ("TZ", "/etc/shadow", false),
            ("TZ", "a/../../b", false),
            ("LANGUAGE", "../../tmp/x", false),
            ("TERM", "/tmp/x", false),
            ("LC_PATH", "x", false),
            ("X", "1", false),
            ("OPENSSL_CONF", "x", false),
            ("GIT_EDITOR", "x", false),
            ("lang", "C", false),
        ];
        for (name, value, expected) in table {
            assert_eq!(is_harmless(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn what_makes_programs_run_other_code_is_refused() {
        for name in [
            "PATH",
            "path",
            "LD_PRELOAD",
            "ld_library_path",
            "NODE_OPTIONS",
            "BASH_ENV",
            "ENV",
            "IFS",
            "PS4",
            "GIT_SSH_COMMAND",
            "DYLD_INSERT_LIBRARIES",
            "BASH_FUNC_ls%%",
            "1X",
            "",
            "A=B",
            "A B",
            "HOME",
            "PYTHONPATH",
            "YABBY_STATE_DIR",
        ] {
            assert!(environment([], &[], &pairs(&[(name, "x")])).is_err(), "{name}");
        }
        assert!(environment([], &[], &pairs(&[("X", "a\0b")])).is_err());
        assert!(environment([], &[], &pairs(&[("CI", "1"), ("_x9", "")])).is_ok());
    }
}

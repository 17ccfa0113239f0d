//! Where the state folder and the configuration file are (`config.md` §1).
//!
//! Paths are text here, and what exists is told by the caller.

use std::fmt;
use std::str::FromStr;

use yabby_base::path::{join, name_of, user_path};
use yabby_base::text;

use crate::environment::Environment;

/// Our folder, and those of OpenClaw under all the names it has had.
const OURS: &str = ".yabby";
const THEIRS: [&str; 4] = [".openclaw", ".clawdbot", ".moltbot", ".moldbot"];

pub const OUR_FILE: &str = "yabby.json";
pub const THEIR_FILES: [&str; 4] = ["openclaw.json", "clawdbot.json", "moltbot.json", "moldbot.json"];

/// What only OpenClaw leaves in a folder before anything else is there.
const THEIR_TRACES: [&str; 5] =
    ["openclaw.json.bak", "exec-approvals.json", "update-check.json", "identity", "devices"];

/// A folder of its own for one use of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use letters, numbers, \"_\", \"-\" only")]
pub struct InvalidProfile;

impl Profile {
    /// The profile to try things in.
    pub fn dev() -> Self {
        Self("dev".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the name of the folder ends in.
    fn ending(&self) -> String {
        if self.0.eq_ignore_ascii_case("default") { String::new() } else { format!("-{}", self.0) }
    }
}

impl FromStr for Profile {
    type Err = InvalidProfile;

    fn from_str(raw: &str) -> Result<Self, InvalidProfile> {
        let name = text::trim(raw);
        let fits = (1..=64).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if fits { Ok(Self(name.to_owned())) } else { Err(InvalidProfile) }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What names the state folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// `--state-dir` or our own variable.
    Folder(String),
    /// A variable of OpenClaw's.
    Theirs(String),
    Profile(Profile),
    Nothing,
}

impl Named {
    /// The strongest of what the command line and the environment say.
    pub fn by(option: Option<&str>, profile: Option<&Profile>, environment: &Environment) -> Self {
        if let Some(folder) = option.or_else(|| environment.non_blank("YABBY_STATE_DIR")) {
            return Self::Folder(folder.to_owned());
        }
        if let Some(folder) = environment.non_blank("OPENCLAW_STATE_DIR") {
            return Self::Theirs(folder.to_owned());
        }
        match (profile, environment.non_blank("CLAWDBOT_STATE_DIR")) {
            (Some(profile), _) => Self::Profile(profile.clone()),
            (None, Some(folder)) => Self::Theirs(folder.to_owned()),
            (None, None) => Self::Nothing,
        }
    }
}

/// The folders that names are resolved against.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub home: &'a str,
    pub current: &'a str,
}

/// The state folder.
pub fn state_folder(named: &Named, around: Around<'_>, exists: impl Fn(&str) -> bool) -> String {
    let in_home = |name: &str, ending: &str| join(around.home, &format!("{name}{ending}"));
    let (names, ending) = match named {
        Named::Folder(folder) | Named::Theirs(folder) => {
            return user_path(folder, around.home, around.current);
        }
        Named::Profile(profile) => (&THEIRS[..1], profile.ending()),
        Named::Nothing => (&THEIRS[..], String::new()),
    };
    let ours = in_home(OURS, &ending);
    if exists(&ours) {
        return ours;
    }
    names.iter().map(|name| in_home(name, &ending)).find(|folder| exists(folder)).unwrap_or(ours)
}

/// The configuration file.
pub fn config_file(
    named: &Named,
    state: &str,
    environment: &Environment,
    around: Around<'_>,
    exists: impl Fn(&str) -> bool,
) -> String {
    let variables = ["YABBY_CONFIG_PATH", "OPENCLAW_CONFIG_PATH", "CLAWDBOT_CONFIG_PATH"];
    if let Some(file) = environment.first(&variables) {
        return user_path(file, around.home, around.current);
    }
    let all_names = std::iter::once(OUR_FILE).chain(THEIR_FILES);
    let in_state = all_names.map(|name| join(state, name));
    let elsewhere = THEIRS
        .iter()
        .filter(|_| looks_elsewhere(named, state))
        .flat_map(|folder| THEIR_FILES.map(|name| join(&join(around.home, folder), name)));
    let found = in_state.chain(elsewhere).find(|file| exists(file));
    found.unwrap_or_else(|| {
        let is_theirs = matches!(named, Named::Theirs(_))
            || is_called_like_theirs(state)
            || THEIR_TRACES.iter().any(|name| exists(&join(state, name)));
        let [their_file, ..] = THEIR_FILES;
        join(state, if is_theirs { their_file } else { OUR_FILE })
    })
}

/// Whether the file may be in another folder of OpenClaw's, where OpenClaw would find it as well.
fn looks_elsewhere(named: &Named, state: &str) -> bool {
    match named {
        Named::Theirs(_) => true,
        Named::Nothing => is_called_like_theirs(state),
        Named::Folder(_) | Named::Profile(_) => false,
    }
}

/// Whether a folder has a name under which OpenClaw looks for its own.
pub fn is_called_like_theirs(state: &str) -> bool {
    let name = name_of(state);
    THEIRS.iter().any(|folder| name == *folder || name.starts_with(&format!("{folder}-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    const AROUND: Around<'_> = Around { home: "/h", current: "/c" };

    #[test]
    fn state_is_kept_where_it_has_been_kept() {
        type Row<'a> = (Option<&'a str>, &'a str, &'a [(&'a str, &'a str)], &'a [&'a str], &'a str);
        //  --state-dir, --profile, variables, folders there are, state
        let table: [Row<'_>; 18] = [
            (None, "", &[], &[], "/h/.yabby"),
            (None, "", &[], &["/h/.openclaw"], "/h/.openclaw"),
            (None, "", &[], &["/h/.openclaw", "/h/.yabby"], "/h/.yabby"),
            (None, "", &[], &["/h/.moltbot", "/h/.clawdbot"], "/h/.clawdbot"),
            (None, "", &[], &["/h/.moldbot"], "/h/.moldbot"),
            (None, "", &[("OPENCLAW_STATE_DIR", " "), ("CLAWDBOT_STATE_DIR", "~/x")], &["/h/.yabby"], "/h/x"),
            (None, "", &[("OPENCLAW_STATE_DIR", " a/../b "), ("CLAWDBOT_STATE_DIR", "/y")], &[], "/c/b"),
            (None, "", &[("OPENCLAW_STATE_DIR", "/o"), ("YABBY_STATE_DIR", "/y")], &[], "/y"),
            (Some("~/s"), "", &[("OPENCLAW_STATE_DIR", "/o"), ("YABBY_STATE_DIR", "/y")], &[], "/h/s"),
            (Some("s"), "p", &[], &[], "/c/s"),
            (None, "p", &[], &["/h/.yabby", "/h/.openclaw"], "/h/.yabby-p"),
            (None, "p", &[], &["/h/.openclaw-p"], "/h/.openclaw-p"),
            (None, "p", &[], &["/h/.openclaw-p", "/h/.yabby-p"], "/h/.yabby-p"),
            (None, "p", &[("OPENCLAW_STATE_DIR", "/o")], &[], "/o"),
            (None, "p", &[("CLAWDBOT_STATE_DIR", "/o")], &[], "/h/.yabby-p"),
            (None, "Default", &[], &["/h/.openclaw"], "/h/.openclaw"),
            (None, "default", &[], &[], "/h/.yabby"),
            // OpenClaw sets this one for its children; on its own it moves nothing.
            (None, "", &[("OPENCLAW_PROFILE", "p")], &["/h/.openclaw", "/h/.openclaw-p"], "/h/.openclaw"),
        ];
        for (option, profile, variables, there, state) in table {
            let profile: Option<Profile> = profile.parse().ok();
            let named = Named::by(option, profile.as_ref(), &environment(variables));
            assert_eq!(
                state_folder(&named, AROUND, |path| there.contains(&path)),
                state,
                "{named:?} {there:?}"
            );
        }
    }

    #[test]
    fn the_file_is_in_the_state_folder_or_where_openclaw_would_find_it() {
        let folder = |state: &str| Named::Folder(state.to_owned());
        let theirs = |state: &str| Named::Theirs(state.to_owned());
        type Row<'a> = (Named, &'a str, &'a [(&'a str, &'a str)], &'a [&'a str], &'a str);
        //  named, state, variables, files there are, file
        let table: [Row<'_>; 16] = [
            (Named::Nothing, "/h/.yabby", &[], &[], "/h/.yabby/yabby.json"),
            (Named::Nothing, "/h/.yabby", &[], &["/h/.openclaw/openclaw.json"], "/h/.yabby/yabby.json"),
            (Named::Nothing, "/h/.yabby", &[], &["/h/.yabby/openclaw.json"], "/h/.yabby/openclaw.json"),
            (Named::Nothing, "/h/.openclaw", &[], &[], "/h/.openclaw/openclaw.json"),
            (
                Named::Nothing,
                "/h/.openclaw",
                &[],
                &["/h/.openclaw/clawdbot.json"],
                "/h/.openclaw/clawdbot.json",
            ),
            (Named::Nothing, "/h/.openclaw", &[], &["/h/.moltbot/moltbot.json"], "/h/.moltbot/moltbot.json"),
            (
                Named::Nothing,
                "/h/.clawdbot",
                &[],
                &["/h/.clawdbot/openclaw.json"],
                "/h/.clawdbot/openclaw.json",
            ),
            (theirs("/o"), "/o", &[], &["/h/.openclaw/openclaw.json"], "/h/.openclaw/openclaw.json"),
            (theirs("/o"), "/o", &[], &["/h/.openclaw/openclaw.json", "/o/moldbot.json"], "/o/moldbot.json"),
            (theirs("/o"), "/o", &[], &[], "/o/openclaw.json"),
            (folder("/s"), "/s", &[], &["/h/.openclaw/openclaw.json"], "/s/yabby.json"),
            (folder("/s"), "/s", &[], &["/s/identity"], "/s/openclaw.json"),
            (folder("/s"), "/s", &[], &["/s/openclaw.json", "/s/yabby.json"], "/s/yabby.json"),
            (Named::Profile(Profile("p".into())), "/h/.openclaw-p", &[], &[], "/h/.openclaw-p/openclaw.json"),
            (
                folder("/s"),
                "/s",
                &[("CLAWDBOT_CONFIG_PATH", "/x"), ("OPENCLAW_CONFIG_PATH", "~/y")],
                &[],
                "/h/y",
            ),
            (folder("/s"), "/s", &[("YABBY_CONFIG_PATH", "z"), ("OPENCLAW_CONFIG_PATH", "/y")], &[], "/c/z"),
        ];
        for (named, state, variables, there, file) in table {
            let found =
                config_file(&named, state, &environment(variables), AROUND, |path| there.contains(&path));
            assert_eq!(found, file, "{named:?} {there:?}");
        }
    }

    #[test]
    fn a_profile_is_a_name() {
        let long = "a".repeat(65);
        for (raw, fits) in [
            ("dev", true),
            (" Work_2-x ", true),
            (&long[1..], true),
            (&long, false),
            ("", false),
            ("-a", false),
            ("a/b", false),
            ("..", false),
            ("ä", false),
        ] {
            assert_eq!(raw.parse::<Profile>().is_ok(), fits, "{raw}");
        }
    }
}

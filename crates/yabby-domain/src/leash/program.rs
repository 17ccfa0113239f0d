//! Programs: where they are, and whether they can run others (`state-files.md` §4).

/// A program that a command names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundProgram {
    /// Where its name leads to.
    pub path: String,
    /// The same with every link resolved.
    pub real: String,
    /// The agent can change it, or the link to it: it is in the workspace, for example.
    pub is_changeable: bool,
}

impl FoundProgram {
    /// Whether it is one of the system's, which the agent cannot put there: neither it nor what it links to.
    pub fn is_system(&self) -> bool {
        const FOLDERS: &[&str] = &[
            "/bin/",
            "/sbin/",
            "/lib/",
            "/usr/",
            "/nix/store/",
            "/gnu/store/",
            "/run/current-system/",
            "/opt/homebrew/",
        ];
        let is_in = |path: &str| FOLDERS.iter().any(|folder| path.starts_with(folder));
        !self.is_changeable && is_in(&self.path) && is_in(&self.real)
    }

    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// Whether a program of the system runs no other one, whatever its arguments are. Those that are not known may:
/// `git -c alias.x='!cmd'`, `sed '1e cmd'` and `tar --checkpoint-action=exec=cmd` do. So may those that write what they are
/// given into any file (`uniq lines ~/.profile`, `xxd -r`, `shuf -o`, `tree -o`), since some files are run.
pub fn runs_no_other(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "arch",
        "b2sum",
        "base32",
        "base64",
        "basename",
        "basenc",
        "cal",
        "cat",
        "cksum",
        "cmp",
        "column",
        "comm",
        "cut",
        "date",
        "df",
        "dir",
        "dirname",
        "du",
        "echo",
        "expand",
        "expr",
        "factor",
        "false",
        "fold",
        "free",
        "getconf",
        "grep",
        "groups",
        "head",
        "hexdump",
        "hostid",
        "hostname",
        "id",
        "join",
        "jq",
        "ls",
        "lsblk",
        "lscpu",
        "md5sum",
        "mkdir",
        "nl",
        "nproc",
        "numfmt",
        "od",
        "paste",
        "pathchk",
        "pgrep",
        "pidof",
        "printenv",
        "printf",
        "ps",
        "pwd",
        "readlink",
        "realpath",
        "rev",
        "rmdir",
        "seq",
        "sha1sum",
        "sha224sum",
        "sha256sum",
        "sha384sum",
        "sha512sum",
        "sleep",
        "stat",
        "strings",
        "sum",
        "tac",
        "tail",
        "test",
        "touch",
        "tr",
        "true",
        "tsort",
        "tty",
        "uname",
        "unexpand",
        "uptime",
        "users",
        "vdir",
        "vmstat",
        "w",
        "wc",
        "whereis",
        "which",
        "who",
        "whoami",
    ];
    NAMES.contains(&name)
}

/// Whether a program runs whatever it is told to: to allow it is to allow everything.
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

    #[test]
    fn a_program_of_the_system_is_there_by_both_names() {
        //  path  real  changeable  of the system
        let table = [
            ("/usr/bin/wc", "/usr/bin/wc", false, true),
            ("/bin/wc", "/usr/bin/wc", false, true),
            ("/usr/bin/wc", "/usr/bin/wc", true, false),
            ("/home/u/ws/wc", "/home/u/ws/wc", true, false),
            ("/home/u/bin/wc", "/usr/bin/bash", false, false),
            ("/usr/local/bin/wc", "/home/u/wc", false, false),
            ("/home/usr/bin/wc", "/home/usr/bin/wc", false, false),
        ];
        for (path, real, is_changeable, expected) in table {
            let found = FoundProgram { path: path.to_owned(), real: real.to_owned(), is_changeable };
            assert_eq!(found.is_system(), expected, "{found:?}");
        }
    }

    #[test]
    fn what_can_run_others_is_not_taken_for_harmless() {
        let can = "git sed tar npx chroot setpriv taskset prlimit choom ld-linux-x86-64.so.2 ed split run-parts \
            start-stop-daemon rg sort find less man vim rsync ssh curl openssl cargo npm env bash tee cp mv dd file diff \
            uniq shuf xxd tree ln install";
        for name in can.split_whitespace() {
            assert!(!runs_no_other(name), "{name}");
        }
        assert!(runs_no_other("ls") && runs_no_other("jq"));
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

//! Tricks to run what is not on the list, by way of what is.

use serde_json::json;
use yabby_domain::seam::approvals::ApprovalBook as _;

use crate::desk::Desk;

/// Only `ls` is on the list, and nobody is asked.
fn strict() -> Desk {
    let mut desk = Desk::new();
    desk.configure(json!({"tools": {"exec": {"security": "allowlist", "ask": "off"}}}));
    for pattern in ["/bin/ls", "/usr/bin/ls", "/usr/local/bin/ls", "~/bin/tool"] {
        desk.approvals
            .update(&mut |approvals| assert!(approvals.allow("main", pattern, pattern.into(), 1)))
            .unwrap();
    }
    desk.put("data.txt", "data");
    desk
}

#[tokio::test]
async fn what_is_on_the_list_runs() {
    let desk = strict();
    for command in
        ["ls", "ls -la", "\\ls", "'ls' data.txt", "l\"s\"", "ls | grep data | wc -l", "ls && ls; ls || ls"]
    {
        assert!(!desk.told("exec", json!({"command": command})).await.is_empty(), "{command}");
    }
}

#[tokio::test]
async fn no_trick_runs_anything_else() {
    let desk = strict();
    let table = [
        // command, and the reason that it is refused for
        ("touch canary", "not on the allowlist"),
        ("ls $(touch canary)", "substitutes"),
        ("ls \"$(touch canary)\"", "substitutes"),
        ("ls `touch canary`", "substitutes"),
        ("ls \"`touch canary`\"", "substitutes"),
        ("ls; touch canary", "not on the allowlist"),
        ("ls;touch canary", "not on the allowlist"),
        ("ls && touch canary", "not on the allowlist"),
        ("ls nothing || touch canary", "not on the allowlist"),
        ("ls | touch canary", "not on the allowlist"),
        ("ls |& touch canary", "redirects"),
        ("ls & touch canary", "leaves something running"),
        ("ls\ntouch canary", "more than one line"),
        ("ls\r\ntouch canary", "more than one line"),
        ("ls \\\ntouch canary", "more than one line"),
        ("ls # '\ntouch canary #'", "more than one line"),
        ("ls > canary", "redirects"),
        ("ls >> canary", "redirects"),
        ("ls 2>canary", "redirects"),
        ("ls <(touch canary)", "redirects"),
        ("ls <<E\n$(touch canary)\nE", "redirects"),
        ("(touch canary)", "parentheses"),
        ("{ touch canary; }", "cannot be judged"),
        ("touch$IFS\"canary\"", "cannot be judged"),
        ("X=1 touch canary", "sets a variable"),
        ("PATH=. ls", "sets a variable"),
        ("LS_COLORS=/bin/ls touch canary", "sets a variable"),
        ("env touch canary", "not on the allowlist"),
        ("eval ls", "no program"),
        ("exec touch canary", "no program"),
        ("command touch canary", "no program"),
        (". ./ls", "no program"),
        ("source ls", "no program"),
        ("alias ls=touch; ls canary", "no program"),
        ("ls() { touch canary; }; ls", "parentheses"),
        ("if ls; then touch canary; fi", "no program"),
        ("! touch canary", "no program"),
        ("ls $'\\'' ; touch canary #'", "cannot be judged"),
        ("ls ${X:-$(touch canary)}", "cannot be judged"),
        ("ls \"${X:-\"; touch canary; \"}\"", "cannot be judged"),
        ("ls $((`touch canary`))", "substitutes"),
        ("./ls", "not on the allowlist"),
        ("/bin/../tmp/ls", "no program"),
        ("/usr/bin/l?", "cannot be judged"),
        ("'~/bin/tool'", "not on the allowlist"),
        ("touch'' canary", "not on the allowlist"),
        ("to\\uch canary", "not on the allowlist"),
        ("ls\u{a0}-la", "no program"),
        ("ls \"unclosed", "quote is not closed"),
        // Programs that are safe as long as they work on their input.
        ("grep -r data", "not on the allowlist"),
        ("grep data data.txt", "not on the allowlist"),
        ("grep x /etc/passwd", "not on the allowlist"),
        ("ls | sort -o canary", "not on the allowlist"),
        ("ls | uniq - canary", "not on the allowlist"),
        ("ls | sort --compress-program=./ls", "not on the allowlist"),
        ("head $HOME/.yabby/exec-approvals.json", "not on the allowlist"),
        ("head *", "not on the allowlist"),
        ("tail -f data.txt", "not on the allowlist"),
        ("jq -n input data.txt", "not on the allowlist"),
        ("jq -n 'import \"./data\" as $d; $d'", "not on the allowlist"),
        ("jq -n 'include \"data\"; .'", "not on the allowlist"),
        ("jq -n --rawfile x data.txt .", "not on the allowlist"),
        ("jq -L . -n 'import \"data\" as $d; $d'", "not on the allowlist"),
        // Programs with the names of harmless ones.
        ("ls | ./wc", "not on the allowlist"),
        ("repo/bin/head", "not on the allowlist"),
        ("ls | ./link/wc", "not on the allowlist"),
    ];
    // Somebody has put programs where a shell might find them.
    use std::os::unix::fs::PermissionsExt as _;
    std::os::unix::fs::symlink("repo/bin", desk.context.workspace.join("link")).unwrap();
    for name in ["ls", "~/bin/tool", "wc", "repo/bin/head", "repo/bin/wc"] {
        desk.put(name, "#!/bin/sh\ntouch canary\n");
        let file = desk.context.workspace.join(name);
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    for (command, why) in table {
        let told = desk.refused("exec", json!({"command": command})).await;
        assert!(told.starts_with("exec denied: allowlist miss: "), "{command:?} {told}");
        // The jq of this machine may be missing.
        assert!(
            told.contains(why) || command.starts_with("jq") && told.contains("no program"),
            "{command:?} {told}"
        );
        assert!(!desk.context.workspace.join("canary").exists(), "{command:?}");
    }
    assert_eq!(desk.office.questions(), []);
}

#[tokio::test]
async fn a_call_cannot_loosen_the_rules_nor_the_environment() {
    let desk = strict();
    for arguments in [
        json!({"command": "touch canary", "security": "full"}),
        json!({"command": "touch canary", "security": "full", "ask": "off"}),
        json!({"command": "touch canary", "elevated": true}),
        json!({"command": "touch canary", "host": "gateway", "security": "full"}),
        json!({"command": "ls", "env": {"LD_PRELOAD": "/tmp/x.so"}}),
        json!({"command": "ls", "env": {"PATH": "."}}),
        json!({"command": "ls", "env": {"BASH_ENV": "ls"}}),
        json!({"command": "ls", "env": {"BASH_FUNC_ls%%": "() { touch canary; }"}}),
        json!({"command": "ls", "env": {"IFS": "s"}}),
        json!({"command": "ls", "env": {"GIT_EXEC_PATH": "."}}),
        json!({"command": "ls", "env": {"TAR_OPTIONS": "x"}}),
        json!({"command": "ls", "env": {"OPENSSL_CONF": "x"}}),
        json!({"command": "ls", "env": {"TZ": "/etc/shadow"}}),
        json!({"command": "ls", "env": {"ANYTHING": "x"}}),
        json!({"command": "ls", "env": {"X\n=1": "s"}}),
    ] {
        let told = desk.refused("exec", arguments.clone()).await;
        assert!(told.starts_with("exec denied: "), "{arguments} {told}");
        assert!(!desk.context.workspace.join("canary").exists(), "{arguments}");
    }
}

/// A list with these programs on it, and nobody is asked.
fn listed(programs: &[&str]) -> Desk {
    let desk = strict();
    for program in programs {
        desk.approvals
            .update(&mut |approvals| _ = approvals.allow("main", program, (*program).into(), 1))
            .unwrap();
    }
    desk
}

#[tokio::test]
async fn a_builtin_does_not_take_the_place_of_a_program_on_the_list() {
    let desk = listed(&["/usr/bin/printf", "/usr/bin/test", "/bin/printf", "/bin/test"]);
    for command in [
        "printf -v 'a[$(touch canary)]' x",
        "test -v 'a[$(touch canary)]'",
        "ls | printf -v 'a[$(touch canary)]' x",
        "'printf' -v 'a[$(touch canary)]' x; test -v 'a[$(touch canary)]'",
    ] {
        desk.call("exec", json!({"command": command})).await;
        assert!(!desk.context.workspace.join("canary").exists(), "{command}");
    }
    assert_eq!(desk.told("exec", json!({"command": "printf '%s-%s' a b | tr a-z A-Z"})).await, "A-B");
}

#[tokio::test]
async fn what_works_on_its_input_does_so_in_the_folders_of_the_agent_only() {
    let desk = strict();
    desk.put("sub/x", "");
    let outside = desk.outside().join("home");
    desk.told("exec", json!({"command": "wc -c", "workdir": "sub"})).await;
    for workdir in [outside.to_str().unwrap(), "..", "/etc"] {
        let told = desk.refused("exec", json!({"command": "wc -c", "workdir": workdir})).await;
        assert!(told.contains("not one of the agent's folders"), "{workdir} {told}");
    }
}

#[tokio::test]
async fn always_stands_for_the_very_command_if_it_can_run_others() {
    use yabby_domain::seam::office::Decision;
    let mut desk = Desk::new();
    desk.put("notes.txt", "one");
    desk.office.decide(Decision::Always);
    let told = desk.told("exec", json!({"command": "sed -n 1p notes.txt"})).await;
    assert!(told.contains("one"), "{told}");
    // From now on it runs unasked, as it stands and where it stood.
    desk.configure(json!({"tools": {"exec": {"ask": "off"}}}));
    desk.told("exec", json!({"command": "sed -n 1p notes.txt"})).await;
    for arguments in [
        json!({"command": "sed '1e touch canary' notes.txt"}),
        json!({"command": "sed -n 1p notes.txt; touch canary"}),
        json!({"command": "sed -n 1p notes.txt", "workdir": ".."}),
        json!({"command": "sed -n 1p notes.txt", "env": {"POSIXLY_CORRECT": "1"}}),
    ] {
        let told = desk.refused("exec", arguments.clone()).await;
        assert!(told.starts_with("exec denied: allowlist miss"), "{arguments} {told}");
        assert!(!desk.context.workspace.join("canary").exists(), "{arguments}");
    }
    let text = std::fs::read_to_string(desk.approvals.path()).unwrap();
    assert!(text.contains("\"pattern\": \"=sed -n 1p notes.txt\""), "{text}");
}

#[tokio::test]
async fn who_is_asked_sees_the_variables_of_a_command() {
    use yabby_domain::seam::office::Decision;
    let desk = Desk::new();
    desk.office.decide(Decision::Once);
    desk.told("exec", json!({"command": "ls", "env": {"GIT_EDITOR": "touch canary"}})).await;
    assert_eq!(desk.office.questions()[0].command, "GIT_EDITOR=\"touch canary\" ls");
}

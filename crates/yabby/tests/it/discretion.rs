//! What the whole program keeps to itself, and what it says the same way every time. The model is stood in
//! for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use yabby_testkit::stand_in::Reply;

use crate::exec;
use crate::home::Home;

/// Every secret ends like this, so that none can be overlooked.
const END: &str = "very-secret";

/// Where secrets are kept: these files may hold them, and no other.
const KEPT_IN: [&str; 4] = [
    ".openclaw/openclaw.json",
    ".openclaw/yabby-extras.json",
    ".openclaw/.env",
    ".openclaw/agents/main/agent/auth-profiles.json",
];

/// A server of tools that tells what it was given, in its answers and in its complaints.
const SERVER: &str = r#"while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"zeal","inputSchema":{"type":"object"}},{"name":"ask","description":"Asks.","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) echo "asked with $SERVER_TOKEN for $TENANT" >&2
      result='{"content":[{"type":"text","text":"token '"$SERVER_TOKEN"' tenant '"$TENANT"'"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A home that holds a secret in every place that may hold one.
fn home_with_secrets(service: &exec::Service) -> Home {
    let home = exec::home(
        service,
        &json!({
            "channels": {"telegram": {"botToken": format!("bot-{END}")}},
            "gateway": {"auth": {"mode": "token", "token": format!("gateway-{END}")}},
            "env": {"vars": {"VENDOR_API_KEY": format!("vendor-{END}")}},
            "skills": {"entries": {"fish": {
                "apiKey": format!("skill-key-{END}"),
                "env": {"TENANT": format!("skill-tenant-{END}")},
            }}},
        }),
    );
    home.write(".openclaw/server.sh", SERVER);
    let server = json!({
        "command": "/bin/sh",
        "args": [home.path().join(".openclaw/server.sh")],
        "env": {"SERVER_TOKEN": format!("server-token-{END}"), "TENANT": format!("server-tenant-{END}")},
    });
    home.write(
        ".openclaw/yabby-extras.json",
        &json!({"tools": {"mcp": {"servers": {"desk": server}}}}).to_string(),
    );
    home.write(".openclaw/.env", &format!("DOTENV_TOKEN=dotenv-{END}\n"));
    let profile = json!({"type": "api_key", "provider": "other", "key": format!("profile-{END}")});
    home.write(
        ".openclaw/agents/main/agent/auth-profiles.json",
        &json!({"version": 1, "profiles": {"other:me": profile}}).to_string(),
    );
    home.write(
        ".openclaw/workspace/skills/fish/SKILL.md",
        "---\nname: fish\ndescription: Fishes.\nmetadata: {\"openclaw\":{\"primaryEnv\":\"HOOK_KEY\"}}\n---\n",
    );
    home
}

fn ask(home: &Home, session: &str, words: &str) -> Output {
    home.command(&["agent", "--local", "--session-id", session, "-m", words])
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("YABBY_LOG", "trace")
        .env("ANTHROPIC_API_KEY", format!("environment-{END}"))
        .env("DATABASE_URL", format!("postgres://me:database-{END}@localhost/x"))
        .output()
        .unwrap()
}

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => files(&entry.path(), found),
            false => found.push(entry.path()),
        }
    }
}

/// The lines of a text in which a secret stands.
fn secrets_in(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.lines().filter(|line| line.contains(END)).map(str::to_owned).collect()
}

#[test]
fn no_secret_is_told_written_down_or_logged() {
    let everything = "cat ../openclaw.json ../yabby-extras.json ../.env ../agents/main/agent/auth-profiles.json; \
                      env; echo \"$HOOK_KEY $TENANT\"";
    let refused = json!({"error": {"message": format!("Incorrect API key provided: config-{END}")}});
    let service = exec::service([
        exec::call("exec", &json!({"command": everything})),
        exec::call("mcp_desk_ask", &json!({})),
        exec::answer(),
        Reply::json(401, &refused),
    ]);
    let home = home_with_secrets(&service);
    let said = ask(&home, "one", "go");
    assert!(said.status.success(), "{said:?}");
    assert!(exec::told(&service).contains("token *** tenant ***"), "{}", exec::told(&service));
    let failed = ask(&home, "one", "again");
    assert!(!failed.status.success(), "{failed:?}");
    for Output { stdout, stderr, .. } in [&said, &failed] {
        assert_eq!(secrets_in(stdout), [""; 0]);
        assert_eq!(secrets_in(stderr), [""; 0]);
    }
    assert!(said.stderr.len() > 1000, "it logs a lot: {said:?}");
    for seen in service.stand_in.seen() {
        assert_eq!(secrets_in(seen.body.to_string().as_bytes()), [""; 0]);
    }
    let mut found = Vec::new();
    files(home.path(), &mut found);
    let kept: Vec<PathBuf> = KEPT_IN.iter().map(|name| home.path().join(name)).collect();
    assert!(found.iter().any(|file| file.extension().is_some_and(|end| end == "jsonl")), "{found:?}");
    for file in found.iter().filter(|file| !kept.contains(file)) {
        assert_eq!(secrets_in(&fs::read(file).unwrap()), [""; 0], "{}", file.display());
    }
}

#[test]
fn two_processes_begin_their_requests_with_the_same_bytes() {
    let service = exec::service([exec::answer(), exec::answer(), exec::answer()]);
    let home = home_with_secrets(&service);
    for name in ["zebra", "ant", "moth", "bee"] {
        let text = format!("---\nname: {name}\ndescription: About the {name}.\n---\n");
        home.write(&format!(".openclaw/workspace/skills/{name}/SKILL.md"), &text);
    }
    for name in ["AGENTS.md", "SOUL.md", "USER.md", "MEMORY.md"] {
        home.write(&format!(".openclaw/workspace/{name}"), &format!("This is {name}."));
    }
    for (session, words) in [("one", "first"), ("one", "second"), ("two", "third")] {
        let said = ask(&home, session, words);
        assert!(said.status.success(), "{said:?}");
    }
    let seen = service.stand_in.seen();
    // As they were sent: what a model has read is known again by its bytes.
    let beginning = |body: &Value| (body["messages"][0].to_string(), body["tools"].to_string());
    let [first, second, third] = [0, 1, 2].map(|number| beginning(&seen[number].body));
    assert!(first.0.contains("This is USER.md.") && first.0.contains("zebra"), "{}", first.0);
    assert!(first.1.contains("mcp_desk_zeal"), "{}", first.1);
    assert_eq!(first, second);
    // In another session, too.
    assert_eq!(first, third);
}

/// Whatever the person's umask is, nothing of what yabby keeps can be read by others, an index that was open is closed, and
/// what commands make is as the person wants it.
#[test]
fn every_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::empty();
    fs::remove_dir_all(home.path().join(".openclaw")).unwrap();
    home.out(&["setup"]);
    home.run(&["agent", "--agent", "main", "-m", "Remember that the spare key is with Ann."]);
    let search = ["memory", "search", "spare key"];
    home.run(&search);
    let state = home.path().join(".yabby");
    let (folder, index) = (state.join("recall"), state.join("recall/main.sqlite"));
    assert!(index.is_file());
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&index, fs::Permissions::from_mode(0o644)).unwrap();
    let found = home.run(&["doctor", "--json"]).out;
    assert!(found.contains("open-to-others") && found.contains("recall/main.sqlite"), "{found}");
    home.run(&search);
    let mut open = vec![state];
    while let Some(path) = open.pop() {
        let about = path.symlink_metadata().unwrap();
        let mode = about.permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} {mode:o}", path.display());
        if about.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}

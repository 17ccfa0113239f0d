//! What a person at a real terminal sees.

use std::fs::OpenOptions;
use std::io::{Read as _, Write};
use std::num::NonZero;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::json;
use yabby_domain::ledger::CallRecord;

use crate::exec;
use crate::gateway;
use crate::home::{Held, Home, MAIN, YABBY, message};

/// A yabby that runs in a terminal.
struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    /// The terminal is there as long as this is.
    _master: Box<dyn MasterPty + Send>,
    chunks: Receiver<Vec<u8>>,
    /// All that was printed so far.
    printed: Vec<u8>,
    size: PtySize,
}

impl Terminal {
    fn start(home: &Home, columns: u16, variables: &[(&str, &str)], arguments: &[&str]) -> Self {
        let size = PtySize { rows: 60, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(YABBY);
        command.env_clear();
        command.cwd(home.path());
        command.args(arguments);
        command.env("HOME", home.path());
        for (name, value) in [("TZ", "UTC"), ("TERM", "xterm"), ("PAGER", "")].iter().chain(variables) {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, chunks) = channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            // The end of a terminal is an error on some systems.
            while let Ok(length @ 1..) = reader.read(&mut chunk) {
                if sender.send(chunk[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        drop(pair.slave);
        let keyboard = pair.master.take_writer().unwrap();
        Self { child, keyboard, _master: pair.master, chunks, printed: Vec::new(), size }
    }

    /// Waits until a text is on the screen.
    fn wait_for(&mut self, text: &str) {
        while !self.screen().contains(text) {
            match self.chunks.recv_timeout(Duration::from_secs(20)) {
                Ok(chunk) => self.printed.extend(chunk),
                Err(error) => panic!("{error}: {text:?} is not in\n{}", self.screen()),
            }
        }
    }

    /// Waits until the last line of the screen is an empty prompt.
    fn wait_for_prompt(&mut self) {
        while !self.screen().trim_end().ends_with("\nyou>") {
            match self.chunks.recv_timeout(Duration::from_secs(20)) {
                Ok(chunk) => self.printed.extend(chunk),
                Err(error) => panic!("{error}: there is no prompt in\n{}", self.screen()),
            }
        }
    }

    /// Says something in a conversation, and waits until it is answered.
    fn say(&mut self, words: &str, answer: &str) {
        self.wait_for_prompt();
        self.type_in(words);
        self.wait_for(words.trim_end());
        self.type_in("\r");
        self.wait_for(answer);
        self.wait_for_prompt();
    }

    /// Waits until the program ends, and tells how.
    fn finish(&mut self) -> u32 {
        while let Ok(chunk) = self.chunks.recv_timeout(Duration::from_secs(20)) {
            self.printed.extend(chunk);
        }
        self.child.wait().unwrap().exit_code()
    }

    fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn screen(&self) -> String {
        let [rows, columns] = [self.size.rows, self.size.cols].map(|size| NonZero::new(size).unwrap());
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(&self.printed);
        parser.screen().contents()
    }

    fn has_colours(&self) -> bool {
        self.printed.contains(&0x1b)
    }
}

/// The whole run of a command: what it printed, seen as a terminal shows it.
fn shown(home: &Home, columns: u16, variables: &[(&str, &str)], arguments: &[&str]) -> (String, bool) {
    let mut terminal = Terminal::start(home, columns, variables, arguments);
    assert_eq!(terminal.finish(), 0, "{arguments:?}: {}", terminal.screen());
    (terminal.screen(), terminal.has_colours())
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let home = Home::saying(&[message("1", "user", "hello"), message("2", "assistant", "hi")]);
    for command in [
        &["history"][..],
        &["history", "--tree"],
        &["sessions"],
        &["memory", "search", "hello"],
        &["memory", "status"],
        &["memory", "index"],
    ] {
        let no_color = [command, &["--no-color"]].concat();
        let table = [
            (&[][..], command, true),
            (&[("NO_COLOR", "1")], command, false),
            (&[("TERM", "dumb")], command, false),
            (&[], &no_color, false),
        ];
        for (variables, arguments, coloured) in table {
            assert_eq!(shown(&home, 80, variables, arguments).1, coloured, "{arguments:?} {variables:?}");
        }
        assert!(!home.out(command).contains('\u{1b}'), "{command:?} in a pipe");
    }
}

#[test]
fn usage_is_drawn_as_bars_that_fit() {
    let home = Home::empty();
    let call = |model: &str, cost| {
        let call = CallRecord {
            at: jiff::Timestamp::now().as_millisecond(),
            provider: "acme".to_owned(),
            model: model.to_owned(),
            cost: Some(cost),
            ..CallRecord::default()
        };
        call.line() + "\n"
    };
    home.write(".openclaw/usage/9999-12.jsonl", &[call("large", 2.0), call("small", 1.0)].concat());
    let (screen, coloured) = shown(&home, 72, &[], &["usage", "--by", "model"]);
    let bars: Vec<usize> = screen.lines().map(|line| line.matches('█').count()).filter(|n| *n > 0).collect();
    assert!(coloured && bars.len() == 2 && bars[0] / 2 == bars[1], "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 72), "{screen}");
    assert!(!home.out(&["usage", "--by", "model"]).contains('█'));
}

#[test]
fn secrets_are_shown_where_they_are_named_only() {
    let home = Home::empty();
    home.write(
        ".openclaw/openclaw.json",
        "{gateway: {port: 1, auth: {token: 's3cret'}}, channels: {telegram: {botToken: '1:s3cret', allowFrom: ['7']}},
        models: {providers: {den: {baseUrl: 'http://x', apiKey: 's3cret', models: []}}},
        env: {vars: {OTHER_KEY: '${HOME}', SOME_TOKEN: 's3cret'}}}",
    );
    for path in ["--all", "gateway", "gateway.auth", "channels", "models.providers", "env.vars", "env"] {
        for json in [&[][..], &["--json"]] {
            let arguments = [&["config", "get", path], json].concat();
            let (screen, _) = shown(&home, 120, &[], &arguments);
            assert!(!screen.contains("s3cret") && screen.contains("__OPENCLAW_REDACTED__"), "{screen}");
        }
        let arguments = ["config", "get", path];
        assert!(shown(&home, 120, &[], &[&arguments[..], &["--show-secrets"]].concat()).0.contains("s3cret"));
        // Programs read what the reference prints.
        assert!(home.out(&arguments).contains("s3cret"), "{path}");
    }
    for path in ["gateway.auth.token", "models.providers.den.apiKey"] {
        assert_eq!(shown(&home, 120, &[], &["config", "get", path]).0.trim(), "s3cret");
    }
    assert!(shown(&home, 120, &[], &["config", "get", "channels.telegram.allowFrom"]).0.contains("\"7\""));
}

#[test]
fn text_is_broken_where_the_terminal_ends() {
    let text = "- one two three four five six seven eight nine ten eleven twelve\n\n```\nlet code = not_to_be_broken;\n```";
    let home = Home::saying(&[message("1", "user", text)]);
    let (screen, _) = shown(&home, 40, &[], &["history"]);
    let body = "  - one two three four five six seven\n    eight nine ten eleven twelve\n\n  ```\n  let code = not_to_be_broken;\n  ```";
    assert!(screen.contains(body), "{screen}");
    assert!(home.out(&["history"]).contains(text.lines().next().unwrap()), "a pipe gets whole lines");
    let tree = shown(&home, 40, &[], &["history", "--tree"]).0;
    assert!(
        tree.lines().any(|line| line.starts_with("● you - one two three") && line.ends_with("… 1 ← here")),
        "{tree}"
    );
}

#[test]
fn a_table_gives_keys_the_room_there_is() {
    let key = "agent:main:telegram:group:-1001234567890";
    let home = Home::with(&json!({
        key: {"sessionId": MAIN, "updatedAt": 2, "label": "Crabs"},
        "agent:main:漢字": {"sessionId": "22222222", "updatedAt": 1},
    }));
    let (narrow, _) = shown(&home, 90, &[], &["sessions"]);
    assert!(narrow.contains("agent:main:teleg...567890 "), "{narrow}");
    let (wide, _) = shown(&home, 140, &[], &["sessions"]);
    assert!(wide.contains(key) && wide.contains("\"Crabs\" id:11111111"), "{wide}");
    let ages: Vec<usize> =
        wide.lines().filter(|line| line.contains("d ago")).map(|line| column_of(line, "d ago")).collect();
    assert_eq!((ages.len(), ages[0]), (2, ages[1]), "wide characters keep the columns\n{wide}");
}

/// In which column of the terminal a text begins; the wide characters here are three bytes long.
fn column_of(line: &str, text: &str) -> usize {
    let before = &line[..line.find(text).unwrap()];
    before.chars().map(|c| if c.len_utf8() == 3 { 2 } else { 1 }).sum()
}

#[test]
fn a_conversation_goes_through_the_pager_of_the_reader() {
    let home = Home::saying(&[message("1", "user", "hello")]);
    let pager = home.path().join("pager");
    home.write("pager", "#!/bin/sh\nwhile IFS= read -r line; do printf '%s|%s\\n' \"$1\" \"$line\"; done\n");
    std::fs::set_permissions(&pager, PermissionsExt::from_mode(0o755)).unwrap();
    let named = format!("{} page", pager.display());
    let paged = |variables: &[(&str, &str)], arguments: &[&str]| {
        shown(&home, 80, variables, arguments).0.contains("page|  hello")
    };
    assert!(paged(&[("PAGER", &named)], &["history"]));
    assert!(paged(&[("YABBY_PAGER", &named), ("PAGER", "cat")], &["history"]));
    for arguments in [&["history", "--no-pager"][..], &["history", "--json"]] {
        assert!(!paged(&[("PAGER", &named)], arguments), "{arguments:?}");
    }
    for none in ["", "cat", "/nonexistent/pager"] {
        let (screen, _) = shown(&home, 80, &[("PAGER", none)], &["history"]);
        assert!(screen.contains("\n  hello"), "{none:?}: {screen}");
    }
    let in_a_pipe = home.command(&["history"]).env("PAGER", &named).output().unwrap();
    assert!(!String::from_utf8(in_a_pipe.stdout).unwrap().contains("page|"));
}

#[test]
fn an_interruption_is_for_the_pager() {
    let home = Home::saying(&[message("1", "user", "hello")]);
    home.write("pager", "#!/bin/sh\ntrap 'echo interrupted' INT\ncat >/dev/null\necho waiting\nuntil read answer </dev/tty; do :; done\necho \"done: $answer\"\n");
    let pager = home.path().join("pager");
    std::fs::set_permissions(&pager, PermissionsExt::from_mode(0o755)).unwrap();
    let mut terminal = Terminal::start(&home, 80, &[("PAGER", pager.to_str().unwrap())], &["history"]);
    terminal.wait_for("waiting");
    terminal.type_in("\u{3}");
    terminal.wait_for("interrupted");
    assert!(terminal.child.try_wait().unwrap().is_none(), "yabby waits for its pager");
    terminal.type_in("bye\n");
    assert_eq!(terminal.finish(), 0, "{}", terminal.screen());
}

fn append(home: &Home, entry: &serde_json::Value) {
    let mut file = OpenOptions::new().append(true).open(home.transcript(MAIN)).unwrap();
    writeln!(file, "{entry}").unwrap();
}

#[test]
fn following_prints_what_another_process_appends() {
    let home = Home::saying(&[message("1", "user", "hello")]);
    let mut terminal = Terminal::start(&home, 80, &[], &["history", "--follow"]);
    terminal.wait_for("  hello");
    let mut answer = message("2", "assistant", "answered at once");
    answer["parentId"] = "1".into();
    append(&home, &answer);
    terminal.wait_for("  answered at once");
    let mut otherwise = message("3", "assistant", "on second thoughts");
    otherwise["parentId"] = "1".into();
    append(&home, &otherwise);
    terminal.wait_for("── the conversation goes on from an earlier point ──");
    terminal.wait_for("  on second thoughts");
    assert!(home.out(&["sessions", "reset", "main"]).contains("begins anew"));
    terminal.wait_for("── a new conversation begins ──");
    terminal.type_in("\u{3}");
    assert_ne!(terminal.finish(), 0, "Ctrl-C ends it");
}

#[test]
fn following_waits_for_the_first_message() {
    let home = Home::with(&json!({"agent:main:main": {"sessionId": MAIN, "updatedAt": 1}}));
    let mut terminal = Terminal::start(&home, 80, &[], &["history", "main", "--follow"]);
    terminal.wait_for("nothing has been said yet");
    home.say(MAIN, &[message("1", "user", "at last")]);
    terminal.wait_for("  at last");
    terminal.type_in("\u{3}");
    terminal.finish();
}

#[test]
fn deleting_asks_whoever_sits_at_the_terminal() {
    let home = Home::with(&json!({"agent:main:task": {"sessionId": MAIN, "updatedAt": 1}}));
    let mut terminal = Terminal::start(&home, 80, &[], &["sessions", "delete", "task"]);
    terminal.wait_for("Delete agent:main:task?");
    terminal.type_in("n\n");
    assert_eq!(terminal.finish(), 1);
    assert!(terminal.screen().contains("Error: nothing was deleted"), "{}", terminal.screen());
    let mut terminal = Terminal::start(&home, 80, &[], &["sessions", "delete", "task"]);
    terminal.wait_for("[y/N]");
    terminal.type_in("y\n");
    assert_eq!(terminal.finish(), 0);
    assert_eq!(home.records(), json!({}));
}

#[test]
fn forgetting_asks_whoever_sits_at_the_terminal() {
    let home = Home::empty();
    home.write(".openclaw/workspace/MEMORY.md", "- one thing\n- another thing\n");
    let note = home.path().join(".openclaw/workspace/MEMORY.md");
    let mut terminal = Terminal::start(&home, 80, &[], &["memory", "forget", "MEMORY.md:1"]);
    terminal.wait_for("Forget 1 line of notes? No copy is kept. [y/N]");
    assert!(terminal.screen().contains("MEMORY.md:1 - one thing"), "{}", terminal.screen());
    terminal.type_in("n\n");
    assert_eq!(terminal.finish(), 1);
    assert!(terminal.screen().contains("Nothing was forgotten."), "{}", terminal.screen());
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "- one thing\n- another thing\n");
    let mut terminal = Terminal::start(&home, 80, &[], &["memory", "forget", "MEMORY.md:1"]);
    terminal.wait_for("[y/N]");
    terminal.type_in("y\n");
    assert_eq!(terminal.finish(), 0);
    assert!(terminal.screen().contains("No trace left"), "{}", terminal.screen());
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "- another thing\n");
}

#[test]
fn a_conversation_is_held_and_what_was_typed_is_found_again() {
    let home = Home::empty();
    let mut terminal = Terminal::start(&home, 100, &[], &["agent", "--local"]);
    terminal.wait_for("agent:main:main");
    terminal.say("hello", "Hello! What can I do for you?");
    terminal.say("remember that the lamp is green", "▸ write {");
    terminal.wait_for("“the lamp is green”");
    terminal.say("/help", "/status — ");
    terminal.say("/new", "New session started");
    terminal.type_in("\u{3}");
    terminal.wait_for("(Ctrl-D leaves)");
    terminal.wait_for_prompt();
    terminal.type_in("\u{4}");
    assert_eq!(terminal.finish(), 0, "{}", terminal.screen());
    assert!(terminal.has_colours());

    let history = home.path().join(".openclaw/agent-history.txt");
    assert_eq!(history.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let mut terminal = Terminal::start(&home, 100, &[], &["agent", "--local"]);
    terminal.wait_for_prompt();
    terminal.type_in("\u{1b}[A\u{1b}[A\u{1b}[A");
    terminal.wait_for("you> remember that the lamp is green");
    terminal.type_in("\u{3}");
    terminal.wait_for("(Ctrl-D leaves)");
    terminal.say(" a secret that is not kept", "I understood");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.finish(), 0);
    assert!(!std::fs::read_to_string(history).unwrap().contains("secret"));
    // What was said before /new is an orphan; the file of what was typed is known.
    let complaints = home.complaints_of_the_doctor();
    assert!(complaints.iter().all(|complaint| complaint.contains("transcript-orphaned")), "{complaints:#?}");
}

#[test]
fn an_interruption_stops_the_answer_and_not_the_conversation() {
    let home = Home::empty();
    let mut terminal = Terminal::start(&home, 100, &[], &["agent", "--local"]);
    terminal.say("hello", "Hello! What can I do for you?");
    let held = Held::transcript(&home, &home.session_id("agent:main:main"));
    terminal.wait_for_prompt();
    terminal.type_in("remember that the lamp is red\r");
    while !home.takes_a_turn() {
        assert!(terminal.child.try_wait().unwrap().is_none(), "{}", terminal.screen());
    }
    terminal.type_in("\u{3}");
    terminal.wait_for("^C");
    drop(held);
    terminal.wait_for_prompt();
    assert!(!terminal.screen().contains("Noted"), "{}", terminal.screen());
    terminal.say("/status", "Session: agent:main:main");
    terminal.type_in("\u{4}");
    assert_eq!(terminal.finish(), 0, "{}", terminal.screen());
}

#[test]
fn nothing_that_is_answered_steers_the_terminal() {
    let home = Home::empty();
    let words = "remember that \u{1b}[2J\u{9b}5mboom \u{202e}backwards";
    for arguments in [
        &["agent", "--local", "--agent", "main", "-m", words][..],
        &["agent", "--local", "--agent", "main", "-m", "what do you remember about boom?"],
    ] {
        let mut terminal = Terminal::start(&home, 100, &[("NO_COLOR", "1")], arguments);
        assert_eq!(terminal.finish(), 0, "{}", terminal.screen());
        let printed = String::from_utf8(terminal.printed.clone()).unwrap();
        assert!(printed.contains("boom"), "{printed}");
        assert!(!printed.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{printed:?}");
    }
    let (_, coloured) = shown(&home, 100, &[], &["agent", "--local", "--agent", "main", "-m", "list files"]);
    assert!(coloured, "a tool call is faint");
}

/// A yabby whose model wants to run `touch ran`, and nothing allows it but a person.
fn about_to_run(service: &exec::Service, arguments: &[&str]) -> (Home, Terminal) {
    let home = exec::home(service, &json!({"tools": {}}));
    let path = std::env::var("PATH").unwrap();
    let terminal = Terminal::start(&home, 120, &[("PATH", &path)], arguments);
    (home, terminal)
}

/// Answers whether `touch ran` may run, and waits for the end; whether it ran.
fn decided(home: &Home, terminal: &mut Terminal, keys: &str) -> bool {
    let trace = home.path().join(".openclaw/workspace/ran");
    assert!(!trace.exists());
    terminal.type_in(keys);
    assert_eq!(terminal.finish(), 0, "{keys:?}: {}", terminal.screen());
    assert!(terminal.screen().trim_end().ends_with("done"), "{}", terminal.screen());
    trace.exists()
}

#[test]
fn whoever_sits_at_the_terminal_is_asked_before_a_command_runs() {
    //  keys, whether it ran
    let table = [("o\r", true), ("n\r", false), ("yes\r", true), ("\u{3}", false), ("\u{4}", false)];
    for (keys, ran) in table {
        let call = exec::call("exec", &json!({"command": "touch ran"}));
        let service = exec::service([call, exec::answer()]);
        let (home, mut terminal) =
            about_to_run(&service, &["agent", "--local", "--agent", "main", "-m", "go"]);
        terminal.wait_for("May this run in");
        terminal.wait_for("  touch ran");
        terminal.wait_for("[o]nce, [a]lways or [n]o?");
        assert_eq!(decided(&home, &mut terminal, keys), ran, "{keys:?}: {}", exec::told(&service));
        assert!(!home.out(&["approvals", "get"]).contains("touch"));
    }
}

#[test]
fn whoever_sits_at_the_terminal_is_asked_by_a_gateway_as_well() {
    //  keys, whether it ran
    for (keys, ran) in [("o\r", true), ("n\r", false)] {
        let call = exec::call("exec", &json!({"command": "touch ran"}));
        let service = exec::service([call, exec::answer()]);
        let port = gateway::free_port();
        let more = json!({"mode": "local", "port": port, "auth": {"token": gateway::TOKEN}});
        let home = exec::home(&service, &json!({"tools": {}, "gateway": more}));
        let path = std::env::var("PATH").unwrap();
        let _gateway = gateway::Gateway::run(home.command(&["gateway", "run"]).env("PATH", &path), port);
        let ask = ["agent", "--agent", "main", "--verbose", "on", "-m", "go"];
        let mut terminal = Terminal::start(&home, 120, &[("PATH", &path)], &ask);
        terminal.wait_for("▸ exec");
        terminal.wait_for("[o]nce, [a]lways or [n]o?");
        assert_eq!(decided(&home, &mut terminal, keys), ran, "{keys:?}: {}", exec::told(&service));
    }
}

#[test]
fn programs_are_not_asked_whether_an_agent_may_go() {
    let home = Home::empty();
    home.write(".openclaw/openclaw.json", r#"{"agents": {"list": [{"id": "main"}, {"id": "ops"}]}}"#);
    let mut terminal = Terminal::start(&home, 100, &[], &["agents", "delete", "ops", "--json"]);
    assert_eq!(terminal.finish(), 1, "{}", terminal.screen());
    assert_eq!(terminal.screen().trim_end(), "--json asks nothing. Re-run with --force.");
    // Somebody else changes the list while a person is asked: it is still this agent that goes.
    let mut terminal = Terminal::start(&home, 100, &[], &["agents", "delete", "ops"]);
    terminal.wait_for("[y/N]");
    let list = r#"{"agents": {"list": [{"id": "ops"}, {"id": "main"}, {"id": "late"}]}}"#;
    home.write(".openclaw/openclaw.json", list);
    terminal.type_in("y\r");
    assert_eq!(terminal.finish(), 0, "{}", terminal.screen());
    let listed = home.json(&["agents", "list"]);
    let ids: Vec<&str> =
        listed.as_array().unwrap().iter().map(|agent| agent["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["main", "late"]);
}

#[test]
fn a_command_that_is_always_allowed_is_asked_about_once() {
    let call = || exec::call("exec", &json!({"command": "touch ran"}));
    let service = exec::service([call(), exec::answer(), call(), exec::answer()]);
    let (home, mut terminal) = about_to_run(&service, &["agent", "--local"]);
    terminal.wait_for_prompt();
    terminal.type_in("go\r");
    terminal.wait_for("[o]nce, [a]lways or [n]o?");
    terminal.type_in("a\r");
    terminal.wait_for("done");
    let ran = home.path().join(".openclaw/workspace/ran");
    std::fs::remove_file(&ran).unwrap();
    terminal.say("once more", "done");
    while !ran.exists() {
        terminal.wait_for_prompt();
    }
    assert_eq!(terminal.screen().matches("May this run in").count(), 1, "{}", terminal.screen());
    terminal.type_in("\u{4}");
    assert_eq!(terminal.finish(), 0);
    assert!(home.out(&["approvals", "get"]).contains("touch"));
}

#[test]
fn a_question_that_is_closed_waits_for_no_key() {
    let call = exec::call("exec", &json!({"command": "touch ran"}));
    let service = exec::service([call, exec::answer()]);
    let ask = ["agent", "--local", "--agent", "main", "--timeout", "3", "-m", "go"];
    let (home, mut terminal) = about_to_run(&service, &ask);
    terminal.wait_for("[o]nce, [a]lways or [n]o?");
    // Not a whole answer, and nobody ends it.
    terminal.type_in("on");
    terminal.wait_for("the question is closed");
    assert_eq!(terminal.finish(), 1, "{}", terminal.screen());
    assert!(!home.path().join(".openclaw/workspace/ran").exists());
}

#[test]
fn a_command_that_nobody_knows_is_not_asked_of_the_model() {
    let home = Home::empty();
    let mut terminal = Terminal::start(&home, 100, &[], &["agent"]);
    terminal.wait_for_prompt();
    terminal.say("/foo bar", "There is no command /foo. /help tells which there are.");
    // A path is none.
    terminal.say("/etc/hosts", "I understood");
    // A single message at a terminal is typed as well.
    let mut terminal =
        Terminal::start(&home, 100, &[], &["agent", "--local", "--agent", "main", "-m", "/foo"]);
    terminal.wait_for("There is no command /foo.");
}

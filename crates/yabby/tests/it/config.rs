//! `yabby config`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A home folder, and a yabby that knows no other.
struct Home(TempDir);

impl Home {
    fn with(config: &str) -> Self {
        let home = Self(TempDir::new().unwrap());
        fs::create_dir(home.0.path().join(".openclaw")).unwrap();
        fs::write(home.config(), config).unwrap();
        home
    }

    fn config(&self) -> PathBuf {
        self.0.path().join(".openclaw/openclaw.json")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.config()).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_yabby"));
        command.env_clear().env("HOME", self.0.path()).current_dir(self.0.path()).args(arguments);
        command
    }

    /// The exit code, standard output and standard error of `yabby config …`.
    fn config_command(&self, arguments: &[&str]) -> (i32, String, String) {
        told(self.command(&[&["config"], arguments].concat()).output().unwrap())
    }
}

fn told(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

const CONFIG: &str = "// mine\n{\n  ui: { seamColor: '#112233' }, // a colour\n  agents: { list: [{ id: 'main', name: 'Mia' }], },\n  gateway: { port: 18789, auth: { token: 's3cret' } },\n}\n";

#[test]
fn values_are_printed_bare_or_as_json() {
    let home = Home::with(CONFIG);
    let table = [
        (&["get", "gateway.port"][..], "18789\n"),
        (&["get", "agents.list[0].name"], "Mia\n"),
        (&["get", "agents.list[0].name", "--json"], "\"Mia\"\n"),
        (&["get", "agents.list[0]"], "{\n  \"id\": \"main\",\n  \"name\": \"Mia\"\n}\n"),
        (&["get", "gateway.auth.token"], "s3cret\n"),
        (&["get", "commands.native"], "auto\n"),
    ];
    for (arguments, printed) in table {
        assert_eq!(home.config_command(arguments), (0, printed.to_owned(), String::new()), "{arguments:?}");
    }
    let (_, everything, _) = home.config_command(&["get", "--all"]);
    let everything: serde_json::Value = serde_json::from_str(&everything).unwrap();
    assert_eq!(everything["gateway"]["port"], 18789);
}

#[test]
fn a_change_is_made_in_place_and_told() {
    let home = Home::with(CONFIG);
    let updated = "Updated ui.seamColor. Restart the gateway to apply.\n".to_owned();
    assert_eq!(home.config_command(&["set", "ui.seamColor", "#445566"]), (0, updated, String::new()));
    let text = home.text();
    assert!(text.starts_with("// mine\n{\n  ui: { seamColor: \"#445566\" }, // a colour\n"), "{text}");
    assert_eq!(fs::read_to_string(home.config().with_extension("json.bak")).unwrap(), CONFIG);
    let removed = "Removed agents.list[0].name. Restart the gateway to apply.\n".to_owned();
    assert_eq!(home.config_command(&["unset", "agents.list[0].name"]), (0, removed, String::new()));
    assert!(home.text().contains("[{ id: 'main' }]"), "{}", home.text());
    assert_eq!(
        home.config_command(&["set", "logging.consoleLevel", "-5"]).0,
        1,
        "a value may begin with a dash"
    );
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let home = Home::with(CONFIG);
    let table = [
        (&["get", "nope.nope"][..], "Config path not found: nope.nope"),
        (&["get", "a[0"], "Error: Invalid path (missing \"]\"): a[0"),
        (&["get", " "], "Error: Path is empty."),
        (&["get"], "error: missing required argument 'path'"),
        (&["unset", "ui.nope"], "Config path not found: ui.nope"),
        (
            &["set", "gateway.port", "{bad", "--json"],
            "Error: Failed to parse JSON5 value: SyntaxError: JSON5: invalid end of input at 1:5",
        ),
        (
            &["set", "gateway.port", "many"],
            "Error: Config validation failed: gateway.port: Invalid input: expected number, received string",
        ),
        (&["set", "gateway.port"], "error: missing required argument 'value'"),
    ];
    for (arguments, line) in table {
        assert_eq!(home.config_command(arguments), (1, String::new(), format!("{line}\n")), "{arguments:?}");
    }
    assert_eq!(home.text(), CONFIG);
}

#[test]
fn an_invalid_file_stops_all_but_those_who_help() {
    let home = Home::with("{\n  \"foo\": 1,\n  \"gateway\": { \"port\": \"x\" }\n}\n");
    let (code, out, told) = home.config_command(&["set", "ui.seamColor", "#445566"]);
    assert_eq!((code, out.as_str()), (1, ""));
    let (lines, block) = told.split_once("Config invalid\n").unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("~/.openclaw/openclaw.json:3: gateway.port: Invalid input"), "{}", lines[0]);
    assert!(
        lines[1].starts_with("~/.openclaw/openclaw.json:2: <root>: Unrecognized key: \"foo\""),
        "{}",
        lines[1]
    );
    assert_eq!(
        block,
        "File: ~/.openclaw/openclaw.json\nProblem:\n  - gateway.port: Invalid input: expected number, received string\n  - <root>: Unrecognized key: \"foo\"\n\nRun: yabby doctor --fix\n"
    );
    let (code, report, _) = home.config_command(&["validate", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((code, &report["valid"], &report["issues"][0]["line"]), (1, &false.into(), &3.into()));
    assert_eq!(report["unknownKeys"], serde_json::json!(["foo"]));
    let (code, report, _) = home.config_command(&["validate"]);
    assert_eq!(code, 1);
    assert!(report.contains("Unknown keys: foo"), "{report}");
    let waits =
        "into comments, once this is corrected:\n  - ~/.openclaw/openclaw.json:3: gateway.port: Invalid";
    assert!(report.contains(waits), "{report}");
    let path = format!("{}\n", home.config().display());
    assert_eq!(home.config_command(&["path"]), (0, path, String::new()));
    let (code, schema, _) = home.config_command(&["schema"]);
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!((code, schema["properties"]["gateway"].is_object()), (0, true));
}

#[test]
fn folders_are_chosen_by_options_and_variables() {
    let home = Home::with("{}");
    let path = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = home.command(&[arguments, &["config", "path"]].concat());
        let (_, path, error) = told(command.envs(variables.iter().copied()).output().unwrap());
        path.trim_end().strip_prefix(home.0.path().to_str().unwrap()).map(str::to_owned).ok_or(error)
    };
    let table = [
        (&[][..], &[][..], "/.openclaw/openclaw.json"),
        (&["--state-dir", "x"], &[("YABBY_STATE_DIR", "~/y")], "/x/yabby.json"),
        (&[], &[("YABBY_STATE_DIR", "~/y"), ("OPENCLAW_STATE_DIR", "/z")], "/y/yabby.json"),
        (&["--profile", "work"], &[], "/.yabby-work/yabby.json"),
        (&["--dev"], &[], "/.yabby-dev/yabby.json"),
        (&["--profile", "work"], &[("OPENCLAW_CONFIG_PATH", "~/c.json")], "/c.json"),
    ];
    for (arguments, variables, expected) in table {
        assert_eq!(path(arguments, variables).as_deref(), Ok(expected), "{arguments:?} {variables:?}");
    }
    let refused = path(&["--profile", "a/b"], &[]).unwrap_err();
    assert!(refused.contains("use letters, numbers"), "{refused}");
}

#[test]
fn edits_of_several_processes_are_all_kept() {
    let home = Home::with(CONFIG);
    let edits: Vec<_> = (0..6)
        .map(|number| {
            home.command(&["config", "set", &format!("env.vars.V{number}"), "x"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut edit in edits {
        assert!(edit.wait().unwrap().success());
    }
    let (_, vars, _) = home.config_command(&["get", "env.vars", "--json"]);
    let vars: serde_json::Value = serde_json::from_str(&vars).unwrap();
    assert_eq!(vars.as_object().unwrap().len(), 6);
}

#[test]
fn our_own_settings_are_found_without_knowing_where_they_are() {
    let home = Home::with("{}\n");
    let extras = home.config().with_file_name("yabby-extras.json");
    let server = r#"{"command": "server", "env": {"KEY": "a-secret-value"}}"#;
    for (path, value) in [("tools.exec.confine", "off"), ("tools.mcp.servers.x", server)] {
        let (code, out, err) = home.config_command(&["set", path, value]);
        assert_eq!((code, err.as_str()), (0, ""), "{path} {out}");
    }
    assert_eq!(home.text(), "{}\n", "OpenClaw reads that file, too");
    assert_eq!(home.config_command(&["get", "tools.exec.confine"]).1, "off\n");
    assert_eq!(home.config_command(&["get", "tools.mcp.servers.x.command"]).1, "server\n");
    let (code, report, _) = home.config_command(&["validate"]);
    assert!(code == 0 && report.contains("yabby-extras.json"), "{report}");
    let (code, refused, err) = home.config_command(&["set", "tools.exec.confine", "jail"]);
    assert!(code == 1 && err.contains("tools.exec.confine"), "{refused} {err}");
    assert!(home.config_command(&["schema", "--extras"]).1.contains("allowPrivate"));
    assert_eq!(home.config_command(&["unset", "tools.exec.confine"]).0, 0);
    assert_eq!(home.config_command(&["get", "tools.exec.confine"]).0, 1);
    fs::write(&extras, "{\n  tools: {mcp: 5}\n}\n").unwrap();
    let (code, _, err) = home.config_command(&["get", "gateway"]);
    assert!(code == 1 && err.contains("yabby-extras.json:2: tools.mcp: Invalid input"), "{err}");
    let told = told(home.command(&["doctor"]).output().unwrap());
    assert!(told.1.contains("yabby-extras.json"), "{told:?}");
    fs::write(home.config(), "{tools: {mcp: {}}}").unwrap();
    fs::remove_file(&extras).unwrap();
    let (_, _, err) = home.config_command(&["get", "gateway"]);
    assert!(err.contains("allowed: in yabby-extras.json, beside this file"), "{err}");
}

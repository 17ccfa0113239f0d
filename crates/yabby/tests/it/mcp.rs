//! `yabby mcp`: what other programs are told of the memory.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::home::{Home, MAIN, message};

const GROUP: &str = "agent:main:telegram:group:-100";
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

/// A home in which the owner and a group talked.
fn home() -> Home {
    let home = Home::with(&json!({
        "agent:main:main": {"sessionId": MAIN, "updatedAt": 2, "label": "Mine"},
        GROUP: {"sessionId": "the-group", "updatedAt": 1, "chatType": "group", "channel": "telegram"},
    }));
    home.say(MAIN, &[message("m1", "user", "My quartz ring is in the drawer")]);
    home.say("the-group", &[message("g1", "user", "The granite party is on Friday")]);
    home.write(".openclaw/workspace/MEMORY.md", "- the alarm code is quartz 4711\n");
    home
}

/// A program that started us.
struct Client {
    server: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    fn start(home: &Home, arguments: &[&str]) -> Self {
        let mut command = home.command(&[&["mcp"], arguments].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let (to, from) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
        let mut client = Self { server, to, from, next: 2 };
        client.send(HELLO);
        assert_eq!(client.heard()["result"]["serverInfo"]["name"], "yabby");
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    fn send(&mut self, line: &str) {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
    }

    fn heard(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        let asked = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters});
        self.send(&asked.to_string());
        let heard = self.heard();
        assert_eq!(heard["id"], id, "{heard}");
        heard
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].clone()
    }

    /// Closes its input; what it said besides.
    fn end(mut self) -> String {
        drop(self.to.take());
        let mut rest = String::new();
        self.from.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "nothing but answers");
        assert_eq!(self.server.wait().unwrap().code(), Some(0));
        let mut complaints = String::new();
        self.server.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
        complaints
    }
}

#[test]
fn the_owner_searches_and_reads() {
    let home = home();
    let mut client = Client::start(&home, &[]);
    let tools = client.ask("tools/list", &json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 5);
    let found = client.call("memory_search", &json!({"query": "alarm code"}));
    assert_eq!(found["structuredContent"]["results"][0]["snippet"], "- the alarm code is quartz 4711");
    let found = client.call("sessions_search", &json!({"query": "quartz ring"}));
    assert_eq!(found["structuredContent"]["results"][0]["messageId"], "m1");
    client.send("this is no message");
    client.send("{\"jsonrpc\":\"2.0\",\"id\":");
    let note = client.ask("resources/read", &json!({"uri": "memory://main/MEMORY.md"}));
    assert_eq!(note["result"]["contents"][0]["text"], "- the alarm code is quartz 4711\n");
    let refused = client.call("memory_get", &json!({"path": "../openclaw.json"}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(client.end(), "");
}

#[test]
fn what_the_agent_notes_is_found_at_once() {
    let home = home();
    let mut client = Client::start(&home, &[]);
    let search = json!({"query": "bins"});
    assert_eq!(client.call("memory_search", &search)["structuredContent"]["results"], json!([]));
    home.out(&["agent", "--local", "--agent", "main", "-m", "Remember that the bins go out on Monday."]);
    let found = client.call("memory_search", &search).to_string();
    assert!(found.contains("the bins go out on Monday"), "{found}");
    client.end();
}

#[test]
fn a_group_sees_only_its_own() {
    let home = home();
    for named in [GROUP, "the-group", "telegram:group:-100"] {
        let mut client = Client::start(&home, &["--as", named]);
        let mut said = client.call("sessions_search", &json!({"query": "granite"})).to_string();
        assert!(said.contains("granite party"), "{named}: {said}");
        for query in ["quartz", "alarm code", "ring"] {
            said += &client.call("memory_search", &json!({"query": query})).to_string();
            said += &client.call("sessions_search", &json!({"query": query})).to_string();
        }
        said += &client.call("sessions_list", &json!({})).to_string();
        said += &client.call("sessions_history", &json!({"sessionKey": MAIN})).to_string();
        said += &client.call("memory_get", &json!({"path": "MEMORY.md"})).to_string();
        said += &client.ask("resources/list", &json!({})).to_string();
        said += &client.ask("resources/read", &json!({"uri": "memory://main/MEMORY.md"})).to_string();
        assert!(!said.contains("4711") && !said.contains("quartz ring") && !said.contains("Mine"), "{said}");
        client.end();
    }
}

#[test]
fn it_starts_and_ends_without_a_trace() {
    let home = home();
    let told = home.run(&["mcp"]);
    assert_eq!((told.code, told.out.as_str(), told.err.as_str()), (0, "", ""));
    assert!(!home.path().join(".openclaw/recall").exists(), "nobody asked");
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let home = home();
    assert!(home.refusal(&["mcp", "--as", "nobody"]).contains("No session found: nobody"));
    assert!(home.refusal(&["mcp", "--agent", "nobody"]).contains("Unknown agent id \"nobody\""));
    assert!(home.refusal(&["mcp", "--port", "7"]).contains("--http"));
    assert!(home.refusal(&["mcp", "--http", "--port", "0", "--token", " "]).contains("the token is blank"));
    home.write(
        ".openclaw/openclaw.json",
        r#"{"agents": {"defaults": {"memorySearch": {"enabled": false}}}}"#,
    );
    let mut client = Client::start(&home, &[]);
    let refused = client.call("memory_search", &json!({"query": "quartz"}));
    let words = refused["content"][0]["text"].as_str().unwrap();
    assert!(words.contains("the memory of the agent main is switched off"), "{words}");
    client.end();
}

/// A server over HTTP, which ends with this.
struct Listening {
    server: Child,
    address: String,
    /// What it says when it starts.
    told: Vec<String>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

impl Listening {
    fn start(home: &Home, arguments: &[&str], lines: usize, token: Option<&str>) -> Self {
        let mut command = home.command(&[&["mcp", "--http", "--port", "0"], arguments].concat());
        if let Some(token) = token {
            command.env("YABBY_MCP_TOKEN", token);
        }
        let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
        let told = BufReader::new(server.stderr.take().unwrap()).lines().take(lines);
        let told: Vec<String> = told.map(Result::unwrap).collect();
        let address = told[0].split("http://").nth(1).unwrap().trim_end_matches("/mcp").to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{told:?}");
        Self { server, address, told }
    }

    /// The first line of what it answers to a greeting.
    fn greeted(&self, token: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{HELLO}",
            self.address,
            HELLO.len()
        )
        .unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

#[test]
fn over_http_a_token_is_needed() {
    let home = home();
    const GOOD: &str = "HTTP/1.1 200 OK";
    const BAD: &str = "HTTP/1.1 401 Unauthorized";
    let made = Listening::start(&home, &[], 2, None);
    let token = made.told[1].strip_prefix("Token, told this once: ").unwrap();
    assert!(token.len() == 64 && token.chars().all(|c| c.is_ascii_hexdigit()), "{token}");
    assert_eq!((made.greeted(token), made.greeted("wrong")), (GOOD.to_owned(), BAD.to_owned()));
    let another = Listening::start(&home, &[], 2, None);
    assert_ne!(another.told[1], made.told[1]);
    //  option               variable        token
    let table: [(&[&str], Option<&str>, &str); 3] = [
        (&["--token", "given"], None, "given"),
        (&[], Some("from-outside"), "from-outside"),
        (&["--token", "given"], Some("from-outside"), "given"),
    ];
    for (arguments, variable, token) in table {
        let server = Listening::start(&home, arguments, 1, variable);
        assert_eq!((server.greeted(token), server.greeted("wrong")), (GOOD.to_owned(), BAD.to_owned()));
        assert!(!server.told[0].contains(token), "{:?}", server.told);
    }
}

//! Where a scenario plays: a fresh copy of its home, ports of its own, and the way back to the recorded values.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

use regex::Regex;
use tempfile::TempDir;
use yabby_domain::json::{self, Value};

/// The values that stand in the recordings.
const RECORDED_PORT: u16 = 18789;
const RECORDED_STUB: u16 = 18790;
const RECORDED_HOME: &str = "/home/user";
const RECORDED_HOST: &str = "gateway-host";
const RECORDED_KERNEL: &str = "6.1.0";

pub(super) struct Home {
    folder: TempDir,
    path: PathBuf,
    pub(super) port: u16,
    stub: u16,
    back: Vec<(Regex, String)>,
}

impl Home {
    /// Copies a home; `elsewhere` are further texts of this run with what was recorded in their place.
    pub(super) fn copy(source: &Path, ports: &Ports, elsewhere: &[(String, String)]) -> io::Result<Self> {
        let folder = TempDir::with_prefix("yabby-gateway-")?;
        let path = folder.path().canonicalize()?.join("home");
        let back = way_back(ports, &path, elsewhere);
        let home = Self { folder, path, port: ports.gateway, stub: ports.stub, back };
        home.copy_folder(source, &home.path)?;
        Ok(home)
    }

    fn copy_folder(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let name = entry.file_name();
            let target = if name == "dot-openclaw" { to.join(".openclaw") } else { to.join(&name) };
            if entry.file_type()?.is_dir() {
                self.copy_folder(&entry.path(), &target)?;
            } else {
                fs::write(&target, self.filled(&fs::read_to_string(entry.path())?))?;
            }
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A file beside the home.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a page where the gateway finds it, as it finds that of the reference: none comes with ours.
    pub(super) fn put_page(&self) -> io::Result<()> {
        const PAGE: &str = "<!doctype html>\n<html><head><title>Control</title></head><body></body></html>\n";
        const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n";
        let folder = self.path.join("control-ui");
        fs::create_dir_all(folder.join("assets"))?;
        fs::write(folder.join("index.html"), PAGE)?;
        fs::write(folder.join("favicon.svg"), ICON)?;
        let file = self.path.join(".openclaw/openclaw.json");
        let mut config = json::parse(&fs::read_to_string(&file)?).map_err(io::Error::other)?;
        config["gateway"]["controlUi"]["root"] = folder.display().to_string().into();
        fs::write(file, json::stringify_pretty(&config))
    }

    /// Lets the agent run every command: ours asks first.
    pub(super) fn allow_commands(&self) -> io::Result<()> {
        const ALLOWED: &str =
            r#"{"version":1,"defaults":{"security":"full","ask":"off","askFallback":"full"},"agents":{}}"#;
        fs::write(self.path.join(".openclaw/exec-approvals.json"), ALLOWED)
    }

    /// Text with its placeholders filled in.
    pub(super) fn filled(&self, text: &str) -> String {
        text.replace("{{PORT}}", &self.port.to_string())
            .replace("{{STUB}}", &self.stub.to_string())
            .replace("{{HOME}}", &self.path.display().to_string())
    }

    /// A value of ours with the recorded values in the place of ours.
    pub(super) fn put_back(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text_put_back(text).into(),
            Value::Number(number) if *number == self.port.into() => RECORDED_PORT.into(),
            Value::Number(number) if *number == self.stub.into() => RECORDED_STUB.into(),
            Value::Array(items) => items.iter().map(|item| self.put_back(item)).collect(),
            Value::Object(object) => {
                let member =
                    |(key, value): (&String, &Value)| (self.text_put_back(key), self.put_back(value));
                Value::Object(object.iter().map(member).collect())
            }
            other => other.clone(),
        }
    }

    fn text_put_back(&self, text: &str) -> String {
        self.back.iter().fold(text.to_owned(), |text, (ours, recorded)| {
            ours.replace_all(&text, recorded.as_str()).into_owned()
        })
    }
}

fn way_back(ports: &Ports, home: &Path, elsewhere: &[(String, String)]) -> Vec<(Regex, String)> {
    let mut texts = elsewhere.to_vec();
    texts.push((home.display().to_string(), RECORDED_HOME.to_owned()));
    texts.extend(machine().iter().cloned());
    texts.push((ports.gateway.to_string(), RECORDED_PORT.to_string()));
    texts.push((ports.stub.to_string(), RECORDED_STUB.to_string()));
    let word = |(ours, recorded): (String, String)| {
        // Not within a longer word or number.
        let pattern = format!(r"(^|[^\w-]){}($|[^\w-])", regex::escape(&ours));
        Some((Regex::new(&pattern).ok()?, format!("${{1}}{}${{2}}", recorded.replace('$', "$$"))))
    };
    // Twice, since neighbours share what is between them.
    let texts = texts.clone().into_iter().chain(texts);
    texts.filter_map(word).collect()
}

/// What this machine calls itself, and what was recorded instead.
fn machine() -> &'static [(String, String)] {
    static MACHINE: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
        let told = |file: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let host = told("/proc/sys/kernel/hostname").map(|host| (host, RECORDED_HOST.to_owned()));
        let kernel = told("/proc/sys/kernel/osrelease").map(|kernel| (kernel, RECORDED_KERNEL.to_owned()));
        let addresses = addresses().into_iter().map(|address| (address, RECORDED_HOST.to_owned()));
        host.into_iter().chain(kernel).chain(addresses).collect()
    });
    &MACHINE
}

/// The addresses of this machine in its networks.
fn addresses() -> Vec<String> {
    let table = fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let lines: Vec<&str> = table.lines().map(str::trim).collect();
    let own = lines.windows(2).filter(|pair| pair[1].starts_with("/32 host LOCAL"));
    let own = own.filter_map(|pair| pair[0].strip_prefix("|-- ")).filter(|own| !own.starts_with("127."));
    let mut own: Vec<String> = own.map(str::to_owned).collect();
    if own.is_empty() {
        // Nothing is sent: it only tells from where it would be.
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
        let asked =
            socket.and_then(|socket| socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr()));
        own.extend(asked.ok().map(|address| address.ip().to_string()).filter(|own| !own.starts_with("127.")));
    }
    own.sort();
    own.dedup();
    own
}

/// Two ports that nobody else has: one for the gateway, one for its model.
pub(in crate::vectors) struct Ports {
    pub(in crate::vectors) gateway: u16,
    pub(in crate::vectors) stub: u16,
}

impl Ports {
    /// The listener is for the model. Other programs are given ports above these by the system, so nobody
    /// takes the gateway's while it starts.
    pub(in crate::vectors) fn free() -> io::Result<(Self, TcpListener)> {
        // No round number, which might stand in a recording for something else.
        const FIRST: u16 = 20_003;
        // The reference uses ports next to its own.
        const APART: u16 = 20;
        const PLACES: u16 = 600;
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let begin = u16::try_from(std::process::id() % u32::from(PLACES)).unwrap_or_default();
        for _ in 0..PLACES {
            let place = (begin + NEXT.fetch_add(1, Ordering::Relaxed)) % PLACES;
            let gateway = FIRST + APART * place;
            let stub = gateway + 1;
            let is_free = TcpListener::bind((Ipv4Addr::LOCALHOST, gateway)).is_ok()
                && TcpListener::bind((Ipv6Addr::LOCALHOST, gateway))
                    .err()
                    .is_none_or(|error| error.kind() != io::ErrorKind::AddrInUse);
            if let (true, Ok(listener)) = (is_free, TcpListener::bind((Ipv4Addr::LOCALHOST, stub))) {
                return Ok((Self { gateway, stub }, listener));
            }
        }
        Err(io::Error::other("no port is free on loopback"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_of_a_run_are_put_back_and_nothing_else() {
        let source = TempDir::new().expect("there is room");
        fs::create_dir(source.path().join("dot-openclaw")).expect("there is room");
        let text = "{\"port\": {{PORT}}, \"stub\": \"http://127.0.0.1:{{STUB}}/v1\", \"home\": \"{{HOME}}\"}";
        fs::write(source.path().join("dot-openclaw/openclaw.json"), text).expect("there is room");
        let ports = Ports { gateway: 20_003, stub: 20_004 };
        let elsewhere = [("/usr/lib/x".to_owned(), "/opt/openclaw".to_owned())];
        let home = Home::copy(source.path(), &ports, &elsewhere).expect("it can be copied");
        let copied = fs::read_to_string(home.path().join(".openclaw/openclaw.json")).expect("it is there");
        let copied: Value = serde_json::from_str(&copied).expect("it is JSON");
        let recorded = json!({"port": 18789, "stub": "http://127.0.0.1:18790/v1", "home": "/home/user"});
        assert_eq!(home.put_back(&copied), recorded);
        let path = home.path().display();
        let table = [
            (json!(format!("line\n{path}/ws, {path}")), json!("line\n/home/user/ws, /home/user")),
            (json!("20003 20003,20004"), json!("18789 18789,18790")),
            (json!("x20003 1200034 20003x"), json!("x20003 1200034 20003x")),
            (json!({"/usr/lib/x/skills": 1_200_034}), json!({"/opt/openclaw/skills": 1_200_034})),
        ];
        for (ours, recorded) in table {
            assert_eq!(home.put_back(&ours), recorded);
        }
    }
}

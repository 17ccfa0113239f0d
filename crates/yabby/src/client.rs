//! A connection to a gateway, ours or OpenClaw's (`gateway.md` §2, §10.1, `cli.md` §0).

mod certificate;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use yabby_domain::config::Config;
use yabby_domain::config::gateway::GatewayMode;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::text;

use self::certificate::Known;
use crate::commands::gateway::listen::{self, Bind};
use crate::failure::Failure;
use crate::setting::Setting;

/// The longest text that we read.
const LONGEST: usize = 25 * 1024 * 1024;

/// How a gateway was found that nobody named.
const LOCAL: &str = "local loopback";
/// How one was found that somebody named.
const NAMED: &str = "cli --url";
/// The same where the configuration says that it is elsewhere, and not where.
const UNNAMED: &str = "missing gateway.remote.url (fallback local)";

/// Which gateway is meant.
#[derive(Args, Clone, Debug, Default)]
pub struct TargetOptions {
    /// The address of the gateway, such as ws://127.0.0.1:18789 [default: that of the configuration]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Its token
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Its password
    #[arg(long, value_name = "PASSWORD")]
    pub password: Option<String>,
}

/// How long to wait, as the command line has it, in milliseconds.
pub fn limit(option: Option<&str>, usual_ms: u64) -> Result<Duration> {
    let Some(option) = option else { return Ok(Duration::from_millis(usual_ms)) };
    let ms = json::leading_integer(option).filter(|ms| *ms > 0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
    let limit = ms.map(|ms| Duration::from_millis(ms as u64));
    limit.ok_or_else(|| Failure::bare("--timeout must be a positive integer (milliseconds)").into())
}

/// A gateway, and how it was found.
#[derive(Clone, Debug)]
pub struct Target {
    pub url: String,
    pub source: &'static str,
    /// Which addresses it listens on, if it is ours.
    pub bind: Option<&'static str>,
    config_path: String,
    token: Option<String>,
    password: Option<String>,
    /// What it is known by, where nobody else vouches for it.
    known: Option<Known>,
}

impl Target {
    /// The gateway that the command line names, else that of the configuration.
    pub fn find(setting: &Setting, options: &TargetOptions) -> Result<Self> {
        let config = setting.config()?;
        let config_path = setting.place.config.display().to_string();
        let [url, token, password] = [&options.url, &options.token, &options.password].map(given);
        if let Some(url) = url {
            let is_here = names_local(&url, &local_url(&config, setting));
            return Ok(Self {
                known: Known::here(setting, &config).filter(|_| is_here),
                url,
                source: NAMED,
                bind: None,
                config_path,
                token,
                password,
            });
        }
        let is_remote = config.gateway.mode == Some(GatewayMode::Remote);
        let names_one = given(&config.gateway.remote.url).is_some();
        if is_remote && names_one {
            return Ok(Self::remote(setting, &config, options));
        }
        let mut local = Self::local(setting, &config, options);
        if is_remote {
            local.source = UNNAMED;
        }
        Ok(local)
    }

    /// The gateway elsewhere that the configuration names.
    pub fn remote(setting: &Setting, config: &Config, options: &TargetOptions) -> Self {
        let remote = &config.gateway.remote;
        Self {
            url: given(&remote.url).unwrap_or_default(),
            source: "config gateway.remote.url",
            bind: None,
            config_path: setting.place.config.display().to_string(),
            token: given(&options.token).or_else(|| given(&remote.token)),
            password: given(&options.password)
                .or_else(|| variable(setting, &PASSWORDS))
                .or_else(|| given(&remote.password)),
            known: Known::elsewhere(config),
        }
    }

    /// The same gateway, through a port of this machine.
    pub fn through(self, port: u16) -> Self {
        Self { url: format!("ws://127.0.0.1:{port}"), known: None, ..self }
    }

    /// The gateway on this machine.
    pub fn local(setting: &Setting, config: &Config, options: &TargetOptions) -> Self {
        let auth = &config.gateway.auth;
        let secret = |configured: &Option<String>, variables: &[&str]| {
            variable(setting, variables).or_else(|| given(configured))
        };
        let token = || secret(&auth.token, &["OPENCLAW_GATEWAY_TOKEN", "CLAWDBOT_GATEWAY_TOKEN"]);
        let password = || secret(&auth.password, &PASSWORDS);
        Self {
            url: local_url(config, setting),
            source: LOCAL,
            bind: Some(Bind::of(None, config).as_str()),
            config_path: setting.place.config.display().to_string(),
            token: given(&options.token).or_else(token),
            password: given(&options.password).or_else(password),
            known: Known::here(setting, config),
        }
    }

    /// Whether it may be spoken to as it was found.
    fn check(&self, mode: Mode) -> Result<(), CallError> {
        let config_path = self.config_path.clone();
        // A gateway that is meant to be elsewhere is not looked for here.
        if self.source == UNNAMED {
            return Err(CallError::Misconfigured { config_path });
        }
        // Whether it answers may be found out without a secret.
        let is_stranger = self.source == NAMED && self.token.is_none() && self.password.is_none();
        if is_stranger && mode != Mode::Probe {
            return Err(CallError::NoCredentials { config_path });
        }
        Ok(())
    }

    /// What is told beside an error: where we tried.
    pub fn details(&self) -> String {
        let mut lines = vec![
            format!("Gateway target: {}", self.url),
            format!("Source: {}", self.source),
            format!("Config: {}", self.config_path),
        ];
        lines.extend(self.bind_line());
        lines.extend(self.note().map(str::to_owned));
        lines.join("\n")
    }

    /// The same for programs.
    pub fn details_json(&self) -> Value {
        let mut told = json!({"url": self.url, "urlSource": self.source});
        if let Some(bind) = self.bind_line() {
            told["bindDetail"] = bind.into();
        }
        if let Some(note) = self.note() {
            told["remoteFallbackNote"] = note.into();
        }
        told["message"] = self.details().into();
        told
    }

    fn bind_line(&self) -> Option<String> {
        self.bind.map(|bind| format!("Bind: {bind}"))
    }

    fn note(&self) -> Option<&'static str> {
        (self.source == UNNAMED).then_some(
            "Warn: gateway.mode=remote but gateway.remote.url is missing; set gateway.remote.url or switch gateway.mode=local.",
        )
    }
}

const PASSWORDS: [&str; 2] = ["OPENCLAW_GATEWAY_PASSWORD", "CLAWDBOT_GATEWAY_PASSWORD"];

fn variable(setting: &Setting, names: &[&str]) -> Option<String> {
    setting.place.environment.first(names).map(str::to_owned)
}

fn given(option: &Option<String>) -> Option<String> {
    option.as_deref().and_then(text::non_blank).map(str::to_owned)
}

/// The address of the gateway on this machine.
pub fn local_url(config: &Config, setting: &Setting) -> String {
    let port = listen::port(None, config, &setting.place.environment);
    let scheme = if listen::is_encrypted(config) { "wss" } else { "ws" };
    format!("{scheme}://127.0.0.1:{port}")
}

/// Why a call came to nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The gateway does not want to.
    #[error("{message}")]
    Refused { message: String, payload: Option<Value> },
    /// Nobody is there.
    #[error("gateway closed ({}): no close reason\n{details}", closed(1006))]
    Unreachable { fault: String, url: String, is_local: bool, details: String },
    /// What listens speaks another protocol.
    #[error("gateway closed ({}): {fault}\n{details}", closed(1006))]
    NoGateway { fault: String, url: String, details: String },
    #[error("gateway closed ({}): {}\n{details}", closed(*.code), if .reason.is_empty() { "no close reason" } else { .reason })]
    Closed { code: u16, reason: String, details: String },
    #[error("gateway timeout after {ms}ms\n{details}")]
    Timeout { ms: u128, details: String },
    /// Somebody named it, and what we know is for another one.
    #[error(
        "gateway url override requires explicit credentials\nFix: pass --token or --password (or gatewayToken in tools).\nConfig: {config_path}"
    )]
    NoCredentials { config_path: String },
    /// Nobody says where it is.
    #[error(
        "gateway remote mode misconfigured: gateway.remote.url missing\nConfig: {config_path}\nFix: set gateway.remote.url, or set gateway.mode=local."
    )]
    Misconfigured { config_path: String },
}

impl CallError {
    /// For people, in one line: no gateway listens where it was looked for, or something else does. `None` for every other error.
    pub fn absence(&self) -> Option<String> {
        match self {
            Self::Unreachable { is_local: true, .. } => Some("no gateway running".to_owned()),
            Self::Unreachable { url, fault, .. } => Some(format!("no gateway answers at {url} ({fault})")),
            Self::NoGateway { url, .. } => {
                Some(format!("no gateway running: what listens at {url} is another program"))
            }
            _ => None,
        }
    }

    /// In a few words, without where we tried.
    pub fn brief(&self) -> String {
        match self {
            Self::Refused { message, .. } => message.clone(),
            Self::Unreachable { fault, .. } => format!("connect failed: {fault}"),
            Self::NoGateway { fault, .. } => format!("gateway closed ({}): {fault}", closed(1006)),
            Self::Closed { code, reason, .. } if reason.is_empty() => {
                format!("gateway closed ({})", closed(*code))
            }
            Self::Closed { code, reason, .. } => format!("gateway closed ({}): {reason}", closed(*code)),
            Self::Timeout { .. } => "timeout".to_owned(),
            Self::NoCredentials { .. } => "no credentials".to_owned(),
            Self::Misconfigured { .. } => "gateway.remote.url missing".to_owned(),
        }
    }
}

/// The address of a page is that of its sockets, too: `ws://host` of `http://host`.
fn for_sockets(url: &str) -> String {
    match url.split_once("://") {
        Some(("http", rest)) => format!("ws://{rest}"),
        Some(("https", rest)) => format!("wss://{rest}"),
        _ => url.to_owned(),
    }
}

/// Why nobody could be reached, as the reference has it: `connect ECONNREFUSED 127.0.0.1:18789`.
fn fault(error: &std::io::Error, url: &str) -> String {
    use std::io::ErrorKind;
    let code = match error.kind() {
        ErrorKind::ConnectionRefused => "ECONNREFUSED",
        ErrorKind::ConnectionReset => "ECONNRESET",
        ErrorKind::HostUnreachable => "EHOSTUNREACH",
        ErrorKind::NetworkUnreachable => "ENETUNREACH",
        ErrorKind::TimedOut => "ETIMEDOUT",
        _ => return error.to_string(),
    };
    let address = url.split_once("://").map_or(url, |(_, rest)| rest);
    format!("connect {code} {}", address.split('/').next().unwrap_or(address))
}

fn is_about_encryption(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

/// Whether whoever answered knows nothing of our protocol: a gateway that is busy or that refuses us says so otherwise.
fn is_no_gateway(error: &tungstenite::Error) -> bool {
    match error {
        tungstenite::Error::Protocol(_) | tungstenite::Error::HttpFormat(_) => true,
        tungstenite::Error::Http(answer) => matches!(answer.status().as_u16(), 200 | 400 | 404 | 405 | 501),
        _ => false,
    }
}

/// Whether an address is that of the gateway on this machine, under one of its names.
fn names_local(url: &str, local: &str) -> bool {
    let url = for_sockets(url);
    let url = url.trim_end_matches('/');
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| local.replace("127.0.0.1", name) == url)
}

fn closed(code: u16) -> String {
    match code {
        1006 => "1006 abnormal closure (no close frame)".to_owned(),
        1000 => "1000 normal closure".to_owned(),
        code => code.to_string(),
    }
}

/// As what we connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Cli,
    Probe,
    /// Somebody watches a run, and may be asked whether its commands may run.
    Watching {
        answers: bool,
    },
}

impl Mode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Cli | Self::Watching { .. } => "cli",
            Self::Probe => "probe",
        }
    }

    /// What we want to be told, and what we do.
    fn capabilities(self) -> &'static [&'static str] {
        match self {
            Self::Cli | Self::Probe => &[],
            Self::Watching { answers: false } => &["tool-events"],
            Self::Watching { answers: true } => &["tool-events", "approvals"],
        }
    }
}

/// A connection on which requests are made one after the other.
pub struct Client {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    target: Target,
    count: u64,
    pub hello: Value,
    /// What was told meanwhile.
    pub events: Vec<Value>,
}

impl Client {
    /// Connects, and says who we are.
    pub async fn open(target: &Target, mode: Mode, limit: Duration) -> Result<Self, CallError> {
        target.check(mode)?;
        let late = || CallError::Timeout { ms: limit.as_millis(), details: target.details() };
        tokio::time::timeout(limit, Self::connect(target, mode)).await.map_err(|_| late())?
    }

    async fn connect(target: &Target, mode: Mode) -> Result<Self, CallError> {
        let gone = |reason: String| CallError::Closed { code: 1006, reason, details: target.details() };
        let limits = WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
        // A gateway that is known by its certificate is not spoken to without one.
        if matches!(target.known, Some(Known::ByFingerprint(_)))
            && !for_sockets(&target.url).starts_with("wss://")
        {
            return Err(gone("gateway tls fingerprint requires wss:// gateway url".to_owned()));
        }
        let connector = target.known.as_ref().and_then(Known::connector);
        let connecting = tokio_tungstenite::connect_async_tls_with_config(
            for_sockets(&target.url),
            Some(limits),
            true,
            connector,
        );
        let (socket, _) = connecting.await.map_err(|error| match error {
            tungstenite::Error::Io(error) if is_about_encryption(&error) => gone(format!(
                "{error} (for a certificate that nobody vouches for, set gateway.remote.tlsFingerprint)"
            )),
            tungstenite::Error::Io(error) => {
                let fault = fault(&error, &target.url);
                let (url, is_local) = (target.url.clone(), target.source == LOCAL);
                CallError::Unreachable { fault, url, is_local, details: target.details() }
            }
            error if is_no_gateway(&error) && target.source == LOCAL => CallError::NoGateway {
                fault: error.to_string(),
                url: target.url.clone(),
                details: target.details(),
            },
            error => gone(error.to_string()),
        })?;
        let mut client =
            Self { socket, target: target.clone(), count: 0, hello: Value::Null, events: Vec::new() };
        let mut auth = Object::new();
        for (name, secret) in [("token", &target.token), ("password", &target.password)] {
            if let Some(secret) = secret {
                auth.insert(name.to_owned(), secret.clone().into());
            }
        }
        let mut params = json!({
            "minProtocol": 3,
            "maxProtocol": 3,
            "client": {
                "id": "cli", "version": env!("CARGO_PKG_VERSION"), "platform": std::env::consts::OS,
                "mode": mode.as_str(),
                "instanceId": uuid::Uuid::new_v4().to_string(),
            },
            "caps": mode.capabilities(),
            "role": "operator",
            "scopes": ["operator.admin", "operator.approvals", "operator.pairing"],
        });
        if let (Some(params), false) = (params.as_object_mut(), auth.is_empty()) {
            params.insert("auth".to_owned(), Value::Object(auth));
        }
        client.hello = match client.request("connect", params, Stage::Only).await {
            Err(CallError::Refused { message, .. }) => {
                anstream::eprintln!("gateway connect failed: Error: {}", crate::terminal::harmless(&message));
                return Err(client.farewell(message).await);
            }
            other => other?,
        };
        Ok(client)
    }

    /// Makes a request and waits for its answer.
    pub async fn call(&mut self, method: &str, params: Value, limit: Duration) -> Result<Value, CallError> {
        self.call_at(method, params, Stage::Only, limit).await
    }

    /// Makes a request that is answered twice, and waits for the last answer.
    pub async fn call_to_the_end(
        &mut self,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, CallError> {
        self.call_at(method, params, Stage::Last, limit).await
    }

    async fn call_at(
        &mut self,
        method: &str,
        params: Value,
        stage: Stage,
        limit: Duration,
    ) -> Result<Value, CallError> {
        let details = self.target.details();
        match tokio::time::timeout(limit, self.request(method, params, stage)).await {
            Ok(answer) => answer,
            Err(_) => Err(CallError::Timeout { ms: limit.as_millis(), details }),
        }
    }

    async fn request(&mut self, method: &str, params: Value, stage: Stage) -> Result<Value, CallError> {
        let id = self.send(method, params).await?;
        loop {
            match self.next_news(&id).await? {
                News::Accepted(payload) if stage == Stage::Only => return Ok(payload),
                News::Accepted(_) => {}
                News::Event(event) => self.events.push(event),
                News::Answer(answer) => return answer,
            }
        }
    }

    /// Makes a request, and gives its name; what comes of it is [`Client::next_news`].
    pub async fn send(&mut self, method: &str, params: Value) -> Result<String, CallError> {
        self.count += 1;
        let id = self.count.to_string();
        // Without parameters there is no member: some methods take none.
        let mut frame = json!({"type": "req", "id": id, "method": method});
        if let (Some(frame), false) = (frame.as_object_mut(), params.is_null()) {
            frame.insert("params".to_owned(), params);
        }
        match self.socket.send(Message::text(json::stringify(&frame))).await {
            Ok(()) => Ok(id),
            Err(_) => Err(self.closed(1006, String::new())),
        }
    }

    /// What comes next while a request waits for its answer; answers to others are passed over.
    pub async fn next_news(&mut self, id: &str) -> Result<News, CallError> {
        loop {
            let frame = self.next_frame().await?;
            if frame.get("type").and_then(Value::as_str) != Some("res") {
                return Ok(News::Event(frame));
            }
            if frame.get("id").and_then(Value::as_str) != Some(id) {
                continue;
            }
            let payload = frame.get("payload").cloned();
            if frame.get("ok").and_then(Value::as_bool) != Some(true) {
                let message = json::at(&frame, &["error", "message"])
                    .and_then(Value::as_str)
                    .unwrap_or("unknown error");
                return Ok(News::Answer(Err(CallError::Refused { message: message.to_owned(), payload })));
            }
            let is_first =
                json::at(&frame, &["payload", "status"]).and_then(Value::as_str) == Some("accepted");
            let payload = payload.unwrap_or_default();
            return Ok(if is_first { News::Accepted(payload) } else { News::Answer(Ok(payload)) });
        }
    }

    /// The next frame, whatever it is.
    pub async fn next_frame(&mut self) -> Result<Value, CallError> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    if let Ok(frame) = json::parse(&text) {
                        return Ok(frame);
                    }
                }
                Some(Ok(Message::Close(frame))) => {
                    let (code, reason) = frame
                        .map_or((1005, String::new()), |frame| (frame.code.into(), frame.reason.to_string()));
                    return Err(self.closed(code, reason));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(self.closed(1006, String::new())),
            }
        }
    }

    /// How the gateway ends a connection that it did not want.
    async fn farewell(&mut self, message: String) -> CallError {
        let goodbye = async {
            loop {
                if let Err(error) = self.next_frame().await {
                    return error;
                }
            }
        };
        match tokio::time::timeout(Duration::from_secs(2), goodbye).await {
            Ok(error) => error,
            Err(_) => self.closed(1008, message),
        }
    }

    fn closed(&self, code: u16, reason: String) -> CallError {
        CallError::Closed { code, reason, details: self.target.details() }
    }

    /// The folder that the gateway of this machine works on, if that is not ours: another one listens where ours
    /// would.
    pub fn other_folder(&self, setting: &Setting) -> Option<String> {
        let told = json::at(&self.hello, &["snapshot", "stateDir"]).and_then(Value::as_str)?;
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_ours = real(Path::new(told)) == real(setting.place.folder.path());
        (self.target.source == LOCAL && !is_ours).then(|| told.to_owned())
    }

    /// Leaves.
    pub async fn close(mut self) {
        let _ = self.socket.close(None).await;
    }
}

/// What comes while a request waits.
pub enum News {
    /// It is on record; the answer follows.
    Accepted(Value),
    /// Something else happened.
    Event(Value),
    Answer(Result<Value, CallError>),
}

/// Which of several answers to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Only,
    Last,
}

/// Connects, makes one request, and leaves.
pub async fn ask(target: &Target, method: &str, params: Value, limit: Duration) -> Result<Value, CallError> {
    let mut client = Client::open(target, Mode::Cli, limit).await?;
    let answer = client.call(method, params, limit).await;
    client.close().await;
    answer
}

/// The same for those who do not wait for anything else. `json` is whether a program reads the answer.
pub fn ask_blocking(
    setting: &Setting,
    target: &Target,
    method: &str,
    params: Value,
    limit: Duration,
    json: bool,
) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answer = runtime.block_on(ask(target, method, params, limit));
    answer.map_err(|error| explain(setting, error, json))
}

/// An error of a call, for whoever reads it: a gateway that does not run is told in one plain line. Programs, and
/// scripts on a folder of the reference, get the reference's text.
pub fn explain(setting: &Setting, error: CallError, json: bool) -> anyhow::Error {
    let plain = absence_and_remedy(setting, &error).filter(|_| !json && !setting.keeps_reference_text());
    match plain {
        Some(told) => Failure::bare(told).into(),
        None => error.into(),
    }
}

/// That no gateway listens, and what to do about it, in one line. `None` for every other error.
pub fn absence_and_remedy(setting: &Setting, error: &CallError) -> Option<String> {
    let absence = error.absence()?;
    Some(match error {
        CallError::Unreachable { is_local: true, .. } => {
            format!("{absence}; start one: {}", setting.command("gateway"))
        }
        CallError::NoGateway { .. } => {
            format!("{absence}; choose another port: {}", setting.command("config set gateway.port PORT"))
        }
        _ => absence,
    })
}

//! The first request of a connection: who is there, and whether they may come in (`gateway.md` §2). The order
//! of the checks is that of the reference; the first one that fails is told.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::device::{Introduction, Role, Signed, Standing, Token};
use yabby_domain::json::{self, Object, Value};

use crate::Gateway;
use crate::auth::{DeviceKey, Peer, Shown, Unknown, same_secret};
use crate::back_off::{MOST_WAIT, TooMany};
use crate::frames::{self, PROTOCOL, Refusal, Request};
use crate::hub::{ADMIN, About, CONTROL_UI, Client, Farewell, Outgoing, PAIRING, Weight};
use crate::in_turn::InTurn;
use crate::schema::{BOOLEAN, NON_EMPTY, Schema, TEXT, TEXTS, at_least, optional, required};

/// How far the clock of a device may be off.
const SKEW_MS: i64 = 10 * 60_000;

const CLIENT_IDS: Schema = Schema::OneOf(&[
    Schema::Constant("webchat-ui"),
    Schema::Constant(CONTROL_UI),
    Schema::Constant("webchat"),
    Schema::Constant("cli"),
    Schema::Constant("gateway-client"),
    Schema::Constant("openclaw-macos"),
    Schema::Constant("openclaw-ios"),
    Schema::Constant("openclaw-android"),
    Schema::Constant("node-host"),
    Schema::Constant("test"),
    Schema::Constant("fingerprint"),
    Schema::Constant("openclaw-probe"),
]);

const CLIENT_MODES: Schema = Schema::OneOf(&[
    Schema::Constant("webchat"),
    Schema::Constant("cli"),
    Schema::Constant("ui"),
    Schema::Constant("backend"),
    Schema::Constant("node"),
    Schema::Constant("probe"),
    Schema::Constant("test"),
]);

pub(crate) const CONNECT: Schema = Schema::Object(&[
    required("minProtocol", at_least(1)),
    required("maxProtocol", at_least(1)),
    required(
        "client",
        Schema::Object(&[
            required("id", CLIENT_IDS),
            optional("displayName", NON_EMPTY),
            required("version", NON_EMPTY),
            required("platform", NON_EMPTY),
            optional("deviceFamily", NON_EMPTY),
            optional("modelIdentifier", NON_EMPTY),
            required("mode", CLIENT_MODES),
            optional("instanceId", NON_EMPTY),
        ]),
    ),
    optional("caps", TEXTS),
    optional("commands", TEXTS),
    optional("permissions", Schema::Map(&BOOLEAN)),
    optional("pathEnv", TEXT),
    optional("role", NON_EMPTY),
    optional("scopes", TEXTS),
    optional(
        "device",
        Schema::Object(&[
            required("id", NON_EMPTY),
            required("publicKey", NON_EMPTY),
            required("signature", NON_EMPTY),
            required("signedAt", at_least(0)),
            optional("nonce", NON_EMPTY),
        ]),
    ),
    optional("auth", Schema::Object(&[optional("token", TEXT), optional("password", TEXT)])),
    optional("locale", TEXT),
    optional("userAgent", TEXT),
]);

/// Somebody was not let in.
#[derive(Debug)]
pub(crate) struct Rejection {
    pub(crate) refusal: Refusal,
    pub(crate) farewell: Farewell,
}

impl Rejection {
    fn new(code: u16, refusal: Refusal) -> Self {
        Self { farewell: Farewell::new(code, &refusal.message), refusal }
    }

    fn policy(refusal: Refusal) -> Self {
        Self::new(1008, refusal)
    }
}

/// Somebody is in.
pub(crate) struct Admitted {
    pub(crate) client: Arc<Client>,
    pub(crate) hello: Value,
}

/// Reads and checks the parameters of `connect`.
pub(crate) async fn admit(
    gateway: &Arc<Gateway>,
    peer: &Peer,
    nonce: &str,
    connection: &str,
    out: Outgoing,
    request: &Request,
) -> Result<Admitted, Rejection> {
    if request.method != frames::CONNECT {
        let refusal = Refusal::invalid("invalid handshake: first request must be connect");
        return Err(Rejection::policy(refusal));
    }
    if let Some(fault) = CONNECT.fault(&request.params) {
        return Err(Rejection::policy(Refusal::invalid(format!("invalid connect params: {fault}"))));
    }
    let wish = Wish::read(&request.params);
    if wish.max_protocol < PROTOCOL || wish.min_protocol > PROTOCOL {
        let refusal =
            Refusal::invalid("protocol mismatch").with_details(json!({"expectedProtocol": PROTOCOL}));
        return Err(Rejection::new(1002, refusal));
    }
    let Some(role) = Role::parse(&wish.role) else {
        return Err(Rejection::policy(Refusal::invalid("invalid role")));
    };
    let config = gateway.config();
    let entrance = wish.authenticate(gateway, peer, nonce, &config, role).await?;
    let now = gateway.now_ms();
    let scopes = wish.granted(role);
    let device = entrance.device();
    let presence = (!wish.about.is_command_line()).then(|| wish.presence_key(device.as_deref(), connection));
    let client = Arc::new(Client {
        id: connection.to_owned(),
        about: wish.about.clone(),
        role,
        scopes,
        device,
        knew_secret: entrance.knew_secret,
        presence,
        out,
        accepting: InTurn::default(),
    });
    if let Some(key) = &client.presence {
        gateway.presence.note(key, wish.present(&client, peer, &config), now);
        gateway.presence_changed();
    }
    let hello = hello(gateway, peer, &client, entrance.token.map(|(_, token)| token), now);
    Ok(Admitted { client, hello })
}

/// How somebody was let in.
struct Entrance {
    /// By the secret that clients share.
    knew_secret: bool,
    /// The device that they come from, as its signature shows, and a token for it.
    token: Option<(String, Token)>,
}

impl Entrance {
    fn device(&self) -> Option<String> {
        self.token.as_ref().map(|(device, _)| device.clone())
    }
}

/// What a client asks for.
struct Wish {
    min_protocol: i64,
    max_protocol: i64,
    about: About,
    role: String,
    /// As they were sent.
    scopes: Vec<String>,
    device: Option<Device>,
    token: Option<String>,
    password: Option<String>,
}

struct Device {
    id: String,
    public_key: String,
    signature: String,
    signed_at: i64,
    nonce: Option<String>,
}

impl Wish {
    fn read(params: &Value) -> Self {
        let number = |value: &Value, name: &str| {
            // A whole number may be written with a fraction that is nothing.
            #[expect(clippy::cast_possible_truncation, reason = "it saturates, and nothing is that far away")]
            value.get(name).and_then(Value::as_f64).map_or(0, |number| number as i64)
        };
        let client = params.get("client").unwrap_or(&Value::Null);
        let about = About {
            id: word(client, "id").unwrap_or_default(),
            mode: word(client, "mode").unwrap_or_default(),
            version: word(client, "version").unwrap_or_default(),
            platform: word(client, "platform").unwrap_or_default(),
            display_name: word(client, "displayName"),
            device_family: word(client, "deviceFamily"),
            model_identifier: word(client, "modelIdentifier"),
            instance: word(client, "instanceId"),
            capabilities: words(params, "caps"),
        };
        let auth = params.get("auth").unwrap_or(&Value::Null);
        let device = params.get("device").map(|device| Device {
            id: word(device, "id").unwrap_or_default(),
            public_key: word(device, "publicKey").unwrap_or_default(),
            signature: word(device, "signature").unwrap_or_default(),
            signed_at: number(device, "signedAt"),
            nonce: word(device, "nonce").filter(|nonce| !nonce.is_empty()),
        });
        Self {
            min_protocol: number(params, "minProtocol"),
            max_protocol: number(params, "maxProtocol"),
            about,
            role: word(params, "role").unwrap_or_else(|| Role::Operator.as_str().to_owned()),
            scopes: words(params, "scopes"),
            device,
            token: word(auth, "token").filter(|token| !token.is_empty()),
            password: word(auth, "password").filter(|password| !password.is_empty()),
        }
    }

    /// Whoever asks for nothing in particular may do everything.
    fn granted(&self, role: Role) -> Vec<String> {
        match (self.scopes.is_empty(), role) {
            (true, Role::Operator) => vec![ADMIN.to_owned()],
            _ => self.scopes.clone(),
        }
    }

    /// Whether they are who they say, and may come in.
    async fn authenticate(
        &self,
        gateway: &Arc<Gateway>,
        peer: &Peer,
        nonce: &str,
        config: &Arc<Config>,
        role: Role,
    ) -> Result<Entrance, Rejection> {
        let about = &self.about;
        if (about.is_control_ui() || about.is_webchat()) && !peer.origin_is_allowed(config) {
            return Err(Rejection::policy(Refusal::invalid(
                "origin not allowed (open the Control UI from the gateway host or allow it in gateway.controlUi.allowedOrigins)",
            )));
        }
        self.wait_for_turn(gateway, peer, nonce, config).await?;
        self.check_secret(gateway, peer, nonce, config, role).await
    }

    /// Waits until a secret may be judged, where wrong ones came from before. Devices that are known wait for nobody but
    /// themselves: nobody else can sign for them.
    async fn wait_for_turn(
        &self,
        gateway: &Arc<Gateway>,
        peer: &Peer,
        nonce: &str,
        config: &Config,
    ) -> Result<(), Rejection> {
        let address = peer.counted_address(config);
        let shows_something = self.token.is_some() || self.password.is_some();
        if !shows_something || !gateway.back_off.is_slow(address, Instant::now()) {
            return Ok(());
        }
        let turn = match self.known_device(gateway, peer, nonce, config).await {
            Some(device) => gateway.back_off.turn_of_device(device, Instant::now(), MOST_WAIT),
            None => gateway.back_off.turn(address, Instant::now(), MOST_WAIT),
        };
        let wait = turn.map_err(|TooMany| {
            let text = "too many wrong secrets from this address; try again in a moment";
            Rejection::policy(Refusal::unavailable(text))
        })?;
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// The device that a connection comes from, if it is paired.
    async fn known_device(
        &self,
        gateway: &Arc<Gateway>,
        peer: &Peer,
        nonce: &str,
        config: &Config,
    ) -> Option<&str> {
        let device = self.device.as_ref()?;
        let key = self.check_signature(device, peer, nonce, config, gateway.now()).ok()?;
        let (id, key) = (device.id.clone(), key.text());
        let known = gateway.change_devices(move |devices, _| devices.knows(&id, &key)).await;
        known.unwrap_or(false).then_some(device.id.as_str())
    }

    /// Whether the secret is right, or the device one that may come in.
    async fn check_secret(
        &self,
        gateway: &Arc<Gateway>,
        peer: &Peer,
        nonce: &str,
        config: &Arc<Config>,
        role: Role,
    ) -> Result<Entrance, Rejection> {
        let about = &self.about;
        let secret = gateway.secret();
        let shown = Shown { token: self.token.as_deref(), password: self.password.as_deref() };
        let known = secret.check(shown);
        let address = peer.counted_address(config);
        // Before anything is waited for: many that come at once are many.
        if known == Err(Unknown::Mismatch) {
            gateway.back_off.note_wrong(address, Instant::now());
        }
        let unauthorized =
            |why: Unknown| Rejection::policy(Refusal::invalid(secret.unauthorized(why, &self.about)));
        let page = &config.gateway.control_ui;
        let needs_no_device =
            about.is_control_ui() && (page.allow_insecure_auth() || page.dangerously_disable_device_auth());
        let device = self
            .device
            .as_ref()
            .filter(|_| !(about.is_control_ui() && page.dangerously_disable_device_auth()));
        let Some(device) = device else {
            if about.is_control_ui() && !needs_no_device {
                let text = "control ui requires HTTPS or localhost (secure context)";
                return Err(Rejection::policy(Refusal::invalid(text)));
            }
            return match known {
                Ok(()) => Ok(Entrance { knew_secret: true, token: None }),
                Err(_) if self.token.is_none() && self.password.is_none() => {
                    Err(Rejection::policy(Refusal::not_paired("device identity required")))
                }
                Err(why) => Err(unauthorized(why)),
            };
        };
        let key = self.check_signature(device, peer, nonce, config, gateway.now())?;
        if let Err(why) = known
            && !self.shows_device_token(gateway, device, role).await
        {
            if why == Unknown::Mismatch
                && let Some(device) = self.known_device(gateway, peer, nonce, config).await
            {
                gateway.back_off.note_wrong_of_device(device, Instant::now());
            }
            return Err(unauthorized(why));
        }
        if known == Err(Unknown::Mismatch) {
            gateway.back_off.forgive(address);
        }
        let token = self.let_device_in(gateway, peer, config, device, &key, role).await?;
        Ok(Entrance { knew_secret: known.is_ok(), token: Some((device.id.clone(), token)) })
    }

    fn check_signature(
        &self,
        device: &Device,
        peer: &Peer,
        nonce: &str,
        config: &Config,
        now: i64,
    ) -> Result<DeviceKey, Rejection> {
        let fault = |text: &str| Rejection::policy(Refusal::invalid(text));
        let key = DeviceKey::read(&device.public_key).filter(|key| key.device() == device.id);
        let key = key.ok_or_else(|| fault("device identity mismatch"))?;
        if now.abs_diff(device.signed_at) > SKEW_MS.unsigned_abs() {
            return Err(fault("device signature expired"));
        }
        match device.nonce.as_deref() {
            None if !peer.is_local(config) => return Err(fault("device nonce required")),
            Some(sent) if sent != nonce => return Err(fault("device nonce mismatch")),
            _ => {}
        }
        let signed = Signed {
            device: &device.id,
            client_id: &self.about.id,
            client_mode: &self.about.mode,
            role: &self.role,
            scopes: &self.scopes,
            signed_at: device.signed_at,
            token: self.token.as_deref(),
            nonce: device.nonce.as_deref(),
        };
        // A device without a nonce signs the form that has none, and no other.
        if key.has_signed(&signed.text(), &device.signature) {
            Ok(key)
        } else {
            Err(fault("device signature invalid"))
        }
    }

    /// Whether the token is one that the device got from us.
    async fn shows_device_token(&self, gateway: &Arc<Gateway>, device: &Device, role: Role) -> bool {
        let Some(token) = self.token.clone() else { return false };
        let (id, scopes) = (device.id.clone(), self.granted(role));
        let checked = gateway
            .change_devices(move |devices, now| {
                let is_it = |known: &str| same_secret(known, &token);
                let knows = devices.knows_token(&id, role.as_str(), &scopes, is_it);
                if knows {
                    devices.used_token(&id, role.as_str(), now);
                }
                knows
            })
            .await;
        checked.unwrap_or_else(|error| {
            tracing::warn!(%error, "the token of a device could not be checked");
            false
        })
    }

    /// A known device comes in; one from this machine is made known; any other has to be let in by somebody.
    async fn let_device_in(
        &self,
        gateway: &Arc<Gateway>,
        peer: &Peer,
        config: &Config,
        device: &Device,
        key: &DeviceKey,
        role: Role,
    ) -> Result<Token, Rejection> {
        let (id, scopes) = (device.id.clone(), self.granted(role));
        let who = Introduction {
            device: id.clone(),
            public_key: key.text(),
            display_name: self.about.display_name.clone(),
            platform: Some(self.about.platform.clone()),
            client_id: Some(self.about.id.clone()),
            client_mode: Some(self.about.mode.clone()),
            role: Some(role.as_str().to_owned()),
            scopes: scopes.clone(),
            remote_ip: peer.remote_address(config).map(|address| address.to_string()),
            silent: peer.is_local(config),
        };
        let asked = gateway.change_devices(move |devices, now| ask(devices, &who, &scopes, now)).await;
        let asked = asked.map_err(|error| Rejection::new(1011, error.into()))?;
        if let Some((event, payload)) = asked.told {
            gateway.tell(event, &payload, Weight::Droppable, Some(PAIRING));
        }
        asked.token.map_err(|request| {
            let refusal = Refusal::not_paired("pairing required").with_details(json!({"requestId": request}));
            Rejection::policy(refusal)
        })
    }

    /// The name under which others see that they are there.
    fn presence_key(&self, device: Option<&str>, connection: &str) -> String {
        device.or(self.about.instance.as_deref()).unwrap_or(connection).to_owned()
    }

    /// What others see.
    fn present(&self, client: &Client, peer: &Peer, config: &Config) -> Object {
        let about = &self.about;
        let host = about.display_name.clone().unwrap_or_else(|| about.id.clone());
        let device = client.device.clone();
        let texts = [
            ("host", Some(host)),
            ("ip", peer.remote_address(config).map(|address| address.to_string())),
            ("version", Some(about.version.clone())),
            ("platform", Some(about.platform.clone())),
            ("deviceFamily", about.device_family.clone()),
            ("modelIdentifier", about.model_identifier.clone()),
            ("mode", Some(about.mode.clone())),
            ("deviceId", device.clone()),
            ("instanceId", device.or_else(|| about.instance.clone())),
            ("reason", Some("connect".to_owned())),
        ];
        let mut told: Object =
            texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into()))).collect();
        told.insert("roles".to_owned(), vec![client.role.as_str().to_owned()].into());
        told.insert("scopes".to_owned(), client.scopes.clone().into());
        told
    }
}

/// What became of a device that wants to come in.
struct Asked {
    /// Its token, or the name of the request that somebody has to grant.
    token: Result<Token, String>,
    /// What others are told.
    told: Option<(&'static str, Value)>,
}

fn ask(
    devices: &mut yabby_domain::device::Devices,
    who: &Introduction,
    scopes: &[String],
    now: f64,
) -> Asked {
    let fresh = || uuid::Uuid::new_v4().simple().to_string();
    let role = who.role.as_deref().unwrap_or_default();
    let mut told = None;
    if devices.standing(&who.device, &who.public_key, role, scopes) == Standing::MustAsk {
        let (request, is_new) = devices.request(who, uuid::Uuid::new_v4().to_string(), now);
        let name = word(&request, "requestId").unwrap_or_default();
        // What was asked for from elsewhere is not granted because somebody asks again from here.
        let is_silent = request.get("silent").and_then(Value::as_bool) == Some(true);
        if !is_silent {
            let told = is_new.then_some(("device.pair.requested", request));
            return Asked { token: Err(name), told };
        }
        devices.approve(&name, fresh(), now);
        told = Some((
            "device.pair.resolved",
            json!({"requestId": name, "deviceId": who.device, "decision": "approved", "ts": json::number(now)}),
        ));
    }
    devices.describe(who);
    let token = devices.ensure_token(&who.device, role, scopes, fresh(), now);
    Asked { token: token.ok_or_else(String::new), told }
}

/// The welcome.
fn hello(gateway: &Arc<Gateway>, peer: &Peer, client: &Client, token: Option<Token>, now: f64) -> Value {
    let mut snapshot = Object::new();
    let mut put = |name: &str, value: Value| snapshot.insert(name.to_owned(), value);
    put("presence", gateway.presence.list(now));
    put("health", gateway.health.last());
    put("stateVersion", gateway.state_version().to_value());
    put("uptimeMs", json::number(gateway.uptime_ms()));
    put("configPath", gateway.place.config.to_string_lossy().into());
    put("stateDir", gateway.place.folder.path().to_string_lossy().into());
    put("sessionDefaults", gateway.session_defaults());
    let mut hello = json!({
        "type": "hello-ok",
        "protocol": PROTOCOL,
        "server": {"version": gateway.version, "host": gateway.presence.machine().host, "connId": client.id},
        "features": {"methods": crate::methods::advertised(), "events": EVENTS},
        "snapshot": snapshot,
        "canvasHostUrl": canvas_address(gateway, peer),
    });
    if let (Some(token), Some(hello)) = (token, hello.as_object_mut()) {
        let issued = json::number(token.issued_at);
        let auth = json!({"deviceToken": token.token, "role": token.role, "scopes": token.scopes, "issuedAtMs": issued});
        hello.insert("auth".to_owned(), auth);
    }
    if let Some(hello) = hello.as_object_mut() {
        let policy = json!({
            "maxPayload": crate::frames::MAX_PAYLOAD,
            "maxBufferedBytes": crate::hub::MAX_BUFFERED,
            "tickIntervalMs": crate::TICK.as_millis() as u64,
        });
        hello.insert("policy".to_owned(), policy);
    }
    hello
}

/// Where a client finds pages of ours, under the name by which it found us.
fn canvas_address(gateway: &Gateway, peer: &Peer) -> String {
    let is_encrypted = peer.is_encrypted || peer.forwarded_proto.as_deref() == Some("https");
    let scheme = if is_encrypted { "https" } else { "http" };
    let name = peer.host.as_deref().map(crate::auth::host_name).unwrap_or_default();
    let name = if name.contains(':') { format!("[{name}]") } else { name };
    format!("{scheme}://{name}:{}", gateway.port())
}

/// All events that clients may get.
pub(crate) const EVENTS: [&str; 18] = [
    "connect.challenge",
    "agent",
    "chat",
    "presence",
    "tick",
    "talk.mode",
    "shutdown",
    "health",
    "heartbeat",
    "cron",
    "node.pair.requested",
    "node.pair.resolved",
    "node.invoke.request",
    "device.pair.requested",
    "device.pair.resolved",
    "voicewake.changed",
    "exec.approval.requested",
    "exec.approval.resolved",
];

fn word(value: &Value, name: &str) -> Option<String> {
    Some(value.get(name)?.as_str()?.to_owned())
}

fn words(value: &Value, name: &str) -> Vec<String> {
    let items = value.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}

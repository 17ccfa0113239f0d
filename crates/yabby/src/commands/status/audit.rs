//! What others could get at: a look at permissions and at who may connect.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::json::Value;
use yabby_domain::text;
use yabby_gateway::log_file;

use crate::book::Book;
use crate::commands::gateway::listen::Bind;
use crate::setting::Setting;

/// A shorter secret can be guessed.
const LONG_ENOUGH: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    Critical,
    Warn,
}

impl Severity {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warn => "warn",
        }
    }
}

/// Something that others could get at.
pub(super) struct Finding {
    id: &'static str,
    pub(super) severity: Severity,
    pub(super) title: &'static str,
    pub(super) detail: String,
    pub(super) remedy: Option<String>,
}

pub(super) struct Audit {
    /// The worst first.
    pub(super) findings: Vec<Finding>,
}

impl Audit {
    pub(super) fn of(setting: &Setting, config: &Config) -> Self {
        let mut findings: Vec<Finding> =
            door(setting, config).into_iter().chain(files(setting, config)).collect();
        findings.sort_by_key(|finding| finding.severity);
        Self { findings }
    }

    pub(super) fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    pub(super) fn to_json(&self) -> Value {
        let finding = |finding: &Finding| {
            let mut told = json!({
                "checkId": finding.id,
                "severity": finding.severity.as_str(),
                "title": finding.title,
                "detail": finding.detail,
            });
            if let Some(remedy) = &finding.remedy {
                told["remediation"] = remedy.clone().into();
            }
            told
        };
        json!({
            "ts": jiff::Timestamp::now().as_millisecond(),
            "summary": {"critical": self.count(Severity::Critical), "warn": self.count(Severity::Warn), "info": 0},
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    }
}

/// Who may connect to the gateway.
fn door(setting: &Setting, config: &Config) -> Option<Finding> {
    let environment = &setting.place.environment;
    let auth = &config.gateway.auth;
    let secret = |configured: &Option<String>, variables: &[&str]| {
        let configured = configured.as_deref().and_then(text::non_blank);
        configured.or_else(|| environment.first(variables)).map(str::len)
    };
    let secret = secret(&auth.token, &["OPENCLAW_GATEWAY_TOKEN", "CLAWDBOT_GATEWAY_TOKEN"])
        .or_else(|| secret(&auth.password, &["OPENCLAW_GATEWAY_PASSWORD", "CLAWDBOT_GATEWAY_PASSWORD"]));
    let is_here = Bind::of(None, config).addresses(config).iter().all(IpAddr::is_loopback);
    let set = setting.command("setup");
    match secret {
        // One that starts on a fresh folder makes its own.
        None if setting.is_own_folder() && !setting.place.config.exists() => None,
        None => Some(Finding {
            id: if is_here { "gateway.loopback_no_auth" } else { "gateway.bind_no_auth" },
            severity: Severity::Critical,
            title: "The gateway has no secret",
            detail: match is_here {
                true => {
                    "It does not start without one: every program on this machine could talk to your agents."
                        .to_owned()
                }
                false => "It does not start without one: everybody in the network could talk to your agents."
                    .to_owned(),
            },
            remedy: Some(set),
        }),
        Some(length) if length < LONG_ENOUGH => Some(Finding {
            id: "gateway.token_too_short",
            severity: Severity::Warn,
            title: "The secret of the gateway is short",
            detail: format!("It has {length} characters; a long random one cannot be guessed."),
            remedy: Some(set),
        }),
        Some(_) => None,
    }
}

/// Files and folders that others on this machine can read.
fn files(setting: &Setting, config: &Config) -> Vec<Finding> {
    let place = &setting.place;
    let mut open = Vec::new();
    let mut look = |id, title, path: &Path, wanted: u32, severity| {
        let Ok(found) = path.metadata() else { return };
        let mode = found.permissions().mode() & 0o777;
        if mode & 0o077 == 0 {
            return;
        }
        let shown = place.shortened(path);
        open.push(Finding {
            id,
            severity,
            title,
            detail: format!("{shown} has mode {mode:o}."),
            remedy: Some(format!("chmod {wanted:o} {shown}")),
        });
    };
    look(
        "fs.state_dir.perms_readable",
        "The folder of everything is open to others",
        place.folder.path(),
        0o700,
        Severity::Warn,
    );
    look(
        "fs.config.perms_world_readable",
        "The configuration is open to others",
        &place.config,
        0o600,
        Severity::Critical,
    );
    if let Ok(book) = Book::open(setting) {
        for agent in book.agents().unwrap_or_default() {
            look(
                "fs.sessions_store.perms_readable",
                "Sessions are open to others",
                &book.store_path(&agent),
                0o600,
                Severity::Warn,
            );
        }
    }
    look(
        "fs.log_file.perms_readable",
        "The log is open to others",
        &log_file(config, place),
        0o600,
        Severity::Warn,
    );
    open
}

//! Auth profiles: the keys and tokens of providers, which one is tried next, and which one rests
//! (`state-files.md` §1, `config.md`).
//!
//! The file belongs to OpenClaw as well: what we do not know in it goes back where it stood.

use crate::config::Config;
use crate::config::auth::AuthCooldowns;
use crate::config::number::PositiveNumber;
use crate::json::{self, Object, Value};
use crate::model::normalize_provider;
use crate::text;

/// The profiles of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AuthProfiles(Object);

/// What a profile holds.
#[derive(Clone, Copy, PartialEq)]
pub enum Credential<'p> {
    ApiKey {
        key: &'p str,
    },
    /// A bearer token that cannot be renewed.
    Token {
        token: &'p str,
        expires: Option<f64>,
    },
    OAuth {
        access: &'p str,
        expires: Option<f64>,
    },
}

/// Why a call failed, as far as profiles are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    Auth,
    Format,
    RateLimit,
    Billing,
    Timeout,
    Unknown,
}

/// How long profiles rest (`auth.cooldowns`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cooldowns {
    billing_ms: f64,
    billing_max_ms: f64,
    /// A failure before this time is forgotten.
    window_ms: f64,
}

const MINUTE: f64 = 60_000.0;
const HOUR: f64 = 60.0 * MINUTE;

impl Cooldowns {
    pub fn from_config(config: &Config, provider: &str) -> Self {
        let cooldowns = &config.auth.cooldowns;
        let usual = AuthCooldowns::default();
        let hours = |written: Option<PositiveNumber>| written.map(f64::from).filter(|hours| *hours > 0.0);
        let by_provider = cooldowns.billing_backoff_hours_by_provider.as_ref();
        let own = by_provider.and_then(|hours| hours.get(provider).copied());
        let billing = hours(own).or_else(|| hours(cooldowns.billing_backoff_hours));
        let most = hours(cooldowns.billing_max_hours);
        let window = hours(cooldowns.failure_window_hours);
        Self {
            billing_ms: billing.unwrap_or(usual.billing_backoff_hours()) * HOUR,
            billing_max_ms: most.unwrap_or(usual.billing_max_hours()) * HOUR,
            window_ms: window.unwrap_or(usual.failure_window_hours()) * HOUR,
        }
    }
}

impl FailureKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Format => "format",
            Self::RateLimit => "rate_limit",
            Self::Billing => "billing",
            Self::Timeout => "timeout",
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Debug for Credential<'_> {
    /// Secrets are not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind())
    }
}

impl<'p> Credential<'p> {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ApiKey { .. } => "api_key",
            Self::Token { .. } => "token",
            Self::OAuth { .. } => "oauth",
        }
    }

    /// What is sent to the provider.
    pub fn secret(&self) -> &'p str {
        match self {
            Self::ApiKey { key } => key,
            Self::Token { token, .. } => token,
            Self::OAuth { access, .. } => access,
        }
    }

    /// When it can no longer be used; keys do not expire.
    pub fn expires(&self) -> Option<f64> {
        match self {
            Self::ApiKey { .. } => None,
            Self::Token { expires, .. } | Self::OAuth { expires, .. } => *expires,
        }
    }

    pub fn is_expired(&self, now: f64) -> bool {
        self.expires().is_some_and(|at| at <= now)
    }

    fn of(profile: &'p Value) -> Option<Self> {
        let text = |field: &str| profile.get(field)?.as_str().and_then(text::non_blank);
        let expires = profile.get("expires").and_then(Value::as_f64).filter(|at| *at > 0.0);
        text("provider")?;
        match text("type")? {
            "api_key" => Some(Self::ApiKey { key: text("key")? }),
            "token" => Some(Self::Token { token: text("token")?, expires }),
            "oauth" => Some(Self::OAuth { access: text("access")?, expires }),
            _ => None,
        }
    }

    /// Which kind is tried first.
    fn rank(&self) -> u8 {
        match self {
            Self::OAuth { .. } => 0,
            Self::Token { .. } => 1,
            Self::ApiKey { .. } => 2,
        }
    }
}

impl Default for AuthProfiles {
    fn default() -> Self {
        let fields = [("version", Value::from(1)), ("profiles", Value::Object(Object::new()))];
        Self(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl AuthProfiles {
    /// The profiles in a file; `None` if there are none in it.
    pub fn parse(file: &str) -> Option<Self> {
        match json::parse_json5(file)? {
            Value::Object(object) if object.get("profiles").is_some_and(Value::is_object) => {
                Some(Self(object))
            }
            _ => None,
        }
    }

    /// The file as it is written.
    pub fn text(&self) -> String {
        json::stringify_pretty(&Value::Object(self.0.clone())) + "\n"
    }

    /// These profiles, and those of `main` that these do not have.
    pub fn over(&self, main: &Self) -> Self {
        let mut merged = main.0.clone();
        for (name, own) in &self.0 {
            match (merged.get_mut(name), own) {
                (Some(Value::Object(theirs)), Value::Object(ours)) => theirs.extend(ours.clone()),
                _ => {
                    merged.insert(name.clone(), own.clone());
                }
            }
        }
        Self(merged)
    }

    pub fn credential(&self, id: &str) -> Option<Credential<'_>> {
        Credential::of(self.map("profiles")?.get(id)?)
    }

    /// Every profile, whoever it is for and whether or not it can be used.
    /// Every text in the file that opens something.
    pub fn secrets(&self) -> Vec<String> {
        const FIELDS: [&str; 4] = ["key", "token", "access", "refresh"];
        let profiles = self.0.get("profiles").and_then(Value::as_object).into_iter().flatten();
        let texts = profiles
            .flat_map(|(_, profile)| FIELDS.into_iter().filter_map(|field| profile.get(field)?.as_str()));
        texts.map(str::to_owned).collect()
    }

    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.map("profiles").into_iter().flatten().map(|(id, _)| id.as_str())
    }

    /// Why a profile rests, if it was put to rest for a reason that is told.
    pub fn disabled_for(&self, id: &str, now: f64) -> Option<&str> {
        let stats = self.map("usageStats")?.get(id)?;
        self.stat(id, "disabledUntil").filter(|at| *at > now)?;
        Some(stats.get("disabledReason").and_then(Value::as_str).unwrap_or_default())
    }

    /// Who a profile is for.
    pub fn provider(&self, id: &str) -> Option<String> {
        Some(normalize_provider(self.map("profiles")?.get(id)?.get("provider")?.as_str()?))
    }

    /// The profiles of a provider, those to be tried first in front: as configured, else as the file says,
    /// else those that sign in before those with keys, and the one that rested longest first. Whoever
    /// rests comes last.
    pub fn order(&self, provider: &str, config: &Config, now: f64) -> Vec<String> {
        let provider = normalize_provider(provider);
        let stored = || {
            let list = by_provider(self.map("order")?, &provider)?.as_array()?;
            Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
        };
        let configured = || {
            let mut orders = config.auth.order.iter().flatten();
            orders.find(|(name, _)| normalize_provider(name) == provider).map(|(_, order)| order.clone())
        };
        let is_said = |list: &Vec<String>| !list.is_empty();
        let explicit = stored().filter(is_said).or_else(|| configured().filter(is_said));
        let is_usable = |id: &String| {
            self.provider(id).as_ref() == Some(&provider)
                && self.credential(id).is_some_and(|credential| !credential.is_expired(now))
        };
        let mut order: Vec<String> = match explicit {
            Some(order) => order.into_iter().filter(is_usable).collect(),
            None => {
                let mut all: Vec<String> =
                    self.map("profiles").into_iter().flatten().map(|(id, _)| id.clone()).collect();
                all.retain(is_usable);
                all.sort_by(|one, other| {
                    let rank =
                        |id: &String| self.credential(id).map_or(u8::MAX, |credential| credential.rank());
                    let used = |id: &String| self.stat(id, "lastUsed").unwrap_or(0.0);
                    rank(one).cmp(&rank(other)).then(used(one).total_cmp(&used(other)))
                });
                all
            }
        };
        order.sort_by(|one, other| {
            let rest = |id: &String| self.rests_until(id, now).unwrap_or(0.0);
            rest(one).total_cmp(&rest(other))
        });
        order
    }

    /// The profiles of a provider that cannot be used any more, and when that began.
    pub fn expired(&self, provider: &str, now: f64) -> Vec<(&str, f64)> {
        let provider = normalize_provider(provider);
        let own = self.ids().filter(|id| self.provider(id).as_ref() == Some(&provider));
        let ended = |id| Some((id, self.credential(id)?.expires().filter(|at| *at <= now)?));
        own.filter_map(ended).collect()
    }

    /// The profile of a provider that worked last.
    pub fn last_good(&self, provider: &str) -> Option<&str> {
        by_provider(self.map("lastGood")?, &normalize_provider(provider))?.as_str()
    }

    /// Until when a profile is not to be used; `None` if it may be used.
    pub fn rests_until(&self, id: &str, now: f64) -> Option<f64> {
        let until = ["cooldownUntil", "disabledUntil"].into_iter().filter_map(|field| self.stat(id, field));
        until.filter(|at| *at > now).max_by(f64::total_cmp)
    }

    /// A call with this profile was answered.
    pub fn succeeded(&mut self, id: &str, now: f64) {
        let Some(provider) = self.provider(id) else { return };
        let stats = Object::from_iter([
            ("lastUsed".to_owned(), json::number(now)),
            ("errorCount".to_owned(), json::number(0.0)),
        ]);
        self.map_mut("lastGood").insert(provider, id.into());
        self.map_mut("usageStats").insert(id.to_owned(), Value::Object(stats));
    }

    /// A call with this profile failed: it rests for a while, longer each time.
    pub fn failed(&mut self, id: &str, why: FailureKind, now: f64, cooldowns: &Cooldowns) {
        let mut stats =
            self.map("usageStats").and_then(|all| all.get(id)?.as_object()).cloned().unwrap_or_default();
        let number = |stats: &Object, field: &str| stats.get(field).and_then(Value::as_f64);
        let is_old = number(&stats, "lastFailureAt").is_some_and(|at| now - at > cooldowns.window_ms);
        let earlier = |count: Option<f64>| if is_old { 0.0 } else { count.unwrap_or(0.0) };
        let errors = earlier(number(&stats, "errorCount")) + 1.0;
        let mut counts = match stats.get("failureCounts") {
            Some(Value::Object(counts)) if !is_old => counts.clone(),
            _ => Object::new(),
        };
        let of_kind = number(&counts, why.as_str()).unwrap_or(0.0) + 1.0;
        counts.insert(why.as_str().to_owned(), json::number(of_kind));
        stats.insert("errorCount".to_owned(), json::number(errors));
        stats.insert("failureCounts".to_owned(), Value::Object(counts));
        stats.insert("lastFailureAt".to_owned(), json::number(now));
        if why == FailureKind::Billing {
            let rest =
                (cooldowns.billing_ms * 2_f64.powf((of_kind - 1.0).min(10.0))).min(cooldowns.billing_max_ms);
            stats.insert("disabledUntil".to_owned(), json::number(now + rest));
            stats.insert("disabledReason".to_owned(), "billing".into());
        } else {
            let rest = (MINUTE * 5_f64.powf((errors - 1.0).min(3.0))).min(HOUR);
            stats.insert("cooldownUntil".to_owned(), json::number(now + rest));
        }
        self.map_mut("usageStats").insert(id.to_owned(), Value::Object(stats));
    }

    fn stat(&self, id: &str, field: &str) -> Option<f64> {
        self.map("usageStats")?.get(id)?.get(field)?.as_f64()
    }

    fn map(&self, name: &str) -> Option<&Object> {
        self.0.get(name)?.as_object()
    }

    fn map_mut(&mut self, name: &str) -> &mut Object {
        let map = self.0.entry(name.to_owned()).or_insert_with(|| Value::Object(Object::new()));
        if !map.is_object() {
            *map = Value::Object(Object::new());
        }
        match map {
            Value::Object(map) => map,
            _ => unreachable!("it was made one"),
        }
    }
}

/// What a map says about a provider, whichever of its names is used.
fn by_provider<'m>(map: &'m Object, provider: &str) -> Option<&'m Value> {
    map.iter().find(|(name, _)| normalize_provider(name) == provider).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: f64 = 1_794_774_728_582.0;

    fn profiles(stats: &str) -> AuthProfiles {
        AuthProfiles::parse(&format!(
            r#"{{"version":1,"profiles":{{
                "stub:bad":{{"type":"api_key","provider":"stub","key":"sk-bad"}},
                "stub:default":{{"type":"api_key","provider":"stub","key":"sk-good"}},
                "stub:me":{{"type":"oauth","provider":"Stub","access":"a","refresh":"r","expires":1794774800000}},
                "stub:old":{{"type":"token","provider":"stub","token":"t","expires":5}},
                "other:x":{{"type":"api_key","provider":"other","key":"k"}},
                "stub:odd":{{"type":"?","provider":"stub"}}}},
              "usageStats":{stats},"mine":{{"kept":true}}}}"#
        ))
        .unwrap()
    }

    #[test]
    fn those_who_sign_in_come_first_and_those_who_rest_last() {
        let config = |order: &str| Config::new(json::parse(order).unwrap());
        let used = r#"{"stub:bad":{"lastUsed":9},"stub:default":{"lastUsed":5}}"#;
        let resting = r#"{"stub:me":{"cooldownUntil":1794774728999},"stub:bad":{"lastUsed":9}}"#;
        let table = [
            ("{}", used, vec!["stub:me", "stub:default", "stub:bad"]),
            ("{}", resting, vec!["stub:default", "stub:bad", "stub:me"]),
            (
                r#"{"auth":{"order":{"STUB":["stub:bad","gone","stub:me"]}}}"#,
                used,
                vec!["stub:bad", "stub:me"],
            ),
        ];
        for (order, stats, expected) in table {
            assert_eq!(profiles(stats).order("stub", &config(order), NOW), expected, "{order} {stats}");
        }
    }

    #[test]
    fn failures_rest_longer_each_time_and_a_success_forgets_them() {
        let cooldowns = Cooldowns::from_config(&Config::default(), "stub");
        let mut profiles = profiles("{}");
        for minutes in [1.0, 5.0, 25.0, 60.0, 60.0] {
            profiles.failed("stub:bad", FailureKind::RateLimit, NOW, &cooldowns);
            assert_eq!(profiles.rests_until("stub:bad", NOW), Some(NOW + minutes * MINUTE));
        }
        profiles.failed("stub:bad", FailureKind::Auth, NOW + 25.0 * HOUR, &cooldowns);
        assert_eq!(profiles.rests_until("stub:bad", NOW + 25.0 * HOUR), Some(NOW + 25.0 * HOUR + MINUTE));
        for hours in [5.0, 10.0, 20.0, 24.0] {
            profiles.failed("stub:default", FailureKind::Billing, NOW, &cooldowns);
            assert_eq!(profiles.rests_until("stub:default", NOW), Some(NOW + hours * HOUR));
        }
        profiles.succeeded("stub:default", NOW);
        assert_eq!(profiles.rests_until("stub:default", NOW), None);
        let text = profiles.text();
        assert!(text.contains("\"lastGood\": {\n    \"stub\": \"stub:default\"\n  }"), "{text}");
        assert!(text.contains("\"kept\": true"), "{text}");
    }

    #[test]
    fn what_has_expired_is_told_apart_from_what_is_not_there() {
        let profiles = profiles("{}");
        assert_eq!(profiles.expired("STUB", NOW), [("stub:old", 5.0)]);
        assert_eq!(profiles.expired("stub", NOW + HOUR).len(), 2, "the sign-in, too");
        assert_eq!(profiles.expired("other", NOW), []);
    }

    #[test]
    fn an_agent_has_the_main_agents_profiles_too() {
        let own = AuthProfiles::parse(
            r#"{"profiles":{"stub:bad":{"type":"api_key","provider":"stub","key":"mine"}}}"#,
        )
        .unwrap();
        let merged = own.over(&profiles("{}"));
        assert_eq!(merged.credential("stub:bad").map(|credential| credential.secret()), Some("mine"));
        assert_eq!(merged.credential("other:x"), Some(Credential::ApiKey { key: "k" }));
        assert_eq!(format!("{:?}", merged.credential("other:x")), "Some(api_key)");
    }
}

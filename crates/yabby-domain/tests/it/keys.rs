//! Whatever stands in a key, an address or a name: no rule panics, and what they build can be read.

use proptest::prelude::*;
use yabby_domain::channel;
use yabby_domain::config::Config;
use yabby_domain::id::{AccountId, AgentId, MainKey};
use yabby_domain::inbound::InboundMessage;
use yabby_domain::route::{Peer, Routes, Source};
use yabby_domain::session::freshness::{ResetSettings, ResetType, daily_boundary, freshness};
use yabby_domain::session::group;
use yabby_domain::session::key::{
    DmScope, IdentityLinks, KeyPolicy, PeerAddress, PeerKind, Scope, SessionKey, parse_agent_key,
};
use yabby_domain::session::label::parse_label;
use yabby_domain::session::title::{TitleSource, derive_title, truncate};

use crate::texts::{any_json, any_text};

proptest! {
    #[test]
    fn any_key_can_be_asked_anything(text in any_text()) {
        let key = SessionKey::new(text.as_str());
        let _ = (key.agent_id(), key.is_subagent(), key.is_acp(), key.thread_parent(), key.is_thread());
        let _ = (key.is_group(), key.group(), key.kind(None), key.for_request());
        prop_assert_eq!(key.as_str(), text);
    }

    #[test]
    fn ids_are_short_clean_and_stable(text in any_text()) {
        let id = AgentId::normalize(&text);
        prop_assert!(!id.as_str().is_empty() && id.as_str().len() <= 64);
        prop_assert!(id.as_str().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-'));
        prop_assert!(!AccountId::normalize(&text).as_str().is_empty());
        prop_assert!(!MainKey::normalize(&text).as_str().is_empty());
    }

    #[test]
    fn a_peers_key_belongs_to_its_agent(agent in any_text(), channel in any_text(), peer in any_text(), scope in 0..4_usize) {
        let agent = AgentId::normalize(&agent);
        let address = PeerAddress {
            agent: &agent,
            main_key: &MainKey::default(),
            channel: &channel,
            account: &channel,
            kind: PeerKind::Dm,
            peer: &peer,
            dm_scope: [DmScope::Main, DmScope::PerPeer, DmScope::PerChannelPeer, DmScope::PerAccountChannelPeer][scope],
            links: &IdentityLinks::default(),
        };
        let key = SessionKey::peer(&address);
        prop_assert_eq!(parse_agent_key(key.as_str()).map(|parsed| parsed.agent), Some(agent.as_str()));
    }

    /// Two people on one channel never share a session, unless the scope says so.
    #[test]
    fn people_stay_apart(one in "[a-z0-9]{1,12}", other in "[a-z0-9]{1,12}") {
        prop_assume!(one != other);
        let (agent, main_key, links) = (AgentId::default(), MainKey::default(), IdentityLinks::default());
        for dm_scope in [DmScope::PerPeer, DmScope::PerChannelPeer, DmScope::PerAccountChannelPeer] {
            let key = |peer: &str| SessionKey::peer(&PeerAddress {
                agent: &agent, main_key: &main_key, channel: "telegram", account: "default",
                kind: PeerKind::Dm, peer, dm_scope, links: &links,
            });
            prop_assert_ne!(key(&one), key(&other));
        }
    }

    #[test]
    fn any_configuration_routes_any_message(config in any_json(), channel in any_text(), id in any_text()) {
        let config = Config::new(config);
        let policy = KeyPolicy::from_config(&config);
        let _ = (policy.store_key(&id), policy.main_session(), policy.session_agent(&id));
        let peer = Some(Peer { kind: PeerKind::parse(&channel), id: id.clone() });
        let source = Source { channel: &channel, account: &id, peer: peer.clone(), parent_peer: peer, guild: &id, team: &id };
        let route = Routes::from_config(&config).resolve(&source);
        prop_assert!(route.session_key.as_str().starts_with("agent:"));
    }

    #[test]
    fn any_address_may_be_a_group(from in any_text(), chat_type in any_text(), provider in any_text()) {
        let message = InboundMessage {
            from: Some(from.clone()),
            chat_type: Some(chat_type),
            provider: Some(provider),
            ..InboundMessage::default()
        };
        let _ = group::resolve_group(&message);
        let key = group::message_key(Scope::PerSender, &message, &MainKey::default());
        prop_assert!(key.as_str().starts_with("agent:"));
        let _ = (channel::e164(&from), channel::whatsapp_target(&from), channel::normalize_channel(&from));
    }

    #[test]
    fn any_moment_has_a_verdict(now in any::<f64>(), updated in proptest::option::of(any::<f64>()), section in any_json()) {
        let settings = ResetSettings::from_config(&Config::new(serde_json::json!({ "session": section })));
        let zone = jiff::tz::TimeZone::get("Australia/Lord_Howe").unwrap();
        for kind in [ResetType::Dm, ResetType::Group, ResetType::Thread] {
            let _ = freshness(updated, now, &settings.policy(kind, None), &zone);
        }
    }

    /// The boundary is never ahead, and never more than two days back (a day and a clock change).
    #[test]
    fn a_day_boundary_is_within_reach(now in 0_i64..4_000_000_000_000, hour in 0_i8..24) {
        let now = now as f64;
        for zone in ["UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"] {
            let zone = jiff::tz::TimeZone::get(zone).unwrap();
            let boundary = daily_boundary(now, hour, &zone).unwrap();
            prop_assert!(boundary <= now && now - boundary < 49.0 * 3_600_000.0, "{boundary} {now}");
        }
    }

    #[test]
    fn titles_and_labels_fit(text in any_text(), max in 0_usize..80) {
        prop_assert!(yabby_domain::text::units(&truncate(&text, max)) <= max.max(1));
        let _ = parse_label(Some(&text));
        let _ = derive_title(&TitleSource { first_user_message: Some(&text), ..TitleSource::default() });
    }
}

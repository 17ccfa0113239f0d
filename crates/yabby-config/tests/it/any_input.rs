//! No configuration, however odd, makes a rule panic; and what a rule leaves behind it takes again.

use proptest::prelude::*;
use serde_json::{Map, Value};
use yabby_config::config::Config;
use yabby_config::validate::{World, unknown_keys, validate};
use yabby_config::{defaults, legacy};

/// Words that the rules look for, so that the odd values get somewhere.
const WORDS: [&str; 40] = [
    "agents",
    "defaults",
    "list",
    "id",
    "identity",
    "avatar",
    "model",
    "models",
    "heartbeat",
    "every",
    "channels",
    "telegram",
    "slack",
    "accounts",
    "groups",
    "*",
    "customCommands",
    "allowFrom",
    "dmPolicy",
    "open",
    "routing",
    "agent",
    "allowedModels",
    "modelAliases",
    "groupChat",
    "requireMention",
    "tools",
    "allow",
    "alsoAllow",
    "plugins",
    "entries",
    "gateway",
    "token",
    "auth",
    "profiles",
    "anthropic",
    "mode",
    "browser",
    "7",
    "é",
];

fn any_value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(WORDS.as_slice()).prop_map(str::to_owned);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        let members = prop::collection::vec((word.clone(), inner.clone()), 0..6);
        prop_oneof![
            1 => prop::collection::vec(inner, 0..4).prop_map(Value::from),
            4 => members.prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

fn world() -> World<'static> {
    World {
        home: "/home/user",
        state: "/home/user/.openclaw",
        working_folder: "/",
        env: &|_| None,
        exists: &|_| false,
        plugins: &[],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_configuration_can_be_checked_migrated_and_filled(mut config in any_value()) {
        validate(&config, &world());
        unknown_keys(&config);
        legacy::migrate(&mut config);
        defaults::fill_for_run(&mut config, &|_| Some("set".to_owned()));
    }

    #[test]
    fn what_was_found_valid_is_valid_again(config in any_value()) {
        let first = validate(&config, &world());
        if first.is_valid() {
            let read = Config::new(first.config.clone());
            prop_assert_eq!(read.problems(), []);
            let mut filled = first.config.clone();
            defaults::fill(&mut filled);
            let again = validate(&filled, &world());
            prop_assert_eq!(again.issues, []);
            prop_assert_eq!(again.config.to_string().len(), filled.to_string().len());
        }
    }
}

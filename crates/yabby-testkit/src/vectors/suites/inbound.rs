//! `inbound.json`.

use yabby_domain::config::Config;
use yabby_domain::inbound::{debounce_ms, media};
use yabby_domain::json::Value;

use super::{context, rows};
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "inbound.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    Some(match case.rule.as_str() {
        "buildInboundDedupeKey" => context::inbound(case.arg("ctx")).dedupe_key().into(),
        "buildInboundMediaNote" => media::media_note(&context::inbound(case.arg("ctx")).media).into(),
        "resolveInboundDebounceMs" => {
            let config = Config::new(case.arg("cfg").clone());
            let wish = case.arg("overrideMs").as_f64();
            debounce_ms(&config, case.text("channel").unwrap_or_default(), wish).into()
        }
        _ => return None,
    })
}

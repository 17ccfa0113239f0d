//! How many tokens compaction keeps free (`transcripts.md` §6).

use crate::config::Config;

const DEFAULT_FLOOR: u64 = 20_000;

/// The reserve in force, and whether the floor had to raise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve {
    pub tokens: u64,
    pub raised: bool,
}

/// The least reserve that `agents.defaults.compaction` asks for.
pub fn floor_from_config(config: &Config) -> u64 {
    let set = config.agents.defaults.compaction.reserve_tokens_floor.map(f64::from);
    set.filter(|tokens| *tokens >= 0.0).map_or(DEFAULT_FLOOR, |tokens| tokens.floor() as u64)
}

/// `current`, raised to `floor`.
pub fn reserve(current: u64, floor: u64) -> Reserve {
    Reserve { tokens: current.max(floor), raised: current < floor }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_floor_is_a_number_of_at_least_zero() {
        //  configured       floor    reserve
        let table = [
            (json!(null), 20_000, Reserve { tokens: 20_000, raised: true }),
            (json!(0), 0, Reserve { tokens: 16_384, raised: false }),
            (json!(30_000.7), 30_000, Reserve { tokens: 30_000, raised: true }),
            (json!(-5), 20_000, Reserve { tokens: 20_000, raised: true }),
            (json!("1"), 20_000, Reserve { tokens: 20_000, raised: true }),
        ];
        for (value, floor, expected) in table {
            let config = json!({"agents": {"defaults": {"compaction": {"reserveTokensFloor": value}}}});
            assert_eq!(floor_from_config(&Config::new(config)), floor, "{value}");
            assert_eq!(reserve(16_384, floor), expected, "{value}");
        }
    }
}

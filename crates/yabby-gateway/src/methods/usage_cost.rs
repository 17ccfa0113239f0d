//! `usage.cost`: what models used and cost, day by day (`gateway.md` §7).

use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::json::{self, Value};
use yabby_domain::ledger::{CallRecord, Filter, Grouping, Totals, rows};
use yabby_domain::text;
use yabby_store::files::ledger;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::on_disk;
use crate::schema::Schema;

pub(super) const METHOD: Method = Method {
    name: "usage.cost",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Any,
    about: "What models used and cost, day by day.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let days = days(call.params.get("days"));
    let (folder, now) = (call.gateway.place.folder.usage(), call.gateway.now());
    on_disk(move || {
        let zone = TimeZone::system();
        let filter = Filter { since: Some(Filter::first_of(days, now, &zone)), ..Filter::default() };
        let months = ledger::find(&folder, &filter, &zone)?;
        let calls: Vec<CallRecord> = months.into_iter().flat_map(|month| month.calls).collect();
        let daily = rows(&calls, Grouping::Day, &zone).into_iter().map(|row| {
            let mut told = json!({"date": row.name});
            if let (Some(told), Value::Object(totals)) = (told.as_object_mut(), told_totals(&row.totals)) {
                told.extend(totals);
            }
            told
        });
        Ok(json!({
            "updatedAt": now,
            "days": days,
            "daily": daily.collect::<Vec<_>>(),
            "totals": told_totals(&Totals::of(&calls)),
        }))
    })
    .await?
}

/// Whatever looks like a number of days, else thirty.
fn days(said: Option<&Value>) -> u32 {
    let number = match said {
        Some(Value::String(said)) => text::non_blank(said).and_then(json::number_in),
        said => said.and_then(Value::as_f64),
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least one, and saturates"
    )]
    number.map_or(30, |days| days.floor().max(1.0) as u32)
}

fn told_totals(totals: &Totals) -> Value {
    json!({
        "input": totals.input,
        "output": totals.output,
        "cacheRead": totals.cache_read,
        "cacheWrite": totals.cache_write,
        "totalTokens": totals.tokens(),
        "totalCost": json::number(totals.cost),
        "missingCostEntries": totals.unpriced,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_at_least_one() {
        let table = [
            (json!(null), 30),
            (json!(2), 2),
            (json!(2.9), 2),
            (json!("7"), 7),
            (json!(""), 30),
            (json!(-3), 1),
            (json!("x"), 30),
        ];
        for (said, expected) in table {
            assert_eq!(days(Some(&said)), expected, "{said}");
        }
    }
}

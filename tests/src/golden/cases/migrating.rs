//! A tenant that migrates from a legacy model, and customer A in both models in each phase. The moves are written out
//! here, without the core's code.

use super::world::*;
use serde_json::{Value as Json, json};

/// A phase: its number, and the concern and stage of the move that led to it.
pub(super) type Moved = (&'static str, &'static str, &'static str);

pub(super) const GOD_RECORD: &str = "god_record";
pub(super) const HALF_WAY: &str = "half_way";

/// The concerns that move, money last.
const CONCERNS: [&str; 7] = ["profile", "history", "metrics", "points", "jcredit", "regional", "money"];

/// The tenant's `CONFIG` after `phase` moves of a model, with as many changes of the phase.
pub(super) fn migrating(model: &str, phase: usize) -> Json {
    fenced(model, phase, phase)
}

/// The same with another number of changes.
pub(super) fn fenced(model: &str, phase: usize, fence: usize) -> Json {
    let setting = json!({
        "model": s(model), "phase": n(&phase.to_string()), "fence": n(&fence.to_string()), "since": s(EARLIER),
    });
    with(config(), "migration", json!({ "M": setting }))
}

/// The same with an attribute of the setting, such as that God Records are being emptied or have been.
pub(super) fn setting(mut config: Json, attribute: &str, value: Json) -> Json {
    config["migration"]["M"][attribute] = value;
    config
}

/// The stage of each concern after `phase` moves.
pub(super) struct Stages<'a> {
    model: &'a str,
    phase: usize,
}

impl<'a> Stages<'a> {
    pub(super) fn of(model: &'a str, phase: usize) -> Self {
        Self { model, phase }
    }

    /// Each concern makes three moves, one concern after the other; the last moves follow when all have made theirs.
    pub(super) fn stage(&self, concern: &str) -> &'static str {
        let moving: Vec<&str> =
            CONCERNS.into_iter().filter(|concern| self.model == GOD_RECORD || *concern != "metrics").collect();
        let Some(at) = moving.iter().position(|moves| *moves == concern) else { return "new_only" };
        if self.phase > moving.len() * 3 + at {
            return "new_only";
        }
        ["legacy_only", "dual_write", "backfilled", "read_new"][self.phase.saturating_sub(at * 3).min(3)]
    }

    fn truth(&self, concern: &str) -> &'static str {
        match self.stage(concern) {
            "legacy_only" => "legacy",
            "new_only" => "split",
            _ => "both",
        }
    }
}

/// Customer A in a phase: every existing item, the God Record first. Values of a concern that has left the God Record
/// stay there, out of date.
pub(super) fn customer(model: &str, phase: usize) -> Vec<Json> {
    let stages = Stages::of(model, phase);
    let mut record = item("customer", A, "customer", json!({ "nickname": s("hana"), "regional": { "M": {} } }));
    record["fence_phase"] = n(&phase.saturating_sub(1).to_string());
    let mut metrics = item("customer", A, "METRICS", json!({}));
    let mut split = Vec::new();
    for concern in CONCERNS {
        record[format!("truth_{concern}")] = s(stages.truth(concern));
    }
    for (name, value) in profile_in_legacy() {
        record[name] = value;
    }
    if stages.truth("profile") == "split" {
        record["name"] = s("Hanae");
    }
    if stages.truth("profile") != "legacy" {
        split.push(full_profile());
    }
    for (asset, concern, word, amount) in BALANCES {
        let is_split = stages.truth(concern) == "split";
        let amount_then = if is_split { "1" } else { amount };
        let into = if model == HALF_WAY && matches!(word, "point" | "jcredit") { &mut metrics } else { &mut record };
        match word.strip_prefix("regional_") {
            Some(key) => into["regional"]["M"][key] = n(amount_then),
            None => into[word] = n(amount_then),
        }
        into[format!("{word}_held")] = n("0");
        into[format!("{word}_exposure")] = n(amount_then);
        if stages.truth(concern) != "legacy" {
            split.push(wallet(A, asset, amount));
        }
    }
    let totals = [
        ("co2_total", "co2_total", "3.5"),
        ("payments", "metrics_payments", "2"),
        ("paid_total", "metrics_paid_total", "350"),
    ];
    for (name, in_legacy, total) in totals {
        if model == GOD_RECORD {
            record[in_legacy] = n(if stages.truth("metrics") == "split" { "1" } else { total });
        }
        if stages.truth("metrics") != "legacy" {
            metrics[name] = n(total);
        }
    }
    let mut all = vec![record];
    all.extend((metrics.as_object().unwrap().len() > 2).then_some(metrics));
    all.extend(split);
    all
}

/// Asset, concern, name in the legacy model, balance.
const BALANCES: [(&str, &str, &str, &str); 5] = [
    ("ECOPAY", "money", "balance", "5000"),
    ("JCREDIT", "jcredit", "jcredit", "1.25"),
    ("POINT", "points", "point", "500"),
    ("REGIONAL#aoba", "regional", "regional_aoba", "1000"),
    ("REGIONAL#yama", "regional", "regional_yama", "12.34"),
];

pub(super) fn full_profile() -> Json {
    let profile = with(profile(A, "5"), "email", s("old@example.jp"));
    with(profile, "phone", s("090-1234-5678"))
}

fn profile_in_legacy() -> [(&'static str, Json); 8] {
    [
        ("name", s("Hanako")),
        ("email", s("old@example.jp")),
        ("phone_number", s("090-1234-5678")),
        ("profile_accounts", n("5")),
        ("profile_status", s("active")),
        ("profile_customer_id", s(A)),
        ("created_at", s(EARLIER)),
        ("updated_at", s(EARLIER)),
    ]
}

/// The same with one attribute of the God Record, the first item, set to `value`.
pub(super) fn record_with(mut customer: Vec<Json>, attribute: &str, value: Json) -> Vec<Json> {
    customer[0][attribute] = value;
    customer
}

/// The same with a change of the item of this name.
pub(super) fn item_with(customer: Vec<Json>, name: &str, change: impl Fn(Json) -> Json) -> Vec<Json> {
    customer.into_iter().map(|item| if item["type"] == s(name) { change(item) } else { item }).collect()
}

/// The same without the item of this name.
pub(super) fn item_without(customer: Vec<Json>, name: &str) -> Vec<Json> {
    customer.into_iter().filter(|item| item["type"] != s(name)).collect()
}

/// The God Record, the first item, of a customer whom the ledger has not adopted.
pub(super) fn unknown(mut customer: Vec<Json>) -> Vec<Json> {
    let is_migration_stamp = |name: &str| name == "fence_phase" || name.starts_with("truth_");
    customer[0].as_object_mut().unwrap().retain(|name, _| !is_migration_stamp(name));
    customer
}

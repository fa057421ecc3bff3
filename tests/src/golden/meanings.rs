//! The outcome when one clause of a guard fails alone, written by hand: role, clause, how the item differs from one on
//! which the guard holds, and the outcome.

use super::meanings_settlement::settled;
use super::vector::{ReasonJson, Row};
use super::{
    meanings_approvals, meanings_bank_files, meanings_card_life, meanings_card_pin, meanings_cash, meanings_closing,
    meanings_limits, meanings_migration, meanings_shops, meanings_staff, meanings_terms,
};
use crate::names;
use ledger_core::transaction::{Role, TransactItem};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// The difference of an item from one on which the guard holds.
pub(super) enum Old {
    /// The item does not exist.
    Absent,
    /// The item exists with only its key.
    KeyOnly,
    /// The item is what this request would write.
    Written,
    /// The item is what this request would write, but for one attribute.
    WrittenBut(&'static str, Json),
    /// One attribute is missing.
    Without(&'static str),
    /// One attribute has another value.
    With(&'static str, Json),
    /// One attribute has another value; the item is created if it does not exist.
    Having(&'static str, Json),
    /// One attribute has the value of the guard's operand.
    WithOperand(&'static str, &'static str),
    /// As `With`, `Without` and `WithOperand`, for an attribute that may be in a map: `map.name`.
    At(String, Json),
    NotAt(String),
    AtOperand(String, String),
}

pub(super) const NEW: &str = "attribute_not_exists(#uuid)";
pub(super) const FREE: &str = "(attribute_not_exists(#uuid) OR #ttl < :expired_before)";
pub(super) const EXISTS: &str = "attribute_exists(#uuid)";
const NO_DEBT: &str = "(attribute_not_exists(#owed) OR #owed = :no_debt)";
const NOT_FROZEN: &str = "attribute_not_exists(#frozen)";
const NOT_FROZEN_BY_OWNER: &str = "attribute_not_exists(#frozen_by_owner)";

/// The rows of one clause. `does` is the command's name: a short balance is a refusal in a payment, and a stale plan in
/// a refund.
fn meanings(does: &str, sk: &str, role: Role, clause: &str) -> Vec<(Old, &'static str)> {
    let s = |text: &str| json!({ "S": text });
    let n = |number: &str| json!({ "N": number });
    // A command that another person approves takes points only as a refund.
    let stale_points =
        matches!(does, "refund" | "terminal_charge_reverse" | "topup_refund" | "topup_event" | "approval");
    let elsewhere = meanings_bank_files::of_bank_files(role, clause);
    let elsewhere = elsewhere.or_else(|| meanings_shops::of_shops(does, role, clause));
    let elsewhere = elsewhere.or_else(|| meanings_terms::of_terms(does, role, clause));
    let elsewhere = elsewhere.or_else(|| meanings_card_pin::meanings(role, clause));
    let elsewhere = elsewhere.or_else(|| meanings_closing::meanings(does, sk, role, clause));
    let elsewhere = elsewhere.or_else(|| meanings_card_life::meanings(does, role, clause));
    let elsewhere = elsewhere.or_else(|| meanings_cash::meanings(does, sk, role, clause));
    let elsewhere = elsewhere.or_else(|| meanings_migration::meanings(does, sk, role, clause));
    let elsewhere = elsewhere.or_else(|| settled(does, role, clause));
    if let Some(rows) = elsewhere
        .or_else(|| outside(does, role, clause))
        .or_else(|| held(role, clause))
        .or_else(|| meanings_limits::limited(role, clause))
        .or_else(|| meanings_staff::of_staff(role, clause))
        .or_else(|| meanings_approvals::of_approvals(does, role, clause))
    {
        return rows;
    }
    match (names::role(role), clause) {
        ("marker", FREE) => vec![(Old::Written, "replay"), (Old::WrittenBut("fp", s(&"0".repeat(64))), "reused")],
        ("original_marker", FREE | NEW) => vec![(Old::KeyOnly, "rejected stale_plan")],
        ("original_marker", "#state = :completed") => {
            vec![(Old::Absent, "rejected stale_plan"), (Old::With("state", s("REVERSED")), "rejected stale_plan")]
        }
        (_, NEW) => vec![(Old::KeyOnly, "rejected already_exists")],
        (_, NO_DEBT) => vec![(Old::Having("owed", n("987")), "rejected stale_plan")],
        ("payer" | "payee" | "points", "#owed = :seen_owed") => {
            vec![(Old::Without("owed"), "rejected stale_plan"), (Old::With("owed", n("987654")), "rejected stale_plan")]
        }
        ("points", "#held = :seen_held") => vec![(Old::With("held", n("987654")), "rejected stale_plan")],
        (_, EXISTS) => vec![(Old::Absent, "rejected account_missing")],
        // An owner may not lift the operator's freeze.
        ("card", NOT_FROZEN) if does == "card_own_status" => {
            vec![(Old::With("frozen", s("staff:someone")), "rejected wrong_state")]
        }
        (_, NOT_FROZEN_BY_OWNER) => {
            vec![(Old::With("frozen_by_owner", s("2026-11-20T00:00:00.000Z")), "rejected account_frozen")]
        }
        (_, NOT_FROZEN) => vec![(Old::With("frozen", s("staff:someone")), "rejected account_frozen")],
        ("payer" | "card", "#balance >= :amount") => vec![(Old::With("balance", n("0")), "rejected insufficient")],
        ("points", "#balance >= :amount") if stale_points => {
            vec![(Old::With("balance", n("0")), "rejected stale_plan")]
        }
        ("points", "#balance >= :amount") => vec![(Old::With("balance", n("0")), "rejected insufficient")],
        ("points", "#balance = :seen") => vec![(Old::With("balance", n("987654")), "rejected stale_plan")],
        ("payee", "#exposure <= :max_allowed") => {
            vec![(Old::With("exposure", n("987654321")), "rejected cap_exceeded")]
        }
        ("card" | "payee", "#balance <= :max_allowed") => {
            vec![(Old::With("balance", n("987654321")), "rejected cap_exceeded")]
        }
        ("payer" | "payee" | "card", "#state = :active") => {
            vec![(Old::With("state", s("replaced")), "rejected wrong_state")]
        }
        ("card", "#owner = :owner") => {
            vec![
                (Old::Absent, "rejected account_missing"),
                (Old::With("owner", s("another")), "rejected account_missing"),
            ]
        }
        ("code", "#token_hash = :token_hash") => {
            vec![
                (Old::Absent, "rejected account_missing"),
                (Old::With("token_hash", s("x")), "rejected account_missing"),
            ]
        }
        ("code", "#state = :active") => vec![(Old::With("state", s("used")), "rejected wrong_state")],
        ("code", "#expires_at > :now") => vec![(Old::WithOperand("expires_at", ":now"), "rejected wrong_state")],
        ("payment", "#state = :seen_state") => vec![(Old::With("state", s("else")), "rejected stale_plan")],
        ("payment", "#refundable_ecopay = :seen_ecopay") => {
            vec![(Old::With("refundable_ecopay", n("987654")), "rejected stale_plan")]
        }
        ("payment", "#refundable_point = :seen_point") => {
            vec![(Old::With("refundable_point", n("987654")), "rejected stale_plan")]
        }
        ("payment", "#refundable_regional_aoba = :seen_regional_aoba") => {
            vec![(Old::With("refundable_regional_aoba", n("987654")), "rejected stale_plan")]
        }
        ("payment", "#refundable_regional_yama = :seen_regional_yama") => {
            vec![(Old::With("refundable_regional_yama", n("987654")), "rejected stale_plan")]
        }
        ("payment", "#points_taken_back = :seen_taken_back") => {
            vec![(Old::With("points_taken_back", n("987654")), "rejected stale_plan")]
        }
        ("profile", "#accounts = :accounts") => vec![(Old::With("accounts", n("9")), "rejected stale_plan")],
        ("profile", "#epoch = :seen") => {
            vec![(Old::Absent, "rejected stale_plan"), (Old::With("epoch", n("9")), "rejected stale_plan")]
        }
        ("registered_tenant", "#epoch = :seen") => vec![(Old::With("epoch", n("2")), "rejected stale_plan")],
        ("registered_tenant", "#state = :from") => vec![(Old::With("state", s("open")), "rejected wrong_state")],
        ("config", "#key_phase = :from") => vec![(Old::With("key_phase", s("else")), "rejected stale_plan")],
        ("config", "#due_shards < :shards") => {
            vec![(Old::WithOperand("due_shards", ":shards"), "rejected wrong_state")]
        }
        ("config", "(attribute_not_exists(#migration) OR attribute_exists(#migration.#contracted_at))") => {
            vec![(Old::With("migration", json!({ "M": {} })), "rejected stale_plan")]
        }
        ("profile", "#shards <= :shards") => vec![(Old::With("shards", n("64")), "rejected wrong_state")],
        ("rate", "(attribute_not_exists(#leased) OR #leased <= :most)") => {
            vec![(Old::Having("leased", n("987654321")), "rejected limit_exceeded")]
        }
        (role, clause) => panic!("add the meaning of `{clause}` of a {role} to meanings.rs"),
    }
}

/// The rows of one clause about a hold.
fn held(role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let at = |time: &str| json!({ "S": time });
    Some(match (names::role(role), clause) {
        ("hold", "#state = :seen_state") => {
            vec![(Old::Absent, "rejected stale_plan"), (Old::With("state", at("else")), "rejected stale_plan")]
        }
        ("payment", "#expires_at > :now") => vec![(Old::WithOperand("expires_at", ":now"), "rejected wrong_state")],
        ("payment", "#expires_at <= :now") => {
            vec![(Old::With("expires_at", at("2026-11-21T03:00:00.001Z")), "rejected stale_plan")]
        }
        _ => return None,
    })
}

/// The rows of one clause about a top-up, a refund of one, or an operation in flight.
fn outside(does: &str, role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let s = |text: &str| json!({ "S": text });
    let n = |number: &str| json!({ "N": number });
    let stale = "rejected stale_plan";
    Some(match (names::role(role), clause) {
        ("marker", FREE) if matches!(does, "topup_event" | "reported") => vec![(Old::Written, "marker_stands")],
        ("marker", FREE) if matches!(does, "topup_claim" | "topup_refund" | "claimed") => {
            vec![(Old::Written, "in_flight"), (Old::WrittenBut("fp", s(&"0".repeat(64))), "reused")]
        }
        ("marker", "#fence = :fence") => vec![(Old::With("fence", n("9")), "marker_stands")],
        ("marker", "#state = :phase") => vec![(Old::With("state", s("PARKED")), "marker_stands")],
        ("flight", "#fence = :fence") => vec![(Old::Absent, stale), (Old::With("fence", n("9")), stale)],
        ("flight", "#state = :phase" | "#state = :parked") => vec![(Old::With("state", s("COMPLETED")), stale)],
        ("flight", "#lease_until = :seen_lease") => {
            vec![(Old::With("lease_until", s("2026-11-21T04:00:00.000Z")), stale)]
        }
        ("flight", "attribute_exists(#lease_until)") => {
            vec![(Old::Absent, stale), (Old::Without("lease_until"), stale)]
        }
        ("topup", "#state = :seen_state" | "#state = :requested") => {
            vec![(Old::With("state", s("else")), stale)]
        }
        ("topup", "#expires_at = :seen_expires_at") => vec![(Old::With("expires_at", s("else")), stale)],
        ("topup", "#refundable = :seen_refundable") => vec![(Old::With("refundable", n("987654")), stale)],
        ("topup", "#points_taken_back = :seen_taken_back") => {
            vec![(Old::With("points_taken_back", n("987654")), stale)]
        }
        ("refund", "#state = :seen_state") => vec![(Old::Absent, stale), (Old::With("state", s("else")), stale)],
        ("sealed", "attribute_not_exists(#_sealed)") => {
            vec![(Old::With("_sealed", s("L0/1")), "rejected already_exists")]
        }
        ("sealed", "attribute_exists(#_sealed)") => vec![(Old::Absent, stale), (Old::Without("_sealed"), stale)],
        ("sealing", "#lanes = :seen_lanes") => vec![(Old::With("lanes", n("16")), stale)],
        ("sealing", "#number = :seen") => vec![(Old::Absent, stale), (Old::With("number", n("98")), stale)],
        ("journal" | "sealing", EXISTS) => vec![(Old::Absent, stale)],
        ("clawback" | "trail" | "sealing" | "seal" | "figures", NEW) => vec![(Old::KeyOnly, stale)],
        ("payer" | "payee", "attribute_not_exists(#corrected_at)" | "#corrected_at = :seen_corrected_at") => {
            vec![(Old::With("corrected_at", s("2026-11-21T02:00:00.000Z")), "rejected wrong_state")]
        }
        (
            "payer" | "payee",
            "(attribute_not_exists(#corrections) OR #corrections = :seen_corrections)"
            | "#corrections = :seen_corrections",
        ) => vec![(Old::With("corrections", n("9")), "rejected wrong_state")],
        ("reconciliation", "attribute_not_exists(#adjustment_id)") => {
            vec![(Old::With("adjustment_id", s("another")), "rejected already_exists")]
        }
        ("reconciliation" | "job", "#fence = :fence") => {
            vec![(Old::Absent, stale), (Old::With("fence", n("9")), stale)]
        }
        ("reconciliation" | "job", "#lease_until = :seen_lease") => {
            vec![(Old::With("lease_until", s("2026-11-21T04:00:00.000Z")), stale)]
        }
        ("crediting", "(attribute_not_exists(#period) OR #period = :period)") if does == "lanes" => {
            vec![(Old::Having("period", n("9")), "rejected wrong_state")]
        }
        ("crediting", "#period = :period") if does == "lanes" => {
            vec![
                (Old::Without("period"), "rejected wrong_state"),
                (Old::With("period", n("9")), "rejected wrong_state"),
            ]
        }
        ("crediting", "(attribute_not_exists(#segment) OR #segment < :segment)") => {
            vec![(Old::Having("segment", n("99")), stale)]
        }
        ("clawback", "#state = :taken") => vec![(Old::Absent, stale), (Old::With("state", s("returned")), stale)],
        ("clawback", "#state = :returned") => vec![(Old::Absent, stale), (Old::With("state", s("taken")), stale)],
        ("clawback", "attribute_not_exists(#round)" | "#round = :seen_round") => {
            vec![(Old::With("round", n("9")), stale)]
        }
        ("payer", "#balance >= :amount") if does == "topup_event" => vec![(Old::With("balance", n("0")), stale)],
        ("payer", "#balance = :seen") => vec![(Old::With("balance", n("987654")), stale)],
        ("payer" | "points", "#held >= :set_aside") => vec![(Old::With("held", n("0")), "rejected wrong_state")],
        ("payee", "#reserved >= :set_aside") => vec![(Old::With("reserved", n("0")), "rejected wrong_state")],
        ("topup" | "refund", "attribute_not_exists(#given_up)") => {
            vec![(Old::With("given_up", n("987654")), stale)]
        }
        ("topup" | "refund", "#given_up = :seen_given_up") => vec![(Old::Without("given_up"), stale)],
        ("topup" | "refund", "#suspense = :seen_suspense") => {
            vec![(Old::Without("suspense"), stale), (Old::With("suspense", n("987654")), stale)]
        }
        ("kept_event", "attribute_not_exists(#dismissed_at)") => {
            vec![(Old::With("dismissed_at", s("2026-11-20T00:00:00.000Z")), "rejected wrong_state")]
        }
        _ => return None,
    })
}

/// Failures in order of precedence, highest first.
const ORDER: [&str; 21] = [
    "stale_plan",
    "decided",
    "account_missing",
    "already_exists",
    "four_eyes",
    "account_frozen",
    "wrong_state",
    "approval_expired",
    "cash_room_exceeded",
    "cash_not_outstanding",
    "refund_room_exceeded",
    "budget_exceeded",
    "reversal_too_late",
    "pin_required",
    "pin_locked",
    "pin_wrong",
    "over_refund",
    "cap_exceeded",
    "limit_exceeded",
    "insufficient",
    "recipient_unavailable",
];

/// A guard that fails alone: its position, the item, and the outcome.
struct Alone {
    position: usize,
    reason: ReasonJson,
    outcome: String,
}

/// The rows in which each clause of each guard fails alone, and the rows of precedence if requested.
#[must_use]
pub(super) fn rows(does: &str, items: &[TransactItem], actions: &[Json], state: &[Json], precedence: bool) -> Vec<Row> {
    let alone: Vec<Alone> = items
        .iter()
        .zip(actions)
        .enumerate()
        .flat_map(|(position, (item, action))| failures(does, position, item.role(), action, state))
        .collect();
    let mut rows: Vec<Row> = alone.iter().map(|alone| row(&[alone], &alone.outcome)).collect();
    if precedence {
        rows.extend(precedence_rows(&alone, items.len() - 1));
    }
    rows
}

fn failures(does: &str, position: usize, role: Role, action: &Json, state: &[Json]) -> Vec<Alone> {
    let body = action.as_object().unwrap().values().next().unwrap();
    let Some(condition) = body["ConditionExpression"].as_str() else { return Vec::new() };
    let key = if body["Key"].is_null() { &body["Item"] } else { &body["Key"] };
    let key = json!({ "uuid": key["uuid"], "type": key["type"] });
    let stored = state.iter().find(|item| item["uuid"] == key["uuid"] && item["type"] == key["type"]);
    let with = |base: &Json, attribute: &str, value: Json| {
        let mut item = base.clone();
        item[attribute] = value;
        Some(item)
    };
    let state_item = || stored.unwrap_or_else(|| panic!("the state lacks {key}"));
    let mut found = Vec::new();
    for clause in condition.split(" AND ") {
        let sk = key["type"]["S"].as_str().unwrap();
        let is_check = action.get("ConditionCheck").is_some();
        let rows = meanings_closing::of_wallet((does, role), sk, body, clause);
        let rows = rows.or_else(|| meanings_approvals::of_ties(does, is_check, role, clause));
        for (old, outcome) in rows.unwrap_or_else(|| meanings(does, sk, role, clause)) {
            let item = match old {
                Old::Absent => None,
                Old::KeyOnly => Some(key.clone()),
                Old::Written => Some(body["Item"].clone()),
                Old::WrittenBut(attribute, value) => with(&body["Item"], attribute, value),
                Old::Without(attribute) => {
                    let mut item = state_item().clone();
                    item.as_object_mut().unwrap().remove(attribute).unwrap();
                    Some(item)
                }
                Old::With(attribute, value) => with(state_item(), attribute, value),
                Old::Having(attribute, value) => with(stored.unwrap_or(&key), attribute, value),
                Old::WithOperand(attribute, operand) => {
                    with(state_item(), attribute, body["ExpressionAttributeValues"][operand].clone())
                }
                Old::At(path, value) => Some(at(stored.unwrap_or(&key), &path, Some(value))),
                Old::NotAt(path) => Some(at(state_item(), &path, None)),
                Old::AtOperand(path, operand) => {
                    Some(at(state_item(), &path, Some(body["ExpressionAttributeValues"][&operand].clone())))
                }
            };
            let by = if outcome.starts_with("rejected") && !outcome.contains(" by ") {
                format!(" by {}", names::role(role))
            } else {
                String::new()
            };
            let reason = ReasonJson { code: "ConditionalCheckFailed".to_owned(), item };
            found.push(Alone { position, reason, outcome: format!("{outcome}{by}") });
        }
    }
    found
}

/// An item with the attribute at `name` or `map.name` set or removed.
fn at(item: &Json, path: &str, value: Option<Json>) -> Json {
    let mut item = item.clone();
    let (within, name) = match path.split_once('.') {
        Some((map, name)) => (&mut item[map]["M"], name),
        None => (&mut item, path),
    };
    match value {
        Some(value) => within[name] = value,
        None => drop(within.as_object_mut().unwrap().remove(name).unwrap()),
    }
    item
}

fn row(failing: &[&Alone], outcome: &str) -> Row {
    let reasons = failing.iter().map(|alone| (alone.position.to_string(), alone.reason.clone())).collect();
    Row { outcome: outcome.to_owned(), reasons }
}

/// Rows of precedence: the marker before guards, guards before codes, codes by severity, failures in declared order.
fn precedence_rows(alone: &[Alone], last: usize) -> Vec<Row> {
    let marker = alone.iter().find(|alone| !alone.outcome.starts_with("rejected")).expect("a marker");
    let guards: Vec<&Alone> = alone.iter().filter(|alone| alone.outcome.starts_with("rejected")).collect();
    let guard = guards.iter().find(|guard| guard.position != last).expect("a guard before the last action");
    let code = |position: usize, code: &str| Alone {
        position,
        reason: ReasonJson { code: code.to_owned(), item: None },
        outcome: String::new(),
    };
    let mut rows = vec![
        row(&[marker, guard], &marker.outcome),
        row(&[&code(0, "TransactionConflict"), guard], "conflict"),
        row(&[&code(0, "ProvisionedThroughputExceeded"), guard], "throttled"),
        row(&[&code(0, "ValidationError"), guard], "broken"),
        row(&[guard, &code(last, "TransactionConflict")], &guard.outcome),
        row(&[guard, &code(last, "ThrottlingError")], &guard.outcome),
        row(&[&code(guard.position, "ANewCode"), &code(last, "ThrottlingError")], "broken"),
        row(&[&code(guard.position, "TransactionConflict"), &code(last, "ThrottlingError")], "throttled"),
        row(&[&code(guard.position, "TransactionConflict"), &code(last, "TransactionConflict")], "conflict"),
    ];
    let rank = |outcome: &str| {
        let failure = outcome.split(' ').nth(1).unwrap();
        ORDER.iter().position(|name| *name == failure).unwrap()
    };
    let mut pairs = BTreeMap::new();
    for (at, a) in guards.iter().enumerate() {
        for b in &guards[at + 1..] {
            if a.position != b.position && rank(&a.outcome) != rank(&b.outcome) {
                let (first, then) = if rank(&a.outcome) < rank(&b.outcome) { (a, b) } else { (b, a) };
                pairs
                    .entry((rank(&first.outcome), rank(&then.outcome)))
                    .or_insert_with(|| row(&[a, b], &first.outcome));
            }
        }
    }
    rows.extend(pairs.into_values());
    rows
}

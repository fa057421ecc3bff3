//! The outcomes of clauses that a migration adds, written by hand. For an action on a legacy item each clause has its
//! meaning; for a customer's migration every failed clause means that an item is not as it was read.

use super::meanings::{FREE, NEW, Old};
use crate::names;
use ledger_core::transaction::Role;
use serde_json::{Value as Json, json};

type Rows = Vec<(Old, &'static str)>;

/// The rows of one clause; `None` for a clause on a split record.
pub(super) fn meanings(does: &str, sk: &str, role: Role, clause: &str) -> Option<Rows> {
    if does == "migration" { Some(vec![(not_as_read(clause), "not_as_read")]) } else { in_legacy(sk, role, clause) }
}

fn number(number: &str) -> Json {
    json!({ "N": number })
}

/// A difference from the item that was read.
fn not_as_read(clause: &str) -> Old {
    // The name of a card has an id, whose `-` a placeholder has not.
    let path = |placeholders: &str| match placeholders.replace('#', "").split_once("card_") {
        Some((before, id)) => format!("{before}card_{}", id.replace('_', "-")),
        None => placeholders.replace('#', ""),
    };
    if clause == FREE {
        return Old::Written;
    }
    if let Some(absent) = clause.strip_prefix("attribute_not_exists(").and_then(|rest| rest.strip_suffix(')')) {
        return if clause == NEW { Old::KeyOnly } else { Old::At(path(absent), number("987654")) };
    }
    if let Some(exists) = clause.strip_prefix("attribute_exists(").and_then(|rest| rest.strip_suffix(')')) {
        return if exists == "#uuid" { Old::Absent } else { Old::NotAt(path(exists)) };
    }
    if let Some((name, operand)) =
        clause.strip_prefix("(NOT ").and_then(|rest| rest.strip_suffix(')')).and_then(|rest| rest.split_once(" = "))
    {
        return Old::AtOperand(path(name), operand.to_owned());
    }
    // A value that no case compares with, and a later fence.
    let (name, _) = clause.split_once(' ').unwrap();
    Old::At(path(name), number("987654"))
}

/// The rows of one clause on an item of the legacy model.
fn in_legacy(sk: &str, role: Role, clause: &str) -> Option<Rows> {
    let at = |path: &str, value: Json| Old::At(path.to_owned(), value);
    let lacks = |path: &str| Old::NotAt(path.to_owned());
    let with_operand = |path: &str, operand: &str| Old::AtOperand(path.to_owned(), operand.to_owned());
    let someone = || json!({ "S": "staff:someone" });
    let (missing, frozen) = ("rejected account_missing by payer", "rejected account_frozen by payer");
    let short = "rejected insufficient by payer";
    // An existing God Record must be adopted first, existing aggregates need not.
    let opened = if sk == "customer" { "stale not_adopted" } else { "rejected already_exists by payee" };
    Some(match (names::role(role), clause) {
        // Guards on writers to the God Record.
        (_, "#fence_phase <= :fence") => vec![
            (Old::Absent, "stale not_adopted"),
            (lacks("fence_phase"), "stale not_adopted"),
            (at("fence_phase", number("99")), "stale fenced"),
        ],
        (_, "(NOT #truth_profile = :not_profile)") => {
            vec![(with_operand("truth_profile", ":not_profile"), "stale not_copied profile")]
        }
        (_, "(NOT #truth_metrics = :not_metrics)") => {
            vec![(with_operand("truth_metrics", ":not_metrics"), "stale not_copied metrics")]
        }
        (_, "(NOT #truth_points = :not_points)") => {
            vec![(with_operand("truth_points", ":not_points"), "stale not_copied points")]
        }
        (_, "(NOT #truth_jcredit = :not_jcredit)") => {
            vec![(with_operand("truth_jcredit", ":not_jcredit"), "stale not_copied jcredit")]
        }
        (_, "(NOT #truth_regional = :not_regional)") => {
            vec![(with_operand("truth_regional", ":not_regional"), "stale not_copied regional")]
        }
        (_, "(NOT #truth_money = :not_money)") => {
            vec![(with_operand("truth_money", ":not_money"), "stale not_copied money")]
        }
        ("god_record", "attribute_exists(#uuid)") => vec![(Old::Absent, "stale not_adopted")],
        // Opening a customer: an existing God Record must be adopted before its outcome is known.
        ("god_record", NEW) => {
            vec![
                (Old::KeyOnly, "stale not_adopted"),
                (at("fence_phase", number("0")), "rejected already_exists by profile"),
            ]
        }
        (_, "attribute_not_exists(#balance)") => vec![(at("balance", number("1")), opened)],
        (_, "attribute_not_exists(#jcredit)") => vec![(at("jcredit", number("1")), opened)],
        (_, "attribute_not_exists(#point)") => vec![(at("point", number("1")), opened)],
        (_, "attribute_not_exists(#regional.#aoba)") => vec![(at("regional.aoba", number("1")), opened)],
        (_, "attribute_not_exists(#regional.#yama)") => vec![(at("regional.yama", number("1")), opened)],
        // Guards of a payment on a balance.
        (_, "attribute_exists(#balance)") => vec![(lacks("balance"), missing)],
        (_, "attribute_not_exists(#balance_frozen)") => vec![(at("balance_frozen", someone()), frozen)],
        (_, "#balance >= :balance_amount") => vec![(at("balance", number("0")), short)],
        (_, "attribute_exists(#regional.#aoba)") => vec![(lacks("regional.aoba"), missing)],
        (_, "attribute_not_exists(#regional_aoba_frozen)") => vec![(at("regional_aoba_frozen", someone()), frozen)],
        (_, "#regional.#aoba >= :regional_aoba_amount") => vec![(at("regional.aoba", number("0")), short)],
        (_, "attribute_exists(#point)") => vec![(lacks("point"), "rejected account_missing by points")],
        (_, "attribute_not_exists(#point_frozen)") => {
            vec![(at("point_frozen", someone()), "rejected account_frozen by points")]
        }
        (_, "attribute_not_exists(#point_closed_at)") => {
            vec![(at("point_closed_at", json!({ "S": "2026-11-20T12:00:00.000Z" })), "rejected wrong_state by points")]
        }
        (_, "#point >= :point_amount") => vec![(at("point", number("0")), "rejected insufficient by points")],
        // Guards of a freeze.
        (_, "attribute_exists(#jcredit)") => vec![(lacks("jcredit"), missing)],
        (_, "attribute_exists(#regional.#yama)") => vec![(lacks("regional.yama"), missing)],
        (_, "#profile_accounts = :profile_accounts") => {
            vec![(at("profile_accounts", number("9")), "rejected stale_plan by profile")]
        }
        // A card that is named in the owner's profile.
        (_, "(attribute_not_exists(#profile_cards) OR #profile_cards < :profile_cards_max)") => {
            vec![(at("profile_cards", number("20")), "rejected limit_exceeded by profile")]
        }
        _ => return None,
    })
}

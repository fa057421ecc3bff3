//! The outcome when one clause of a guard about a closed account, or one that is closed, fails alone.

use super::meanings::{EXISTS, NEW, Old};
use crate::names;
use ledger_core::transaction::Role;
use serde_json::{Value as Json, json};

/// The rows of the clause that a customer's wallet is not closed, and of that which says that the balance exists where it is
/// closed; `None` for any other clause. If it is closed, what comes from outside or is returned is planned again, and goes to
/// `unclaimed`. Everything else is refused.
pub(super) fn of_wallet(
    (does, role): (&str, Role),
    sk: &str,
    action: &Json,
    clause: &str,
) -> Option<Vec<(Old, &'static str)>> {
    if does == "migration" || !sk.starts_with("BALANCE#") {
        return None;
    }
    let text = |member: &str| action[member].as_str().unwrap_or_default();
    let (update, condition) = (text("UpdateExpression"), text("ConditionExpression"));
    match clause {
        EXISTS if update.contains("#closed_at = :ua") => return Some(vec![(Old::Absent, "rejected stale_plan")]),
        "attribute_not_exists(#closed_at)" => {}
        _ => return None,
    }
    let is_set_aside = update.contains("#held") || (update.contains("#reserved") && !update.contains("#balance"));
    let is_points = names::role(role) == "points";
    let is_returned = match does {
        "refund" | "terminal_charge_reverse" | "topup_event" | "topup_landing" | "topup_decision" => !is_set_aside,
        // A refund by the operator is guarded on the debt, a grant is not.
        "approval" => condition.contains("#owed") || is_points,
        _ => false,
    };
    let outcome = if is_returned { "rejected stale_plan" } else { "rejected wrong_state" };
    Some(vec![(Old::With("closed_at", json!({ "S": "2026-11-20T12:00:00.000Z" })), outcome)])
}

pub(super) fn meanings(does: &str, sk: &str, role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let s = |text: &str| json!({ "S": text });
    let n = |number: &str| json!({ "N": number });
    let (stale, wrong) = ("rejected stale_plan", "rejected wrong_state");
    let of_balance = sk.starts_with("BALANCE#");
    Some(match (names::role(role), clause) {
        ("profile", "#status = :seen_status") => vec![(Old::With("status", s("else")), stale)],
        ("profile", "#accounts = :seen_accounts") => vec![(Old::With("accounts", n("9")), stale)],
        ("profile", "(attribute_not_exists(#cards) OR #cards = :no_cards)") => {
            vec![(Old::Having("cards", n("1")), stale)]
        }
        ("profile" | "god_record", "attribute_not_exists(#erased_at)" | "attribute_not_exists(#profile_erased_at)")
            if does != "migration" =>
        {
            let at = s("2026-11-20T12:00:00.000Z");
            vec![if sk == "PROFILE" {
                (Old::With("erased_at", at), wrong)
            } else {
                (Old::With("profile_erased_at", at), "rejected wrong_state by profile")
            }]
        }
        ("profile", "#status = :closed") => vec![(Old::With("status", s("active")), wrong)],
        ("card", "#state = :closed") => vec![(Old::With("state", s("active")), wrong)],
        ("profile" | "card", "#unclaimed_ecopay >= :amount") => {
            vec![(Old::With("unclaimed_ecopay", n("0")), "rejected insufficient")]
        }
        ("payer", "#balance = :seen") if matches!(does, "approval" | "closing") => {
            vec![(Old::With("balance", n("987654")), stale)]
        }
        ("payer", "#exposure = :seen") if of_balance => vec![(Old::With("exposure", n("987654")), stale)],
        ("payer", "(attribute_not_exists(#held) OR #held = :nothing)") => vec![(Old::With("held", n("987")), stale)],
        ("payer", "(attribute_not_exists(#reserved) OR #reserved = :nothing)") => {
            vec![(Old::With("reserved", n("987")), stale)]
        }
        ("payer", "(attribute_not_exists(#owed) OR #owed = :nothing)") => vec![(Old::With("owed", n("987")), stale)],
        ("payer", "attribute_not_exists(#aggregate_payments)") => {
            vec![(Old::With("aggregate_payments", n("1")), stale)]
        }
        ("payer", "#aggregate_payments = :seen_payments") => {
            vec![(Old::With("aggregate_payments", n("987")), stale)]
        }
        ("payer", "attribute_not_exists(#aggregate_refunds)") => {
            vec![(Old::With("aggregate_refunds", n("1")), stale)]
        }
        // A card that is closed.
        ("payer", "attribute_not_exists(#owner)") if does == "approval" || does == "closing" => {
            vec![(Old::With("owner", s("another")), stale)]
        }
        // The fold, and the totals of a day.
        ("figures", "#batch = :seen") => vec![(Old::Absent, stale), (Old::With("batch", n("987")), stale)],
        ("figures", "attribute_not_exists(#planned)") => vec![(Old::Having("planned", s("x")), stale)],
        ("figures", "attribute_exists(#planned)") => vec![(Old::Absent, stale), (Old::Without("planned"), stale)],
        // A job, and its lines.
        ("job_line", NEW) => vec![(Old::KeyOnly, stale)],
        ("job", "#version = :seen_version") => vec![(Old::Absent, stale), (Old::With("version", n("987")), stale)],
        ("job", "attribute_not_exists(#ended_at)") => vec![(Old::Having("ended_at", s("x")), stale)],
        ("payer", "attribute_not_exists(#updated_at)") => vec![(Old::With("updated_at", s("else")), stale)],
        _ => return None,
    })
}

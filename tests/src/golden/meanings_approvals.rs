//! The outcomes of clauses about commands that another person must approve, written by hand.

use super::meanings::{NEW, Old};
use crate::names;
use ledger_core::transaction::Role;
use serde_json::json;

/// The rows of one clause; `None` for any other clause. `does` is the command's name.
pub(super) fn of_approvals(does: &str, role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let s = |text: &str| json!({ "S": text });
    let stale = "rejected stale_plan";
    // A customer who was moved: a former sign-in gets no code, and an approval is planned again.
    let moved = if does == "payment_code" { "rejected account_missing" } else { stale };
    Some(match (names::role(role), clause) {
        ("approval", "(NOT #requested_by = :me)") => {
            vec![(Old::WithOperand("requested_by", ":me"), "rejected four_eyes")]
        }
        ("approval", "#state = :pending") => vec![(Old::With("state", s("approved")), "rejected decided")],
        ("approval", "#expires_at > :now") => {
            vec![(Old::WithOperand("expires_at", ":now"), "rejected approval_expired")]
        }
        // A member of the operator's staff is of the staff of the merchant that the command is about.
        ("person" | "staff", "attribute_not_exists(#accepted_at)") => {
            vec![(Old::Having("accepted_at", s("2026-11-20T03:00:00.000Z")), "rejected four_eyes")]
        }
        ("person", "#staff_id = :member") => {
            vec![(Old::Absent, stale), (Old::With("staff_id", s("another")), stale)]
        }
        ("profile", "#payout = :seen_payout") => vec![(Old::Without("payout"), stale)],
        ("profile", "attribute_not_exists(#payout)") => vec![(Old::With("payout", json!({ "M": {} })), stale)],
        ("profile", "attribute_not_exists(#settlement_schedule)") => {
            vec![(Old::With("settlement_schedule", s("by_hand")), stale)]
        }
        ("profile", "#settlement_schedule = :seen_schedule") => vec![(Old::Without("settlement_schedule"), stale)],
        ("profile", "#code_for = :me") => {
            vec![(Old::Without("code_for"), stale), (Old::With("code_for", s("another")), stale)]
        }
        ("profile", "#code_until > :now") => vec![(Old::WithOperand("code_until", ":now"), stale)],
        ("profile", "#merchant_id = :merchant") => vec![(Old::With("merchant_id", s("another")), stale)],
        ("profile", "attribute_not_exists(#closed_at)") => {
            vec![(Old::With("closed_at", s("2026-11-20T03:00:00.000Z")), "rejected wrong_state")]
        }
        ("profile", "attribute_not_exists(#sign_in)") => vec![(Old::With("sign_in", s("another")), moved)],
        ("profile", "#sign_in = :sign_in") => {
            vec![(Old::Without("sign_in"), moved), (Old::With("sign_in", s("another")), moved)]
        }
        ("lookup", "#customer_id = :customer") => {
            vec![(Old::Absent, stale), (Old::With("customer_id", s("another")), stale)]
        }
        ("lookup", "attribute_not_exists(#ended_at)") => vec![(Old::With("ended_at", s("x")), stale)],
        _ => return None,
    })
}

/// The rows of one clause about who holds an account; `None` for any other clause.
pub(super) fn of_ties(does: &str, is_check: bool, role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let s = |text: &str| json!({ "S": text });
    let stale = "rejected stale_plan";
    Some(match (names::role(role), clause) {
        // The member signs in to no other wallet.
        ("lookup", NEW) if is_check && does != "customer_open" => vec![(Old::KeyOnly, stale)],
        ("card" | "payer", "#owner = :tied_owner") => {
            vec![(Old::Without("owner"), stale), (Old::With("owner", s("another")), stale)]
        }
        ("card" | "payer", "attribute_not_exists(#replaced_by)") => {
            vec![(Old::With("replaced_by", s("another")), stale)]
        }
        ("card", "attribute_not_exists(#owner)") if is_check || does == "approval" => {
            vec![(Old::With("owner", s("another")), stale)]
        }
        _ => return None,
    })
}

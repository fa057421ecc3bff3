//! The outcome when one clause of a settlement's guard fails alone, as in `meanings.rs`.

use super::meanings::{EXISTS, FREE, NEW, Old};
use crate::names;
use ledger_core::transaction::Role;
use serde_json::json;

/// The rows of one clause about a settlement.
pub(super) fn settled(does: &str, role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    // Two people book that the bank returned a transfer.
    let is_return = does == "approval" && ["settlement", "returned"].contains(&names::role(role));
    if !matches!(does, "settlement" | "settlement_admin") && !is_return {
        return None;
    }
    let s = |text: &str| json!({ "S": text });
    let n = |number: &str| json!({ "N": number });
    let (stale, wrong) = ("rejected stale_plan", "rejected wrong_state");
    Some(match (names::role(role), clause) {
        ("marker", FREE) if does == "settlement" => vec![(Old::Written, "marker_stands")],
        ("settlement", NEW) if does == "settlement" => vec![(Old::KeyOnly, stale)],
        ("returned", NEW) => vec![(Old::KeyOnly, stale)],
        ("settlement", "#state = :seen_state") => vec![(Old::Absent, stale), (Old::With("state", s("else")), stale)],
        ("settlement", "#batches = :seen_batches") => vec![(Old::With("batches", n("99")), stale)],
        ("settlement", "attribute_not_exists(#undo_reason)") => {
            vec![(Old::With("undo_reason", s("step_failed")), stale)]
        }
        ("settlement", "attribute_exists(#undo_reason)") => vec![(Old::Without("undo_reason"), stale)],
        ("settlement", "#payout_epoch = :seen_epoch") => vec![(Old::With("payout_epoch", n("9")), stale)],
        ("settlement", "#payout_sends = :seen_sends") => vec![(Old::With("payout_sends", n("9")), stale)],
        ("crediting", "(attribute_not_exists(#period) OR #period = :period)") => {
            vec![(Old::With("period", n("9")), stale)]
        }
        ("crediting", "#period = :period") => {
            vec![(Old::Without("period"), stale), (Old::With("period", n("9")), stale)]
        }
        ("crediting", "#segment = :seen") => {
            vec![(Old::Without("segment"), stale), (Old::With("segment", n("99")), stale)]
        }
        ("settlement", "attribute_not_exists(#given_back_at)") => {
            vec![(Old::With("given_back_at", s("2026-11-20T00:00:00.000Z")), stale)]
        }
        ("settlement_calendar", "#closed_until = :seen_until") => {
            vec![(Old::Absent, stale), (Old::With("closed_until", s("2026-12-31")), stale)]
        }
        ("settlement_calendar", "attribute_not_exists(#closed_until)") => {
            vec![(Old::Having("closed_until", s("2026-12-31")), stale)]
        }
        ("settlement", "(attribute_not_exists(#closing_on) OR #closing_on < :closing)") => {
            vec![(Old::Having("closing_on", s("2026-12-31")), stale)]
        }
        ("settlement", "attribute_not_exists(#open)") => vec![(Old::Having("open", s("x")), "rejected already_exists")],
        ("settlement", "attribute_not_exists(#carry)") => vec![(Old::Having("carry", json!({ "M": {} })), stale)],
        ("settlement", "#carry = :seen_carry") => vec![(Old::With("carry", json!({ "M": {} })), stale)],
        ("settlement", "#open = :mine") => vec![(Old::Absent, stale), (Old::With("open", s("another")), stale)],
        ("returned" | "period", EXISTS) => vec![(Old::Absent, wrong)],
        ("returned", "attribute_exists(#credited_at)") => vec![(Old::Without("credited_at"), wrong)],
        ("returned" | "period", "attribute_not_exists(#settlement_id)") => {
            vec![(Old::With("settlement_id", s("another")), wrong)]
        }
        ("returned" | "period", "#settlement_id = :settlement") => {
            vec![(Old::Absent, wrong), (Old::With("settlement_id", s("another")), wrong)]
        }
        ("merchant_balance", "#held >= :set_aside") => vec![(Old::With("held", n("0")), wrong)],
        _ => return None,
    })
}

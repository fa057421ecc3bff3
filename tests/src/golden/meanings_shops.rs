//! The outcomes of clauses about shops and the terminals that are assigned to them, written by hand.

use super::meanings::Old;
use crate::names;
use ledger_core::transaction::Role;
use serde_json::json;

/// The rows of one clause about a shop; `None` for any other clause.
pub(super) fn of_shops(role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let s = |text: &str| json!({ "S": text });
    let n = |number: &str| json!({ "N": number });
    let (stale, wrong) = ("rejected stale_plan", "rejected wrong_state");
    Some(match (names::role(role), clause) {
        ("shop", "#state = :open") => vec![(Old::Without("state"), wrong), (Old::With("state", s("closed")), wrong)],
        ("shop", "#assigned = :none") => {
            vec![(Old::Without("assigned"), wrong), (Old::With("assigned", n("1")), wrong)]
        }
        ("profile", "#shop_id = :seen_shop") => {
            vec![(Old::Without("shop_id"), stale), (Old::With("shop_id", s("another")), stale)]
        }
        ("profile", "attribute_not_exists(#shop_id)") => vec![(Old::With("shop_id", s("another")), stale)],
        _ => return None,
    })
}

//! The outcomes of clauses about shops, the terminals that are assigned to them, and terminals and merchants that are closed,
//! written by hand.

use super::meanings::Old;
use crate::names;
use ledger_core::transaction::Role;
use serde_json::json;

/// The rows of one such clause; `None` for any other clause.
pub(super) fn of_shops(does: &str, role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
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
        ("profile" | "cash_room", "(NOT #state = :closed)") => {
            let plans_from_a_read = does == "shop" || does == "closing";
            vec![(Old::With("state", s("closed")), if plans_from_a_read { stale } else { wrong })]
        }
        ("profile", "(NOT #status = :closed)") => vec![(Old::With("status", s("closed")), wrong)],
        ("profile", "(attribute_not_exists(#cash_room) OR #cash_room = :nothing)") => {
            vec![(Old::With("cash_room", n("1")), stale)]
        }
        ("profile", "(attribute_not_exists(#cash_outstanding) OR #cash_outstanding = :nothing)") => {
            vec![(Old::With("cash_outstanding", n("1")), stale)]
        }
        ("profile", "#closing_at = :seen_closing") => {
            vec![(Old::Absent, stale), (Old::With("closing_at", s("else")), stale)]
        }
        ("settlement", "attribute_not_exists(#open)") if does == "closing" => {
            vec![(Old::Having("open", s("x")), stale)]
        }
        _ => return None,
    })
}

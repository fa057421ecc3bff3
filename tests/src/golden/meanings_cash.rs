//! The outcome when one clause of a guard about cash fails alone.

use super::meanings::{EXISTS, NEW, Old};
use crate::names;
use ledger_core::transaction::Role;
use serde_json::json;

const ALLOTTED: &str = "allotted_019a0000-0000-7000-8000-0000000000d1";

pub(super) fn meanings(does: &str, sk: &str, role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let s = |text: &str| json!({ "S": text });
    let n = |number: &str| json!({ "N": number });
    let (stale, wrong, exceeded) = ("rejected stale_plan", "rejected wrong_state", "rejected cash_room_exceeded");
    let no_refund_room = "rejected refund_room_exceeded";
    let of_terminal = sk == "PROFILE";
    Some(match (names::role(role), clause) {
        ("cash_room", EXISTS) if !of_terminal => vec![(Old::Absent, exceeded)],
        ("refund", NEW) if sk.starts_with("DEPOSIT_REVERSED#") => vec![(Old::KeyOnly, wrong)],
        ("cash_room", NEW) if sk.starts_with("COLLECTION#") => vec![(Old::KeyOnly, "rejected already_exists")],
        ("cash_room", NEW) if does == "merchant_open" => vec![(Old::KeyOnly, "rejected already_exists")],
        ("cash_room", NEW) => vec![(Old::KeyOnly, stale)],
        ("cash_room", "#merchant_id = :merchant_id") => {
            vec![(Old::With("merchant_id", s("another")), if does == "cash" { stale } else { wrong })]
        }
        ("cash_room", "#kind = :kind") => {
            let failure = if does == "cash" { stale } else { wrong };
            vec![(Old::Without("kind"), failure), (Old::With("kind", s("till")), failure)]
        }
        ("cash_room", "#kind = :counter") => {
            vec![(Old::Without("kind"), wrong), (Old::With("kind", s("till")), wrong)]
        }
        ("profile", "#kind = :kind") => vec![(Old::Without("kind"), stale)],
        ("cash_room", "#cash_outstanding >= :cash" | "#cash_outstanding >= :returned") => {
            vec![
                (Old::Without("cash_outstanding"), "rejected cash_not_outstanding"),
                (Old::With("cash_outstanding", n("0")), "rejected cash_not_outstanding"),
            ]
        }
        ("cash_room", "#state = :state") => vec![(Old::With("state", s("frozen")), wrong)],
        ("cash_room", "#cash_room >= :room" | "#cash_room >= :needed") => {
            vec![(Old::With("cash_room", n("0")), exceeded)]
        }
        ("cash_room", "#unallotted >= :needed") => vec![(Old::Having("unallotted", n("0")), exceeded)],
        ("cash_room", "#allotted_019a0000_0000_7000_8000_0000000000d1 >= :needed") => {
            vec![(Old::With(ALLOTTED, n("0")), exceeded)]
        }
        ("cash_room", "#ceiling = :seen") => {
            vec![(Old::Absent, stale), (Old::With("ceiling", n("987654")), stale)]
        }
        ("refund_room", "#room >= :room") => {
            vec![(Old::Absent, no_refund_room), (Old::With("room", n("0")), no_refund_room)]
        }
        ("refund_room", "#room >= :needed") => vec![(Old::With("room", n("0")), no_refund_room)],
        ("refund_room", "#ceiling = :seen") => {
            vec![(Old::Absent, stale), (Old::With("ceiling", n("987654")), stale)]
        }
        ("settlement", "attribute_not_exists(#carried_base)") => {
            vec![(Old::Having("carried_base", n("987654")), stale)]
        }
        ("settlement", "attribute_not_exists(#carried_rooms)") => {
            let others = json!({ "M": { "cash": n("987654"), "refunds": n("0") } });
            vec![(Old::Having("carried_rooms", others), stale)]
        }
        ("settlement", "#carried_rooms = :seen_rooms") => {
            let others = json!({ "M": { "cash": n("987654"), "refunds": n("0") } });
            vec![(Old::Without("carried_rooms"), stale), (Old::With("carried_rooms", others), stale)]
        }
        ("settlement", "attribute_not_exists(#paid_settlements)") => {
            vec![(Old::Having("paid_settlements", n("987654")), stale)]
        }
        ("settlement", "#paid_settlements = :seen_paid") => {
            vec![(Old::Without("paid_settlements"), stale), (Old::With("paid_settlements", n("987654")), stale)]
        }
        ("bonus", "#state = :seen_state") => vec![(Old::Absent, stale), (Old::With("state", s("else")), stale)],
        _ => return None,
    })
}

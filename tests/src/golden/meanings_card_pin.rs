//! The outcome when one clause of a guard about a card's PIN fails alone.

use super::meanings::Old;
use crate::names;
use ledger_core::transaction::Role;
use serde_json::json;

pub(super) fn meanings(role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let s = |text: &str| json!({ "S": text });
    let (stale, wrong) = ("rejected stale_plan", "rejected wrong_state");
    Some(match (names::role(role), clause) {
        ("card_pin", "#salt = :seen") => vec![(Old::Absent, stale), (Old::With("salt", s("another")), stale)],
        ("card_pin", "attribute_not_exists(#salt)") => vec![(Old::Having("salt", s("another")), stale)],
        ("card_pin", "attribute_exists(#salt)") => vec![(Old::Absent, wrong), (Old::Without("salt"), wrong)],
        ("card_pin", "attribute_not_exists(#attempt_1)") => {
            vec![(Old::With("attempt_1", json!({ "M": {} })), stale)]
        }
        ("card_pin", "attribute_not_exists(#attempt_3)") => {
            vec![(Old::With("attempt_3", json!({ "M": {} })), stale)]
        }
        ("card_pin", "attribute_not_exists(#attempt_5)") => {
            vec![(Old::With("attempt_5", json!({ "M": {} })), stale)]
        }
        _ => return None,
    })
}

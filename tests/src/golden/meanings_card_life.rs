//! The outcome when one clause of a guard about a card's life fails alone.

use super::meanings::Old;
use crate::names;
use ledger_core::transaction::Role;
use serde_json::json;

pub(super) fn meanings(does: &str, role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let s = |text: &str| json!({ "S": text });
    let n = |number: &str| json!({ "N": number });
    let (stale, wrong) = ("rejected stale_plan", "rejected wrong_state");
    Some(match (names::role(role), clause) {
        ("card", "(#state = :active OR #state = :blocked)") if does == "card_pin" => {
            vec![(Old::With("state", s("replaced")), wrong), (Old::With("state", s("closed")), wrong)]
        }
        ("payee" | "card", "(#state = :active OR #state = :blocked)") => {
            vec![(Old::With("state", s("replaced")), stale), (Old::With("state", s("closed")), stale)]
        }
        ("payer" | "card", "(attribute_not_exists(#expires_at) OR #expires_at > :at)") => {
            vec![(Old::With("expires_at", s("2000-01-01T00:00:00.000Z")), wrong)]
        }
        ("profile", "(attribute_not_exists(#cards) OR #cards < :cards_max)") => {
            vec![(Old::With("cards", n("20")), "rejected limit_exceeded")]
        }
        ("profile", "attribute_exists(#card_019a0000_0000_7000_8000_0000000000c1)") => {
            vec![(Old::Without("card_019a0000-0000-7000-8000-0000000000c1"), stale)]
        }
        ("card", "attribute_not_exists(#owner)") => vec![(Old::With("owner", s("another")), wrong)],
        ("payer" | "payee", "attribute_not_exists(#owner)") if does == "card_life" => {
            vec![(Old::With("owner", s("another")), stale)]
        }
        ("payer", "#owner = :seen_owner") => vec![(Old::With("owner", s("another")), stale)],
        ("payer", "#state = :seen_state") => vec![(Old::With("state", s("else")), stale)],
        ("payer" | "payee", "#balance = :seen") if does == "card_life" => {
            vec![(Old::With("balance", n("987654")), stale)]
        }
        ("payer" | "payee", "#updated_at = :seen_at") => vec![(Old::With("updated_at", s("else")), stale)],
        ("payee", "attribute_not_exists(#replacements)") => vec![(Old::With("replacements", n("1")), stale)],
        _ => return None,
    })
}

//! The outcomes of clauses about versions of a tenant's terms, written by hand.

use super::meanings::Old;
use crate::names;
use ledger_core::transaction::Role;
use serde_json::json;

/// The rows of one clause; `None` for any other clause. `does` is the command's name.
pub(super) fn of_terms(does: &str, role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    if names::role(role) != "config" || !matches!(does, "terms" | "approval") {
        return None;
    }
    let n = |number: &str| json!({ "N": number });
    let stale = "rejected stale_plan";
    Some(match clause {
        // Another version was stored.
        "attribute_not_exists(#last_terms_version)" => vec![(Old::With("last_terms_version", n("9")), stale)],
        "#last_terms_version = :seen_last" => vec![(Old::With("last_terms_version", n("9")), stale)],
        "attribute_not_exists(#next_terms)" => {
            vec![(Old::With("next_terms", json!({ "M": { "version": n("9") } })), stale)]
        }
        "#next_terms.#version = :seen_next" | "#next_terms.#version = :seen" => {
            vec![(Old::Without("next_terms"), stale), (Old::At("next_terms.version".to_owned(), n("9")), stale)]
        }
        // An account was given limits of its own.
        "#limits.#version = :seen_limits" => {
            vec![(Old::At("limits.version".to_owned(), n("987")), stale), (Old::Without("limits"), stale)]
        }
        _ => return None,
    })
}

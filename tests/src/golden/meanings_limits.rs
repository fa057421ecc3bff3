//! The outcomes of clauses about limits, written by hand.

use super::meanings::Old;
use crate::names;
use ledger_core::transaction::Role;
use serde_json::json;

/// The rows of one clause about limits; `None` for any other clause.
pub(super) fn limited(role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let s = |text: &str| json!({ "S": text });
    let n = |number: &str| json!({ "N": number });
    let stale = "rejected stale_plan";
    if let Some(name) = counted(clause) {
        // In the legacy model the count is in the payer's God Record.
        let is_split = name.starts_with("use_");
        // Above what a member does alone, the request is planned anew, for approval.
        let is_alone = clause.ends_with(":alone_most)");
        let exceeded = match (is_alone, is_split) {
            (true, _) => stale,
            (false, true) => "rejected limit_exceeded",
            (false, false) => "rejected limit_exceeded by payer",
        };
        return Some(vec![(Old::At(name.to_owned(), n("987654321")), exceeded)]);
    }
    if let Some(name) = clause.strip_prefix("attribute_exists(#use_").and_then(|rest| rest.strip_suffix(')')) {
        return Some(vec![(Old::NotAt(format!("use_{name}")), stale)]);
    }
    Some(match (names::role(role), clause) {
        ("profile", "(attribute_not_exists(#volume_exceeded) OR #volume_exceeded < :day)") => {
            vec![(Old::Having("volume_exceeded", s("20261121")), "rejected wrong_state")]
        }
        ("config", "attribute_not_exists(#limits)") => vec![(Old::At("limits".to_owned(), json!({ "M": {} })), stale)],
        ("config", "attribute_exists(#limits.#version)") => {
            vec![(Old::NotAt("limits".to_owned()), "rejected wrong_state")]
        }
        (_, "attribute_not_exists(#limits)") => vec![(Old::With("limits", s("pay_day=1")), stale)],
        (_, "#limits = :own_limits" | "#limits = :seen_limits") => {
            vec![(Old::Without("limits"), stale), (Old::With("limits", s("pay_day=1")), stale)]
        }
        _ => return None,
    })
}

/// The name of the count in `(attribute_not_exists(#name) OR #name <= :operand)`, of an item of either model.
fn counted(clause: &str) -> Option<&str> {
    let (name, rest) = clause.strip_prefix("(attribute_not_exists(#")?.split_once(") OR #")?;
    (name.contains("use_") && rest.starts_with(name)).then_some(name)
}

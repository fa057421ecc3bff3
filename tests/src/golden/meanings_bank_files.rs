//! The outcomes of clauses about bank files and their transfers, written by hand.

use super::meanings::{EXISTS, NEW, Old};
use crate::names;
use ledger_core::transaction::Role;
use serde_json::json;

/// The rows of one clause; `None` for any other clause.
pub(super) fn of_bank_files(role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let s = |text: &str| json!({ "S": text });
    let stale = "rejected stale_plan";
    Some(match (names::role(role), clause) {
        ("bank_file" | "bank_transfer", NEW) => vec![(Old::KeyOnly, stale)],
        ("bank_file", "#version = :seen_version") => {
            vec![(Old::Absent, stale), (Old::With("version", json!({ "N": "987" })), stale)]
        }
        ("bank_file", "#superseded_by = :seen_by") => {
            vec![(Old::Without("superseded_by"), stale), (Old::With("superseded_by", s("2026-11-30-09")), stale)]
        }
        ("bank_transfer", EXISTS) => vec![(Old::Absent, stale)],
        ("bank_transfer", "attribute_not_exists(#bank_file_id)") => {
            vec![(Old::With("bank_file_id", s("2026-11-30-09")), stale)]
        }
        ("bank_transfer", "#bank_file_id = :seen_file") => {
            vec![(Old::Without("bank_file_id"), stale), (Old::With("bank_file_id", s("2026-11-30-09")), stale)]
        }
        ("bank_transfer", "attribute_not_exists(#returned_at)") => {
            vec![(Old::With("returned_at", s("2026-11-20T03:00:00.000Z")), stale)]
        }
        _ => return None,
    })
}

//! The outcomes of clauses about staff records and customers' contacts, written by hand.

use super::meanings::Old;
use crate::names;
use ledger_core::transaction::Role;
use serde_json::json;

const NO_EMAIL: &str = "((attribute_not_exists(#email) OR attribute_type(#email, :null)) OR #email = :seen_email)";
const NO_PHONE: &str = "((attribute_not_exists(#phone) OR attribute_type(#phone, :null)) OR #phone = :seen_phone)";

/// The rows of one clause about staff; `None` for any other clause.
pub(super) fn of_staff(role: Role, clause: &str) -> Option<Vec<(Old, &'static str)>> {
    let s = |text: &str| json!({ "S": text });
    let n = |number: &str| json!({ "N": number });
    let (stale, wrong) = ("rejected stale_plan", "rejected wrong_state");
    Some(match (names::role(role), clause) {
        ("recovery", "#ready_at = :seen") => {
            vec![
                (Old::Without("ready_at"), "rejected stale_plan"),
                (Old::With("ready_at", s("x")), "rejected stale_plan"),
            ]
        }
        ("recovery", "#state = :pending") => vec![(Old::With("state", s("done")), wrong)],
        // Another time than the one that was seen fails first.
        ("recovery", "#ready_at <= :now") => {
            vec![(Old::With("ready_at", s("2026-11-21T03:00:00.001Z")), "rejected stale_plan")]
        }
        ("recovery", "(attribute_not_exists(#state) OR (NOT #state = :pending))") => {
            vec![(Old::Having("state", s("pending")), "rejected already_exists")]
        }
        ("profile", "#email = :seen_email") => {
            vec![(Old::Without("email"), stale), (Old::With("email", s("another")), stale)]
        }
        ("profile", "#phone = :seen_phone") => {
            vec![(Old::Without("phone"), stale), (Old::With("phone", s("another")), stale)]
        }
        ("profile", NO_EMAIL) => vec![(Old::With("email", s("another")), stale)],
        ("profile", NO_PHONE) => vec![(Old::With("phone", s("another")), stale)],
        ("staff", "#version = :seen") => {
            vec![
                (Old::Without("version"), "rejected stale_plan"),
                (Old::With("version", n("987")), "rejected stale_plan"),
            ]
        }
        ("staff_counts", "#owners > :min") => {
            vec![(Old::Absent, wrong), (Old::With("owners", n("0")), wrong)]
        }
        ("staff_counts", "#deciders > :min") => {
            vec![(Old::Absent, wrong), (Old::With("deciders", n("0")), wrong)]
        }
        ("denials", "(attribute_not_exists(#recorded) OR #recorded < :max)") => {
            vec![(Old::Having("recorded", n("10")), "rejected limit_exceeded")]
        }
        _ => return None,
    })
}

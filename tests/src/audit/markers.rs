//! Audits idempotency markers and markers of events: a key moves money at most once, and each marker is in one state.

use super::Checked;
use super::index::Audit;
use super::postings::Entry;
use super::rows::{Row, opt_text};
use ledger_core::dynamo::Item;
use std::collections::{BTreeMap, BTreeSet};

/// Entries written by Stripe events: the operation of the entry, and the operation whose response may have written the
/// entry before the event.
const BY_EVENTS: [(&str, Option<&str>); 6] = [
    ("topup", Some("topup")),
    ("topup_refund_paid", Some("topup_refund")),
    ("topup_refund_returned", Some("topup_refund")),
    ("clawback", None),
    ("clawback_returned", None),
    ("settlement_returned", None),
];

/// The end of the key of an entry that the approval of a stored command wrote, after the approval's id.
const BY_APPROVAL: &str = " approval";

/// The operations of steps that no request carries.
const STEPS: [&str; 12] = [
    "opening_balance",
    "migration_copy",
    "settlement_collect",
    "settlement_hold",
    "settlement_kyc",
    "settlement_release",
    "settlement_fee",
    "settlement_payout",
    "settlement_hold_undone",
    "settlement_release_undone",
    "settlement_fee_undone",
    "settlement_run",
];

/// Attributes that a marker in flight has.
const IN_FLIGHT: [&str; 6] = ["fence", "lease_until", "leased_at", "epoch", "first_sent_at", "psp_body"];
/// Attributes of a marker that a worker continues.
const DUE: [&str; 2] = ["_due_pk", "_due_sk"];

/// Whether a marker is claimed and has no stored response.
pub(super) fn is_in_flight(marker: &Item) -> bool {
    opt_text(marker, "state").is_some_and(|state| ["IN_FLIGHT", "FAILED_RETRY", "PARKED"].contains(&state))
}

/// Whether a marker has a stored response.
pub(super) fn is_answered(marker: &Item) -> bool {
    opt_text(marker, "state").is_some_and(|state| ["COMPLETED", "FAILED_TERMINAL"].contains(&state))
}

/// Checks that no two entries are under one key, and that each entry has the marker of its key or of the event that
/// wrote it.
pub(super) fn keys_move_money_once(audit: &Audit<'_>) -> Checked {
    let events: BTreeMap<&str, Row<'_>> =
        audit.events().filter_map(|marker| Some((marker.opt_text("entry_id")?, marker))).collect();
    let mut seen = BTreeSet::new();
    for entry in &audit.entries {
        let (row, operation) = (entry.row, entry.operation);
        let (principal, key) = (row.text("principal")?, row.text("idempotency_key")?);
        ensure!(seen.insert((principal, operation, key)), "{row}: another entry has its key {key} of {principal}");
        let under = |operation: &str| {
            let marker = audit.marker(principal, operation, key);
            marker.ok_or_else(|| format!("{row} has no marker of `{operation}` {key} of {principal}"))
        };
        if let Some(approval) = key.strip_suffix(BY_APPROVAL) {
            approved(audit, entry, approval)?;
            continue;
        }
        match (BY_EVENTS.iter().find(|(of, _)| *of == operation), events.get(entry.id)) {
            (Some(_), Some(event)) => {
                ensure_eq!(row.text("created_at")?, event.text("processed_at")?, "{row}: `created_at`");
            }
            (Some((_, Some(request))), None) => {
                // The response to our own request wrote the entry at the same moment.
                let marker = under(request)?;
                ensure!(is_answered(marker.item), "{row}: neither an event nor a response wrote it");
                ensure_eq!(row.text("created_at")?, marker.text("processed_at")?, "{row}: `created_at`");
            }
            (Some((_, None)), None) => return Err(format!("{row} has no event")),
            (None, _) => {
                ensure_eq!(under(operation)?.opt_text("entry_id"), Some(entry.id), "{row}: its marker's entry")
            }
        }
    }
    Ok(())
}

/// Checks that the entry of an approved command is that of its approval, and of the marker of who approved it.
fn approved(audit: &Audit<'_>, entry: &Entry<'_>, approval: &str) -> Checked {
    let row = entry.row;
    let id = uuid::Uuid::parse_str(approval).map_err(|_| format!("{row} names no approval"))?;
    let home = format!("{}#approvals#{}", audit.tenant, ledger_core::keys::month_of_approval(id));
    let record = audit.row(&home, &format!("APPROVAL#{approval}"));
    let record = record.ok_or_else(|| format!("{row} has no approval {approval}"))?;
    ensure_eq!(record.text("state")?, "approved", "{record}: its state");
    ensure_eq!(record.opt_text("transaction_id"), Some(entry.id), "{record}: its entry");
    ensure_eq!(row.text("principal")?, format!("staff:{}", record.text("requested_by")?), "{row}: its principal");
    ensure_eq!(row.text("actor")?, format!("staff:{}", record.text("decided_by")?), "{row}: its actor");
    ensure!(record.text("decided_by")? != record.text("requested_by")?, "{record} was approved by its requester");
    let mut markers = audit.under("card_op_idem#approval_approve#");
    ensure!(markers.any(|marker| marker.opt_text("entry_id") == Some(entry.id)), "{row} has no marker of an approval");
    Ok(())
}

/// Checks that each marker that names an entry has it.
pub(super) fn markers_have_entries(audit: &Audit<'_>) -> Checked {
    for marker in audit.markers().chain(audit.events()) {
        if let (Some(home), Some(id)) = (marker.opt_text("entry_home"), marker.opt_text("entry_id")) {
            // The partition of an account of the tenant's own has the account's name.
            let home = if home.contains(':') { home.replace(':', "#") } else { format!("own#{home}") };
            let home = format!("{}#{home}", audit.tenant);
            ensure!(audit.row(&home, &format!("TXN#{id}")).is_some(), "{marker} has no entry {id} in {home}");
        }
    }
    Ok(())
}

/// Checks that a marker in flight has a fencing token, a lease and a due index entry, and no expiry, and that any other
/// has a response and an expiry, and is not due.
pub(super) fn markers_are_in_one_state(audit: &Audit<'_>) -> Checked {
    for marker in audit.markers() {
        let state = marker.text("state")?;
        let absent = |names: &[&'static str]| names.iter().copied().find(|name| !marker.has(name));
        let present = |names: &[&'static str]| names.iter().copied().find(|name| marker.has(name));
        let (missing, foreign) = if is_in_flight(marker.item) {
            let operation = marker.text("operation")?;
            ensure!(["topup", "topup_refund"].contains(&operation), "{marker} is {state}, and calls no PSP");
            ensure_eq!(marker.has("parked"), state == "PARKED", "{marker} is {state}: whether it has `parked`");
            let foreign = present(&["ttl", "status", "body"]);
            if state == "PARKED" {
                (absent(&IN_FLIGHT), foreign.or_else(|| present(&DUE)))
            } else {
                (absent(&IN_FLIGHT).or_else(|| absent(&DUE)), foreign)
            }
        } else {
            ensure!(is_answered(marker.item) || state == "REVERSED", "{marker} is {state}");
            // A terminal's marker is kept for its reversal, however late that comes.
            let expires = is_answered(marker.item) && marker.kind() != "terminal";
            ensure_eq!(marker.has("ttl"), expires, "{marker} is {state}: whether it has `ttl`");
            // A body with a one-time secret is encrypted if the fingerprint has a key.
            let body = if marker.has("encrypted_body") && marker.has("fp_key") { "encrypted_body" } else { "body" };
            // A step that no request carries has no fingerprint.
            let operation = marker.text("operation")?;
            let is_step = STEPS.contains(&operation);
            let response: &[_] = match (is_answered(marker.item), is_step) {
                (true, true) => &["status", body],
                (true, false) => &["status", body, "fp", "fp_key"],
                (false, _) => &[],
            };
            (absent(response), present(&["_due_pk", "_due_sk", "lease_until", "parked"]))
        };
        let is_listed = marker.opt_text("owner_pk").is_some_and(|of| of.contains("#attention#"));
        ensure_eq!(is_listed, state == "PARKED", "{marker} is {state}: whether it is listed for review");
        if let Some(name) = missing {
            return Err(format!("{marker} is {state} without `{name}`"));
        }
        if let Some(name) = foreign {
            return Err(format!("{marker} is {state} with `{name}`"));
        }
    }
    Ok(())
}

/// Checks that markers of events expire, and that a kept event is listed until an operator dismisses it.
pub(super) fn events_markers_expire(audit: &Audit<'_>) -> Checked {
    for marker in audit.events() {
        ensure!(marker.has("ttl") && marker.has("processed_at"), "{marker} has no `ttl` or `processed_at`");
    }
    for kept in audit.under("kept") {
        let (is_listed, is_dismissed) = (kept.has("owner_pk"), kept.has("dismissed_at"));
        ensure!(is_listed != is_dismissed, "{kept}: listed is {is_listed}, dismissed is {is_dismissed}");
    }
    Ok(())
}

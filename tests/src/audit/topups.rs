//! Audits top-ups: their credits, what of them can be refunded, and the entries about them.

use super::Checked;
use super::index::Audit;
use super::postings::Sums;
use super::rows::Row;
use rust_decimal::Decimal;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The charges of unpaid top-ups, by customer and asset.
pub(super) fn reserved_for_topups(audit: &Audit<'_>) -> Result<Sums, String> {
    let mut sums = Sums::new();
    for topup in audit.named("TOPUP").filter(|topup| is_open(*topup)) {
        *sums.entry((wallet(topup)?, "ECOPAY".to_owned())).or_default() += topup.number("charge")?;
    }
    Ok(sums)
}

/// Checks that exactly the top-ups that succeeded were credited, once.
pub(super) fn topups_are_credited_once(audit: &Audit<'_>) -> Checked {
    for topup in audit.named("TOPUP") {
        let state = topup.text("state")?;
        let states = ["requested", "pending", "succeeded", "canceled", "refused"];
        ensure!(states.contains(&state), "{topup} is {state}");
        has_entries(audit, topup, "topup", "credit", "topup_id", usize::from(state == "succeeded"))?;
    }
    Ok(())
}

/// Checks that what is refundable of a top-up is its charge, if it succeeded, less what refunds and clawbacks took, and
/// that the points taken back are those that they settled.
pub(super) fn refundable_equals_charge_less_taken(audit: &Audit<'_>) -> Checked {
    for topup in audit.named("TOPUP") {
        let succeeded = topup.text("state")? == "succeeded";
        let mut refundable = if succeeded { topup.number("charge")? } else { Decimal::ZERO };
        let mut settled = Decimal::ZERO;
        for refund in audit.within(topup.pk, "REFUND#") {
            ensure!(succeeded, "{refund} refunds a top-up that was never paid");
            if refund.text("state")? != "failed" {
                refundable -= refund.number("amount")?;
                settled += refund.opt_number("settled")?;
            }
        }
        ensure!(refundable >= Decimal::ZERO, "{topup}: more is refunded than was charged");
        for clawback in audit.within(topup.pk, "CLAWBACK#") {
            if clawback.text("state")? == "taken" {
                refundable -= clawback.number("amount")?;
                settled += clawback.opt_number("settled")?;
            }
        }
        ensure_eq!(topup.opt_number("refundable")?, refundable, "{topup}: `refundable`");
        ensure_eq!(topup.opt_number("points_taken_back")?, settled, "{topup}: `points_taken_back`");
    }
    Ok(())
}

/// Checks that top-ups and refunds of top-ups are due while the ledger waits for the PSP, and only then, and that the
/// request of a record without an object at the PSP has no stored response.
pub(super) fn open_records_are_due(audit: &Audit<'_>) -> Checked {
    let refunds = audit.under("REFUND#").filter(|refund| refund.kind() == "topup");
    let refunds = refunds.map(|refund| (refund, "topup_refund"));
    for (record, operation) in audit.named("TOPUP").map(|topup| (topup, "topup")).chain(refunds) {
        let (state, is_due) = (record.text("state")?, record.has("_due_pk"));
        ensure!(is_open(record) || !is_due, "{record} is {state} and due");
        // The marker of a requested refund is due, and the refund itself is not.
        let waits = is_open(record) && (operation == "topup" || state == "pending");
        ensure!(is_due || !waits, "{record} is {state} and not due");
        if state == "requested" {
            let marker = audit.marker_of(record, operation)?;
            let is_answered = marker.is_some_and(|marker| super::markers::is_answered(marker.item));
            ensure!(!is_answered, "{record} is requested, and its request has a stored response");
        }
    }
    Ok(())
}

/// Checks that every entry about a top-up, a refund of one or a clawback has that record, of the same customer.
pub(super) fn entries_have_records(audit: &Audit<'_>) -> Checked {
    for entry in &audit.entries {
        let Some(topup) = entry.row.opt_text("topup_id") else { continue };
        let of = format!("{}#topup#{topup}", audit.tenant);
        let Some(topup) = audit.row(&of, "TOPUP") else { return Err(format!("{} is of no top-up", entry.row)) };
        ensure_eq!(format!("customer:{}", entry.row.id()), wallet(topup)?, "{}: the customer", entry.row);
        let record = match (entry.row.opt_text("refund_id"), entry.operation) {
            (Some(refund), _) => format!("REFUND#{refund}"),
            (None, "clawback" | "clawback_returned") => format!("CLAWBACK#{}", entry.row.text("psp_id")?),
            (None, _) => "TOPUP".to_owned(),
        };
        ensure!(audit.row(&of, &record).is_some(), "{} has no {record}", entry.row);
    }
    Ok(())
}

/// Checks that a record has `count` entries of an operation, and that each is in the table under the id of its step.
/// `name` is the attribute of the record's id.
pub(super) fn has_entries(
    audit: &Audit<'_>,
    record: Row<'_>,
    operation: &str,
    step: &str,
    name: &'static str,
    count: usize,
) -> Checked {
    let id = record.text(name)?;
    let entries = audit.entries_of(operation, name, id);
    ensure_eq!(entries.count(), count, "{record}: the number of entries of `{operation}`");
    for entry in audit.entries_of(operation, name, id) {
        ensure!(is_of_step(entry.id, id, step), "{}: its id is not that of the step `{step}` of {record}", entry.row);
        ensure_eq!(entry.row.sk, format!("TXN#{}", entry.id), "{}: the sort key", entry.row);
    }
    Ok(())
}

/// Whether the ledger waits for the PSP.
pub(super) fn is_open(record: Row<'_>) -> bool {
    record.opt_text("state").is_some_and(|state| ["requested", "pending"].contains(&state))
}

/// The account of a top-up's customer.
pub(super) fn wallet(topup: Row<'_>) -> Result<String, String> {
    Ok(format!("customer:{}", topup.text("customer_id")?))
}

/// Whether an entry's id is that of a step: a UUIDv7 whose random bits are the digest of `<id>/<step>`, so that every
/// process derives the same id.
fn is_of_step(entry: &str, id: &str, step: &str) -> bool {
    let Ok(entry) = Uuid::parse_str(entry) else { return false };
    let (bytes, digest) = (entry.as_bytes(), Sha256::digest(format!("{id}/{step}")));
    let random = [bytes[6] & 0x0f, bytes[7], bytes[8] & 0x3f];
    bytes[6] >> 4 == 7 && random == [digest[0] & 0x0f, digest[1], digest[2] & 0x3f] && bytes[9..] == digest[3..10]
}

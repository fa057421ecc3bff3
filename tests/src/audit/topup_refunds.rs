//! Audits refunds of top-ups.

use super::Checked;
use super::index::Audit;
use super::postings::Sums;
use super::rows::Row;
use super::topups::{has_entries, is_open, wallet};
use ledger_core::dynamo::{Attributes, Item};

/// The money and points that open refunds of top-ups hold, by customer and asset.
pub(super) fn held_for_refunds(audit: &Audit<'_>) -> Result<Sums, String> {
    let mut sums = Sums::new();
    for topup in audit.named("TOPUP") {
        for refund in audit.within(topup.pk, "REFUND#").filter(|refund| is_open(*refund)) {
            for (name, asset) in [("amount", "ECOPAY"), ("points", "POINT")] {
                let held = refund.opt_number(name)?;
                if !held.is_zero() {
                    *sums.entry((wallet(topup)?, asset.to_owned())).or_default() += held;
                }
            }
        }
    }
    Ok(sums)
}

/// Checks that a refund has one entry that holds its money, and those that its state says: one that pays it out, or
/// one that returns it.
pub(super) fn refunds_have_entries(audit: &Audit<'_>) -> Checked {
    for refund in refunds(audit) {
        let (state, id) = (refund.text("state")?, refund.text("refund_id")?);
        let count = |operation| audit.entries_of(operation, "refund_id", id).count();
        has_entries(audit, refund, "topup_refund", "hold", "refund_id", 1)?;
        let paid = count("topup_refund_paid");
        has_entries(audit, refund, "topup_refund_paid", "paid", "refund_id", paid)?;
        match (state, paid) {
            ("requested" | "pending", 0) | ("succeeded", 1) | ("failed", 0 | 1) => {}
            (state, paid) => return Err(format!("{refund} is {state}, and was paid out {paid} times")),
        }
        // A decision that gives up a parked refund returns its money under the key of the person who decides.
        let back: Vec<_> = ["topup_refund_returned", "parked_resolve"].into_iter().filter(|of| count(of) > 0).collect();
        ensure_eq!(back.len(), usize::from(state == "failed"), "{refund} is {state}: the number of returns {back:?}");
        for operation in back {
            has_entries(audit, refund, operation, "returned", "refund_id", 1)?;
        }
    }
    Ok(())
}

/// Checks that what a refund pays out and keeps is its amount, unless a decision divided it otherwise.
pub(super) fn refunds_pay_out_their_amount(audit: &Audit<'_>) -> Checked {
    for refund in refunds(audit) {
        let amount = refund.number("amount")?;
        let of_it = refund.number("paid")? + refund.opt_number("kept")?;
        let elsewhere = refund.opt_number("suspense")? + refund.opt_number("written_off")?;
        let id = refund.text("refund_id")?;
        let is_about = |command: &Item| command.opt_text("refund_id") == Ok(Some(id));
        let is_approved =
            |of: &Row<'_>| of.opt_text("state") == Some("approved") && of.item.map("command").is_ok_and(is_about);
        let is_decided = audit.under("APPROVAL#").any(|of| is_approved(&of));
        match (is_decided, refund.text("state")?) {
            (false, _) => ensure_eq!(of_it, amount, "{refund}: what is paid and kept of the amount"),
            (true, "succeeded") => ensure_eq!(of_it + elsewhere, amount, "{refund}: what was decided of the amount"),
            (true, _) => {}
        }
    }
    Ok(())
}

fn refunds<'a>(audit: &Audit<'a>) -> impl Iterator<Item = Row<'a>> {
    audit.under("REFUND#").filter(|refund| refund.kind() == "topup")
}

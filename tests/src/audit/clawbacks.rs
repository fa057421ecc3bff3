//! Audits clawbacks: money that the PSP took back for a dispute or a refund in its dashboard, and what wallets owe for it.

use super::Checked;
use super::index::Audit;
use super::rows::Row;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Checks that a clawback has the entries that its state says: each round takes the money and may return it.
pub(super) fn clawbacks_have_entries(audit: &Audit<'_>) -> Checked {
    for topup in audit.named("TOPUP") {
        for clawback in audit.within(topup.pk, "CLAWBACK#") {
            let entries =
                [entries(audit, topup, clawback, "clawback")?, entries(audit, topup, clawback, "clawback_returned")?];
            let has_rounds = clawback.opt_number("round")? > Decimal::ZERO;
            match (clawback.text("state")?, entries) {
                ("taken", [1, 0]) | ("returned", [0, 0] | [1, 1]) => {}
                ("taken", [2, 1]) | ("returned", [2, 2]) if has_rounds => {}
                (state, [taken, returned]) => {
                    return Err(format!(
                        "{clawback} is {state}, and was taken {taken} times, returned {returned} times"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Checks that what each wallet owes is what its entries post to the tenant's account `disputes`, and not negative.
/// So the account `disputes` is the negated sum of what all wallets owe.
pub(super) fn disputes_equal_owed(audit: &Audit<'_>) -> Checked {
    let mut owed = BTreeMap::<(&str, String), Decimal>::new();
    for entry in &audit.entries {
        for posting in entry.postings.iter().filter(|posting| posting.account == "disputes") {
            *owed.entry((entry.row.pk, format!("BALANCE#{}", posting.asset))).or_default() -= posting.delta;
        }
    }
    for wallet in audit.under("BALANCE#") {
        let posted = owed.remove(&(wallet.pk, wallet.sk.to_owned())).unwrap_or_default();
        ensure_eq!(wallet.opt_number("owed")?, posted, "{wallet}: `owed`");
        ensure!(posted >= Decimal::ZERO, "{wallet} owes {posted}");
    }
    let of_none = owed.iter().find(|(_, sum)| !sum.is_zero());
    ensure!(of_none.is_none(), "owed by a wallet that does not exist: {of_none:?}");
    Ok(())
}

fn entries(audit: &Audit<'_>, topup: Row<'_>, clawback: Row<'_>, operation: &str) -> Result<usize, String> {
    let of_it = clawback.text("psp_id")?;
    let all = audit.entries_of(operation, "topup_id", topup.text("topup_id")?);
    Ok(all.filter(|entry| entry.row.opt_text("psp_id") == Some(of_it)).count())
}

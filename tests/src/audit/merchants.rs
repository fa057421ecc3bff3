//! Audits merchants: what payments and refunds owe them, and what of it has been credited.

use super::Checked;
use super::credits::{Kind, credits_by_seals, letters, owed};
use super::holds::was_never_captured;
use super::index::Audit;
use super::periods::SIDES;
use super::postings::Sums;
use super::rows::Row;
use std::collections::BTreeSet;

/// The rows that owe or may owe a merchant: payments, and refunds of payments.
pub(super) fn records<'a>(audit: &Audit<'a>) -> impl Iterator<Item = Row<'a>> {
    audit.named("PAYMENT").chain(audit.under("REFUND#").filter(|refund| refund.kind() == "payment"))
}

/// Checks that a merchant's postings are what its records owe it and what its settlements moved.
pub(super) fn merchants_are_owed_what_is_posted(audit: &Audit<'_>) -> Checked {
    let mut sums = audit.posted.settled.clone();
    for record in records(audit) {
        for (asset, delta) in owed(record)? {
            let merchant = format!("merchant:{}", record.text("merchant_id")?);
            *sums.entry((merchant, asset)).or_default() += delta;
        }
    }
    for cash in credits_by_seals(audit)?.into_iter().filter(|credit| credit.kind != Kind::Trade) {
        let merchant = cash.merchant_pk.replacen(&format!("{}#merchant#", audit.tenant), "merchant:", 1);
        for (asset, delta) in cash.owed {
            *sums.entry((merchant.clone(), asset.to_owned())).or_default() += delta;
        }
    }
    equal_for_merchants(&sums, &audit.posted.available, "owed by its records, cash and settlements")
}

/// Checks that each record owes something to its merchant unless it was never captured, and is listed by the merchant.
pub(super) fn records_are_listed_by_merchants(audit: &Audit<'_>) -> Checked {
    for record in records(audit) {
        let is_owed = !owed(record)?.is_empty() || was_never_captured(record);
        ensure!(is_owed, "{record} owes nothing to its merchant");
        for name in ["owner_pk", "owner_sk"] {
            ensure!(record.opt_text(name).is_some(), "{record} is not listed by its merchant: it has no `{name}`");
        }
    }
    Ok(())
}

/// Checks that merchants' balances, with the sums of their open periods, and the entries that are not yet credited, are
/// their postings.
pub(super) fn balances_equal_postings(audit: &Audit<'_>) -> Checked {
    let (mut available, mut held) = (Sums::new(), Sums::new());
    for balance in audit.under("BALANCE#").filter(|row| row.kind() == "merchant") {
        let account = (format!("merchant:{}", balance.id()), balance.sk.replace("BALANCE#", ""));
        let on_hold = balance.opt_number("held")?;
        ensure!(!on_hold.is_sign_negative() || on_hold.is_zero(), "{balance} holds {on_hold}");
        *held.entry(account.clone()).or_default() += on_hold;
        *available.entry(account).or_default() += balance.number("balance")?;
    }
    for lane in audit.under("CREDITED#") {
        for (side, sign) in SIDES {
            for (name, suffix) in lane.item.keys().filter_map(|name| Some((name, name.strip_prefix(side)?))) {
                let asset = asset_named(audit, suffix);
                let account = (format!("merchant:{}", lane.id()), asset.unwrap_or_else(|| suffix.to_owned()));
                *available.entry(account).or_default() += sign * lane.number(name)?;
            }
        }
    }
    for credit in credits_by_seals(audit)?.into_iter().filter(|credit| !credit.row.has("_credited_at")) {
        let merchant = credit.merchant_pk.replacen(&format!("{}#merchant#", audit.tenant), "merchant:", 1);
        for (asset, delta) in credit.owed {
            *available.entry((merchant.clone(), asset.to_owned())).or_default() += delta;
        }
    }
    equal_for_merchants(&available, &audit.posted.available, "available and not yet credited")?;
    equal_for_merchants(&held, &audit.posted.held, "held")
}

/// Checks that each returned payout, which is in the balance from the start, is in its merchant's partition, where settlements
/// list it, and due for no worker.
pub(super) fn returned_payouts_are_listed(audit: &Audit<'_>) -> Checked {
    for record in audit.under("RETURNED#") {
        ensure!(record.has("credited_at"), "{record} is not credited");
        ensure!(!record.has("_due_pk"), "{record} is due");
        let home = format!("{}#merchant#{}", audit.tenant, record.text("merchant_id")?);
        ensure_eq!(record.pk, home, "{record}: the partition");
    }
    Ok(())
}

/// The posted asset whose name has the letters of an attribute's suffix such as `regional_aoba`.
fn asset_named(audit: &Audit<'_>, suffix: &str) -> Option<String> {
    let mut assets = audit.posted.available.keys().map(|(_, asset)| asset);
    assets.find(|asset| letters(asset) == letters(suffix)).cloned()
}

/// Checks that two sums of each merchant are equal. An absent sum is zero.
fn equal_for_merchants(sums: &Sums, posted: &Sums, what: &str) -> Checked {
    let accounts: BTreeSet<_> = sums.keys().chain(posted.keys()).collect();
    for account in accounts.into_iter().filter(|(account, _)| account.starts_with("merchant:")) {
        let of = |sums: &Sums| sums.get(account).copied().unwrap_or_default();
        ensure_eq!(of(sums), of(posted), "{} {}: what is {what}", account.0, account.1);
    }
    Ok(())
}

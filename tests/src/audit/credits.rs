//! Audits what credits merchants: the transaction that seals an entry.

use super::Checked;
use super::holds::by_asset;
use super::index::Audit;
use super::merchants::records;
use super::postings::Entry;
use super::rows::Row;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// Which sums of a period an entry counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Payments and refunds.
    Trade,
    /// Cash that the merchant owes, and its reversal.
    Cash,
    /// Money that the merchant brought, and its reversal.
    Deposit,
}

/// An entry whose seal credits its merchant.
pub(super) struct Credit<'a> {
    pub(super) row: Row<'a>,
    /// The partition key of its merchant.
    pub(super) merchant_pk: String,
    /// Which sums it counts in.
    pub(super) kind: Kind,
    /// What it owes, by asset.
    pub(super) owed: BTreeMap<&'a str, Decimal>,
}

impl<'a> Credit<'a> {
    /// The lane and the number of the segment in its stamp; `None` before it is sealed.
    pub(super) fn segment(&self) -> Result<Option<(&'a str, u64)>, String> {
        let Some(stamp) = self.row.opt_text("_sealed") else { return Ok(None) };
        let parts = stamp.strip_prefix('L').and_then(|place| place.split_once('/'));
        let place = parts.and_then(|(lane, number)| Some((lane, number.parse().ok()?)));
        place.map(Some).ok_or_else(|| format!("{} is credited and sealed in no lane: {stamp}", self.row))
    }
}

/// The entries whose seals credit their merchants.
pub(super) fn credits_by_seals<'a>(audit: &Audit<'a>) -> Result<Vec<Credit<'a>>, String> {
    let entries = audit.entries.iter().filter(|entry| entry.row.has("credited_by"));
    entries.map(|entry| credit(audit, entry)).collect()
}

fn credit<'a>(audit: &Audit<'a>, entry: &Entry<'a>) -> Result<Credit<'a>, String> {
    let row = entry.row;
    let kind = match row.opt_text("cash") {
        Some("owed") => Kind::Cash,
        Some("deposited") => Kind::Deposit,
        Some(_) | None => Kind::Trade,
    };
    let by = match (kind, row.has("refund_room")) {
        (Kind::Cash, _) => "seal_cash",
        (Kind::Deposit, _) => "seal_deposit",
        (Kind::Trade, true) => "seal_room",
        (Kind::Trade, false) => "seal",
    };
    ensure_eq!(row.text("credited_by")?, by, "{row}: `credited_by`");
    let reverses_cash = entry.operation == "card_reverse" && row.opt_text("reverses_operation") == Some("card_topup");
    let is_of_deposits = matches!(entry.operation, "cash_deposit" | "cash_deposit_reversal");
    ensure_eq!(kind == Kind::Deposit, is_of_deposits, "{row}: whether it is of a deposit");
    if is_of_deposits {
        is_deposit_or_its_reversal(audit, entry)?;
    }
    ensure_eq!(kind == Kind::Cash, entry.operation == "card_topup" || reverses_cash, "{row}: whether it is of cash");
    ensure!(!entry.operation.starts_with("settlement_"), "{row} of a settlement is credited twice");
    let owed = to_merchants(entry);
    let merchants: BTreeSet<&str> = owed.keys().map(|(merchant, _)| *merchant).collect();
    ensure_eq!(merchants.len(), 1, "{row}: the number of merchants that its seal credits");
    let merchant_pk = format!("{}#{}", audit.tenant, merchants.first().unwrap_or(&"").replace(':', "#"));
    Ok(Credit { row, merchant_pk, kind, owed: owed.into_iter().map(|((_, asset), delta)| (asset, delta)).collect() })
}

/// Checks that a deposit gives to its merchant, and that a reversal takes back what a deposit of the merchant gave, once: the
/// mark of the deposit names the reversal.
fn is_deposit_or_its_reversal(audit: &Audit<'_>, entry: &Entry<'_>) -> Checked {
    let (row, owed) = (entry.row, to_merchants(entry));
    if entry.operation == "cash_deposit" {
        ensure!(owed.values().all(Decimal::is_sign_positive), "{row} is a deposit and takes from its merchant");
        return Ok(());
    }
    let id = row.text("reverses")?;
    let deposit = audit.row(row.pk, &format!("TXN#{id}")).ok_or_else(|| format!("{row} reverses no entry {id}"))?;
    ensure_eq!(deposit.text("operation")?, "cash_deposit", "{deposit}, which {row} reverses: its operation");
    let given = to_merchants(&Entry::read(deposit)?);
    let taken: BTreeMap<_, _> = owed.into_iter().map(|(of, delta)| (of, -delta)).collect();
    ensure_eq!(taken, given, "{row}: what it takes back");
    let mark = audit.row(row.pk, &format!("DEPOSIT_REVERSED#{id}")).ok_or_else(|| format!("{row} has no mark"))?;
    ensure_eq!(mark.text("transaction_id")?, entry.id, "{mark}: the reversal");
    Ok(())
}

/// What an entry posts to merchants, by merchant and asset.
fn to_merchants<'a>(entry: &Entry<'a>) -> BTreeMap<(&'a str, &'a str), Decimal> {
    let mut owed = BTreeMap::new();
    for posting in entry.postings.iter().filter(|posting| posting.account.starts_with("merchant:")) {
        *owed.entry((posting.account, posting.asset)).or_default() += posting.delta;
    }
    owed
}

/// What a payment or refund changes in what its merchant is owed, by asset; nothing for a payment that was never captured.
pub(super) fn owed(record: Row<'_>) -> Result<BTreeMap<String, Decimal>, String> {
    if record.sk == "PAYMENT" {
        return by_asset(record, "captured_");
    }
    ensure!(record.has("parts"), "{record} has no `parts`");
    Ok(record.numbers("parts")?.into_iter().map(|(asset, delta)| (asset.to_owned(), delta)).collect())
}

/// Checks that each payment and refund owes its merchant what its entry posts, that the seal of its entry credits that, and
/// that each entry that is credited by its seal has one record.
pub(super) fn merchants_are_credited_by_seals(audit: &Audit<'_>) -> Checked {
    let entries: BTreeMap<_, _> = audit.entries.iter().map(|entry| ((entry.row.pk, entry.row.sk), entry)).collect();
    let mut named = BTreeSet::new();
    for record in records(audit) {
        let payment = audit.row(record.pk, "PAYMENT").ok_or_else(|| format!("{record} has no payment"))?;
        let mut home = format!("{}#{}", audit.tenant, payment.text("payer")?.replace(':', "#"));
        let sk = format!("TXN#{}", record.text("transaction_id")?);
        // What is returned to a card that was replaced has its entry at the one that replaced it.
        while !entries.contains_key(&(home.as_str(), sk.as_str())) {
            let next = audit.row(&home, "card").and_then(|card| card.opt_text("replaced_by"));
            let Some(next) = next else { return Err(format!("{record} has no entry {home} {sk}")) };
            home = format!("{}#card#{next}", audit.tenant);
        }
        let Some(entry) = entries.get(&(home.as_str(), sk.as_str())) else { continue };
        let merchant = format!("merchant:{}", record.text("merchant_id")?);
        let posted: BTreeMap<_, _> = to_merchants(entry)
            .into_iter()
            .map(|((to, asset), delta)| ((to.to_owned(), letters(asset)), delta))
            .collect();
        let owed = owed(record)?;
        let owed: BTreeMap<_, _> =
            owed.into_iter().map(|(asset, delta)| ((merchant.clone(), letters(&asset)), delta)).collect();
        ensure_eq!(owed, posted, "{record}: what it owes its merchant by its entry");
        let by_seal = entry.row.has("credited_by");
        ensure!(owed.is_empty() || by_seal, "{record} and {}: nothing credits the merchant", entry.row);
        ensure!(!by_seal || named.insert((entry.row.pk, entry.row.sk)), "{} has two records", entry.row);
    }
    for credit in credits_by_seals(audit)?.into_iter().filter(|credit| credit.kind == Kind::Trade) {
        ensure!(
            named.contains(&(credit.row.pk, credit.row.sk)),
            "{} is credited by its seal and has no record",
            credit.row
        );
    }
    Ok(())
}

/// Checks that an entry whose seal credits its merchant is due for that until it is sealed, and then in a period of its
/// lane; that no other entry is credited; and that a record credits nothing and is not credited, due or settled.
pub(super) fn entries_are_credited_when_sealed(audit: &Audit<'_>) -> Checked {
    for credit in credits_by_seals(audit)? {
        let row = credit.row;
        let parts = [row.has("_sealed"), row.has("_credited_at"), row.has("_period")];
        if let Some((lane, _)) = credit.segment()? {
            ensure_eq!(parts, [true; 3], "{row}: whether it is sealed, credited and in a period");
            let own = row.text("_period")?.strip_prefix('L').and_then(|period| period.split_once('/'));
            ensure_eq!(own.map(|(lane, _)| lane), Some(lane), "{row}: the lane of its period");
            continue;
        }
        ensure_eq!(parts, [false; 3], "{row}: whether it is sealed, credited and in a period");
        let due = row.opt_text("_due_pk").unwrap_or_default();
        let publish = format!("{}#due#publish#", audit.tenant);
        ensure!(due.starts_with(&publish), "{row} is not credited: `_due_pk` is {due:?}");
        let merchant = credit.merchant_pk.rsplit('#').next().unwrap_or_default();
        let names = row.opt_text("_due_sk").and_then(|due| due.split_once('#')).map(|(_, names)| names);
        ensure!(names == Some(merchant) || names == Some("published"), "{row}: `_due_sk` names {names:?}");
    }
    for entry in audit.entries.iter().filter(|entry| !entry.row.has("credited_by")) {
        let is_credited = entry.row.has("_credited_at") || entry.row.has("_period");
        ensure!(!is_credited, "{} is credited, and not by its seal", entry.row);
    }
    for record in records(audit) {
        for name in ["merchant_delta", "_credited_at", "period", "_period", "settlement_id", "_due_pk"] {
            ensure!(!record.has(name), "{record} credits nothing and has `{name}`");
        }
    }
    Ok(())
}

/// The lower-case letters and digits of an asset's name, which those of `captured_regional_aoba` are too.
pub(super) fn letters(asset: &str) -> String {
    asset.to_lowercase().replace(['#', '_', '-'], "")
}

//! Audits the journal: postings of entries, and references to entries.

use super::Checked;
use super::index::Audit;
use super::migration::is_foreign;
use super::rows::{Row, decimal, opt_text};
use ledger_core::dynamo::Value;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Sums by account and asset.
pub type Sums = BTreeMap<(String, String), Decimal>;

/// A journal entry.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) row: Row<'a>,
    pub(super) id: &'a str,
    pub(super) operation: &'a str,
    /// The operation; for an entry by a decision, the operation that the decision replaced.
    pub(super) step: &'a str,
    pub(super) postings: Vec<Posting<'a>>,
}

/// A posting of an entry.
#[derive(Debug)]
pub(super) struct Posting<'a> {
    pub(super) account: &'a str,
    pub(super) asset: &'a str,
    pub(super) delta: Decimal,
    /// Whether it changes what the account holds, and not its available balance.
    is_held: bool,
}

impl<'a> Entry<'a> {
    pub(super) fn read(row: Row<'a>) -> Result<Self, String> {
        let operation = row.text("operation")?;
        let step = match (operation, row.opt_text("decided"), row.opt_text("refund_id")) {
            ("topup_decision", Some("book"), None) => "topup",
            ("topup_decision", Some("book"), Some(_)) => "topup_refund_paid",
            ("topup_decision", Some("give_up"), Some(_)) => "topup_refund_returned",
            (operation, _, _) => operation,
        };
        let Some(Value::L(postings)) = row.item.get("postings") else { return Err(format!("{row} has no postings")) };
        ensure!(postings.len() >= 2, "{row} has fewer than two postings");
        let postings = postings.iter().map(|posting| Posting::read(row, posting)).collect::<Result<_, _>>()?;
        Ok(Self { row, id: row.text("transaction_id")?, operation, step, postings })
    }
}

impl<'a> Posting<'a> {
    fn read(row: Row<'a>, posting: &'a Value) -> Result<Self, String> {
        let read = || {
            let Value::M(posting) = posting else { return None };
            let (account, asset) = (opt_text(posting, "account")?, opt_text(posting, "asset")?);
            Some((account, asset, posting.get("delta").and_then(decimal)?, posting.get("bucket")))
        };
        let Some((account, asset, delta, bucket)) = read() else { return Err(format!("{row} posts {posting:?}")) };
        ensure!(!delta.is_zero(), "{row} posts zero to {account}");
        let is_held = match bucket {
            None => false,
            Some(Value::S(held)) if held == "held" => true,
            Some(other) => return Err(format!("{row} posts to {other:?} of {account}")),
        };
        let can_hold = account.starts_with("customer:") || account.starts_with("merchant:");
        ensure!(!is_held || can_hold, "{row} posts to what {account} holds");
        Ok(Self { account, asset, delta, is_held })
    }
}

/// The sums of postings to accounts, available and held.
#[derive(Debug, Default)]
pub(super) struct Posted {
    pub(super) available: Sums,
    pub(super) held: Sums,
    /// The part of `available` that settlements posted to merchants.
    pub(super) settled: Sums,
}

impl Posted {
    pub(super) fn of(entries: &[Entry<'_>]) -> Self {
        let mut all = Self::default();
        for entry in entries {
            for Posting { account, asset, delta, is_held } in &entry.postings {
                let key = ((*account).to_owned(), (*asset).to_owned());
                if entry.operation.starts_with("settlement_") && !is_held && account.starts_with("merchant:") {
                    *all.settled.entry(key.clone()).or_default() += delta;
                }
                let sums = if *is_held { &mut all.held } else { &mut all.available };
                *sums.entry(key).or_default() += delta;
            }
        }
        all
    }
}

impl Audit<'_> {
    /// The sum of postings by account and asset, available and held.
    #[must_use]
    pub fn sums_by_account(&self) -> Sums {
        let mut sums = self.posted.available.clone();
        for (account, held) in &self.posted.held {
            *sums.entry(account.clone()).or_default() += held;
        }
        sums
    }
}

/// Checks that each entry has an operation, an id and at least two postings other than zero, and that only customers
/// and merchants hold anything.
pub(super) fn entries_can_be_read(audit: &Audit<'_>) -> Checked {
    audit.unreadable.first().map_or(Ok(()), |why| Err(why.clone()))
}

/// Checks that the postings of each entry sum to zero per asset.
pub(super) fn entries_sum_to_zero(audit: &Audit<'_>) -> Checked {
    for Entry { row, postings, .. } in &audit.entries {
        let mut sums = BTreeMap::<&str, Decimal>::new();
        for posting in postings {
            *sums.entry(posting.asset).or_default() += posting.delta;
        }
        ensure!(sums.values().all(Decimal::is_zero), "{row} does not sum to zero: {sums:?}");
    }
    Ok(())
}

/// Checks that each reference points to an entry with the same id, operation and key.
pub(super) fn references_point_to_entries(audit: &Audit<'_>) -> Checked {
    for row in audit.under("TXNREF#").filter(|row| !is_foreign(*row)) {
        let home = format!("{}#{}", audit.tenant, row.text("home")?.replace(':', "#"));
        let Some(entry) = audit.row(&home, &row.sk.replace("TXNREF#", "TXN#")) else {
            return Err(format!("{row} refers to no entry of {home}"));
        };
        for name in ["transaction_id", "operation", "idempotency_key"] {
            ensure_eq!(row.text(name)?, entry.text(name)?, "{row}: `{name}`");
        }
    }
    Ok(())
}

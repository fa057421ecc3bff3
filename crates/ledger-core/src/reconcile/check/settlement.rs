//! The check of a settlement: the sums of its records, and its payout.

use super::Scope;
use super::bank_file::transfer_evidence;
use crate::account::Account;
use crate::ids::{MerchantId, SettlementId, Tenant};
use crate::operation::Operation;
use crate::psp::{PayoutStatus, PspId};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{
    ProviderPayout, RecordedSettlement, SettledSide, SettledSum, SettledSums, SettledTransfer, SettlementFact,
    SettlementStep, add_to_sum,
};
use crate::reconcile::num::Num;
use crate::settlements::SettlementState;
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// A settlement's facts, with sums of its records, since there may be many.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    records: Vec<RecordedSettlement>,
    stamped: i64,
    /// The merchants of the stamped payouts, of the periods and of transfers.
    merchants: BTreeSet<MerchantId>,
    /// The accounts in whose partitions its entries are.
    homes: BTreeSet<Account>,
    totals: SettledSums,
    paid: Vec<Num>,
    returns: usize,
    /// What each step posted to `bank_clearing` and to `bank`.
    banked: BTreeSet<(SettlementStep, Num, Num)>,
    /// Operations of entries that no step writes.
    unknown: BTreeSet<Operation>,
    /// The bank transfers that pay it.
    transfers: BTreeSet<SettledTransfer>,
    payouts: BTreeMap<PspId, ProviderPayout>,
}

/// What a step may post to `bank_clearing` and to `bank`. A payout by bank is on `bank_clearing`, and a return takes it from there, or
/// from `bank` once the bank has debited it.
fn to_bank(step: SettlementStep, payable: Num) -> Vec<(Num, Num)> {
    let back = Num::ZERO.minus(payable);
    match step {
        SettlementStep::Payout => vec![(payable, Num::ZERO)],
        SettlementStep::Returned | SettlementStep::ReturnApproved => vec![(back, Num::ZERO), (Num::ZERO, back)],
        SettlementStep::Hold
        | SettlementStep::HoldUndone
        | SettlementStep::Release
        | SettlementStep::ReleaseUndone
        | SettlementStep::Fee
        | SettlementStep::FeeUndone
        | SettlementStep::Unknown(_) => vec![(Num::ZERO, Num::ZERO)],
    }
}

/// What a state means for the money.
struct Meaning {
    /// The payout was posted.
    is_paid: bool,
    /// The payout was returned.
    is_returned: bool,
    /// The payment provider may have a payout.
    is_out: bool,
    /// A bank transfer was booked; `None` if that depends on how it is paid.
    is_booked: Option<bool>,
}

impl Meaning {
    fn of(state: SettlementState) -> Self {
        let (is_paid, is_returned, is_out, is_booked) = match state {
            SettlementState::Collecting
            | SettlementState::Held
            | SettlementState::Verified
            | SettlementState::Released
            | SettlementState::Charged
            | SettlementState::Carried
            | SettlementState::Undone => (false, false, false, Some(false)),
            SettlementState::Paying => (false, false, true, Some(false)),
            SettlementState::Booked => (true, false, false, Some(true)),
            SettlementState::Paid => (true, false, true, Some(false)),
            SettlementState::Returned => (true, true, false, None),
        };
        Self { is_paid, is_returned, is_out, is_booked }
    }
}

impl Sums {
    pub(super) fn take(&mut self, fact: SettlementFact) {
        match fact {
            SettlementFact::Record(record) => {
                if !self.records.contains(&record) {
                    self.records.push(record);
                }
            }
            SettlementFact::Stamp(stamp) => {
                self.merchants.insert(stamp.merchant);
                self.stamped = self.stamped.saturating_add(1);
                for (asset, delta) in stamp.delta {
                    add_to_sum(&mut self.totals, SettledSum { side: SettledSide::PayoutsReturned, asset }, delta);
                }
            }
            SettlementFact::Period(period) => {
                self.merchants.insert(period.merchant);
                self.stamped = self.stamped.saturating_add(period.records);
                period.totals.into_iter().for_each(|(of, more)| add_to_sum(&mut self.totals, of, more));
            }
            SettlementFact::Entry(entry) => {
                self.homes.insert(entry.home);
                let _ = self.banked.insert((entry.step, entry.booked, entry.bank));
                match entry.step {
                    SettlementStep::Payout => self.paid.push(entry.out),
                    SettlementStep::Returned | SettlementStep::ReturnApproved => {
                        self.returns = self.returns.saturating_add(1);
                    }
                    SettlementStep::Unknown(operation) => drop(self.unknown.insert(operation)),
                    // Their postings are in the sums of the merchant's accounts.
                    SettlementStep::Hold
                    | SettlementStep::HoldUndone
                    | SettlementStep::Release
                    | SettlementStep::ReleaseUndone
                    | SettlementStep::Fee
                    | SettlementStep::FeeUndone => {}
                }
            }
            SettlementFact::Transfer(transfer) => {
                self.merchants.insert(transfer.merchant);
                let _ = self.transfers.insert(transfer);
            }
            SettlementFact::ProviderPayout(payout) => drop(self.payouts.insert(payout.id.clone(), payout)),
        }
    }

    pub(super) fn check(&self, tenant: &Tenant, id: SettlementId, scope: &Scope) -> Vec<Finding> {
        let subject = format!("settlement:{id}");
        let new = |expected: String, found: String| {
            let differs = Finding::new(tenant, BreakKind::SettlementDiffers, &subject).expected(expected).found(found);
            let transfers = self.transfers.iter().map(|transfer| transfer_evidence(transfer.day, id));
            differs.by(self.homes.iter().map(Account::to_string)).by(transfers)
        };
        let merchants = || self.merchants.iter().map(|merchant| Account::Merchant(*merchant).to_string());
        let [record] = self.records.as_slice() else {
            let mut findings = self.without_settlement(tenant, &subject);
            if !self.records.is_empty() {
                let found = format!("{} records of it", self.records.len());
                findings.push(new("one settlement".to_owned(), found).by(merchants()));
            } else if self.stamped > 0 || !self.homes.is_empty() || !self.transfers.is_empty() {
                let found = format!("{} records of none", self.stamped);
                findings.push(new("a settlement".to_owned(), found).by(merchants()));
            }
            return findings;
        };
        let mut findings = Vec::new();
        let merchant = Account::Merchant(record.merchant);
        if let Some(operation) = self.unknown.first() {
            findings.push(new("entries of its steps".to_owned(), format!("one of {operation}")));
        }
        let others =
            self.merchants.iter().map(|merchant| Account::Merchant(*merchant)).chain(self.homes.iter().copied());
        if let Some(other) = others.into_iter().find(|other| *other != merchant) {
            findings.push(new(merchant.to_string(), other.to_string()).by(merchants()));
        }
        if self.stamped != record.records {
            findings.push(new(format!("{} records", self.stamped), record.records.to_string()));
        }
        if self.totals != record.totals {
            findings.push(new(shown(&self.totals), shown(&record.totals)));
        }
        let RecordedSettlement { net, fee, tax, payable, .. } = record;
        let Meaning { is_paid, is_returned, .. } = Meaning::of(record.state);
        if is_paid && *net != fee.plus(*tax).plus(*payable) {
            findings.push(new(format!("{net} in parts"), format!("{fee}, {tax} and {payable}")));
        }
        let expected: &[Num] = if is_paid && !payable.is_zero() { &[*payable] } else { &[] };
        if self.paid != expected {
            let all = |sums: &[Num]| sums.iter().map(Num::to_string).collect::<Vec<_>>().join(", ");
            findings.push(new(format!("paid: {}", all(expected)), format!("posted: {}", all(&self.paid))));
        }
        if self.returns != usize::from(is_returned) {
            let expected = format!("{}: {} returns", record.state, usize::from(is_returned));
            findings.push(new(expected, self.returns.to_string()));
        }
        findings.extend(self.banked(record).map(|(expected, found)| new(expected, found)));
        findings.extend(self.transfer(record).map(|(expected, found)| {
            let day = record.transfer_on.filter(|_| self.transfers.is_empty());
            new(expected, found).by(day.map(|day| transfer_evidence(day, id)))
        }));
        findings.truncate(1);
        findings.extend(self.provider(tenant, &subject, record, scope));
        findings.into_iter().map(|finding| finding.by([merchant.to_string()])).collect()
    }

    /// The first step that posted something else to the accounts of the bank than it may, as expected and found.
    fn banked(&self, record: &RecordedSettlement) -> Option<(String, String)> {
        let payable = if record.is_by_bank { record.payable } else { Num::ZERO };
        let is_wrong = |(step, booked, bank): &&(_, _, _)| !to_bank(*step, payable).contains(&(*booked, *bank));
        let (step, booked, bank) = self.banked.iter().find(is_wrong)?;
        let shown = |(booked, bank): &(Num, Num)| format!("{booked} to bank_clearing and {bank} to bank");
        let expected: Vec<String> = to_bank(*step, payable).iter().map(shown).collect();
        Some((expected.join(", or "), shown(&(*booked, *bank))))
    }

    /// What of the bank transfer differs from the record, as expected and found.
    fn transfer(&self, record: &RecordedSettlement) -> Option<(String, String)> {
        let RecordedSettlement { state, payable, transfer_on, .. } = record;
        let Meaning { is_returned, is_booked, .. } = Meaning::of(*state);
        let transfers: Vec<&SettledTransfer> = self.transfers.iter().collect();
        let is_right = match (transfers.as_slice(), is_booked.unwrap_or(record.is_by_bank)) {
            ([], false) => true,
            ([of], true) => Some(of.day) == *transfer_on && of.amount == *payable && of.is_returned == is_returned,
            (_, false | true) => false,
        };
        let shown = |of: &&SettledTransfer| {
            let returned = if of.is_returned { ", returned" } else { "" };
            format!("{} on {}{returned}", of.amount, of.day)
        };
        let found = || transfers.iter().map(shown).collect::<Vec<_>>().join("; ");
        let expected = || match (is_booked.unwrap_or(record.is_by_bank), transfer_on) {
            (true, Some(day)) => format!("{state}: a transfer of {payable} on {day}"),
            (true, None) => format!("{state}: a transfer of {payable} on a day"),
            (false, _) => format!("{state}: no transfer"),
        };
        (!is_right).then(|| (expected(), format!("{} transfers: {}", transfers.len(), found())))
    }

    /// The payouts that have not failed.
    fn standing(&self) -> impl Iterator<Item = &ProviderPayout> {
        self.payouts.values().filter(|payout| match payout.status {
            PayoutStatus::Sent => true,
            PayoutStatus::Failed => false,
        })
    }

    /// Checks the payment provider's payouts against the record.
    fn provider(&self, tenant: &Tenant, subject: &str, record: &RecordedSettlement, scope: &Scope) -> Option<Finding> {
        let payable = record.payable;
        let new = |kind, expected: String, found: String| {
            let ids = self.payouts.keys().map(ToString::to_string);
            Some(Finding::new(tenant, kind, subject).expected(expected).found(found).by(ids))
        };
        let left: Vec<&ProviderPayout> = self.standing().collect();
        let Meaning { is_paid, is_out, .. } = Meaning::of(record.state);
        let is_wrong =
            |payout: &&ProviderPayout| payout.amount != payable || payout.merchant != record.merchant || !is_out;
        if left.iter().any(is_wrong) || left.len() > 1 {
            let all: Vec<String> = left.iter().map(|payout| payout.amount.to_string()).collect();
            let expected = if is_out { format!("{payable} paid once") } else { format!("nothing: {}", record.state) };
            return new(BreakKind::PayoutDiffers, expected, format!("{} at the provider", all.join(", ")));
        }
        let was_listed = |at: i64| {
            let at = Timestamp::from_millis(at);
            scope.listed.is_some_and(|(since, until)| since <= at && at <= until)
        };
        match record.provider_paid_at {
            Some(at) if is_paid && is_out && left.is_empty() && was_listed(at) => {
                let found = if self.payouts.is_empty() { "none" } else { "failed" };
                new(BreakKind::PayoutMissing, format!("{payable} paid by the provider"), found.to_owned())
            }
            Some(_) | None => None,
        }
    }

    /// The breaks of payouts at the provider without a settlement.
    fn without_settlement(&self, tenant: &Tenant, subject: &str) -> Vec<Finding> {
        let finding = |payout: &ProviderPayout| {
            let found = format!("{} at the provider", payout.amount);
            let new = Finding::new(tenant, BreakKind::PayoutDiffers, subject).expected("a settlement").found(found);
            new.by([payout.id.to_string(), Account::Merchant(payout.merchant).to_string()])
        };
        self.standing().map(finding).collect()
    }
}

pub(super) fn shown(sums: &SettledSums) -> String {
    sums.iter().map(|(of, num)| format!("{num} {of}")).collect::<Vec<_>>().join(", ")
}

//! A settlement: what its records add up to, and what was paid.

use super::Scope;
use crate::ids::{SettlementId, Tenant};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::Fact;
use crate::reconcile::num::{Num, Nums};
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// A settlement's facts, added up: its records may be many.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    record: Option<Record>,
    stamped: i64,
    merchant: String,
    totals: Nums,
    paid: Vec<Num>,
    returns: usize,
    payouts: BTreeMap<String, Payout>,
}

/// The payment provider's payout.
#[derive(Clone, Debug)]
struct Payout {
    merchant: String,
    amount: Num,
    failed: bool,
}

#[derive(Clone, Debug)]
struct Record {
    merchant: String,
    state: String,
    records: i64,
    totals: Nums,
    parts: [Num; 4],
    provider_paid_at: Option<i64>,
}

impl Sums {
    pub(super) fn take(&mut self, fact: Fact) {
        if let Fact::Settlement { merchant, state, records, totals, parts, provider_paid_at } = fact {
            self.record = Some(Record { merchant, state, records, totals, parts, provider_paid_at });
        } else if let Fact::Stamped { merchant, delta, came_back } = fact {
            self.merchant = merchant;
            self.stamped = self.stamped.saturating_add(1);
            for (asset, delta) in delta {
                let (side, size) = match (came_back, delta.is_negative()) {
                    (true, _) => ("came_back", delta),
                    (false, true) => ("refunded", Num::ZERO.minus(delta)),
                    (false, false) => ("taken", delta),
                };
                let sum = self.totals.entry(format!("{side} {asset}")).or_default();
                *sum = sum.plus(size);
            }
        } else if let Fact::SettlementEntry { operation, out } = fact {
            match operation.as_str() {
                "settlement_payout" => self.paid.push(out),
                "settlement_returned" | "settlement_return_approve" => self.returns = self.returns.saturating_add(1),
                _ => {}
            }
        } else if let Fact::PaidOut { id, merchant, amount, failed } = fact {
            self.payouts.insert(id, Payout { merchant, amount, failed });
        }
    }

    pub(super) fn check(&self, tenant: &Tenant, id: SettlementId, scope: &Scope) -> Vec<Finding> {
        let subject = format!("settlement:{id}");
        let new = |expected: String, found: String| {
            Finding::new(tenant, BreakKind::SettlementDiffers, &subject).expected(expected).found(found)
        };
        let Some(record) = &self.record else {
            let mut findings = self.unasked(tenant, &subject);
            if self.stamped > 0 || !self.paid.is_empty() || self.returns > 0 {
                let none = new("a settlement".to_owned(), format!("{} records of none", self.stamped));
                findings.push(none.by([self.merchant.clone()]));
            }
            return findings;
        };
        let mut findings = Vec::new();
        if self.stamped != record.records {
            findings.push(new(format!("{} records", self.stamped), record.records.to_string()));
        }
        if self.totals != record.totals {
            findings.push(new(shown(&self.totals), shown(&record.totals)));
        }
        let [net, fee, tax, payable] = record.parts;
        let came_back = record.state == "returned";
        let is_paid = record.state == "paid" || came_back;
        if is_paid && net != fee.plus(tax).plus(payable) {
            findings.push(new(format!("{net} in parts"), format!("{fee}, {tax} and {payable}")));
        }
        let expected: &[Num] = if is_paid && !payable.is_zero() { &[payable] } else { &[] };
        if self.paid != expected {
            let all = |sums: &[Num]| sums.iter().map(Num::to_string).collect::<Vec<_>>().join(", ");
            findings.push(new(format!("paid: {}", all(expected)), format!("posted: {}", all(&self.paid))));
        }
        if self.returns != usize::from(came_back) {
            findings
                .push(new(format!("{}: {} returns", record.state, usize::from(came_back)), self.returns.to_string()));
        }
        findings.truncate(1);
        findings.extend(self.provider(tenant, &subject, record, scope));
        findings.into_iter().map(|finding| finding.by([record.merchant.clone()])).collect()
    }

    /// The payment provider's payouts, against the record.
    fn provider(&self, tenant: &Tenant, subject: &str, record: &Record, scope: &Scope) -> Option<Finding> {
        let [_, _, _, payable] = record.parts;
        let says = |kind, expected: String, found: String| {
            Some(Finding::new(tenant, kind, subject).expected(expected).found(found).by(self.payouts.keys().cloned()))
        };
        let left: Vec<&Payout> = self.payouts.values().filter(|payout| !payout.failed).collect();
        let is_out = matches!(record.state.as_str(), "paying" | "paid");
        let wrong = left.iter().any(|payout| payout.amount != payable || !is_out) || left.len() > 1;
        if wrong {
            let all: Vec<String> = left.iter().map(|payout| payout.amount.to_string()).collect();
            let expected = if is_out { format!("{payable} paid once") } else { format!("nothing: {}", record.state) };
            return says(BreakKind::PayoutDiffers, expected, format!("{} at the provider", all.join(", ")));
        }
        let was_listed = |at: i64| {
            let at = Timestamp::from_millis(at);
            scope.listed.is_some_and(|(since, until)| since <= at && at <= until)
        };
        match record.provider_paid_at {
            Some(at) if record.state == "paid" && left.is_empty() && was_listed(at) => {
                let found = if self.payouts.is_empty() { "none" } else { "failed" };
                says(BreakKind::PayoutMissing, format!("{payable} paid by the provider"), found.to_owned())
            }
            Some(_) | None => None,
        }
    }

    /// Payouts at the provider that no settlement asked for.
    fn unasked(&self, tenant: &Tenant, subject: &str) -> Vec<Finding> {
        let left = self.payouts.iter().filter(|(_, payout)| !payout.failed);
        let finding = |(id, payout): (&String, &Payout)| {
            let found = format!("{} at the provider", payout.amount);
            let new = Finding::new(tenant, BreakKind::PayoutDiffers, subject).expected("a settlement").found(found);
            new.by([id.clone(), payout.merchant.clone()])
        };
        left.map(finding).collect()
    }
}

fn shown(nums: &Nums) -> String {
    nums.iter().map(|(name, num)| format!("{num} {name}")).collect::<Vec<_>>().join(", ")
}

//! A settlement: what its records add up to, and what was paid.

use crate::ids::{SettlementId, Tenant};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{Fact, Num, Nums};

/// A settlement's facts, added up: its records may be many.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    record: Option<Record>,
    stamped: i64,
    totals: Nums,
    paid: Vec<Num>,
}

#[derive(Clone, Debug)]
struct Record {
    merchant: String,
    state: String,
    records: i64,
    totals: Nums,
    parts: [Num; 4],
}

impl Sums {
    pub(super) fn take(&mut self, fact: Fact) {
        if let Fact::Settlement { merchant, state, records, totals, parts } = fact {
            self.record = Some(Record { merchant, state, records, totals, parts });
        } else if let Fact::Stamped { delta } = fact {
            self.stamped = self.stamped.saturating_add(1);
            for (asset, delta) in delta {
                let (side, size) =
                    if delta.is_negative() { ("refunded", Num::ZERO.minus(delta)) } else { ("taken", delta) };
                let sum = self.totals.entry(format!("{side} {asset}")).or_default();
                *sum = sum.plus(size);
            }
        } else if let Fact::SettlementEntry { operation, out } = fact
            && operation == "settlement_payout"
        {
            self.paid.push(out);
        }
    }

    pub(super) fn check(&self, tenant: &Tenant, id: SettlementId) -> Vec<Finding> {
        let subject = format!("settlement:{id}");
        let new = |expected: String, found: String| {
            Finding::new(tenant, BreakKind::SettlementDiffers, &subject).expected(expected).found(found)
        };
        let Some(record) = &self.record else {
            return vec![new("a settlement".to_owned(), format!("{} records of none", self.stamped))];
        };
        let mut findings = Vec::new();
        if self.stamped != record.records {
            findings.push(new(format!("{} records", self.stamped), record.records.to_string()));
        }
        if self.totals != record.totals {
            findings.push(new(shown(&self.totals), shown(&record.totals)));
        }
        let [net, fee, tax, payable] = record.parts;
        let is_paid = record.state == "paid";
        if is_paid && net != fee.plus(tax).plus(payable) {
            findings.push(new(format!("{net} in parts"), format!("{fee}, {tax} and {payable}")));
        }
        let expected: &[Num] = if is_paid && !payable.is_zero() { &[payable] } else { &[] };
        if self.paid != expected {
            let all = |sums: &[Num]| sums.iter().map(Num::to_string).collect::<Vec<_>>().join(", ");
            findings.push(new(format!("paid: {}", all(expected)), format!("posted: {}", all(&self.paid))));
        }
        findings.into_iter().map(|finding| finding.by([record.merchant.clone()])).take(1).collect()
    }
}

fn shown(nums: &Nums) -> String {
    nums.iter().map(|(name, num)| format!("{num} {name}")).collect::<Vec<_>>().join(", ")
}

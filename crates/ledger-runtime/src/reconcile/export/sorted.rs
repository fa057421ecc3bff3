//! A data file's facts, sorted into parts.

use super::line;
use crate::reconcile::spill::Spill;
use ledger_core::account::Account;
use ledger_core::crediting::PeriodId;
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::money::Asset;
use ledger_core::reconcile::{
    AccountFact, Fact, GroupFact, Limits, Num, Observation, PeriodFact, PeriodTotals, exported_item, of_item,
};
use ledger_core::time::Timestamp;
use std::collections::BTreeMap;
use std::io;

/// The number of accounts and periods for which memory holds sums.
const SUMS_MAX: usize = 200_000;

/// A data file's facts, in parts, and the findings about its single items.
pub(super) struct Sorted {
    at: Timestamp,
    pub(super) spill: Spill,
    /// The sum of what was posted to each account, and the time of the last posting. An export is of one moment, so
    /// sums serve as well as single postings; and one merchant may have postings from every customer.
    posted: BTreeMap<PostedTo, (Num, i64)>,
    /// Of each merchant's period in the same way: the sums of its entries, the time of the last, and the last segment.
    credited: BTreeMap<CreditedIn, (PeriodTotals, i64, Option<u64>)>,
    pub(super) broken: Vec<String>,
    /// The items of later releases, by tenant and by the names of their kinds.
    pub(super) newer: BTreeMap<String, BTreeMap<String, i64>>,
    pub(super) items: u64,
}

/// The side of an account that a posting changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PostedTo {
    tenant: Tenant,
    account: Account,
    asset: Asset,
    held: bool,
}

/// A merchant's period that entries were credited in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CreditedIn {
    tenant: Tenant,
    merchant: MerchantId,
    period: PeriodId,
}

impl Sorted {
    pub(super) fn new(at: Timestamp, spill: Spill) -> Self {
        Self {
            at,
            spill,
            posted: BTreeMap::new(),
            credited: BTreeMap::new(),
            broken: Vec::new(),
            newer: BTreeMap::new(),
            items: 0,
        }
    }

    /// Adds the facts and findings of a line of the data file.
    pub(super) fn take(&mut self, of: &str) -> io::Result<()> {
        let invalid_line = || io::Error::new(io::ErrorKind::InvalidData, "a line that is no item");
        let item = exported_item(of).ok_or_else(invalid_line)?;
        self.items = self.items.saturating_add(1);
        for observation in of_item(&item, self.at, Limits::default()) {
            match observation {
                Observation::Fact(fact) => self.add(fact)?,
                Observation::Break(finding) => self.broken.push(line(&finding).to_string()),
                Observation::Newer(newer) => {
                    let of_tenant = self.newer.entry(newer.tenant.to_string()).or_default();
                    let count = of_tenant.entry(newer.name.to_owned()).or_default();
                    *count = count.saturating_add(1);
                }
            }
        }
        Ok(())
    }

    /// Adds the sums to the other facts.
    pub(super) fn end(&mut self) -> io::Result<()> {
        for (PostedTo { tenant, account, asset, held }, (delta, at)) in std::mem::take(&mut self.posted) {
            let content = GroupFact::Account(account, asset, AccountFact::Posted { held, delta, at });
            self.spill.add(&Fact { tenant, content })?;
        }
        for (CreditedIn { tenant, merchant, period }, (sums, at, segment)) in std::mem::take(&mut self.credited) {
            let content = GroupFact::Period(merchant, period, PeriodFact::Credited { sums, at, segment });
            self.spill.add(&Fact { tenant, content })?;
        }
        Ok(())
    }

    fn add(&mut self, fact: Fact) -> io::Result<()> {
        match fact {
            Fact { tenant, content: GroupFact::Account(account, asset, AccountFact::Posted { held, delta, at }) } => {
                let (sum, last) =
                    self.posted.entry(PostedTo { tenant, account, asset, held }).or_insert((Num::ZERO, at));
                *sum = sum.plus(delta);
                *last = (*last).max(at);
            }
            Fact {
                tenant,
                content: GroupFact::Period(merchant, period, PeriodFact::Credited { sums, at, segment }),
            } => {
                let none = || (PeriodTotals::default(), at, segment);
                let (sum, last, last_segment) =
                    self.credited.entry(CreditedIn { tenant, merchant, period }).or_insert_with(none);
                sum.add(sums);
                *last = (*last).max(at);
                *last_segment = (*last_segment).max(segment);
            }
            fact => return self.spill.add(&fact),
        }
        if self.posted.len().saturating_add(self.credited.len()) < SUMS_MAX { Ok(()) } else { self.end() }
    }
}

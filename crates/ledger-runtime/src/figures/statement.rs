//! A merchant's month, read from the totals of its days and the entries of its settlements.

use super::balances::{closings_of, posted};
use super::read::Figures;
use crate::app::App;
use crate::problem::Problem;
use ledger_core::dynamo::{Attributes, ItemError};
use ledger_core::figures::{ChargedFee, PaidOut, StatementSums, Sums, statement};
use ledger_core::ids::{MerchantId, SettlementId, Tenant, least_born_at};
use ledger_core::journal::expand;
use ledger_core::keys::{self, Partition, TotalsOf, attr};
use ledger_core::money::{Asset, Charge, Share};
use ledger_core::reads;
use ledger_core::settlements::Settlement;
use ledger_core::terms::RegistrationNumber;
use ledger_core::time::{BusinessDate, BusinessMonth};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;
use uuid::Uuid;

/// How much later than its posting day the id of an entry may be: more than clocks differ.
const ID_MARGIN: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A merchant's month.
#[derive(Clone, Debug)]
pub struct MonthStatement {
    /// Whether its last day is closed, so that it never changes.
    pub is_closed: bool,
    /// The last day that it has: that of the month, or today.
    pub to: BusinessDate,
    /// The balances and what changed them, by asset.
    pub sums: BTreeMap<Asset, StatementSums>,
    /// The fees, in their order. Each is a qualified invoice.
    pub invoices: Vec<FeeInvoice>,
    /// What was paid out, in its order.
    pub payouts: Vec<(BusinessDate, PaidOut)>,
}

/// The fee of a settlement, as an invoice.
#[derive(Clone, Debug)]
pub struct FeeInvoice {
    /// The day that the fee is posted to.
    pub date: BusinessDate,
    /// The fee and its tax.
    pub charged: ChargedFee,
    /// The rate of the tax.
    pub tax_rate: Share<Charge>,
    /// The operator's registration number when the settlement was opened.
    pub registration: Option<RegistrationNumber>,
}

/// What merchants' statements of a month are made of. The entries that are not folded are read once for all of them.
pub struct MonthFigures<'a> {
    figures: Figures<'a>,
    from: BusinessDate,
    to: BusinessDate,
}

impl<'a> MonthFigures<'a> {
    /// Reads the figures of a month, up to `today`.
    ///
    /// # Errors
    /// 503 if the store cannot be read, or the fold is behind.
    pub async fn read(
        app: &'a App,
        tenant: &'a Tenant,
        (month, today): (BusinessMonth, BusinessDate),
    ) -> Result<Self, Problem> {
        let (from, to) = (month.first(), month.last().min(today));
        Ok(Self { figures: Figures::read(app, tenant, to).await?, from, to })
    }

    /// Reads a merchant's month.
    ///
    /// # Errors
    /// 503 if the store cannot be read, or the fold is behind.
    pub async fn statement(&mut self, merchant: MerchantId) -> Result<MonthStatement, Problem> {
        for _ in 0..Figures::TRIES {
            let statement = self.of(merchant).await?;
            if self.figures.are_unchanged().await? {
                return Ok(statement);
            }
            self.figures = Figures::read(self.figures.app, self.figures.tenant, self.to).await?;
        }
        Err(Problem::unavailable())
    }

    async fn of(&self, merchant: MerchantId) -> Result<MonthStatement, Problem> {
        let (figures, from, to) = (&self.figures, self.from, self.to);
        let of = TotalsOf::Merchant(merchant);
        let opening = figures.balances_until(of, from.days_before(1)).await?;
        let mut sums = Sums::default();
        for day in figures.totals(of, (from, to)).await?.values() {
            sums.merge(&day.sums).map_err(|_| Problem::internal())?;
        }
        let (invoices, payouts) = own_entries(figures, merchant, (from, to)).await?;
        let sums = statement(&opening, &sums).map_err(|_| Problem::internal())?;
        Ok(MonthStatement { is_closed: figures.is_closed(to), to, sums, invoices, payouts })
    }
}

/// The fees and payouts that are posted to these days and that the figures have, by time.
///
/// The id of a settlement's entry is of the time at which that was opened, which may be long before a payout is returned. So
/// all earlier entries of the merchant's own partition are read, where there are none of payments.
async fn own_entries(
    figures: &Figures<'_>,
    merchant: MerchantId,
    (from, to): (BusinessDate, BusinessDate),
) -> Result<(Vec<FeeInvoice>, Vec<(BusinessDate, PaidOut)>), Problem> {
    let (app, tenant, dynamo) = (figures.app, figures.tenant, figures.app.dynamo());
    let days = closings_of(app, tenant, (from, to)).await?;
    let until = least_born_at(to.bounds().1.plus(ID_MARGIN));
    let partition = Partition::merchant(tenant, merchant);
    let entries = dynamo.query(&reads::account_entries_between(&partition, Uuid::nil(), until)).await?;
    let (mut fees, mut payouts) = (Vec::new(), Vec::new());
    for entry in &entries {
        if !figures.have(entry)? {
            continue;
        }
        let created_at = expand(entry)?.timestamp(attr::CREATED_AT)?;
        let date = posted(&days, entry, created_at)?.map(|posted| posted.day);
        let Some(date) = date.filter(|date| (from..=to).contains(date)) else { continue };
        fees.extend(ChargedFee::read(entry)?.map(|fee| (date, fee)));
        payouts.extend(PaidOut::read(merchant, entry)?.map(|payout| (date, payout)));
    }
    fees.sort_by_key(|(date, fee)| (*date, fee.at));
    payouts.sort_by_key(|(date, payout)| (*date, payout.at));
    let mut settlements = BTreeMap::<SettlementId, Settlement>::new();
    for (_, fee) in &fees {
        if let Entry::Vacant(vacant) = settlements.entry(fee.settlement) {
            let key = keys::settlement(tenant, merchant, fee.settlement);
            let item = dynamo.get(&key).await?.ok_or_else(|| ItemError::missing(key.sk()))?;
            vacant.insert(Settlement::read(&item)?);
        }
    }
    let invoice = |(date, charged): (BusinessDate, ChargedFee)| {
        let terms = &settlements.get(&charged.settlement)?.terms;
        let (tax_rate, registration) = (terms.tax_rate, terms.registration.clone());
        Some(FeeInvoice { date, charged, tax_rate, registration })
    };
    Ok((fees.into_iter().filter_map(invoice).collect(), payouts))
}

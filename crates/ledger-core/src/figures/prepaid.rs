//! Figures of prepaid payment instruments at a base date, under Japan's Payment Services Act (資金決済に関する法律).
//!
//! Article 14 (発行保証金の供託): an issuer whose unused balance (未使用残高) at a base date (基準日), 31 March or
//! 30 September, is above ten million yen deposits at least half of it, within two months from the day after.

use super::tally::{AccountClass, Line, Moved, Sums};
use super::totals::Balances;
use crate::account::TenantAccount;
use crate::money::{Asset, Balance, Delta, MoneyError};
use crate::operation::Operation;
use crate::time::BusinessDate;
use crate::words::words;
use std::collections::{BTreeMap, BTreeSet};

/// The months and days of base dates.
const BASE_DATES: [(u8, u8); 2] = [(3, 31), (9, 30)];
/// The most days between two base dates.
const HALF_YEAR_DAYS_MAX: u16 = 183;
/// The most unused balance without a deposit, in yen.
const WITHOUT_DEPOSIT_MAX_YEN: &str = "10000000";

/// 31 March or 30 September of a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BaseDate(BusinessDate);

/// How an asset's unused balance changed in the half-year. Each is 0 or more, unless a later half-year took back what an
/// earlier one had: of `used`, `refunded` and the others what was reversed is subtracted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepaidFlows {
    /// What was loaded for money. A load that was reversed is in it, and in `refunded`.
    pub issued: Balance,
    /// What was granted without payment: bonuses and grants.
    pub granted: Balance,
    /// What was taken over from a legacy model.
    pub taken_over: Balance,
    /// What was paid to merchants, less what they refunded.
    pub used: Balance,
    /// What was paid back in money.
    pub refunded: Balance,
    /// What lapsed.
    pub lapsed: Balance,
    /// What a payment provider took for disputes, less what it returned.
    pub disputed: Balance,
    /// The net sum of corrections: adjustments, fees and what is not clear yet. May be below 0.
    pub corrected: Balance,
}

/// An asset that is a prepaid payment instrument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepaidInstrument {
    /// The asset.
    pub asset: Asset,
    /// The unused balance at the base date before.
    pub opening: Balance,
    /// What changed it since.
    pub flows: PrepaidFlows,
    /// The unused balance at the base date: `wallets`, `cards` and `unclaimed` together.
    pub unused: Balance,
    /// Of it, what customers have.
    pub wallets: Balance,
    /// Of it, what cards have.
    pub cards: Balance,
    /// Of it, what the holders of closed accounts may claim.
    pub unclaimed: Balance,
}

/// An asset that is no prepaid payment instrument, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludedAsset {
    /// The asset.
    pub asset: Asset,
    /// Why.
    pub why: Exclusion,
    /// The unused balance at the base date.
    pub unused: Balance,
}

words! {
    /// Why an asset is no prepaid payment instrument.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Exclusion {
        /// It is issued without payment: points.
        NotPaidFor = "not_paid_for",
        /// It is no value in money: carbon credits.
        NotMoney = "not_money",
    }
}

/// The figures of a base date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepaidReport {
    /// The instruments, by asset.
    pub instruments: Vec<PrepaidInstrument>,
    /// The other assets.
    pub excluded: Vec<ExcludedAsset>,
    /// The unused balance of all instruments, in yen.
    pub unused: Balance,
    /// The least deposit, in yen; `None` if none is required.
    pub deposit: Option<Balance>,
}

impl BaseDate {
    /// Accepts 31 March and 30 September; `None` for any other date.
    #[must_use]
    pub fn new(date: BusinessDate) -> Option<Self> {
        BASE_DATES.contains(&date.month_and_day()).then_some(Self(date))
    }

    /// The last base date before a day.
    #[must_use]
    pub fn before(day: BusinessDate) -> Self {
        let days = (1..=HALF_YEAR_DAYS_MAX).map(|days| day.days_before(days));
        days.filter_map(Self::new).next().unwrap_or(Self(day))
    }

    /// The date.
    #[must_use]
    pub fn date(self) -> BusinessDate {
        self.0
    }

    /// The first day of the half-year that it ends.
    #[must_use]
    pub fn first_day(self) -> BusinessDate {
        Self::before(self.0).0.next()
    }

    /// The last day on which the deposit can be made.
    #[must_use]
    pub fn deposit_due(self) -> BusinessDate {
        self.0.next().last_of_month().next().last_of_month()
    }
}

impl Exclusion {
    fn of(asset: &Asset) -> Option<Self> {
        match asset {
            Asset::Ecopay | Asset::Regional(_) => None,
            Asset::Point => Some(Self::NotPaidFor),
            Asset::Jcredit => Some(Self::NotMoney),
        }
    }
}

impl PrepaidReport {
    /// Makes the report of the balances at the base date before and at this one, and of what entries changed between them.
    ///
    /// # Errors
    /// [`MoneyError`] if a sum does not fit.
    pub fn new(opening: &Balances, sums: &Sums, closing: &Balances) -> Result<Self, MoneyError> {
        let known = opening.keys().chain(closing.keys()).map(|(_, asset)| asset);
        let known: BTreeSet<&Asset> = known.chain(sums.lines.keys().map(|line| &line.asset)).collect();
        let (mut instruments, mut excluded) = (Vec::new(), Vec::new());
        let mut unused = Balance::zero(Asset::Ecopay);
        for asset in known {
            match Exclusion::of(asset) {
                Some(why) => {
                    excluded.push(ExcludedAsset { asset: asset.clone(), why, unused: unused_of(closing, asset)? });
                }
                None => {
                    let instrument = PrepaidInstrument::new(asset, opening, sums, closing)?;
                    unused = unused.checked_plus(&instrument.unused.counted_as(Asset::Ecopay))?;
                    instruments.push(instrument);
                }
            }
        }
        let limit = Balance::from_stored(Asset::Ecopay, WITHOUT_DEPOSIT_MAX_YEN)?;
        let deposit = (unused.value() > limit.value()).then(|| unused.half_rounded_up());
        Ok(Self { instruments, excluded, unused, deposit })
    }
}

impl PrepaidInstrument {
    fn new(asset: &Asset, opening: &Balances, sums: &Sums, closing: &Balances) -> Result<Self, MoneyError> {
        let of = |class| balance(closing, class, asset);
        Ok(Self {
            asset: asset.clone(),
            opening: unused_of(opening, asset)?,
            flows: PrepaidFlows::of(asset, sums)?,
            unused: unused_of(closing, asset)?,
            wallets: of(AccountClass::Customers)?,
            cards: of(AccountClass::Cards)?,
            unclaimed: of(AccountClass::Tenant(TenantAccount::Unclaimed))?,
        })
    }
}

impl PrepaidFlows {
    /// The flows of the entries. INVARIANT: the unused balance changed by `issued + granted + taken_over + corrected - used -
    /// refunded - lapsed - disputed`: in each operation what holders gain is what the other accounts lose.
    fn of(asset: &Asset, sums: &Sums) -> Result<Self, MoneyError> {
        let mut by_operation = BTreeMap::<&str, Vec<(&Line, &Moved)>>::new();
        for (line, moved) in sums.lines.iter().filter(|(line, _)| line.asset == *asset) {
            by_operation.entry(&line.operation).or_default().push((line, moved));
        }
        // What entries move between others changes nothing of what is unused: settlements, for example. A refund whose holder's
        // value has lapsed is in two flows, whatever other refunds there are.
        let is_lapsed = |line: &Line| line.accounts == AccountClass::Tenant(TenantAccount::Breakage);
        by_operation.retain(|_, lines| lines.iter().any(|(line, _)| holds_unused(line.accounts) || is_lapsed(line)));
        let mut flows = Self::none(asset);
        for (operation, lines) in by_operation {
            // One adjustment corrects a holder and another a merchant, so that only the holders' side says what was corrected.
            let is_of_holders = operation == Operation::Adjustment.name();
            // A merchant that takes cash owes it, so that the value comes from the merchant's balance.
            let load = Operation::CardTopup.name();
            let is_load = operation.rsplit(':').next() == Some(load);
            for (line, Moved { gained, lost, .. }) in lines {
                match (holds_unused(line.accounts), is_of_holders) {
                    (true, true) => flows.corrected = flows.corrected.checked_plus(gained)?.checked_sub(lost)?,
                    (false, false) if is_load && line.accounts == AccountClass::Merchants => {
                        flows.load(gained, lost)?
                    }
                    (false, false) => flows.add(line.accounts, gained, lost)?,
                    (true, false) | (false, true) => {}
                }
            }
        }
        Ok(flows)
    }

    /// Adds what an operation moved between holders and an account of another.
    fn add(&mut self, accounts: AccountClass, gained: &Balance, lost: &Balance) -> Result<(), MoneyError> {
        use TenantAccount as T;
        let into = |flow: &Balance| flow.checked_plus(lost)?.checked_sub(gained);
        let out = |flow: &Balance| flow.checked_plus(gained)?.checked_sub(lost);
        match accounts {
            AccountClass::Merchants => self.used = out(&self.used)?,
            AccountClass::Tenant(T::StripeClearing | T::CashClearing | T::BankClearing | T::Bank) => {
                self.load(gained, lost)?;
            }
            AccountClass::Tenant(T::PointsIssued) => self.granted = into(&self.granted)?,
            AccountClass::Tenant(T::OpeningBalances) => self.taken_over = into(&self.taken_over)?,
            AccountClass::Tenant(T::Breakage) => self.lapsed = out(&self.lapsed)?,
            AccountClass::Tenant(T::Disputes) => self.disputed = out(&self.disputed)?,
            AccountClass::Tenant(T::Adjustments | T::Fees | T::ConsumptionTax | T::Suspense) => {
                self.corrected = into(&self.corrected)?;
            }
            AccountClass::Customers | AccountClass::Cards | AccountClass::Tenant(T::Unclaimed) => {}
        }
        Ok(())
    }

    /// Adds what an account of money lost for loads, and gained for what is paid back.
    fn load(&mut self, gained: &Balance, lost: &Balance) -> Result<(), MoneyError> {
        self.issued = self.issued.checked_plus(lost)?;
        self.refunded = self.refunded.checked_plus(gained)?;
        Ok(())
    }

    fn none(asset: &Asset) -> Self {
        let none = || Balance::zero(asset.clone());
        Self {
            issued: none(),
            granted: none(),
            taken_over: none(),
            used: none(),
            refunded: none(),
            lapsed: none(),
            disputed: none(),
            corrected: none(),
        }
    }
}

/// Whether accounts have value that may still be used or claimed.
fn holds_unused(accounts: AccountClass) -> bool {
    match accounts {
        AccountClass::Customers | AccountClass::Cards | AccountClass::Tenant(TenantAccount::Unclaimed) => true,
        AccountClass::Merchants
        | AccountClass::Tenant(
            TenantAccount::StripeClearing
            | TenantAccount::CashClearing
            | TenantAccount::PointsIssued
            | TenantAccount::Fees
            | TenantAccount::Adjustments
            | TenantAccount::Breakage
            | TenantAccount::Disputes
            | TenantAccount::BankClearing
            | TenantAccount::Bank
            | TenantAccount::ConsumptionTax
            | TenantAccount::OpeningBalances
            | TenantAccount::Suspense,
        ) => false,
    }
}

fn balance(balances: &Balances, class: AccountClass, asset: &Asset) -> Result<Balance, MoneyError> {
    let none = Balance::zero(asset.clone());
    balances.get(&(class, asset.clone())).map_or(Ok(none.clone()), |sum: &Delta| none.checked_apply(sum))
}

fn unused_of(balances: &Balances, asset: &Asset) -> Result<Balance, MoneyError> {
    let unused = balances.iter().filter(|((class, of), _)| of == asset && holds_unused(*class));
    unused.map(|(_, sum)| sum).try_fold(Balance::zero(asset.clone()), |total, sum| total.checked_apply(sum))
}

#[cfg(test)]
mod tests;

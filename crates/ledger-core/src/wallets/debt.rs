//! What a wallet owes: what the provider took by a dispute and the wallet could not cover. Value that is returned to
//! the wallet pays it first: a released hold, a refunded payment, a failed card refund, a won dispute. Value that is
//! added (a top-up, a transfer, a grant) does not.

use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{CustomerId, Tenant};
use crate::keys::{Key, Partition, attr};
use crate::money::{Amount, Asset, Balance};
use crate::plan::PlanRefusal;
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem};
use std::collections::BTreeMap;

/// A balance item as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenBalance {
    /// The available part.
    pub available: Balance,
    /// The held part.
    pub held: Balance,
    /// The debt.
    pub owed: Balance,
    /// Whether the wallet is closed.
    pub is_closed: bool,
}

/// A wallet's balance items as they were read. An asset that was not read is planned as having no debt. The plan is
/// guarded on that, so a request with a wrong assumption is planned again from what is read then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenWallet(BTreeMap<Asset, SeenBalance>);

/// How returned value is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReturningAmount {
    /// The part that pays the debt.
    pub(crate) repaid: Option<Amount>,
    /// The part that the account gets.
    pub(crate) credited: Option<Amount>,
}

impl SeenBalance {
    fn read(asset: &Asset, item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            available: item.balance(attr::BALANCE, asset.clone())?,
            held: item.balance_or_zero(attr::HELD, asset.clone())?,
            owed: item.balance_or_zero(attr::OWED, asset.clone())?,
            is_closed: item.contains_key(attr::CLOSED_AT),
        })
    }
}

impl SeenWallet {
    /// The assets in which a wallet may have a debt: those of a top-up.
    const ASSETS: [Asset; 2] = [Asset::Ecopay, Asset::Point];

    /// The items that may hold a customer's debt.
    #[must_use]
    pub fn keys(tenant: &Tenant, customer: CustomerId) -> [Key; 2] {
        let partition = Partition::customer(tenant, customer);
        Self::ASSETS.map(|asset| partition.balance(&asset))
    }

    /// Reads the items of [`SeenWallet::keys`], in their order.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(items: impl IntoIterator<Item = Option<Item>>) -> Result<Self, ItemError> {
        let items = Self::ASSETS.into_iter().zip(items);
        let found = items.filter_map(|(asset, item)| item.map(|item| (asset, item)));
        found
            .map(|(asset, item)| Ok((asset.clone(), SeenBalance::read(&asset, &item)?)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// What was read of an asset.
    #[must_use]
    pub fn get(&self, asset: &Asset) -> Option<&SeenBalance> {
        self.0.get(asset)
    }

    /// Whether the wallet is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.values().any(|seen| seen.is_closed)
    }

    fn owed(&self, asset: &Asset) -> Balance {
        self.get(asset).map_or_else(|| Balance::zero(asset.clone()), |seen| seen.owed.clone())
    }

    /// Divides value returned to an account: it pays the debt first.
    pub(crate) fn divide(&self, account: Account, amount: &Amount) -> Result<ReturningAmount, PlanRefusal> {
        let repaid = match may_owe(account, amount.asset()) {
            true => amount.at_most(&self.owed(amount.asset()))?,
            false => None,
        };
        let credited = match &repaid {
            Some(repaid) => amount.checked_sub(repaid)?,
            None => Some(amount.clone()),
        };
        Ok(ReturningAmount { repaid, credited })
    }

    /// Reduces the debt on the account's item, guarded on the debt that was read.
    pub(crate) fn repaying(
        &self,
        item: TransactItem,
        account: Account,
        (asset, repaid): (&Asset, Option<&Amount>),
        now: Timestamp,
    ) -> TransactItem {
        if !may_owe(account, asset) {
            return item;
        }
        let item = match repaid {
            Some(repaid) => {
                changed(item, now, |update| update.add(attr::OWED, "repaid", Value::N(repaid.debit().text())))
            }
            None => item,
        };
        item.guarded_also(vec![as_seen(&self.owed(asset))])
    }

    /// Credits value returned to an account, less its debt. A freeze does not stop it. If the wallet is closed, the plan is
    /// stale.
    pub(crate) fn return_amount(
        &self,
        tenant: &Tenant,
        role: Role,
        account: Account,
        amount: &Amount,
        now: Timestamp,
    ) -> Result<Option<TransactItem>, PlanRefusal> {
        let division = self.divide(account, amount)?;
        let item = match &division.credited {
            Some(credited) => forms::return_credit(tenant, role, account, credited, now),
            None => forms::check_balance(tenant, role, account, amount.asset())
                .map(|item| item.guarded_by(forms::open(account, Failure::StalePlan))),
        };
        Ok(item.map(|item| self.repaying(item, account, (amount.asset(), division.repaid.as_ref()), now)))
    }
}

impl ReturningAmount {
    /// The postings of both parts.
    pub(crate) fn postings(&self, account: Account) -> impl Iterator<Item = Posting> {
        let credited = self.credited.as_ref().map(|credited| Posting::new(account, credited.credit()));
        credited.into_iter().chain(self.repaid.as_ref().map(repayment))
    }
}

/// The posting of a repayment: it leaves the tenant's account `disputes`.
pub(crate) fn repayment(repaid: &Amount) -> Posting {
    Posting::new(Account::Tenant(TenantAccount::Disputes), repaid.credit())
}

/// Adds a debt to the account's item, with its posting.
pub(crate) fn owing(item: TransactItem, owed: &Amount, now: Timestamp) -> (TransactItem, Posting) {
    let item = changed(item, now, |update| update.add(attr::OWED, "owed", Value::N(owed.text())));
    (item, Posting::new(Account::Tenant(TenantAccount::Disputes), owed.debit()))
}

/// Only customers top up through the provider, so only they can have a debt.
fn may_owe(account: Account, asset: &Asset) -> bool {
    matches!(account, Account::Customer(_)) && SeenWallet::ASSETS.contains(asset)
}

fn changed(item: TransactItem, now: Timestamp, change: impl FnOnce(Update) -> Update) -> TransactItem {
    item.changing(|update| {
        let update = if update.is_empty() { update.set(attr::UPDATED_AT, "ua", Value::s(now)) } else { update };
        change(update)
    })
}

fn as_seen(owed: &Balance) -> Clause {
    let condition = match owed.as_amount() {
        Some(owed) => Condition::compare(attr::OWED, Cmp::Eq, "seen_owed", Value::N(owed.text())),
        None => Condition::Either(
            Box::new(Condition::absent(attr::OWED)),
            Box::new(Condition::compare(attr::OWED, Cmp::Eq, "no_debt", Value::int(0))),
        ),
    };
    Clause { condition, failure: Failure::StalePlan }
}

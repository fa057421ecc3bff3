//! What a wallet owes: what the provider took by a dispute and the wallet could not give. Value that comes back to
//! the wallet pays it first: a hold that is released, a payment that is refunded, a card refund that fails, a dispute
//! that is won. Value that is added (a top-up, a transfer, a grant) does not.

use super::PlanRefusal;
use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{CustomerId, Tenant};
use crate::keys::{Key, Partition, attr};
use crate::money::{Amount, Asset, Balance};
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem, exists};
use std::collections::BTreeMap;

/// A balance item as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenBalance {
    /// What may be spent.
    pub available: Balance,
    /// What is put aside.
    pub held: Balance,
    /// What it owes.
    pub owed: Balance,
}

/// A wallet's balance items as they were read. An asset that was not read is planned as owing nothing: the plan is
/// guarded on that, so a request that assumed wrongly is planned again from what is read then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenWallet(BTreeMap<Asset, SeenBalance>);

/// How value that comes back divides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComingBack {
    /// What pays the debt.
    pub(crate) repaid: Option<Amount>,
    /// What the account has of it.
    pub(crate) credited: Option<Amount>,
}

impl SeenBalance {
    fn read(asset: &Asset, item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            available: item.balance(attr::BALANCE, asset.clone())?,
            held: item.balance_or_zero(attr::HELD, asset.clone())?,
            owed: item.balance_or_zero(attr::OWED, asset.clone())?,
        })
    }
}

impl SeenWallet {
    /// The assets that a wallet may owe: those that come with a top-up.
    const ASSETS: [Asset; 2] = [Asset::Ecopay, Asset::Point];

    /// The items that may hold a debt of a customer's.
    #[must_use]
    pub fn keys(tenant: &Tenant, customer: CustomerId) -> [Key; 2] {
        let partition = Partition::customer(tenant, customer);
        Self::ASSETS.map(|asset| partition.balance(&asset))
    }

    /// Reads the items of [`SeenWallet::keys`], in their order.
    ///
    /// # Errors
    /// [`ItemError`] if one does not look as we write it.
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

    fn owed(&self, asset: &Asset) -> Balance {
        self.get(asset).map_or_else(|| Balance::zero(asset.clone()), |seen| seen.owed.clone())
    }

    /// Of what comes back to an account: first what it owes.
    pub(crate) fn divide(&self, account: Account, amount: &Amount) -> Result<ComingBack, PlanRefusal> {
        let repaid = match may_owe(account, amount.asset()) {
            true => amount.at_most(&self.owed(amount.asset()))?,
            false => None,
        };
        let credited = match &repaid {
            Some(repaid) => amount.checked_sub(repaid)?,
            None => Some(amount.clone()),
        };
        Ok(ComingBack { repaid, credited })
    }

    /// The account's item with the debt paid, guarded on the debt that was read.
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

    /// Credits what comes back to an account, less what it owes. A freeze does not stop it.
    pub(crate) fn come_back(
        &self,
        tenant: &Tenant,
        role: Role,
        account: Account,
        amount: &Amount,
        now: Timestamp,
    ) -> Result<Option<TransactItem>, PlanRefusal> {
        let back = self.divide(account, amount)?;
        let item = match &back.credited {
            Some(credited) => forms::credit(tenant, role, account, credited, now),
            None => forms::look(tenant, role, account, amount.asset()).map(|item| item.guarded_by(vec![exists()])),
        };
        Ok(item.map(|item| self.repaying(item, account, (amount.asset(), back.repaid.as_ref()), now)))
    }
}

impl ComingBack {
    /// The postings of both parts.
    pub(crate) fn postings(&self, account: Account) -> impl Iterator<Item = Posting> {
        let credited = self.credited.as_ref().map(|credited| Posting::new(account, credited.credit()));
        credited.into_iter().chain(self.repaid.as_ref().map(repayment))
    }
}

/// What is paid of a debt stands on the tenant's account `disputes` no longer.
pub(crate) fn repayment(repaid: &Amount) -> Posting {
    Posting::new(Account::Tenant(TenantAccount::Disputes), repaid.credit())
}

/// The account's item with a further debt, and its posting.
pub(crate) fn owing(item: TransactItem, owed: &Amount, now: Timestamp) -> (TransactItem, Posting) {
    let item = changed(item, now, |update| update.add(attr::OWED, "owed", Value::N(owed.text())));
    (item, Posting::new(Account::Tenant(TenantAccount::Disputes), owed.debit()))
}

/// Only customers top up through the provider, and so only they owe.
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

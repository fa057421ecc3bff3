//! Accounts that open themselves: a credit of an asset that its holder has no balance item of opens the item, in the
//! transaction that credits it.

use super::balance::SUMS;
use super::{Action, BuildError, Clause, FailedGuard, Rejection, Role, TransactItem, Transaction, exists};
use crate::account::Account;
use crate::customer_state::{ACCOUNTS, STATUS, is_open_wallet};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::keys::{Key, attr, sk};
use std::collections::BTreeMap;

/// Why a transaction that opens accounts could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpeningError {
    /// The holder's profile cannot be read.
    #[error(transparent)]
    Profile(#[from] ItemError),
    /// The transaction is invalid.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl Transaction {
    /// The profiles that decide whether a rejected transaction can open the accounts that it credits, each once.
    ///
    /// Empty unless balance items of customers are missing, which it credits, and nothing else explains the rejection but
    /// records that it posts nothing to, such as a budget: whether they allow it shows when the accounts are opened.
    #[must_use]
    pub fn profiles_to_open(&self, rejection: &Rejection) -> Vec<Key> {
        let mut profiles = Vec::new();
        for guard in &rejection.guards {
            match self.opened_by(guard, None) {
                Some((item, _)) => profiles.push(item.key().partition().profile()),
                // INVARIANT: what a debit lacks is found out in the same time, whether the other account exists or not.
                None if self.items.get(guard.position).is_none_or(TransactItem::is_posted) => return Vec::new(),
                None if matches!(guard.failure, Failure::StalePlan | Failure::AccountMissing) => return Vec::new(),
                None => {}
            }
        }
        profiles.sort();
        profiles.dedup();
        profiles
    }

    /// The action whose item a guard reports as missing, with the item that it would open.
    fn opened_by(&self, guard: &FailedGuard, frozen: Option<&Value>) -> Option<(&TransactItem, Item)> {
        let item = self.items.get(guard.position).filter(|_| guard.old.is_none())?;
        Some((item, item.first_credit(frozen)?))
    }

    /// The same transaction, with the accounts that the rejection reports as missing opened by what it credits them.
    /// `profiles` are those of [`Transaction::profiles_to_open`] as read. `None` if a holder has no open profile.
    ///
    /// Guarded on each profile as read, and on the account not being open yet: a failure is a `StalePlan`.
    ///
    /// # Errors
    /// [`OpeningError`] if a profile cannot be read, or the transaction writes it otherwise.
    pub fn opening(&self, rejection: &Rejection, profiles: &BTreeMap<Key, Item>) -> Result<Option<Self>, OpeningError> {
        let mut items = self.items.clone();
        let mut opened = BTreeMap::<Key, i64>::new();
        for guard in &rejection.guards {
            let Some((item, _)) = self.opened_by(guard, None) else { continue };
            let key = item.key().partition().profile();
            let Some(profile) = profiles.get(&key).filter(|profile| is_open_wallet(profile)) else { return Ok(None) };
            let Some((_, balance)) = self.opened_by(guard, profile.get(attr::FROZEN)) else { return Ok(None) };
            let Some(item) = items.get_mut(guard.position) else { return Ok(None) };
            item.open_with(balance);
            let count = opened.entry(key).or_default();
            *count = count.saturating_add(1);
        }
        for (key, count) in opened {
            let Some(profile) = profiles.get(&key) else { return Ok(None) };
            items.push(counted(key, profile, count)?);
        }
        Ok(Some(Self::checked(items)?))
    }
}

/// Counts opened accounts on the profile. A freeze, which is guarded on the count, is planned again.
// INVARIANT: the count is that of the holder's balance items, so a freeze never misses one.
fn counted(key: Key, profile: &Item, count: i64) -> Result<TransactItem, ItemError> {
    let stale = |condition| Clause { condition, failure: Failure::StalePlan };
    let seen: i64 = profile.int(ACCOUNTS)?;
    let frozen = match profile.get(attr::FROZEN) {
        Some(by) => Condition::compare(attr::FROZEN, Cmp::Eq, "seen_frozen", by.clone()),
        None => Condition::absent(attr::FROZEN),
    };
    let clauses = vec![
        stale(exists().condition),
        stale(Condition::compare(ACCOUNTS, Cmp::Eq, "seen_accounts", Value::int(seen))),
        stale(Condition::compare(STATUS, Cmp::Eq, "seen_status", Value::s(profile.text(STATUS)?))),
        stale(frozen),
    ];
    Ok(TransactItem::update(Role::Profile, key, Update::new().add(ACCOUNTS, "opened", Value::int(count)), clauses))
}

impl TransactItem {
    /// The balance item that it would open: what it posts, its time, and who froze the holder. `None` unless it credits a
    /// customer's balance and changes nothing else, and all its guards hold on an empty balance.
    fn first_credit(&self, frozen: Option<&Value>) -> Option<Item> {
        let Action::Update(update) = &self.action else { return None };
        let is_balance = self.key().customer().is_some() && self.key().sk().starts_with(sk::BALANCE);
        let is_credit = self.postings().all(|posting| {
            let is_customer = matches!(posting.account, Account::Customer(_));
            is_customer && !posting.delta.is_debit()
        });
        let is_posted_alone = update.attributes().all(|name| name == attr::UPDATED_AT || SUMS.contains(&name));
        if !is_balance || !self.is_posted() || !is_credit || !is_posted_alone {
            return None;
        }
        let at = update.set_to(attr::UPDATED_AT)?;
        let zero = |name: &str| (name.to_owned(), Value::int(0));
        let mut balance = Item::from([attr::BALANCE, attr::HELD, attr::EXPOSURE].map(zero));
        balance.extend([attr::CREATED_AT, attr::UPDATED_AT].map(|name| (name.to_owned(), at.clone())));
        balance.extend(frozen.map(|by| (attr::FROZEN.to_owned(), by.clone())));
        let mut empty = balance.clone();
        empty.extend([
            (attr::PK.to_owned(), Value::s(self.key().pk())),
            (attr::SK.to_owned(), Value::s(self.key().sk())),
        ]);
        if self.failure_on(Some(&empty)).is_some() {
            return None;
        }
        for sum in SUMS {
            if let Some(added) = update.added(sum).0 {
                balance.insert(sum.to_owned(), added.clone());
            }
        }
        Some(balance)
    }
}

#[cfg(test)]
mod tests;

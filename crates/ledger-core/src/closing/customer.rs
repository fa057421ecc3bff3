//! The operator closes a customer's wallet. Its balance items are frozen and have `closed_at`, so that no form debits or credits
//! it again; the profile and the history stay.

use crate::account::Account;
use crate::aggregates::Aggregate;
use crate::audit::Act;
use crate::cards::listing;
use crate::customer_state::{ACCOUNTS, CLOSED, STATUS, is_closed_wallet};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Actor, CustomerId, Tenant, TransactionId};
use crate::keys::{Key, Partition, attr, sk};
use crate::money::{Amount, Asset, Balance};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Entry, Planned, Role, TransactItem, exists};
use crate::unclaimed;
use std::collections::{BTreeMap, BTreeSet};

/// A customer to be closed, with the balances that were seen. The close takes what is there, which another party can only add to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomerClosing {
    /// The customer.
    pub customer: CustomerId,
    /// The available balances, by asset, zeros among them.
    pub seen: BTreeMap<Asset, Balance>,
}

/// The closing of a customer.
#[derive(Clone, Debug)]
pub struct CustomerClose<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who closes it.
    pub actor: Actor,
    /// The customer.
    pub of: &'a CustomerClosing,
    /// Whether what it has goes to the tenant. If not, a balance that is not zero is a refusal.
    pub clears: bool,
    /// Why.
    pub reason: Option<&'a FreeText>,
}

/// What a response says about an account that was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosingReceipt {
    /// The account.
    pub account: Account,
    /// The journal entry that cleared it; `None` if it had nothing.
    pub transaction_id: Option<TransactionId>,
    /// What it had.
    pub rest: Vec<Amount>,
    /// When it was closed.
    pub closed_at: Timestamp,
}

impl CustomerClosing {
    /// Reads what is to be closed from the customer's balance items.
    ///
    /// # Errors
    /// [`ItemError`] if an item is malformed.
    pub fn read(customer: CustomerId, balances: &[Item]) -> Result<Self, ItemError> {
        let seen = |item| balance_of(item).map(|balance| (balance.asset().clone(), balance));
        Ok(Self { customer, seen: balances.iter().map(seen).collect::<Result<_, ItemError>>()? })
    }

    /// The items that it is planned from: the profile, then the balances that were seen.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        let partition = Partition::customer(tenant, self.customer);
        [partition.profile()].into_iter().chain(self.seen.keys().map(|asset| partition.balance(asset))).collect()
    }

    /// The items that it is planned from at a decision: the profile, then the balances of every asset, since the customer may have
    /// received another one.
    pub(crate) fn keys_at_decision(&self, tenant: &Tenant, terms: &TenantTerms) -> Vec<Key> {
        let partition = Partition::customer(tenant, self.customer);
        let assets: BTreeSet<&Asset> = terms.assets.keys().chain(self.seen.keys()).collect();
        [partition.profile()].into_iter().chain(assets.into_iter().map(|asset| partition.balance(asset))).collect()
    }

    /// What the customer has.
    #[must_use]
    pub fn rest(&self) -> Vec<Amount> {
        self.seen.values().filter_map(Balance::as_amount).collect()
    }

    /// Whether a balance is less than was seen. `items` are the profile and the balances, as read.
    ///
    /// # Errors
    /// [`ItemError`] if an item is malformed.
    pub fn is_stale(&self, items: &[Option<Item>]) -> Result<bool, ItemError> {
        let items: Vec<Item> = items.iter().skip(1).flatten().cloned().collect();
        let present = Self::read(self.customer, &items)?.seen;
        let is_less =
            |(asset, seen): (&Asset, &Balance)| present.get(asset).is_none_or(|present| present.value() < seen.value());
        Ok(self.seen.iter().any(is_less))
    }
}

/// The available balance that an item holds.
fn balance_of(item: &Item) -> Result<Balance, ItemError> {
    let asset = item.parsed(attr::SK, |key| Asset::parse(key.strip_prefix(sk::BALANCE).unwrap_or_default()))?;
    item.balance(attr::BALANCE, asset)
}

/// Builds the closing's transaction: the profile, the balance items, the journal entry if the customer had something, and the
/// audit record. `items` are the profile and every balance, as read. If one of them has changed since, or has less than was seen,
/// the plan is stale.
///
/// # Errors
/// `WrongState` if it is closed; [`PlanRefusal::StillOpen`] with what is not zero.
pub fn plan(
    command: &CustomerClose<'_>,
    items: &[Option<Item>],
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Planned<ClosingReceipt>, PlanRefusal> {
    let CustomerClose { tenant, actor, of, clears, reason } = command;
    let [Some(profile), balances @ ..] = items else { return Err(PlanRefusal::Refused(Failure::AccountMissing)) };
    if is_closed_wallet(profile) {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let balances = balances.iter().flatten().map(|item| Ok((balance_of(item)?, item)));
    let balances: Vec<(Balance, &Item)> = balances.collect::<Result<_, ItemError>>()?;
    let accounts: i64 = profile.int(ACCOUNTS)?;
    if i64::try_from(balances.len()) != Ok(accounts) || of.is_stale(items)? {
        return Err(PlanRefusal::Refused(Failure::StalePlan));
    }
    let mut open = Vec::new();
    for (balance, item) in &balances {
        let asset = balance.asset();
        let is_cleared = balance.value().is_zero() || (*clears && balance.as_amount().is_some());
        open.extend((!is_cleared).then(|| format!("{}:{asset}", attr::BALANCE)));
        for sum in [attr::HELD, attr::RESERVED, attr::OWED] {
            let is_zero = item.balance_or_zero(sum, asset.clone())?.value().is_zero();
            open.extend((!is_zero).then(|| format!("{sum}:{asset}")));
        }
    }
    if !listing::has_no_cards().holds(Some(profile)) {
        open.push("cards".to_owned());
    }
    if !open.is_empty() {
        return Err(PlanRefusal::StillOpen(open));
    }
    let rest: Vec<Amount> = balances.iter().filter_map(|(balance, _)| balance.as_amount()).collect();
    let (account, partition) = (Account::Customer(of.customer), Partition::customer(tenant, of.customer));
    let mut changed = vec![closed_profile(command, profile, accounts, &rest, cx)?];
    for (balance, item) in &balances {
        let closed = forms::close(Role::Payer, partition.balance(balance.asset()), account, balance, cx.now);
        let closed = closed.ok_or(PlanRefusal::Refused(Failure::StalePlan))?;
        changed.push(closed.guarded_also(vec![as_read(item, Aggregate::Payments), as_read(item, Aggregate::Refunds)]));
    }
    let mut act = Act::new(*actor, Operation::CustomerClose, account).because(*reason);
    for amount in &rest {
        act = act.with(&amount.asset().to_string(), amount.text());
    }
    changed.push(act.record(tenant, cx));
    Ok(planned(account, rest, changed, terms, cx))
}

/// The plan of an account's closing, with the entry that clears it.
pub(crate) fn planned(
    account: Account,
    rest: Vec<Amount>,
    items: Vec<TransactItem>,
    terms: &TenantTerms,
    cx: &Context,
) -> Planned<ClosingReceipt> {
    let entry = (!rest.is_empty()).then(|| Entry {
        id: cx.transaction_id,
        home: account,
        postings: unclaimed::clearing(account, &rest),
        references: Vec::new(),
        details: Item::new(),
        memo: None,
        terms: terms.of_entry(),
    });
    let transaction_id = entry.as_ref().map(|entry| entry.id);
    let receipt = ClosingReceipt { account, transaction_id, rest, closed_at: cx.now };
    Planned { draft: Draft { entry, items }, receipt }
}

/// The profile of the closed wallet. It has no number of accounts, so a freeze that was planned before does not apply, and no
/// room for cards.
fn closed_profile(
    command: &CustomerClose<'_>,
    profile: &Item,
    accounts: i64,
    rest: &[Amount],
    cx: &Context,
) -> Result<TransactItem, PlanRefusal> {
    let update = Update::new().set(STATUS, "closed", Value::s(CLOSED)).set(attr::CLOSED_AT, "ua", Value::s(cx.now));
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(cx.now)).remove(ACCOUNTS);
    // What requires a wallet that is not frozen stops at a closed one.
    let update = update.set(attr::FROZEN, "closed", Value::s(CLOSED));
    let update = unclaimed::with_rest(listing::without_room(update), rest);
    let guards = vec![
        exists(),
        stale(Condition::compare(STATUS, Cmp::Eq, "seen_status", Value::s(profile.text(STATUS)?))),
        stale(Condition::compare(ACCOUNTS, Cmp::Eq, "seen_accounts", Value::int(accounts))),
        stale(listing::has_no_cards()),
    ];
    let key = Partition::customer(command.tenant, command.of.customer).profile();
    Ok(TransactItem::update(Role::Profile, key, update, guards))
}

/// Requires that a count beside a balance is as it was read. Each payment and refund changes one.
fn as_read(item: &Item, count: Aggregate) -> Clause {
    let name = count.beside_balance();
    stale(match item.get(name) {
        Some(seen) => Condition::compare(name, Cmp::Eq, format!("seen_{}", count.in_metrics()), seen.clone()),
        None => Condition::absent(name),
    })
}

fn stale(condition: Condition) -> Clause {
    Clause { condition, failure: Failure::StalePlan }
}

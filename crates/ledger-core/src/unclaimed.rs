//! Value of closed accounts: what they had when they were closed, and what is returned to them later, is in the tenant's
//! account `unclaimed`. The record of the closed account says how much of it is its own, and a claim takes from that.

use crate::account::{self, Account, Posting, TenantAccount};
use crate::audit::Act;
use crate::card_state::CardState;
use crate::customer_state::closed_wallet;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Actor, CustomerId, Tenant};
use crate::keys::{self, Key, Partition, attr};
use crate::money::{Amount, Asset, Balance, Delta};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{AssetTerms, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Entry, Role, TransactItem, exists};
use std::collections::BTreeMap;

/// The attribute of an entry that posts to `unclaimed` in the place of a closed account, or from it: that account.
const UNCLAIMED_OF: &str = "unclaimed_of";
/// What the names of a closed record's sums begin with. The asset follows.
const UNCLAIMED: &str = "unclaimed_";

/// A claim of value of a closed account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The closed account.
    pub from: Account,
    /// The customer who gets it.
    pub to: CustomerId,
    /// The amount.
    pub amount: Amount,
}

/// A claim that is executed.
#[derive(Clone, Debug)]
pub struct UnclaimedClaim<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who claims it for the customer.
    pub actor: Actor,
    /// What is claimed.
    pub of: &'a Claimed,
    /// Why.
    pub reason: &'a FreeText,
}

/// An amount of a closed account that a bank pays to its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaidOut {
    /// The closed account.
    pub from: Account,
    /// The amount.
    pub amount: Amount,
}

/// A payout that is recorded.
#[derive(Clone, Debug)]
pub struct UnclaimedPayout<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who records it.
    pub actor: Actor,
    /// What is paid out.
    pub of: &'a PaidOut,
    /// Why, with what the bank names the transfer by.
    pub reason: &'a FreeText,
}

impl Claimed {
    /// The items that it is planned from: the closed account's record.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        record_of(tenant, self.from).into_iter().map(|(_, key)| key).collect()
    }
}

impl PaidOut {
    /// The items that it is planned from: the closed account's record.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        record_of(tenant, self.from).into_iter().map(|(_, key)| key).collect()
    }
}

/// What of `unclaimed` is a closed account's, by asset. `record` is the account's.
///
/// # Errors
/// [`ItemError`] if a sum is malformed.
pub fn sums(record: &Item) -> Result<BTreeMap<Asset, Balance>, ItemError> {
    let named = record.keys().filter_map(|name| Some((name, name.strip_prefix(UNCLAIMED)?)));
    let sum = |(name, suffix): (&String, &str)| {
        let asset = Asset::from_attribute_suffix(suffix).map_err(|_| ItemError::invalid(UNCLAIMED))?;
        Ok((asset.clone(), record.balance(name, asset)?))
    };
    named.map(sum).collect()
}

/// Builds a claim's transaction: the closed account's record, the customer's balance, the journal entry and the audit record.
/// Fails with `Insufficient` if less is unclaimed of the account, and with `AccountMissing` if the customer has no account.
///
/// # Errors
/// `WrongState` if the account is not closed; [`PlanRefusal`] if it does not exist, is no customer's and no card, or the asset
/// is retired.
pub fn plan_claim(
    command: &UnclaimedClaim<'_>,
    record: Option<&Item>,
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let UnclaimedClaim { tenant, actor, of, reason } = command;
    let Claimed { from, to, amount } = of;
    must_be_closed_now(*from, record)?;
    if !terms.asset(amount.asset()).is_none_or(AssetTerms::is_credited) {
        return Err(PlanRefusal::Invalid { field: "asset", why: "is retired: it is credited to no account" });
    }
    let missing = PlanRefusal::Refused(Failure::AccountMissing);
    let taken = taken(tenant, *from, amount, cx.now)?;
    let payee = Account::Customer(*to);
    let credited = forms::credit(tenant, Role::Payee, payee, amount, cx.now).ok_or(missing)?;
    let act = Act::new(*actor, Operation::UnclaimedClaim, from).because(Some(reason)).with("customer_id", to);
    let act = act.with("amount", amount.text()).with("asset", amount.asset());
    let entry = Entry {
        id: cx.transaction_id,
        home: payee,
        postings: vec![
            Posting::new(Account::Tenant(TenantAccount::Unclaimed), amount.debit()),
            Posting::new(payee, amount.credit()),
        ],
        references: Vec::new(),
        details: Item::from([detail(*from)]),
        memo: None,
        terms: terms.of_entry(),
    };
    let items = vec![taken, credited, act.record(tenant, cx)];
    Ok(Draft { entry: Some(entry), items })
}

/// Builds the transaction that records a payout: the closed account's record, the journal entry and the audit record. The
/// amount goes to `bank`: a person pays it there by hand. Fails with `Insufficient` if less is unclaimed of the account.
///
/// # Errors
/// `WrongState` if the account is not closed; [`PlanRefusal`] if it does not exist, is no customer's and no card, or the amount
/// is in points.
pub fn plan_payout(
    command: &UnclaimedPayout<'_>,
    record: Option<&Item>,
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let UnclaimedPayout { tenant, actor, of, reason } = command;
    let PaidOut { from, amount } = of;
    must_be_closed_now(*from, record)?;
    // Points were given, not bought: no bank pays them.
    if account_of_rest(amount.asset()) != TenantAccount::Unclaimed {
        return Err(PlanRefusal::Invalid { field: "asset", why: "is points: they are not paid out" });
    }
    let taken = taken(tenant, *from, amount, cx.now)?;
    let act = Act::new(*actor, Operation::UnclaimedPayout, from).because(Some(reason));
    let act = act.with("amount", amount.text()).with("asset", amount.asset());
    let entry = Entry {
        id: cx.transaction_id,
        home: *from,
        postings: vec![
            Posting::new(Account::Tenant(TenantAccount::Unclaimed), amount.debit()),
            Posting::new(Account::Tenant(TenantAccount::Bank), amount.credit()),
        ],
        references: Vec::new(),
        details: Item::from([detail(*from)]),
        memo: None,
        terms: terms.of_entry(),
    };
    Ok(Draft { entry: Some(entry), items: vec![taken, act.record(tenant, cx)] })
}

/// Posts to `unclaimed` what a draft returns to a closed account. What a customer's return counts in the aggregates beside a
/// balance, it counts there.
///
/// # Errors
/// `WrongState` if it takes more from the account than it returns.
pub(crate) fn divert(tenant: &Tenant, closed: Account, draft: Draft, now: Timestamp) -> Result<Draft, PlanRefusal> {
    let Draft { entry: Some(mut entry), items } = draft else { return Ok(draft) };
    let own = entry.postings.iter().filter(|posting| posting.account == closed);
    let returned = account::net(own.map(|posting| (posting.delta.asset().clone(), &posting.delta)))?;
    if returned.values().any(Delta::is_debit) {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    for posting in entry.postings.iter_mut().filter(|posting| posting.account == closed) {
        *posting = Posting::new(Account::Tenant(TenantAccount::Unclaimed), posting.delta.clone());
    }
    let balance = |item: &TransactItem| match closed {
        Account::Customer(customer) => item.is_on_balance_of(customer),
        Account::Card(card) => *item.key() == keys::card(tenant, card),
        Account::Merchant(_) | Account::Tenant(_) => false,
    };
    let (without, mut kept): (Vec<_>, Vec<_>) = items.into_iter().partition(balance);
    let counted = without.iter().find_map(|item| Some((item, item.aggregates()?.clone())));
    kept.extend(counted.map(|(item, change)| {
        TransactItem::check(item.role(), item.key().clone(), vec![exists()]).with_aggregates(change, now)
    }));
    let gained = change(tenant, closed, returned.iter().map(|(asset, delta)| (asset, delta.clone())), now);
    kept.push(gained.ok_or(PlanRefusal::Refused(Failure::AccountMissing))?);
    entry.details.extend([detail(closed)]);
    Ok(Draft { entry: Some(entry), items: kept })
}

/// The account of the tenant that gets what an account has in an asset when it is closed. Points were given, not bought.
pub(crate) fn account_of_rest(asset: &Asset) -> TenantAccount {
    match asset {
        Asset::Point => TenantAccount::Breakage,
        Asset::Ecopay | Asset::Jcredit | Asset::Regional(_) => TenantAccount::Unclaimed,
    }
}

/// The postings that clear an account which is closed.
pub(crate) fn clearing(account: Account, rest: &[Amount]) -> Vec<Posting> {
    let both = |amount: &Amount| {
        let to = Account::Tenant(account_of_rest(amount.asset()));
        [Posting::new(account, amount.debit()), Posting::new(to, amount.credit())]
    };
    rest.iter().flat_map(both).collect()
}

/// Adds what of the rest is unclaimed to the record of the account that is closed.
pub(crate) fn with_rest(update: Update, rest: &[Amount]) -> Update {
    let unclaimed = rest.iter().filter(|amount| account_of_rest(amount.asset()) == TenantAccount::Unclaimed);
    unclaimed.fold(update, |update, amount| added(update, amount.asset(), &amount.credit()))
}

/// Changes what is unclaimed of a closed account; only checks that it is closed if there is no change.
fn change<'a>(
    tenant: &Tenant,
    closed: Account,
    deltas: impl IntoIterator<Item = (&'a Asset, Delta)>,
    now: Timestamp,
) -> Option<TransactItem> {
    let (role, key) = record_of(tenant, closed)?;
    let guards = vec![exists(), must_be_closed(closed)];
    let update = deltas.into_iter().fold(Update::new(), |update, (asset, delta)| added(update, asset, &delta));
    if update.is_empty() {
        return Some(TransactItem::check(role, key, guards));
    }
    Some(TransactItem::update(role, key, update.set(attr::UPDATED_AT, "ua", Value::s(now)), guards))
}

fn added(update: Update, asset: &Asset, delta: &Delta) -> Update {
    let name = attribute(asset);
    update.add(name.clone(), name, Value::N(delta.text()))
}

fn attribute(asset: &Asset) -> String {
    format!("{UNCLAIMED}{}", asset.attribute_suffix())
}

fn detail(closed: Account) -> (String, Value) {
    (UNCLAIMED_OF.to_owned(), Value::s(closed))
}

/// The item that says that an account is closed, and what of `unclaimed` is its own. Only customers and cards are closed.
fn record_of(tenant: &Tenant, account: Account) -> Option<(Role, Key)> {
    match account {
        Account::Customer(customer) => Some((Role::Profile, Partition::customer(tenant, customer).profile())),
        Account::Card(card) => Some((Role::Card, keys::card(tenant, card))),
        Account::Merchant(_) | Account::Tenant(_) => None,
    }
}

/// Takes an amount from the record of a closed account, which must have it.
fn taken(tenant: &Tenant, closed: Account, amount: &Amount, now: Timestamp) -> Result<TransactItem, PlanRefusal> {
    let enough = Condition::compare(attribute(amount.asset()), Cmp::Ge, "amount", Value::N(amount.text()));
    let changed = change(tenant, closed, [(amount.asset(), amount.debit())], now);
    let changed = changed.ok_or(PlanRefusal::Refused(Failure::AccountMissing))?;
    Ok(changed.guarded_also(vec![Clause { condition: enough, failure: Failure::Insufficient }]))
}

fn must_be_closed_now(account: Account, record: Option<&Item>) -> Result<(), PlanRefusal> {
    let record = record.ok_or(PlanRefusal::Refused(Failure::AccountMissing))?;
    if is_closed(account, record) { Ok(()) } else { Err(PlanRefusal::Refused(Failure::WrongState)) }
}

fn is_closed(account: Account, record: &Item) -> bool {
    must_be_closed(account).condition.holds(Some(record))
}

fn must_be_closed(account: Account) -> Clause {
    let condition = match account {
        Account::Customer(_) => closed_wallet(),
        Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => {
            Condition::compare("state", Cmp::Eq, "closed", Value::s(CardState::Closed.name()))
        }
    };
    Clause { condition, failure: Failure::WrongState }
}

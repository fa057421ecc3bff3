//! The write of each step and compensation: the settlement's next state, guarded on the present one, with the
//! postings. An entry's id is made of the settlement and the step, so it can be written once only.

use super::destination::Destination;
use super::open::{Carry, closed};
use super::record::{Settlement, SettlementState, TO_REVIEW, TRANSFER_ON, UndoReason, quantities_value};
use super::saga::{Compensation, Step, Task};
use super::sending;
use crate::account::{Account, Bucket, Posting, TenantAccount, net};
use crate::bank_files::BankTransfer;
use crate::dynamo::{Item, Update, Value};
use crate::forms;
use crate::idempotency::{Answer, LedgerKey};
use crate::ids::{Principal, Tenant, TransactionId};
use crate::keys::attr;
use crate::money::{Amount, Asset, Balance, Delta, MoneyError};
use crate::operation::Operation;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Draft, Entry, Provenance, TransactItem, Transaction};
use std::collections::BTreeMap;

/// Holds what the merchant is owed: whole yen, points and units of regional currency. Fractions stay for the next
/// settlement. If the sum is zero or below, everything is carried over and the settlement is over. The same if fee and tax
/// leave nothing, since cash was taken: the fee is due in the next settlement, as part of one paid sum, and this one is listed
/// to be reviewed.
pub(super) fn hold(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let nets = settlement.nets()?;
    let whole = nets.iter().filter(|(asset, _)| **asset != Asset::Jcredit);
    let parts: BTreeMap<Asset, Balance> = whole
        .map(|(asset, net)| (asset.clone(), net.truncated(0)))
        .filter(|(_, part)| part.as_delta().is_some())
        .collect();
    let sum = parts
        .values()
        .try_fold(Balance::zero(Asset::Ecopay), |sum, part| sum.checked_plus(&part.counted_as(Asset::Ecopay)))?;
    let base = settlement.fee_base(&sum)?;
    let above_zero = sum.as_amount();
    let pays = match above_zero.clone() {
        Some(net) => settlement.terms.charge(&net, &base)?.map(|_| net),
        None => None,
    };
    let Some(sum) = pays else {
        let base = settlement.has_cash().then(|| base.checked_sub(&sum)).transpose()?;
        // What nothing was paid for is covered by deposits alone.
        let (returned, rooms) = settlement.room_debts()?.covered_by(&settlement.deposited(), now)?;
        let carry = Carry { left: &nets, base, rooms, paid_before: None };
        let update = returned.set(over(Update::new(), SettlementState::Carried));
        // The merchant is owed something, of which the fee would leave nothing.
        let update = match above_zero {
            Some(_) => update.set(TO_REVIEW, TO_REVIEW, Value::Bool(true)),
            None => update,
        };
        let mut items = vec![
            settlement.changed(tenant, update, now),
            closed(tenant, (settlement.merchant, settlement.id), Some(&carry), now),
        ];
        items.extend(returned.items(tenant, settlement, now));
        return sealed(tenant, settlement, Task::Do(Step::Hold), Draft { entry: None, items }, now);
    };
    let update = to(Update::new(), SettlementState::Held)
        .set("held_amounts", "held_amounts", quantities_value(&parts))
        .set("net", "net", Value::N(sum.text()))
        .set("held_at", "ua", Value::s(now));
    step(tenant, settlement, Task::Do(Step::Hold), update, held_postings(settlement, &parts), Vec::new(), now)
}

/// Releases what was held to the merchant.
pub(super) fn undo_hold(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let postings = inverse(held_postings(settlement, &settlement.held_amounts));
    let update = to(Update::new(), SettlementState::Collecting).remove("held_amounts").remove("net").remove("held_at");
    step(tenant, settlement, Task::Undo(Compensation::Hold), update, postings, Vec::new(), now)
}

/// Records that the KYC check passed. `reference` is the KYC provider's reference.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn verified(
    tenant: &Tenant,
    settlement: &Settlement,
    reference: &str,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let update = to(Update::new(), SettlementState::Verified).set("kyc_reference", "reference", Value::s(reference));
    step(tenant, settlement, Task::Do(Step::Kyc), update, Vec::new(), Vec::new(), now)
}

/// Converts what is held to yen.
pub(super) fn release(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let update = to(Update::new(), SettlementState::Released);
    let postings = released_postings(settlement)?;
    step(tenant, settlement, Task::Do(Step::Release), update, postings, Vec::new(), now)
}

/// Converts what is held back to its assets.
pub(super) fn undo_release(
    tenant: &Tenant,
    settlement: &Settlement,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let postings = inverse(released_postings(settlement)?);
    let update = to(Update::new(), SettlementState::Verified);
    step(tenant, settlement, Task::Undo(Compensation::Release), update, postings, Vec::new(), now)
}

/// Takes fee and tax.
pub(super) fn fee(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let net = settlement.net.as_ref().ok_or(BuildError::Empty)?;
    let charged = settlement.terms.charge(net, &settlement.fee_base(&net.as_balance())?)?.ok_or(BuildError::Empty)?;
    let text = |part: &Option<Amount>| Value::N(part.as_ref().map_or_else(|| "0".to_owned(), Amount::text));
    let update = to(Update::new(), SettlementState::Charged)
        .set("fee", "fee", text(&charged.fee))
        .set("tax", "tax", text(&charged.tax))
        .set("payable", "payable", Value::N(charged.payable.text()));
    let postings = fee_postings(settlement, charged.fee.as_ref(), charged.tax.as_ref());
    step(tenant, settlement, Task::Do(Step::Fee), update, postings, Vec::new(), now)
}

/// Gives fee and tax back.
pub(super) fn undo_fee(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let postings = inverse(fee_postings(settlement, settlement.fee.as_ref(), settlement.tax.as_ref()));
    let update = to(Update::new(), SettlementState::Released).remove("fee").remove("tax").remove("payable");
    step(tenant, settlement, Task::Undo(Compensation::Fee), update, postings, Vec::new(), now)
}

/// Records that from now on the payout may have left.
pub(super) fn pay(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let update = to(Update::new(), SettlementState::Paying).set("paying_at", "ua", Value::s(now));
    let update = sending::begun(settlement, update, now);
    Transaction::unkeyed(vec![settlement.changed(tenant, update, now)])
}

/// Books the transfer of a settlement that a bank file pays: held money moves to `bank_clearing`, and the settlement is over.
///
/// # Errors
/// [`BuildError`] if the sums do not fit.
pub fn booked(
    tenant: &Tenant,
    settlement: &Settlement,
    transfer: &BankTransfer,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let update = over(Update::new(), SettlementState::Booked).set("booked_at", "ua", Value::s(now)).set(
        TRANSFER_ON,
        "transfer_on",
        Value::s(transfer.day),
    );
    // Where banks' holidays are not known, a person must see to it at once.
    let due_at = settlement.terms.deadline.file_times(transfer.day).map_or(now, |times| times.cut_at);
    let put = transfer.put(tenant, due_at, settlement.due_shards);
    settled(tenant, settlement, update, Some(TenantAccount::BankClearing), vec![put], now)
}

/// Books a payout that the payment provider made: held money moves to `stripe_clearing`, and the settlement is over. `reference` is
/// the provider's id of the payout.
///
/// # Errors
/// [`BuildError`] if the sums do not fit.
pub fn paid(
    tenant: &Tenant,
    settlement: &Settlement,
    reference: &str,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let update = over(Update::new(), SettlementState::Paid).set("paid_at", "ua", Value::s(now)).set(
        "payout_reference",
        "reference",
        Value::s(reference),
    );
    settled(tenant, settlement, update, Some(TenantAccount::StripeClearing), Vec::new(), now)
}

/// Ends a settlement that covers all that the merchant owed, with the posting of what is paid.
fn settled(
    tenant: &Tenant,
    settlement: &Settlement,
    update: Update,
    clearing: Option<TenantAccount>,
    mut more: Vec<TransactItem>,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let mut left = settlement.nets()?;
    for (asset, part) in &settlement.held_amounts {
        let of_asset = left.remove(asset).unwrap_or_else(|| Balance::zero(asset.clone()));
        left.insert(asset.clone(), of_asset.checked_sub(part)?);
    }
    let mut postings = Vec::new();
    if let (Some(payable), Some(clearing)) = (&settlement.payable, clearing) {
        postings.push(Posting::held(Account::Merchant(settlement.merchant), payable.debit()));
        postings.push(Posting::new(Account::Tenant(clearing), payable.credit()));
    }
    let base = settlement.has_cash().then(|| uncharged(settlement)).transpose()?;
    // What is paid is what is left of all that the merchant took: everything that it owed is covered.
    let (returned, rooms) = settlement.room_debts()?.covered(now);
    let carry = Carry { left: &left, base, rooms, paid_before: Some(settlement.paid_before) };
    more.push(closed(tenant, (settlement.merchant, settlement.id), Some(&carry), now));
    more.extend(returned.items(tenant, settlement, now));
    step(tenant, settlement, Task::Do(Step::Payout), returned.set(update), postings, more, now)
}

/// What the next settlement's fee is taken on beyond what this one leaves: refunds above what was taken reduce it.
fn uncharged(settlement: &Settlement) -> Result<Balance, MoneyError> {
    let zero = || Balance::zero(Asset::Ecopay);
    let Some(net) = &settlement.net else { return Ok(zero()) };
    let base = settlement.fee_base(&net.as_balance())?;
    Ok(if base.as_delta().is_some_and(|base| base.is_debit()) { base } else { zero() })
}

/// Starts the compensation of the settlement. A payout that was refused has not left and never will. If another
/// sending has begun since, the write fails as stale.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn start_undo(
    tenant: &Tenant,
    settlement: &Settlement,
    why: UndoReason,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let mut update = Update::new().set("undo_reason", "why", Value::s(why.name()));
    if settlement.state == SettlementState::Paying {
        update = to(update, SettlementState::Charged).remove("paying_at");
    }
    Transaction::unkeyed(vec![settlement.changed_as_sent(tenant, update, now)])
}

/// Ends an undone settlement: the next one begins with what this one began with.
pub(super) fn undone(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let update = over(Update::new(), SettlementState::Undone);
    let closed = closed(tenant, (settlement.merchant, settlement.id), None, now);
    Transaction::unkeyed(vec![settlement.changed(tenant, update, now), closed])
}

fn to(update: Update, state: SettlementState) -> Update {
    update.set("state", "to", Value::s(state))
}

fn over(update: Update, state: SettlementState) -> Update {
    to(update, state).remove(attr::DUE_PK).remove(attr::DUE_SK).remove("stuck_at")
}

/// The postings `balance -> held` of what the merchant is owed. What the merchant owes stays in its balance until it
/// is netted.
fn held_postings(settlement: &Settlement, parts: &BTreeMap<Asset, Balance>) -> Vec<Posting> {
    let merchant = Account::Merchant(settlement.merchant);
    let owed = parts.values().filter_map(Balance::as_amount);
    owed.flat_map(|part| [Posting::new(merchant, part.debit()), Posting::held(merchant, part.credit())]).collect()
}

/// The postings that exchange points and regional currency for yen, one to one, with the account that issued them.
/// What the merchant owes in any asset is netted.
fn released_postings(settlement: &Settlement) -> Result<Vec<Posting>, MoneyError> {
    let merchant = Account::Merchant(settlement.merchant);
    let issued = Account::Tenant(TenantAccount::PointsIssued);
    let mut postings = Vec::new();
    for (asset, part) in &settlement.held_amounts {
        let Some(whole) = part.as_delta() else { continue };
        let Some(yen) = part.counted_as(Asset::Ecopay).as_delta() else { continue };
        if *asset == Asset::Ecopay {
            if whole.is_debit() {
                postings.extend([Posting::held(merchant, whole.clone()), Posting::new(merchant, whole.inverse())]);
            }
            continue;
        }
        let own = |delta: Delta| {
            if whole.is_debit() { Posting::new(merchant, delta) } else { Posting::held(merchant, delta) }
        };
        postings.extend([own(whole.inverse()), Posting::new(issued, whole.clone())]);
        postings.extend([Posting::new(issued, yen.inverse()), Posting::held(merchant, yen)]);
    }
    summed(postings)
}

fn fee_postings(settlement: &Settlement, fee: Option<&Amount>, tax: Option<&Amount>) -> Vec<Posting> {
    let merchant = Account::Merchant(settlement.merchant);
    let parts = [(fee, TenantAccount::Fees), (tax, TenantAccount::ConsumptionTax)];
    let parts = parts.into_iter().filter_map(|(part, account)| Some((part?, account)));
    parts
        .flat_map(|(part, account)| {
            [Posting::held(merchant, part.debit()), Posting::new(Account::Tenant(account), part.credit())]
        })
        .collect()
}

fn inverse(postings: Vec<Posting>) -> Vec<Posting> {
    postings.into_iter().map(|posting| Posting { delta: posting.delta.inverse(), ..posting }).collect()
}

/// Sums the postings, so that each part of an account and asset has one.
fn summed(postings: Vec<Posting>) -> Result<Vec<Posting>, MoneyError> {
    let sums = net(postings.iter().map(|p| ((p.account, p.bucket, p.delta.asset().clone()), &p.delta)))?;
    Ok(sums.into_iter().map(|((account, bucket, _), delta)| Posting { account, bucket, delta }).collect())
}

/// Builds a step: the next state, and its postings, each with the change of the merchant's balance.
fn step(
    tenant: &Tenant,
    settlement: &Settlement,
    task: Task,
    update: Update,
    postings: Vec<Posting>,
    more: Vec<TransactItem>,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let mut items = vec![settlement.changed(tenant, update, now)];
    let merchant = Account::Merchant(settlement.merchant);
    let own = postings.iter().filter(|posting| posting.account == merchant);
    let sums = net(own.map(|p| ((p.delta.asset().clone(), p.bucket), &p.delta)))?;
    let assets: std::collections::BTreeSet<&Asset> = sums.keys().map(|(asset, _)| asset).collect();
    for asset in assets {
        let of = |bucket| sums.get(&(asset.clone(), bucket));
        let change = (of(Bucket::Available), of(Bucket::Held));
        items.extend(forms::settle_merchant(tenant, settlement.merchant, asset, change, now));
    }
    items.extend(more);
    let entry = (!postings.is_empty()).then(|| entry(settlement, &task.name(), postings));
    sealed(tenant, settlement, task, Draft { entry, items }, now)
}

/// The entry of an event that happens once in a settlement.
pub(super) fn entry(settlement: &Settlement, what: &str, postings: Vec<Posting>) -> Entry {
    Entry {
        id: TransactionId::of_step(settlement.id.uuid(), what, settlement.created_at),
        home: Account::Merchant(settlement.merchant),
        postings,
        references: Vec::new(),
        details: Item::from([
            ("settlement_id".to_owned(), Value::s(settlement.id)),
            ("merchant_id".to_owned(), Value::s(settlement.merchant)),
        ]),
        memo: None,
        terms: settlement.of_entry(),
    }
}

/// Builds a step under its own key. Its actor is the staff member who closed the period.
fn sealed(
    tenant: &Tenant,
    settlement: &Settlement,
    task: Task,
    draft: Draft,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let name = task.name();
    let step = Provenance {
        tenant: tenant.clone(),
        operation: operation(task),
        principal: Principal::Merchant(settlement.merchant),
        actor: settlement.actor(),
        key: LedgerKey::of_settlement(settlement.id, &name).into(),
        now,
    };
    let body = serde_json::json!({ "settlement_id": settlement.id.to_string(), "task": name }).to_string();
    let answer = Answer { status: 200, content_type: "application/json".to_owned(), location: None, body };
    Transaction::assemble_step(draft, &step, &answer)
}

fn operation(task: Task) -> Operation {
    match task {
        Task::Do(Step::Collect) | Task::Undo(Compensation::Collect) => Operation::SettlementCollect,
        Task::Do(Step::Hold) => Operation::SettlementHold,
        Task::Do(Step::Kyc) => Operation::SettlementKyc,
        Task::Do(Step::Release) => Operation::SettlementRelease,
        Task::Do(Step::Fee) => Operation::SettlementFee,
        Task::Do(Step::Payout) => Operation::SettlementPayout,
        Task::Undo(Compensation::Hold) => Operation::SettlementHoldUndone,
        Task::Undo(Compensation::Release) => Operation::SettlementReleaseUndone,
        Task::Undo(Compensation::Fee) => Operation::SettlementFeeUndone,
        Task::Stop => Operation::SettlementRun,
    }
}

/// The transfer that a settlement books; `None` if nothing is to be paid, there is no account to pay from, or no bank file can have
/// it.
pub(super) fn transfer(settlement: &Settlement, now: Timestamp) -> Option<BankTransfer> {
    let Destination::Bank(to) = &settlement.destination else { return None };
    let transfer = BankTransfer {
        settlement: settlement.id,
        merchant: settlement.merchant,
        day: BankTransfer::day_of(settlement.pay_on, &settlement.terms.deadline, now),
        amount: settlement.payable.clone()?,
        from: settlement.terms.sender.clone()?,
        to: to.clone(),
        file: None,
        returned_at: None,
        created_at: now,
    };
    transfer.check().is_ok().then_some(transfer)
}

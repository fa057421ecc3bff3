//! A refund, partial or full: never above what was paid. It is made in the assets that were paid, in the order money,
//! regional currency, carbon credits, points. The merchant API, terminals and the operator use it.
//!
//! Rounding: earned points are taken back in proportion to the money refunded so far, rounded down, so the refund
//! that completes the money takes the rest. CO2 is exact and never rounded.

use super::ReturnKind;
use super::counting::count;
use super::division::{Division, divide};
use super::record::{PaymentRecord, refundable_attribute, return_attributes, shop_attribute, terminal_attribute};
use super::refund_room::TakenRoom;
use crate::account::{Account, Posting, TenantAccount};
use crate::aggregates::MetricsChange;
use crate::dynamo::{Attributes, Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::forms::{self, RoomGuard};
use crate::ids::{PaymentId, RefundId, Tenant, TransactionId};
use crate::journal::JournalEntry;
use crate::keys::{self, attr};
use crate::limits;
use crate::money::{Amount, Asset, AssetSpec, Balance, Co2Kg, Delta};
use crate::operation::Operation;
use crate::payment_state::{Move, PaymentState, Step};
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::returning::ReturnAccount;
use crate::terms::{MerchantTerms, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Entry, Planned, Reference, Role, TransactItem, exists};
use crate::unclaimed;
use crate::wallets::SeenWallet;
use crate::wallets::debt::{self, ReturningAmount};
use std::collections::BTreeMap;

/// A refund of a payment that was read.
#[derive(Clone, Debug)]
pub struct Refund<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The payment's merchant.
    pub merchant: &'a MerchantTerms,
    /// The payment as it was read.
    pub payment: &'a PaymentRecord,
    /// How much, in the asset of the payment's total; `None`: all that is left.
    pub amount: Option<&'a Amount>,
    /// The payer's points as they were read. Required if the payment earned points.
    pub points: Option<&'a Balance>,
    /// The payer's wallet as it was read. The refund pays its debt first.
    pub wallet: &'a SeenWallet,
    /// The reason.
    pub reason: Option<&'a FreeText>,
    /// If a card paid: the item of the card that replaced it last, or of itself. It gets the refund.
    pub card: Option<&'a Item>,
    /// Another party that gets a reference to the entry, with the payer's changes.
    pub reference: Option<crate::keys::Partition>,
    /// What it requires of the merchant's refund room.
    pub room: RoomGuard,
    /// Whether the payer is a customer whose wallet is closed: what is returned is unclaimed.
    pub is_closed: bool,
}

/// A terminal's charge that is reversed, by a refund of all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReversedCharge<'a> {
    /// The charge's entry. What it counted toward limits is taken off again.
    pub(crate) entry: &'a JournalEntry,
    /// The operation of the charge.
    pub(crate) operation: Operation,
    /// The payer's balance items as they were read, if the charge counted toward limits.
    pub(crate) balances: &'a [Item],
}

/// What a response says about a refund.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefundReceipt {
    /// The refund.
    pub refund_id: RefundId,
    /// The payment.
    pub payment_id: PaymentId,
    /// The journal entry.
    pub transaction_id: TransactionId,
    /// The total refunded by it, in the asset of the payment's total.
    pub amount: Amount,
    /// The refunded amounts, by asset.
    pub parts: BTreeMap<Asset, Amount>,
    /// Earned points taken back from the payer's points.
    pub points_taken_back: Option<Amount>,
    /// Yen kept from the money for earned points that the payer has spent.
    pub deducted: Option<Amount>,
    /// What of the parts goes to `breakage`, because its asset is retired.
    pub to_breakage: BTreeMap<Asset, Amount>,
    /// CO2 taken off the estimate.
    pub co2: Co2Kg,
    /// The payment's state after the refund.
    pub payment_state: PaymentState,
    /// When it was created.
    pub created_at: Timestamp,
}

/// Takes what a reversed charge counted toward limits off again, in the action on the balance.
fn uncounted(reversed: Option<ReversedCharge<'_>>, item: TransactItem, asset: &Asset) -> TransactItem {
    let Some(charge) = reversed else { return item };
    let Some(counted) = charge.entry.counted.get(asset) else { return item };
    let balance = charge.balances.iter().find(|balance| {
        let (pk, sk) = (balance.text(attr::PK), balance.text(attr::SK));
        pk == Ok(item.key().pk()) && sk == Ok(item.key().sk())
    });
    limits::uncount(item, counted, balance)
}

impl ReversedCharge<'_> {
    /// What the entry says of the charge.
    fn details(self) -> [(String, Value); 2] {
        [("reverses".to_owned(), Value::s(self.entry.id)), ("reverses_operation".to_owned(), Value::s(self.operation))]
    }
}

/// Builds the refund's transaction. It has the payer's balances, the payment's remainders, the `REFUND` record, the
/// journal entry and the aggregates. If an amount depends on what was read, the guard is on exactly that, and a failure is
/// a `StalePlan`.
///
/// # Errors
/// [`PlanRefusal`] if nothing or less than the amount is left to refund, or the merchant is closed.
pub fn plan(command: &Refund<'_>, terms: &TenantTerms, cx: &Context) -> Result<Planned<RefundReceipt>, PlanRefusal> {
    plan_return(command, None, terms, cx)
}

/// Builds a refund, or the reversal of a charge, which is a refund of all of it.
pub(super) fn plan_return(
    command: &Refund<'_>,
    reversed: Option<ReversedCharge<'_>>,
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Planned<RefundReceipt>, PlanRefusal> {
    if command.merchant.closing {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let payment = command.payment;
    let to = ReturnAccount::of(payment.payer, command.card)?;
    let division = divide(command, terms)?;
    let rest = division.left.values().all(|left| left.as_amount().is_none());
    let state = payment.state.moved(match (reversed, rest) {
        (Some(_), _) => Move::Reverse,
        (None, true) => Move::RefundRest,
        (None, false) => Move::RefundPart,
    })?;
    let co2 = payment.co2_rate.co2(&division.amount)?;
    let receipt = RefundReceipt {
        refund_id: RefundId::new(cx.resource_id),
        payment_id: payment.id,
        transaction_id: cx.transaction_id,
        amount: division.amount.clone(),
        parts: division.parts.clone(),
        points_taken_back: division.points.from_points.clone(),
        deducted: division.points.from_money.clone(),
        to_breakage: division.forfeited(),
        co2,
        payment_state: state,
        created_at: cx.now,
    };
    let postings = postings(command, &to, &division)?;
    let mut items = balances((command, reversed), &to, &division, cx.now)?;
    items.push(payment_update(command, &division, state, cx.now));
    let room = TakenRoom::of(division.parts.values())?;
    items.push(refund_record((command, reversed), &receipt, room.as_ref()));
    items.extend(room.iter().map(|room| room.taken((command.tenant, payment.merchant), command.room, cx.now)));
    let refunded = MetricsChange::Refunded(division.amount.clone(), co2);
    count(payment.payer, &mut items, refunded, cx.now);
    let own = postings.iter().filter(|posting| posting.account == to.account());
    let changes: Vec<Delta> = match reversed {
        // A terminal is shown what was charged there, not what of it the payer gets.
        Some(_) => division.parts.values().map(Amount::credit).collect(),
        None => crate::account::net(own.map(|p| (p.delta.asset().clone(), &p.delta)))?.into_values().collect(),
    };
    let references = command.reference.clone().map(|partition| Reference { partition, changes }).into_iter();
    let mut details = Item::from([("payment_id".to_owned(), Value::s(payment.id))]);
    match reversed {
        Some(charge) => details.extend(charge.details()),
        None => details.extend([("refund_id".to_owned(), Value::s(receipt.refund_id))]),
    }
    details.insert("merchant_id".to_owned(), Value::s(payment.merchant));
    details.insert("co2".to_owned(), Value::N(co2.inverse().text()));
    details.extend(room.iter().map(TakenRoom::attribute));
    details.extend(to.detail());
    let entry = Entry {
        id: cx.transaction_id,
        home: to.account(),
        postings,
        references: references.collect(),
        details,
        memo: cx.memo(command.reason),
        terms: terms.of_entry(),
    };
    let draft = to.or_unclaimed(command.tenant, Draft { entry: Some(entry), items }, cx.now)?;
    let draft =
        if command.is_closed { unclaimed::divert(command.tenant, payment.payer, draft, cx.now)? } else { draft };
    Ok(Planned { draft, receipt })
}

/// All that is left to refund of a payment, in the asset of its total.
///
/// # Errors
/// [`PlanRefusal`] if nothing is left, or nothing was captured.
pub fn all_left(payment: &PaymentRecord) -> Result<Amount, PlanRefusal> {
    check_captured(payment)?;
    let (spec, over) = (AssetSpec::finest(payment.total.asset().clone()), || PlanRefusal::Refused(Failure::OverRefund));
    let mut sum: Option<Amount> = None;
    for part in payment.refundable.values().filter_map(Balance::as_amount) {
        let part = part.one_to_one(&spec).ok_or_else(over)?;
        sum = Some(match sum {
            Some(sum) => sum.checked_add(&part)?,
            None => part,
        });
    }
    sum.ok_or_else(over)
}

/// A payment that is refunded in full has nothing left: that is another refusal.
pub(super) fn check_captured(payment: &PaymentRecord) -> Result<(), PlanRefusal> {
    if payment.state.next(Step::Refund).is_none() && payment.state != PaymentState::Refunded {
        return Err(PlanRefusal::InState { state: payment.state, expired_at: None });
    }
    Ok(())
}

fn postings(command: &Refund<'_>, to: &ReturnAccount, division: &Division) -> Result<Vec<Posting>, PlanRefusal> {
    let payer = to.account();
    let merchant = Account::Merchant(command.payment.merchant);
    let issued = Account::Tenant(TenantAccount::PointsIssued);
    let breakage = Account::Tenant(TenantAccount::Breakage);
    let mut postings = Vec::new();
    for part in division.parts.values() {
        let to = if division.is_forfeited(part.asset()) { breakage } else { payer };
        postings.push(Posting::new(merchant, part.debit()));
        postings.push(Posting::new(to, part.credit()));
    }
    for repaid in [&division.repaid(command)?, &division.returned]
        .into_iter()
        .flatten()
        .flat_map(|returned_part| &returned_part.repaid)
    {
        postings.push(Posting::new(payer, repaid.debit()));
        postings.push(debt::repayment(repaid));
    }
    for taken in division.points.from_points.iter().chain(&division.points.from_money) {
        postings.push(Posting::new(payer, taken.debit()));
        postings.push(Posting::new(issued, taken.credit()));
    }
    Ok(postings)
}

/// The payer's balance items: what is refunded, less what is taken back. A freeze stops neither.
fn balances(
    (command, reversed): (&Refund<'_>, Option<ReversedCharge<'_>>),
    to: &ReturnAccount,
    division: &Division,
    now: Timestamp,
) -> Result<Vec<TransactItem>, PlanRefusal> {
    let payer = to.account();
    let mut items = Vec::new();
    for (asset, part) in &division.parts {
        if division.is_forfeited(asset) {
            // The payer gets nothing of it. The aggregates, which count the refund, are beside a balance.
            let untouched = forms::check_balance(command.tenant, Role::Payee, payer, asset);
            items.extend(untouched.map(|item| item.guarded_by(vec![exists()])));
            continue;
        }
        let returned_part = match asset {
            Asset::Point => continue,
            Asset::Ecopay => division.money()?,
            Asset::Jcredit | Asset::Regional(_) => Some(part.clone()),
        };
        if let Some(returned_part) = returned_part {
            let item = command.wallet.return_amount(command.tenant, Role::Payee, payer, &returned_part, now)?;
            let item = item.map(|item| uncounted(reversed, item, asset));
            items.extend(item.map(|item| item.guarded_also(Vec::from_iter(to.guard()))));
        }
    }
    let points = (division.points.from_points.as_ref(), division.returned.as_ref());
    let in_full = division.points.settled == division.points.from_points;
    let item = points_item(command, points, in_full, now)?;
    items.extend(item.map(|item| uncounted(reversed, item, &Asset::Point)));
    Ok(items)
}

/// The points item. If the payer's points cover what is taken back, the guard is that they still do. If not, the
/// shortfall was computed from the read, and the guard is the exact balance. If the wallet is closed, the plan is stale.
fn points_item(
    command: &Refund<'_>,
    (out, returned): (Option<&Amount>, Option<&ReturningAmount>),
    in_full: bool,
    now: Timestamp,
) -> Result<Option<TransactItem>, PlanRefusal> {
    let payer = command.payment.payer;
    let in_ = returned.and_then(|returned| returned.credited.as_ref());
    let repaying = |item: TransactItem| match returned {
        Some(returned_part) => {
            command.wallet.repaying(item, payer, (&Asset::Point, returned_part.repaid.as_ref()), now)
        }
        None => item,
    };
    let check_balance = || forms::check_balance(command.tenant, Role::Points, payer, &Asset::Point);
    if in_full {
        let needed = match (out, in_) {
            (Some(out), Some(in_)) => out.checked_sub(in_)?,
            (Some(out), None) => Some(out.clone()),
            (None, _) => None,
        };
        let item = match returned {
            Some(_) if out.is_none() && in_.is_none() => check_balance(),
            Some(_) | None => {
                forms::settle(command.tenant, Role::Points, payer, (out, in_), Failure::StalePlan, false, now)
            }
        };
        let mut guards = forms::open(payer, Failure::StalePlan);
        guards.extend(needed.map(|needed| forms::holds(&needed, Failure::StalePlan)));
        return Ok(item.map(|item| repaying(item.guarded_by(guards))));
    }
    let seen = command.points.cloned().unwrap_or_else(|| Balance::zero(Asset::Point));
    let guard = Clause {
        condition: Condition::compare(attr::BALANCE, Cmp::Eq, "seen", Value::N(seen.text())),
        failure: Failure::StalePlan,
    };
    let item = match (out, in_) {
        (None, None) => check_balance(),
        (Some(_), _) | (None, Some(_)) => {
            forms::settle(command.tenant, Role::Points, payer, (out, in_), Failure::StalePlan, false, now)
        }
    };
    let guards = forms::open(payer, Failure::StalePlan).into_iter().chain([guard]).collect();
    Ok(item.map(|item| repaying(item.guarded_by(guards))))
}

/// The payment's remainders, guarded on exactly what was read, because DynamoDB's conditions cannot add.
fn payment_update(command: &Refund<'_>, division: &Division, state: PaymentState, now: Timestamp) -> TransactItem {
    let payment = command.payment;
    let mut update = Update::new();
    let mut clauses = vec![exists()];
    for (asset, seen) in &payment.refundable {
        let attribute = refundable_attribute(asset);
        let suffix = asset.attribute_suffix();
        clauses.push(Clause {
            condition: Condition::compare(attribute.clone(), Cmp::Eq, format!("seen_{suffix}"), Value::N(seen.text())),
            failure: Failure::StalePlan,
        });
        if let Some(part) = division.parts.get(asset) {
            update = update.add(attribute, format!("delta_{suffix}"), Value::N(part.debit().text()));
        }
    }
    clauses.push(Clause {
        condition: Condition::compare("state", Cmp::Eq, "seen_state", Value::s(payment.state)),
        failure: Failure::StalePlan,
    });
    if let Some(settled) = &division.points.settled {
        let seen = Value::N(payment.points_taken_back.text());
        clauses.push(Clause {
            condition: Condition::compare("points_taken_back", Cmp::Eq, "seen_taken_back", seen),
            failure: Failure::StalePlan,
        });
        update = update.add("points_taken_back", "taken_back", Value::N(settled.text()));
    }
    let update = update.set("state", "state", Value::s(state)).set(attr::UPDATED_AT, "ua", Value::s(now));
    TransactItem::update(Role::Payment, keys::payment(command.tenant, payment.id), update, clauses)
}

fn refund_record(
    (command, reversed): (&Refund<'_>, Option<ReversedCharge<'_>>),
    receipt: &RefundReceipt,
    room: Option<&TakenRoom>,
) -> TransactItem {
    let payment = command.payment;
    let taken: Vec<Delta> = receipt.parts.values().map(Amount::debit).collect();
    let kind = if reversed.is_some() { ReturnKind::PaymentReversal } else { ReturnKind::Refund };
    let mut item = Item::from([
        ("refund_id".to_owned(), Value::s(receipt.refund_id)),
        ("kind".to_owned(), Value::s(kind.name())),
        ("payment_id".to_owned(), Value::s(payment.id)),
        ("merchant_id".to_owned(), Value::s(payment.merchant)),
        ("transaction_id".to_owned(), Value::s(receipt.transaction_id)),
        ("asset".to_owned(), Value::s(receipt.amount.asset())),
        ("total".to_owned(), Value::N(receipt.amount.text())),
        (attr::CREATED_AT.to_owned(), Value::s(receipt.created_at)),
    ]);
    if let Some(reason) = command.reason {
        item.insert("memo".to_owned(), Value::s(reason.expose()));
    }
    if let Some(taken_back) = &receipt.points_taken_back {
        item.insert("points_taken_back".to_owned(), Value::N(taken_back.text()));
    }
    if let Some(deducted) = &receipt.deducted {
        item.insert("deducted".to_owned(), Value::N(deducted.text()));
    }
    if let Some(charge) = reversed {
        item.insert("reverses".to_owned(), Value::s(charge.entry.id));
        item.extend(payment.terminal.map(terminal_attribute));
    }
    item.extend(payment.shop.map(shop_attribute));
    item.extend(room.map(TakenRoom::attribute));
    item.extend(return_attributes(command.tenant, command.merchant, receipt.refund_id.uuid(), &taken));
    let key = keys::refund(command.tenant, payment.id, receipt.refund_id);
    TransactItem::put_new(Role::Refund, key, item, Failure::AlreadyExists)
}

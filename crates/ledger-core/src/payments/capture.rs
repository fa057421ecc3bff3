//! A merchant captures an authorization, in whole or in part. The captured part is the merchant's and the rest is the
//! payer's again, in one transaction.
//!
//! With several assets, points are captured first, then carbon credits, then regional currency, then money. So money
//! is released first, as with a refund. Points and CO2 are computed on the captured part, as for a payment.

use super::counting::count;
use super::hold;
use super::payment::{self, Rewards};
use super::record::{CAPTURED_AT, EXPIRES_AT, PaymentRecord, captured_attribute, refundable_attribute};
use crate::account::{Account, Posting, TenantAccount};
use crate::aggregates::MetricsChange;
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::Tenant;
use crate::journal::PAYMENT_STATUS;
use crate::keys::{self, attr};
use crate::memo::Memo;
use crate::money::{Amount, Asset, AssetSpec};
use crate::payment_state::Move;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{MerchantTerms, TenantTerms};
use crate::transaction::{Clause, Draft, Entry, Planned, Role, TransactItem, exists};
use crate::wallets::SeenWallet;
use std::collections::BTreeMap;

/// A capture of a payment that was read.
#[derive(Clone, Debug)]
pub struct Capture<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The payment's merchant. It may be suspended: what was authorized can still be captured.
    pub merchant: &'a MerchantTerms,
    /// The payment as it was read.
    pub payment: &'a PaymentRecord,
    /// The payer's wallet as it was read. The released part pays its debt first.
    pub wallet: &'a SeenWallet,
    /// How much, in the asset of the payment's total; `None`: all that is held.
    pub amount: Option<&'a Amount>,
}

/// Builds the capture's transaction. It has the payer's balances, `PAYMENT`, now due for the merchant's credit,
/// `HOLD`, the journal entry and the aggregates. A freeze does not stop it. A payment that is captured already is returned
/// unchanged, if no other amount is given.
///
/// # Errors
/// [`PlanRefusal`] if the payment cannot be captured, or less than the amount is held.
pub fn plan(command: &Capture<'_>, terms: &TenantTerms, cx: &Context) -> Result<Planned<PaymentRecord>, PlanRefusal> {
    let payment = command.payment;
    if payment.state.is_captured() && command.amount.is_none_or(|amount| *amount == payment.total) {
        return Ok(hold::guarded_without_effect(command.tenant, payment));
    }
    let state = payment.state.moved(Move::Capture)?;
    if let Some(expired_at) = payment.expires_at.filter(|expires_at| *expires_at <= cx.now) {
        // The hold has expired, but the worker has not released it yet.
        return Err(PlanRefusal::InState { state: payment.state, expired_at: Some(expired_at) });
    }
    let (total, captured) = divide(command)?;
    let rewards = Rewards::of(payment.payer, &captured, &total, terms)?;
    let after = PaymentRecord {
        transaction_id: cx.transaction_id,
        total,
        captured_at: Some(cx.now),
        refundable: captured.iter().map(|(asset, amount)| (asset.clone(), amount.as_balance())).collect(),
        captured,
        points_earned: rewards.points,
        co2_rate: rewards.co2_rate,
        co2: rewards.co2,
        state,
        ..payment.clone()
    };
    let mut items = balances(command, &after, cx)?;
    items.push(payment_update(command, &after, cx));
    items.push(hold::close(command.tenant, payment, state, cx.now));
    let paid = MetricsChange::Paid(after.total.clone(), after.co2);
    count(payment.payer, &mut items, paid, cx.now);
    let mut details = payment::details(&after, &terms.co2.source, &terms.co2.version);
    details.insert(PAYMENT_STATUS.to_owned(), Value::s(state));
    let entry = Entry {
        id: cx.transaction_id,
        home: payment.payer,
        postings: postings(command.wallet, &after)?,
        references: Vec::new(),
        details,
        memo: after.memo.as_ref().map(|memo| Memo::of_record(memo, cx.salt)),
        terms: terms.of_entry(),
    };
    Ok(Planned { draft: Draft { entry: Some(entry), items }, receipt: after })
}

/// The captured total, and its amount in each asset.
fn divide(command: &Capture<'_>) -> Result<(Amount, BTreeMap<Asset, Amount>), PlanRefusal> {
    let payment = command.payment;
    let Some(amount) = command.amount else { return Ok((payment.total.clone(), payment.authorized.clone())) };
    let over = || PlanRefusal::Invalid { field: "amount", why: "is more than was authorized" };
    let mut order: Vec<(&Asset, &Amount)> = payment.authorized.iter().collect();
    order.sort_by_key(|(asset, _)| match asset {
        Asset::Point => 0,
        Asset::Jcredit => 1,
        Asset::Regional(_) => 2,
        Asset::Ecopay => 3,
    });
    // The terms may no longer have the payment's assets, and what is held can still be captured.
    let spec = AssetSpec::finest(payment.total.asset().clone());
    let mut wanted = Some(amount.clone());
    let mut captured = BTreeMap::new();
    for (asset, held) in order {
        let Some(still) = wanted.take() else { break };
        let own = still.one_to_one(&AssetSpec::finest(asset.clone())).ok_or_else(over)?;
        let part = own.at_most(&held.as_balance())?.ok_or_else(over)?;
        wanted = still.checked_sub(&part.one_to_one(&spec).ok_or_else(over)?)?;
        captured.insert(asset.clone(), part);
    }
    if wanted.is_some() {
        return Err(over());
    }
    Ok((amount.clone(), captured))
}

/// The part of a held amount that is not captured.
fn released(held: &Amount, captured: Option<&Amount>) -> Result<Option<Amount>, PlanRefusal> {
    match captured {
        Some(captured) => Ok(held.checked_sub(captured)?),
        None => Ok(Some(held.clone())),
    }
}

fn postings(wallet: &SeenWallet, after: &PaymentRecord) -> Result<Vec<Posting>, PlanRefusal> {
    let (payer, merchant) = (after.payer, Account::Merchant(after.merchant));
    let mut postings = Vec::new();
    for (asset, held) in &after.authorized {
        let captured = after.captured.get(asset);
        if let Some(captured) = captured {
            postings.push(Posting::held(payer, captured.debit()));
            postings.push(Posting::new(merchant, captured.credit()));
        }
        if let Some(released) = released(held, captured)? {
            postings.push(Posting::held(payer, released.debit()));
            postings.extend(wallet.divide(payer, &released)?.postings(payer));
        }
    }
    if let Some(earned) = &after.points_earned {
        postings.push(Posting::new(Account::Tenant(TenantAccount::PointsIssued), earned.debit()));
        postings.push(Posting::new(payer, earned.credit()));
    }
    Ok(postings)
}

/// The payer's balance items. If points were held, earned points are added in the same update.
fn balances(command: &Capture<'_>, after: &PaymentRecord, cx: &Context) -> Result<Vec<TransactItem>, PlanRefusal> {
    let (tenant, wallet, payer) = (command.tenant, command.wallet, after.payer);
    let mut items = Vec::new();
    let mut earned = after.points_earned.as_ref();
    for (asset, held) in &after.authorized {
        let with = if *asset == Asset::Point { earned.take() } else { None };
        let captured = after.captured.get(asset);
        let Some(released) = released(held, captured)? else {
            items.extend(forms::capture_hold(tenant, hold::role(asset), payer, held, (captured, with), cx.now));
            continue;
        };
        let repaid = wallet.divide(payer, &released)?.repaid;
        let leaves = match (captured, &repaid) {
            (Some(captured), Some(repaid)) => Some(captured.checked_add(repaid)?),
            (captured, repaid) => captured.or(repaid.as_ref()).cloned(),
        };
        let item = forms::capture_hold(tenant, hold::role(asset), payer, held, (leaves.as_ref(), with), cx.now);
        items.extend(item.map(|item| wallet.repaying(item, payer, (asset, repaid.as_ref()), cx.now)));
    }
    items.extend(earned.and_then(|earned| forms::credit(tenant, Role::Points, payer, earned, cx.now)));
    Ok(items)
}

fn payment_update(command: &Capture<'_>, after: &PaymentRecord, cx: &Context) -> TransactItem {
    let mut update = Update::new()
        .set("state", "state", Value::s(after.state))
        .set("transaction_id", "transaction_id", Value::s(after.transaction_id))
        .set("total", "total", Value::N(after.total.text()))
        .set("co2_rate", "co2_rate", Value::N(after.co2_rate.text()))
        .set("co2", "co2", Value::N(after.co2.text()));
    for (asset, captured) in &after.captured {
        let value = format!("captured_{}", asset.attribute_suffix());
        for attribute in [captured_attribute(asset), refundable_attribute(asset)] {
            update = update.set(attribute, value.clone(), Value::N(captured.text()));
        }
    }
    if let Some(earned) = &after.points_earned {
        update = update.set("points_earned", "points_earned", Value::N(earned.text()));
    }
    let update = update.set(CAPTURED_AT, "ua", Value::s(cx.now)).set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let in_time = Clause {
        condition: Condition::compare(EXPIRES_AT, Cmp::Gt, "now", Value::s(cx.now)),
        failure: Failure::WrongState,
    };
    let clauses = vec![exists(), hold::still(command.payment), in_time];
    TransactItem::update(Role::Payment, keys::payment(command.tenant, after.id), update, clauses)
}

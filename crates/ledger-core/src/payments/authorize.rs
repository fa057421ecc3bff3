//! A merchant authorizes a customer's one-time code: the money is held for the merchant. The merchant captures it
//! later, in whole or in part, or voids it. An open hold expires by itself.

use super::code::PaymentCode;
use super::hold;
use super::payment::{Parts, PaymentReceipt};
use super::record::{self, PaymentRecord};
use crate::account::{Account, Posting};
use crate::dynamo::Value;
use crate::failure::Failure;
use crate::ids::{PaymentId, Tenant};
use crate::journal::PAYMENT_STATUS;
use crate::limits::{LimitKind, Place, UseCounter};
use crate::money::{Asset, Balance, Co2Kg, Rate};
use crate::payment_state::{Move, PaymentState};
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal, memo_details};
use crate::terms::{MerchantTerms, TenantTerms};
use crate::transaction::{Draft, Entry, Planned, Role, TransactItem};
use crate::{forms, keys};
use std::collections::BTreeMap;

/// An authorization.
#[derive(Clone, Debug)]
pub struct Authorize {
    /// The tenant.
    pub tenant: Tenant,
    /// The merchant that the money is held for.
    pub merchant: MerchantTerms,
    /// The customer's one-time code.
    pub code: PaymentCode,
    /// The total, and how it divides into assets.
    pub parts: Parts,
    /// The merchant's memo.
    pub memo: Option<FreeText>,
}

/// Builds the authorization's transaction. It consumes the code, and has the payer's balances, `PAYMENT` and `HOLD`,
/// and the journal entry. The merchant is owed nothing yet, so nothing is due for its credit.
///
/// # Errors
/// [`PlanRefusal`] if the merchant takes no payments.
pub fn plan(command: &Authorize, terms: &TenantTerms, cx: &Context) -> Result<Planned<PaymentReceipt>, PlanRefusal> {
    if !command.merchant.open {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let tenant = &command.tenant;
    let payer = Account::Customer(command.code.customer());
    let expires_at = cx.now.plus(terms.hold_for());
    let payment = PaymentRecord {
        id: PaymentId::new(cx.resource_id),
        transaction_id: cx.transaction_id,
        payer,
        merchant: command.merchant.id,
        total: command.parts.total().clone(),
        scale: record::scale_of(command.parts.total(), terms),
        authorized: command.parts.by_asset().clone(),
        expires_at: Some(expires_at),
        captured_at: None,
        captured: BTreeMap::new(),
        refundable: BTreeMap::new(),
        points_earned: None,
        points_taken_back: Balance::zero(Asset::Point),
        co2_rate: Rate::ZERO,
        co2: Co2Kg::ZERO,
        state: PaymentState::Created.moved(Move::Authorize)?,
        created_at: cx.now,
        memo: command.memo.as_ref().map(|memo| memo.expose().to_owned()),
    };
    let mut items = vec![command.code.consume(tenant, cx.now)];
    let mut postings = Vec::new();
    let mut uses =
        UseCounter::new(terms.limits.as_ref(), payer, LimitKind::Pay, cx.now).at(Place::Merchant(command.merchant.id));
    for (asset, amount) in &payment.authorized {
        postings.push(Posting::new(payer, amount.debit()));
        postings.push(Posting::held(payer, amount.credit()));
        let held = forms::hold(tenant, hold::role(asset), payer, amount, true, cx.now);
        items.extend(held.map(|held| uses.count(held, amount)).transpose()?);
    }
    items.push(TransactItem::put_new(
        Role::Payment,
        keys::payment(tenant, payment.id),
        payment.item((tenant, terms.records), &command.merchant),
        Failure::AlreadyExists,
    ));
    items.push(hold::open(tenant, &payment, expires_at, terms.due_shards));
    let mut details = memo_details(command.memo.as_ref());
    details.insert("payment_id".to_owned(), Value::s(payment.id));
    details.insert("merchant_id".to_owned(), Value::s(payment.merchant));
    details.insert(PAYMENT_STATUS.to_owned(), Value::s(payment.state));
    details.extend(uses.counted());
    let entry = Entry {
        id: cx.transaction_id,
        home: payer,
        postings,
        references: Vec::new(),
        details,
        terms: terms.of_entry(),
    };
    let receipt = PaymentReceipt {
        payment_id: payment.id,
        transaction_id: cx.transaction_id,
        state: payment.state,
        expires_at: payment.expires_at,
        merchant: command.merchant.clone(),
        parts: command.parts.clone(),
        points_earned: None,
        co2: payment.co2,
        created_at: cx.now,
        memo: command.memo.clone(),
    };
    Ok(Planned { draft: Draft { entry: Some(entry), items }, receipt })
}

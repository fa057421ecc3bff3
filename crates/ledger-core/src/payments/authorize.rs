//! A merchant authorizes a customer's one-time code: the money is held for the merchant. The merchant captures it
//! later, in whole or in part, or voids it. An open hold expires by itself.

use super::code::PaymentCode;
use super::hold;
use super::payment::{Parts, PaymentReceipt};
use super::record::{self, PaymentRecord};
use crate::account::{Account, Posting};
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::ids::{PaymentId, ShopId, Tenant};
use crate::journal::PAYMENT_STATUS;
use crate::limits::{LimitKind, Place, UseCounter};
use crate::money::{Asset, Balance, Co2Kg, Rate};
use crate::payment_state::{Move, PaymentState};
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
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
    /// The shop of the staff member who charges.
    pub shop: Option<ShopId>,
    /// The total, and how it divides into assets.
    pub parts: Parts,
    /// The merchant's memo.
    pub memo: Option<FreeText>,
}

/// An authorization, whatever permits it.
pub(crate) struct Authorization<'a> {
    pub(crate) tenant: &'a Tenant,
    pub(crate) terms: &'a TenantTerms,
    pub(crate) merchant: &'a MerchantTerms,
    pub(crate) payer: Account,
    pub(crate) shop: Option<ShopId>,
    pub(crate) parts: &'a Parts,
    pub(crate) memo: Option<&'a FreeText>,
    /// Further actions of the transaction, such as consuming the one-time code.
    pub(crate) with: Vec<TransactItem>,
}

/// Builds the authorization's transaction. It consumes the code, and has the payer's balances, `PAYMENT` and `HOLD`,
/// and the journal entry. The merchant is owed nothing yet, so nothing is due for its credit.
///
/// # Errors
/// [`PlanRefusal`] if the merchant takes no payments.
pub fn plan(command: &Authorize, terms: &TenantTerms, cx: &Context) -> Result<Planned<PaymentReceipt>, PlanRefusal> {
    Authorization {
        tenant: &command.tenant,
        terms,
        merchant: &command.merchant,
        payer: Account::Customer(command.code.customer()),
        shop: command.shop,
        parts: &command.parts,
        memo: command.memo.as_ref(),
        with: vec![command.code.consume(&command.tenant, cx.now)],
    }
    .plan(cx)
}

impl Authorization<'_> {
    pub(crate) fn plan(self, cx: &Context) -> Result<Planned<PaymentReceipt>, PlanRefusal> {
        let payment = self.record(cx)?;
        self.build(&payment, cx).map_err(|refusal| refusal.of_payment(payment.refused()))
    }

    fn record(&self, cx: &Context) -> Result<PaymentRecord, PlanRefusal> {
        Ok(PaymentRecord {
            id: PaymentId::new(cx.resource_id),
            transaction_id: cx.transaction_id,
            payer: self.payer,
            merchant: self.merchant.id,
            terminal: None,
            shop: self.shop,
            total: self.parts.total().clone(),
            scale: record::scale_of(self.parts.total(), self.terms),
            authorized: self.parts.by_asset().clone(),
            expires_at: Some(cx.now.plus(self.terms.hold_for())),
            captured_at: None,
            captured: BTreeMap::new(),
            refundable: BTreeMap::new(),
            points_earned: None,
            points_taken_back: Balance::zero(Asset::Point),
            co2_rate: Rate::ZERO,
            co2: Co2Kg::ZERO,
            state: PaymentState::Created.moved(Move::Authorize)?,
            created_at: cx.now,
            memo: self.memo.map(|memo| memo.expose().to_owned()),
        })
    }

    fn build(&self, payment: &PaymentRecord, cx: &Context) -> Result<Planned<PaymentReceipt>, PlanRefusal> {
        if !self.merchant.open {
            return Err(PlanRefusal::Refused(Failure::WrongState));
        }
        let (tenant, terms, payer) = (self.tenant, self.terms, self.payer);
        let mut items = self.with.clone();
        let mut postings = Vec::new();
        let uses = UseCounter::new(terms.limits.as_ref(), payer, LimitKind::Pay, cx.now);
        let mut uses = uses.at(Place::Merchant(self.merchant.id));
        for (asset, amount) in &payment.authorized {
            postings.push(Posting::new(payer, amount.debit()));
            postings.push(Posting::held(payer, amount.credit()));
            let held = forms::hold(tenant, hold::role(asset), payer, amount, true, cx.now);
            items.extend(held.map(|held| uses.count(held, amount)).transpose()?);
        }
        items.push(TransactItem::put_new(
            Role::Payment,
            keys::payment(tenant, payment.id),
            payment.item(tenant, self.merchant),
            Failure::AlreadyExists,
        ));
        let expires_at = cx.now.plus(terms.hold_for());
        items.push(hold::open(tenant, payment, expires_at, terms.due_shards));
        let mut details = Item::from([
            ("payment_id".to_owned(), Value::s(payment.id)),
            ("merchant_id".to_owned(), Value::s(payment.merchant)),
            (PAYMENT_STATUS.to_owned(), Value::s(payment.state)),
        ]);
        details.extend(uses.counted());
        let entry = Entry {
            id: cx.transaction_id,
            home: payer,
            postings,
            references: Vec::new(),
            details,
            memo: cx.memo(self.memo),
            terms: terms.of_entry(),
        };
        let receipt = PaymentReceipt {
            payment_id: payment.id,
            transaction_id: cx.transaction_id,
            state: payment.state,
            expires_at: payment.expires_at,
            merchant: self.merchant.clone(),
            parts: self.parts.clone(),
            points_earned: None,
            co2: payment.co2,
            created_at: cx.now,
        };
        Ok(Planned { draft: Draft { entry: Some(entry), items }, receipt })
    }
}

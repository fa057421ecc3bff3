//! The operator refunds a payment of a merchant beyond the merchant's refund room: the room may go below zero, and
//! settlements that are paid return it.

use super::record::PaymentRecord;
use super::refund::{self, Refund, RefundReceipt};
use crate::account::Account;
use crate::audit::Act;
use crate::customer_state::is_closed_wallet;
use crate::dynamo::Item;
use crate::failure::Failure;
use crate::forms::RoomGuard;
use crate::ids::{Actor, CardId, MerchantId, PaymentId, Tenant};
use crate::keys::{self, Key, Partition};
use crate::money::{Amount, Asset};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{MerchantTerms, TenantTerms};
use crate::transaction::Planned;
use crate::wallets::SeenWallet;

/// What is refunded, and to which account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderedRefund {
    /// The merchant.
    pub merchant: MerchantId,
    /// The payment.
    pub payment: PaymentId,
    /// The account that paid, which gets the refund.
    pub payer: Account,
    /// How much, in the asset of the payment's total.
    pub amount: Amount,
}

/// A refund by the operator.
#[derive(Clone, Debug)]
pub struct OperatorRefund<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who makes it.
    pub actor: Actor,
    /// What is refunded.
    pub order: &'a OrderedRefund,
    /// Why.
    pub reason: &'a FreeText,
}

impl OrderedRefund {
    /// Orders the refund of a payment as it was read; without an amount, of all that is left.
    ///
    /// # Errors
    /// [`PlanRefusal`] if the payment is another merchant's, or nothing is left of it.
    pub fn of(payment: &PaymentRecord, merchant: MerchantId, amount: Option<Amount>) -> Result<Self, PlanRefusal> {
        if payment.merchant != merchant {
            return Err(PlanRefusal::Refused(Failure::AccountMissing));
        }
        let amount = match amount {
            Some(amount) => amount,
            None => refund::all_left(payment)?,
        };
        Ok(Self { merchant, payment: payment.id, payer: payment.payer, amount })
    }

    /// The items that it is planned from.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        let mut keys = vec![keys::payment(tenant, self.payment), Partition::merchant(tenant, self.merchant).profile()];
        match self.payer {
            Account::Customer(customer) => {
                keys.extend(SeenWallet::keys(tenant, customer));
                keys.push(Partition::customer(tenant, customer).profile());
            }
            Account::Card(card) => keys.push(keys::card(tenant, card)),
            Account::Merchant(_) | Account::Tenant(_) => {}
        }
        keys
    }

    /// The card that it is made to, if a card paid. The item of that card among those of [`OrderedRefund::keys`] is replaced
    /// by that of the card which replaced it.
    #[must_use]
    pub fn card(&self) -> Option<CardId> {
        match self.payer {
            Account::Card(card) => Some(card),
            Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => None,
        }
    }
}

/// Builds the refund's transaction: that of a merchant's refund, without a guard on the refund room, and an audit record.
/// `items` are those of [`OrderedRefund::keys`], as read, in their order.
///
/// # Errors
/// [`PlanRefusal`] if the payment is another merchant's, or less than the amount is left of it.
pub fn plan(
    command: &OperatorRefund<'_>,
    items: &[Option<Item>],
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Planned<RefundReceipt>, PlanRefusal> {
    let OperatorRefund { tenant, actor, order, reason } = command;
    let missing = || PlanRefusal::Refused(Failure::AccountMissing);
    let [Some(payment), Some(merchant), of_payer @ ..] = items else { return Err(missing()) };
    let (payment, merchant) = (PaymentRecord::read(payment)?, MerchantTerms::read(merchant)?);
    if payment.merchant != order.merchant || payment.payer != order.payer {
        return Err(missing());
    }
    let profile = of_payer.last().and_then(Option::as_ref);
    let (wallet, card, is_closed) = match payment.payer {
        Account::Card(_) => (SeenWallet::default(), of_payer.first().and_then(Option::as_ref), false),
        Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => {
            (SeenWallet::read(of_payer.iter().cloned())?, None, profile.is_some_and(is_closed_wallet))
        }
    };
    let points = wallet.get(&Asset::Point).map(|seen| &seen.available);
    let earned_by_wallet = payment.points_earned.is_some() && matches!(payment.payer, Account::Customer(_));
    if earned_by_wallet && points.is_none() && !is_closed {
        return Err(missing());
    }
    let refund = Refund {
        tenant,
        merchant: &merchant,
        payment: &payment,
        amount: Some(&order.amount),
        points,
        wallet: &wallet,
        reason: Some(reason),
        card,
        reference: None,
        is_closed,
        // INVARIANT: room and outstanding change by the same, so their sum stays the ceiling, and what a paid settlement
        // covers returns the room as for each refund.
        room: RoomGuard::None,
    };
    let mut planned = refund::plan(&refund, terms, cx)?;
    let act = Act::new(*actor, Operation::Refund, Account::Merchant(order.merchant)).because(Some(reason));
    let act = act.with("payment_id", order.payment).with("amount", order.amount.text());
    planned.draft.items.push(act.with("asset", order.amount.asset()).record(tenant, cx));
    Ok(planned)
}

//! Plans a refund from the payment and, if it earned points, the payer's points. The merchant API and the terminal API
//! share it.

use crate::app::App;
use crate::debts::PayerDebts;
use crate::execute::PlanError;
use crate::request::AmountText;
use ledger_core::account::Account;
use ledger_core::cards::record::CardRecord;
use ledger_core::dynamo::Attributes;
use ledger_core::failure::Failure;
use ledger_core::forms::RoomGuard;
use ledger_core::idempotency::Claim;
use ledger_core::ids::{CardId, MerchantId, PaymentId, ShopId, Tenant, TerminalId};
use ledger_core::keys::{self, Partition, attr};
use ledger_core::money::{Asset, Balance};
use ledger_core::payments::PaymentRecord;
use ledger_core::payments::refund::{self, Refund, RefundReceipt};
use ledger_core::personal::FreeText;
use ledger_core::plan::{Context, PlanRefusal};
use ledger_core::transaction::Planned;

/// A request for a refund.
#[derive(Clone, Copy, Debug)]
pub struct RefundRequest<'a> {
    /// The tenant of the merchant.
    pub tenant: &'a Tenant,
    /// The merchant that the payment must belong to.
    pub merchant: MerchantId,
    /// The payment.
    pub payment: PaymentId,
    /// The shop that the payment must belong to, for a member of one shop.
    pub shop: Option<ShopId>,
    /// The amount; `None` refunds what remains.
    pub amount: Option<&'a AmountText>,
    /// The reason.
    pub reason: Option<&'a FreeText>,
    /// The card that must have paid, at a terminal, or have replaced the one that did.
    pub card: Option<CardId>,
    /// The terminal that sees the refund in its totals.
    pub terminal: Option<TerminalId>,
}

impl RefundRequest<'_> {
    /// Reads the payment and plans the refund. Another merchant's payment, or another shop's, is treated as one
    /// that does not exist.
    ///
    /// # Errors
    /// [`PlanError`], with the marker if the key has been used.
    pub async fn plan(
        &self,
        app: &App,
        claim: &Claim,
        debts: &PayerDebts,
        cx: &Context,
    ) -> Result<Planned<RefundReceipt>, PlanError> {
        let items = app.ledger().read_for(claim, &[keys::payment(self.tenant, self.payment)]).await?;
        let item = items.into_iter().flatten().next().ok_or(PlanError::Missing)?;
        let payment = PaymentRecord::read(&item)?;
        if payment.merchant != self.merchant || self.shop.is_some_and(|shop| payment.shop != Some(shop)) {
            return Err(PlanError::Missing);
        }
        let terms = app.terms_at(self.tenant, cx.now).await?;
        let card = match payment.payer {
            Account::Card(card) => app.card_in_use(self.tenant, card).await?,
            Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => None,
        };
        let in_use = card.as_ref().map(CardRecord::read).transpose()?.map(|card| card.id);
        // The holder of a card that was replaced shows the one that replaced it.
        let is_shown = |card| payment.payer == Account::Card(card) || in_use == Some(card);
        if !self.card.is_none_or(is_shown) {
            return Err(PlanError::Missing);
        }
        let merchant = app.merchant(self.tenant, self.merchant).await?;
        // A suspended merchant's terminal can only reverse payments.
        if self.terminal.is_some() && !merchant.open {
            return Err(PlanRefusal::Refused(Failure::WrongState).into());
        }
        let amount = match self.amount {
            Some(text) => Some(text.to_amount(&payment.spec(), "amount")?),
            None => None,
        };
        let is_closed = debts.is_closed(app, self.tenant, payment.payer).await?;
        let points = if is_closed { None } else { earned_points(app, self.tenant, &payment).await? };
        let wallet = debts.wallet(app, self.tenant, payment.payer).await?;
        let refund = Refund {
            tenant: self.tenant,
            merchant: &merchant,
            payment: &payment,
            amount: amount.as_ref(),
            points: points.as_ref(),
            wallet: &wallet,
            reason: self.reason,
            card: card.as_ref(),
            reference: self.terminal.map(|terminal| Partition::terminal(self.tenant, terminal)),
            room: RoomGuard::Enough,
            is_closed,
        };
        Ok(refund::plan(&refund, &terms, cx)?)
    }
}

/// The points of a payment's payer, which a return takes earned points from; `None` if the payment earned none.
///
/// # Errors
/// [`PlanError`] if the table did not answer, and `AccountMissing` if it has no such item.
pub async fn earned_points(app: &App, tenant: &Tenant, payment: &PaymentRecord) -> Result<Option<Balance>, PlanError> {
    let customer = match (payment.payer, &payment.points_earned) {
        (Account::Customer(customer), Some(_)) => customer,
        (Account::Customer(_) | Account::Card(_) | Account::Merchant(_) | Account::Tenant(_), _) => return Ok(None),
    };
    let key = Partition::customer(tenant, customer).balance(&Asset::Point);
    let item = app.dynamo().get(&key).await?.ok_or(Failure::AccountMissing)?;
    Balance::from_stored(Asset::Point, item.number(attr::BALANCE)?).map(Some).map_err(PlanError::Money)
}

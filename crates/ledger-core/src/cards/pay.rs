//! A card pays at a terminal.

use crate::account::Account;
use crate::ids::{CardId, ShopId, Tenant, TerminalId, TerminalOwner};
use crate::keys::Partition;
use crate::limits::Place;
use crate::money::Amount;
use crate::payments::payment::{Parts, Payment, PaymentReceipt};
use crate::plan::{Context, PlanRefusal};
use crate::terms::{MerchantTerms, TenantTerms};
use crate::transaction::{Planned, Reference};

/// A card payment.
#[derive(Clone, Debug)]
pub struct CardPay {
    /// The tenant.
    pub tenant: Tenant,
    /// The terminal.
    pub terminal: TerminalId,
    /// The shop of the terminal.
    pub shop: Option<ShopId>,
    /// The merchant that is paid.
    pub merchant: MerchantTerms,
    /// The card.
    pub card: CardId,
    /// The amount, in yen.
    pub amount: Amount,
}

/// Builds the payment's transaction: the card, journal entry, `PAYMENT`, the terminal's reference.
///
/// # Errors
/// [`PlanRefusal`] if the merchant takes no payments.
pub fn plan(command: &CardPay, terms: &TenantTerms, cx: &Context) -> Result<Planned<PaymentReceipt>, PlanRefusal> {
    Payment {
        tenant: &command.tenant,
        terms,
        merchant: &command.merchant,
        payer: Account::Card(command.card),
        place: Place::Terminal(TerminalOwner::Merchant(command.merchant.id)),
        terminal: None,
        shop: command.shop,
        parts: &Parts::whole(command.amount.clone()),
        memo: None,
        references: vec![Reference {
            partition: Partition::terminal(&command.tenant, command.terminal),
            changes: vec![command.amount.debit()],
        }],
        with: Vec::new(),
    }
    .plan(cx)
}

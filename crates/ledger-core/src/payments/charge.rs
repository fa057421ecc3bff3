//! A merchant or its terminal charges a customer's one-time code. The code is consumed in the transaction of the debit.

use super::code::PaymentCode;
use super::payment::{Parts, Payment, PaymentReceipt};
use crate::account::Account;
use crate::ids::{ShopId, Tenant, TerminalId, TerminalOwner};
use crate::keys::Partition;
use crate::limits::Place;
use crate::money::Amount;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{MerchantTerms, TenantTerms};
use crate::transaction::{Planned, Reference};

/// A charge.
#[derive(Clone, Debug)]
pub struct Charge {
    /// The tenant.
    pub tenant: Tenant,
    /// The merchant that charges.
    pub merchant: MerchantTerms,
    /// The merchant's terminal that charges, if it is not the merchant itself.
    pub terminal: Option<TerminalId>,
    /// The shop of the terminal, or of the staff member who charges.
    pub shop: Option<ShopId>,
    /// The customer's one-time code.
    pub code: PaymentCode,
    /// The amount, in an asset that the merchant accepts.
    pub amount: Amount,
    /// The merchant's memo.
    pub memo: Option<FreeText>,
}

/// Builds the charge's transaction: the payment, the code's consumption, and the terminal's reference.
///
/// # Errors
/// [`PlanRefusal`] if the merchant takes no payments, or not in this asset.
pub fn plan(command: &Charge, terms: &TenantTerms, cx: &Context) -> Result<Planned<PaymentReceipt>, PlanRefusal> {
    let (place, references) = match command.terminal {
        None => (Place::Merchant(command.merchant.id), Vec::new()),
        Some(terminal) => {
            let partition = Partition::terminal(&command.tenant, terminal);
            let reference = Reference { partition, changes: vec![command.amount.debit()] };
            (Place::Terminal(TerminalOwner::Merchant(command.merchant.id)), vec![reference])
        }
    };
    Payment {
        tenant: &command.tenant,
        terms,
        merchant: &command.merchant,
        payer: Account::Customer(command.code.customer()),
        place,
        terminal: command.terminal,
        shop: command.shop,
        parts: &Parts::split(command.amount.clone(), None, Vec::new(), terms)?,
        memo: command.memo.as_ref(),
        references,
        with: vec![command.code.consume(&command.tenant, cx.now)],
    }
    .plan(cx)
}

//! A merchant charges the one-time code that a customer shows: the code is consumed in the debit's
//! own transaction.

use super::payment::{Parts, Payment, PaymentReceipt};
use super::payment_code::PaymentCode;
use super::{Context, MerchantTerms, PlanRefusal, TenantTerms};
use crate::account::Account;
use crate::ids::Tenant;
use crate::money::Amount;
use crate::personal::FreeText;
use crate::transaction::Planned;

/// A charge.
#[derive(Clone, Debug)]
pub struct Charge {
    /// Whose table.
    pub tenant: Tenant,
    /// Who charges.
    pub merchant: MerchantTerms,
    /// What the customer shows.
    pub code: PaymentCode,
    /// How much, in an asset that the merchant takes.
    pub amount: Amount,
    /// What the merchant wrote.
    pub memo: Option<FreeText>,
}

/// The charge as one transaction: the payment, and the code's consumption.
///
/// # Errors
/// [`PlanRefusal`] if the merchant takes no payments or not this asset.
pub fn plan(command: &Charge, terms: &TenantTerms, cx: &Context) -> Result<Planned<PaymentReceipt>, PlanRefusal> {
    Payment {
        tenant: &command.tenant,
        terms,
        merchant: &command.merchant,
        payer: Account::Customer(command.code.customer()),
        parts: &Parts::split(command.amount.clone(), None, Vec::new(), terms)?,
        memo: command.memo.as_ref(),
        references: Vec::new(),
        with: vec![command.code.consume(&command.tenant, cx.now)],
    }
    .plan(cx)
}

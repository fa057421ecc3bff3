//! A merchant charges a customer's one-time code. The code is consumed in the transaction of the debit.

use super::code::PaymentCode;
use super::payment::{Parts, Payment, PaymentReceipt};
use crate::account::Account;
use crate::ids::Tenant;
use crate::money::Amount;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{MerchantTerms, TenantTerms};
use crate::transaction::Planned;

/// A charge.
#[derive(Clone, Debug)]
pub struct Charge {
    /// The tenant.
    pub tenant: Tenant,
    /// The merchant that charges.
    pub merchant: MerchantTerms,
    /// The customer's one-time code.
    pub code: PaymentCode,
    /// The amount, in an asset that the merchant accepts.
    pub amount: Amount,
    /// The merchant's memo.
    pub memo: Option<FreeText>,
}

/// Builds the charge's transaction: the payment, and the code's consumption.
///
/// # Errors
/// [`PlanRefusal`] if the merchant takes no payments, or not in this asset.
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

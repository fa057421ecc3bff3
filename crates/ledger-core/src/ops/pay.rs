//! A customer pays a merchant: with money, points and regional currency, and earns points.

use super::payment::{Parts, Payment, PaymentReceipt};
use super::{Context, MerchantTerms, PlanRefusal, TenantTerms};
use crate::account::Account;
use crate::ids::{CustomerId, Tenant};
use crate::personal::FreeText;
use crate::transaction::Planned;

/// A payment that a customer makes.
#[derive(Clone, Debug)]
pub struct Pay {
    /// Whose table.
    pub tenant: Tenant,
    /// Who pays.
    pub customer: CustomerId,
    /// Who is paid.
    pub merchant: MerchantTerms,
    /// How much and with what.
    pub parts: Parts,
    /// What the customer wrote.
    pub memo: Option<FreeText>,
}

/// The payment as one transaction: payer's balances, journal entry, `PAYMENT`, `METRICS`.
///
/// # Errors
/// [`PlanRefusal`] if the merchant takes no payments or the sums do not fit.
pub fn plan(command: &Pay, terms: &TenantTerms, cx: &Context) -> Result<Planned<PaymentReceipt>, PlanRefusal> {
    Payment {
        tenant: &command.tenant,
        terms,
        merchant: &command.merchant,
        payer: Account::Customer(command.customer),
        parts: &command.parts,
        memo: command.memo.as_ref(),
        references: Vec::new(),
        with: Vec::new(),
    }
    .plan(cx)
}

//! A customer pays a merchant: with money, points and regional currency, and earns points.

use super::payment::{Parts, Payment, PaymentReceipt};
use crate::account::Account;
use crate::ids::{CustomerId, Tenant};
use crate::limits::Place;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{MerchantTerms, TenantTerms};
use crate::transaction::Planned;

/// A payment that a customer makes.
#[derive(Clone, Debug)]
pub struct Pay {
    /// The tenant.
    pub tenant: Tenant,
    /// The payer.
    pub customer: CustomerId,
    /// The merchant that is paid.
    pub merchant: MerchantTerms,
    /// The total, and how it divides into assets.
    pub parts: Parts,
    /// The customer's memo.
    pub memo: Option<FreeText>,
}

/// Builds the payment's transaction: the payer's balances, journal entry, `PAYMENT`, aggregates.
///
/// # Errors
/// [`PlanRefusal`] if the merchant takes no payments or the sums do not fit.
pub fn plan(command: &Pay, terms: &TenantTerms, cx: &Context) -> Result<Planned<PaymentReceipt>, PlanRefusal> {
    Payment {
        tenant: &command.tenant,
        terms,
        merchant: &command.merchant,
        payer: Account::Customer(command.customer),
        place: Place::Merchant(command.merchant.id),
        terminal: None,
        shop: None,
        parts: &command.parts,
        memo: command.memo.as_ref(),
        references: Vec::new(),
        with: Vec::new(),
    }
    .plan(cx)
}

//! A merchant voids an authorization: all of the hold is the payer's again.

use super::PaymentRecord;
use super::hold::{self, Release};
use crate::ids::Tenant;
use crate::payment_state::Move;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::transaction::Planned;
use crate::wallets::SeenWallet;

/// A void of a payment that was read.
#[derive(Clone, Debug)]
pub struct Void<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The payment as it was read.
    pub payment: &'a PaymentRecord,
    /// The payer's wallet as it was read. The released hold pays its debt first.
    pub wallet: &'a SeenWallet,
    /// The reason.
    pub reason: Option<&'a FreeText>,
}

/// Builds the void's transaction: the payer's balances, `PAYMENT`, `HOLD` and the journal entry. Neither a freeze nor
/// an expired hold stops it. A payment whose hold was released already is returned unchanged.
///
/// # Errors
/// [`PlanRefusal`] if the payment was never authorized, or was captured.
pub fn plan(command: &Void<'_>, terms: &TenantTerms, cx: &Context) -> Result<Planned<PaymentRecord>, PlanRefusal> {
    let Void { tenant, payment, wallet, reason } = *command;
    if payment.state.is_released() {
        return Ok(hold::guarded_without_effect(tenant, payment));
    }
    Release { tenant, payment, wallet, by: Move::Void, guards: Vec::new(), reason }.plan(terms, cx)
}

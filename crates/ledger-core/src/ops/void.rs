//! A merchant gives up what was authorized: all of it is the payer's again.

use super::hold::{self, Release};
use super::payment_state::Move;
use super::{Context, PaymentRecord, PlanRefusal, SeenWallet, TenantTerms};
use crate::ids::Tenant;
use crate::personal::FreeText;
use crate::transaction::Planned;

/// A void of a payment that has been read.
#[derive(Clone, Debug)]
pub struct Void<'a> {
    /// Whose table.
    pub tenant: &'a Tenant,
    /// The payment as it was read.
    pub payment: &'a PaymentRecord,
    /// The payer's wallet as it was read: what it owes is paid first.
    pub wallet: &'a SeenWallet,
    /// Why.
    pub reason: Option<&'a FreeText>,
}

/// The void as one transaction: the payer's balances, `PAYMENT`, `HOLD` and the journal entry. A freeze
/// does not stop it, nor does the end of the hold's time before the worker has come. A payment of which
/// nothing is held any more is answered as it stands.
///
/// # Errors
/// [`PlanRefusal`] if the payment was never authorized, or has been captured.
pub fn plan(command: &Void<'_>, terms: &TenantTerms, cx: &Context) -> Result<Planned<PaymentRecord>, PlanRefusal> {
    let Void { tenant, payment, wallet, reason } = *command;
    if payment.state.is_released() {
        return Ok(hold::as_it_stands(tenant, payment));
    }
    Release { tenant, payment, wallet, by: Move::Void, guards: Vec::new(), reason }.plan(terms, cx)
}

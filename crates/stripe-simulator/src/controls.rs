//! The actions of payers, banks and dashboard users on the simulator's objects: `/dev/stripe` as methods, for tests in
//! the same process.

use crate::error::StripeError;
use crate::objects::Object;
use crate::payment_intents::{self, Attempt as Payment};
use crate::simulator::Simulator;
use crate::statuses::RefundStatus;
use crate::store::{Caller, Change, NextRefunds};
use crate::{disputes, payouts, refunds};
use serde_json::Value;

/// Why a dev control failed. The state is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// There is no such object.
    #[error("{0}")]
    Missing(String),
    /// The object's state forbids it.
    #[error("{0}")]
    State(String),
}

impl From<StripeError> for ControlError {
    fn from(error: StripeError) -> Self {
        let message = error.message().to_owned();
        if error.status == 404 { Self::Missing(message) } else { Self::State(message) }
    }
}

impl Simulator {
    /// All PaymentIntents, oldest first.
    #[must_use]
    pub fn payment_intents(&self) -> Vec<Value> {
        self.0.lock().state.payment_intents.newest_first().rev().map(Object::json).collect()
    }

    /// All refunds, oldest first.
    #[must_use]
    pub fn refunds(&self) -> Vec<Value> {
        self.0.lock().state.refunds.newest_first().rev().map(Object::json).collect()
    }

    /// All payouts, oldest first.
    #[must_use]
    pub fn payouts(&self) -> Vec<Value> {
        self.0.lock().state.payouts.newest_first().rev().map(Object::json).collect()
    }

    /// Simulates a successful payment.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such PaymentIntent, or its status forbids it.
    pub fn succeed_payment(&self, id: &str) -> Result<Value, ControlError> {
        self.control(|change| payment_intents::finish(change, id, Payment::Paid))
    }

    /// Simulates a decline by the payer's bank. The PaymentIntent then waits for another attempt.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such PaymentIntent, or its status forbids it.
    pub fn fail_payment(&self, id: &str, decline_code: Option<String>) -> Result<Value, ControlError> {
        let reason = decline_code.unwrap_or_else(|| "generic_decline".to_owned());
        self.control(|change| payment_intents::finish(change, id, Payment::Declined(reason)))
    }

    /// Simulates a cancellation at the dashboard.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such PaymentIntent, or its status forbids it.
    pub fn cancel_payment(&self, id: &str, reason: Option<String>) -> Result<Value, ControlError> {
        self.control(|change| payment_intents::cancel(change, id, reason))
    }

    /// Simulates a bank that is processing the payment.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such PaymentIntent, or its status forbids it.
    pub fn process_payment(&self, id: &str) -> Result<Value, ControlError> {
        self.control(|change| payment_intents::process(change, id))
    }

    /// Simulates a refund at the dashboard, of the whole remainder without an amount. It has no metadata.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such PaymentIntent, or nothing to refund.
    pub fn refund_payment(&self, id: &str, amount: Option<i64>, reason: Option<String>) -> Result<Value, ControlError> {
        let create = refunds::Create { payment_intent: Some(id.to_owned()), amount, reason, ..Default::default() };
        self.control(|change| refunds::create(change, create))
    }

    /// Simulates a dispute by the payer's bank, of the whole remainder without an amount.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such PaymentIntent, or nothing to dispute.
    pub fn dispute_payment(
        &self,
        id: &str,
        amount: Option<i64>,
        reason: Option<String>,
    ) -> Result<Value, ControlError> {
        self.control(|change| disputes::open(change, id, disputes::Open { amount, reason }))
    }

    /// Decides a dispute for the merchant.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such dispute, or it is closed.
    pub fn win_dispute(&self, id: &str) -> Result<Value, ControlError> {
        self.control(|change| disputes::win(change, id))
    }

    /// Decides a dispute for the payer.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such dispute, or it is closed.
    pub fn lose_dispute(&self, id: &str) -> Result<Value, ControlError> {
        self.control(|change| disputes::lose(change, id))
    }

    /// Withdraws the money of a won dispute again.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such dispute, or it was not won.
    pub fn overturn_dispute(&self, id: &str) -> Result<Value, ControlError> {
        self.control(|change| disputes::overturn(change, id))
    }

    /// Completes a pending refund.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such refund, or its status forbids it.
    pub fn succeed_refund(&self, id: &str) -> Result<Value, ControlError> {
        self.control(|change| refunds::succeed(change, id))
    }

    /// Fails a refund, even if it has succeeded before.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such refund, or its status forbids it.
    pub fn fail_refund(&self, id: &str, failure_reason: Option<String>) -> Result<Value, ControlError> {
        self.control(|change| refunds::fail(change, id, failure_reason))
    }

    /// Sets the initial status of the next `times` refunds, or of all further ones.
    pub fn set_next_refunds(&self, status: RefundStatus, times: Option<u32>) {
        let next = (times != Some(0)).then_some(NextRefunds { status, times });
        self.0.update(|inner| inner.state.next_refunds = next);
    }

    /// Completes a payout.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such payout, or its status forbids it.
    pub fn pay_payout(&self, id: &str) -> Result<Value, ControlError> {
        self.control(|change| payouts::pay(change, id))
    }

    /// Fails a payout, even if it was paid before.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such payout, or its status forbids it.
    pub fn fail_payout(&self, id: &str, failure_code: Option<String>) -> Result<Value, ControlError> {
        self.control(|change| payouts::fail(change, id, failure_code))
    }

    fn control(&self, act: impl FnOnce(&mut Change<'_>) -> Result<Value, StripeError>) -> Result<Value, ControlError> {
        self.0.change(Caller::default(), act).map_err(ControlError::from)
    }
}

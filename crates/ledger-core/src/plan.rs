//! What every builder is given and returns: a context with time, ids and randomness, and a refusal. A builder takes a
//! command, the terms that apply and a context, and returns a plan: the writes, and a receipt from which the response is
//! made.

use crate::calendar::PaymentDayError;
use crate::dynamo::{Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::{AuditId, TransactionId};
use crate::limits::{LimitHit, LimitRefusal};
use crate::memo::{Memo, SALT_BYTES};
use crate::money::MoneyError;
use crate::payment_state::{PaymentState, WrongState};
use crate::permission::Permission;
use crate::personal::FreeText;
use crate::refused_payment::RefusedPayment;
use crate::time::Timestamp;
use uuid::Uuid;

/// Time, ids and randomness of one request. A re-plan uses the same values.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// When the request arrived.
    pub now: Timestamp,
    /// The id of the journal entry, if one is written.
    pub transaction_id: TransactionId,
    /// The id of what is created: a payment, refund, adjustment, customer...
    pub resource_id: Uuid,
    /// The id of the audit record, if one is written.
    pub audit_id: AuditId,
    /// Randomness that no id shows: for a one-time code, or for the ids of a batch.
    pub secret: [u8; 16],
    /// The salt of the text that a person typed.
    pub salt: [u8; SALT_BYTES],
}

/// Why a request could not be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefusal {
    /// Refused, as by a failed guard. Terminal refusals are stored under the key.
    #[error("refused: {}", .0.code())]
    Refused(Failure),
    /// The payment's state does not allow it.
    #[error("refused: the payment is {state}")]
    InState {
        /// The present state.
        state: PaymentState,
        /// When the hold expired, if the refusal is due to that.
        expired_at: Option<Timestamp>,
    },
    /// The account to be closed has something that is not zero: `wrong_state`, with the names of what is open.
    #[error("refused: still open")]
    StillOpen(Vec<String>),
    /// The amount alone exceeds a limit. Stored under the key, as `limit_exceeded`.
    #[error("refused: limit_exceeded")]
    Limit(LimitHit),
    /// A refused payment, whose stored refusal says what it was.
    #[error("{refusal}")]
    OfPayment {
        /// Why it is refused.
        refusal: Box<PlanRefusal>,
        /// The payment that would have been made.
        payment: Box<RefusedPayment>,
    },
    /// The request is invalid.
    #[error("{field}: {why}")]
    Invalid {
        /// The field of the request.
        field: &'static str,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// A payment day, or a schedule of payment days, is not possible.
    #[error("{field}: {why}")]
    PaymentDay {
        /// The field of the request.
        field: &'static str,
        /// Which days or rules are possible.
        why: PaymentDayError,
    },
    /// The acting staff member lacks a permission.
    #[error("refused: the permission {} is missing", .0.name())]
    Denied(Permission),
    /// A stored item cannot be read.
    #[error(transparent)]
    Stored(#[from] ItemError),
    /// The sums do not fit.
    #[error(transparent)]
    Money(#[from] MoneyError),
}

impl PlanRefusal {
    /// Adds the payment that would have been made.
    pub(crate) fn of_payment(self, payment: RefusedPayment) -> Self {
        Self::OfPayment { refusal: Box::new(self), payment: Box::new(payment) }
    }
}

impl From<WrongState> for PlanRefusal {
    fn from(WrongState(state): WrongState) -> Self {
        Self::InState { state, expired_at: None }
    }
}

impl From<LimitRefusal> for PlanRefusal {
    fn from(refusal: LimitRefusal) -> Self {
        match refusal {
            LimitRefusal::Exceeded(hit) => Self::Limit(hit),
            LimitRefusal::Unread => Self::Refused(Failure::StalePlan),
            LimitRefusal::Money(error) => Self::Money(error),
        }
    }
}

impl Context {
    /// The text that a person typed, for an entry.
    pub(crate) fn memo(&self, text: Option<&FreeText>) -> Option<Memo> {
        text.map(|text| Memo::new(text, self.salt))
    }
}

/// The attribute of a record that no seal covers, with a text that a person typed.
pub(crate) fn memo_attribute(memo: Option<&FreeText>) -> Item {
    memo.map(|memo| ("memo".to_owned(), Value::s(memo.expose()))).into_iter().collect()
}

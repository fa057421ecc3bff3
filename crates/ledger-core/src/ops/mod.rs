//! The operations: one builder per file. Each takes a command, the terms that apply and a context, and returns a
//! plan: the writes, and a receipt from which the response is made.

pub mod adjustment;
pub mod adjustment_decide;
pub mod adjustment_request;
pub mod audit;
pub mod authorize;
pub mod bulk_grant;
pub mod capture;
pub mod card;
pub mod card_pay;
pub mod card_reverse;
pub mod card_topup;
pub mod charge;
pub mod crediting;
pub mod customer_open;
mod debt;
mod earned;
pub mod grant;
mod hold;
pub mod hold_expire;
pub mod journal;
pub mod merchant;
pub mod pay;
pub mod payment;
pub mod payment_code;
pub mod payment_record;
pub mod payment_state;
pub mod profile;
pub mod refund;
mod return_kind;
pub mod settlement;
pub mod tenant;
pub mod terminal;
pub mod terms;
pub mod topup;
pub mod transfer;
pub mod void;

pub use debt::{SeenBalance, SeenWallet};
pub(crate) use hold::PAYMENT_STATUS;
pub use payment::{Parts, PaymentReceipt, RequestedParts};
pub use payment_record::PaymentRecord;
pub use payment_state::PaymentState;
pub use return_kind::ReturnKind;
pub use terms::{AssetTerms, Co2Terms, HoldHours, KeyPhase, MerchantTerms, SpentPoints, TenantTerms, TopupTerms};

use crate::dynamo::{Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::{AuditId, TransactionId};
use crate::money::MoneyError;
use crate::personal::FreeText;
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
    /// Randomness for a one-time code.
    pub secret: [u8; 16],
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
    /// The request is invalid.
    #[error("{field}: {why}")]
    Invalid {
        /// The field of the request.
        field: &'static str,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// A stored item cannot be read.
    #[error(transparent)]
    Stored(#[from] ItemError),
    /// The sums do not fit.
    #[error(transparent)]
    Money(#[from] MoneyError),
}

/// The journal's details of a memo.
fn memo_details(memo: Option<&FreeText>) -> Item {
    memo.map(|memo| ("memo".to_owned(), Value::s(memo.expose()))).into_iter().collect()
}

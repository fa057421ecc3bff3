//! Facts of a top-up: our records and entries, and the payment provider's objects.

use super::super::num::Num;
use super::text;
use crate::account::Account;
use crate::ids::{RefundId, TransactionId};
use crate::operation::Operation;
use crate::psp::{IntentStatus, PspId, RefundStatus};
use crate::topups::{ClawbackState, EntryDecision, RefundState, TopupState};
use serde::{Deserialize, Serialize};

/// One fact of a top-up. Instants are milliseconds since 1970, amounts yen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum TopupFact {
    /// Its record.
    Record(RecordedTopup),
    /// A refund of it to the card.
    Refund(RecordedTopupRefund),
    /// A clawback: money of it that the provider took without our request.
    Clawback(RecordedClawback),
    /// One of its entries.
    Entry(TopupEntry),
    /// The provider's PaymentIntent for it.
    Charge(Charge),
    /// A provider's refund that we requested.
    ProviderRefund(ProviderRefund),
}

/// A top-up's record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedTopup {
    /// Its state.
    #[serde(with = "text::one")]
    pub state: TopupState,
    /// The account of the wallet.
    #[serde(with = "text::one")]
    pub wallet: Account,
    /// The amount that is charged.
    pub charge: Num,
    /// The amount that may still be refunded.
    pub refundable: Num,
    /// The number of its points that were taken back.
    pub taken_back: Num,
    /// The amount on `suspense`.
    pub suspense: Num,
    /// What the provider had received when it was given up.
    pub given_up: Num,
    /// The provider's PaymentIntent, if it is known.
    #[serde(with = "text::optional")]
    pub intent: Option<PspId>,
    /// When it was requested.
    pub at: i64,
}

/// The record of a refund to the card.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedTopupRefund {
    /// Its id.
    #[serde(with = "text::one")]
    pub id: RefundId,
    /// Its state.
    #[serde(with = "text::one")]
    pub state: RefundState,
    /// The amount that leaves the wallet.
    pub amount: Num,
    /// The amount that the card gets.
    pub paid: Num,
    /// The number of points that it settles.
    pub settled: Num,
    /// The amount on `suspense`.
    pub suspense: Num,
    /// What the provider had paid out when it was given up.
    pub given_up: Num,
    /// When it was requested.
    pub at: i64,
}

/// The record of a clawback.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedClawback {
    /// The provider's id.
    #[serde(with = "text::one")]
    pub id: PspId,
    /// Its state.
    #[serde(with = "text::one")]
    pub state: ClawbackState,
    /// The latest known movement of its money.
    pub round: u32,
    /// By how much it lowers the top-up's refundable amount.
    pub lowered: Num,
    /// The number of points that it settles.
    pub settled: Num,
}

/// An entry of a top-up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopupEntry {
    /// Its id.
    #[serde(with = "text::one")]
    pub entry: TransactionId,
    /// The account in whose partition it is.
    #[serde(with = "text::one")]
    pub home: Account,
    /// The step that it records.
    pub step: TopupStep,
    /// Its postings to `suspense`.
    pub suspense: Num,
}

/// The step of a top-up that an entry records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum TopupStep {
    /// The wallet was credited.
    Credit,
    /// The money of a refund was held.
    RefundHold(#[serde(with = "text::one")] RefundId),
    /// The money of a refund was paid out.
    RefundPayout(#[serde(with = "text::one")] RefundId),
    /// The money of a refund was returned.
    RefundReturn(#[serde(with = "text::one")] RefundId),
    /// The provider took money.
    ClawbackTaken(#[serde(with = "text::one")] PspId),
    /// The provider returned the money.
    ClawbackReturned(#[serde(with = "text::one")] PspId),
    /// A decision posted to `suspense` and to no wallet.
    Suspense,
    /// An operation that does not write entries of top-ups.
    Unknown {
        /// The operation that wrote it.
        #[serde(with = "text::one")]
        operation: Operation,
        /// The decision, by the entry.
        #[serde(with = "text::optional")]
        decision: Option<EntryDecision>,
    },
}

impl TopupStep {
    /// The step of an entry, by its operation and by what it names.
    #[must_use]
    pub fn of(
        operation: Operation,
        decision: Option<EntryDecision>,
        refund: Option<RefundId>,
        psp_id: Option<PspId>,
    ) -> Self {
        use EntryDecision as D;
        use Operation as O;
        match (operation, decision, refund, psp_id) {
            (O::Topup, None, None, _) | (O::TopupDecision, Some(D::Book), None, _) => Self::Credit,
            (O::TopupRefund, None, Some(refund), _) => Self::RefundHold(refund),
            (O::TopupRefundPaid, None, Some(refund), _) | (O::TopupDecision, Some(D::Book), Some(refund), _) => {
                Self::RefundPayout(refund)
            }
            // An operator who gives up a parked refund returns its money under another key.
            (O::TopupRefundReturned | O::ParkedResolve, None, Some(refund), _)
            | (O::TopupDecision, Some(D::GiveUp), Some(refund), _) => Self::RefundReturn(refund),
            (O::Clawback, None, None, Some(id)) => Self::ClawbackTaken(id),
            (O::ClawbackReturned, None, None, Some(id)) => Self::ClawbackReturned(id),
            (O::TopupDecision, Some(D::GiveUp), None, _)
            | (O::TopupDecision, Some(D::WriteOff), ..)
            | (O::TopupDecision, Some(D::Post), Some(_), _) => Self::Suspense,
            (operation, decision, ..) => Self::Unknown { operation, decision },
        }
    }
}

/// The provider's PaymentIntent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    /// The provider's id.
    #[serde(with = "text::one")]
    pub id: PspId,
    /// Its status.
    #[serde(with = "text::one")]
    pub status: IntentStatus,
    /// The amount that was received.
    pub received: Num,
}

/// The provider's refund.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderRefund {
    /// The provider's id.
    #[serde(with = "text::one")]
    pub id: PspId,
    /// Our refund.
    #[serde(with = "text::one")]
    pub refund: RefundId,
    /// Its status.
    #[serde(with = "text::one")]
    pub status: RefundStatus,
    /// The amount.
    pub amount: Num,
}

//! Facts of a top-up: our records and entries, and the payment provider's objects.

use super::super::num::Num;
use super::text;
use crate::account::Account;
use crate::ids::{RefundId, TransactionId};
use crate::operation::Operation;
use crate::ops::topup::{ClawbackState, EntryDecision, RefundState, TopupState};
use crate::psp::{IntentStatus, PspId, RefundStatus};
use serde::{Deserialize, Serialize};

/// One fact of a top-up. Instants are milliseconds since 1970, amounts yen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum TopupFact {
    /// Its record.
    Record(RecordedTopup),
    /// A refund of it to the card.
    Refund(RecordedTopupRefund),
    /// Money of it that the provider took without our asking.
    Clawback(RecordedClawback),
    /// An entry of it.
    Entry(TopupEntry),
    /// The provider's PaymentIntent for it.
    Charge(Charge),
    /// The provider's refund that we asked for.
    ProviderRefund(ProviderRefund),
}

/// A top-up's record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedTopup {
    /// Its state.
    #[serde(with = "text::one")]
    pub state: TopupState,
    /// Whose wallet.
    #[serde(with = "text::one")]
    pub wallet: Account,
    /// How much is charged.
    pub charge: Num,
    /// What may be refunded.
    pub refundable: Num,
    /// How many of its points were taken back.
    pub taken_back: Num,
    /// What it has on `suspense`.
    pub suspense: Num,
    /// What the provider had received when it was given up.
    pub given_up: Num,
    /// The provider's PaymentIntent, if it is known.
    #[serde(with = "text::optional")]
    pub intent: Option<PspId>,
    /// When it was asked for.
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
    /// What leaves the wallet.
    pub amount: Num,
    /// What the card gets.
    pub paid: Num,
    /// How many points it settles.
    pub settled: Num,
    /// What it has on `suspense`.
    pub suspense: Num,
    /// What the provider had paid out when it was given up.
    pub given_up: Num,
    /// When it was asked for.
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
    /// The latest movement of its money that is known.
    pub round: u32,
    /// By how much what may be refunded of the top-up is lower for it.
    pub lowered: Num,
    /// How many points it settles.
    pub settled: Num,
}

/// An entry of a top-up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopupEntry {
    /// Its id.
    #[serde(with = "text::one")]
    pub entry: TransactionId,
    /// In whose partition it is.
    #[serde(with = "text::one")]
    pub home: Account,
    /// What it did.
    pub step: TopupStep,
    /// What it posts to `suspense`.
    pub suspense: Num,
}

/// What an entry of a top-up did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum TopupStep {
    /// The wallet was credited.
    Credit,
    /// The money of a refund was held.
    RefundHold(#[serde(with = "text::one")] RefundId),
    /// The money of a refund was paid out.
    RefundPayout(#[serde(with = "text::one")] RefundId),
    /// The money of a refund came back.
    RefundReturn(#[serde(with = "text::one")] RefundId),
    /// The provider took money.
    ClawbackTaken(#[serde(with = "text::one")] PspId),
    /// The provider gave it back.
    ClawbackReturned(#[serde(with = "text::one")] PspId),
    /// A decision posted to `suspense` and to no wallet.
    Suspense,
    /// An entry as no operation on a top-up writes it.
    Unknown {
        /// The operation that wrote it.
        #[serde(with = "text::one")]
        operation: Operation,
        /// What it says was decided.
        #[serde(with = "text::optional")]
        decision: Option<EntryDecision>,
    },
}

impl TopupStep {
    /// What an entry did, by its operation and by what it names.
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
            (O::Topup, None, None, _) | (O::TopupDecisionApprove, Some(D::Book), None, _) => Self::Credit,
            (O::TopupRefund, None, Some(refund), _) => Self::RefundHold(refund),
            (O::TopupRefundPaid, None, Some(refund), _) | (O::TopupDecisionApprove, Some(D::Book), Some(refund), _) => {
                Self::RefundPayout(refund)
            }
            // A person who gives up a parked refund gives its money back under a key of their own.
            (O::TopupRefundReturned | O::ParkedResolve, None, Some(refund), _)
            | (O::TopupDecisionApprove, Some(D::GiveUp), Some(refund), _) => Self::RefundReturn(refund),
            (O::Clawback, None, None, Some(id)) => Self::ClawbackTaken(id),
            (O::ClawbackReturned, None, None, Some(id)) => Self::ClawbackReturned(id),
            (O::TopupDecisionApprove, Some(D::GiveUp), None, _)
            | (O::TopupDecisionApprove, Some(D::WriteOff), ..)
            | (O::TopupDecisionApprove, Some(D::Post), Some(_), _) => Self::Suspense,
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
    /// How much was received.
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
    /// How much.
    pub amount: Num,
}

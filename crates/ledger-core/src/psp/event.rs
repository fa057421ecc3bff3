//! Events of the payment provider, and the facts about its objects in them.

use super::object::{Dispute, IntentStatus, PaymentIntent, Payout, PayoutStatus, PspId, PspRefund, RefundStatus, Tags};
use std::fmt;

/// An event's id. A lookup has one too, made from the object and the state that it found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(PspId);

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: EventId,
    /// Its type, such as `payment_intent.succeeded`.
    pub kind: String,
    /// Whether it concerns real money.
    pub livemode: bool,
    /// The connected account that it happened on, if it was one.
    pub account: Option<String>,
    /// The object that it is about.
    pub subject: Subject,
}

/// The object that an event carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A PaymentIntent.
    Intent(PaymentIntent),
    /// A refund.
    Refund(PspRefund),
    /// A dispute.
    Dispute(Dispute),
    /// A payout.
    Payout(Payout),
    /// Something else.
    Other,
}

/// A fact about a top-up that may change the books.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The state of a PaymentIntent.
    Intent(PaymentIntent),
    /// The state of a refund.
    Refund(PspRefund),
    /// The provider took a dispute's money.
    Withdrawn(Dispute),
    /// The provider returned a dispute's money.
    Reinstated(Dispute),
}

impl EventId {
    /// Parses an id; `None` unless it has the form of a [`PspId`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        PspId::parse(text).map(Self)
    }

    /// The id's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Event {
    /// The fact about a top-up; `None` if the event concerns none of our records. Unknown event types have no fact,
    /// since the provider adds new ones.
    #[must_use]
    pub fn fact(&self) -> Option<Fact> {
        match &self.subject {
            Subject::Intent(intent) if self.kind.starts_with("payment_intent.") => Some(Fact::Intent(intent.clone())),
            Subject::Refund(refund) if self.kind.starts_with("refund.") || self.kind == "charge.refund.updated" => {
                Some(Fact::Refund(refund.clone()))
            }
            Subject::Dispute(dispute) => match self.kind.as_str() {
                "charge.dispute.funds_withdrawn" => Some(Fact::Withdrawn(dispute.clone())),
                "charge.dispute.funds_reinstated" => Some(Fact::Reinstated(dispute.clone())),
                _ => None,
            },
            Subject::Intent(_) | Subject::Refund(_) | Subject::Payout(_) | Subject::Other => None,
        }
    }

    /// The payout as it was at the event, if the event is about one.
    #[must_use]
    pub fn payout(&self) -> Option<&Payout> {
        match &self.subject {
            Subject::Payout(payout) => self.kind.starts_with("payout.").then_some(payout),
            Subject::Intent(_) | Subject::Refund(_) | Subject::Dispute(_) | Subject::Other => None,
        }
    }
}

impl Fact {
    /// Our metadata on the object, if it has any. Disputes have none; their PaymentIntent has it.
    #[must_use]
    pub fn tags(&self) -> Option<&Tags> {
        match self {
            Self::Intent(intent) => intent.tags.as_ref(),
            Self::Refund(refund) => refund.tags.as_ref(),
            Self::Withdrawn(_) | Self::Reinstated(_) => None,
        }
    }

    /// The id of the provider's object.
    #[must_use]
    pub fn object(&self) -> &PspId {
        match self {
            Self::Intent(intent) => &intent.id,
            Self::Refund(refund) => &refund.id,
            Self::Withdrawn(dispute) | Self::Reinstated(dispute) => &dispute.id,
        }
    }

    /// The id of the PaymentIntent that it is about.
    #[must_use]
    pub fn intent(&self) -> Option<&PspId> {
        match self {
            Self::Intent(intent) => Some(&intent.id),
            Self::Refund(refund) => refund.intent.as_ref(),
            Self::Withdrawn(dispute) | Self::Reinstated(dispute) => dispute.intent.as_ref(),
        }
    }

    /// The event id of a lookup with this result. The same object in the same state has the same id.
    #[must_use]
    pub fn seen_as(&self) -> EventId {
        let (id, word) = match self {
            Self::Intent(intent) => match intent.status {
                IntentStatus::Open => (&intent.id, "open"),
                IntentStatus::Succeeded => (&intent.id, "succeeded"),
                IntentStatus::Canceled => (&intent.id, "canceled"),
            },
            Self::Refund(refund) => match refund.status {
                RefundStatus::Pending => (&refund.id, "pending"),
                RefundStatus::Succeeded => (&refund.id, "succeeded"),
                RefundStatus::Failed => (&refund.id, "failed"),
            },
            Self::Withdrawn(dispute) => (&dispute.id, "withdrawn"),
            Self::Reinstated(dispute) => (&dispute.id, "reinstated"),
        };
        EventId(PspId::joined("seen", id, word))
    }
}

impl Payout {
    /// The event id of a lookup with this result.
    #[must_use]
    pub fn seen_as(&self) -> EventId {
        let word = match self.status {
            PayoutStatus::Sent => "sent",
            PayoutStatus::Failed => "failed",
        };
        EventId(PspId::joined("seen", &self.id, word))
    }
}

//! The kind of a payment's record `REFUND#<id>`: a refund or a reversal.

/// The kinds of records that change what may be refunded of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReturnKind {
    /// The merchant refunded money.
    Refund,
    /// A terminal reversed its own refund.
    RefundReversal,
    /// A terminal reversed the payment.
    PaymentReversal,
}

impl ReturnKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Refund, Self::RefundReversal, Self::PaymentReversal];

    /// The stable name, as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refund => "refund",
            Self::RefundReversal => "refund_reversal",
            Self::PaymentReversal => "payment_reversal",
        }
    }

    /// Parses a stored name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

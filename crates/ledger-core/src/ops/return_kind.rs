//! What a record `REFUND#<id>` of a payment is: a refund, or what a terminal took back.

/// The kinds of records that change what of a payment may be refunded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReturnKind {
    /// The merchant gave money back.
    Refund,
    /// A terminal took a refund of its own back.
    RefundReversal,
    /// A terminal took the payment back.
    PaymentReversal,
}

impl ReturnKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Refund, Self::RefundReversal, Self::PaymentReversal];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refund => "refund",
            Self::RefundReversal => "refund_reversal",
            Self::PaymentReversal => "payment_reversal",
        }
    }

    /// Reads a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

//! The kind of a payment's record `REFUND#<id>`: a refund or a reversal.

use crate::words::words;

words! {
    /// The kinds of records that change what may be refunded of a payment.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ReturnKind {
        /// The merchant refunded money.
        Refund = "refund",
        /// A terminal reversed its own refund.
        RefundReversal = "refund_reversal",
        /// A terminal reversed the payment.
        PaymentReversal = "payment_reversal",
    }
}

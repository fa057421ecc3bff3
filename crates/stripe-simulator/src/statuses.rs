//! The statuses of Stripe's objects.
//! Each knows its name on the wire, and what may follow it.

use serde::{Deserialize, Serialize};

/// Where a PaymentIntent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IntentStatus {
    RequiresPaymentMethod,
    RequiresConfirmation,
    Processing,
    Succeeded,
    Canceled,
}

impl IntentStatus {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::RequiresPaymentMethod => "requires_payment_method",
            Self::RequiresConfirmation => "requires_confirmation",
            Self::Processing => "processing",
            Self::Succeeded => "succeeded",
            Self::Canceled => "canceled",
        }
    }

    /// Whether it waits for its payer.
    pub(crate) const fn is_open(self) -> bool {
        match self {
            Self::RequiresPaymentMethod | Self::RequiresConfirmation => true,
            Self::Processing | Self::Succeeded | Self::Canceled => false,
        }
    }
}

/// Where a refund stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundStatus {
    /// On its way.
    Pending,
    /// The payer has to act before it can go on.
    RequiresAction,
    /// The payer has the money, as far as Stripe knows: it may fail later all the same.
    Succeeded,
    /// It came back.
    Failed,
    /// It was taken back before it went out.
    Canceled,
}

impl RefundStatus {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::RequiresAction => "requires_action",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// Whether its amount counts as refunded.
    pub(crate) const fn counts(self) -> bool {
        match self {
            Self::Pending | Self::RequiresAction | Self::Succeeded => true,
            Self::Failed | Self::Canceled => false,
        }
    }
}

/// Where a dispute stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DisputeStatus {
    NeedsResponse,
    Won,
    Lost,
}

impl DisputeStatus {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NeedsResponse => "needs_response",
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }
}

/// Where a payout stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PayoutStatus {
    Pending,
    Paid,
    Failed,
}

impl PayoutStatus {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Paid => "paid",
            Self::Failed => "failed",
        }
    }
}

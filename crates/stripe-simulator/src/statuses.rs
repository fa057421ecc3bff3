//! The statuses of Stripe's objects, with their names in JSON.

use serde::{Deserialize, Serialize};

/// The status of a PaymentIntent.
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

/// The status of a refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundStatus {
    /// Not completed yet.
    Pending,
    /// Waits for an action of the payer.
    RequiresAction,
    /// Reported as succeeded; it may still fail later.
    Succeeded,
    /// Failed: the money was returned.
    Failed,
    /// Canceled before it was sent.
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

/// The status of a dispute.
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

/// The status of a payout.
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

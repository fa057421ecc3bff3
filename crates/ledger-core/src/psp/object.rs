//! The provider's objects as they were at one moment: in a response, a lookup, or an event.

use crate::ids::{MerchantId, RefundId, SettlementId, Tenant, TopupId};
use crate::money::{Amount, AssetSpec};
use crate::personal::Masked;
use crate::words::words;
use std::fmt;

/// The names of our metadata on the provider's objects.
pub(super) mod tag {
    /// The deployment.
    pub(in crate::psp) const LEDGER: &str = "ecopay_ledger";
    /// The tenant.
    pub(in crate::psp) const TENANT: &str = "ecopay_tenant";
    /// The top-up.
    pub(in crate::psp) const TOPUP: &str = "ecopay_topup";
    /// The refund.
    pub(in crate::psp) const REFUND: &str = "ecopay_refund";
    /// The merchant that is paid.
    pub(in crate::psp) const MERCHANT: &str = "ecopay_merchant";
    /// The settlement that it is paid for.
    pub(in crate::psp) const SETTLEMENT: &str = "ecopay_settlement";
}

/// The provider's id of an object, such as `pi_3Q...`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PspId(String);

/// The secret that lets a customer's browser pay a PaymentIntent. It prints as `***`.
pub type ClientSecret = Masked<String>;

/// An amount in the provider's form: a whole number of the currency's smallest unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspMoney {
    /// The number of units.
    pub minor: u64,
    /// The currency: a lower-case ISO 4217 code.
    pub currency: String,
}

/// Our metadata on a PaymentIntent or a refund.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tags {
    /// The tenant.
    pub tenant: Tenant,
    /// The top-up.
    pub topup: TopupId,
    /// The refund, on a refund's object.
    pub refund: Option<RefundId>,
}

/// Our metadata on a payout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutTags {
    /// The tenant.
    pub tenant: Tenant,
    /// The merchant that is paid.
    pub merchant: MerchantId,
    /// The settlement that it pays.
    pub settlement: SettlementId,
}

/// A PaymentIntent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentIntent {
    /// Its id.
    pub id: PspId,
    /// The amount that was requested.
    pub amount: PspMoney,
    /// The amount that was received, in the currency's smallest unit.
    pub received: u64,
    /// The present status.
    pub status: IntentStatus,
    /// Whether it is real money.
    pub livemode: bool,
    /// The secret that lets the customer pay it.
    pub client_secret: Option<ClientSecret>,
    /// Our metadata, if it is ours.
    pub tags: Option<Tags>,
}

words! {
    /// The status of a PaymentIntent, reduced to what matters to us.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum IntentStatus {
        /// Not paid yet: the customer has not paid, or the provider is processing it.
        Open = "open",
        /// It was paid. Final.
        Succeeded = "succeeded",
        /// It was canceled. Final.
        Canceled = "canceled",
    }
}

/// A refund.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspRefund {
    /// Its id.
    pub id: PspId,
    /// The PaymentIntent that it refunds.
    pub intent: Option<PspId>,
    /// The amount.
    pub amount: PspMoney,
    /// The present status.
    pub status: RefundStatus,
    /// Our metadata, if the refund is ours.
    pub tags: Option<Tags>,
}

words! {
    /// The status of a refund, reduced to what matters to us.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum RefundStatus {
        /// In progress.
        Pending = "pending",
        /// It was paid out. It may still fail later.
        Succeeded = "succeeded",
        /// It was not paid out, or was returned: failed or canceled. Final.
        Failed = "failed",
    }
}

/// A payout from the balance at the provider to an external account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payout {
    /// Its id.
    pub id: PspId,
    /// The amount.
    pub amount: PspMoney,
    /// The present status.
    pub status: PayoutStatus,
    /// Whether it is real money.
    pub livemode: bool,
    /// Our metadata, if the payout is ours.
    pub tags: Option<PayoutTags>,
}

words! {
    /// The status of a payout, reduced to what matters to us.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum PayoutStatus {
        /// It is on its way, or has arrived. It may still be returned.
        Sent = "sent",
        /// It did not arrive, or was returned: failed or canceled. Final.
        Failed = "failed",
    }
}

/// A dispute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispute {
    /// Its id.
    pub id: PspId,
    /// The disputed PaymentIntent.
    pub intent: Option<PspId>,
    /// The amount.
    pub amount: PspMoney,
    /// Whether it is real money.
    pub livemode: bool,
    /// How many movements of its money it lists: taken, returned, taken again. 0 if it lists none.
    pub movements: u32,
}

impl PspId {
    /// Reads an id: 1 to 255 letters, digits and `_`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        fits.then(|| Self(text.to_owned()))
    }

    /// The id's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An id made from one of the provider's ids.
    pub(super) fn joined(before: &str, id: &Self, after: &str) -> Self {
        Self(format!("{before}_{id}_{after}"))
    }
}

impl fmt::Display for PspId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl IntentStatus {
    /// Reads the provider's status. Any other word than the two final ones means open, since the provider may add
    /// some.
    #[must_use]
    pub fn reported(word: &str) -> Self {
        match word {
            "succeeded" => Self::Succeeded,
            "canceled" => Self::Canceled,
            _ => Self::Open,
        }
    }
}

impl RefundStatus {
    /// Reads the provider's status. An unknown word means in progress.
    #[must_use]
    pub fn reported(word: &str) -> Self {
        match word {
            "succeeded" => Self::Succeeded,
            "failed" | "canceled" => Self::Failed,
            _ => Self::Pending,
        }
    }
}

impl PayoutStatus {
    /// Reads the provider's status. An unknown word means sent.
    #[must_use]
    pub fn reported(word: &str) -> Self {
        match word {
            "failed" | "canceled" => Self::Failed,
            _ => Self::Sent,
        }
    }
}

impl PspMoney {
    /// The amount in yen, which have no smaller unit. `None` for zero, or another currency.
    #[must_use]
    pub fn yen(&self) -> Option<Amount> {
        let amount = Amount::parse(&AssetSpec::ECOPAY, &self.minor.to_string()).ok()?;
        (self.currency == "jpy").then_some(amount)
    }
}

impl Tags {
    /// Whether the metadata names this deployment, even if the rest of it cannot be read.
    #[must_use]
    pub fn are_ours<'a>(ledger: &str, at: impl Fn(&str) -> Option<&'a str>) -> bool {
        at(tag::LEDGER) == Some(ledger)
    }

    /// Reads metadata by name. `None` if it is another deployment's, or no deployment's.
    #[must_use]
    pub fn read<'a>(ledger: &str, at: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        if !Self::are_ours(ledger, &at) {
            return None;
        }
        Some(Self {
            tenant: Tenant::parse(at(tag::TENANT)?).ok()?,
            topup: TopupId::parse(at(tag::TOPUP)?).ok()?,
            refund: match at(tag::REFUND) {
                Some(refund) => Some(RefundId::parse(refund).ok()?),
                None => None,
            },
        })
    }
}

impl PayoutTags {
    /// Reads metadata by name. `None` if it is not ours, or not a payout's.
    #[must_use]
    pub fn read<'a>(ledger: &str, at: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        if !Tags::are_ours(ledger, &at) {
            return None;
        }
        Some(Self {
            tenant: Tenant::parse(at(tag::TENANT)?).ok()?,
            merchant: MerchantId::parse(at(tag::MERCHANT)?).ok()?,
            settlement: SettlementId::parse(at(tag::SETTLEMENT)?).ok()?,
        })
    }
}

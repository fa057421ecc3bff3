//! The provider's objects as they looked at one moment: an answer, a look-up, or an event's snapshot.

use crate::ids::{MerchantId, RefundId, SettlementId, Tenant, TopupId};
use crate::money::{Amount, AssetSpec};
use crate::personal::Masked;
use std::fmt;

/// Names of the metadata by which our objects are known.
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

/// What lets a customer's browser pay a PaymentIntent. It prints as `***`.
pub type ClientSecret = Masked<String>;

/// An amount as the provider writes it: a whole number of the currency's smallest unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspMoney {
    /// How much.
    pub minor: u64,
    /// Of what: a lower-case ISO 4217 code.
    pub currency: String,
}

/// What our metadata on a PaymentIntent or a refund says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tags {
    /// Whose.
    pub tenant: Tenant,
    /// Of which top-up.
    pub topup: TopupId,
    /// Of which refund, if it is one.
    pub refund: Option<RefundId>,
}

/// What our metadata on a payout says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutTags {
    /// Whose.
    pub tenant: Tenant,
    /// Who is paid.
    pub merchant: MerchantId,
    /// For which settlement.
    pub settlement: SettlementId,
}

/// A PaymentIntent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentIntent {
    /// Its id.
    pub id: PspId,
    /// What was asked for.
    pub amount: PspMoney,
    /// What was received, in the smallest unit.
    pub received: u64,
    /// Where it stands.
    pub status: IntentStatus,
    /// Whether it is real money.
    pub livemode: bool,
    /// What lets the customer pay it.
    pub client_secret: Option<ClientSecret>,
    /// Our metadata, if it is ours.
    pub tags: Option<Tags>,
}

/// Where a PaymentIntent stands, as far as it matters to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IntentStatus {
    /// It waits for the customer, or the provider is at it.
    Open,
    /// It was paid; for good.
    Succeeded,
    /// It was canceled; for good.
    Canceled,
}

impl IntentStatus {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Succeeded => "succeeded",
            Self::Canceled => "canceled",
        }
    }
}

impl RefundStatus {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

/// A refund.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspRefund {
    /// Its id.
    pub id: PspId,
    /// The PaymentIntent that it refunds.
    pub intent: Option<PspId>,
    /// How much.
    pub amount: PspMoney,
    /// Where it stands.
    pub status: RefundStatus,
    /// Our metadata, if we asked for it.
    pub tags: Option<Tags>,
}

/// Where a refund stands, as far as it matters to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefundStatus {
    /// It is on its way.
    Pending,
    /// It was paid out. It may fail even so.
    Succeeded,
    /// It was not paid out, or came back: failed or canceled; for good.
    Failed,
}

/// A payout from the balance at the provider to an account outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payout {
    /// Its id.
    pub id: PspId,
    /// How much.
    pub amount: PspMoney,
    /// Where it stands.
    pub status: PayoutStatus,
    /// Whether it is real money.
    pub livemode: bool,
    /// Our metadata, if we asked for it.
    pub tags: Option<PayoutTags>,
}

/// Where a payout stands, as far as it matters to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PayoutStatus {
    /// It is on its way, or has arrived. It may come back even so.
    Sent,
    /// It did not arrive, or came back: failed or canceled; for good.
    Failed,
}

impl PayoutStatus {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Failed => "failed",
        }
    }
}

/// A dispute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispute {
    /// Its id.
    pub id: PspId,
    /// The disputed PaymentIntent.
    pub intent: Option<PspId>,
    /// How much.
    pub amount: PspMoney,
    /// Whether it is real money.
    pub livemode: bool,
    /// How often its money has moved, as it lists it: taken, given back, taken again. 0 where it lists nothing.
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

    /// An id of ours that is made from one of the provider's.
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
    /// Reads the provider's word. Whatever is neither of the final two is open: the provider may add some.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        match word {
            "succeeded" => Self::Succeeded,
            "canceled" => Self::Canceled,
            _ => Self::Open,
        }
    }
}

impl RefundStatus {
    /// Reads the provider's word. Whatever is not known is on its way.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        match word {
            "succeeded" => Self::Succeeded,
            "failed" | "canceled" => Self::Failed,
            _ => Self::Pending,
        }
    }
}

impl PayoutStatus {
    /// Reads the provider's word. Whatever is not known is on its way.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        match word {
            "failed" | "canceled" => Self::Failed,
            _ => Self::Sent,
        }
    }
}

impl PspMoney {
    /// The amount in yen, which have no smaller unit. `None` for nothing, or another currency.
    #[must_use]
    pub fn yen(&self) -> Option<Amount> {
        let amount = Amount::parse(&AssetSpec::ECOPAY, &self.minor.to_string()).ok()?;
        (self.currency == "jpy").then_some(amount)
    }
}

impl Tags {
    /// Whether metadata says that an object is this deployment's, readable or not.
    #[must_use]
    pub fn are_ours<'a>(ledger: &str, at: impl Fn(&str) -> Option<&'a str>) -> bool {
        at(tag::LEDGER) == Some(ledger)
    }

    /// Reads metadata by name. `None` if it is not ours: another deployment's, or nobody's.
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
    /// Reads metadata by name. `None` if it is not ours, or no payout's.
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

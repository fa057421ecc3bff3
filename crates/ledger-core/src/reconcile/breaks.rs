//! What a reconciliation finds.

use crate::forms::SeenCorrections;
use crate::ids::Tenant;
use crate::keys::Key;
use crate::money::{Asset, Delta};
use std::collections::BTreeSet;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What is wrong. The name stands in reports and metrics, so it never changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum BreakKind { $($(#[$doc])* $variant,)* }

        impl BreakKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    /// An item does not look as we write it.
    UnreadableItem = "unreadable_item",
    /// An entry's postings of an asset do not sum to zero.
    UnbalancedEntry = "unbalanced_entry",
    /// A record, a marker or a reference names an entry that is not there.
    EntryMissing = "entry_missing",
    /// An entry stands twice under one id.
    EntryDoubled = "entry_doubled",
    /// A reference or record tells otherwise than the entry that it names.
    EntryDiffers = "entry_differs",
    /// Two entries stand under one idempotency key.
    DuplicateEffect = "duplicate_effect",
    /// What may be spent is not the sum of its postings.
    BalanceDiffers = "balance_differs",
    /// What is held is not the sum of its postings, or not what holds and refunds say.
    HeldDiffers = "held_differs",
    /// What a wallet owes is not the sum of what its entries post to `disputes`.
    OwedDiffers = "owed_differs",
    /// What is reserved under a cap is not what open top-ups say.
    ReservedDiffers = "reserved_differs",
    /// What the provider moved for a top-up that was decided on is on `suspense`, and has not been written off.
    SuspenseOpen = "suspense_open",
    /// A balance that must not be is below zero.
    NegativeBalance = "negative_balance",
    /// What counts against a cap is not the sum of its parts.
    ExposureDiffers = "exposure_differs",
    /// Something is held for a payment that is not there.
    HoldWithoutPayment = "hold_without_payment",
    /// A payment and what is held for it tell two things.
    HoldDiffers = "hold_differs",
    /// A refund or an entry is of a payment that is not there.
    PaymentMissing = "payment_missing",
    /// What of a payment may be refunded, or its state, is not what its refunds leave.
    PaymentDiffers = "payment_differs",
    /// A record owes its merchant otherwise than its entry posts.
    CreditDiffers = "credit_differs",
    /// A refund, a clawback or an entry is of a top-up that is not there.
    TopupMissing = "topup_missing",
    /// A top-up's or its refund's state and sums are not what its entries say.
    TopupDiffers = "topup_differs",
    /// A settlement is not what its records add up to, or paid otherwise than it says.
    SettlementDiffers = "settlement_differs",
    /// An operation has been in flight for too long after its lease.
    ClaimStuck = "claim_stuck",
    /// An entry has not been told as an event for too long.
    EventUnsent = "event_unsent",
    /// A record has not been credited to its merchant for too long.
    CreditOutstanding = "credit_outstanding",
    /// The payment provider was paid, and the wallet was not credited.
    ChargeWithoutCredit = "charge_without_credit",
    /// The wallet was credited, and the payment provider was not paid.
    CreditWithoutCharge = "credit_without_charge",
    /// The payment provider was paid another amount than was credited.
    ChargeDiffers = "charge_differs",
    /// The payment provider's refund is not what ours says.
    ProviderRefundDiffers = "provider_refund_differs",
    /// The payment provider pays a merchant that no settlement pays, or otherwise than its settlement says.
    PayoutDiffers = "payout_differs",
    /// A settlement was paid by the payment provider, who knows nothing of it.
    PayoutMissing = "payout_missing",
}

/// A break. It names what it is about by kinds and ids alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whose books.
    pub tenant: Tenant,
    /// What is wrong.
    pub kind: BreakKind,
    /// Of what: `customer:<id>`, `payment:<id>`, `transaction:<id>`...
    pub subject: String,
    /// In which asset, where it is about one.
    pub asset: Option<Asset>,
    /// What should be, in words or a number.
    pub expected: String,
    /// What is.
    pub found: String,
    /// Ids of the items that say so.
    pub evidence: BTreeSet<String>,
    /// The subject of the break that explains this one, where there is one.
    pub follows: Option<String>,
    /// The adjustment that would bring the balance to what the books say. Nobody makes it but two people.
    pub proposal: Option<Proposal>,
    /// The item by which it was seen, where reading that item again is enough to confirm it.
    pub seen_at: Option<Key>,
}

/// An adjustment that a person may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What is added to what may be spent.
    pub delta: Delta,
    /// The version of the balance's corrections that was read with it; a report's line does not keep it.
    pub seen: Option<SeenCorrections>,
}

impl BreakKind {
    /// Reads a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether the break is between items that never change, entries and what names them. It needs no second read.
    #[must_use]
    pub const fn is_of_unchanging_items(self) -> bool {
        matches!(self, Self::DuplicateEffect | Self::EntryDiffers)
    }

    /// Whether, of an account, the items that may hold its balance say it by themselves: what was posted and what
    /// holds it say nothing more of it.
    #[must_use]
    pub const fn is_of_balance_alone(self) -> bool {
        matches!(self, Self::NegativeBalance | Self::ExposureDiffers | Self::UnreadableItem)
    }
}

impl Finding {
    pub(super) fn new(tenant: &Tenant, kind: BreakKind, subject: impl ToString) -> Self {
        Self {
            tenant: tenant.clone(),
            kind,
            subject: subject.to_string(),
            asset: None,
            expected: String::new(),
            found: String::new(),
            evidence: BTreeSet::new(),
            follows: None,
            proposal: None,
            seen_at: None,
        }
    }

    pub(super) fn of(mut self, asset: &Asset) -> Self {
        self.asset = Some(asset.clone());
        self
    }

    pub(super) fn expected(mut self, expected: impl ToString) -> Self {
        self.expected = expected.to_string();
        self
    }

    pub(super) fn found(mut self, found: impl ToString) -> Self {
        self.found = found.to_string();
        self
    }

    pub(super) fn by(mut self, evidence: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    pub(super) fn seen_at(mut self, key: &Key) -> Self {
        self.seen_at = Some(key.clone());
        self
    }

    /// Whether both are the same break, whatever the numbers were when they were seen.
    #[must_use]
    pub fn is_again(&self, other: &Self) -> bool {
        let same = |finding: &Self| (finding.kind, finding.subject.clone(), finding.asset.clone());
        self.tenant == other.tenant && same(self) == same(other)
    }
}

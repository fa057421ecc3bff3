//! Breaks: what a reconciliation finds.

use crate::figures::Difference;
use crate::forms::SeenCorrections;
use crate::ids::Tenant;
use crate::keys::{Key, TotalsOf};
use crate::money::{Asset, Delta};
use crate::time::BusinessDate;
use crate::words::words;
use std::collections::BTreeSet;

words! {
    /// The kind of a break. The name is in reports and metrics, so it never changes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum BreakKind {
        /// An item is malformed, or of an unknown kind.
        UnreadableItem = "unreadable_item",
        /// An entry's postings of an asset do not sum to zero.
        UnbalancedEntry = "unbalanced_entry",
        /// A record, a marker or a reference names an entry that does not exist.
        EntryMissing = "entry_missing",
        /// Two entries have one id.
        EntryDoubled = "entry_doubled",
        /// A reference or record differs from the entry that it names.
        EntryDiffers = "entry_differs",
        /// Two entries have one idempotency key.
        DuplicateEffect = "duplicate_effect",
        /// The available part of a balance is not the sum of its postings.
        BalanceDiffers = "balance_differs",
        /// The held part of a balance is not the sum of its postings, or not that of its holds and refunds.
        HeldDiffers = "held_differs",
        /// A wallet's debt is not the sum of what its entries post to `disputes`.
        OwedDiffers = "owed_differs",
        /// The reserved headroom is not that of the open top-ups.
        ReservedDiffers = "reserved_differs",
        /// Money that the provider moved for a top-up is on `suspense` after a decision, and is not written off.
        SuspenseOpen = "suspense_open",
        /// A balance is below zero that must not be.
        NegativeBalance = "negative_balance",
        /// The exposure is not the sum of its parts.
        ExposureDiffers = "exposure_differs",
        /// A hold has no payment.
        HoldWithoutPayment = "hold_without_payment",
        /// A payment and its hold differ.
        HoldDiffers = "hold_differs",
        /// A refund or an entry names a payment that does not exist.
        PaymentMissing = "payment_missing",
        /// A payment's refundable amounts or its state do not fit its refunds.
        PaymentDiffers = "payment_differs",
        /// What a record credits to its merchant differs from its entry's postings, or the record and the seal of its entry
        /// credit both, or neither does.
        CreditDiffers = "credit_differs",
        /// A refund, a clawback or an entry names a top-up that does not exist.
        TopupMissing = "topup_missing",
        /// The state or the sums of a top-up or its refund do not fit its entries.
        TopupDiffers = "topup_differs",
        /// A settlement differs from the sums of its records, or was paid otherwise than its record has it.
        SettlementDiffers = "settlement_differs",
        /// A credited record is due for no settlement and in none, or in two; or a period differs from the sums of its
        /// records, or is not in the settlement that has it.
        PeriodDiffers = "period_differs",
        /// A terminal's cash room is not what it was allotted less the cash that it took; a merchant's ceiling is not the sum of
        /// its rooms; or what was covered of its cash is not what its settlements returned.
        CashRoomDiffers = "cash_room_differs",
        /// A merchant's refund ceiling is not its room and what is outstanding, or that is not what it refunded less what its
        /// settlements returned.
        RefundRoomDiffers = "refund_room_differs",
        /// A bank file's count and sums are not those of its transfers, it was debited otherwise than its entry has it, or a transfer
        /// or an entry names a file that does not exist.
        BankFileDiffers = "bank_file_differs",
        /// The bonus on the cash of a top-up is not recorded, granted and taken back as its entries say.
        BonusDiffers = "bonus_differs",
        /// Bonuses on cash that a settlement covered were not granted for too long.
        BonusOutstanding = "bonus_outstanding",
        /// The totals of a closed day are not what its entries come to, or the entries cannot be read.
        TotalsDiffer = "totals_differ",
        /// No item lists what has totals, so no page of its group shows them.
        TotalsUnlisted = "totals_unlisted",
        /// An operation was in flight for too long after its lease.
        ClaimStuck = "claim_stuck",
        /// An entry was not published as an event for too long.
        EventUnsent = "event_unsent",
        /// A record or an entry was not credited to its merchant for too long, or is not due for it.
        CreditOutstanding = "credit_outstanding",
        /// The payment provider was paid, and the wallet was not credited.
        ChargeWithoutCredit = "charge_without_credit",
        /// The wallet was credited, and the payment provider was not paid.
        CreditWithoutCharge = "credit_without_charge",
        /// The payment provider was paid another amount than was credited.
        ChargeDiffers = "charge_differs",
        /// The payment provider's refund differs from our record.
        ProviderRefundDiffers = "provider_refund_differs",
        /// The payment provider has a payout that no settlement has, or that differs from its settlement.
        PayoutDiffers = "payout_differs",
        /// A settlement was paid by the payment provider, which has no such payout.
        PayoutMissing = "payout_missing",
    }
}

/// A break. It names its subject by kinds and ids only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The tenant.
    pub tenant: Tenant,
    /// The kind of the break.
    pub kind: BreakKind,
    /// The subject: `customer:<id>`, `payment:<id>`, `transaction:<id>`...
    pub subject: String,
    /// The asset, if the break is about one.
    pub asset: Option<Asset>,
    /// The expected value, in words or as a number.
    pub expected: String,
    /// The value that was found.
    pub found: String,
    /// Ids of the items that show the break.
    pub evidence: BTreeSet<String>,
    /// The subject of the break that explains this one, if there is one.
    pub follows: Option<String>,
    /// The adjustment that would correct the balance or its exposure. One person may request it and another approve it.
    pub proposal: Option<Proposal>,
    /// The item that shows the break, if reading that item again is enough to confirm it.
    pub seen_at: Option<Key>,
}

/// A proposed adjustment. It posts, corrects `exposure`, or does both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The change of the available part, which is posted and changes `exposure` too.
    pub delta: Option<Delta>,
    /// What a wallet's `exposure` is below the sum of its parts, or above it: added to it beyond what is posted.
    pub exposure: Option<Delta>,
    /// The version of the balance's corrections at the read.
    pub seen: SeenCorrections,
}

impl BreakKind {
    /// Whether the break is between items that never change: entries and what names them. It needs no second read.
    #[must_use]
    pub const fn is_of_unchanging_items(self) -> bool {
        matches!(self, Self::DuplicateEffect | Self::EntryDiffers)
    }

    /// Whether the items that may hold a balance show the break by themselves, without postings and holds.
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

    /// Totals of a closed day that are not what its entries come to.
    #[must_use]
    pub fn of_totals(tenant: &Tenant, of: TotalsOf, date: BusinessDate, difference: &Difference) -> Self {
        let finding = Self::new(tenant, BreakKind::TotalsDiffer, format!("totals:{of}:{date}"));
        finding.expected(&difference.expected).found(&difference.found)
    }

    /// Totals that no item lists in their group.
    #[must_use]
    pub fn of_unlisted_totals(tenant: &Tenant, of: TotalsOf) -> Self {
        let finding = Self::new(tenant, BreakKind::TotalsUnlisted, format!("totals:{of}"));
        finding.expected("an item that lists them").found("no item")
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

    /// Whether both are the same break, even if their numbers differ.
    #[must_use]
    pub fn is_again(&self, other: &Self) -> bool {
        let same = |finding: &Self| (finding.kind, finding.subject.clone(), finding.asset.clone());
        self.tenant == other.tenant && same(self) == same(other)
    }
}

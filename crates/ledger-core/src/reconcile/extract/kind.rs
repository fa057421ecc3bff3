//! The kinds of items in the table, by partition and sort key.

use crate::keys::{
    ACTIVE, APPROVAL, ASSET_BUDGET, BREAK, CALLERS_MARKER, CASH_COLLECTION, CLOSED_DAY, DAY_TOTALS, DEPOSIT_REVERSED,
    FILE, FILE_PART, JOB_LINE, LEDGERS_MARKER, LOOKUP, NOTICE, OWN, PERSON, SUBJECT, TERMS, TRANSFER, sk,
};

/// A kind of item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// A journal entry.
    Entry,
    /// Another party's reference to an entry.
    Reference,
    /// An idempotency marker.
    Marker,
    /// The marker of an event of the payment provider.
    EventMarker,
    /// A command that takes two people.
    Approval,
    /// A balance item.
    Balance,
    /// A customer's legacy item: the God Record.
    GodRecord,
    /// A customer's aggregates.
    Metrics,
    /// A stored-value card.
    Card,
    /// A payment.
    Payment,
    /// A refund of a payment, or a reversal.
    PaymentRefund,
    /// The hold of a payment, open or closed.
    Hold,
    /// A top-up.
    Topup,
    /// A refund of a top-up.
    TopupRefund,
    /// A clawback of a top-up.
    Clawback,
    /// A settlement.
    Settlement,
    /// A returned payout of a settlement.
    Returned,
    /// What a merchant is credited with in a lane of the audit trail: its open period there.
    LaneCredit,
    /// A closed period of a merchant.
    Period,
    /// A list of the returned payouts and periods that a settlement took.
    SettledBatch,
    /// The cash rooms of a merchant or of the operator.
    CashRooms,
    /// A collection of the cash that a counter took.
    CashCollection,
    /// A merchant's refund room.
    RefundRoom,
    /// The bonus on cash that a merchant owes.
    CashBonus,
    /// A merchant's open settlement, with how far its cash is covered.
    Settling,
    /// A terminal, with its cash room.
    Terminal,
    /// A transfer to a merchant's bank account.
    BankTransfer,
    /// A bank file.
    BankFile,
    /// A part of a bank file.
    BankFilePart,
    /// People and devices: a profile and what it is looked up by, a one-time payment code, a card's PIN, a terminal's
    /// enrolment, the record of a staff member.
    Profile,
    /// A line of the legacy history. The ledger's own lines repeat an entry; the others are from before the books.
    LegacyHistory,
    /// Workers' items of a merchant: requests about payouts, marks of deposits that were taken back.
    MerchantWork,
    /// An event of the payment provider that needs review.
    KeptEvent,
    /// A trail record: a step of an operation that calls outside.
    Trail,
    /// The tenant's configuration, work and audit trail.
    TenantWork,
}

/// How many facts an item of a kind gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactCount {
    /// At least one, or a break.
    Some,
    /// None, unless it names an entry, a settlement, a period, a balance or a room. Otherwise it holds no value.
    SomeIfItNames,
    /// None: it holds no value.
    None,
}

impl ItemKind {
    /// Every kind.
    pub const ALL: [Self; 35] = [
        Self::Entry,
        Self::Reference,
        Self::Marker,
        Self::EventMarker,
        Self::Approval,
        Self::Balance,
        Self::GodRecord,
        Self::Metrics,
        Self::Card,
        Self::Payment,
        Self::PaymentRefund,
        Self::Hold,
        Self::Topup,
        Self::TopupRefund,
        Self::Clawback,
        Self::Settlement,
        Self::Returned,
        Self::LaneCredit,
        Self::Period,
        Self::SettledBatch,
        Self::CashRooms,
        Self::CashCollection,
        Self::RefundRoom,
        Self::CashBonus,
        Self::Settling,
        Self::Terminal,
        Self::BankTransfer,
        Self::BankFile,
        Self::BankFilePart,
        Self::Profile,
        Self::LegacyHistory,
        Self::MerchantWork,
        Self::KeptEvent,
        Self::Trail,
        Self::TenantWork,
    ];

    /// The kind of an item, by the kind of its partition and its sort key; `None` for an item that the ledger does
    /// not write.
    #[must_use]
    pub fn of(partition: &str, sort_key: &str) -> Option<Self> {
        let is = |prefix: &str| sort_key.starts_with(prefix);
        Some(match (partition, sort_key) {
            ("customer" | "card" | "merchant" | OWN, _) if is(sk::TXN) => Self::Entry,
            ("customer" | "card" | "merchant" | "terminal", _) if is(sk::TXNREF) => Self::Reference,
            ("customer" | "merchant" | "terminal" | "staff", _) if is(CALLERS_MARKER) => Self::Marker,
            ("customer" | "merchant" | "staff", _) if is(LEDGERS_MARKER) => Self::Marker,
            ("customer" | "merchant", _) if is(sk::BALANCE) => Self::Balance,
            ("terminal", "PROFILE") => Self::Terminal,
            ("customer" | "merchant" | "terminal", _) if is(LOOKUP) => Self::Profile,
            ("customer" | "merchant", "PROFILE") | ("customer", "CODE") | ("terminal", "ENROLMENT") => Self::Profile,
            ("merchant" | "tenant", "CASH_ROOM") => Self::CashRooms,
            ("terminal", _) if is(CASH_COLLECTION) => Self::CashCollection,
            ("merchant", "REFUND_ROOM") => Self::RefundRoom,
            ("customer", "customer") => Self::GodRecord,
            ("customer", "METRICS") => Self::Metrics,
            ("customer", _) if is(sk::HISTORY) => Self::LegacyHistory,
            ("card", "card") => Self::Card,
            ("card", "PIN") => Self::Profile,
            ("merchant", _) if is(sk::SETTLEMENT) => Self::Settlement,
            ("merchant", _) if is(sk::RETURNED) => Self::Returned,
            ("merchant", _) if is(sk::CREDITED) => Self::LaneCredit,
            ("merchant", _) if is(sk::PERIOD) => Self::Period,
            ("merchant", _) if is(sk::PERIOD_BACK) => Self::MerchantWork,
            ("merchant", _) if is(sk::CASH_BONUS) => Self::CashBonus,
            ("merchant", _) if is(sk::SETTLED) => Self::SettledBatch,
            ("merchant", "SETTLING") => Self::Settling,
            ("merchant", _) if is(DEPOSIT_REVERSED) => Self::MerchantWork,
            ("payment", "PAYMENT") => Self::Payment,
            ("payment", "HOLD") => Self::Hold,
            ("payment", _) if is(sk::REFUND) => Self::PaymentRefund,
            ("topup", "TOPUP") => Self::Topup,
            ("topup", _) if is(sk::REFUND) => Self::TopupRefund,
            ("topup", _) if is(sk::CLAWBACK) => Self::Clawback,
            ("merchant" | "payment" | "topup", _) if is(sk::TRAIL) => Self::Trail,
            ("stripe_event", "event") => Self::EventMarker,
            ("stripe_event", "kept") => Self::KeptEvent,
            ("tenant" | "merchant", "STAFF_COUNTS") | ("tenant", "OWNER_RECOVERY") => Self::Profile,
            ("merchant", _) if is(sk::SHOP) => Self::Profile,
            ("tenant" | "merchant", _) if STAFF.iter().any(|prefix| is(prefix)) => Self::Profile,
            ("tenant", "CONFIG" | "CALENDAR") | ("rate", "RATE") => Self::TenantWork,
            ("audit", _) if is(sk::AUDIT) || is(NOTICE) => Self::TenantWork,
            ("approvals", _) if is(APPROVAL) => Self::Approval,
            ("bindings", sk::LANES) | ("lane", sk::LANE_HEAD) => Self::TenantWork,
            ("bindings", _) if is(sk::BINDING) => Self::TenantWork,
            ("lane", _) if is(sk::SEGMENT) => Self::TenantWork,
            ("totals", _) if is(CLOSED_DAY) || is(DAY_TOTALS) => Self::TenantWork,
            ("totals_of", _) if is(SUBJECT) => Self::TenantWork,
            ("active", _) if is(ACTIVE) => Self::TenantWork,
            ("fold", "FOLD") | ("batch", "BATCH") => Self::TenantWork,
            ("reconciliation", "RECONCILIATION") => Self::TenantWork,
            ("reconciliation", _) if is(BREAK) => Self::TenantWork,
            ("job", "JOB" | "CUSTOMERS") => Self::TenantWork,
            ("job", _) if is(JOB_LINE) => Self::TenantWork,
            ("bank_transfers", _) if is(TRANSFER) => Self::BankTransfer,
            ("bank_file", FILE) => Self::BankFile,
            ("bank_file", _) if is(FILE_PART) => Self::BankFilePart,
            ("tenant", _) if TENANT_WORK.iter().any(|prefix| is(prefix)) => Self::TenantWork,
            _ => return None,
        })
    }

    /// How many facts an item of this kind gives.
    #[must_use]
    pub const fn facts(self) -> FactCount {
        match self {
            Self::Entry
            | Self::Balance
            | Self::Card
            | Self::Payment
            | Self::PaymentRefund
            | Self::Hold
            | Self::Topup
            | Self::TopupRefund
            | Self::Clawback
            | Self::Settlement
            | Self::LaneCredit
            | Self::Period
            | Self::CashCollection
            | Self::CashBonus
            | Self::BankTransfer
            | Self::BankFile
            | Self::BankFilePart => FactCount::Some,
            Self::Reference
            | Self::Marker
            | Self::EventMarker
            | Self::Approval
            | Self::GodRecord
            | Self::Metrics
            | Self::Returned
            | Self::SettledBatch
            | Self::CashRooms
            | Self::RefundRoom
            | Self::Settling
            | Self::Terminal => FactCount::SomeIfItNames,
            Self::Profile
            | Self::LegacyHistory
            | Self::MerchantWork
            | Self::KeptEvent
            | Self::Trail
            | Self::TenantWork => FactCount::None,
        }
    }
}

/// Prefixes of sort keys of staff, in the partition of the tenant or of a merchant.
const STAFF: [&str; 3] = [sk::STAFF, PERSON, "DENIED#"];
/// Prefixes of sort keys in the tenant's own partition.
const TENANT_WORK: [&str; 3] = [TERMS, ASSET_BUDGET, sk::MIGRATION];

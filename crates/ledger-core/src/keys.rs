//! Every partition key, sort key, index key and attribute name of the table, in one place.
//! A key needs a `Tenant`, which only a verified identity yields: another tenant's cannot be named.

use crate::account::Account;
use crate::ids::{
    AdjustmentId, AuditId, CardId, CustomerId, DecisionId, JobId, MerchantId, PaymentId, Principal, RefundId, StaffId,
    Tenant, TerminalId, TopupId, TransactionId,
};
use crate::money::Asset;
use crate::operation::Operation;
use crate::psp::{EventId, PspId};
use crate::time::Timestamp;
use uuid::Uuid;

mod due;
mod reconciliation;
mod settlement;
mod stored;
mod trail;

pub use due::{Work, credit_mark, due_from, due_partition, due_until};
pub use reconciliation::{break_prefix, found_break, reconciliation, settled_prefix, topup_markers};
pub use settlement::{payout_file_resend, payout_return, returned, settled, settlement, settling};
pub use trail::{Recorded, publish_mark, seal, sealed_day, sealing, trail};

/// Names of attributes that more than one file uses.
pub mod attr {
    /// Partition key.
    pub const PK: &str = "uuid";
    /// Sort key.
    pub const SK: &str = "type";
    /// TTL, epoch seconds.
    pub const TTL: &str = "ttl";
    /// What may be spent.
    pub const BALANCE: &str = "balance";
    /// What is reserved for a hold or an outflow.
    pub const HELD: &str = "held";
    /// Headroom under the cap that is reserved for an inflow.
    pub const RESERVED: &str = "reserved";
    /// What a dispute took and the account could not give: value that comes back pays it first.
    pub const OWED: &str = "owed";
    /// `balance` + `held` + `reserved`: what a cap is held against.
    pub const EXPOSURE: &str = "exposure";
    /// Present while an account may not be debited; its value says who froze it.
    pub const FROZEN: &str = "frozen";
    /// Present while a card's owner has frozen it: apart from the operator's freeze, so that neither
    /// lifts the other's.
    pub const FROZEN_BY_OWNER: &str = "frozen_by_owner";
    /// When an item last changed.
    pub const UPDATED_AT: &str = "updated_at";
    /// When an item was made.
    pub const CREATED_AT: &str = "created_at";
    /// Partition key of the index `by_owner`.
    pub const OWNER_PK: &str = "owner_pk";
    /// Sort key of the index `by_owner`.
    pub const OWNER_SK: &str = "owner_sk";
    /// Partition key of the sparse index `due`.
    pub const DUE_PK: &str = "due_pk";
    /// Sort key of the sparse index `due`.
    pub const DUE_SK: &str = "due_sk";
}

/// The index that lists a merchant's payments and refunds, and a tenant's merchants.
pub const INDEX_BY_OWNER: &str = "by_owner";
/// The sparse index of work still to be done.
pub const INDEX_DUE: &str = "due";

/// The sort key of a customer's legacy item.
pub const GOD_RECORD: &str = "customer";

/// An item's primary key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pk: String,
    sk: String,
}

impl Key {
    /// The partition key, `uuid`.
    #[must_use]
    pub fn pk(&self) -> &str {
        &self.pk
    }

    /// The sort key, `type`.
    #[must_use]
    pub fn sk(&self) -> &str {
        &self.sk
    }
}

/// A partition of one tenant: `<tenant>#<kind>#<uuid>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition(String);

impl Partition {
    fn of(tenant: &Tenant, kind: &str, id: impl std::fmt::Display) -> Self {
        Self(format!("{tenant}#{kind}#{id}"))
    }

    /// A customer's.
    #[must_use]
    pub fn customer(tenant: &Tenant, id: CustomerId) -> Self {
        Self::of(tenant, "customer", id)
    }

    /// A card's.
    #[must_use]
    pub fn card(tenant: &Tenant, id: CardId) -> Self {
        Self::of(tenant, "card", id)
    }

    /// A merchant's.
    #[must_use]
    pub fn merchant(tenant: &Tenant, id: MerchantId) -> Self {
        Self::of(tenant, "merchant", id)
    }

    /// A terminal's.
    #[must_use]
    pub fn terminal(tenant: &Tenant, id: TerminalId) -> Self {
        Self::of(tenant, "terminal", id)
    }

    /// A payment's.
    #[must_use]
    pub fn payment(tenant: &Tenant, id: PaymentId) -> Self {
        Self::of(tenant, "payment", id)
    }

    /// A top-up's.
    #[must_use]
    pub fn topup(tenant: &Tenant, id: TopupId) -> Self {
        Self::of(tenant, "topup", id)
    }

    /// An event's of the payment provider.
    #[must_use]
    pub fn stripe_event(tenant: &Tenant, id: &EventId) -> Self {
        Self::of(tenant, "stripe_event", id)
    }

    /// The tenant's own: configuration, adjustments, audit.
    #[must_use]
    pub fn tenant(tenant: &Tenant) -> Self {
        Self::of(tenant, "tenant", "root")
    }

    /// Where a principal's idempotency markers live.
    #[must_use]
    pub fn principal(tenant: &Tenant, principal: Principal) -> Self {
        match principal {
            Principal::Customer(id) => Self::customer(tenant, id),
            Principal::Merchant(id) => Self::merchant(tenant, id),
            Principal::Terminal(id) => Self::terminal(tenant, id),
            Principal::Staff(id) => Self::staff(tenant, id),
        }
    }

    /// Where an account's journal entries live, or `None` for the tenant's own accounts.
    #[must_use]
    pub fn account(tenant: &Tenant, account: Account) -> Option<Self> {
        match account {
            Account::Customer(id) => Some(Self::customer(tenant, id)),
            Account::Card(id) => Some(Self::card(tenant, id)),
            Account::Merchant(id) => Some(Self::merchant(tenant, id)),
            Account::Tenant(_) => None,
        }
    }

    fn staff(tenant: &Tenant, id: StaffId) -> Self {
        Self::of(tenant, "staff", id)
    }

    /// The partition key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The item of this partition under a sort key.
    fn item(&self, sk: impl Into<String>) -> Key {
        Key { pk: self.0.clone(), sk: sk.into() }
    }

    /// The journal entry `id`.
    #[must_use]
    pub fn entry(&self, id: TransactionId) -> Key {
        self.item(format!("{}{id}", sk::TXN))
    }

    /// A reference to the entry `id` that stands in another partition.
    #[must_use]
    pub fn entry_reference(&self, id: TransactionId) -> Key {
        self.item(format!("{}{id}", sk::TXNREF))
    }

    /// The balance item of an asset.
    #[must_use]
    pub fn balance(&self, asset: &Asset) -> Key {
        self.item(format!("{}{asset}", sk::BALANCE))
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> Key {
        self.item("PROFILE")
    }

    /// A customer's legacy item, in which the whole customer stood.
    #[must_use]
    pub fn god_record(&self) -> Key {
        self.item(GOD_RECORD)
    }

    /// An item of a customer's legacy history, by its whole sort key.
    pub(crate) fn history(&self, sort_key: &str) -> Key {
        self.item(sort_key)
    }

    /// Who credits a merchant at present, and how often it has been credited.
    #[must_use]
    pub fn crediting(&self) -> Key {
        self.item("CREDITING")
    }
}

/// Where the next sweep over a tenant's merchants begins.
#[must_use]
pub fn crediting_sweep(tenant: &Tenant) -> Key {
    Partition::tenant(tenant).item("CREDITING_SWEEP")
}

/// The tenant of a partition key's text, for what the store itself hands over: its stream's records.
#[must_use]
pub fn tenant_of(pk: &str) -> Option<Tenant> {
    let (tenant, _) = pk.split_once('#')?;
    Tenant::parse(tenant).ok()
}

/// Prefixes of sort keys that queries ask for.
pub mod sk {
    /// Journal entries.
    pub const TXN: &str = "TXN#";
    /// References to journal entries.
    pub const TXNREF: &str = "TXNREF#";
    /// The legacy history: `history#<epoch ms>#<operation>`.
    pub const HISTORY: &str = "history#";
    /// Balances.
    pub const BALANCE: &str = "BALANCE#";
    /// Refunds of a payment.
    pub const REFUND: &str = "REFUND#";
    /// Money that the payment provider took without our asking.
    pub const CLAWBACK: &str = "CLAWBACK#";
    /// Decisions about a top-up.
    pub const DECISION: &str = "DECISION#";
    /// Audit records.
    pub const AUDIT: &str = "AUDIT#";
    /// Settlements of a merchant.
    pub const SETTLEMENT: &str = "SETTLEMENT#";
    /// Records of the steps of an operation that asks somebody outside.
    pub const TRAIL: &str = "TRAIL#";
    /// Segments of the audit trail's chain.
    pub const SEAL: &str = "SEAL#";
    /// How far each day of the audit trail is sealed.
    pub const SEALED: &str = "SEALED#";
    /// Passes of a migration.
    pub const MIGRATION: &str = "MIGRATION#";
    /// Runs of the reconciliation.
    pub const RECONCILIATION: &str = "RECONCILIATION#";
    /// What came back of a settlement that was paid.
    pub const RETURNED: &str = "RETURNED#";
}

/// A principal's idempotency marker.
#[must_use]
pub fn marker(tenant: &Tenant, principal: Principal, operation: Operation, key: &str) -> Key {
    Partition::principal(tenant, principal).item(format!("card_op_idem#{operation}#{key}"))
}

/// A customer's aggregates.
#[must_use]
pub fn metrics(tenant: &Tenant, id: CustomerId) -> Key {
    metrics_of(&Partition::customer(tenant, id))
}

/// The aggregates of the customer whose partition it is.
#[must_use]
pub fn metrics_of(customer: &Partition) -> Key {
    customer.item("METRICS")
}

/// A customer's one slot for a one-time payment code.
#[must_use]
pub fn payment_code(tenant: &Tenant, id: CustomerId) -> Key {
    Partition::customer(tenant, id).item("CODE")
}

/// A stored-value card.
#[must_use]
pub fn card(tenant: &Tenant, id: CardId) -> Key {
    Partition::card(tenant, id).item("card")
}

/// A payment.
#[must_use]
pub fn payment(tenant: &Tenant, id: PaymentId) -> Key {
    Partition::payment(tenant, id).item("PAYMENT")
}

/// A refund of a payment, or the reversal of either.
#[must_use]
pub fn refund(tenant: &Tenant, payment: PaymentId, id: RefundId) -> Key {
    Partition::payment(tenant, payment).item(format!("{}{id}", sk::REFUND))
}

/// What is held for a payment.
#[must_use]
pub fn hold(tenant: &Tenant, payment: PaymentId) -> Key {
    Partition::payment(tenant, payment).item("HOLD")
}

/// A top-up.
#[must_use]
pub fn topup(tenant: &Tenant, id: TopupId) -> Key {
    Partition::topup(tenant, id).item("TOPUP")
}

/// A refund of a top-up to the card.
#[must_use]
pub fn topup_refund(tenant: &Tenant, topup: TopupId, id: RefundId) -> Key {
    Partition::topup(tenant, topup).item(format!("{}{id}", sk::REFUND))
}

/// Money of a top-up that the payment provider took without our asking, by the provider's id of it.
#[must_use]
pub fn clawback(tenant: &Tenant, topup: TopupId, id: &PspId) -> Key {
    Partition::topup(tenant, topup).item(format!("{}{id}", sk::CLAWBACK))
}

/// A decision about a top-up that the provider contradicts.
#[must_use]
pub fn topup_decision(tenant: &Tenant, topup: TopupId, id: DecisionId) -> Key {
    Partition::topup(tenant, topup).item(format!("{}{id}", sk::DECISION))
}

/// The marker of an event that has had its effect.
#[must_use]
pub fn stripe_event(tenant: &Tenant, id: &EventId) -> Key {
    Partition::stripe_event(tenant, id).item("event")
}

/// An event that a person must look at.
#[must_use]
pub fn kept_event(tenant: &Tenant, id: &EventId) -> Key {
    Partition::stripe_event(tenant, id).item("kept")
}

/// A terminal's one slot for an enrolment code.
#[must_use]
pub fn enrolment(tenant: &Tenant, id: TerminalId) -> Key {
    Partition::terminal(tenant, id).item("ENROLMENT")
}

/// A tenant's configuration.
#[must_use]
pub fn config(tenant: &Tenant) -> Key {
    Partition::tenant(tenant).item("CONFIG")
}

/// An adjustment.
#[must_use]
pub fn adjustment(tenant: &Tenant, id: AdjustmentId) -> Key {
    Partition::tenant(tenant).item(format!("ADJUSTMENT#{id}"))
}

/// The last pass of a kind over all customers of a migrating tenant.
#[must_use]
pub fn migration_pass(tenant: &Tenant, kind: &str) -> Key {
    Partition::tenant(tenant).item(format!("{}{kind}", sk::MIGRATION))
}

/// A bulk grant.
#[must_use]
pub fn job(tenant: &Tenant, id: JobId) -> Key {
    Partition::tenant(tenant).item(format!("JOB#{id}"))
}

/// What has been leased of a tenant's requests in the window that begins at `starts_at`.
#[must_use]
pub fn rate(tenant: &Tenant, starts_at: Timestamp) -> Key {
    Partition::tenant(tenant).item(format!("RATE#{}", starts_at.seconds()))
}

/// An audit record.
#[must_use]
pub fn audit(tenant: &Tenant, id: AuditId) -> Key {
    Partition::tenant(tenant).item(format!("{}{id}", sk::AUDIT))
}

/// The `by_owner` index's partition of a merchant on one shard.
#[must_use]
pub fn owner_partition(tenant: &Tenant, merchant: MerchantId, shard: u32) -> String {
    format!("{tenant}#merchant#{merchant}#{shard}")
}

/// The `by_owner` index's partition that lists a tenant's merchants. They are few and seldom written:
/// one shard is enough.
#[must_use]
pub fn merchants_partition(tenant: &Tenant) -> String {
    format!("{tenant}#merchants#0")
}

/// The shard that `id` falls on: its last bytes are random in a UUIDv7.
#[must_use]
pub fn shard_of(id: Uuid, shards: Shards) -> u32 {
    let [.., a, b, c, d] = id.into_bytes();
    u32::from_be_bytes([a, b, c, d]).checked_rem(shards.count()).unwrap_or(0)
}

/// How many shards an index key is spread over: 1 to 64, only ever raised.
///
/// A writer may believe a smaller count for the time of its cache, and a record keeps the count that it was
/// made with: both write to shards that every later count includes. So a worker that looks for work reads all
/// shards up to the count, and a reader that relies on what is *not* there reads the count afresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shards(u32);

impl Shards {
    /// One shard.
    pub const ONE: Self = Self(1);
    /// The most shards.
    pub const MAX: Self = Self(64);
    /// Due work of a tenant that is opened: about 5,000 to 8,000 payments a second.
    pub const DUE_DEFAULT: Self = Self(16);
    /// A merchant that is registered: about 1,300 to 2,000 payments a second.
    pub const MERCHANT_DEFAULT: Self = Self(4);

    /// A count from 1 to 64, else `None`.
    #[must_use]
    pub fn new(count: u32) -> Option<Self> {
        (1..=Self::MAX.0).contains(&count).then_some(Self(count))
    }

    /// How many.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0
    }
}

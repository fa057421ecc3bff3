//! Every partition key, sort key, index key and attribute name of the table.
//!
//! A key needs a `Tenant`, which comes from a verified identity only, so code cannot name another tenant's keys.

use crate::account::{Account, TenantAccount};
use crate::ids::{
    CardId, CustomerId, MerchantId, PaymentId, Principal, RefundId, Tenant, TerminalId, TopupId, TransactionId,
};
use crate::money::Asset;
use crate::psp::{EventId, PspId};

mod audit;
mod bank_file;
mod calendar;
mod card;
mod due;
mod figures;
mod finding;
mod job;
mod kinds;
mod marker;
mod owner;
mod rate;
mod reconciliation;
mod registry;
mod settlement;
mod shards;
mod shop;
mod staff;
mod stored;
mod terms;
mod trail;

pub(crate) use audit::{AUDIT_PARTITION, NOTICE, partition_of_act};
pub use audit::{AUDIT_SHARDS, audit, day_of_act, notice};
pub(crate) use bank_file::{FILE, FILE_PART, TRANSFER};
pub use bank_file::{bank_file, bank_file_part, bank_files_partition, bank_transfer};
pub use calendar::settlement_calendar;
pub use card::{card, card_pin};
pub use due::{
    DueKeys, DueKind, DueWork, Unpublished, Work, due_partition, due_until, is_to_publish, is_to_seal,
    publish_late_partition, publish_partition,
};
pub(crate) use figures::{ACTIVE, CLOSED_DAY, DAY_TOTALS, SUBJECT};
pub use figures::{
    TotalsGroup, TotalsOf, active, closed_day, closed_days_between, day_totals, day_totals_between, day_totals_place,
    fold, folded_batch, has_totals,
};
pub use finding::{
    LISTED_SHARDS, LOOKUP, Lookup, contact_partition, customers_partition, listed_shard, lookup,
    merchant_names_partition, named_place, names_partition, place, place_of, sign_in, terminals_of_partition,
    terminals_partition,
};
pub(crate) use job::LINE as JOB_LINE;
pub use job::{JobKind, job, job_customers, job_line, jobs_partition};
pub use kinds::{ITEM_FORMS, ItemForm, kind_of};
pub(crate) use marker::{CALLERS_MARKER, LEDGERS_MARKER};
pub use marker::{EntryKey, MarkedKey, marker};
pub use owner::{
    INDEX_BY_OWNER, acts_partition, attention_partition, cards_partition, holds_partition, listed_from,
    merchants_partition, owner_partition, refused_partition, settlements_partition, topups_partition,
};
pub use rate::rate;
pub use reconciliation::{
    BREAK, break_place, breaks_partition, found_break, reconciliation, reconciliations_partition, run_of_break,
    settled_prefix, topup_markers,
};
pub(crate) use registry::registry_partition;
pub use registry::{REGISTRY_SHARDS, registered_tenant};
pub(crate) use settlement::{CASH_COLLECTION, DEPOSIT_REVERSED, period, period_back};
pub use settlement::{
    cash_bonus, cash_collection, cash_deposit_reversed, credited_in_lane, returned, settled, settlement, settling,
};
pub use shards::{Shards, shard_of};
pub use shop::shop;
pub use staff::{
    APPROVAL, PERSON, approval, approvals_from, denials, month_of_approval, owner_recovery, person, staff_counts,
    staff_member,
};
pub use terms::{ASSET_BUDGET, TERMS, asset_budget, terms};
pub use trail::{Recorded, binding, lane_head, lane_segment, lanes, trail};

/// Names of attributes that more than one file uses.
pub mod attr {
    /// Partition key.
    pub const PK: &str = "uuid";
    /// Sort key.
    pub const SK: &str = "type";
    /// TTL, epoch seconds.
    pub const TTL: &str = "ttl";
    /// The amount that may be spent.
    pub const BALANCE: &str = "balance";
    /// The amount held for a hold or an outflow.
    pub const HELD: &str = "held";
    /// Headroom under the cap that is reserved for an inflow.
    pub const RESERVED: &str = "reserved";
    /// The disputed amount that the account could not cover. Returned value pays it first.
    pub const OWED: &str = "owed";
    /// `balance` + `held` + `reserved`: the amount that a cap limits.
    pub const EXPOSURE: &str = "exposure";
    /// Begins the name of each attribute that a seal does not cover: of a sealed record, only such attributes change.
    pub const OUTSIDE_SEAL: char = '_';
    /// Present while an account may not be debited. Its value says who froze it.
    pub const FROZEN: &str = "frozen";
    /// When an account was closed. Absent while it is open.
    pub const CLOSED_AT: &str = "closed_at";
    /// Present while a card's owner has frozen it. Separate from the operator's freeze, so that neither lifts the
    /// other's.
    pub const FROZEN_BY_OWNER: &str = "frozen_by_owner";
    /// When an item last changed.
    pub const UPDATED_AT: &str = "updated_at";
    /// The shop of a payment, a terminal or a staff member.
    pub const SHOP: &str = "shop_id";
    /// When an item was created.
    pub const CREATED_AT: &str = "created_at";
    /// Partition key of the index by owner. It never changes, but is removed from what is no longer listed.
    pub const OWNER_PK: &str = "owner_pk";
    /// Sort key of the index by owner. It never changes, but is removed from what is no longer listed.
    pub const OWNER_SK: &str = "owner_sk";
    /// Partition key of the sparse index `due`.
    pub const DUE_PK: &str = "_due_pk";
    /// Sort key of the sparse index `due`.
    pub const DUE_SK: &str = "_due_sk";
    /// The form of the item. Absent: form 1.
    pub const FORM: &str = "f";
    /// The token of the transaction that last wrote the item: 16 bytes.
    pub const TX: &str = "_tx";
    /// The number of puts and updates of that transaction.
    pub const OF: &str = "_of";
}

/// The sparse index of work still to be done.
pub const INDEX_DUE: &str = "due";

/// The sort key of a customer's legacy item.
pub const GOD_RECORD: &str = "customer";

/// The kind of the partitions of the tenant's own accounts.
pub(crate) const OWN: &str = "own";

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

    /// The partition of a customer.
    #[must_use]
    pub fn customer(tenant: &Tenant, id: CustomerId) -> Self {
        Self::of(tenant, "customer", id)
    }

    /// The partition of a card.
    #[must_use]
    pub fn card(tenant: &Tenant, id: CardId) -> Self {
        Self::of(tenant, "card", id)
    }

    /// The partition of a merchant.
    #[must_use]
    pub fn merchant(tenant: &Tenant, id: MerchantId) -> Self {
        Self::of(tenant, "merchant", id)
    }

    /// The partition of a terminal.
    #[must_use]
    pub fn terminal(tenant: &Tenant, id: TerminalId) -> Self {
        Self::of(tenant, "terminal", id)
    }

    /// The partition of a payment.
    #[must_use]
    pub fn payment(tenant: &Tenant, id: PaymentId) -> Self {
        Self::of(tenant, "payment", id)
    }

    /// The partition of a top-up.
    #[must_use]
    pub fn topup(tenant: &Tenant, id: TopupId) -> Self {
        Self::of(tenant, "topup", id)
    }

    /// The partition of an event of the PSP.
    #[must_use]
    pub fn stripe_event(tenant: &Tenant, id: &EventId) -> Self {
        Self::of(tenant, "stripe_event", id)
    }

    /// The tenant's own partition: configuration, terms, staff, jobs.
    #[must_use]
    pub fn tenant(tenant: &Tenant) -> Self {
        Self::of(tenant, "tenant", "root")
    }

    /// The partition of a principal's idempotency markers.
    #[must_use]
    pub fn principal(tenant: &Tenant, principal: Principal) -> Self {
        match principal {
            Principal::Customer(id) => Self::customer(tenant, id),
            Principal::Merchant(id) => Self::merchant(tenant, id),
            Principal::Terminal(id) => Self::terminal(tenant, id),
            Principal::Staff(id) => Self::staff(tenant, id),
        }
    }

    /// The partition of an account's journal entries. Of the tenant's own accounts `bank` alone has one: what the bank debited is of
    /// many merchants.
    #[must_use]
    pub fn account(tenant: &Tenant, account: Account) -> Option<Self> {
        match account {
            Account::Customer(id) => Some(Self::customer(tenant, id)),
            Account::Card(id) => Some(Self::card(tenant, id)),
            Account::Merchant(id) => Some(Self::merchant(tenant, id)),
            Account::Tenant(TenantAccount::Bank) => Some(Self::of(tenant, OWN, TenantAccount::Bank)),
            Account::Tenant(_) => None,
        }
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

    /// A reference to the entry `id`, which is in another partition.
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

    /// A customer's God Record.
    #[must_use]
    pub fn god_record(&self) -> Key {
        self.item(GOD_RECORD)
    }

    /// An item of a customer's legacy history, by its whole sort key.
    pub(crate) fn history(&self, sort_key: &str) -> Key {
        self.item(sort_key)
    }
}

/// The tenant of a partition key, for keys that the store returns, such as those of stream records.
#[must_use]
pub fn tenant_of(pk: &str) -> Option<Tenant> {
    let (tenant, _) = pk.split_once('#')?;
    Tenant::parse(tenant).ok()
}

/// Prefixes of sort keys, for queries.
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
    /// Money that the PSP took by itself.
    pub const CLAWBACK: &str = "CLAWBACK#";
    /// Audit records.
    pub const AUDIT: &str = "AUDIT#";
    /// Settlements of a merchant.
    pub const SETTLEMENT: &str = "SETTLEMENT#";
    /// Trail records: steps of operations that call outside.
    pub const TRAIL: &str = "TRAIL#";
    /// The head of the audit trail's lanes.
    pub const LANES: &str = "LANES";
    /// The head of a lane of the audit trail.
    pub const LANE_HEAD: &str = "HEAD";
    /// Segments of a lane of the audit trail.
    pub const SEGMENT: &str = "SEGMENT#";
    /// Bindings of the audit trail's lanes.
    pub const BINDING: &str = "BINDING#";
    /// Passes of a migration.
    pub const MIGRATION: &str = "MIGRATION#";
    /// Money of paid settlements that was returned.
    pub const RETURNED: &str = "RETURNED#";
    /// What a merchant is credited with in each lane of the audit trail.
    pub const CREDITED: &str = "CREDITED#";
    /// Closed periods of a merchant.
    pub const PERIOD: &str = "PERIOD#";
    /// Closed periods of a merchant that settlements gave back.
    pub const PERIOD_BACK: &str = "PERIOD_BACK#";
    /// Bonuses on cash that a merchant owes.
    pub const CASH_BONUS: &str = "CASH_BONUS#";
    /// Lists of the records and periods that settlements took.
    pub const SETTLED: &str = "SETTLED#";
    /// Staff members.
    pub const STAFF: &str = "STAFF#";
    /// Shops of a merchant.
    pub const SHOP: &str = "SHOP#";
}

/// A customer's aggregates.
#[must_use]
pub fn metrics(tenant: &Tenant, id: CustomerId) -> Key {
    metrics_of(&Partition::customer(tenant, id))
}

/// The aggregates in a customer's partition.
#[must_use]
pub fn metrics_of(customer: &Partition) -> Key {
    customer.item("METRICS")
}

/// A customer's slot for a one-time payment code; there is only one.
#[must_use]
pub fn payment_code(tenant: &Tenant, id: CustomerId) -> Key {
    Partition::customer(tenant, id).item("CODE")
}

/// A payment.
#[must_use]
pub fn payment(tenant: &Tenant, id: PaymentId) -> Key {
    Partition::payment(tenant, id).item("PAYMENT")
}

/// A refund of a payment, or a reversal.
#[must_use]
pub fn refund(tenant: &Tenant, payment: PaymentId, id: RefundId) -> Key {
    Partition::payment(tenant, payment).item(format!("{}{id}", sk::REFUND))
}

/// The hold of a payment.
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

/// Money of a top-up that the PSP took by itself, by the PSP's id.
#[must_use]
pub fn clawback(tenant: &Tenant, topup: TopupId, id: &PspId) -> Key {
    Partition::topup(tenant, topup).item(format!("{}{id}", sk::CLAWBACK))
}

/// The marker of an event that has been applied.
#[must_use]
pub fn stripe_event(tenant: &Tenant, id: &EventId) -> Key {
    Partition::stripe_event(tenant, id).item("event")
}

/// A kept event, which needs review.
#[must_use]
pub fn kept_event(tenant: &Tenant, id: &EventId) -> Key {
    Partition::stripe_event(tenant, id).item("kept")
}

/// A terminal's slot for an enrolment code; there is only one.
#[must_use]
pub fn enrolment(tenant: &Tenant, id: TerminalId) -> Key {
    Partition::terminal(tenant, id).item("ENROLMENT")
}

/// A tenant's configuration.
#[must_use]
pub fn config(tenant: &Tenant) -> Key {
    Partition::tenant(tenant).item("CONFIG")
}

/// The last pass of a kind over all customers of a migrating tenant.
#[must_use]
pub fn migration_pass(tenant: &Tenant, kind: &str) -> Key {
    Partition::tenant(tenant).item(format!("{}{kind}", sk::MIGRATION))
}

//! The keys of the index `due`: work that somebody has to do, by its kind and shard.

use crate::canonical::parse_canonical;
use crate::ids::{MerchantId, Tenant};
use crate::time::Timestamp;

/// Work that stands in the index `due`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A journal entry to publish.
    Publish,
    /// A record to add to its merchant's balance.
    Credit(MerchantId),
    /// A bulk grant to carry on.
    Job,
    /// An operation in flight whose holder may be gone, from the instant in its sort key on.
    Flight,
    /// A top-up or a refund to be looked at with the payment provider, from that instant on.
    PspCheck,
    /// An operation or an event that a person must look at.
    Attention,
    /// A credited record to be taken into its merchant's next settlement.
    Settle(MerchantId),
    /// Held money that its merchant may not capture any more, from the instant in its sort key on.
    Hold,
    /// A settlement whose saga is to be started, or started again.
    Settlement,
    /// A record of the audit trail to be sealed.
    Seal,
    /// A reconciliation to be run, or run again.
    Reconciliation,
}

/// The `due` index's partition of some work on one shard: `<tenant>#due#publish#3`.
#[must_use]
pub fn due_partition(tenant: &Tenant, work: Work, shard: u32) -> String {
    match work {
        Work::Publish => format!("{tenant}#due#publish#{shard}"),
        Work::Credit(merchant) => format!("{tenant}#due#credit#{merchant}#{shard}"),
        Work::Job => format!("{tenant}#due#job#{shard}"),
        Work::Flight => format!("{tenant}#due#flight#{shard}"),
        Work::PspCheck => format!("{tenant}#due#psp_check#{shard}"),
        Work::Attention => format!("{tenant}#due#attention#{shard}"),
        Work::Settle(merchant) => format!("{tenant}#due#settle#{merchant}#{shard}"),
        Work::Hold => format!("{tenant}#due#hold#{shard}"),
        Work::Settlement => format!("{tenant}#due#settlement#{shard}"),
        Work::Seal => format!("{tenant}#due#seal#{shard}"),
        Work::Reconciliation => format!("{tenant}#due#reconciliation#{shard}"),
    }
}

/// The merchant and the shard of a partition of [`Work::Credit`]; `None` for any other work.
#[must_use]
pub fn credit_mark(tenant: &Tenant, due_partition: &str) -> Option<(MerchantId, u32)> {
    let mark = due_partition.strip_prefix(tenant.as_str())?.strip_prefix("#due#credit#")?;
    let (merchant, shard) = mark.split_once('#')?;
    Some((MerchantId::parse(merchant).ok()?, parse_canonical(shard)?))
}

/// The sort key of work that is due from an instant on: instants sort as their texts do.
#[must_use]
pub fn due_from(at: Timestamp, id: impl std::fmt::Display) -> String {
    format!("{at}#{id}")
}

/// What sorts after all work that is due at `now`.
#[must_use]
pub fn due_until(now: Timestamp) -> String {
    format!("{now}#~")
}

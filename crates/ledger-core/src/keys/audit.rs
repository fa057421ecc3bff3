//! The keys of the staff's acts, and of the notices of changes that they record.
//!
//! Acts are spread over a partition for each day and shard. Both follow from the act's id, so an id is a whole key.

use super::{Key, Partition, Shards, shard_of, sk};
use crate::ids::{AuditId, Tenant, millis_of};
use crate::time::{Timestamp, UtcDay};
use uuid::Uuid;

/// The shards of a day's acts: 2,000 acts a second. The number never changes: it is a part of the keys.
pub const AUDIT_SHARDS: Shards = Shards::AUDIT;

/// The kind of the partitions of acts.
pub(crate) const AUDIT_PARTITION: &str = "audit";
/// The prefix of notices.
pub(crate) const NOTICE: &str = "NOTICE#";

/// An act of the staff.
#[must_use]
pub fn audit(tenant: &Tenant, id: AuditId) -> Key {
    beside(tenant, id.uuid()).item(format!("{}{id}", sk::AUDIT))
}

/// A notice of a changed address, beside the act of the change, whose id it has.
#[must_use]
pub fn notice(tenant: &Tenant, id: AuditId) -> Key {
    beside(tenant, id.uuid()).item(format!("{NOTICE}{id}"))
}

fn beside(tenant: &Tenant, id: Uuid) -> Partition {
    Partition::audit(tenant, day_of_act(id), shard_of(id, AUDIT_SHARDS))
}

/// The day of the partition that has an act, by the time in the act's id.
#[must_use]
pub fn day_of_act(id: Uuid) -> UtcDay {
    Timestamp::from_millis(millis_of(id)).utc_day()
}

/// The partition of an act without the tenant: `audit#2026-11-21#3`.
pub(crate) fn partition_of_act(id: Uuid) -> String {
    format!("{AUDIT_PARTITION}#{}#{}", day_of_act(id), shard_of(id, AUDIT_SHARDS))
}

impl Partition {
    /// The acts of a day whose ids fall on a shard, and the notices beside them.
    #[must_use]
    pub fn audit(tenant: &Tenant, day: UtcDay, shard: u32) -> Self {
        Self::of(tenant, AUDIT_PARTITION, format!("{day}#{shard}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn act_and_notice_are_in_the_partition_of_the_day_and_shard_of_their_id() {
        let tenant = Tenant::parse("demo").unwrap();
        for (id, partition) in [
            ("019a0000-0000-7000-8000-000000000003", "audit#2025-10-20#3"),
            ("019a0000-0000-7000-8000-000000000004", "audit#2025-10-20#0"),
            ("00000000-0000-0000-0000-000000000001", "audit#1970-01-01#1"),
        ] {
            let id = AuditId::parse(id).unwrap();
            let (act, notice) = (audit(&tenant, id), notice(&tenant, id));
            assert_eq!((act.pk(), act.sk()), (format!("demo#{partition}").as_str(), format!("AUDIT#{id}").as_str()));
            assert_eq!((notice.pk(), notice.sk()), (act.pk(), format!("NOTICE#{id}").as_str()));
            assert_eq!(partition_of_act(id.uuid()), partition);
        }
    }
}

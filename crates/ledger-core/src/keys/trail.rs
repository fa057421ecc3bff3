//! The keys of the audit trail: records of steps that call outside, and the lanes that seal all records.

use super::{Key, Partition, sk};
use crate::ids::{Tenant, TransactionId, born_at, parse_uuid};
use crate::time::{Timestamp, UtcDay};
use uuid::Uuid;

/// A trail record of `resource` at `at`, in the resource's partition. Records sort by time, and by `place` within an
/// instant.
#[must_use]
pub fn trail(partition: &Partition, resource: Uuid, at: Timestamp, place: &str) -> Key {
    partition.item(format!("{}{resource}#{at}#{place}", sk::TRAIL))
}

/// The head of a tenant's lanes: their number, and the last binding.
#[must_use]
pub fn lanes(tenant: &Tenant) -> Key {
    Partition::bindings(tenant).item(sk::LANES)
}

/// The head of a lane: its last segment.
#[must_use]
pub fn lane_head(tenant: &Tenant, lane: u32) -> Key {
    Partition::lane(tenant, lane).item(sk::LANE_HEAD)
}

/// A segment of a lane; `number` counts from 1.
#[must_use]
pub fn lane_segment(tenant: &Tenant, lane: u32, number: u64) -> Key {
    Partition::lane(tenant, lane).item(format!("{}{number:010}", sk::SEGMENT))
}

/// A binding of a day; `number` counts from 1 through all days.
#[must_use]
pub fn binding(tenant: &Tenant, day: UtcDay, number: u32) -> Key {
    Partition::bindings(tenant).item(format!("{}{day}#{number:010}", sk::BINDING))
}

/// The kinds of records of the audit trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// A journal entry: claim, effect and response of an operation in one transaction.
    Entry,
    /// An act of the operator's staff.
    Act,
    /// A trail record: a step of an operation that calls outside.
    Step,
}

impl Key {
    /// The kind of audit record under this key; `None` for any other item.
    #[must_use]
    pub fn recorded(&self) -> Option<Recorded> {
        if self.entry().is_some() {
            return Some(Recorded::Entry);
        }
        match (self.sk.strip_prefix(sk::AUDIT), self.sk.strip_prefix(sk::TRAIL)) {
            (Some(id), _) => parse_uuid(id).is_ok().then_some(Recorded::Act),
            (None, Some(_)) => Some(Recorded::Step),
            (None, None) => None,
        }
    }

    /// The instant of the id in the key of an entry or an act; `None` for any other key.
    #[must_use]
    pub fn born(&self) -> Option<Timestamp> {
        let id = self.sk.strip_prefix(sk::TXN).or_else(|| self.sk.strip_prefix(sk::AUDIT))?;
        born_at(TransactionId::parse(id).ok()?.uuid())
    }
}

impl Partition {
    /// The smallest and the largest sort key of an audit record whose id is of `from` or later.
    #[must_use]
    pub fn audits_from(from: Timestamp) -> (String, String) {
        (format!("{}{}", sk::AUDIT, crate::ids::least_born_at(from)), format!("{}~", sk::AUDIT))
    }

    /// A lane of the audit trail: its head and its segments.
    #[must_use]
    pub fn lane(tenant: &Tenant, lane: u32) -> Self {
        Self::of(tenant, "lane", lane)
    }

    /// The bindings of the audit trail's lanes, of which there is at most one an hour, and the head of all lanes.
    #[must_use]
    pub fn bindings(tenant: &Tenant) -> Self {
        Self::of(tenant, "bindings", "root")
    }

    /// The smallest and the largest sort key of the bindings of these days, inclusive.
    #[must_use]
    pub fn bindings_between(from: UtcDay, to: UtcDay) -> (String, String) {
        (format!("{}{from}#", sk::BINDING), format!("{}{to}#~", sk::BINDING))
    }

    /// The prefix of the trail records of a resource.
    #[must_use]
    pub fn trail_of(resource: Uuid) -> String {
        format!("{}{resource}#", sk::TRAIL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AuditId, CustomerId, TopupId};
    use crate::keys::audit;

    const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

    #[test]
    fn audit_records_are_recognized_by_their_keys() {
        let tenant = Tenant::parse("demo").unwrap();
        let wallet = Partition::customer(&tenant, CustomerId::parse(ID).unwrap());
        let entry = wallet.entry(TransactionId::parse(ID).unwrap());
        let act = audit(&tenant, AuditId::parse(ID).unwrap());
        let topup = TopupId::parse(ID).unwrap();
        let step = trail(&Partition::topup(&tenant, topup), topup.uuid(), Timestamp::from_millis(0), "claimed");
        assert_eq!(step.sk(), format!("TRAIL#{ID}#1970-01-01T00:00:00.000Z#claimed"));
        assert_eq!(entry.recorded(), Some(Recorded::Entry));
        assert_eq!(act.recorded(), Some(Recorded::Act));
        assert_eq!(step.recorded(), Some(Recorded::Step));
        assert_eq!((entry.born(), act.born(), step.born()), (act.born(), act.born(), None));
        assert_eq!(entry.born().unwrap().utc_day().to_string(), "2024-12-03");
    }

    #[test]
    fn items_of_lanes_are_no_records() {
        let tenant = Tenant::parse("demo").unwrap();
        let day = UtcDay::parse("2026-11-21").unwrap();
        for (key, text) in [
            (lanes(&tenant), "demo#bindings#root LANES"),
            (lane_head(&tenant, 3), "demo#lane#3 HEAD"),
            (lane_segment(&tenant, 3, 12), "demo#lane#3 SEGMENT#0000000012"),
            (binding(&tenant, day, 7), "demo#bindings#root BINDING#2026-11-21#0000000007"),
        ] {
            assert_eq!((format!("{} {}", key.pk(), key.sk()).as_str(), key.recorded()), (text, None));
        }
    }
}

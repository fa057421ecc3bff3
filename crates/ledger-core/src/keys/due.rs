//! The keys of the index `due`: what is to be published and sealed, and all other work, by the instant at which it is due.

use super::attr;
use super::job::JobKind;
use crate::canonical::parse_canonical;
use crate::dynamo::{Update, Value};
use crate::ids::{JobId, MerchantId, Tenant, TransactionId, least_born_at, parse_uuid};
use crate::time::Timestamp;
use crate::words::words;
use std::fmt;
use uuid::Uuid;

/// The word of jobs of every kind in the list of due work.
const JOB: &str = "job";
/// The last part of the sort key of an entry whose event was taken: it is only to be sealed.
const PUBLISHED: &str = "published";

words! {
    /// A kind of work with an instant at which it is due.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Work {
        /// An operation in flight whose lease may have ended.
        Flight = "flight",
        /// A top-up or refund to look up at the PSP.
        PspCheck = "psp_check",
        /// A hold to expire.
        Hold = "hold",
        /// A settlement whose saga is to be started or restarted.
        Settlement = "settlement",
        /// A reconciliation to run, again if it failed, or whose breaks are to be announced.
        Reconciliation = "reconciliation",
        /// A notice to announce.
        Notice = "notice",
        /// A booked transfer whose bank file is to be written.
        BankTransfer = "bank_transfer",
        /// A bank file that a person is to record as accepted, or as debited.
        BankFile = "bank_file",
        /// A merchant with a paid settlement, on whose cash bonuses may be due.
        CoveredCash = "covered_cash",
    }
}

impl Work {
    /// The keys of work of this kind, which is due from `at` on.
    #[must_use]
    pub fn due(self, tenant: &Tenant, shard: u32, at: Timestamp, id: impl fmt::Display) -> DueKeys {
        DueKeys { partition: due_partition(tenant, shard), sort: self.sort_key(at, id) }
    }

    /// The sort key of work of this kind.
    #[must_use]
    pub fn sort_key(self, at: Timestamp, id: impl fmt::Display) -> String {
        DueKind::Work(self).sort_key(at, id)
    }
}

/// What is due: work of a kind, or a job of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DueKind {
    /// Work.
    Work(Work),
    /// A job.
    Job(JobKind),
}

impl From<Work> for DueKind {
    fn from(work: Work) -> Self {
        Self::Work(work)
    }
}

impl From<JobKind> for DueKind {
    fn from(kind: JobKind) -> Self {
        Self::Job(kind)
    }
}

impl DueKind {
    /// The sort key of what is due of this kind: `<instant>#<work>#<id>`, or `<instant>#job#<kind>#<id>`. Texts of instants sort by
    /// time.
    #[must_use]
    pub fn sort_key(self, at: Timestamp, id: impl fmt::Display) -> String {
        match self {
            Self::Work(work) => format!("{at}#{}#{id}", work.name()),
            Self::Job(kind) => format!("{at}#{JOB}#{}#{id}", kind.name()),
        }
    }
}

impl JobKind {
    /// The keys of a job of this kind, which is due from `at` on. All are in one shard: they are few.
    #[must_use]
    pub fn due(self, tenant: &Tenant, at: Timestamp, id: JobId) -> DueKeys {
        DueKeys { partition: due_partition(tenant, 0), sort: DueKind::Job(self).sort_key(at, id) }
    }
}

/// The keys of an item in the index `due`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueKeys {
    partition: String,
    sort: String,
}

impl DueKeys {
    /// The keys of an entry to publish and to seal: its id, and the merchant that its seal credits.
    pub(crate) fn entry((tenant, shard): (&Tenant, u32), id: TransactionId, credits: Option<MerchantId>) -> Self {
        let sort = credits.map_or_else(|| id.to_string(), |merchant| format!("{id}#{merchant}"));
        Self { partition: publish_partition(tenant, shard), sort }
    }

    /// The keys of an entry whose event was taken, and that is only to be sealed.
    pub(crate) fn published((tenant, shard): (&Tenant, u32), id: TransactionId) -> Self {
        Self { partition: publish_partition(tenant, shard), sort: format!("{id}#{PUBLISHED}") }
    }

    /// The keys of a trail record to seal. Its instant is in the form of an id, so that it sorts among entries.
    pub(crate) fn step((tenant, shard): (&Tenant, u32), at: Timestamp, place: impl fmt::Display) -> Self {
        Self { partition: publish_partition(tenant, shard), sort: format!("{}#{place}", least_born_at(at)) }
    }

    /// The partition.
    #[must_use]
    pub fn partition(&self) -> &str {
        &self.partition
    }

    /// As attributes of an item.
    #[must_use]
    pub fn attributes(self) -> [(String, Value); 2] {
        [(attr::DUE_PK.to_owned(), Value::S(self.partition)), (attr::DUE_SK.to_owned(), Value::S(self.sort))]
    }

    /// Sets them in an item.
    #[must_use]
    pub fn set(self, update: Update) -> Update {
        update.set(attr::DUE_PK, "due_pk", Value::S(self.partition)).set(attr::DUE_SK, "due_sk", Value::S(self.sort))
    }
}

/// The work that a sort key of the list of due work names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueWork<'a> {
    /// When it is due.
    pub at: Timestamp,
    /// Its kind.
    pub kind: DueKind,
    /// The id of what is due, as its kind has it.
    pub id: &'a str,
}

impl<'a> DueWork<'a> {
    /// Parses a sort key; `None` for any other text.
    #[must_use]
    pub fn parse(sort_key: &'a str) -> Option<Self> {
        let (at, rest) = sort_key.split_once('#')?;
        let (word, rest) = rest.split_once('#')?;
        let (kind, id) = if word == JOB {
            let (kind, id) = rest.split_once('#')?;
            (JobKind::parse(kind)?.into(), id)
        } else {
            (Work::parse(word)?.into(), rest)
        };
        Some(Self { at: Timestamp::parse(at).ok()?, kind, id })
    }
}

/// What a sort key of a partition of publications says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpublished<'a> {
    /// The id of the entry, or the least id of the instant of a trail record.
    pub id: Uuid,
    /// What follows it.
    rest: Option<&'a str>,
}

impl<'a> Unpublished<'a> {
    /// Parses a sort key; `None` for any other text.
    #[must_use]
    pub fn parse(sort_key: &'a str) -> Option<Self> {
        let (id, rest) = sort_key.split_once('#').map_or((sort_key, None), |(id, rest)| (id, Some(rest)));
        Some(Self { id: parse_uuid(id).ok()?, rest })
    }

    /// Whether the event of the entry was taken, so that it is only to be sealed.
    #[must_use]
    pub fn is_published(&self) -> bool {
        self.rest == Some(PUBLISHED)
    }

    /// Whether the seal of the entry may credit the merchant. That of an entry that was published says so only in the entry.
    #[must_use]
    pub fn may_credit(&self, merchant: MerchantId) -> bool {
        self.is_published() || self.rest.is_some_and(|rest| MerchantId::parse(rest) == Ok(merchant))
    }
}

/// The partition of the records of a shard to publish and to seal: journal entries and trail records.
#[must_use]
pub fn publish_partition(tenant: &Tenant, shard: u32) -> String {
    format!("{tenant}#due#publish#{shard}")
}

/// The partition of the sealed journal entries of a shard whose event was not taken in time.
#[must_use]
pub fn publish_late_partition(tenant: &Tenant, shard: u32) -> String {
    format!("{tenant}#due#publish_late#{shard}")
}

/// The partition of all other work of a shard.
#[must_use]
pub fn due_partition(tenant: &Tenant, shard: u32) -> String {
    format!("{tenant}#due#{shard}")
}

/// An upper bound of the sort keys of work that is due at `now`.
#[must_use]
pub fn due_until(now: Timestamp) -> String {
    format!("{now}#~")
}

/// Whether keys of the index `due` are those of an entry whose event was not taken, sealed or not.
#[must_use]
pub fn is_to_publish(tenant: &Tenant, (partition, sort): (&str, &str)) -> bool {
    let is_published = Unpublished::parse(sort).is_some_and(|entry| entry.is_published());
    [publish_partition, publish_late_partition].into_iter().any(|of| is_shard_of(&of(tenant, 0), partition))
        && !is_published
}

/// Whether a partition of the index `due` is one of records that are not sealed.
#[must_use]
pub fn is_to_seal(tenant: &Tenant, partition: &str) -> bool {
    is_shard_of(&publish_partition(tenant, 0), partition)
}

/// Whether a partition is one of any shard, by the partition of shard 0.
fn is_shard_of(first: &str, partition: &str) -> bool {
    let every = first.strip_suffix('0').unwrap_or(first);
    partition.strip_prefix(every).is_some_and(|shard| parse_canonical::<u32>(shard).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

    fn tenant() -> Tenant {
        Tenant::parse("demo").unwrap()
    }

    #[test]
    fn work_is_sorted_by_its_instant_and_read_back() {
        let (early, late) = (Timestamp::from_millis(1_000), Timestamp::from_millis(2_000));
        let all: Vec<DueKind> =
            Work::ALL.into_iter().map(DueKind::Work).chain(JobKind::ALL.into_iter().map(DueKind::Job)).collect();
        for kind in &all {
            let sort = kind.sort_key(early, ID);
            assert_eq!(DueWork::parse(&sort), Some(DueWork { at: early, kind: *kind, id: ID }), "{sort}");
            assert!(all.iter().all(|other| sort < other.sort_key(late, "0")), "{sort}");
            assert!(sort < due_until(early) && due_until(early) < kind.sort_key(late, ID));
        }
        let at = "1970-01-01T00:00:01.000Z";
        for wrong in ["#hold", "#credit#x", "#job#x", "#job#hold#x", "#grant#x"].map(|rest| format!("{at}{rest}")) {
            assert_eq!(DueWork::parse(&wrong), None, "{wrong}");
        }
        assert_eq!(["", ID, "x#hold#y"].map(DueWork::parse), [None; 3]);
    }

    #[test]
    fn keys_of_unsealed_records_say_what_is_to_be_done() {
        let (at, id) = ((&tenant(), 7), TransactionId::parse(ID).unwrap());
        let merchant = MerchantId::parse("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5f").unwrap();
        let other = MerchantId::parse(ID).unwrap();
        for (keys, is_published, credits) in [
            (DueKeys::entry(at, id, None), false, [false, false]),
            (DueKeys::entry(at, id, Some(merchant)), false, [true, false]),
            (DueKeys::published(at, id), true, [true, true]),
        ] {
            assert_eq!(keys.partition(), "demo#due#publish#7");
            let read = Unpublished::parse(&keys.sort).unwrap();
            assert_eq!((read.id, read.is_published()), (id.uuid(), is_published), "{keys:?}");
            assert_eq!([merchant, other].map(|merchant| read.may_credit(merchant)), credits, "{keys:?}");
            assert_eq!(is_to_publish(&tenant(), (&keys.partition, &keys.sort)), !is_published, "{keys:?}");
        }
        let born = crate::ids::born_at(id.uuid()).unwrap();
        let step = DueKeys::step(at, born, "x#claimed");
        assert!(step.sort.as_str() < ID && Unpublished::parse(&step.sort).unwrap().id < id.uuid(), "{step:?}");
        assert_eq!(Unpublished::parse("x"), None);
    }

    #[test]
    fn partitions_are_recognized_in_canonical_form_only() {
        let (tenant, other) = (tenant(), Tenant::parse("demo2").unwrap());
        for mark in [publish_partition(&tenant, 63), publish_late_partition(&tenant, 63)] {
            assert!(is_to_publish(&tenant, (&mark, ID)), "{mark}");
        }
        assert!(is_to_seal(&tenant, &publish_partition(&tenant, 63)));
        for mark in [
            due_partition(&tenant, 0),
            publish_partition(&other, 0),
            "demo#due#publish#".into(),
            "demo#due#publish#+1".into(),
            "demo#due#publish#01".into(),
            "demo#due#publish_late#".into(),
            "demo#due#publish_later#0".into(),
        ] {
            assert!(!is_to_publish(&tenant, (&mark, ID)) && !is_to_seal(&tenant, &mark), "{mark}");
        }
        assert!(!is_to_seal(&tenant, &publish_late_partition(&tenant, 0)));
    }
}

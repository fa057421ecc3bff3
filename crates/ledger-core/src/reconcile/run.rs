//! A run of the reconciliation: who requested it, its lease holder, and its result. One worker has a run at a time,
//! by a lease with a fencing token. A run whose worker has stopped is run again from the start.

mod found;

pub use found::FoundBreak;

use super::{BreakKind, Finding};
use crate::audit::Act;
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, FindingId, RunId, StaffId, Tenant, TransactionId};
use crate::keys::{self, Work, attr};
use crate::lease::{Holder, Leasable, Leased};
use crate::operation::Operation;
use crate::plan::{Context, PlanRefusal};
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{BuildError, Draft, Planned, Role, TransactItem, Transaction};
use crate::words::words;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use uuid::Uuid;

/// The lease of a run.
pub const RUN_LEASE: Duration = Duration::from_secs(120);
/// The nightly run begins at three in the morning, in Japan.
const NIGHT: Duration = Duration::from_secs(3 * 60 * 60);
/// The most breaks that one transaction stores.
pub const BREAKS_MAX: usize = 50;

words! {
    /// The state of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RunState {
        /// No worker has taken it.
        Requested = "requested",
        /// A worker has taken it.
        Running = "running",
        /// Everything was read, and there is no break.
        Clean = "clean",
        /// There are breaks.
        Breaks = "breaks",
        /// There is no break, but something could not be read as of one moment, or was written by a later release.
        Unsettled = "unsettled",
        /// It cannot be completed.
        Failed = "failed",
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The present state.
    pub state: RunState,
    /// The staff member who requested it; `None` for a nightly run.
    pub requested_by: Option<StaffId>,
    /// When it was requested.
    pub created_at: Timestamp,
    /// The lease holder. Its token is the number of times that the run was taken.
    pub holder: Holder,
    /// When the present holder took it.
    pub began_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Its counts, of the whole run or so far.
    pub tally: Tally,
}

/// The counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The tenant's items that were read.
    pub items: i64,
    /// The read capacity units that were used.
    pub units: i64,
    /// The suspicions that were read again.
    pub suspects: i64,
    /// Breaks by kind.
    pub breaks: BTreeMap<BreakKind, i64>,
    /// The items that a later release wrote, by the names of their kinds. They are no breaks, and were not compared.
    pub newer: BTreeMap<String, i64>,
    /// The suspicions that could not be read as of one moment.
    pub unsettled: i64,
    /// The breaks that are stored individually.
    pub stored: i64,
    /// Whether the payment provider was listed: `listed`, `none` if none is set up, or `unknown`.
    pub provider: String,
    /// The location of the report, if it was written.
    pub file: Option<String>,
}

impl Tally {
    /// The number of breaks.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.breaks.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

impl RunState {
    /// Whether the state is final.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Requested | Self::Running => false,
            Self::Clean | Self::Breaks | Self::Unsettled | Self::Failed => true,
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Leasable for Run {
    const LEASE_DURATION: Duration = RUN_LEASE;
    const ROLE: Role = Role::Reconciliation;
}

impl Run {
    fn new(id: RunId, requested_by: Option<StaffId>, now: Timestamp) -> Self {
        Self {
            id,
            state: RunState::Requested,
            requested_by,
            created_at: now,
            holder: Holder { fence: 0, lease_until: now },
            began_at: None,
            finished_at: None,
            tally: Tally::default(),
        }
    }

    /// Reads a stored run.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let breaks = item.numbers("breaks", |kind, number| {
            let kind = BreakKind::parse(kind).ok_or_else(|| ItemError::invalid("breaks"))?;
            Ok((kind, number.parse().map_err(|_| ItemError::invalid("breaks"))?))
        })?;
        Ok(Self {
            id: item.parsed("run_id", RunId::parse)?,
            state: item.named("state", RunState::parse)?,
            requested_by: item.opt_parsed("requested_by", StaffId::parse)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            holder: Holder::read(item)?,
            began_at: item.opt_timestamp("began_at")?,
            finished_at: item.opt_timestamp("finished_at")?,
            tally: Tally {
                items: item.opt_int("items")?.unwrap_or_default(),
                units: item.opt_int("units")?.unwrap_or_default(),
                suspects: item.opt_int("suspects")?.unwrap_or_default(),
                breaks,
                newer: item.numbers("newer", |name, number| {
                    Ok((name.to_owned(), number.parse().map_err(|_| ItemError::invalid("newer"))?))
                })?,
                unsettled: item.opt_int("unsettled")?.unwrap_or_default(),
                stored: item.opt_int("stored")?.unwrap_or_default(),
                provider: item.opt_string("provider")?.unwrap_or_default(),
                file: item.opt_string("file")?,
            },
        })
    }

    fn item(&self, tenant: &Tenant) -> Item {
        let mut item = Item::from([
            ("run_id".to_owned(), Value::s(self.id)),
            ("state".to_owned(), Value::s(self.state)),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
            (attr::OWNER_PK.to_owned(), Value::S(keys::reconciliations_partition(tenant))),
            (attr::OWNER_SK.to_owned(), Value::s(self.id)),
        ]);
        item.extend(Work::Reconciliation.due(tenant, 0, self.created_at, self.id).attributes());
        item.extend(self.holder.attributes());
        if let Some(staff) = self.requested_by {
            item.insert("requested_by".to_owned(), Value::s(staff));
        }
        item
    }

    /// Takes a run. `None` while another worker has it, or if it is over.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn take(&self, tenant: &Tenant, now: Timestamp) -> Result<Option<(Leased<Self>, Transaction)>, BuildError> {
        if self.state.is_over() {
            return Ok(None);
        }
        Leased::take(keys::reconciliation(tenant, self.id), self.holder, Vec::new(), now, |holder| {
            let state = RunState::Running;
            let taken = Self { state, holder, began_at: Some(now), tally: Tally::default(), ..self.clone() };
            let update = holder.taken(Update::new());
            (taken, update.set("began_at", "now", Value::s(now)).set("state", "state", Value::s(state)))
        })
    }

    /// Records that its breaks were published.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn mark_announced(&self, tenant: &Tenant, now: Timestamp) -> Result<Transaction, BuildError> {
        let update = Update::new().set("announced_at", "now", Value::s(now)).remove(attr::DUE_PK).remove(attr::DUE_SK);
        let key = keys::reconciliation(tenant, self.id);
        let mine = vec![self.holder.is_last()];
        Transaction::unkeyed(vec![TransactItem::update(Role::Reconciliation, key, update, mine)])
    }

    /// The id of its break `number`. It is the same in every worker, and ids are in the order of their numbers.
    #[must_use]
    pub fn finding_id(&self, number: usize) -> FindingId {
        let after = Duration::from_millis(u64::try_from(number).unwrap_or(u64::MAX));
        let step = TransactionId::of_step(self.id.uuid(), &format!("break/{number}"), self.created_at.plus(after));
        FindingId::new(step.uuid())
    }

    /// Whether a stored break belongs to the run's result. A run that was begun twice may have stored more.
    #[must_use]
    pub fn found(&self, id: FindingId) -> bool {
        self.state.is_over() && id < self.finding_id(usize::try_from(self.tally.stored).unwrap_or_default())
    }
}

impl Leased<Run> {
    /// Records the run's progress, and renews the lease.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn progress(&self, tally: &Tally, now: Timestamp) -> Result<Transaction, BuildError> {
        let update = Self::renewed(now).set("items", "items", Value::int(tally.items));
        Transaction::unkeyed(vec![self.change(update.set("units", "units", Value::int(tally.units)))])
    }

    /// Stores at most [`BREAKS_MAX`] of the breaks, numbered from `first` on.
    ///
    /// # Errors
    /// [`BuildError`] for more.
    pub fn store(
        &self,
        tenant: &Tenant,
        first: usize,
        breaks: &[Finding],
        now: Timestamp,
    ) -> Result<Transaction, BuildError> {
        let numbered = breaks.iter().enumerate();
        let stored = numbered.map(|(at, found)| {
            let id = self.finding_id(first.saturating_add(at));
            TransactItem::put(
                Role::Reconciliation,
                keys::found_break(tenant, self.id, id),
                found::stored(tenant, (self.id, id), found),
                vec![],
            )
        });
        Transaction::unkeyed(std::iter::once(self.change(Self::renewed(now))).chain(stored).collect())
    }

    /// Ends the run, and returns it as it is after the write. A run with breaks stays due until they are
    /// [published](Run::mark_announced).
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn finish(&self, state: RunState, tally: &Tally, now: Timestamp) -> Result<(Run, Transaction), BuildError> {
        let breaks = tally.breaks.iter().map(|(kind, count)| (kind.name().to_owned(), Value::int(*count)));
        let mut update = Update::new()
            .set("state", "state", Value::s(state))
            .set("finished_at", "now", Value::s(now))
            .set("items", "items", Value::int(tally.items))
            .set("units", "units", Value::int(tally.units))
            .set("suspects", "suspects", Value::int(tally.suspects))
            .set("breaks", "breaks", Value::M(breaks.collect()))
            .set("unsettled", "unsettled", Value::int(tally.unsettled))
            .set("stored", "stored", Value::int(tally.stored))
            .set("provider", "provider", Value::s(&tally.provider));
        if !tally.newer.is_empty() {
            let newer = tally.newer.iter().map(|(name, count)| (name.clone(), Value::int(*count)));
            update = update.set("newer", "newer", Value::M(newer.collect()));
        }
        if state != RunState::Breaks {
            update = update.remove(attr::DUE_PK).remove(attr::DUE_SK);
        }
        if let Some(file) = &tally.file {
            update = update.set("file", "file", Value::s(file));
        }
        let finished = Run { state, finished_at: Some(now), tally: tally.clone(), ..(**self).clone() };
        Ok((finished, Transaction::unkeyed(vec![self.change(update)])?))
    }
}

/// A staff member requests a run.
///
/// # Errors
/// Never; the signature is that of every builder.
pub fn plan(tenant: &Tenant, staff: StaffId, cx: &Context) -> Result<Planned<Run>, PlanRefusal> {
    let run = Run::new(RunId::new(cx.resource_id), Some(staff), cx.now);
    let key = keys::reconciliation(tenant, run.id);
    let act = Act::new(Actor::Staff(staff), Operation::ReconciliationRequest, format!("reconciliation:{}", run.id));
    let items = vec![
        TransactItem::put_new(Role::Reconciliation, key, run.item(tenant), Failure::AlreadyExists),
        act.record(tenant, cx),
    ];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: run })
}

/// The nightly run of the present day: one a day, the same in every worker. `None` before its hour.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn of_the_night(tenant: &Tenant, now: Timestamp) -> Result<Option<(Run, Transaction)>, BuildError> {
    let date = now.business_date();
    if now.minus(NIGHT).business_date() != date {
        return Ok(None);
    }
    let run = Run::new(night_id(date, now), None, now);
    let key = keys::reconciliation(tenant, run.id);
    let item = TransactItem::put_new(Role::Reconciliation, key, run.item(tenant), Failure::AlreadyExists);
    Ok(Some((run, Transaction::unkeyed(vec![item])?)))
}

/// The id of a day's nightly run. It sorts by the beginning of the day.
fn night_id(date: BusinessDate, now: Timestamp) -> RunId {
    let begin = Timestamp::parse(&format!("{date}T00:00:00+09:00")).unwrap_or(now);
    RunId::new(TransactionId::of_step(Uuid::nil(), &format!("reconciliation/{date}"), begin).uuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn each_night_has_one_run() {
        let tenant = Tenant::parse("demo").unwrap();
        let of = |text: &str| of_the_night(&tenant, at(text)).unwrap().map(|(run, _)| run.id);
        assert_eq!(of("2026-11-21T17:59:59Z"), None, "no run is due before 03:00 in Japan");
        let first = of("2026-11-21T18:00:00Z");
        assert!(first.is_some());
        assert_eq!(of("2026-11-22T14:59:59Z"), first);
        let next = of("2026-11-22T18:00:00Z");
        assert!(next > first);
    }

    #[test]
    fn run_is_taken_by_one_worker_and_again_after_its_lease() {
        let tenant = Tenant::parse("demo").unwrap();
        let now = at("2026-11-21T18:00:00Z");
        let run = Run::new(RunId::parse(ID).unwrap(), None, now);
        let (taken, _) = run.take(&tenant, now).unwrap().unwrap();
        assert_eq!((taken.fence(), taken.state), (1, RunState::Running));
        assert!(taken.take(&tenant, now).unwrap().is_none());
        let (again, _) = taken.take(&tenant, now.plus(RUN_LEASE)).unwrap().unwrap();
        assert_eq!(again.fence(), 2);
        let over = Run { state: RunState::Clean, ..again.into_record() };
        assert!(over.take(&tenant, now.plus(RUN_LEASE).plus(RUN_LEASE)).unwrap().is_none());
        assert!(run.finding_id(0) < run.finding_id(1) && run.finding_id(9) < run.finding_id(10));
    }
}

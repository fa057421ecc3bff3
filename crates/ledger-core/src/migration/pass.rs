//! A pass over all customers of a tenant: backfill, verify or contract.
//!
//! One worker at a time runs a pass, in slices; each slice continues where the last one stopped.

use super::moving::{Evidence, PassResult};
use super::plan::Concern;
use super::setting::Migration;
use crate::audit::Act;
use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, CustomerId, StaffId, Tenant};
use crate::keys::{self, Key, attr};
use crate::lease::{Holder, Leasable, Leased};
use crate::operation::Operation;
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction};
use crate::words::words;
use std::collections::BTreeMap;
use std::time::Duration;

/// The duration of a pass's lease.
pub const PASS_LEASE: Duration = Duration::from_secs(60);
/// The maximum number of customers that a pass names as examples.
pub const EXAMPLES_MAX: usize = 20;

words! {
    /// What a pass does with each customer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum PassKind {
        /// Adopts the customer, and copies the concerns that the phase needs in another model.
        Backfill = "backfill",
        /// Compares both models.
        Verify = "verify",
        /// Empties the God Record.
        Contract = "contract",
    }
}

words! {
    /// The progress of a pass.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PassState {
        /// No worker has started it.
        Waiting = "waiting",
        /// A worker has started it.
        Running = "running",
        /// Every customer has been processed.
        Done = "done",
        /// The setting was changed before the pass finished, so its result has no meaning.
        Superseded = "superseded",
    }
}

/// A pass, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// What it does.
    pub kind: PassKind,
    /// Its progress.
    pub state: PassState,
    /// The fence of the setting under which it runs.
    pub fence: i64,
    /// The number of the phase under which it runs.
    pub phase: u8,
    /// The staff member who requested it.
    pub requested_by: StaffId,
    /// When it was requested.
    pub created_at: Timestamp,
    /// When every customer had been processed.
    pub finished_at: Option<Timestamp>,
    /// The maximum number of customers processed per second.
    pub per_second: u32,
    /// Its lease holder.
    pub holder: Holder,
    /// The key of the last table item that was processed; `None` at the beginning.
    pub after: Option<Key>,
    /// Its counts so far.
    pub tally: PassTally,
}

/// The counts of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassTally {
    /// Customers that were processed.
    pub customers: i64,
    /// Customers for whom something was written.
    pub changed: i64,
    /// Customers with a finding, or with work left to do.
    pub left: i64,
    /// For each concern, the number of customers in which it differs or is missing.
    pub concerns: BTreeMap<Concern, i64>,
    /// Some of those customers, each with what was found: names of attributes, never values.
    pub examples: Vec<(CustomerId, String)>,
}

impl PassKind {
    /// The operation under which it is requested.
    #[must_use]
    pub const fn operation(self) -> Operation {
        match self {
            Self::Backfill => Operation::MigrationBackfill,
            Self::Verify => Operation::MigrationVerify,
            Self::Contract => Operation::MigrationContract,
        }
    }
}

impl PassState {
    /// Whether the pass has ended: done or superseded.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Waiting | Self::Running => false,
            Self::Done | Self::Superseded => true,
        }
    }
}

impl PassTally {
    /// Counts a customer with a finding. The customer is named as an example while there are fewer than
    /// [`EXAMPLES_MAX`].
    pub fn add_finding(&mut self, customer: CustomerId, concerns: impl IntoIterator<Item = Concern>, what: String) {
        self.left = self.left.saturating_add(1);
        for concern in concerns {
            let count = self.concerns.entry(concern).or_default();
            *count = count.saturating_add(1);
        }
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push((customer, what));
        }
    }
}

/// The key of a tenant's last pass of a kind.
#[must_use]
pub fn pass_key(tenant: &Tenant, kind: PassKind) -> Key {
    keys::migration_pass(tenant, kind.name())
}

/// Makes the evidence for a phase change of the stored passes. Superseded passes do not count.
#[must_use]
pub fn evidence(passes: &[Pass]) -> Evidence {
    let of = |kind| {
        let done = passes.iter().find(|pass| pass.kind == kind && pass.state != PassState::Superseded)?;
        Some(PassResult { fence: done.fence, finished_at: done.finished_at, left: done.tally.left })
    };
    Evidence { backfill: of(PassKind::Backfill), verify: of(PassKind::Verify), contract: of(PassKind::Contract) }
}

/// A staff member's request for a pass.
#[derive(Clone, Copy, Debug)]
pub struct PassRequest<'a> {
    /// The tenant whose customers are processed.
    pub tenant: &'a Tenant,
    /// What to do with each customer.
    pub kind: PassKind,
    /// The maximum number of customers processed per second.
    pub per_second: u32,
    /// The staff member who requests it.
    pub staff: StaffId,
}

/// Plans a pass under `setting`, which replaces the setting `read` if they differ.
///
/// If a pass of this kind is running under the same setting, it is returned unchanged.
///
/// # Errors
/// None today; the signature is that of every builder.
pub fn plan(
    request: &PassRequest<'_>,
    (read, setting): (&Migration, &Migration),
    before: Option<&Pass>,
    cx: &Context,
) -> Result<Planned<Pass>, PlanRefusal> {
    let PassRequest { tenant, kind, per_second, staff } = *request;
    if let Some(running) = before.filter(|pass| !pass.state.is_over() && pass.fence == setting.fence.number()) {
        return Ok(Planned { draft: Draft::default(), receipt: running.clone() });
    }
    let pass = Pass {
        kind,
        state: PassState::Waiting,
        fence: setting.fence.number(),
        phase: setting.phase.number(),
        requested_by: staff,
        created_at: cx.now,
        finished_at: None,
        per_second,
        // INVARIANT: the token is above that of a worker that still runs the pass before, so its writes are rejected.
        holder: Holder { fence: before.map_or(0, |pass| pass.holder.fence.saturating_add(1)), lease_until: cx.now },
        after: None,
        tally: PassTally::default(),
    };
    let seen = match before {
        None => vec![Clause { condition: Condition::absent(attr::PK), failure: Failure::StalePlan }],
        Some(before) => before.holder.as_seen().into(),
    };
    let put = TransactItem::put(Role::Migration, pass_key(tenant, kind), pass.item(), seen);
    let act = Act::new(Actor::Staff(staff), kind.operation(), "tenant".to_owned()).with("phase", setting.phase);
    let items = vec![put, setting.in_place_of(read, tenant, cx.now), act.record(tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: pass })
}

impl Leasable for Pass {
    const LEASE_DURATION: Duration = PASS_LEASE;
    const ROLE: Role = Role::Migration;
}

impl Pass {
    /// Reads a stored pass.
    ///
    /// # Errors
    /// [`ItemError`] if it does not have the expected format.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            kind: item.named("kind", PassKind::parse)?,
            state: item.named("state", PassState::parse)?,
            fence: item.int("migration_fence")?,
            phase: item.int("phase")?,
            requested_by: item.parsed("requested_by", StaffId::parse)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            finished_at: item.opt_timestamp("finished_at")?,
            per_second: item.int("per_second")?,
            holder: Holder::read(item)?,
            after: match item.opt_map("after")? {
                Some(key) => Some(stored_key(key)?.ok_or_else(|| ItemError::invalid("after"))?),
                None => None,
            },
            tally: PassTally {
                customers: item.opt_int("customers")?.unwrap_or_default(),
                changed: item.opt_int("changed")?.unwrap_or_default(),
                left: item.opt_int("left")?.unwrap_or_default(),
                concerns: concerns(item)?,
                examples: examples(item)?,
            },
        })
    }

    fn item(&self) -> Item {
        let mut item = Item::from([
            ("kind".to_owned(), Value::s(self.kind.name())),
            ("state".to_owned(), Value::s(self.state.name())),
            ("migration_fence".to_owned(), Value::int(self.fence)),
            ("phase".to_owned(), Value::int(self.phase.into())),
            ("requested_by".to_owned(), Value::s(self.requested_by)),
            ("per_second".to_owned(), Value::int(self.per_second.into())),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
        ]);
        item.extend(self.holder.attributes());
        item
    }

    /// Plans taking the lease. `None` while another worker holds it, or if the pass has ended.
    ///
    /// # Errors
    /// [`BuildError`]: never for these items.
    pub fn take(&self, tenant: &Tenant, now: Timestamp) -> Result<Option<(Leased<Self>, Transaction)>, BuildError> {
        if self.state.is_over() {
            return Ok(None);
        }
        Leased::take(pass_key(tenant, self.kind), self.holder, Vec::new(), now, |holder| {
            let taken = Self { holder, state: PassState::Running, ..self.clone() };
            let update = holder.taken(Update::new()).set("state", "state", Value::s(taken.state.name()));
            (taken, update)
        })
    }
}

impl Leased<Pass> {
    /// Writes the progress, and renews the lease.
    ///
    /// # Errors
    /// [`BuildError`]: never for these items.
    pub fn progress(&self, now: Timestamp) -> Result<Transaction, BuildError> {
        self.written(Self::renewed(now))
    }

    /// Writes the progress, and releases the lease: any worker may take it at once.
    ///
    /// # Errors
    /// [`BuildError`]: never for these items.
    pub fn release(&self, now: Timestamp) -> Result<Transaction, BuildError> {
        self.written(Self::released(now))
    }

    fn written(&self, update: Update) -> Result<Transaction, BuildError> {
        let tally = &self.tally;
        let by_concern = tally.concerns.iter().map(|(concern, count)| (concern.name().to_owned(), Value::int(*count)));
        let examples = tally.examples.iter().map(|(customer, what)| {
            Value::M(Item::from([("customer_id".to_owned(), Value::s(customer)), ("what".to_owned(), Value::s(what))]))
        });
        let mut update = update
            .set("state", "state", Value::s(self.state.name()))
            .set("customers", "customers", Value::int(tally.customers))
            .set("changed", "changed", Value::int(tally.changed))
            .set("left", "left", Value::int(tally.left))
            .set("concerns", "concerns", Value::M(by_concern.collect()))
            .set("examples", "examples", Value::L(examples.collect()));
        update = match &self.after {
            Some(key) => {
                let key = [("pk", key.pk()), ("sk", key.sk())].map(|(name, part)| (name.to_owned(), Value::s(part)));
                update.set("after", "after", Value::M(Item::from(key)))
            }
            None => update.remove("after"),
        };
        if let Some(at) = self.finished_at {
            update = update.set("finished_at", "finished_at", Value::s(at));
        }
        Transaction::unkeyed(vec![self.change(update)])
    }
}

fn concerns(item: &Item) -> Result<BTreeMap<Concern, i64>, ItemError> {
    let Some(counts) = item.opt_map("concerns")? else { return Ok(BTreeMap::new()) };
    let count = |name: &String| {
        let concern = Concern::parse(name).ok_or_else(|| ItemError::invalid("concerns"))?;
        Ok((concern, counts.int(name)?))
    };
    counts.keys().map(count).collect()
}

fn examples(item: &Item) -> Result<Vec<(CustomerId, String)>, ItemError> {
    item.maps("examples", |map| Ok((map.parsed("customer_id", CustomerId::parse)?, map.string("what")?)))
}

fn stored_key(key: &Item) -> Result<Option<Key>, ItemError> {
    let (pk, sk) = (key.text("pk")?, key.text("sk")?);
    Ok(keys::tenant_of(pk).and_then(|tenant| Key::stored(&tenant, pk, sk)))
}

//! A pass over all customers of a tenant: to bring them where the phase needs them, to compare both models, or to empty
//! their God Records. It is done in slices, by one worker at a time, and goes on where the last slice stopped.

use super::moving::{Evidence, PassResult};
use super::plan::Concern;
use super::setting::Migration;
use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, CustomerId, StaffId, Tenant};
use crate::keys::{self, Key, attr};
use crate::lease::{Holder, Leasable, Leased};
use crate::operation::Operation;
use crate::ops::audit::Act;
use crate::ops::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction};
use std::collections::BTreeMap;
use std::time::Duration;

/// A pass's lease.
pub const LEASE: Duration = Duration::from_secs(60);
/// How many customers a pass names in whom it left or found something.
pub const EXAMPLES_MAX: usize = 20;

/// What a pass does with each customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PassKind {
    /// Takes over and copies whatever the phase needs.
    Backfill,
    /// Compares both models.
    Verify,
    /// Empties the God Record.
    Contract,
}

/// Where a pass stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassState {
    /// Nobody has begun it.
    Requested,
    /// It is under way.
    Running,
    /// Every customer was looked at.
    Done,
    /// The setting was changed before it was over: it says nothing.
    Superseded,
}

/// A pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// What it does.
    pub kind: PassKind,
    /// Where it stands.
    pub state: PassState,
    /// The fence of the setting by which it is made.
    pub fence: i64,
    /// In which phase.
    pub phase: u8,
    /// Who asked for it.
    pub requested_by: StaffId,
    /// When.
    pub created_at: Timestamp,
    /// When every customer had been looked at.
    pub finished_at: Option<Timestamp>,
    /// How many customers a second it may look at.
    pub per_second: u32,
    /// Who is at it.
    pub holder: Holder,
    /// After which item of the table it goes on; `None` at the beginning.
    pub after: Option<Key>,
    /// What it has come to so far.
    pub tally: PassTally,
}

/// What a pass counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassTally {
    /// Customers that were looked at.
    pub customers: i64,
    /// Those for whom something was written.
    pub changed: i64,
    /// Those in whom something was found, or is left to be done.
    pub left: i64,
    /// How many customers differ in, or lack, a concern.
    pub concerns: BTreeMap<Concern, i64>,
    /// Some of those customers, and what is with them. Names of attributes only.
    pub examples: Vec<(CustomerId, String)>,
}

impl PassKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Backfill, Self::Verify, Self::Contract];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backfill => "backfill",
            Self::Verify => "verify",
            Self::Contract => "contract",
        }
    }

    /// Reads a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Under which operation it is asked for.
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
    const ALL: [Self; 4] = [Self::Requested, Self::Running, Self::Done, Self::Superseded];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Running => "running",
            Self::Done => "done",
            Self::Superseded => "superseded",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether nothing is done any more.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Requested | Self::Running => false,
            Self::Done | Self::Superseded => true,
        }
    }
}

impl PassTally {
    /// Adds what was found in a customer, who is named if there is room.
    pub fn leave(&mut self, customer: CustomerId, concerns: impl IntoIterator<Item = Concern>, what: String) {
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

/// The item of a tenant's last pass of a kind.
#[must_use]
pub fn pass_key(tenant: &Tenant, kind: PassKind) -> Key {
    keys::migration_pass(tenant, kind.name())
}

/// What is known of a tenant's customers, from the passes' items.
#[must_use]
pub fn evidence(passes: &[Pass]) -> Evidence {
    let of = |kind| {
        let done = passes.iter().find(|pass| pass.kind == kind && pass.state != PassState::Superseded)?;
        Some(PassResult { fence: done.fence, finished_at: done.finished_at, left: done.tally.left })
    };
    Evidence { backfill: of(PassKind::Backfill), verify: of(PassKind::Verify), contract: of(PassKind::Contract) }
}

/// What staff ask for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Whose customers.
    pub tenant: &'a Tenant,
    /// What is to be done with each of them.
    pub kind: PassKind,
    /// How many of them a second.
    pub per_second: u32,
    /// Who asks.
    pub staff: StaffId,
}

/// A pass under a setting, which takes the place of the one that was read if they differ. A pass that is under way is
/// not disturbed: asking for it again gives it as it stands.
///
/// # Errors
/// None today; the signature is that of every builder.
pub fn plan(
    asked: &Asked<'_>,
    (read, setting): (&Migration, &Migration),
    before: Option<&Pass>,
    cx: &Context,
) -> Result<Planned<Pass>, PlanRefusal> {
    let Asked { tenant, kind, per_second, staff } = *asked;
    if let Some(running) = before.filter(|pass| !pass.state.is_over() && pass.fence == setting.fence.number()) {
        return Ok(Planned { draft: Draft::default(), receipt: running.clone() });
    }
    let pass = Pass {
        kind,
        state: PassState::Requested,
        fence: setting.fence.number(),
        phase: setting.phase.number(),
        requested_by: staff,
        created_at: cx.now,
        finished_at: None,
        per_second,
        // Whoever is at one that is given up holds a token that this one does not have.
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
    const LEASE: Duration = LEASE;
    const ROLE: Role = Role::Migration;
}

impl Pass {
    /// Reads a stored pass.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            kind: item.named("kind", PassKind::parse)?,
            state: item.named("state", PassState::parse)?,
            fence: item.int("setting")?,
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
            ("setting".to_owned(), Value::int(self.fence)),
            ("phase".to_owned(), Value::int(self.phase.into())),
            ("requested_by".to_owned(), Value::s(self.requested_by)),
            ("per_second".to_owned(), Value::int(self.per_second.into())),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
        ]);
        item.extend(self.holder.attributes());
        item
    }

    /// Takes a pass. `None` while another worker has it, or if it is over.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
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
    /// Writes how far it has come, and renews the lease.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
    pub fn progress(&self, now: Timestamp) -> Result<Transaction, BuildError> {
        self.written(Self::renewed(now))
    }

    /// Writes how far it has come, and lets it go: any worker may take it at once.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
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

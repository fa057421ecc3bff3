//! Several environments work on one tenant's customers, each with the setting that it last read; each step is one call
//! to the store. The expectation is a ledger of split records without a migration: each applied transaction is executed
//! there as its builder made it.

use crate::migration::checks;
use crate::migration::fault;
use crate::migration::ops::{self, Request};
use crate::migration::scene::{Broken, Scene, Seen, Store, broken};
use ledger_core::dynamo::Item;
use ledger_core::failure::Failure;
use ledger_core::ids::CustomerId;
use ledger_core::keys::{Key, Partition};
use ledger_core::migration::{
    Adoption, Cancelled, Concern, Contraction, Copying, Layout, LegacyItem, Migration, Stale, adopt, contract, copy,
};
use ledger_core::time::Timestamp;
use ledger_core::transaction::{Rejection, Transaction, Verdict};
use ledger_tests::model::{Act, Model};
use ledger_tests::wire;
use serde_json::json;

/// The tables, and the tasks that run on them.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct World<S> {
    pub(crate) store: S,
    pub(crate) expected: Model,
    /// The index of the tenant's setting.
    pub(crate) config: usize,
    /// The index of the setting that each environment last read.
    pub(crate) environments: Vec<usize>,
    pub(crate) tasks: Vec<Task>,
}

/// A job that runs in an environment.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct Task {
    pub(crate) job: Job,
    pub(crate) environment: usize,
    pub(crate) at: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Job {
    Do(Request),
    Bring(CustomerId, Concern),
    Empty(CustomerId),
}

/// What a task does next.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) enum At {
    /// Reads what the plan needs.
    Plan,
    /// Writes what was planned.
    Write(Seen),
    /// Reads the tenant's setting again, then continues.
    Refresh(Box<At>),
    /// Reads a customer whose records do not fit the setting.
    Look(Need, usize, Box<At>),
    /// Writes the change that follows from what was read.
    Change(Need, usize, Seen, Box<At>),
    /// The job is over.
    End,
}

/// What must be done to a customer's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Need {
    Adopt(CustomerId),
    Copy(CustomerId, Concern),
    Empty(CustomerId),
}

/// The result of a task's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    /// The task continues.
    Continues,
    Applied,
    /// The stored response was replayed.
    Replayed,
    Refused(Option<Failure>),
    Done,
}

pub(crate) fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T02:00:00Z").unwrap()
}

impl Task {
    pub(crate) fn new(job: Job, environment: usize, setting: usize) -> Self {
        let at = match job {
            Job::Do(_) => At::Plan,
            Job::Bring(who, concern) => At::Look(Need::Copy(who, concern), setting, Box::new(At::End)),
            Job::Empty(who) => At::Look(Need::Empty(who), setting, Box::new(At::End)),
        };
        Self { job, environment, at }
    }
}

impl<S: Store> World<S> {
    pub(crate) fn new(store: S, environments: usize) -> Self {
        let environments = vec![0; environments];
        Self { store, expected: Model::new(), config: 0, environments, tasks: Vec::new() }
    }

    /// Writes the merchant's refund room, as its opening would: more than any history refunds.
    pub(crate) fn begin_refund_room(&mut self, scene: &Scene) {
        let key = Partition::merchant(&scene.tenant, ops::merchant().id).refund_room();
        let n = json!({ "N": "1000000000" });
        let room = json!({ "uuid": { "S": key.pk() }, "type": { "S": key.sk() }, "ceiling": n, "room": n });
        self.store.put_raw(&room);
        self.expected.put(wire::item_from_json(&room));
    }

    /// Begins a job in an environment.
    pub(crate) fn begin(&mut self, job: Job, environment: usize) {
        self.tasks.push(Task::new(job, environment, self.environments[environment]));
    }

    /// Does one step of a task, and removes the task if it is over.
    pub(crate) fn step(&mut self, scene: &Scene, task: usize) -> Result<StepOutcome, Broken> {
        let Task { job, environment, at } = self.tasks[task].clone();
        let (next, outcome) = match at {
            At::Plan => self.read(scene, job, environment)?,
            At::Write(seen) => self.write(scene, job, environment, seen)?,
            At::Refresh(then) => {
                self.environments[environment] = self.config;
                (again(*then, self.config), StepOutcome::Continues)
            }
            At::Look(need, setting, then) => match scene.migration(setting) {
                Some(migration) => {
                    let seen = scene.snapshot(&self.store, migration, need.who());
                    (At::Change(need, setting, seen, then), StepOutcome::Continues)
                }
                None => (*then, StepOutcome::Continues),
            },
            At::Change(need, setting, seen, then) => {
                let Some(migration) = scene.migration(setting) else { return broken("settings", "no migration") };
                (self.change(scene, migration, (need, setting), &seen, then)?, StepOutcome::Continues)
            }
            At::End => (At::End, StepOutcome::Done),
        };
        let outcome = if next == At::End && outcome == StepOutcome::Continues { StepOutcome::Done } else { outcome };
        if outcome == StepOutcome::Continues {
            self.tasks[task].at = next;
        } else {
            self.tasks.remove(task);
        }
        Ok(outcome)
    }

    /// What a layout reads under a split record's key at one instant.
    pub(crate) fn found(&self, layout: &Layout, key: &Key) -> Option<Item> {
        match layout.reading(key) {
            None => self.store.find(key),
            Some(reading) => {
                let [record, legacy, split] = reading.keys();
                let find =
                    |key| Some(LegacyItem { item: self.store.find(&key)?, unsupported: self.store.unsupported(&key) });
                reading.item([record, legacy].map(find), self.store.find(&split)).unwrap()
            }
        }
    }

    fn read(&self, scene: &Scene, job: Job, environment: usize) -> Result<(At, StepOutcome), Broken> {
        let Job::Do(request) = job else { return Ok((At::End, StepOutcome::Done)) };
        let layout = &scene.settings[self.environments[environment]];
        let keys = request.reads(scene);
        let items: Vec<Option<Item>> = keys.iter().map(|key| self.found(layout, key)).collect();
        for (key, item) in keys.iter().zip(&items) {
            checks::same("reading", key, item.as_ref(), self.expected.get(key))?;
        }
        let seen = Seen { items, unsupported: Vec::new() };
        if request.plan(scene, &seen.items).is_err() {
            return Ok((At::End, StepOutcome::Refused(None)));
        }
        Ok((At::Write(seen), StepOutcome::Continues))
    }

    fn write(&mut self, scene: &Scene, job: Job, environment: usize, seen: Seen) -> Result<(At, StepOutcome), Broken> {
        let Job::Do(request) = job else { return Ok((At::End, StepOutcome::Done)) };
        let setting = self.environments[environment];
        let layout = &scene.settings[setting];
        let Ok(transaction) = request.plan(scene, &seen.items) else { return broken("plans", "another plan") };
        let placed =
            transaction.placed(layout).map_err(|error| Broken { check: "placing", what: error.to_string() })?;
        let acts = placed.items().iter().map(Act::of).collect();
        let acts = fault::plant_in_placed(scene.fault, acts, &transaction, layout, &request.op);
        let reasons = match self.store.run(&acts) {
            Ok(()) => {
                if let Err(reasons) = self.expected.execute(transaction.items()) {
                    let verdict = transaction.classify(&reasons);
                    return broken("accepted", format!("{request:?}: {verdict:?}"));
                }
                self.check(scene, &transaction)?;
                return Ok((At::End, StepOutcome::Applied));
            }
            Err(reasons) => reasons,
        };
        match placed.cancelled(reasons) {
            Cancelled::For(reasons) => {
                let verdict = transaction.classify(&reasons);
                self.same_verdict(&transaction, &verdict, &request)?;
                Ok(after(&verdict))
            }
            Cancelled::Stale(stale, reasons) => {
                let then = Box::new(At::Write(seen));
                Ok(match stale {
                    Stale::Fenced => (At::Refresh(then), StepOutcome::Continues),
                    Stale::Unreadable(error) => return broken("God Record", error.to_string()),
                    Stale::NotCopied(who, concern) => {
                        (At::Look(Need::Copy(who, concern), setting, then), StepOutcome::Continues)
                    }
                    Stale::NotAdopted(who) => {
                        let migration = scene.migration(setting);
                        let migration = migration.ok_or(Broken { check: "settings", what: "stale".to_owned() })?;
                        let seen = scene.as_snapshot(migration, who, &scene.snapshot(&self.store, migration, who));
                        // If there is no legacy customer to adopt, the store's own reasons decide.
                        match adopt(migration, &scene.customer_ref(who), &seen, now()) {
                            Ok(Adoption::Missing) => {
                                let verdict = transaction.classify(&reasons);
                                self.same_verdict(&transaction, &verdict, &request)?;
                                after(&verdict)
                            }
                            _ => (At::Look(Need::Adopt(who), setting, then), StepOutcome::Continues),
                        }
                    }
                })
            }
        }
    }

    /// Checks that the verdict equals the one without a migration.
    fn same_verdict(&self, transaction: &Transaction, verdict: &Verdict, request: &Request) -> Result<(), Broken> {
        let Err(reasons) = self.expected.clone().execute(transaction.items()) else {
            return broken("refused", format!("{request:?}: {verdict:?}"));
        };
        let expected = transaction.classify(&reasons);
        let same = match (verdict, &expected) {
            // Which of a customer's records exist depends on the phase; that one of them exists does not.
            (Verdict::Rejected(this), Verdict::Rejected(that)) if this.failure == Failure::AlreadyExists => {
                this.failure == that.failure
            }
            (Verdict::Rejected(this), Verdict::Rejected(that)) => {
                // For a customer who does not exist, which other records are missing is irrelevant.
                let all = |r: &Rejection| (r.failure != Failure::AccountMissing).then(|| r.positions.clone());
                let parts = |r: &Rejection| (r.failure, r.position, all(r), r.role);
                let key = transaction.items()[this.position].key();
                checks::same("verdict", key, this.old.as_ref(), that.old.as_ref())?;
                parts(this) == parts(that)
            }
            (Verdict::MarkerExists(this), Verdict::MarkerExists(that)) => this == that,
            (this, that) => this == that,
        };
        if same { Ok(()) } else { broken("verdict", format!("{request:?}: {verdict:?}, but {expected:?}")) }
    }

    fn change(
        &mut self,
        scene: &Scene,
        migration: &Migration,
        (need, setting): (Need, usize),
        seen: &Seen,
        then: Box<At>,
    ) -> Result<At, Broken> {
        let who = need.who();
        let (customer_ref, snapshot) = (scene.customer_ref(who), scene.as_snapshot(migration, who, seen));
        let look = |need| Ok(At::Look(need, setting, then.clone()));
        let refresh = |then: &At| Ok(At::Refresh(Box::new(then.clone())));
        match need {
            Need::Adopt(_) => match adopt(migration, &customer_ref, &snapshot, now()) {
                Ok(Adoption::Adopted | Adoption::Missing) => Ok(*then),
                Ok(Adoption::Change(change)) => {
                    let applied = self.bring(scene, change.items().iter().map(Act::of).collect(), who)?;
                    if applied { Ok(*then) } else { look(need) }
                }
                Err(error) => broken("adoption", error.to_string()),
            },
            Need::Copy(_, concern) => match copy(migration, &customer_ref, concern, &snapshot, now()) {
                Ok(Copying::Done) => Ok(*then),
                Ok(Copying::Fenced) => refresh(&At::Look(need, setting, then)),
                Ok(Copying::NotAdopted) => {
                    // A customer who does not exist has nothing to copy.
                    match adopt(migration, &customer_ref, &snapshot, now()) {
                        Ok(Adoption::Missing) => Ok(*then),
                        _ => Ok(At::Look(Need::Adopt(who), setting, Box::new(At::Look(need, setting, then)))),
                    }
                }
                Ok(Copying::Raise(change)) => {
                    self.bring(scene, change.items().iter().map(Act::of).collect(), who)?;
                    match fault::read_before_raised(scene.fault, migration, seen) {
                        Some(seen) => Ok(At::Change(need, setting, seen, then)),
                        None => look(need),
                    }
                }
                Ok(Copying::Copy(change)) => {
                    let acts = change.items().iter().map(Act::of).collect();
                    self.bring(scene, fault::plant_in_copy(scene.fault, acts), who)?;
                    look(need)
                }
                Err(error) => broken("copying", error.to_string()),
            },
            Need::Empty(_) => match contract(migration, &customer_ref, &snapshot).unwrap() {
                Contraction::Done => Ok(*then),
                Contraction::Fenced => refresh(&At::Look(need, setting, then)),
                Contraction::NotCopied(concern) => {
                    Ok(At::Look(Need::Copy(who, concern), setting, Box::new(At::Look(need, setting, then))))
                }
                Contraction::Change(change) => {
                    self.bring(scene, change.items().iter().map(Act::of).collect(), who)?;
                    look(need)
                }
            },
        }
    }

    /// Executes a change that moves a customer, and checks that no read changes by it.
    fn bring(&mut self, scene: &Scene, acts: Vec<Act>, who: CustomerId) -> Result<bool, Broken> {
        let applied = self.store.run(&acts).is_ok();
        if applied {
            checks::customer(self, scene, who)?;
        }
        Ok(applied)
    }

    fn check(&self, scene: &Scene, transaction: &Transaction) -> Result<(), Broken> {
        let mut who: Vec<CustomerId> = transaction.items().iter().filter_map(|item| item.key().customer()).collect();
        who.sort_unstable();
        who.dedup();
        who.into_iter().try_for_each(|who| checks::customer(self, scene, who))
    }
}

/// Looks read under the setting that the environment has by then.
fn again(at: At, setting: usize) -> At {
    match at {
        At::Look(need, _, then) => At::Look(need, setting, Box::new(again(*then, setting))),
        other => other,
    }
}

fn after(verdict: &Verdict) -> (At, StepOutcome) {
    match verdict {
        Verdict::MarkerExists(_) => (At::End, StepOutcome::Replayed),
        Verdict::Rejected(rejection) if rejection.failure == Failure::StalePlan => (At::Plan, StepOutcome::Continues),
        Verdict::Rejected(rejection) => (At::End, StepOutcome::Refused(Some(rejection.failure))),
        Verdict::Broken(_) | Verdict::Throttled | Verdict::Conflict => (At::End, StepOutcome::Refused(None)),
    }
}

impl Need {
    pub(crate) fn who(self) -> CustomerId {
        match self {
            Self::Adopt(who) | Self::Copy(who, _) | Self::Empty(who) => who,
        }
    }
}

//! Bank files in every order of what workers and people do: two transfers, up to three files, slices that a crash or another worker
//! repeats, and plans that are written late.
//!
//! What happens next depends on the table alone, so orders that lead to the same table continue alike: each table is continued once,
//! by everything that may happen, until there are no others.

mod books;
mod desk;

use desk::{Event, Limits, PAID, Plan, World};
use ledger_core::bank_files::FileChange;
use ledger_core::failure::Failure;
use ledger_core::transaction::{Role, Transaction};
use ledger_tests::share;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What became of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transfer {
    Waits,
    Debited,
    Returned,
}

/// A table that some order leads to.
struct Reached {
    transfers: [Transfer; PAID.len()],
    files: usize,
    /// The tables from which one event leads here.
    before: BTreeSet<usize>,
}

/// A table that is to be continued.
struct Node {
    world: World,
    /// The number of the table.
    table: usize,
    /// An order that leads here.
    by: Vec<String>,
}

/// A plan of a node, and the table that it leads to.
struct Planned {
    event: Event,
    transaction: Transaction,
    next: Node,
}

#[derive(Default)]
struct Explored {
    reached: Vec<Reached>,
    /// The numbers of the tables, by what they continue by.
    numbers: BTreeMap<u64, usize>,
    queue: VecDeque<Node>,
    /// The plans that are late by more than one event: the table before the last of these, and the table that they lead to.
    late: BTreeSet<(usize, usize)>,
    /// How often each thing happened.
    seen: BTreeMap<&'static str, u64>,
}

impl Explored {
    /// Covers every order from the first table on.
    fn of(limits: Limits) -> Self {
        let mut explored = Self::default();
        explored.add(World::new(limits), None, Vec::new());
        while let Some(node) = explored.queue.pop_front() {
            explored.go_on(&node);
        }
        explored
    }

    fn count(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Checks a table, and continues it if no other order has led to one that continues alike. Returns its number.
    fn add(&mut self, world: World, from: Option<usize>, by: Vec<String>) -> usize {
        checked(&by, || books::check(&world));
        let fresh = self.reached.len();
        let table = *self.numbers.entry(books::signature(&world)).or_insert(fresh);
        if table == fresh {
            checked(&by, || books::reconciled(&world));
            let of = |number: usize| match &world.settlements[number].transfer {
                Some(of) if of.returned_at.is_some() => Transfer::Returned,
                Some(of) if books::is_debited(&world, of) => Transfer::Debited,
                Some(_) | None => Transfer::Waits,
            };
            let (transfers, files) = (std::array::from_fn(of), world.files.len());
            self.reached.push(Reached { transfers, files, before: BTreeSet::new() });
            self.queue.push_back(Node { world, table, by });
        }
        self.reached[table].before.extend(from.filter(|from| *from != table));
        table
    }

    /// Plans everything that may happen next, and writes it.
    fn plans(&mut self, node: &Node) -> Vec<Planned> {
        let mut plans = Vec::new();
        // Other plans of this table may be written later.
        let world = node.world.planned();
        for event in world.events() {
            let transaction = match world.plan(event) {
                Plan::Write(transaction) => transaction,
                Plan::Nothing => continue,
                Plan::Refused(failure) => {
                    let is_known = matches!(failure, Failure::WrongState | Failure::FourEyes);
                    assert!(is_known, "{event:?} is refused: {failure:?}, after {:#?}", node.by);
                    self.count(if failure == Failure::FourEyes { "four eyes" } else { "refused" });
                    continue;
                }
            };
            assert!(!matches!(event, Event::Debit(_, false)), "one person accepts and debits, after {:#?}", node.by);
            let mut next = world.planned();
            assert!(next.write(&transaction), "{event:?} is stale, of what was just read after {:#?}", node.by);
            self.count(name(event));
            let by: Vec<String> = node.by.iter().cloned().chain([format!("{event:?}")]).collect();
            let table = self.add(next.clone(), Some(node.table), by.clone());
            plans.push(Planned { event, transaction, next: Node { world: next, table, by } });
        }
        plans
    }

    /// Continues a table by everything that may happen, and by each plan when something else has happened meanwhile.
    fn go_on(&mut self, node: &Node) {
        let plans = self.plans(node);
        // A report changes nothing but when it is repeated.
        for first in plans.iter().filter(|first| !matches!(first.event, Event::Report(_))) {
            for late in &plans {
                self.write_late(late, &first.next);
            }
        }
    }

    /// Writes a plan that was made before the last event of a node, unless that made it stale. What is stale once is stale for good:
    /// versions and states only go on.
    fn write_late(&mut self, late: &Planned, node: &Node) {
        if !node.world.is_fresh(&late.transaction) {
            return self.count("stale");
        }
        // The same plan is made of what is there meanwhile: it is written from there.
        if let Plan::Write(again) = node.world.plan(late.event)
            && is_same(&late.transaction, &again)
        {
            return self.count("late, as if planned again");
        }
        let mut world = node.world.clone();
        assert!(world.write(&late.transaction), "{:?} is fresh, and not written after {:#?}", late.event, node.by);
        self.count("late");
        let by = node.by.iter().cloned().chain([format!("{:?}, planned before", late.event)]).collect();
        let table = self.add(world, Some(node.table), by);
        if self.late.insert((node.table, table)) {
            for next in self.plans(node) {
                self.write_late(late, &next.next);
            }
        }
    }

    /// The tables from which some order of events leads to one that `is_end` accepts.
    fn leading_to(&self, is_end: impl Fn(&Reached) -> bool) -> BTreeSet<usize> {
        let mut found: BTreeSet<usize> =
            (0..self.reached.len()).filter(|table| is_end(&self.reached[*table])).collect();
        let mut open: Vec<usize> = found.iter().copied().collect();
        while let Some(table) = open.pop() {
            open.extend(self.reached[table].before.iter().copied().filter(|before| found.insert(*before)));
        }
        found
    }

    /// Whatever happened: what waits can be returned, and it can be paid while another file may be begun.
    fn check_ways_out(&self, limits: Limits) {
        for number in 0..PAID.len() {
            let freed = self.leading_to(|of| of.transfers[number] == Transfer::Returned);
            let paid = self.leading_to(|of| of.transfers[number] == Transfer::Debited);
            for (table, of) in self.reached.iter().enumerate() {
                let waits = of.transfers[number] == Transfer::Waits;
                assert!(!waits || freed.contains(&table), "transfer {number} of table {table} is stranded");
                let is_payable = of.files >= limits.files || paid.contains(&table);
                assert!(!waits || is_payable, "transfer {number} of table {table} can never be paid");
            }
        }
    }
}

/// Runs a check, and prints the order that led to what it refuses.
fn checked(by: &[String], check: impl FnOnce()) {
    if let Err(why) = catch_unwind(AssertUnwindSafe(check)) {
        println!("after {by:#?}");
        resume_unwind(why);
    }
}

/// Whether two plans write the same but for ids of their own: marker, entry, act and job.
fn is_same(this: &Transaction, that: &Transaction) -> bool {
    let own = |transaction: &Transaction| {
        let items = transaction.items().iter();
        let lasting = items.filter(|item| !matches!(item.role(), Role::Marker | Role::Journal | Role::Audit));
        lasting.cloned().collect::<Vec<_>>()
    };
    own(this) == own(that)
}

fn name(event: Event) -> &'static str {
    match event {
        Event::Book(_) => "booked",
        Event::Cut => "cut",
        Event::Slice(_) => "slices",
        Event::Accept(_) => "accepted",
        Event::Debit(..) => "debited",
        Event::End(_, FileChange::Reject) => "rejected",
        Event::End(_, FileChange::Withdraw) => "withdrawn",
        Event::End(_, FileChange::Reopen) => "reopened",
        Event::Supersede(_) => "superseded",
        Event::Return(_) => "returned",
        Event::Report(_) => "reported",
    }
}

/// Covers every order, and checks that each thing happened.
fn every_order(limits: Limits) {
    let explored = Explored::of(limits);
    println!("{limits:?}: {} tables, {:?}", explored.reached.len(), explored.seen);
    explored.check_ways_out(limits);
    let names = [
        "booked",
        "cut",
        "slices",
        "accepted",
        "debited",
        "rejected",
        "withdrawn",
        "reopened",
        "superseded",
        "returned",
        "reported",
        "refused",
        "four eyes",
        "stale",
        "late",
        "late, as if planned again",
    ];
    let least = names.map(|name| explored.seen.get(name).copied().unwrap_or_default()).into_iter().min();
    assert!(least > Some(50), "{:?}", explored.seen);
}

#[test]
fn each_transfer_is_in_one_live_file_and_can_be_freed_in_every_order() {
    every_order(Limits { files: 3, jobs: 1 });
}

#[test]
fn files_that_take_transfers_at_once_share_none_in_every_order() {
    // Where every case is run: three files too, which takes half a minute.
    every_order(Limits { files: if share::is_whole() { 3 } else { 2 }, jobs: 2 });
}

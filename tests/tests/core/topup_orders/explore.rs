//! Covers every order of every history. A handler reads only the table, so orders of the same events that led to the
//! same table continue alike: tables are kept per set of delivered events, histories share common parts, and orders are
//! counted, not repeated. In each table every delivered event is delivered again without effect, which covers
//! duplicates at every place of every order.

use crate::topup_orders::books::{self, Lines};
use crate::topup_orders::desk::{FactOutcome, Handler, Plan, WriteOutcome};
use crate::topup_orders::story::{Story, TopupEvent, What};
use ledger_core::psp::EventId;
use ledger_tests::model::Model;
use std::collections::BTreeMap;

/// How much was covered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) histories: u64,
    /// Orders that were covered.
    pub(crate) orders: u64,
    /// Events handled for the first time.
    pub(crate) deliveries: u64,
    /// Events handled again.
    pub(crate) duplicates: u64,
    /// Events handled between the read and the write of another one's handler.
    pub(crate) races: u64,
}

/// A table that some orders lead to.
struct Reached {
    model: Model,
    /// The number of orders that lead here.
    orders: u64,
    /// One of these orders.
    by: Vec<String>,
}

/// The tables by the set of delivered events, a bit for each.
type Tables = BTreeMap<u32, Vec<Reached>>;

/// An order whose books differ from another order's, or from the history.
pub(crate) struct Difference {
    pub(crate) story: Story,
    /// The differing order, and one that agrees with the history.
    pub(crate) orders: [Vec<String>; 2],
    pub(crate) lines: Vec<String>,
}

impl Run {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            histories: self.histories + other.histories,
            orders: self.orders + other.orders,
            deliveries: self.deliveries + other.deliveries,
            duplicates: self.duplicates + other.duplicates,
            races: self.races + other.races,
        }
    }
}

/// The table before the first event.
pub(crate) fn before(handler: &Handler, story: &Story) -> Model {
    let mut model = handler.open(story.balance);
    assert!(matches!(handler.claim_topup(&mut model, story.topup, story.charge), WriteOutcome::Applied));
    model
}

/// Covers every order of histories that begin alike: the same customer, top-up and refunds of ours. Events without a
/// fact do not touch the table, so their positions are only counted. With `races`, each handler also races with each
/// other event.
pub(crate) fn explore(handler: &Handler, stories: &[Story], races: bool) -> (Run, Vec<Difference>) {
    let mut events: Vec<What> = Vec::new();
    for what in stories.iter().flat_map(|story| &story.events) {
        if handler.has_fact(&stories[0], *what) && !events.contains(what) {
            events.push(*what);
        }
    }
    let set_of = |story: &Story| (0..events.len()).filter(|n| story.has(events[*n])).fold(0, |set, n| set | 1 << n);
    let mut tables = Tables::new();
    for whole in stories.iter().map(set_of) {
        // Every subset of it, from the whole to the empty set.
        let parts = std::iter::successors(Some(whole), |part| (*part > 0).then(|| (part - 1) & whole));
        tables.extend(parts.map(|part| (part, Vec::new())));
    }
    let mut run = Run::default();
    add(tables.get_mut(&0).unwrap(), before(handler, &stories[0]), 1, Vec::new());
    // A set is a greater number than all its subsets, so it comes after them.
    let sets: Vec<u32> = tables.keys().copied().collect();
    for set in sets {
        for here in std::mem::take(tables.get_mut(&set).unwrap()) {
            books::check(&here.model);
            let position = Position { handler, story: &stories[0], events: &events, set, here: &here, races };
            run = run.plus(position.deliver_each(&mut tables));
            tables.get_mut(&set).unwrap().push(here);
        }
    }
    let mut differences = Vec::new();
    for story in stories {
        let set = set_of(story);
        let covered: u64 = tables[&set].iter().map(|end| end.orders).sum();
        assert_eq!(covered, factorial(set.count_ones().into()), "every order is covered");
        run.histories += 1;
        run.orders += factorial(story.events.len() as u64);
        differences.extend(differ(story, &tables[&set]));
    }
    (run, differences)
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

/// A table from which every event is delivered next.
struct Position<'a> {
    handler: &'a Handler,
    story: &'a Story,
    events: &'a [What],
    set: u32,
    here: &'a Reached,
    races: bool,
}

impl Position<'_> {
    fn deliver_each(&self, tables: &mut Tables) -> Run {
        let mut run = Run::default();
        let step = |what: String| self.here.by.iter().cloned().chain([what]).collect::<Vec<_>>();
        for (n, event) in self.events.iter().enumerate() {
            if self.set & 1 << n != 0 {
                self.again(n);
                run.duplicates += 1;
                continue;
            }
            let Some(reached) = tables.get_mut(&(self.set | 1 << n)) else { continue };
            let mut next = self.here.model.clone();
            self.first(&mut next, n);
            run.deliveries += 1;
            add(reached, next, self.here.orders, step(format!("{event:?}")));
            for (m, other) in self.events.iter().enumerate().filter(|(m, _)| self.races && *m != n) {
                let Some(reached) = tables.get_mut(&(self.set | 1 << n | 1 << m)) else { continue };
                run.races += 1;
                if let Some(raced) = self.race(n, m) {
                    add(reached, raced, 0, step(format!("{other:?} while {event:?} is handled")));
                }
            }
        }
        run
    }

    /// Delivers an event again under its own id and another: the table must not change.
    fn again(&self, event: usize) {
        let (handler, story) = (self.handler, self.story);
        for id in [id(event), format!("{}again", id(event))] {
            let mut again = self.here.model.clone();
            let done = handler.deliver(&mut again, story, self.topup_event(event), &id);
            let (by, what) = (&self.here.by, self.events[event]);
            assert!(
                again == self.here.model,
                "{what:?} was delivered twice ({id}): {done:?} after {by:?} of {story:#?}"
            );
            if done == FactOutcome::Behind {
                // Nothing is written, so another id makes no difference.
                return;
            }
        }
    }

    /// Delivers an event for the first time. An event of our own refund comes after its claim, and the claim after the
    /// ledger learned of the success, by a lookup if not by the event.
    fn first(&self, model: &mut Model, event: usize) {
        let (handler, story, delivered) = (self.handler, self.story, self.topup_event(event));
        if delivered.what.ours().is_some() {
            let done = handler.look(model, story);
            assert!(matches!(done, FactOutcome::Applied | FactOutcome::Behind), "{done:?}");
        }
        let done = handler.deliver(model, story, delivered, &id(event));
        assert!(
            matches!(done, FactOutcome::Applied | FactOutcome::Behind),
            "{:?}: {done:?} in {story:#?}",
            delivered.what
        );
    }

    /// Handles an event while another is handled between its read and its write. `None` unless its write is applied.
    fn race(&self, event: usize, other: usize) -> Option<Model> {
        let (handler, story, model) = (self.handler, self.story, &self.here.model);
        let name = id(event);
        let fact = handler.fact(model, story, self.topup_event(event), &name).ok()?;
        let Plan::Write(transaction) = handler.plan(model, story, &fact, &EventId::parse(&name).unwrap()) else {
            return None;
        };
        let mut between = model.clone();
        self.first(&mut between, other);
        match handler.write(&mut between, &transaction) {
            WriteOutcome::Applied => {
                handler.act(&mut between, story);
                Some(between)
            }
            WriteOutcome::Stale | WriteOutcome::MarkerExists => None,
            WriteOutcome::Refused(failure) => {
                let (event, other) = (self.events[event], self.events[other]);
                panic!("{event:?} raced by {other:?}: {failure:?} after {:?} of {story:#?}", self.here.by)
            }
        }
    }

    fn topup_event(&self, event: usize) -> TopupEvent {
        TopupEvent { topup: self.story.topup, what: self.events[event] }
    }
}

fn add(reached: &mut Vec<Reached>, model: Model, orders: u64, by: Vec<String>) {
    // What an event's marker stops, our record stops as well: `again` has checked that.
    let is_marker = |(pk, _): &(String, String)| pk.contains("#stripe_event#");
    match reached.iter_mut().find(|known| known.model.same_but_for(&model, is_marker)) {
        Some(known) => known.orders += orders,
        None => reached.push(Reached { model, orders, by }),
    }
}

fn differ(story: &Story, ends: &[Reached]) -> Option<Difference> {
    let wrong: Vec<Vec<String>> = ends.iter().map(|end| books::against(&end.model, story)).collect();
    let right = wrong.iter().position(Vec::is_empty).unwrap_or(0);
    let all: Vec<Lines> = {
        let lines = if story.has_its_points() { books::lines } else { books::lines_at_a_yen_a_point };
        ends.iter().map(|end| lines(&end.model)).collect()
    };
    let bad = (0..ends.len()).find(|end| !wrong[*end].is_empty() || all[*end] != all[right])?;
    let apart = all[bad].iter().filter(|(name, line)| all[right].get(*name) != Some(line));
    let apart = apart.map(|(name, line)| format!("{name}: {line}, else {:?}", all[right].get(name)));
    Some(Difference {
        story: story.clone(),
        orders: [ends[bad].by.clone(), ends[right].by.clone()],
        lines: wrong[bad].iter().cloned().chain(apart).collect(),
    })
}

fn id(event: usize) -> String {
    format!("evt_{event}")
}

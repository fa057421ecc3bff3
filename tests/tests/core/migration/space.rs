//! Every interleaving of steps in a small world: two environments, one of which may lag behind the tenant's setting, a
//! customer with a small balance, a worker that may crash, and one request to each side of the books or two changes of
//! one field. A state holds the table itself, and a step calls the core's own functions.

use crate::migration::checks;
use crate::migration::fault::Fault;
use crate::migration::ops::{Change, Coin, Op, Request};
use crate::migration::scene::{Broken, Person, Scene, customer};
use crate::migration::world::{Job, World};
use ledger_core::keys::Partition;
use ledger_core::migration::{Concern, Model as Legacy, Phase};
use ledger_core::money::Asset;
use ledger_tests::legacy;
use ledger_tests::model::Model as Table;
use ledger_tests::share;
use ledger_tests::wire;
use serde_json::{Map, json};
use stateright::{Checker, Model, Property};
use std::collections::BTreeSet;

/// Every so many of a concern's spaces are explored by default: changes of each direction, copied and not.
const STEP: usize = 7;

/// The scene and the first state.
struct Space {
    scene: Scene,
    first: State,
}

#[derive(Clone, Debug, PartialEq, Hash)]
struct State {
    world: World<Table>,
    /// The worker's job, if it has not begun.
    worker: Option<Job>,
    /// How many crashes are still allowed.
    crashes: u8,
    broken: Option<Broken>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    /// The worker begins in the environment that reads a change of the setting at once.
    Begin,
    /// A task does its next step.
    Step(usize),
    /// A task crashes; its client retries in the other environment.
    Crash(usize),
    /// The setting is changed.
    Change,
}

impl Model for Space {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.first.clone()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.broken.is_some() {
            return;
        }
        if state.world.config == 0 {
            actions.push(Action::Change);
        }
        if state.worker.is_some() {
            actions.push(Action::Begin);
        }
        for task in 0..state.world.tasks.len() {
            actions.push(Action::Step(task));
            if state.crashes > 0 {
                actions.push(Action::Crash(task));
            }
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        match action {
            Action::Begin => {
                let worker = next.worker.take();
                worker.into_iter().for_each(|job| next.world.begin(job, 1));
            }
            Action::Step(task) => {
                let stepped = next.world.step(&self.scene, task).map(drop);
                // Everything is checked once no task is left.
                let is_over = next.world.tasks.is_empty() && next.worker.is_none();
                let checked =
                    stepped.and_then(|()| if is_over { checks::everything(&next.world, &self.scene) } else { Ok(()) });
                next.broken = checked.err();
            }
            Action::Crash(task) => {
                next.crashes -= 1;
                let crashed = next.world.tasks.remove(task);
                if let Job::Do(request) = crashed.job {
                    next.world.begin(Job::Do(Request { attempt: 1, ..request }), 1 - crashed.environment);
                }
            }
            Action::Change => {
                // One environment reads it at once; the other keeps its setting until it is fenced.
                next.world.config = 1;
                next.world.environments[1] = 1;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("every check passes", |_, state: &State| state.broken.is_none())]
    }
}

/// A customer with two units of the asset and a telephone number, in a tenant with only that asset and money.
fn space((a, b): (Phase, Phase), about: Concern, is_copied: bool, fault: Fault) -> Space {
    let mut terms = legacy::terms();
    terms.assets.retain(|asset, _| *asset == Asset::Ecopay || Concern::of(asset) == small(about));
    let settings = [a, b].into_iter().zip(1..).map(|(phase, n)| legacy::layout(&terms, phase, n));
    let mut scene = Scene::new(settings.collect(), fault);
    scene.terms = terms;
    let who = customer(0);
    let partition = Partition::customer(&scene.tenant, who);
    let item = |sort_key: &str, more: &[(&str, serde_json::Value)]| {
        let keys = [("uuid", json!({ "S": partition.as_str() })), ("type", json!({ "S": sort_key }))];
        Map::from_iter(keys.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())))
    };
    let mut record = vec![
        ("name", json!({ "S": "Hana" })),
        ("phone_number", json!({ "S": "+8131" })),
        ("rank", json!({ "S": "gold" })),
    ];
    let mut metrics = None;
    let two = json!({ "N": "2" });
    match (a.model(), small(about) == Concern::Regional) {
        (Legacy::GodRecord | Legacy::HalfWay, true) => record.push(("regional", json!({ "M": { "aoba": two } }))),
        (Legacy::GodRecord, false) => record.push(("point", two)),
        (Legacy::HalfWay, false) => metrics = Some(item("METRICS", &[("point", two)])),
    }
    let unknown = Map::from_iter([("rank".to_owned(), json!({ "S": "gold" }))]);
    let legacy = legacy::Legacy {
        customer: who,
        record: item("customer", &record),
        metrics,
        history: Vec::new(),
        unknown: unknown.clone(),
    };
    scene.people.push(Person { id: who, is_legacy: true, unknown, history: 0 });
    let mut world = World::new(Table::new(), 2);
    legacy.items().iter().for_each(|item| world.store.put(wire::item_from_json(item)));
    legacy.meaning(&scene.tenant, &scene.terms).into_iter().for_each(|item| world.expected.put(item));
    // The customer is adopted; the concern itself is copied if `is_copied`.
    for concern in Concern::ALL.into_iter().filter(|concern| is_copied || *concern != about) {
        world.begin(Job::Bring(who, concern), 0);
        while !world.tasks.is_empty() {
            world.step(&scene, 0).unwrap();
        }
    }
    let ops = match about {
        Concern::Profile => {
            [Change::Set, Change::Clear].map(|phone| Op::Patch { who, name: false, email: Change::Keep, phone })
        }
        Concern::Points => {
            [Op::Pay { who, money: 0, points: 2, regional: 0 }, Op::Grant { who, coin: Coin::Point, amount: 1 }]
        }
        Concern::Regional => {
            [Op::Pay { who, money: 0, points: 0, regional: 2 }, Op::Grant { who, coin: Coin::Regional, amount: 1 }]
        }
        Concern::History | Concern::Metrics | Concern::Jcredit | Concern::Money => panic!("not here: {about:?}"),
    };
    for (op, number) in ops.into_iter().zip(0..) {
        let environment = usize::try_from(number).unwrap();
        world.begin(Job::Do(Request { op, number: number + 2, attempt: 0 }), environment);
    }
    let worker = Some(Job::Bring(who, about));
    Space { scene, first: State { world, worker, crashes: 1, broken: None } }
}

/// The concern of the asset of which the customer has two units.
fn small(about: Concern) -> Concern {
    if about == Concern::Regional { about } else { Concern::Points }
}

/// The four changes of a concern's stage, in both directions.
fn changes(model: Legacy, about: Concern) -> Vec<(Phase, Phase)> {
    let all = Phase::all(model).zip(Phase::all(model).skip(1));
    let own = all.filter(|(_, to)| to.entered_by().is_some_and(|(concern, _)| concern == about));
    own.flat_map(|(a, b)| [(a, b), (b, a)]).collect()
}

fn explore(model: Legacy, about: Concern) {
    let mut states = 0;
    let spaces = changes(model, about).into_iter().flat_map(|change| [(change, true), (change, false)]);
    for ((a, b), is_copied) in share::of(spaces, STEP) {
        let checker = space((a, b), about, is_copied, Fault::None).checker().threads(2).spawn_bfs().join();
        if let Some(path) = checker.discovery("every check passes") {
            let broken = path.last_state().broken.clone();
            panic!("{about:?} from phase {a} to {b}: {broken:?}\n{:?}", path.into_actions());
        }
        states += checker.unique_state_count();
    }
    println!("{model:?} {about:?}: {states} states");
    assert!(states as u64 > share::count(10_000, STEP as u64), "{states}");
}

#[test]
fn every_interleaving_keeps_a_balance_right() {
    explore(Legacy::GodRecord, Concern::Points);
}

#[test]
fn every_interleaving_keeps_a_map_balance_right() {
    explore(Legacy::GodRecord, Concern::Regional);
}

#[test]
fn every_interleaving_keeps_a_metrics_balance_right() {
    explore(Legacy::HalfWay, Concern::Points);
}

#[test]
fn every_interleaving_keeps_a_profile_right() {
    explore(Legacy::GodRecord, Concern::Profile);
}

/// The checks that a planted fault fails, at the first change of stage that fails any.
fn failed_checks(fault: Fault, about: Concern) -> BTreeSet<&'static str> {
    let mut by = BTreeSet::new();
    for (pair, is_copied) in
        changes(Legacy::GodRecord, about).into_iter().flat_map(|pair| [(pair, true), (pair, false)])
    {
        let checker = space(pair, about, is_copied, fault).checker().threads(2).spawn_bfs().join();
        let path = checker.discovery("every check passes");
        by.extend(path.and_then(|path| path.last_state().broken.as_ref().map(|broken| broken.check)));
        if !by.is_empty() {
            break;
        }
    }
    println!("{fault:?} in {about:?}: {by:?}");
    by
}

#[test]
fn planted_faults_are_detected_in_some_interleaving() {
    let faults = [
        (Fault::WrongSide, Concern::Points),
        (Fault::NoStamp, Concern::Points),
        (Fault::NoFence, Concern::Points),
        (Fault::NoTruthCheck, Concern::Points),
        (Fault::ReadBeforeRaised, Concern::Points),
        (Fault::UnguardedProfile, Concern::Profile),
    ];
    for (fault, about) in share::of_family(faults) {
        assert!(!failed_checks(fault, about).is_empty(), "no check detects {fault:?}");
    }
}

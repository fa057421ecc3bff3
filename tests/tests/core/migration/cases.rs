//! Edge cases in every phase of both models: unknown customers, missing items, split-only customers, replays.

use crate::migration::checks;
use crate::migration::fault::Fault;
use crate::migration::ops::{Change, Coin, Op, Request};
use crate::migration::scene::{Person, Scene, customer};
use crate::migration::world::{Job, StepOutcome, World};
use ledger_core::failure::Failure;
use ledger_core::ids::CustomerId;
use ledger_core::keys::Partition;
use ledger_core::migration::{Layout, Model as Legacy, Phase};
use ledger_tests::legacy;
use ledger_tests::model::{Act, Model};
use ledger_tests::wire;
use serde_json::{Map, json};

/// A tenant in a phase, with environments that may still use the phase before. Its one customer has a name and `sums`
/// and nothing else.
struct Case {
    phase: Phase,
    scene: Scene,
    world: World<Model>,
    next: u32,
}

impl Case {
    fn new(phase: Phase, sums: &[(&str, &str)]) -> Self {
        let terms = legacy::terms();
        let before = phase.previous().unwrap_or(phase);
        let settings = vec![legacy::layout(&terms, before, 1), legacy::layout(&terms, phase, 2)];
        let mut scene = Scene::new(settings, Fault::None);
        let who = customer(0);
        let partition = Partition::customer(&scene.tenant, who);
        let key = |sk: &str| {
            Map::from_iter([
                ("uuid".to_owned(), json!({ "S": partition.as_str() })),
                ("type".to_owned(), json!({ "S": sk })),
            ])
        };
        let sums = sums.iter().map(|(name, sum)| ((*name).to_owned(), json!({ "N": sum })));
        let (units, money): (Map<_, _>, Map<_, _>) = sums.partition(|(name, _)| name != "balance");
        let mut record = key("customer");
        record.insert("name".to_owned(), json!({ "S": "Hana" }));
        record.extend(money);
        let metrics = match phase.model() {
            Legacy::GodRecord => {
                record.extend(units);
                None
            }
            Legacy::HalfWay => (!units.is_empty()).then(|| key("METRICS").into_iter().chain(units).collect()),
        };
        let unknown = Map::new();
        let legacy = legacy::Legacy { customer: who, record, metrics, history: Vec::new(), unknown: unknown.clone() };
        let mut world = World::new(Model::new(), 2);
        world.begin_refund_room(&scene);
        world.config = 1;
        world.environments = vec![1, 0];
        legacy.items().iter().for_each(|item| world.store.put(wire::item_from_json(item)));
        legacy.meaning(&scene.tenant, &scene.terms).into_iter().for_each(|item| world.expected.put(item));
        scene.people.push(Person { id: who, is_legacy: true, unknown, history: 0 });
        Self { phase, scene, world, next: 1 }
    }

    fn number(&mut self, number: u32, op: Op, environment: usize) -> StepOutcome {
        self.world.begin(Job::Do(Request { op, number, attempt: u8::try_from(environment).unwrap() }), environment);
        for _ in 0..60 {
            match self.world.step(&self.scene, 0) {
                Ok(StepOutcome::Continues) => {}
                Ok(outcome) => return outcome,
                Err(broken) => panic!("{}: {op:?}: \"{}\": {}", self.phase, broken.check, broken.what),
            }
        }
        panic!("{}: {op:?} does not end within 60 steps", self.phase);
    }

    fn run(&mut self, op: Op) -> StepOutcome {
        self.next += 1;
        self.number(self.next, op, 0)
    }

    #[track_caller]
    fn applies(&mut self, op: Op) {
        assert_eq!(self.run(op), StepOutcome::Applied, "{}: {op:?}", self.phase);
    }

    #[track_caller]
    fn refuses(&mut self, op: Op, failure: Failure) {
        assert_eq!(self.run(op), StepOutcome::Refused(Some(failure)), "{}: {op:?}", self.phase);
    }
}

/// Plays a case in every phase of both models, with a customer who has `sums`, and checks everything afterwards.
fn in_every_phase(sums: &[(&str, &str)], play: impl Fn(&mut Case, CustomerId)) {
    for phase in Legacy::ALL.into_iter().flat_map(Phase::all) {
        let mut case = Case::new(phase, sums);
        play(&mut case, customer(0));
        checks::everything(&case.world, &case.scene).unwrap_or_else(|b| panic!("{phase}: \"{}\": {}", b.check, b.what));
    }
}

fn pay(who: CustomerId, money: u64, points: u64, regional: u64) -> Op {
    Op::Pay { who, money, points, regional }
}

#[test]
fn unknown_customer_is_refused_in_every_phase() {
    in_every_phase(&[("balance", "10")], |case, who| {
        let unknown = customer(9);
        case.refuses(pay(unknown, 1, 0, 0), Failure::AccountMissing);
        for (from, to) in [(who, unknown), (unknown, who)] {
            case.refuses(Op::Transfer { from, to, coin: Coin::Money, amount: 1 }, Failure::AccountMissing);
        }
        let patch = Op::Patch { who: unknown, name: true, email: Change::Clear, phone: Change::Set };
        case.refuses(patch, Failure::AccountMissing);
    });
}

#[test]
fn absent_balance_is_zero_in_every_phase() {
    in_every_phase(&[], |case, who| {
        case.refuses(pay(who, 0, 0, 1), Failure::Insufficient);
        case.refuses(pay(who, 0, 1, 0), Failure::Insufficient);
        case.applies(Op::Grant { who, coin: Coin::Regional, amount: 5 });
        case.applies(pay(who, 0, 0, 5));
    });
}

/// Aggregates and points may be in one item; the guard is then that of the points.
#[test]
fn too_few_points_are_insufficient_in_every_phase() {
    in_every_phase(&[("point", "3"), ("balance", "100")], |case, who| {
        case.refuses(pay(who, 0, 4, 0), Failure::Insufficient);
        case.applies(pay(who, 10, 3, 0));
        case.applies(Op::Refund { who, of: case.next, part: None });
    });
}

#[test]
fn frozen_customer_cannot_pay_in_any_phase() {
    in_every_phase(&[("balance", "100")], |case, who| {
        case.applies(Op::Freeze { who, on: true });
        case.refuses(pay(who, 1, 0, 0), Failure::AccountFrozen);
        case.applies(Op::Grant { who, coin: Coin::Point, amount: 1 });
        case.applies(Op::Freeze { who, on: false });
        case.applies(pay(who, 1, 1, 0));
    });
}

#[test]
fn customer_is_opened_once_in_every_phase() {
    in_every_phase(&[("balance", "100"), ("point", "1")], |case, old| {
        let new = customer(3);
        case.refuses(Op::Open { who: old }, Failure::AlreadyExists);
        case.applies(Op::Open { who: new });
        case.refuses(Op::Open { who: new }, Failure::AlreadyExists);
        case.applies(Op::Transfer { from: old, to: new, coin: Coin::Money, amount: 7 });
        case.applies(pay(new, 7, 0, 0));
    });
}

/// A customer opened before the migration has no God Record.
#[test]
fn split_only_customer_is_found_in_every_phase() {
    in_every_phase(&[], |case, _| {
        let who = customer(4);
        let open = Request { op: Op::Open { who }, number: 90, attempt: 0 }.plan(&case.scene, &[]).unwrap();
        assert_eq!(open.placed(&Layout::Split).unwrap().items(), open.items());
        case.world.expected.execute(open.items()).unwrap();
        case.world.store.run(&open.items().iter().map(Act::of).collect::<Vec<_>>()).unwrap();
        case.applies(Op::Code { who });
        case.applies(Op::Grant { who, coin: Coin::Point, amount: 2 });
        case.applies(pay(who, 0, 2, 0));
    });
}

/// A stored key is replayed, also by an environment that is one setting behind.
#[test]
fn retry_is_replayed_in_every_phase() {
    in_every_phase(&[("balance", "100"), ("point", "5")], |case, who| {
        let op = pay(who, 100, 5, 0);
        assert_eq!(case.number(50, op, 0), StepOutcome::Applied, "{}", case.phase);
        assert_eq!(case.world.environments[1], 0);
        assert_eq!(case.number(50, op, 1), StepOutcome::Replayed, "{}", case.phase);
        assert_eq!(case.world.environments[1], 0, "{}: the setting was not read again", case.phase);
    });
}

/// Reserved headroom moves with the balance, whichever way a concern moves.
#[test]
fn reserved_headroom_moves_with_the_balance() {
    in_every_phase(&[("balance", "100")], |case, who| {
        case.applies(Op::Topup { who, charge: 500 });
        let of = case.next;
        // The layout of the phase before follows as a later setting.
        let before = case.phase.previous().unwrap_or(case.phase);
        case.scene.settings.push(legacy::layout(&case.scene.terms.clone(), before, 3));
        case.world.config = 2;
        case.world.environments = vec![2, 1];
        case.applies(Op::Paid { who, of, charge: 500 });
        case.applies(pay(who, 600, 0, 0));
    });
}

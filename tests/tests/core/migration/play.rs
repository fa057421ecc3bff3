//! Histories from seeds: requests, workers, crashes and retries while the tenant's setting changes and some
//! environments still use the old one.

use crate::migration::checks;
use crate::migration::ops::{Change, Coin, Op, Request};
use crate::migration::scene::{Broken, Person, Scene, Store, broken, customer};
use crate::migration::world::{Job, StepOutcome, World};
use ledger_core::dynamo::Attributes;
use ledger_core::ids::CustomerId;
use ledger_core::keys::Partition;
use ledger_core::migration::{Concern, Model as Legacy, reference};
use ledger_tests::chance::Dice;
use ledger_tests::legacy::{self, Kinds};
use ledger_tests::wire;

/// Two legacy customers with much traffic, one with little, one opened during the history, one opened before the
/// migration, and one who does not exist.
const PEOPLE: [u8; 6] = [0, 1, 2, 3, 4, 5];
const OPENED: u8 = 3;
const BORN_SPLIT: u8 = 4;
const UNKNOWN: u8 = 5;
const ENVIRONMENTS: usize = 3;

/// Counts of what was played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) histories: u64,
    pub(crate) steps: u64,
    pub(crate) applied: u64,
    pub(crate) refused: u64,
    pub(crate) replayed: u64,
    pub(crate) crashes: u64,
}

impl Figures {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            histories: self.histories + other.histories,
            steps: self.steps + other.steps,
            applied: self.applied + other.applied,
            refused: self.refused + other.refused,
            replayed: self.replayed + other.replayed,
            crashes: self.crashes + other.crashes,
        }
    }
}

/// A history in progress.
pub(crate) struct Play<S> {
    pub(crate) scene: Scene,
    pub(crate) world: World<S>,
    dice: Dice,
    next: u32,
    requests: Vec<Request>,
    figures: Figures,
    /// Whether everything is also checked during the history, not only at the end.
    often: bool,
    /// The concern of half of the requests; if set, seven in eight concern the same customer.
    about: Option<Concern>,
}

impl<S: Store> Play<S> {
    /// Begins with the tenant's customers as the legacy model has them.
    pub(crate) fn new(store: S, mut scene: Scene, model: Legacy, seed: u64, kinds: Kinds) -> Self {
        let mut dice = Dice::new(seed);
        let mut world = World::new(store, ENVIRONMENTS);
        world.begin_refund_room(&scene);
        for number in PEOPLE {
            let id = customer(number);
            let mut person = Person { id, is_legacy: false, unknown: serde_json::Map::new(), history: 0 };
            match number {
                OPENED | UNKNOWN => {}
                BORN_SPLIT => {
                    let open = Request { op: Op::Open { who: id }, number: 1, attempt: 0 };
                    let open = open.plan(&scene, &[]).unwrap();
                    world.expected.execute(open.items()).unwrap();
                    let acts: Vec<_> = open.items().iter().map(ledger_tests::model::Act::of).collect();
                    world.store.run(&acts).unwrap();
                }
                _ => {
                    let legacy = legacy::customer(&mut dice, model, &scene.tenant, id, kinds);
                    legacy.items().iter().for_each(|item| world.store.put_raw(item));
                    for item in legacy.meaning(&scene.tenant, &scene.terms) {
                        world.expected.put(item);
                    }
                    person.is_legacy = true;
                    person.history = legacy.history.len();
                    person.unknown = legacy.unknown;
                }
            }
            scene.people.push(person);
        }
        let often = kinds == Kinds::Core;
        let (requests, figures) = (Vec::new(), Figures::default());
        Self { scene, world, dice, next: 2, requests, figures, often, about: None }
    }

    /// Makes the history about one concern.
    pub(crate) fn about(mut self, concern: Option<Concern>) -> Self {
        self.about = concern;
        self
    }

    fn pick(&mut self, of: usize) -> usize {
        usize::try_from(self.dice.below(of as u64)).unwrap()
    }

    fn who(&mut self) -> CustomerId {
        if self.about.is_some() && self.pick(8) > 0 {
            return customer(0);
        }
        let numbers = [0, 0, 0, 0, 1, 1, 1, 2, OPENED, OPENED, BORN_SPLIT, UNKNOWN];
        customer(numbers[self.pick(numbers.len())])
    }

    fn units(&mut self) -> u64 {
        [1, 2, 3, 7, 20, 60, 150, 2_000, 60_000][self.pick(9)]
    }

    fn change(&mut self) -> Change {
        [Change::Keep, Change::Set, Change::Clear][self.pick(3)]
    }

    /// An earlier request of this kind, if there is one.
    fn one(&mut self, is: impl Fn(&Op) -> bool) -> Option<Request> {
        let fit: Vec<Request> = self.requests.iter().filter(|request| is(&request.op)).copied().collect();
        if fit.is_empty() { None } else { Some(fit[self.pick(fit.len())]) }
    }

    fn op(&mut self) -> Op {
        let (who, amount) = (self.who(), self.units());
        let about = if self.pick(2) == 0 { self.about } else { None };
        match about {
            Some(Concern::Profile) => {
                let (email, phone) = (self.change(), self.change());
                return Op::Patch { who, name: false, email, phone };
            }
            Some(Concern::Points) => return Op::Grant { who, coin: Coin::Point, amount },
            Some(Concern::Regional) => return Op::Grant { who, coin: Coin::Regional, amount },
            Some(Concern::Jcredit) => {
                let (from, to) = if self.pick(2) == 0 { (who, customer(1)) } else { (customer(1), who) };
                return Op::Transfer { from, to, coin: Coin::Jcredit, amount };
            }
            Some(Concern::Money | Concern::Metrics) => {
                return Op::Pay { who, money: amount, points: 0, regional: 0 };
            }
            Some(Concern::History) | None => {}
        }
        let coin = [Coin::Money, Coin::Point, Coin::Jcredit, Coin::Regional][self.pick(4)];
        match self.pick(16) {
            0..=2 => {
                let part = |play: &mut Self| if play.pick(2) == 0 { 0 } else { play.units() };
                let (points, regional) = (part(self), part(self));
                Op::Pay { who, money: amount, points, regional }
            }
            3 => Op::Transfer { from: who, to: self.who(), coin, amount },
            4 => {
                let coin = if self.pick(2) == 0 { Coin::Point } else { Coin::Regional };
                Op::Grant { who, coin, amount }
            }
            5 => Op::Code { who },
            6 => match self.one(|op| matches!(op, Op::Code { .. })) {
                Some(Request { op: Op::Code { who }, number, .. }) => {
                    Op::Authorize { who, code: number, money: amount, points: self.pick(3) as u64 }
                }
                _ => Op::Code { who },
            },
            7 | 8 => match self.one(|op| matches!(op, Op::Authorize { .. })) {
                Some(Request { number, .. }) if self.pick(2) == 0 => Op::Void { of: number },
                Some(Request { number, .. }) => {
                    let part = (self.pick(2) == 0).then(|| self.units());
                    Op::Capture { of: number, part }
                }
                None => Op::Code { who },
            },
            9 | 10 => match self.one(|op| matches!(op, Op::Pay { .. } | Op::Authorize { .. })) {
                Some(Request { op: Op::Pay { who, .. } | Op::Authorize { who, .. }, number, .. }) => {
                    let part = (self.pick(2) == 0).then(|| self.units());
                    Op::Refund { who, of: number, part }
                }
                _ => Op::Pay { who, money: amount, points: 0, regional: 0 },
            },
            11 => Op::Topup { who, charge: amount },
            12 => match self.one(|op| matches!(op, Op::Topup { .. })) {
                Some(Request { op: Op::Topup { who, charge }, number, .. }) => Op::Paid { who, of: number, charge },
                _ => Op::Topup { who, charge: amount },
            },
            13 => Op::Freeze { who, on: self.pick(3) == 0 },
            14 => Op::Open { who: customer(if self.pick(4) == 0 { 0 } else { OPENED }) },
            _ => {
                let (email, phone) = (self.change(), self.change());
                Op::Patch { who, name: self.pick(3) == 0, email, phone }
            }
        }
    }

    fn request(&mut self) {
        let request = match self.pick(6) {
            // A retry under the same key.
            0 if !self.requests.is_empty() => {
                let which = self.pick(self.requests.len());
                self.requests[which].attempt = self.requests[which].attempt.wrapping_add(1);
                self.requests[which]
            }
            _ => {
                let op = self.op();
                self.next += 1;
                let request = Request { op, number: self.next, attempt: 0 };
                self.requests.push(request);
                request
            }
        };
        let environment = self.pick(ENVIRONMENTS);
        self.world.begin(Job::Do(request), environment);
    }

    fn bring(&mut self) {
        let who = self.who();
        let any = Concern::ALL[self.pick(7)];
        let (concern, environment) = (self.about.unwrap_or(any), self.pick(ENVIRONMENTS));
        self.world.begin(Job::Bring(who, concern), environment);
    }

    /// A worker moves one item of a legacy history.
    fn refer(&mut self) {
        let who = self.who();
        let partition = Partition::customer(&self.scene.tenant, who);
        let all = self.world.store.all();
        let own = all.iter().filter(|item| item.opt_text("uuid").unwrap() == Some(partition.as_str()));
        if let Some((_, made)) = own.filter_map(reference).next() {
            self.world.store.put_raw(&wire::item_to_json(&made));
        }
    }

    /// Makes `moves` moves under the settings that the environments have.
    pub(crate) fn play(&mut self, moves: usize) -> Result<(), Broken> {
        for _ in 0..moves {
            match self.pick(24) {
                0..=3 => self.request(),
                4 | 5 => self.bring(),
                6 => {
                    let environment = self.pick(ENVIRONMENTS);
                    self.world.environments[environment] = self.world.config;
                }
                7 if !self.world.tasks.is_empty() => {
                    let task = self.pick(self.world.tasks.len());
                    let crashed = self.world.tasks.remove(task);
                    self.figures.crashes += 1;
                    // The client retries in another environment.
                    if let Job::Do(request) = crashed.job {
                        let environment = self.pick(ENVIRONMENTS);
                        let attempt = request.attempt.wrapping_add(16);
                        self.world.begin(Job::Do(Request { attempt, ..request }), environment);
                    }
                }
                8 if self.pick(8) == 0 => self.refer(),
                _ if self.world.tasks.is_empty() => self.request(),
                _ => {
                    let task = self.pick(self.world.tasks.len());
                    self.step(task)?;
                }
            }
            if self.often && self.pick(64) == 0 {
                checks::everything(&self.world, &self.scene)?;
            }
        }
        Ok(())
    }

    fn step(&mut self, task: usize) -> Result<(), Broken> {
        self.figures.steps += 1;
        match self.world.step(&self.scene, task)? {
            StepOutcome::Continues | StepOutcome::Done => {}
            StepOutcome::Applied => self.figures.applied += 1,
            StepOutcome::Replayed => self.figures.replayed += 1,
            StepOutcome::Refused(_) => self.figures.refused += 1,
        }
        Ok(())
    }

    /// Steps all tasks to their end.
    pub(crate) fn drain(&mut self) -> Result<(), Broken> {
        for _ in 0..4_000 {
            if self.world.tasks.is_empty() {
                return Ok(());
            }
            let task = self.pick(self.world.tasks.len());
            self.step(task)?;
        }
        broken("terminates", format!("{:?}", self.world.tasks))
    }

    /// Changes the tenant's setting to the next one.
    pub(crate) fn next_setting(&mut self) {
        self.world.config += 1;
    }

    /// Every environment has read the setting.
    pub(crate) fn refresh_environments(&mut self) {
        self.world.environments.fill(self.world.config);
    }

    /// A worker brings every customer to the setting.
    pub(crate) fn pass(&mut self) -> Result<(), Broken> {
        for number in PEOPLE {
            for concern in Concern::ALL {
                let environment = self.pick(ENVIRONMENTS);
                self.world.begin(Job::Bring(customer(number), concern), environment);
            }
            self.drain()?;
        }
        Ok(())
    }

    /// God Records are emptied while other tasks run.
    pub(crate) fn empty(&mut self) -> Result<(), Broken> {
        for number in PEOPLE {
            let environment = self.pick(ENVIRONMENTS);
            self.world.begin(Job::Empty(customer(number)), environment);
            self.play(10)?;
        }
        Ok(())
    }

    /// God Records are emptied while no other task runs.
    pub(crate) fn empty_alone(&mut self) -> Result<(), Broken> {
        for number in PEOPLE {
            let environment = self.pick(ENVIRONMENTS);
            self.world.begin(Job::Empty(customer(number)), environment);
        }
        self.drain()
    }

    pub(crate) fn finish(mut self) -> Result<Figures, Broken> {
        self.drain()?;
        checks::everything(&self.world, &self.scene)?;
        self.figures.histories = 1;
        Ok(self.figures)
    }
}

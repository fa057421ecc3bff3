//! Longer histories, up to two at a time, with transfers and refunds in between. The order decides who bears what, so
//! only the invariants are checked, and at the end our records and the PSP's account.

use crate::topup_orders::books;
use crate::topup_orders::desk::{Desk, Done, Plan, Wrote, topup_id, yen};
use crate::topup_orders::explore::Run;
use crate::topup_orders::story::{Story, Told, What, ways_of_a_dispute, ways_of_a_refund};
use ledger_core::psp::{EventId, Fact, IntentStatus, RefundStatus};
use ledger_core::terms::SpentPoints;
use ledger_core::topups::RefundState;
use ledger_tests::model::Model;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.roll() % n as u64).unwrap()
    }

    fn amount(&mut self, most: u64) -> u64 {
        1 + self.roll() % most
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// A refund that the operator will request, and its statuses at the PSP.
struct Ours {
    topup: usize,
    refund: usize,
    amount: u64,
    way: &'static [RefundStatus],
}

struct Sample {
    desk: Desk,
    dice: Dice,
    model: Model,
    stories: Vec<Story>,
    /// Refunds still to be requested.
    asked: Vec<Ours>,
    /// Events in transit, with their ids.
    told: Vec<(Told, String)>,
    /// Events that were delivered.
    came: Vec<(Told, String)>,
    run: Run,
}

/// Plays one history from a seed, with 7 to 12 different events.
pub(crate) fn run(seed: u64) -> Run {
    let mut dice = Dice(seed);
    let (stories, asked) = loop {
        let (stories, asked) = plot(&mut dice);
        let told: usize = stories.iter().map(|story| story.events.len()).sum();
        let of_ours: usize = asked.iter().map(|ours| ours.way.len()).sum();
        if (7..=12).contains(&(told + of_ours)) {
            break (stories, asked);
        }
    };
    let desk = Desk::new(if dice.one_in(2) { SpentPoints::Deduct } else { SpentPoints::Forgive });
    let before = if dice.one_in(2) { 0 } else { dice.amount(20_000) };
    let mut model = desk.open(before);
    let mut told = Vec::new();
    for story in &stories {
        assert!(matches!(desk.claim_topup(&mut model, story.topup, story.charge), Wrote::Applied));
        told.extend(story.events.iter().map(|what| Told { topup: story.topup, what: *what }));
    }
    let mut sample =
        Sample { desk, dice, model, stories, asked, told: Vec::new(), came: Vec::new(), run: Run::default() };
    told.into_iter().for_each(|told| sample.expect(told));
    sample.go();
    sample.run.histories = 1;
    sample.run.orders = 1;
    sample.run
}

fn plot(dice: &mut Dice) -> (Vec<Story>, Vec<Ours>) {
    let (mut stories, mut asked) = (Vec::new(), Vec::new());
    for topup in 0..1 + dice.below(2) {
        let charge = 1_000 + dice.amount(20_000);
        let quarter = charge / 4;
        let mut events = Vec::new();
        events.extend([What::Processing, What::PaymentFailed].into_iter().filter(|_| dice.one_in(2)));
        if dice.one_in(6) {
            events.push(What::Canceled);
        } else {
            events.push(What::Succeeded);
            for n in 0..dice.below(3) {
                let way = dice.pick(&ways_of_a_refund());
                if dice.one_in(2) {
                    asked.push(Ours { topup, refund: n, amount: dice.amount(quarter), way });
                } else {
                    events.extend(way.iter().map(|status| What::Theirs(n, *status)));
                }
            }
            events.extend(dice.pick(&ways_of_a_dispute()));
        }
        let theirs = vec![dice.amount(quarter), dice.amount(quarter)];
        let disputed = dice.amount(charge);
        stories.push(Story {
            topup,
            charge,
            balance: 0,
            spends: (0, 0),
            refunds: Vec::new(),
            theirs,
            disputed,
            events,
        });
    }
    (stories, asked)
}

impl Sample {
    /// Puts an event in transit, perhaps twice, perhaps under another id.
    fn expect(&mut self, told: Told) {
        let id = format!("evt_{}", self.came.len() + self.told.len());
        if self.dice.one_in(4) {
            let again = if self.dice.one_in(2) { id.clone() } else { format!("{id}b") };
            self.told.push((told, again));
        }
        self.told.push((told, id));
    }

    fn go(&mut self) {
        while !self.told.is_empty() || !self.asked.is_empty() {
            match self.dice.below(8) {
                0 => self.trade(),
                1 => self.answer(),
                2 => self.ask(),
                3 if self.told.len() > 1 => self.race(),
                _ => self.hear(),
            }
            books::check(&self.model);
        }
        for (told, id) in self.came.clone() {
            let before = self.model.clone();
            let done = self.deliver(told, &id);
            assert!(self.model == before, "{told:?} at the end: {done:?}");
            self.run.duplicates += 1;
        }
        self.judge();
    }

    /// Takes any event in transit.
    fn take(&mut self) -> Option<(Told, String)> {
        let at = self.dice.below(self.told.len().max(1));
        (at < self.told.len()).then(|| self.told.swap_remove(at))
    }

    fn hear(&mut self) {
        let Some((told, id)) = self.take() else { return self.ask() };
        let done = self.deliver(told, &id);
        assert!(!matches!(done, Done::NoRecord | Done::Contradiction(_)), "{told:?}: {done:?}");
        self.run.deliveries += 1;
        self.came.push((told, id));
    }

    fn deliver(&mut self, told: Told, id: &str) -> Done {
        self.desk.deliver(&mut self.model, &self.stories[told.topup], told, id)
    }

    /// Handles something else between the read and the write of a handler.
    fn race(&mut self) {
        let Some((told, id)) = self.take() else { return };
        let story = self.stories[told.topup].clone();
        let planned = self.desk.fact(&self.model, &story, told, &id).ok();
        let planned = planned.map(|fact| self.desk.plan(&self.model, &story, &fact, &EventId::parse(&id).unwrap()));
        if self.dice.one_in(2) {
            self.trade();
        } else {
            self.hear();
        }
        self.run.races += 1;
        if let Some(Plan::Write(transaction)) = planned {
            match self.desk.write(&mut self.model, &transaction) {
                Wrote::Applied | Wrote::Stale | Wrote::MarkerStands => {}
                Wrote::Refused(failure) => panic!("{told:?} was raced and refused: {failure:?}"),
            }
            books::check(&self.model);
        }
        self.told.push((told, id));
    }

    /// The customer transfers money away, or receives some.
    fn trade(&mut self) {
        let (most, back) = (self.dice.pick(&[500, 5_000, 40_000]), self.dice.one_in(3));
        let amount = yen(self.dice.amount(most));
        let key = format!("trade-{}", self.dice.roll());
        match self.desk.send(&mut self.model, &amount, &key, back) {
            Wrote::Applied | Wrote::Refused(_) => {}
            Wrote::Stale | Wrote::MarkerStands => panic!("a transfer of {amount:?}"),
        }
    }

    /// The delayed response to one of our own requests.
    fn answer(&mut self) {
        let story = &self.stories[self.dice.below(self.stories.len())];
        let (desk, tenant) = (&self.desk, &self.desk.tenant);
        let refund = self.dice.below(3);
        let done = match desk.refund(&self.model, story.topup, refund) {
            Some(record) => {
                let fact = Fact::Refund(story.our_refund(tenant, refund, RefundStatus::Pending, &record.paid));
                desk.answered(&mut self.model, &fact, story.topup, Some(refund))
            }
            None => {
                let fact = Fact::Intent(story.intent(tenant, IntentStatus::Open));
                desk.answered(&mut self.model, &fact, story.topup, None)
            }
        };
        assert!(matches!(done, Done::Applied | Done::Repeated), "{done:?}");
    }

    /// The operator requests a refund once the ledger knows of the success. A refused refund has no events.
    fn ask(&mut self) {
        let Some(ours) = self.asked.pop() else { return };
        let story = &self.stories[ours.topup];
        self.desk.look(&mut self.model, story);
        match self.desk.claim_refund(&mut self.model, ours.topup, ours.refund, ours.amount) {
            Wrote::Applied => {
                let told = |status: &RefundStatus| Told { topup: ours.topup, what: What::Ours(ours.refund, *status) };
                ours.way.iter().map(told).for_each(|told| self.expect(told));
            }
            Wrote::Refused(_) => {}
            Wrote::Stale | Wrote::MarkerStands => panic!("a refund's claim"),
        }
    }

    /// Asserts that our records and the clearing account agree with the PSP.
    fn judge(&self) {
        let mut clearing = 0_i128;
        for story in &self.stories {
            let record = self.desk.topup(&self.model, story.topup).unwrap();
            let truth = story.truth();
            assert_eq!(record.state.name(), truth.topup);
            if truth.topup == "succeeded" {
                clearing -= i128::from(story.charge);
            }
            let amounts = story.theirs.iter().chain([&story.disputed]);
            for (told, amount) in truth.clawbacks.iter().zip(amounts) {
                clearing += if *told == Some("taken") { i128::from(*amount) } else { 0 };
            }
            let told = books::against(&self.model, story);
            let wrong: Vec<_> = told.iter().filter(|line| line.starts_with("clawback")).collect();
            assert!(wrong.is_empty(), "{} {wrong:?}", topup_id(story.topup));
            for n in 0..2 {
                let Some(refund) = self.desk.refund(&self.model, story.topup, n) else { continue };
                let topup = story.topup;
                let came =
                    |status| self.came.iter().any(|(told, _)| *told == Told { topup, what: What::Ours(n, status) });
                let state = match (came(RefundStatus::Failed), came(RefundStatus::Succeeded)) {
                    (true, _) => RefundState::Failed,
                    (false, true) => RefundState::Succeeded,
                    (false, false) => refund.state,
                };
                assert_eq!(refund.state, state, "{refund:?}");
                if state == RefundState::Succeeded {
                    clearing += refund.paid.text().parse::<i128>().unwrap();
                }
            }
        }
        let lines = books::lines(&self.model);
        let sum = lines.get("sum of stripe_clearing ECOPAY").map_or("0", String::as_str);
        assert_eq!(sum, clearing.to_string(), "the account with the provider");
    }
}

//! Longer histories, up to two at a time, with transfers and refunds in between. The order decides who bears what, so
//! only the invariants are checked, and at the end our records and the PSP's account.

use crate::topup_orders::books;
use crate::topup_orders::desk::{FactOutcome, Handler, Plan, WriteOutcome, topup_id, yen};
use crate::topup_orders::explore::Run;
use crate::topup_orders::story::{Story, TopupEvent, What, ways_of_a_dispute, ways_of_a_refund};
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
    handler: Handler,
    dice: Dice,
    model: Model,
    stories: Vec<Story>,
    /// Refunds still to be requested.
    unrequested: Vec<Ours>,
    /// Events in transit, with their ids.
    in_transit: Vec<(TopupEvent, String)>,
    /// Events that were delivered.
    delivered: Vec<(TopupEvent, String)>,
    run: Run,
}

/// Plays one history from a seed, with 7 to 12 different events.
pub(crate) fn run(seed: u64) -> Run {
    let mut dice = Dice(seed);
    let (stories, unrequested) = loop {
        let (stories, unrequested) = plot(&mut dice);
        let events: usize = stories.iter().map(|story| story.events.len()).sum();
        let of_ours: usize = unrequested.iter().map(|ours| ours.way.len()).sum();
        if (7..=12).contains(&(events + of_ours)) {
            break (stories, unrequested);
        }
    };
    let handler = Handler::new(if dice.one_in(2) { SpentPoints::Deduct } else { SpentPoints::Forgive });
    let before = if dice.one_in(2) { 0 } else { dice.amount(20_000) };
    let mut model = handler.open(before);
    let mut events = Vec::new();
    for story in &stories {
        assert!(matches!(handler.claim_topup(&mut model, story.topup, story.charge), WriteOutcome::Applied));
        events.extend(story.events.iter().map(|what| TopupEvent { topup: story.topup, what: *what }));
    }
    let mut sample = Sample {
        handler,
        dice,
        model,
        stories,
        unrequested,
        in_transit: Vec::new(),
        delivered: Vec::new(),
        run: Run::default(),
    };
    events.into_iter().for_each(|event| sample.send(event));
    sample.play();
    sample.run.histories = 1;
    sample.run.orders = 1;
    sample.run
}

fn plot(dice: &mut Dice) -> (Vec<Story>, Vec<Ours>) {
    let (mut stories, mut unrequested) = (Vec::new(), Vec::new());
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
                    unrequested.push(Ours { topup, refund: n, amount: dice.amount(quarter), way });
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
    (stories, unrequested)
}

impl Sample {
    /// Puts an event in transit, perhaps twice, perhaps under another id.
    fn send(&mut self, event: TopupEvent) {
        let id = format!("evt_{}", self.delivered.len() + self.in_transit.len());
        if self.dice.one_in(4) {
            let again = if self.dice.one_in(2) { id.clone() } else { format!("{id}b") };
            self.in_transit.push((event, again));
        }
        self.in_transit.push((event, id));
    }

    fn play(&mut self) {
        while !self.in_transit.is_empty() || !self.unrequested.is_empty() {
            match self.dice.below(8) {
                0 => self.trade(),
                1 => self.answer(),
                2 => self.request_refund(),
                3 if self.in_transit.len() > 1 => self.race(),
                _ => self.deliver_next(),
            }
            books::check(&self.model);
        }
        for (event, id) in self.delivered.clone() {
            let before = self.model.clone();
            let done = self.deliver(event, &id);
            assert!(self.model == before, "{event:?} at the end: {done:?}");
            self.run.duplicates += 1;
        }
        self.check_end();
    }

    /// Takes any event in transit.
    fn take(&mut self) -> Option<(TopupEvent, String)> {
        let at = self.dice.below(self.in_transit.len().max(1));
        (at < self.in_transit.len()).then(|| self.in_transit.swap_remove(at))
    }

    fn deliver_next(&mut self) {
        let Some((event, id)) = self.take() else { return self.request_refund() };
        let done = self.deliver(event, &id);
        assert!(!matches!(done, FactOutcome::NoRecord | FactOutcome::Contradiction(_)), "{event:?}: {done:?}");
        self.run.deliveries += 1;
        self.delivered.push((event, id));
    }

    fn deliver(&mut self, event: TopupEvent, id: &str) -> FactOutcome {
        self.handler.deliver(&mut self.model, &self.stories[event.topup], event, id)
    }

    /// Handles something else between the read and the write of a handler.
    fn race(&mut self) {
        let Some((event, id)) = self.take() else { return };
        let story = self.stories[event.topup].clone();
        let planned = self.handler.fact(&self.model, &story, event, &id).ok();
        let planned = planned.map(|fact| self.handler.plan(&self.model, &story, &fact, &EventId::parse(&id).unwrap()));
        if self.dice.one_in(2) {
            self.trade();
        } else {
            self.deliver_next();
        }
        self.run.races += 1;
        if let Some(Plan::Write(transaction)) = planned {
            match self.handler.write(&mut self.model, &transaction) {
                WriteOutcome::Applied | WriteOutcome::Stale | WriteOutcome::MarkerExists => {}
                WriteOutcome::Refused(failure) => panic!("{event:?} was raced and refused: {failure:?}"),
            }
            books::check(&self.model);
        }
        self.in_transit.push((event, id));
    }

    /// The customer transfers money away, or receives some.
    fn trade(&mut self) {
        let (most, is_incoming) = (self.dice.pick(&[500, 5_000, 40_000]), self.dice.one_in(3));
        let amount = yen(self.dice.amount(most));
        let key = format!("trade-{}", self.dice.roll());
        match self.handler.send(&mut self.model, &amount, &key, is_incoming) {
            WriteOutcome::Applied | WriteOutcome::Refused(_) => {}
            WriteOutcome::Stale | WriteOutcome::MarkerExists => panic!("a transfer of {amount:?}"),
        }
    }

    /// The delayed response to one of our own requests.
    fn answer(&mut self) {
        let story = &self.stories[self.dice.below(self.stories.len())];
        let (handler, tenant) = (&self.handler, &self.handler.tenant);
        let refund = self.dice.below(3);
        let done = match handler.refund(&self.model, story.topup, refund) {
            Some(record) => {
                let fact = Fact::Refund(story.our_refund(tenant, refund, RefundStatus::Pending, &record.paid));
                handler.answered(&mut self.model, &fact, story.topup, Some(refund))
            }
            None => {
                let fact = Fact::Intent(story.intent(tenant, IntentStatus::Open));
                handler.answered(&mut self.model, &fact, story.topup, None)
            }
        };
        assert!(matches!(done, FactOutcome::Applied | FactOutcome::Repeated), "{done:?}");
    }

    /// The operator requests a refund once the ledger has recorded the success. A refused refund has no events.
    fn request_refund(&mut self) {
        let Some(ours) = self.unrequested.pop() else { return };
        let story = &self.stories[ours.topup];
        self.handler.look(&mut self.model, story);
        match self.handler.claim_refund(&mut self.model, ours.topup, ours.refund, ours.amount) {
            WriteOutcome::Applied => {
                let event =
                    |status: &RefundStatus| TopupEvent { topup: ours.topup, what: What::Ours(ours.refund, *status) };
                ours.way.iter().map(event).for_each(|event| self.send(event));
            }
            WriteOutcome::Refused(_) => {}
            WriteOutcome::Stale | WriteOutcome::MarkerExists => panic!("a refund's claim"),
        }
    }

    /// Asserts that our records and the clearing account agree with the PSP.
    fn check_end(&self) {
        let mut clearing = 0_i128;
        for story in &self.stories {
            let record = self.handler.topup(&self.model, story.topup).unwrap();
            let truth = story.truth();
            assert_eq!(record.state.name(), truth.topup);
            if truth.topup == "succeeded" {
                clearing -= i128::from(story.charge);
            }
            let amounts = story.theirs.iter().chain([&story.disputed]);
            for (state, amount) in truth.clawbacks.iter().zip(amounts) {
                clearing += if *state == Some("taken") { i128::from(*amount) } else { 0 };
            }
            let differences = books::against(&self.model, story);
            let wrong: Vec<_> = differences.iter().filter(|line| line.starts_with("clawback")).collect();
            assert!(wrong.is_empty(), "{} {wrong:?}", topup_id(story.topup));
            for n in 0..2 {
                let Some(refund) = self.handler.refund(&self.model, story.topup, n) else { continue };
                let topup = story.topup;
                let was_delivered = |status| {
                    self.delivered.iter().any(|(event, _)| *event == TopupEvent { topup, what: What::Ours(n, status) })
                };
                let state = match (was_delivered(RefundStatus::Failed), was_delivered(RefundStatus::Succeeded)) {
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
        assert_eq!(sum, clearing.to_string(), "the balance of stripe_clearing");
    }
}

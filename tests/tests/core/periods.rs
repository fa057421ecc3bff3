//! Sealing, closing, giving back and taking again in random orders on the model of the table: two sealing workers, two runs
//! of each settlement, refusals, an index that lags, and a crash after any step. In the end each entry is in one settlement
//! that was paid.

use ledger_core::crediting::{LaneCredit, LaneCredits};
use ledger_core::dynamo::{Attributes, Item, Value};
use ledger_core::failure::Failure;
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{self, Key, sk};
use ledger_core::sealing::Sealable;
use ledger_core::sealing::lanes::{Heads, LaneBatch, LaneHead, LaneRejection};
use ledger_core::settlements::{
    Compensation, Move, Settleable, Settlement, Settling, Task, UndoReason, close_lane, collect, given_back_period,
    last_batch, next_move, read_batch, release_batch, start_undo,
};
use ledger_core::time::Timestamp;
use ledger_core::transaction::{Rejection, Transaction, Verdict};
use ledger_tests::audit::{Audit, number, opt_text};
use ledger_tests::chance::Dice;
use ledger_tests::model::Model;
use ledger_tests::share;
use ledger_tests::wire;
use serde_json::{Value as Json, json};
use std::time::Duration;

const HISTORIES: u64 = 500;
const STEPS: usize = 60;
const TENANT: &str = "demo";
const MERCHANT: &str = "019a0000-0000-7000-8000-0000000000e1";
const CUSTOMER: &str = "019a0000-0000-7000-8000-00000000000a";
const STEP: Duration = Duration::from_secs(4);

fn tenant() -> Tenant {
    Tenant::parse(TENANT).unwrap()
}

fn merchant() -> MerchantId {
    MerchantId::parse(MERCHANT).unwrap()
}

/// What the merchant is credited with in the only lane.
fn credited() -> Key {
    keys::credited_in_lane(&tenant(), merchant(), 0)
}

struct World {
    table: Model,
    /// The table as the index has it.
    index: Model,
    now: Timestamp,
    entries: u64,
    settlements: u64,
    /// The segment that each worker is about to write. It may be out of date.
    workers: [Option<LaneBatch>; 2],
    runs: [Option<Transaction>; 2],
    /// How often each thing happened, so that the test shows what it covers.
    seen: [u64; 5],
}

/// What is counted: segments that met a closed period, closings that came late, periods closed, given back, taken again.
#[derive(Clone, Copy)]
enum Seen {
    PeriodClosed,
    ClosedLate,
    Closed,
    GivenBack,
    TakenAgain,
}

impl World {
    fn new() -> Self {
        let now = Timestamp::parse("2026-11-21T03:00:00Z").unwrap();
        let (mut table, (_, opening)) = (Model::new(), Heads::open(&tenant(), now).unwrap());
        table.execute(opening.items()).unwrap();
        let index = table.clone();
        Self { table, index, now, entries: 0, settlements: 0, workers: [None, None], runs: [None, None], seen: [0; 5] }
    }

    fn count(&mut self, what: Seen) {
        self.seen[what as usize] += 1;
    }

    fn put(&mut self, kind: &str, id: &str, sk: &str, attributes: &Json) {
        let mut item = attributes.clone();
        item["uuid"] = json!({ "S": format!("{TENANT}#{kind}#{id}") });
        item["type"] = json!({ "S": sk });
        self.table.put(wire::item_from_json(&item));
    }

    /// The entry of a payment, or of a refund, whose seal credits the merchant.
    fn sell(&mut self, chance: &mut Dice) {
        self.entries += 1;
        let (id, is_refund) = (format!("019aa000-0000-7000-8000-{:012}", self.entries), chance.below(4) == 0);
        let (operation, delta) = if is_refund { ("refund", -3) } else { ("pay", 10) };
        let posting = |account: &str, delta: i32| {
            json!({ "M": {
                "account": { "S": account }, "asset": { "S": "ECOPAY" }, "delta": { "N": delta.to_string() },
            } })
        };
        let payer = format!("customer:{CUSTOMER}");
        let entry = json!({
            "transaction_id": { "S": id }, "operation": { "S": operation }, "principal": { "S": payer },
            "actor": { "S": payer }, "idempotency_key": { "S": id }, "created_at": { "S": self.now.to_string() },
            "postings": { "L": [posting(&payer, -delta), posting(&format!("merchant:{MERCHANT}"), delta)] },
            "credited_by": { "S": "seal" }, "_due_sk": { "S": format!("{id}#{MERCHANT}") },
            "_due_pk": { "S": format!("{TENANT}#due#publish#0") },
        });
        self.put("customer", CUSTOMER, &format!("TXN#{id}"), &entry);
    }

    /// Opens a settlement, as the operator does while none is open.
    fn open(&mut self) {
        self.settlements += 1;
        let id = format!("019a9500-0000-7000-8000-{:012}", self.settlements);
        let bank = json!({ "M": {
            "kind": { "S": "bank" }, "bank_code": { "S": "0009" }, "branch_code": { "S": "123" },
            "account_type": { "S": "ordinary" }, "account_number": { "S": "1234567" }, "account_holder": { "S": "ﾐﾄﾞﾘ" },
        } });
        let now = self.now.to_string();
        let settlement = json!({
            "settlement_id": { "S": id }, "merchant_id": { "S": MERCHANT }, "state": { "S": "collecting" },
            "requested_by": { "S": "019a0000-0000-7000-8000-000000000051" }, "created_at": { "S": now },
            "updated_at": { "S": now }, "pay_on": { "S": "2026-11-30" }, "destination": bank,
            "terms": { "M": { "fee_rate": { "N": "0" }, "tax_rate": { "N": "0" } } }, "records": { "N": "0" },
            "batches": { "N": "0" }, "carried_in": { "M": {} }, "runs": { "N": "1" }, "shards": { "N": "1" },
            "due_shards": { "N": "1" }, "paid_before": { "N": "0" },
        });
        self.put("merchant", MERCHANT, &format!("SETTLEMENT#{id}"), &settlement);
        self.put("merchant", MERCHANT, "SETTLING", &json!({ "open": { "S": id } }));
    }

    /// Executes a transaction; returns why it was rejected, if it was.
    fn write(&mut self, transaction: &Transaction) -> Option<Rejection> {
        match self.table.execute(transaction.items()) {
            Ok(()) => None,
            Err(reasons) => {
                let Verdict::Rejected(rejection) = transaction.classify(&reasons) else { panic!("{reasons:?}") };
                Some(rejection)
            }
        }
    }

    /// The periods that were given back and that no settlement has.
    fn given_back(&self) -> Vec<Item> {
        let listed = self.table.iter().filter(|((_, sort), _)| sort.starts_with(sk::PERIOD_BACK));
        let keys = listed.map(|(_, item)| given_back_period(&tenant(), merchant(), item).unwrap());
        let periods = keys.map(|key| self.table.get(&key).unwrap().clone());
        periods.filter(Settleable::is_free).collect()
    }

    fn head(&self) -> LaneHead {
        LaneHead::read(&tenant(), 0, self.table.get(&keys::lane_head(&tenant(), 0)).unwrap()).unwrap()
    }

    /// One step of a worker: it writes the segment that it has built, or reads and builds the next one.
    fn work(&mut self, place: usize) {
        if let Some(batch) = self.workers[place].take() {
            return match self.write(batch.transaction()).map(|rejection| batch.explain(&rejection).unwrap()) {
                // The next segment is built from what is there then.
                None | Some(LaneRejection::HeadMoved) => {}
                Some(LaneRejection::PeriodClosed) => self.count(Seen::PeriodClosed),
                // The index lists entries that were sealed before.
                Some(LaneRejection::Sealed(_)) => self.index = self.table.clone(),
                Some(
                    other @ (LaneRejection::HeadSetBack | LaneRejection::CreditedBeyond | LaneRejection::Missing(_)),
                ) => panic!("{other:?}"),
            };
        }
        let read = |item: &Item| Sealable::read(&tenant(), item).unwrap();
        let waiting: Vec<Sealable> = self.index.iter().filter_map(|(_, item)| read(item)).collect();
        let mut credits = LaneCredits::new(0);
        credits.read(merchant(), self.table.get(&credited())).unwrap();
        self.workers[place] = self.head().batch(&tenant(), &waiting, &credits, None, self.now).unwrap();
    }

    fn open_settlement(&self) -> Option<Settlement> {
        let settling = self.table.get(&keys::settling(&tenant(), merchant()));
        let id = Settling::read(settling).unwrap().open?;
        Some(Settlement::read(self.table.get(&keys::settlement(&tenant(), merchant(), id)).unwrap()).unwrap())
    }

    /// One step of a run of the saga: it writes what it has built, or reads and builds the next transaction. A settlement
    /// that has all of its periods is refused or paid.
    fn settle(&mut self, place: usize, is_refused: bool) {
        if let Some(built) = self.runs[place].take() {
            self.write_run(&built);
            return;
        }
        let Some(settlement) = self.open_settlement() else { return self.open() };
        let (of, now) = (tenant(), self.now);
        let back = Task::Undo(Compensation::Collect);
        let built = if settlement.undo_reason.is_some() {
            match next_move(&of, &settlement, back, now).unwrap() {
                Move::Write(undone) => *undone,
                Move::GiveBack => {
                    let batch = read_batch(self.table.get(&last_batch(&of, &settlement)).unwrap()).unwrap();
                    release_batch(&of, &settlement, &batch, now).unwrap()
                }
                other @ (Move::Ended(_) | Move::Collect | Move::Check | Move::Pay) => {
                    panic!("{other:?}")
                }
            }
        } else {
            let due = self.given_back();
            let due: Vec<Settleable> = due.iter().map(|item| Settleable::read(item).unwrap()).collect();
            let open = self.table.get(&credited()).map(|item| LaneCredit::read(0, item).unwrap());
            let closing = open.and_then(|open| close_lane(&of, &settlement, &open, now).unwrap());
            match (due.is_empty(), closing) {
                (false, _) => collect(&of, &settlement, &due, now).unwrap(),
                (true, Some(closing)) => closing,
                (true, None) if !is_refused => return self.pay(&settlement),
                (true, None) => start_undo(&of, &settlement, UndoReason::StepFailed, now).unwrap(),
            }
        };
        self.runs[place] = Some(built);
    }

    fn write_run(&mut self, built: &Transaction) {
        let closes = built.items().iter().any(|item| item.key() == &credited());
        let period = built.items().iter().find(|item| item.key().sk().starts_with("PERIOD#"));
        let taken = |world: &Self| {
            period.and_then(|item| world.table.get(item.key())?.opt_text("settlement_id").unwrap().map(str::to_owned))
        };
        let had = taken(self);
        match self.write(built) {
            None if closes => self.count(Seen::Closed),
            None => match (had.is_some(), taken(self).is_some()) {
                (true, false) => self.count(Seen::GivenBack),
                (false, true) => self.count(Seen::TakenAgain),
                (true, true) | (false, false) => {}
            },
            Some(rejection) => {
                assert!(matches!(rejection.failure, Failure::StalePlan | Failure::WrongState), "{rejection:?}");
                if closes {
                    self.count(Seen::ClosedLate);
                }
                // A period that another transaction took is not listed for ever.
                self.index = self.table.clone();
            }
        }
    }

    /// Ends a settlement that has all of its periods, as its later steps do: only if nothing has changed since.
    fn pay(&mut self, settlement: &Settlement) {
        let key = keys::settlement(&tenant(), merchant(), settlement.id);
        let mut item = self.table.get(&key).unwrap().clone();
        item.insert("state".to_owned(), Value::s("booked"));
        self.table.put(item);
        self.put("merchant", MERCHANT, "SETTLING", &json!({}));
    }

    /// All work that is left, without faults.
    fn finish(&mut self) {
        self.runs = [None, None];
        self.workers = [None, None];
        self.now = self.now.plus(Duration::from_secs(60));
        let paid = |world: &Self| {
            let all = world
                .table
                .iter()
                .filter(|((_, sk), row)| sk.starts_with("SETTLEMENT#") && opt_text(row, "state") == Some("booked"));
            all.map(|(_, row)| number(row, "records")).sum::<rust_decimal::Decimal>()
        };
        for _ in 0..200 {
            self.index = self.table.clone();
            self.work(1);
            self.settle(0, false);
            if paid(self) == self.entries.into() && self.open_settlement().is_none() {
                return;
            }
        }
        panic!("{} of {} entries are paid", paid(self), self.entries);
    }

    fn check(&self, when: &str) {
        let contents = self.table.contents();
        let audit = Audit::of(TENANT, &contents);
        let rules = [
            "settlements equal records",
            "merchants' balances equal postings",
            "entries are credited when sealed",
            "periods equal entries",
        ];
        let mut found = [audit.findings(), audit.findings_when_credited()].concat();
        found.retain(|finding| rules.contains(&finding.rule));
        assert!(found.is_empty(), "{when}: {found:#?}");
    }
}

#[test]
fn each_entry_is_settled_once_in_any_order_of_steps_and_crashes() {
    let mut seen = [0; 5];
    let histories = share::seeds(HISTORIES, share::FAMILY_STEP);
    for history in histories.clone() {
        let (mut chance, mut world) = (Dice::new(history), World::new());
        for step in 0..STEPS {
            world.now = world.now.plus(STEP);
            match chance.below(12) {
                0..=2 => world.sell(&mut chance),
                3 | 4 => world.work(0),
                5 | 6 => world.work(1),
                7 | 8 => world.settle(0, chance.below(2) == 0),
                9 => world.settle(1, chance.below(2) == 0),
                10 => world.index = world.table.clone(),
                // A process ends: what it has built is never written, or was written without an answer.
                _ => match chance.below(4) {
                    0 => world.workers[0] = None,
                    1 => world.workers[1] = None,
                    2 => world.runs[0] = None,
                    _ => {
                        if let Some(built) = world.runs[1].clone() {
                            world.write_run(&built);
                        }
                    }
                },
            }
            world.check(&format!("history {history}, step {step}"));
        }
        world.finish();
        world.check(&format!("history {history}, in the end"));
        for (all, of_one) in seen.iter_mut().zip(world.seen) {
            *all += of_one;
        }
    }
    let often = [Seen::PeriodClosed, Seen::ClosedLate, Seen::Closed, Seen::GivenBack, Seen::TakenAgain];
    let least = (histories.end - histories.start) / 12;
    assert!(often.iter().all(|what| seen[*what as usize] > least), "what the histories reach: {seen:?}");
}

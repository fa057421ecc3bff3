//! A card pays, is loaded and has operations reversed, at random times of random clocks: no limit is exceeded, and each
//! count is the sum of what was counted.

use crate::properties::world::*;
use ledger_core::cards;
use ledger_core::cards::reverse::{CardReverse, ReversedBy, Seen};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::idempotency::Marker;
use ledger_core::ids::Principal;
use ledger_core::journal::JournalEntry;
use ledger_core::keys::{self, Partition};
use ledger_core::operation::Operation;
use ledger_core::plan::{Context, PlanRefusal};
use ledger_core::terms::{TenantTerms, TerminalTerms};
use ledger_core::time::Timestamp;
use ledger_core::transaction::{Draft, Transaction};
use ledger_tests::engine::Table;
use ledger_tests::limits::limits;
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

const RULES: [(&str, &str); 4] = [
    ("card", "pay_day=1000"),
    ("card", "pay_month=2500"),
    ("card", "cash_topup_day=700"),
    ("card", "cash_topup_month=1500"),
];

/// What a limit allows, by the length of the digits in a count's name.
fn most(name: &str) -> Decimal {
    let is_day = name.rsplit_once('_').unwrap().1.len() == 8;
    Decimal::from(match (name.starts_with("use_pay_"), is_day) {
        (true, true) => 1000,
        (true, false) => 2500,
        (false, true) => 700,
        (false, false) => 1500,
    })
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Pay(u64),
    Load(u64),
    /// Reverses one of the operations made so far.
    Reverse(usize),
}

fn steps() -> impl Strategy<Value = Vec<(Step, u64, u64)>> {
    let step = prop_oneof![
        3 => (1..900_u64).prop_map(Step::Pay),
        2 => (1..600_u64).prop_map(Step::Load),
        1 => any::<usize>().prop_map(Step::Reverse),
    ];
    // Minutes that pass, and seconds by which the machine's clock is late.
    prop::collection::vec((step, 0..2_000_u64, 0..300_u64), 1..40)
}

struct Purse {
    table: Table,
    terms: TenantTerms,
    made: Vec<(Operation, Transaction)>,
    /// By the count's name: what was counted and not reversed.
    counted: BTreeMap<String, Decimal>,
}

impl Purse {
    fn card(&self) -> Item {
        let key = keys::card(&tenant(), card());
        self.table.contents()[&(key.pk().to_owned(), key.sk().to_owned())].clone()
    }

    fn write(&self, draft: &Draft, operation: Operation, number: u128) -> Option<Transaction> {
        let claim = claim(Principal::Terminal(terminal()), operation, &format!("{operation}-{number}"));
        let assembled = assemble(draft, &claim);
        self.table.execute(assembled.items()).is_ok().then_some(assembled)
    }

    fn step(&mut self, step: Step, cx: &Context, number: u128) {
        let (planned, operation, signs) = match step {
            Step::Pay(amount) => {
                let command = cards::pay::CardPay {
                    tenant: tenant(),
                    terminal: terminal(),
                    shop: None,
                    merchant: merchant(),
                    card: card(),
                    amount: yen(amount),
                };
                (
                    cards::pay::plan(&command, &self.terms, cx).map(|planned| planned.draft),
                    Operation::CardPay,
                    Decimal::ONE,
                )
            }
            Step::Load(amount) => {
                let command = cards::topup::CardTopup {
                    tenant: tenant(),
                    terminal: terminal(),
                    at: TerminalTerms::Till(merchant()),
                    card: card(),
                    charge: yen(amount),
                };
                let planned = cards::topup::plan(&command, &self.terms, cx).map(|planned| planned.draft);
                (planned, Operation::CardTopup, Decimal::ONE)
            }
            Step::Reverse(_) if self.made.is_empty() => return,
            Step::Reverse(which) => {
                let (operation, original) = self.made.remove(which % self.made.len());
                let planned = self.reversal(operation, &original, cx);
                // A load that was spent cannot be taken back.
                if self.write(&planned, Operation::CardReverse, number).is_some() {
                    self.count(&entry(&original), -Decimal::ONE);
                }
                return;
            }
        };
        let draft = match planned {
            Ok(draft) => draft,
            Err(PlanRefusal::Limit(_)) => return,
            Err(other) => panic!("{other}"),
        };
        if let Some(assembled) = self.write(&draft, operation, number) {
            self.count(&entry(&assembled), signs);
            self.made.push((operation, assembled));
        }
    }

    fn reversal(&self, operation: Operation, original: &Transaction, cx: &Context) -> Draft {
        let marker = Marker::read(&put(&original.items()[0]).unwrap()).unwrap();
        let payment = (operation == Operation::CardPay).then(|| recorded(original));
        let key = original.items()[0].key().sk().rsplit_once('#').unwrap().1.to_owned();
        let (read, card) = (JournalEntry::read(&entry(original)).unwrap(), self.card());
        let command = CardReverse {
            tenant: &tenant(),
            terminal: Partition::terminal(&tenant(), terminal()),
            at: &TerminalTerms::Till(merchant()),
            original: &claim(Principal::Terminal(terminal()), operation, &key),
            seen: Seen::Marker(&marker, Some(&read), payment.as_ref()),
            card: Some(&card),
            bonus: None,
            by: ReversedBy::Terminal,
        };
        cards::reverse::plan(&command, &self.terms, cx).unwrap().draft
    }

    fn count(&mut self, entry: &Item, sign: Decimal) {
        let names = entry.map("counted").unwrap().map("ECOPAY").unwrap();
        assert_eq!(names.len(), 2, "a day and a month");
        for name in names.keys() {
            let amount: Decimal = names.number(name).unwrap().parse().unwrap();
            *self.counted.entry(name.clone()).or_default() += sign * amount;
        }
    }

    fn check(&self) {
        let card = self.card();
        for (name, counted) in &self.counted {
            assert!(*counted <= most(name), "{name}: {counted}");
        }
        let counts: Vec<&String> = card.keys().filter(|name| name.starts_with("use_")).collect();
        for name in &counts {
            let stored: Decimal = card.number(name).unwrap().parse().unwrap();
            assert_eq!(Some(&stored), self.counted.get(*name), "{name}");
        }
    }
}

/// The journal entry that a transaction writes.
fn entry(of: &Transaction) -> Item {
    let entry = of.items().iter().find(|item| item.key().sk().starts_with("TXN#"));
    entry.and_then(put).unwrap()
}

proptest! {
    #![proptest_config(super::cases(40))]

    #[test]
    fn limits_hold_and_counts_are_sums_of_what_was_counted(terms in terms(), steps in steps()) {
        let terms = TenantTerms { limits: Some(limits(&RULES)), ..terms };
        let mut purse = Purse { table: Table::new(), terms, made: Vec::new(), counted: BTreeMap::new() };
        let key = keys::card(&tenant(), card());
        purse.table.put(&json!({
            "uuid": { "S": key.pk() }, "type": { "S": key.sk() }, "card_id": { "S": card().to_string() },
            "balance": { "N": "20000" }, "state": { "S": "active" }, "created_at": { "S": "2026-11-20T00:00:00.000Z" },
        }));
        let mut at: Timestamp = now();
        for (number, (step, minutes, late_s)) in (10_u128..).zip(steps) {
            at = at.plus(Duration::from_secs(60 * minutes));
            purse.step(step, &Context { now: at.minus(Duration::from_secs(late_s)), ..cx(number) }, number);
            purse.check();
        }
    }
}

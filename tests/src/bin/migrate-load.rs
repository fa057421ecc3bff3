//! Takes a tenant's customers from a legacy model to split records, all the way, while clients go on paying, and says what
//! that took: how many requests there were and how many of them failed, and whether everybody has what they had.

use clap::Parser;
use futures::future::join_all;
use ledger_core::migration::Model;
use ledger_tests::chance::Dice;
use ledger_tests::http::migrating::{Migrating, Totals};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, Customer};
use serde_json::json;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A migration under load.
#[derive(Debug, Parser)]
struct Options {
    /// How many customers the tenant has.
    #[arg(long, default_value_t = 10_000)]
    customers: u32,
    /// How many clients pay all the time.
    #[arg(long, default_value_t = 16)]
    clients: u64,
    /// What the tenant comes from: god_record or half_way.
    #[arg(long, default_value = "god_record")]
    model: String,
}

/// What the clients have seen.
#[derive(Default)]
struct Seen {
    answers: Mutex<BTreeMap<String, u64>>,
    slowest: Mutex<Duration>,
    failed: AtomicU64,
    over: AtomicBool,
}

#[tokio::main(flavor = "multi_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    let Some(model) = Model::parse(&options.model) else {
        eprintln!("--model is god_record or half_way");
        return ExitCode::FAILURE;
    };
    let began = Instant::now();
    let migrating = Arc::new(Migrating::start("legacy-load", model, options.customers).await);
    println!("{} customers in the legacy model, after {} s", options.customers, began.elapsed().as_secs());
    let before = Totals::of_legacy(&migrating.world.books().await);
    let seen = Arc::new(Seen::default());
    let clients: Vec<_> = (0..options.clients)
        .map(|number| tokio::spawn(client(Arc::clone(&migrating), Arc::clone(&seen), number)))
        .collect();
    println!("{:>5} {:<10} {:<12} {:>6} {:>9} {:>7}", "phase", "concern", "stage", "s", "requests", "failed");
    for phase in migrating.phases() {
        let (at, sent) = (Instant::now(), seen.total());
        migrating.enter(phase).await;
        let (concern, stage) = phase.entered_by().map_or(("", ""), |(concern, stage)| (concern.name(), stage.name()));
        let (s, requests) = (at.elapsed().as_secs(), seen.total() - sent);
        println!("{phase:>5} {concern:<10} {stage:<12} {s:>6} {requests:>9} {:>7}", seen.failed.load(Ordering::SeqCst));
    }
    let at = Instant::now();
    migrating.contract().await;
    println!("contracted in {} s", at.elapsed().as_secs());
    seen.over.store(true, Ordering::SeqCst);
    join_all(clients).await;
    let books = migrating.world.check_books().await;
    let after = Totals::of_split(&books);
    println!("answers: {:?}, the slowest after {} ms", seen.answers(), seen.slowest().as_millis());
    println!("before: {before}\nafter:  {after}");
    println!("{} s in all", began.elapsed().as_secs());
    let clean = before == after && seen.failed.load(Ordering::SeqCst) == 0;
    if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Seen {
    fn total(&self) -> u64 {
        self.answers.lock().expect("no panic").values().sum()
    }

    fn answers(&self) -> BTreeMap<String, u64> {
        self.answers.lock().expect("no panic").clone()
    }

    fn slowest(&self) -> Duration {
        *self.slowest.lock().expect("no panic")
    }
}

/// A client that pays, takes back, sends and changes its mind, until it is told to stop.
async fn client(migrating: Arc<Migrating>, seen: Arc<Seen>, number: u64) {
    let mut dice = Dice::new(number);
    let mut last: Option<String> = None;
    while !seen.over.load(Ordering::SeqCst) {
        let one = any(&migrating, &mut dice).await;
        let yen = (1 + dice.below(40)).to_string();
        let (call, refunded) = match (dice.below(10), last.take()) {
            (0..=1, Some(payment)) => (migrating.merchant.refunds(&payment, "1"), true),
            (2, _) => (one.sends(&any(&migrating, &mut dice).await, &yen), false),
            (3, _) => {
                let body = json!({"phone": if dice.below(2) == 0 { json!(null) } else { json!("+81-3-1234-5678") }});
                (Call::patch("/v1/me", &one.who, &body).key(new_key()), false)
            }
            (4, _) => (Call::get("/v1/me/balances", &one.who), false),
            (_, _) => (one.pays(&migrating.merchant, &yen), false),
        };
        let at = Instant::now();
        let answer = migrating.world.api.send(&call).await;
        let took = at.elapsed();
        let name = format!("{}{}", answer.status, answer.code().map(|code| format!(" {code}")).unwrap_or_default());
        // Somebody may send to themselves, or have nothing left: that has nothing to do with the migration.
        let expected =
            answer.status < 300 || ["400 insufficient_balance", "400 invalid_request"].contains(&name.as_str());
        if !expected {
            seen.failed.fetch_add(1, Ordering::SeqCst);
            eprintln!("{name}: {}", answer.json());
        }
        *seen.answers.lock().expect("no panic").entry(name).or_default() += 1;
        let mut slowest = seen.slowest.lock().expect("no panic");
        *slowest = took.max(*slowest);
        if answer.status == 201 && !refunded && call.path.ends_with("/payments") {
            last = Some(answer.text("/payment_id"));
        }
    }
}

async fn any(migrating: &Migrating, dice: &mut Dice) -> Customer {
    let number = u32::try_from(dice.below(u64::from(migrating.customers))).expect("small");
    migrating.customer(number).await
}

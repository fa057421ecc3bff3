//! Migrates a tenant's customers from a legacy model to split records while clients go on paying. Prints the number of
//! requests and of failures, and whether the totals are unchanged.

use clap::Parser;
use futures::future::try_join_all;
use ledger_core::migration::Model;
use ledger_tests::audit::Books;
use ledger_tests::chance::Dice;
use ledger_tests::http::Call;
use ledger_tests::http::migrating::{Migrating, Totals};
use ledger_tests::http::world::new_key;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The most failed responses that are printed.
const SHOWN: u64 = 20;

/// Migrate a tenant under load, from the first phase to the end of the contraction, on a stack in this process.
#[derive(Debug, Parser)]
struct Options {
    /// Number of the tenant's customers. Each has 10,000 yen, so too few of them would run out of it.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..))]
    customers: u32,
    /// Number of clients; each sends one request after the other.
    #[arg(long, default_value_t = 16)]
    clients: u64,
    /// Pause of a client before its next request, in milliseconds. Every pass reads the whole table: without a pause
    /// the items of payments outnumber the customers.
    #[arg(long, default_value_t = 50)]
    pause_ms: u64,
    /// The tenant's legacy model: god_record or half_way.
    #[arg(long, default_value = Model::GodRecord.name(), value_parser = model)]
    model: Model,
}

fn model(name: &str) -> Result<Model, &'static str> {
    Model::parse(name).ok_or("god_record or half_way")
}

/// The responses that clients got in an interval.
#[derive(Debug, Default)]
struct Tally {
    answers: BTreeMap<String, u64>,
    failed: u64,
    slowest: Duration,
}

/// The responses since the last interval, and whether the clients have to stop.
#[derive(Default)]
struct Seen {
    tally: Mutex<Tally>,
    over: AtomicBool,
}

#[tokio::main(flavor = "multi_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    let began = Instant::now();
    let migrating = Arc::new(Migrating::start("legacy-load", options.model, options.customers).await);
    println!("{} customers in the legacy model, after {} s", options.customers, began.elapsed().as_secs());
    let before = Totals::of_legacy(&migrating.world.books().await);
    let seen = Arc::new(Seen::default());
    let pause = Duration::from_millis(options.pause_ms);
    let client = |number| tokio::spawn(client(Arc::clone(&migrating), Arc::clone(&seen), number, pause));
    let clients: Vec<_> = (0..options.clients).map(client).collect();
    let (all, compared) = all_the_way(&migrating, &seen).await;
    seen.over.store(true, Ordering::SeqCst);
    let whole = try_join_all(clients).await;
    let all = all.and(seen.take());
    // The audit panics if a balance is not the sum of its postings.
    let books = migrating.world.check_books().await;
    let after = Totals::of_split(&books);
    println!("answers:  {:?}", all.answers);
    println!("requests: {}, {} failed, the slowest after {} ms", all.requests(), all.failed, all.slowest.as_millis());
    println!("parity:   {compared} times a customer was compared in both models, without a difference");
    println!("before:   {before}\nafter:    {after}");
    println!("books:    {} items, every balance the sum of its postings: {:?}", books.rows.len(), kinds(&books));
    println!("in all:   {} s", began.elapsed().as_secs());
    let problems = [
        (whole.is_err(), "a client panicked"),
        (all.requests() == 0, "there were no requests"),
        (all.failed > 0, "requests failed"),
        (compared == 0, "no customer was compared"),
        (before != after, "the totals have changed"),
    ];
    let problems: Vec<&str> = problems.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect();
    if problems.is_empty() {
        println!("in order: 0 failed requests, parity clean, totals before = after");
        return ExitCode::SUCCESS;
    }
    eprintln!("failed: {}", problems.join("; "));
    ExitCode::FAILURE
}

/// The number of items of each kind.
fn kinds(books: &Books) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    for (_, sk) in books.rows.keys() {
        *kinds.entry(sk.split('#').next().unwrap_or_default()).or_default() += 1;
    }
    kinds
}

/// Enters every phase and contracts, printing a line for each; returns all responses, and how often a customer was
/// compared. Panics if a comparison finds a difference.
async fn all_the_way(migrating: &Migrating, seen: &Seen) -> (Tally, u64) {
    let (mut all, mut compared) = (Tally::default(), 0);
    println!("phase concern    stage            s   requests  failed  slowest ms  pass");
    for phase in migrating.phases() {
        let at = Instant::now();
        let pass = migrating.enter(phase).await;
        let compares = pass.as_ref().filter(|pass| pass["kind"] == "verify");
        compared += compares.map_or(0, |pass| pass["done"].as_u64().expect("a count"));
        let (concern, stage) = phase.entered_by().map_or(("", ""), |(concern, stage)| (concern.name(), stage.name()));
        all = all.and(print_line(&format!("{phase:>5} {concern:<10} {stage:<12}"), at, seen.take(), pass.as_ref()));
    }
    let at = Instant::now();
    let pass = migrating.contract().await;
    (all.and(print_line(&format!("{:<29}", "contracted"), at, seen.take(), Some(&pass))), compared)
}

/// Prints the line of a phase or of the contraction.
fn print_line(of: &str, at: Instant, tally: Tally, pass: Option<&Value>) -> Tally {
    let pass = pass.map_or_else(String::new, |pass| {
        format!("{} of {}, {} changed, {} left", pass["kind"], pass["done"], pass["changed"], pass["failed"])
    });
    let (s, slowest) = (at.elapsed().as_secs(), tally.slowest.as_millis());
    println!("{of} {s:>5} {:>10} {:>7} {slowest:>11}  {}", tally.requests(), tally.failed, pass.replace('"', ""));
    tally
}

impl Tally {
    fn requests(&self) -> u64 {
        self.answers.values().sum()
    }

    fn and(mut self, later: Self) -> Self {
        for (answer, times) in later.answers {
            *self.answers.entry(answer).or_default() += times;
        }
        Self { answers: self.answers, failed: self.failed + later.failed, slowest: self.slowest.max(later.slowest) }
    }
}

impl Seen {
    /// Returns the responses since the last interval, and clears them.
    fn take(&self) -> Tally {
        std::mem::take(&mut *self.tally.lock().expect("no panic"))
    }

    /// Counts a response; returns the number of failures since the last interval.
    fn count(&self, answer: String, has_failed: bool, took: Duration) -> u64 {
        let mut tally = self.tally.lock().expect("no panic");
        tally.slowest = tally.slowest.max(took);
        tally.failed += u64::from(has_failed);
        *tally.answers.entry(answer).or_default() += 1;
        tally.failed
    }
}

/// The next request of a client after a response.
enum Then {
    /// Refunds a part of the payment.
    Refund,
    /// Approves the grant as the second owner, and spends it.
    ApproveAndSpend(Call),
    /// Spends what was granted.
    Spend(Call),
    /// A new request.
    Nothing,
}

/// A client that sends random requests for one customer after the other until it has to stop: payments, refunds,
/// transfers, grants and spending, profile changes, reads. No request should fail: each customer has enough money.
async fn client(migrating: Arc<Migrating>, seen: Arc<Seen>, number: u64, pause: Duration) {
    let mut dice = Dice::new(number);
    let mut next: Option<(Call, Then)> = None;
    while !seen.over.load(Ordering::SeqCst) {
        let (call, then) = match next.take() {
            Some(next) => next,
            None => anything(&migrating, &mut dice).await,
        };
        let at = Instant::now();
        let answer = migrating.world.api.try_send(&call).await;
        let took = at.elapsed();
        let (name, whole) = match &answer {
            Ok(answer) => {
                let code = answer.code().map_or_else(String::new, |code| format!(" {code}"));
                (format!("{}{code}", answer.status), format!("{answer:?}"))
            }
            Err(error) => ("no answer".to_owned(), error.to_string()),
        };
        let done = answer.ok().filter(|answer| answer.status < 300);
        let failed = seen.count(name, done.is_none(), took);
        if done.is_none() && failed <= SHOWN {
            eprintln!("{} {}: {whole}", call.method, call.path);
        }
        next = done.and_then(|answer| match then {
            Then::Refund => Some((migrating.merchant.refunds(&answer.text("/payment_id"), "1"), Then::Nothing)),
            Then::ApproveAndSpend(call) => {
                let path = format!("/v1/admin/approvals/{}/approve", answer.text("/approval_id"));
                let approval = Call::post(&path, &migrating.world.second.who, &json!({})).key(new_key());
                Some((approval, Then::Spend(call)))
            }
            Then::Spend(call) => Some((call, Then::Nothing)),
            Then::Nothing => None,
        });
        tokio::time::sleep(pause).await;
    }
}

async fn anything(migrating: &Migrating, dice: &mut Dice) -> (Call, Then) {
    let (world, merchant, all) = (&migrating.world, &migrating.merchant, u64::from(migrating.customers));
    let at = dice.below(all);
    let customer = async |number: u64| migrating.customer(u32::try_from(number % all).expect("a customer")).await;
    let one = customer(at).await;
    let yen = (1 + dice.below(40)).to_string();
    match dice.below(10) {
        0 => (one.sends(&customer(at + 1 + dice.below(all - 1)).await, &yen), Then::Nothing),
        1 => {
            let phone = if dice.below(2) == 0 { json!(null) } else { json!("+81-3-1234-5678") };
            (Call::patch("/v1/me", &one.who, &json!({ "phone": phone })).key(new_key()), Then::Nothing)
        }
        2 => {
            let (asset, spent) = match dice.below(2) {
                0 => ("POINT", json!({"points": "5"})),
                _ => ("REGIONAL#aoba", json!({"regional": {"aoba": "5"}})),
            };
            let mut pay = json!({"merchant_id": merchant.id, "amount": "20"});
            pay.as_object_mut().expect("a map").extend(spent.as_object().expect("a map").clone());
            let grant = json!({"customer_id": one.id, "asset": asset, "amount": "5", "reason": "for a test"});
            let given = Call::post("/v1/admin/grants", &world.operator.who, &grant).key(new_key());
            (given, Then::ApproveAndSpend(one.pays(merchant, "20").json(&pay)))
        }
        3 => (Call::get("/v1/me/balances", &one.who), Then::Nothing),
        4 => (Call::get("/v1/me/transactions?limit=20", &one.who), Then::Nothing),
        5..=6 => (one.pays(merchant, &yen), Then::Refund),
        _ => (one.pays(merchant, &yen), Then::Nothing),
    }
}

//! A thousand payments by 32 clients from ten customers to one merchant, each request sent one to three times.
//! Totals are exact, nothing is doubled, and payments of two customers share no item.
use futures::future::join_all;
use ledger_runtime::clock::Clock;
use ledger_tests::http::tap::{Attempts, Tap};
use ledger_tests::http::{Answer, Call, Customer, Host, World};
use std::collections::{BTreeMap, BTreeSet};

const PAYMENTS: usize = 1_000;
const CLIENTS: usize = 32;
const CUSTOMERS: usize = 10;
const OPENING: u64 = 10_000;

/// One payment: its customer, amount, repetitions and request.
struct Payment {
    customer: usize,
    yen: u64,
    times: usize,
    at_once: bool,
    call: Call,
}

impl Payment {
    fn plan(number: usize, customers: &[Customer], merchant: &ledger_tests::http::Merchant) -> Self {
        let (customer, yen) = (number % CUSTOMERS, 1 + (number as u64 * 7) % 40);
        let call = customers[customer].pays(merchant, &yen.to_string());
        Self { customer, yen, times: 1 + number % 3, at_once: (number / 3).is_multiple_of(2), call }
    }

    /// Sends the request `times` times, at once or one after the other.
    async fn send(&self, world: &World) -> Vec<Answer> {
        let send = || world.api.settle(&self.call);
        if self.at_once {
            return join_all((0..self.times).map(|_| send())).await;
        }
        let mut answers = Vec::new();
        for _ in 0..self.times {
            answers.push(send().await);
        }
        answers
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousand_repeated_payments_are_each_applied_once() {
    let tap = Tap::default();
    let wire = tap.clone();
    let host = Host::with_app(|backend| async move {
        wire.app((&backend.dynamodb_url, &backend.table), Attempts::Retried, Clock::system(), &backend.stripe).await
    });
    let world = World::with_terms(host, "load", |_| {}).await;
    let merchant = world.merchant().await;
    let opening = OPENING.to_string();
    let customers = join_all((0..CUSTOMERS).map(|_| world.customer_with(&opening))).await;
    let payments: Vec<_> = (0..PAYMENTS).map(|number| Payment::plan(number, &customers, &merchant)).collect();
    let _ = tap.take();

    let clients = (0..CLIENTS).map(|client| {
        let (world, own) = (&world, payments.iter().skip(client).step_by(CLIENTS));
        async move {
            for payment in own {
                let answers = payment.send(world).await;
                let first = answers.first().expect("sent at least once");
                assert_eq!(first.status, 201, "{first:?}");
                assert!(answers.iter().all(|answer| answer.stored() == first.stored()), "{answers:?}");
                let fresh = answers.iter().filter(|answer| !answer.replayed()).count();
                assert_eq!(fresh, 1, "{answers:?}");
            }
        }
    });
    join_all(clients).await;

    let books = world.check_books().await;
    assert_eq!(books.entries_of("pay"), PAYMENTS);
    assert_eq!(books.under("PAYMENT").count(), PAYMENTS);
    let total: u64 = payments.iter().map(|payment| payment.yen).sum();
    assert_eq!(books.posted(&format!("merchant:{}", merchant.id), "ECOPAY"), total.into());
    for (at, customer) in customers.iter().enumerate() {
        let spent: u64 = payments.iter().filter(|payment| payment.customer == at).map(|payment| payment.yen).sum();
        assert_eq!(world.balance(customer, "ECOPAY").await, (OPENING - spent).to_string());
    }
    assert_nothing_shared(&tap);
}

/// Asserts from the transactions sent that each item belongs to one customer's payments.
fn assert_nothing_shared(tap: &Tap) {
    let mut touched_by = BTreeMap::<(String, String), BTreeSet<String>>::new();
    let mut writes = 0;
    for seen in tap.take().into_iter().filter(|seen| seen.target == "TransactWriteItems") {
        let keys = seen.keys();
        let (payer, marker) = keys.first().cloned().expect("a transaction has items");
        assert!(payer.starts_with("load#customer#") && marker.starts_with("card_op_idem#pay#"), "{payer} {marker}");
        for key in keys {
            touched_by.entry(key).or_default().insert(payer.clone());
        }
        writes += 1;
    }
    assert!(writes >= 2 * PAYMENTS - 1, "every request must write: {writes}");
    let shared: Vec<_> = touched_by.iter().filter(|(_, payers)| payers.len() > 1).collect();
    assert!(shared.is_empty(), "no item may be in the payments of several customers: {shared:?}");
}

//! Posting days and their totals: equal to the journal, however and whenever they are asked for.

use futures::future::join;
use ledger_core::account::Account;
use ledger_core::journal::JournalEntry;
use ledger_core::time::BusinessDate;
use ledger_runtime::figures::Folded;
use ledger_runtime::publishing::Publisher;
use ledger_tests::audit::opt_text;
use ledger_tests::cloud::gate;
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::figures::{final_part, fold, lines, sum};
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::{Attempts, Fault, Seen, Tap};
use ledger_tests::http::terms::timed_with;
use ledger_tests::http::topup_rig::TestClock;
use ledger_tests::http::{Call, Customer, Merchant, Terminal, World};
use ledger_tests::share;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const EVERY: fn(Account) -> bool = |_| true;
const HOUR: Duration = Duration::from_secs(60 * 60);

/// A tenant with two merchants, a terminal, and entries of many operations.
pub(crate) struct Town {
    pub(crate) world: World,
    pub(crate) clock: TestClock,
    pub(crate) customers: [Customer; 2],
    pub(crate) merchants: [Merchant; 2],
    terminal: Terminal,
    pub(crate) card: String,
}

impl Town {
    /// A tenant whose clock begins at noon in Japan, so that a test is over before the day is.
    pub(crate) async fn new(name: &str) -> Self {
        Self::open(TestClock::default(), name).await
    }

    /// The same with a clock that the test has set.
    pub(crate) async fn open(clock: TestClock, name: &str) -> Self {
        let (world, clock) = timed_with(clock, name, |_| {}).await;
        let since_midnight = world.app.now().since(today(&world).bounds().0);
        clock.forward((HOUR * 36).saturating_sub(since_midnight));
        let customers = [world.customer_with("9000").await, world.customer_with("500").await];
        let merchants = [world.merchant().await, world.merchant().await];
        let terminal = world.till(&merchants[0], "100000").await;
        let card = world.card(Some(&customers[1]), "700").await;
        Self { world, clock, customers, merchants, terminal, card }
    }

    /// Payments, a refund, a transfer, a grant, and a card's top-up and payment.
    pub(crate) async fn trade(&self) {
        let [anna, ben] = &self.customers;
        let paid = self.world.api.settle(&anna.pays(&self.merchants[0], "1000")).await.good().text("/payment_id");
        let _ = self.world.api.settle(&anna.pays(&self.merchants[1], "30")).await.good();
        let _ = self.world.api.settle(&self.merchants[0].refunds(&paid, "400")).await.good();
        let _ = self.world.api.settle(&anna.sends(ben, "70")).await.good();
        self.world.grant(ben, "POINT", "5").await;
        self.till("topup", "2000").await;
        self.till("pay", "250").await;
    }

    /// A card operation of the terminal, signed by the clock of the functions.
    async fn till(&self, verb: &str, amount: &str) {
        let (api, now) = (&self.world.api, self.world.app.now().seconds());
        let call = self.terminal.does(verb, &self.card, &json!({"amount": amount}));
        let headers = api.signed(&call, &self.terminal.credential, now);
        let _ = api.exchange(&call, &headers).await.expect("a response").good();
    }

    /// Goes to noon of the next day, when every day before is closed.
    pub(crate) fn next_noon(&self) {
        let (_, midnight) = today(&self.world).bounds();
        self.clock.forward(midnight.since(self.world.app.now()) + HOUR * 12);
    }

    /// The totals of one day.
    async fn day(&self, date: BusinessDate) -> Value {
        let found = self.world.totals("day", (date, date), 20).await;
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    }
}

pub(crate) fn today(world: &World) -> BusinessDate {
    world.app.now().business_date()
}

fn posted_on(date: BusinessDate) -> impl Fn(&JournalEntry) -> bool {
    move |entry| entry.created_at.business_date() == date
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_equal_the_journal_before_and_after_the_day_is_closed() {
    let town = Town::new("figures-day").await;
    let world = &town.world;
    let date = today(world);
    town.trade().await;
    let _ = world.seal().await.expect("the run succeeds");
    // Nothing is folded: the totals are made of the segments.
    let unfolded = town.day(date).await;
    let journal = world.added_up(posted_on(date), EVERY).await;
    assert_eq!((&unfolded["status"], lines(&unfolded)), (&json!("provisional"), journal.clone()));
    assert_eq!((&unfolded["active_customers"], &unfolded["active_cards"]), (&json!(2), &json!(1)));
    assert_eq!(unfolded["new_customers"], 2);
    let folded = world.fold().await;
    assert_eq!((folded.batches, folded.days), (1, 1), "the days before today are finished, which have no entries");
    assert_eq!(town.day(date).await, unfolded);
    // Entries that are sealed after the batch are added to what is folded.
    town.trade().await;
    let _ = world.seal().await.expect("the run succeeds");
    assert_eq!(world.fold().await, Folded::default(), "an hour has not passed");
    let later = town.day(date).await;
    let journal = world.added_up(posted_on(date), EVERY).await;
    assert_eq!(lines(&later), journal);
    town.next_noon();
    let folded = world.seal_and_fold().await;
    assert_eq!((folded.batches, folded.days), (1, 1));
    let closed = town.day(date).await;
    assert_eq!((&closed["status"], lines(&closed)), (&json!("closed"), journal));
    assert_eq!(final_part(&closed), final_part(&later));
    town.trade().await;
    let _ = world.seal_and_fold().await;
    assert_eq!(town.day(date).await, closed);
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_of_merchants_and_terminals_equal_the_journal_and_each_other() {
    let town = Town::new("figures-by").await;
    let world = &town.world;
    let first = today(world);
    town.trade().await;
    let _ = world.seal_and_fold().await;
    town.next_noon();
    town.trade().await;
    let _ = world.seal_and_fold().await;
    town.next_noon();
    town.trade().await;
    let _ = world.seal().await.expect("the run succeeds");
    let days = (first, today(world));
    let by_day = world.totals("day", days, 2).await;
    assert_eq!(by_day.len(), 3);
    let every = |_: &JournalEntry| true;
    assert_eq!(sum(&by_day), world.added_up(every, EVERY).await);
    for limit in [1, 20] {
        let by_merchant = world.totals("merchant", days, limit).await;
        assert_eq!(by_merchant.len(), 2);
        let is_merchant = |account| matches!(account, Account::Merchant(_));
        let merchants = world.added_up(every, is_merchant).await;
        assert_eq!(sum(&by_merchant), merchants);
        for merchant in &by_merchant {
            let id = merchant["merchant_id"].as_str().expect("an id").to_owned();
            let own = |account: Account| account.to_string() == format!("merchant:{id}");
            assert_eq!(lines(merchant), world.added_up(every, own).await);
            let member = town.merchants.iter().find(|merchant| merchant.id == id).expect("a merchant");
            let path = format!("/v1/merchant/totals?from={}&to={}", days.0, days.1);
            let page = world.api.send(&Call::get(&path, &member.who)).await.good().json();
            let by_day = page["items"].as_array().expect("days");
            assert_eq!((by_day.len(), sum(by_day)), (3, lines(merchant)));
            let balance = by_day[2]["balances"][0]["balance"].as_str().expect("a balance");
            let posted = world.books().await.posted(&format!("merchant:{id}"), "ECOPAY");
            assert_eq!(balance.parse(), Ok(posted));
        }
        let by_terminal = world.totals("terminal", days, limit).await;
        assert_eq!(by_terminal.len(), 1);
        assert_eq!(by_terminal[0]["terminal_id"], town.terminal.id.as_str());
        let is_till = |entry: &JournalEntry| entry.operation.starts_with("card_");
        let is_card = |account| matches!(account, Account::Card(_));
        assert_eq!(lines(&by_terminal[0]), world.added_up(is_till, is_card).await);
    }
    assert_eq!(world.totals("merchant", (days.1, days.1), 20).await[0]["status"], "provisional");
    assert_eq!(world.totals("merchant", (first, first), 20).await[0]["status"], "closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balances_of_a_day_are_those_of_the_books() {
    let town = Town::new("figures-balances").await;
    let world = &town.world;
    let first = today(world);
    for _ in 0..3 {
        town.trade().await;
        let _ = world.seal_and_fold().await;
        let books = world.check_books().await;
        let shown = town.day(today(world)).await;
        let mut sums = std::collections::BTreeMap::<String, rust_decimal::Decimal>::new();
        for line in shown["balances"].as_array().expect("balances") {
            let text = |name: &str| line[name].as_str().expect("a text").to_owned();
            let balance: rust_decimal::Decimal = text("balance").parse().expect("a number");
            *sums.entry(text("asset")).or_default() += balance;
            let posted = match text("accounts").as_str() {
                class @ ("customers" | "cards" | "merchants") => {
                    let prefix = format!("{}:", class.trim_end_matches('s'));
                    books.posted_under(&prefix, &text("asset"))
                }
                own => books.posted(own, &text("asset")),
            };
            assert_eq!(balance, posted, "{line}");
        }
        assert!(sums.values().all(rust_decimal::Decimal::is_zero), "{shown}");
        town.next_noon();
    }
    let _ = world.seal_and_fold().await;
    let days = world.totals("day", (first, today(world)), 20).await;
    assert!(days.iter().take(3).all(|day| day["status"] == "closed"), "{days:#?}");
    assert_eq!(days[3]["balances"], days[2]["balances"], "no entry was posted today");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entry_that_is_sealed_after_its_day_was_closed_is_posted_to_the_open_day() {
    let town = Town::new("figures-late").await;
    let world = &town.world;
    let date = today(world);
    town.trade().await;
    let _ = world.seal_and_fold().await;
    let _ = world.api.settle(&town.customers[0].pays(&town.merchants[0], "11")).await.good();
    let sealed = lines(&town.day(date).await);
    town.next_noon();
    // The worker that seals is behind: the day is closed without the entry.
    let folded = world.fold().await;
    assert_eq!(folded.days, 1);
    let closed = town.day(date).await;
    assert_eq!((&closed["status"], lines(&closed)), (&json!("closed"), sealed));
    let _ = world.seal_and_fold().await;
    assert_eq!(town.day(date).await, closed);
    let next = lines(&town.day(date.next()).await);
    let is_late = |entry: &JournalEntry| {
        entry.operation == "pay" && entry.postings.iter().any(|posting| posting.delta.text() == "11")
    };
    assert_eq!(next, world.added_up(is_late, EVERY).await);
    assert!(!next.is_empty());
    let total = world.totals("day", (date, date.next()), 20).await;
    assert_eq!(sum(&total), world.added_up(|_| true, EVERY).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_entry_is_added_once_with_a_fault_at_every_write() {
    let shop = Settling::new("figures-faults").await;
    let (world, tenant) = (&shop.world, shop.world.slug());
    // The worker's clock is behind, so that days end for it while entries are of one day.
    shop.hand.skew_s(-60 * 24 * 60 * 60);
    let mut writes = 0;
    for (fault, round) in [Fault::Refused, Fault::AnswerCut].into_iter().zip(1_u32..) {
        for nth in share::writes() {
            let _ = shop.take("100").await;
            let _ = world.seal().await.expect("the run succeeds");
            // A day has ended for the worker: it is closed and finished.
            shop.hand.forward(HOUR * 24);
            shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(fault.clone())]));
            let _ = fold(&shop.app, &tenant).await;
            let missed = shop.tap.faults_left();
            shop.tap.forget_faults();
            // Two workers finish what the first one has left.
            let (one, two) = join(fold(&shop.app, &tenant), fold(&shop.app, &tenant)).await;
            let _ = (one.expect("the run succeeds"), two.expect("the run succeeds"));
            let shown = world.totals("day", (today(world), today(world)), 20).await;
            assert_eq!(sum(&shown), world.added_up(|_| true, EVERY).await, "{fault:?} {round}, write {nth}");
            writes = writes.max(nth);
            if missed > 0 {
                break;
            }
        }
    }
    assert!(writes > 4, "only {writes} writes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_are_refused_for_days_that_are_not_in_order_and_without_permission() {
    let town = Town::new("figures-refused").await;
    let world = &town.world;
    let at = |query: &str| Call::get(&format!("/v1/admin/totals?{query}"), &world.operator.who);
    let date = today(world);
    let wrong = world.api.send(&at(&format!("from={}&to={date}", date.next()))).await;
    assert_eq!(wrong.problem(400, "invalid_request").text("/detail"), "from: must not be after `to`");
    for query in ["from=yesterday", "to=2026-02-30", "by=till", "by=merchant&cursor=x", "limit=0", "hello=1"] {
        let _ = world.api.send(&at(query)).await.problem(400, "invalid_request");
    }
    let many = world.api.send(&at(&format!("from={}&to={date}&by=merchant", date.days_before(400)))).await;
    let many = many.problem(400, "invalid_request");
    assert_eq!(many.text("/detail"), "from: must be less than 400 days before `to`");
    assert_eq!(world.totals("merchant", (date.days_before(399), date), 20).await, Vec::<Value>::new());
    // The day after today has no totals, and a cursor after the last day has none after it.
    town.trade().await;
    let _ = world.seal().await.expect("the run succeeds");
    for by in ["day", "merchant"] {
        let none = world.totals(by, (date.next(), date.next()), 20).await;
        assert!(none.iter().all(|item| lines(item).is_empty()), "{none:?}");
    }
    let first = world.api.send(&at(&format!("from={}&to={}&limit=1", date.days_before(1), date))).await.good();
    let cursor = first.text("/next_cursor");
    let past = format!("from={0}&to={0}&limit=1&cursor={cursor}", date.days_before(3));
    assert_eq!(world.api.send(&at(&past)).await.good().json()["items"], json!([]));
}

/// What closes the missed days does not return, so only what is beside it can seal the payment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payment_is_credited_while_missed_days_are_closed() {
    let town = Town::new("figures-missed").await;
    let world = &town.world;
    town.trade().await;
    let _ = world.seal_and_fold().await;
    (0..3).for_each(|_| town.next_noon());
    let tap = Tap::default();
    let app = world.tapped(&tap, Attempts::OneUnlimited, &town.clock).await;
    tap.writes_to(Some(("#totals", Fault::Held)));
    let publisher = Publisher::new(&app, Arc::new(EventTap::default()));
    let tenant = world.slug();
    let run = gate::as_function("outbox", outbox::pass_and_fold(&app, Some(&publisher), &tenant));
    let pays = async {
        let closes = |call: &Seen| {
            call.target == "TransactWriteItems" && call.keys().iter().any(|(pk, _)| pk.contains("#totals"))
        };
        let is_closing = || tap.take().iter().any(closes);
        while !is_closing() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let paid = world.api.settle(&town.customers[0].pays(&town.merchants[0], "11")).await.good();
        let entry = format!("TXN#{}", paid.text("/transaction_id"));
        let is_due = async || {
            let books = world.books().await;
            let row = books.rows.iter().find(|((_, sk), _)| *sk == entry).expect("the entry").1.clone();
            opt_text(&row, "_due_sk").is_some()
        };
        while is_due().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        ended = run => panic!("the days are closed while nothing is written: {ended:?}"),
        () = pays => {}
    }
    tap.forget_faults();
    assert_eq!(world.seal_and_fold().await.days, 3);
    let _ = world.check_books().await;
}

//! Balances at a past instant: the sums of the entries before it, however they are folded.

use super::figures::{Town, today};
use ledger_core::account::Account;
use ledger_core::ids::TransactionId;
use ledger_core::journal::JournalEntry;
use ledger_core::time::{BusinessDate, Timestamp};
use ledger_tests::http::figures::fold;
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::{Call, World};
use rust_decimal::Decimal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// The balances of an account; those of zero are left out.
type Balances = BTreeMap<String, Decimal>;

/// The entries of a tenant, each with the instant from which balances have it.
struct Journal(Vec<(Timestamp, JournalEntry)>);

impl Journal {
    /// All entries. `late` has those that are posted to a later day than their own.
    async fn read(world: &World, late: &BTreeMap<TransactionId, BusinessDate>) -> Self {
        let rows = world.books().await;
        let entries = rows.under("TXN#").map(|(_, _, row)| JournalEntry::read(row).expect("an entry"));
        let at = |entry: &JournalEntry| late.get(&entry.id).map_or(entry.created_at, |day| day.bounds().0);
        Self(entries.map(|entry| (at(&entry), entry)).collect())
    }

    fn accounts(&self) -> BTreeSet<Account> {
        self.0.iter().flat_map(|(_, entry)| entry.postings.iter().map(|posting| posting.account)).collect()
    }

    /// Every instant at which balances change, and the one after it.
    fn instants(&self) -> BTreeSet<Timestamp> {
        self.0.iter().flat_map(|(at, _)| [*at, at.plus(Duration::from_millis(1))]).collect()
    }

    fn balances(&self, account: Account, at: Timestamp) -> Balances {
        let mut sums = Balances::new();
        for (_, entry) in self.0.iter().filter(|(posted_at, _)| *posted_at < at) {
            for posting in entry.postings.iter().filter(|posting| posting.account == account) {
                *sums.entry(posting.delta.asset().to_string()).or_default() += posting.delta.value();
            }
        }
        sums.retain(|_, sum| !sum.is_zero());
        sums
    }

    /// Compares every account at every instant with what the API shows.
    async fn check(&self, world: &World) {
        for at in self.instants() {
            for account in self.accounts() {
                let shown = shown(world, account, &at.to_string()).await;
                assert_eq!(balances(&shown), self.balances(account, at), "{account} at {at}");
            }
        }
    }
}

fn path(account: &str) -> String {
    format!("/v1/admin/accounts/{account}/balance")
}

/// The balances of an account at an instant, as the API shows them.
async fn shown(world: &World, account: Account, at: &str) -> Value {
    world
        .api
        .send(&Call::get(&format!("{}?at={at}", path(&account.to_string())), &world.operator.who))
        .await
        .good()
        .json()
}

fn balances(shown: &Value) -> Balances {
    let text = |line: &Value, name: &str| line[name].as_str().expect("a text").to_owned();
    let line = |line: &Value| (text(line, "asset"), text(line, "balance").parse().expect("a number"));
    shown["balances"].as_array().expect("balances").iter().map(line).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balances_at_every_instant_are_the_sums_of_the_entries_before_it() {
    let town = Town::new("balances").await;
    let world = &town.world;
    let first = today(world);
    // Three batches on the first day, and then one of every day.
    for _ in 0..2 {
        town.trade().await;
        town.clock.forward(HOUR * 2);
        let _ = world.seal_and_fold().await;
    }
    for _ in 0..2 {
        town.trade().await;
        let _ = world.seal_and_fold().await;
        town.next_noon();
    }
    // The last trade is not folded.
    let _ = world.seal_and_fold().await;
    town.trade().await;
    let _ = world.seal().await.expect("the run succeeds");
    let journal = Journal::read(world, &BTreeMap::new()).await;
    assert!(journal.accounts().len() > 6, "{:?}", journal.accounts());
    journal.check(world).await;
    let merchant = Account::parse(&format!("merchant:{}", town.merchants[0].id)).expect("an account");
    // The first closing is that of all earlier days.
    for account in [customer(&town, 0), merchant] {
        assert_eq!(shown(world, account, &first.days_before(9).to_string()).await["status"], "closed", "{account}");
    }
    for (at, status) in [(first, "closed"), (first.next(), "closed")] {
        let shown = shown(world, merchant, &at.to_string()).await;
        assert_eq!((&shown["status"], balances(&shown)), (&status.into(), journal.balances(merchant, at.bounds().1)));
    }
    let present = shown(world, merchant, &world.app.now().to_string()).await;
    assert_eq!(present["status"], "provisional");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balances_have_an_entry_that_was_sealed_late_from_its_posting_day_on() {
    let town = Town::new("balances-late").await;
    let world = &town.world;
    let date = today(world);
    town.trade().await;
    let _ = world.seal_and_fold().await;
    let before: BTreeSet<TransactionId> = ids(world).await;
    let _ = world.api.settle(&town.customers[0].pays(&town.merchants[0], "11")).await.good();
    let _ = world.api.settle(&town.customers[0].sends(&town.customers[1], "7")).await.good();
    town.next_noon();
    // The worker that seals is behind: the day is closed without the entries.
    assert_eq!(world.fold().await.days, 1);
    let late = ids(world).await.difference(&before).map(|id| (*id, date.next())).collect::<BTreeMap<_, _>>();
    assert_eq!(late.len(), 2);
    let closed = shown(world, customer(&town, 0), &date.to_string()).await;
    let _ = world.seal_and_fold().await;
    town.trade().await;
    let _ = world.seal().await.expect("the run succeeds");
    Journal::read(world, &late).await.check(world).await;
    assert_eq!(shown(world, customer(&town, 0), &date.to_string()).await, closed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balances_have_an_entry_that_was_sealed_after_the_first_closing_from_the_day_after_it_on() {
    let town = Town::new("balances-first").await;
    let world = &town.world;
    let date = today(world);
    town.trade().await;
    let _ = world.seal().await.expect("the run succeeds");
    let before = ids(world).await;
    let _ = world.api.settle(&town.customers[0].pays(&town.merchants[0], "11")).await.good();
    town.next_noon();
    town.next_noon();
    // The first closing is that of the next day, and the entry is not sealed.
    assert_eq!(world.fold().await.days, 1);
    let late: BTreeMap<_, _> = ids(world).await.difference(&before).map(|id| (*id, date.next().next())).collect();
    let _ = world.seal_and_fold().await;
    Journal::read(world, &late).await.check(world).await;
    let at = date.to_string();
    assert_eq!(shown(world, customer(&town, 0), &at).await["status"], "closed");
}

fn customer(town: &Town, at: usize) -> Account {
    Account::parse(&format!("customer:{}", town.customers[at].id)).expect("an account")
}

async fn ids(world: &World) -> BTreeSet<TransactionId> {
    Journal::read(world, &BTreeMap::new()).await.0.into_iter().map(|(_, entry)| entry.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balances_are_right_while_a_batch_is_added() {
    let shop = Settling::new("balances-batch").await;
    let (world, tenant) = (&shop.world, shop.world.slug());
    // The worker's clock is behind, so that days end for it while entries are of one day.
    shop.hand.skew_s(-60 * 24 * 60 * 60);
    let mut nth = 0;
    loop {
        let _ = shop.take("100").await;
        let _ = world.seal().await.expect("the run succeeds");
        // A worker stops at this write.
        shop.hand.forward(HOUR * 24);
        shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(Fault::Refused)]));
        let _ = fold(&shop.app, &tenant).await;
        let missed = shop.tap.faults_left();
        shop.tap.forget_faults();
        let journal = Journal::read(world, &BTreeMap::new()).await;
        let now = world.app.now().to_string();
        for account in journal.accounts() {
            let shown = shown(world, account, &now).await;
            assert_eq!(balances(&shown), journal.balances(account, world.app.now()), "{account}, write {nth}");
        }
        let _ = fold(&shop.app, &tenant).await.expect("the run succeeds");
        if missed > 0 {
            break;
        }
        nth += 1;
    }
    assert!(nth > 3, "only {nth} writes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trial_balance_of_a_day_sums_to_zero_and_goes_on_with_the_next_day() {
    let town = Town::new("trial").await;
    let world = &town.world;
    let first = today(world);
    for _ in 0..2 {
        town.trade().await;
        let _ = world.seal_and_fold().await;
        town.next_noon();
    }
    let _ = world.seal_and_fold().await;
    let trial = async |date: BusinessDate| {
        let path = format!("/v1/admin/trial-balance?date={date}");
        world.api.send(&Call::get(&path, &world.operator.who)).await.good().json()
    };
    let (one, two) = (trial(first).await, trial(first.next()).await);
    let number =
        |line: &Value, name: &str| -> Decimal { line[name].as_str().expect("a text").parse().expect("a number") };
    let by_class = |trial: &Value, name: &str| {
        let lines = trial["lines"].as_array().expect("lines").iter();
        let key = |line: &Value| (line["accounts"].to_string(), line["asset"].to_string());
        lines.map(|line| (key(line), number(line, name))).filter(|(_, sum)| !sum.is_zero()).collect::<BTreeMap<_, _>>()
    };
    for day in [&one, &two] {
        assert_eq!(day["status"], "closed");
        let mut sums = BTreeMap::<String, Decimal>::new();
        for line in day["lines"].as_array().expect("lines") {
            let closing = number(line, "opening") + number(line, "gained") - number(line, "lost");
            assert_eq!(closing, number(line, "closing"), "{line}");
            *sums.entry(line["asset"].to_string()).or_default() += closing;
        }
        assert!(sums.len() > 1 && sums.values().all(Decimal::is_zero), "{day}");
    }
    assert_eq!(by_class(&one, "opening"), BTreeMap::new());
    assert_eq!(by_class(&one, "closing"), by_class(&two, "opening"));
    let tomorrow = format!("/v1/admin/trial-balance?date={}", today(world).next());
    let refused = world.api.send(&Call::get(&tomorrow, &world.operator.who)).await.problem(400, "invalid_request");
    assert_eq!(refused.text("/detail"), "date: must not be after today");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balance_is_refused_for_instants_that_are_malformed_or_to_come_and_for_unknown_accounts() {
    let town = Town::new("balances-refused").await;
    let world = &town.world;
    let own = path(&customer(&town, 0).to_string());
    let get = |path: String| Call::get(&path, &world.operator.who);
    let later = today(world).next();
    for at in ["", "?at=", "?at=yesterday", "?at=2026-02-30", "?at=2026-04-01T00:00:00+09:00", "?at=2026-01-01&by=day"]
    {
        let _ = world.api.send(&get(format!("{own}{at}"))).await.problem(400, "invalid_request");
    }
    for at in [today(world).to_string(), later.to_string(), later.bounds().0.to_string()] {
        let refused = world.api.send(&get(format!("{own}?at={at}"))).await.problem(400, "invalid_request");
        assert_eq!(refused.text("/detail"), "at: must not be after the present");
    }
    let at = "at=2026-01-01T00:00:00%2B09:00";
    let unknown = "01890a5d-ac96-774b-bcce-b302099a8001";
    for account in ["customer:", "card:", "merchant:", "terminal:", ""].map(|kind| format!("{kind}{unknown}")) {
        let _ = world.api.send(&get(format!("{}?{at}", path(&account)))).await.problem(404, "not_found");
    }
    let shown = world.api.send(&get(format!("{own}?{at}"))).await.good().json();
    assert_eq!((shown["status"].as_str(), balances(&shown)), (Some("provisional"), Balances::new()));
}

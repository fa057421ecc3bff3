//! A fiscal year of a whole programme, or its last three months: every report equals the journal and every other report.

use ledger_core::account::Account;
use ledger_core::journal::JournalEntry;
use ledger_core::time::{BusinessDate, Timestamp};
use ledger_local::stack::{Stack, StackConfig};
use ledger_local::year::{self, Span, Stage, Year};
use ledger_tests::audit::Books;
use ledger_tests::http::figures::{added_up, lines, sum};
use ledger_tests::http::{Call, World};
use ledger_tests::share;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Account and asset.
type Key = (String, String);

/// A played year, and what its journal has.
struct Played {
    world: World,
    year: Year,
    books: Books,
    journal: Vec<JournalEntry>,
}

impl Played {
    async fn read(stack: &Stack, year: Year) -> Self {
        let store = (stack.dynamodb_url(), stack.table());
        let mut world = World::at(&stack.url(), store, year.tenant.as_str(), year.owners.clone()).await;
        world.app = world.app.with_files(Arc::new(stack.downloads().clone()));
        let books = world.check_books().await;
        let journal = books.under("TXN#").map(|(_, _, row)| JournalEntry::read(row).expect("an entry")).collect();
        Self { world, year, books, journal }
    }

    /// The last days of the months of the fiscal year.
    fn month_ends(&self) -> Vec<BusinessDate> {
        let mut ends = vec![self.year.days.0.last_of_month()];
        while let Some(last) = ends.last().filter(|last| **last < self.year.days.1) {
            ends.push(last.next().last_of_month());
        }
        ends
    }

    async fn get(&self, path: &str) -> Value {
        self.world.api.send(&Call::get(path, &self.world.operator.who)).await.good().json()
    }

    /// The balances of all accounts before an instant, by the journal alone; those of zero are left out.
    fn balances(&self, at: Timestamp) -> BTreeMap<Key, Decimal> {
        let mut sums = BTreeMap::<Key, Decimal>::new();
        for posting in self.journal.iter().filter(|entry| entry.created_at < at).flat_map(|entry| &entry.postings) {
            let key = (posting.account.to_string(), posting.delta.asset().to_string());
            *sums.entry(key).or_default() += posting.delta.value();
        }
        sums.retain(|_, sum| !sum.is_zero());
        sums
    }

    /// The same, by class of accounts.
    fn by_class(&self, at: Timestamp) -> BTreeMap<Key, Decimal> {
        let mut sums = BTreeMap::<Key, Decimal>::new();
        for ((account, asset), balance) in self.balances(at) {
            let class = match account.split_once(':') {
                Some((kind, _)) => format!("{kind}s"),
                None => account,
            };
            *sums.entry((class, asset)).or_default() += balance;
        }
        sums.retain(|_, sum| !sum.is_zero());
        sums
    }

    /// The totals of a group over days, by id. A request is of less than a year.
    async fn totals_of_group(
        &self,
        (by, id): (&str, &str),
        (mut from, last): (BusinessDate, BusinessDate),
        limit: usize,
    ) -> BTreeMap<String, Vec<Value>> {
        let mut found = BTreeMap::<String, Vec<Value>>::new();
        while from <= last {
            let to = last.min(from.days_after(250));
            for totals in self.world.totals(by, (from, to), limit).await {
                found.entry(text(&totals, id)).or_default().push(totals);
            }
            from = to.next();
        }
        found
    }

    /// Totals by day, merchant and terminal equal the journal.
    async fn check_totals(&self) {
        let (world, days) = (&self.world, (self.year.days.0, self.world.app.now().business_date()));
        let by_day = world.totals("day", days, 100).await;
        assert_eq!(sum(&by_day), added_up(&self.books, |_| true, |_| true));
        // A day that ended while the year was read is closed by the next fold.
        let late = [days.1, days.1.days_before(1)].map(|date| json!(date.to_string()));
        for day in by_day.iter().filter(|day| day["status"] != "closed") {
            assert!(late.contains(&day["date"]), "{day}");
        }
        let by_merchant = self.totals_of_group(("merchant", "merchant_id"), days, 7).await;
        assert_eq!(by_merchant.len(), self.year.merchants.len());
        for (id, totals) in &by_merchant {
            let own = Account::parse(&format!("merchant:{id}")).expect("an account");
            assert_eq!(sum(totals), added_up(&self.books, |_| true, |account| account == own), "{own}");
        }
        let by_terminal = self.totals_of_group(("terminal", "terminal_id"), days, 100).await;
        assert_eq!(by_terminal.len(), 9);
        let is_till =
            |entry: &JournalEntry| ["card_topup", "card_pay", "card_reverse"].contains(&entry.operation.as_str());
        let holds = |account| matches!(account, Account::Customer(_) | Account::Card(_));
        assert_eq!(sum(by_terminal.values().flatten()), added_up(&self.books, is_till, holds));
        // The leap day has payments.
        let leap_day = BusinessDate::parse("2024-02-29").expect("a date");
        let leap = world.totals("day", (leap_day, leap_day), 1).await;
        let of_day = |entry: &JournalEntry| entry.created_at.business_date() == leap_day;
        assert_eq!(lines(&leap[0]), added_up(&self.books, of_day, |_| true));
        assert!(!lines(&leap[0]).is_empty());
    }

    /// Trial balances of the months' ends equal the journal, and each begins as the one before it ends.
    async fn check_trial_balances(&self) {
        let shown = |lines: &Value, name: &str| {
            let lines = lines["lines"].as_array().expect("lines").iter();
            let key = |line: &Value| (text(line, "accounts"), text(line, "asset"));
            lines.map(|line| (key(line), number(&line[name]))).filter(|(_, sum)| !sum.is_zero()).collect()
        };
        for end in self.month_ends() {
            let trial = self.get(&format!("/v1/admin/trial-balance?date={end}")).await;
            let closing: BTreeMap<Key, Decimal> = shown(&trial, "closing");
            assert_eq!(closing, self.by_class(end.bounds().1), "{end}");
            let next = self.get(&format!("/v1/admin/trial-balance?date={}", end.next())).await;
            assert_eq!(shown(&next, "opening"), closing, "{end}");
        }
    }

    /// Balances at the end of the year, and of some accounts at the months' ends, equal the journal.
    async fn check_balances(&self) {
        let last = self.year.days.1;
        let every = self.balances(self.world.app.now());
        let accounts: BTreeSet<&String> = every.keys().map(|(account, _)| account).collect();
        assert!(accounts.len() > 200, "{}", accounts.len());
        let check = async |account: &str, date: BusinessDate, wanted: &BTreeMap<Key, Decimal>| {
            let shown = self.get(&format!("/v1/admin/accounts/{account}/balance?at={date}")).await;
            let lines = shown["balances"].as_array().expect("balances").iter();
            let shown: BTreeMap<String, Decimal> =
                lines.map(|line| (text(line, "asset"), number(&line["balance"]))).collect();
            let wanted = wanted.iter().filter(|((of, _), _)| of == account);
            assert_eq!(shown, wanted.map(|((_, asset), sum)| (asset.clone(), *sum)).collect(), "{account} on {date}");
        };
        let wanted = self.balances(last.bounds().1);
        for account in accounts {
            check(account, last, &wanted).await;
        }
        let some = [&self.year.customers[0], &self.year.customers[99]].map(|id| format!("customer:{id}"));
        let merchants = [0, 19].map(|at: usize| format!("merchant:{}", self.year.merchants[at]));
        let card = format!("card:{}", self.year.cards[0]);
        let all = some.into_iter().chain(merchants).chain([card, "fees".to_owned(), "points_issued".to_owned()]);
        for account in all {
            for end in self.month_ends() {
                check(&account, end, &self.balances(end.bounds().1)).await;
            }
        }
    }

    /// Each merchant's months follow each other, and their invoices and payouts are those of the file of settlements.
    async fn check_statements(&self) {
        let (mut fees, mut tax, mut paid) = (Decimal::ZERO, Decimal::ZERO, Decimal::ZERO);
        let mut months = self.month_ends();
        months.push(self.year.days.1.next().last_of_month());
        for merchant in &self.year.merchants {
            let mut closing = BTreeMap::<String, Decimal>::new();
            for end in &months {
                let path = format!("/v1/admin/statements?merchant_id={merchant}&month={}", end.month());
                let month = self.get(&path).await;
                for of in month["assets"].as_array().expect("assets") {
                    let parts = of["lines"].as_array().expect("lines").iter();
                    let change: Decimal = parts.map(|line| number(&line["gained"]) - number(&line["lost"])).sum();
                    let opening = closing.remove(of["asset"].as_str().expect("an asset")).unwrap_or_default();
                    assert_eq!(number(&of["opening"]), opening, "{path}");
                    assert_eq!(number(&of["closing"]), opening + change, "{path}");
                    closing.insert(text(of, "asset"), number(&of["closing"]));
                }
                let invoices = month["invoices"].as_array().expect("invoices").iter();
                fees += invoices.clone().map(|invoice| number(&invoice["fee"])).sum::<Decimal>();
                tax += invoices.map(|invoice| number(&invoice["tax"])).sum::<Decimal>();
                let payouts = month["payouts"].as_array().expect("payouts").iter();
                paid += payouts.map(|payout| number(&payout["amount"])).sum::<Decimal>();
            }
            closing.retain(|_, sum| !sum.is_zero());
            let own = format!("merchant:{merchant}");
            let all = self.balances(months[months.len() - 1].bounds().1);
            let wanted = all.into_iter().filter(|((account, _), _)| *account == own);
            assert_eq!(closing, wanted.map(|((_, asset), sum)| (asset, sum)).collect(), "{own}");
        }
        // Of each month that was played.
        let played = Decimal::from(self.month_ends().len());
        let [fees_least, paid_least] = [80, 80_000].map(|each| Decimal::from(each) * played);
        assert!(fees > fees_least && paid > paid_least, "{fees}, {paid}");
        let balances = self.balances(months[months.len() - 1].bounds().1);
        let own = |account: &str| balances.get(&(account.to_owned(), "ECOPAY".to_owned())).copied().unwrap_or_default();
        assert_eq!((own("fees"), own("consumption_tax")), (fees, tax));
        let to = self.year.days.1.days_after(30).to_string();
        let content = json!({"kind": "payouts", "from": self.year.days.0.to_string(), "to": to});
        let rows = rows(&self.world.fetched(&content).await);
        let at = |name: &str| rows[0].iter().position(|column| column == name).expect("a column");
        let of = |name: &str, is_in: &dyn Fn(&[String]) -> bool| -> Decimal {
            let rows = rows[1..].iter().filter(|row| is_in(row));
            rows.map(|row| row[at(name)].parse::<Decimal>().unwrap_or_default()).sum()
        };
        // The fee of a settlement whose payout came back is kept, and the next one pays without a fee.
        let was_kept = |row: &[String]| row[at("returned_at")].is_empty();
        assert!(rows.len() > 16 * self.month_ends().len(), "{}", rows.len());
        assert_eq!((of("fee", &|_| true), of("tax", &|_| true), of("payable", &was_kept)), (fees, tax, paid));
    }

    /// The half-year's reports add up, follow each other, and equal the journal.
    async fn check_prepaid_reports(&self) {
        let holders = ["customers", "cards", "unclaimed"];
        let mut before = BTreeMap::<String, Decimal>::new();
        let halves = ["2023-09-30", "2024-03-31"].map(|date| BusinessDate::parse(date).expect("a date"));
        for date in halves.into_iter().filter(|date| *date > self.year.days.0) {
            let report = self.get(&format!("/v1/admin/prepaid-report?date={date}")).await;
            assert_eq!(report["status"], "closed", "{report:#}");
            let classes = self.by_class(date.bounds().1);
            let mut unused = BTreeMap::new();
            for of in report["instruments"].as_array().expect("instruments") {
                let asset = text(of, "asset");
                let held =
                    classes.iter().filter(|((class, held), _)| *held == asset && holders.contains(&class.as_str()));
                assert_eq!(number(&of["unused"]), held.map(|(_, sum)| *sum).sum::<Decimal>(), "{date} {asset}");
                assert_eq!(number(&of["opening"]), before.remove(&asset).unwrap_or_default(), "{date} {asset}");
                unused.insert(asset, number(&of["unused"]));
            }
            assert_eq!(unused.len(), 2, "{report:#}");
            before = unused;
        }
    }

    /// A customer's history is each entry of the journal that changes the customer's balances.
    async fn check_history(&self) {
        let customer = &self.year.customers[0];
        let (from, to) = (self.year.days.0.to_string(), self.year.days.1.to_string());
        let content = json!({"kind": "customer_history", "customer_id": customer, "from": from, "to": to});
        let rows = rows(&self.world.fetched(&content).await);
        let mut sums = BTreeMap::<Key, Decimal>::new();
        for row in &rows[1..] {
            let key = (format!("customer:{customer}"), row[3].clone());
            *sums.entry(key).or_default() += row[4].parse::<Decimal>().expect("a number");
        }
        sums.retain(|_, sum| !sum.is_zero());
        let own = format!("customer:{customer}");
        let mut wanted = self.balances(self.year.days.1.bounds().1);
        wanted.retain(|(account, _), _| *account == own);
        assert!(rows.len() > 5, "{}", rows.len());
        assert_eq!(sums, wanted);
    }

    /// What the year is there for has happened.
    fn check_occasions(&self) {
        let seen: BTreeSet<&str> = self.journal.iter().map(|entry| entry.operation.as_str()).collect();
        let wanted = [
            "pay",
            "charge",
            "refund",
            "transfer",
            "capture",
            "void",
            "hold_expire",
            "card_topup",
            "card_pay",
            "card_bonus",
            "card_reverse",
            "card_replace",
            "card_close",
            "customer_close",
            "unclaimed_payout",
            "bulk_grant",
            "adjustment",
            "topup",
            "topup_refund",
            "clawback",
            "cash_deposit",
            "settlement_fee",
            "settlement_payout",
            "bank_file_debit",
            "settlement_return",
        ];
        let missing: Vec<&str> = wanted.into_iter().filter(|operation| !seen.contains(operation)).collect();
        assert!(missing.is_empty(), "{missing:?} are not among {seen:?}");
    }
}

fn text(of: &Value, name: &str) -> String {
    of[name].as_str().expect("a text").to_owned()
}

fn number(value: &Value) -> Decimal {
    value.as_str().expect("a text").parse().expect("a number")
}

fn rows(file: &str) -> Vec<Vec<String>> {
    let lines = file.trim_start_matches('\u{feff}').trim_end().split("\r\n");
    lines.map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The whole year where every case is run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_report_of_a_year_equals_the_journal_and_every_other() {
    let span = if share::is_whole() { Span::Year } else { Span::LastQuarter };
    let stage = Stage::start(StackConfig::in_memory(), span).await.expect("a stack");
    let year = year::play(&stage, |line| println!("{line}")).await.expect("a year");
    year::go_on_to_the_present(&stage, &year).await.expect("the present");
    let played = Played::read(&stage.stack, year).await;
    played.check_occasions();
    played.check_totals().await;
    played.check_trial_balances().await;
    played.check_balances().await;
    played.check_statements().await;
    played.check_prepaid_reports().await;
    played.check_history().await;
    let report = played.world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report:#}");
    let found = super::audit_trail::verified(&played.world).await;
    assert_eq!(found.findings, []);
    stage.stack.stop().await;
}

//! The books in the model's table, read without the core: what must hold at any moment, and what two
//! tables must agree on.

use crate::desk::{refund_id, topup_id};
use crate::story::Story;
use ledger_core::dynamo::{Item, Value};
use ledger_tests::model::Model;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What two orders of one history must agree on, by name.
pub(crate) type Lines = BTreeMap<String, String>;

/// Sums by account, asset and part.
type Sums = BTreeMap<(String, String, String), Decimal>;

/// The lines of the books: balances, the states of records, and the sums of accounts.
pub(crate) fn lines(model: &Model) -> Lines {
    let mut lines = Lines::new();
    for ((pk, sk), item) in model.iter() {
        let names: &[&str] = match sk.as_str() {
            "BALANCE#ECOPAY" | "BALANCE#POINT" => &["balance", "held", "reserved", "exposure"],
            "TOPUP" => &["state", "payment_intent", "refundable", "points_taken_back", "owed", "due_pk"],
            _ if sk.starts_with("REFUND#") => &["state", "psp_refund", "amount", "paid", "points", "due_pk"],
            _ if sk.starts_with("CLAWBACK#") => &["state", "amount", "round"],
            _ if sk.starts_with("card_op_idem#topup") => &["state", "due_pk"],
            _ => &[],
        };
        for name in names {
            let value = match item.get(*name) {
                Some(Value::S(text) | Value::N(text)) => text,
                Some(Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) | None => "-",
            };
            lines.insert(format!("{pk} {sk} {name}"), value.to_owned());
        }
    }
    let mut sums = BTreeMap::<(String, String), Decimal>::new();
    for ((account, asset, _), sum) in postings(model) {
        *sums.entry((account, asset)).or_default() += sum;
    }
    for ((account, asset), sum) in sums.into_iter().filter(|(_, sum)| !sum.is_zero()) {
        lines.insert(format!("sum of {account} {asset}"), sum.normalize().to_string());
    }
    lines
}

/// The sums of all postings; each entry by itself sums to zero.
fn postings(model: &Model) -> Sums {
    let mut all = Sums::new();
    for ((pk, sk), entry) in model.iter().filter(|((_, sk), _)| sk.starts_with("TXN#")) {
        let mut own = BTreeMap::<&str, Decimal>::new();
        let Some(Value::L(postings)) = entry.get("postings") else { panic!("{pk} {sk} has no postings") };
        for posting in postings {
            let Value::M(posting) = posting else { panic!("{pk} {sk}: {posting:?}") };
            let bucket = if posting.contains_key("bucket") { text(posting, "bucket") } else { "available" };
            let (account, asset, delta) = (text(posting, "account"), text(posting, "asset"), number(posting, "delta"));
            *own.entry(asset).or_default() += delta;
            *all.entry((account.to_owned(), asset.to_owned(), bucket.to_owned())).or_default() += delta;
        }
        assert!(own.values().all(Decimal::is_zero), "{pk} {sk} does not sum to zero: {own:?}");
    }
    all
}

/// What holds at any moment.
pub(crate) fn check(model: &Model) {
    let sums = postings(model);
    let mut reserved = BTreeMap::<String, Decimal>::new();
    let mut held = BTreeMap::<(String, &str), Decimal>::new();
    let mut owed = Decimal::ZERO;
    for ((pk, _), topup) in model.iter().filter(|((_, sk), _)| sk == "TOPUP") {
        let (state, customer) = (text(topup, "state"), format!("customer:{}", text(topup, "customer_id")));
        if state == "requested" || state == "pending" {
            *reserved.entry(customer.clone()).or_default() += number(topup, "charge");
        }
        let of = |prefix: &'static str| {
            model.iter().filter(move |((of, sk), _)| of == pk && sk.starts_with(prefix)).map(|(_, item)| item)
        };
        let mut refundable = if state == "succeeded" { number(topup, "charge") } else { Decimal::ZERO };
        let mut settled = Decimal::ZERO;
        for refund in of("REFUND#") {
            let open = ["requested", "pending"].contains(&text(refund, "state"));
            for (name, asset) in [("amount", "ECOPAY"), ("points", "POINT")] {
                if open {
                    *held.entry((customer.clone(), asset)).or_default() += maybe(refund, name);
                }
            }
            if text(refund, "state") != "failed" {
                refundable -= number(refund, "amount");
                settled += maybe(refund, "settled");
            }
        }
        assert!(refundable >= Decimal::ZERO, "{pk}: more is refunded than was charged");
        let taken = of("CLAWBACK#").filter(|clawback| text(clawback, "state") == "taken");
        refundable -= taken.map(|clawback| number(clawback, "refundable_lowered")).sum::<Decimal>();
        assert_eq!(maybe(topup, "refundable"), refundable, "{pk}: refundable");
        assert_eq!(maybe(topup, "points_taken_back"), settled, "{pk}: points taken back");
        assert!(maybe(topup, "owed") >= Decimal::ZERO, "{topup:?}");
        owed += maybe(topup, "owed");
        let is_credit = |entry: &&Item| {
            entry.get("operation") == Some(&Value::s("topup")) && text(entry, "topup_id") == text(topup, "topup_id")
        };
        let entries = model.iter().filter(|((_, sk), _)| sk.starts_with("TXN#")).map(|(_, entry)| entry);
        let credits = entries.filter(is_credit).count();
        assert_eq!(credits, usize::from(state == "succeeded"), "{pk}: credits");
    }
    let disputes = sums.get(&("disputes".to_owned(), "ECOPAY".to_owned(), "available".to_owned()));
    assert_eq!(disputes.copied().unwrap_or_default(), -owed, "disputes");
    for ((pk, sk), item) in model.iter() {
        let Some(asset) = sk.strip_prefix("BALANCE#") else { continue };
        let account = format!("customer:{}", pk.rsplit('#').next().unwrap());
        let posted = |bucket: &str| {
            let key = (account.clone(), asset.to_owned(), bucket.to_owned());
            sums.get(&key).copied().unwrap_or_default()
        };
        let (balance, on_hold, kept) = (number(item, "balance"), maybe(item, "held"), maybe(item, "reserved"));
        assert_eq!(balance, posted("available"), "{account} {asset}: balance");
        assert_eq!(on_hold, posted("held"), "{account} {asset}: held");
        let in_refunds = held.get(&(account.clone(), asset)).copied().unwrap_or_default();
        assert_eq!(on_hold, in_refunds, "{account} {asset}: held for refunds");
        assert_eq!(number(item, "exposure"), balance + on_hold + kept, "{account} {asset}: exposure");
        let open = if asset == "ECOPAY" { reserved.get(&account).copied().unwrap_or_default() } else { Decimal::ZERO };
        assert_eq!(kept, open, "{account} {asset}: reserved");
        for sum in [balance, on_hold, kept] {
            assert!(sum >= Decimal::ZERO, "{account} {asset}: {sum}");
        }
    }
}

/// An attribute that must be a string.
pub(crate) fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    match item.get(name) {
        Some(Value::S(text)) => text,
        other => panic!("no text {name}: {other:?}"),
    }
}

/// An attribute that must be a number.
pub(crate) fn number(item: &Item, name: &str) -> Decimal {
    match item.get(name) {
        Some(Value::N(text)) => text.parse().unwrap(),
        other => panic!("no number {name}: {other:?}"),
    }
}

/// A number that counts as nothing where it is absent.
pub(crate) fn maybe(item: &Item, name: &str) -> Decimal {
    if item.contains_key(name) { number(item, name) } else { Decimal::ZERO }
}

/// In what the books of a story's top-up differ from what its history says.
pub(crate) fn against(model: &Model, story: &Story) -> Vec<String> {
    let truth = story.truth();
    let mut wrong = Vec::new();
    let mut expect = |name: String, got: String, want: String| {
        if got != want {
            wrong.push(format!("{name} is {got}, and should be {want}"));
        }
    };
    let topup = topup_id(story.topup).to_string();
    let item = |sk: &str| model.iter().find(|((pk, of), _)| of == sk && pk.ends_with(&topup)).map(|(_, item)| item);
    let state = |sk: &str| item(sk).map_or("-", |item| text(item, "state")).to_owned();
    expect("the top-up".to_owned(), state("TOPUP"), truth.topup.to_owned());
    for (name, want) in [("owed", truth.owed.cast_signed()), ("refundable", truth.refundable)] {
        expect(name.to_owned(), maybe(item("TOPUP").unwrap(), name).to_string(), want.to_string());
    }
    for (n, want) in truth.refunds.iter().enumerate() {
        let got = state(&format!("REFUND#{}", refund_id(story.topup, n)));
        expect(format!("our refund {n}"), got, (*want).to_owned());
    }
    let theirs = (0..story.theirs.len()).map(|n| format!("re_{}_theirs_{n}", story.topup));
    let ids = theirs.chain([format!("dp_{}", story.topup)]);
    for (id, want) in ids.zip(&truth.clawbacks) {
        let got = state(&format!("CLAWBACK#{id}"));
        expect(format!("clawback {id}"), got, want.unwrap_or("-").to_owned());
    }
    let wallet = format!("{}#{}", "customer", text(item("TOPUP").unwrap(), "customer_id"));
    let wallet = model.iter().find(|((pk, sk), _)| pk.ends_with(&wallet) && sk == "BALANCE#ECOPAY").unwrap().1;
    expect("what may be spent".to_owned(), number(wallet, "balance").to_string(), truth.available.to_string());
    expect("held".to_owned(), number(wallet, "held").to_string(), truth.held.to_string());
    wrong
}

//! The books in the model's table, read without the core: invariants, and what two tables must have in common.

use crate::topup_orders::desk::{refund_id, topup_id};
use crate::topup_orders::story::Story;
use ledger_core::dynamo::{Item, Value};
use ledger_tests::model::Model;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What two orders of one history must agree on, by name.
pub(crate) type Lines = BTreeMap<String, String>;

/// Sums by account, asset and part.
type Sums = BTreeMap<(String, String, String), Decimal>;

/// Balances, states of records, and sums of accounts.
pub(crate) fn lines(model: &Model) -> Lines {
    let mut lines = Lines::new();
    for ((pk, sk), item) in model.iter() {
        let names: &[&str] = match sk.as_str() {
            "BALANCE#ECOPAY" | "BALANCE#POINT" => &["balance", "held", "reserved", "exposure", "owed"],
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

/// The lines when points may be short as they are taken back. Whether a point is paid with a point or a yen depends on
/// the balance at the time, and so on the order: money and points are counted together.
pub(crate) fn lines_at_a_yen_a_point(model: &Model) -> Lines {
    let (mut kept, mut worth) = (Lines::new(), BTreeMap::<String, Decimal>::new());
    for (name, line) in lines(model) {
        let joined = name.replace("BALANCE#ECOPAY", "wallet").replace("BALANCE#POINT", "wallet");
        let joined = joined.replace(" ECOPAY", "").replace(" POINT", "");
        // A debt is posted to `disputes`, not to the wallet.
        let is_debt = joined == "sum of disputes" || joined.starts_with("sum of customer:");
        let joined = if is_debt { "sum of wallets and disputes".to_owned() } else { joined };
        let part = joined.split(" wallet ").nth(1).unwrap_or("sum");
        match part {
            "sum" if joined == name => drop(kept.insert(name, line)),
            // The available balance less the debt.
            "owed" => *worth.entry(joined.replace(" owed", " balance")).or_default() -= parsed(&line),
            "balance" | "sum" => *worth.entry(joined).or_default() += parsed(&line),
            _ => drop(kept.insert(name, line)),
        }
    }
    kept.retain(|name, _| !name.ends_with("exposure"));
    worth.retain(|name, sum| !(name.starts_with("sum of ") && sum.is_zero()));
    kept.extend(worth.into_iter().map(|(name, sum)| (name, sum.normalize().to_string())));
    kept
}

fn parsed(line: &str) -> Decimal {
    if line == "-" { Decimal::ZERO } else { line.parse().unwrap() }
}

/// The sums of all postings; asserts that each entry sums to zero.
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
        for taken in of("CLAWBACK#").filter(|clawback| text(clawback, "state") == "taken") {
            refundable -= number(taken, "refundable_lowered");
            settled += maybe(taken, "settled");
        }
        assert_eq!(maybe(topup, "refundable"), refundable, "{pk}: refundable");
        assert_eq!(maybe(topup, "points_taken_back"), settled, "{pk}: points taken back");
        assert_eq!(maybe(topup, "owed"), Decimal::ZERO, "{topup:?}");
        let is_credit = |entry: &&Item| {
            entry.get("operation") == Some(&Value::s("topup")) && text(entry, "topup_id") == text(topup, "topup_id")
        };
        let entries = model.iter().filter(|((_, sk), _)| sk.starts_with("TXN#")).map(|(_, entry)| entry);
        let credits = entries.filter(is_credit).count();
        assert_eq!(credits, usize::from(state == "succeeded"), "{pk}: credits");
    }
    for asset in ["ECOPAY", "POINT"] {
        let wallets = model.iter().filter(|((_, sk), _)| sk.strip_prefix("BALANCE#") == Some(asset));
        let owed: Decimal = wallets.map(|(_, wallet)| maybe(wallet, "owed")).sum();
        let disputes = sums.get(&("disputes".to_owned(), asset.to_owned(), "available".to_owned()));
        assert_eq!(disputes.copied().unwrap_or_default(), -owed, "disputes of {asset}");
    }
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
        for sum in [balance, on_hold, kept, maybe(item, "owed")] {
            assert!(sum >= Decimal::ZERO, "{account} {asset}: {sum}");
        }
    }
}

/// A string attribute; panics if it is not one.
pub(crate) fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    match item.get(name) {
        Some(Value::S(text)) => text,
        other => panic!("no text {name}: {other:?}"),
    }
}

/// A number attribute; panics if it is not one.
pub(crate) fn number(item: &Item, name: &str) -> Decimal {
    match item.get(name) {
        Some(Value::N(text)) => text.parse().unwrap(),
        other => panic!("no number {name}: {other:?}"),
    }
}

/// A number attribute; zero if it is absent.
pub(crate) fn maybe(item: &Item, name: &str) -> Decimal {
    if item.contains_key(name) { number(item, name) } else { Decimal::ZERO }
}

/// The differences between the books of a story's top-up and its history.
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
    let refundable = maybe(item("TOPUP").unwrap(), "refundable");
    expect("refundable".to_owned(), refundable.to_string(), truth.refundable.to_string());
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
    let of = |asset: &str| {
        let sk = format!("BALANCE#{asset}");
        model.iter().find(|((pk, of), _)| pk.ends_with(&wallet) && *of == sk).unwrap().1
    };
    let (money, points) = (of("ECOPAY"), of("POINT"));
    expect("held".to_owned(), number(money, "held").to_string(), truth.held.to_string());
    let worth = |item: &Item| number(item, "balance") - maybe(item, "owed");
    if story.has_its_points() {
        expect("may be spent".to_owned(), number(money, "balance").to_string(), truth.available.to_string());
        expect("owed".to_owned(), maybe(money, "owed").to_string(), truth.owed.to_string());
        expect("points".to_owned(), worth(points).to_string(), truth.points.to_string());
    } else {
        // Spent points were paid for with money.
        let refunds = (0..truth.refunds.len()).filter_map(|n| item(&format!("REFUND#{}", refund_id(story.topup, n))));
        let kept: Decimal = refunds.filter(|of| text(of, "state") != "failed").map(|of| maybe(of, "kept")).sum();
        let want = Decimal::from(truth.available) - Decimal::from(truth.owed) + Decimal::from(truth.points) + kept;
        expect("worth".to_owned(), (worth(money) + worth(points)).to_string(), want.to_string());
    }
    wrong
}

//! What two orders of one history must agree on, and what a history must end in, read from the model's table.

use crate::topup_orders::desk::{TENANT, refund_id, topup_id};
use crate::topup_orders::story::Story;
use ledger_core::dynamo::{Item, Value};
use ledger_tests::audit::{Audit, full_rows, number, opt_number, text};
use ledger_tests::model::Model;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What two orders of one history must agree on, by name.
pub(crate) type Lines = BTreeMap<String, String>;

/// Balances, states of records, and sums of accounts.
pub(crate) fn lines(model: &Model) -> Lines {
    let mut lines = Lines::new();
    for ((pk, sk), item) in model.iter() {
        let names: &[&str] = match sk.as_str() {
            "BALANCE#ECOPAY" | "BALANCE#POINT" => &["balance", "held", "reserved", "exposure", "owed"],
            "TOPUP" => &["state", "payment_intent", "refundable", "points_taken_back", "_due_pk"],
            _ if sk.starts_with("REFUND#") => &["state", "psp_refund", "amount", "paid", "points", "_due_pk"],
            _ if sk.starts_with("CLAWBACK#") => &["state", "amount", "round"],
            _ if sk.starts_with("card_op_idem#topup") => &["state", "_due_pk"],
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
    let rows = full_rows(model.contents());
    let sums = Audit::of(TENANT, &rows).sums_by_account();
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

/// Checks what holds at any moment.
pub(crate) fn check(model: &Model) {
    let rows = full_rows(model.contents());
    Audit::of(TENANT, &rows).check();
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
    let refundable = opt_number(item("TOPUP").unwrap(), "refundable");
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
    let worth = |item: &Item| number(item, "balance") - opt_number(item, "owed");
    if story.has_its_points() {
        expect("may be spent".to_owned(), number(money, "balance").to_string(), truth.available.to_string());
        expect("owed".to_owned(), opt_number(money, "owed").to_string(), truth.owed.to_string());
        expect("points".to_owned(), worth(points).to_string(), truth.points.to_string());
    } else {
        // Spent points were paid for with money.
        let refunds = (0..truth.refunds.len()).filter_map(|n| item(&format!("REFUND#{}", refund_id(story.topup, n))));
        let kept: Decimal = refunds.filter(|of| text(of, "state") != "failed").map(|of| opt_number(of, "kept")).sum();
        let want = Decimal::from(truth.available) - Decimal::from(truth.owed) + Decimal::from(truth.points) + kept;
        expect("worth".to_owned(), (worth(money) + worth(points)).to_string(), want.to_string());
    }
    wrong
}

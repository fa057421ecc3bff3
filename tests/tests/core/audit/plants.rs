//! One wrong row in books that are in order otherwise.

use ledger_core::dynamo::{Item, Value};
use ledger_tests::audit::{Books, n, number, opt_text, s, text};
use ledger_tests::engine::PrimaryKey;
use rust_decimal::Decimal;

/// The id of no record.
const ABSENT: &str = "019aa510-0000-7000-8000-00000000dead";

/// Books with an error.
pub(super) struct Plant {
    /// The rule that finds it.
    pub(super) rule: &'static str,
    /// What the finding names: the row's keys, or the account.
    pub(super) named: String,
    pub(super) books: Books,
}

/// A row of a kind, chosen by an attribute.
type Which = (&'static str, &'static str, &'static str);

const WALLET: Which = ("BALANCE#ECOPAY", "reserved", "20000");
const CREDIT: Which = ("TXN#", "operation", "topup");
const TRANSFER: Which = ("TXNREF#", "operation", "transfer");
const PAID: Which = ("TOPUP", "state", "succeeded");
const UNPAID: Which = ("TOPUP", "state", "pending");
const REQUESTED: Which = ("TOPUP", "state", "requested");
const REFUNDED: Which = ("REFUND#", "state", "succeeded");
const REFUNDING: Which = ("REFUND#", "state", "pending");
const CLAWBACK: Which = ("CLAWBACK#", "state", "taken");
const CLAIMED: Which = ("card_op_idem#topup#", "state", "IN_FLIGHT");
const ANSWERED: Which = ("card_op_idem#adjustment#", "state", "COMPLETED");

pub(super) fn plants(good: &Books) -> Vec<Plant> {
    let plant = |rule, which, change: &dyn Fn(&mut Item)| {
        let key = find(good, which);
        let mut books = good.clone();
        change(books.rows.get_mut(&key).expect("the row"));
        Plant { rule, named: name(&key), books }
    };
    let more = |rule, which, attribute: &str| {
        plant(rule, which, &|row| {
            let more = number(row, attribute) + Decimal::ONE;
            row.insert(attribute.to_owned(), n(more));
        })
    };
    let set = |rule, which, attribute: &str, value: Value| {
        plant(rule, which, &|row| drop(row.insert(attribute.to_owned(), value.clone())))
    };
    let unset =
        |rule, which, attribute: &str| plant(rule, which, &|row| drop(row.remove(attribute).expect("the attribute")));
    let posted = |rule, delta: &str| {
        plant(rule, CREDIT, &|row| {
            let Some(Value::L(postings)) = row.get_mut("postings") else { panic!("no postings") };
            let Value::M(posting) = &mut postings[0] else { panic!("no posting") };
            posting.insert("delta".to_owned(), n(delta));
        })
    };
    vec![
        posted("entries can be read", "0"),
        posted("entries sum to zero", "-9999"),
        set("references point to entries", TRANSFER, "home", s(format!("customer:{ABSENT}"))),
        set("references point to entries", TRANSFER, "idempotency_key", s("another")),
        more("balances equal postings", WALLET, "balance"),
        more("held equals holds", WALLET, "held"),
        more("reserved equals unpaid top-ups", WALLET, "reserved"),
        more("exposure equals its parts", WALLET, "exposure"),
        more("disputes equal owed", WALLET, "owed"),
        more("top-ups' refundable equals charge less taken", PAID, "refundable"),
        set("top-ups' refundable equals charge less taken", UNPAID, "refundable", n(1)),
        set("top-ups are credited once", UNPAID, "state", s("succeeded")),
        set("top-ups are credited once", PAID, "state", s("paid")),
        unset("open records are due", UNPAID, "_due_pk"),
        unset("open records are due", REFUNDING, "_due_pk"),
        set("open records are due", REFUNDED, "_due_pk", s("aoba#due#0")),
        more("refunds pay out their amount", REFUNDED, "paid"),
        set("refunds have entries", REFUNDED, "state", s("failed")),
        set("refunds have entries", REFUNDING, "state", s("succeeded")),
        set("clawbacks have entries", CLAWBACK, "state", s("lost")),
        set("markers have entries", ANSWERED, "entry_id", s(ABSENT)),
        unset("markers are in one state", CLAIMED, "lease_until"),
        unset("markers are in one state", CLAIMED, "_due_pk"),
        unset("markers are in one state", CLAIMED, "fence"),
        set("markers are in one state", CLAIMED, "body", s("{}")),
        unset("markers are in one state", ANSWERED, "ttl"),
        unset("events' markers expire", ("event", "type", "event"), "ttl"),
        under_one_key(good),
        without(good, "top-ups are credited once", CREDIT, PAID),
        without(good, "entries have records", CLAWBACK, ("TXN#", "operation", "clawback")),
        without(good, "held equals holds", REFUNDING, WALLET),
        without(good, "reserved equals unpaid top-ups", REQUESTED, WALLET),
        without_balance(good),
    ]
}

/// An entry twice, under one key and two ids.
fn under_one_key(good: &Books) -> Plant {
    let mut books = good.clone();
    let (pk, sk) = find(good, ("TXN#", "operation", "transfer"));
    let mut twin = books.rows[&(pk.clone(), sk)].clone();
    let key = (pk, format!("TXN#{ABSENT}"));
    twin.insert("transaction_id".to_owned(), s(ABSENT));
    twin.insert("type".to_owned(), s(&key.1));
    let named = name(&key);
    books.rows.insert(key, twin);
    Plant { rule: "keys move money once", named, books }
}

/// A row is missing; the finding names another.
fn without(good: &Books, rule: &'static str, gone: Which, named: Which) -> Plant {
    let mut books = good.clone();
    books.rows.remove(&find(good, gone));
    Plant { rule, named: name(&find(good, named)), books }
}

/// A wallet is missing: the finding names its account.
fn without_balance(good: &Books) -> Plant {
    let mut books = good.clone();
    let (pk, sk) = find(good, WALLET);
    let named = format!("customer:{}", pk.rsplit('#').next().expect("an id"));
    books.rows.remove(&(pk, sk));
    Plant { rule: "accounts have balances", named, books }
}

/// The only row of a kind with this value, or the first of them.
fn find(books: &Books, (prefix, attribute, value): Which) -> PrimaryKey {
    let is = |row: &Item| match row.get(attribute) {
        Some(Value::N(_)) => number(row, attribute).to_string() == value,
        _ => opt_text(row, attribute) == Some(value),
    };
    let (pk, sk, row) =
        books.under(prefix).find(|(_, _, row)| is(row)).unwrap_or_else(|| panic!("no {prefix} {value}"));
    assert_eq!((pk, sk), (text(row, "uuid"), text(row, "type")));
    (pk.to_owned(), sk.to_owned())
}

/// A row as a finding names it.
fn name((pk, sk): &PrimaryKey) -> String {
    format!("{pk} {sk}")
}

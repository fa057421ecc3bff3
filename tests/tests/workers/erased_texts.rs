//! Texts that persons typed are erased from sealed records, and everything else stays as it was.
use crate::audit_proof::Proven;
use crate::audit_trail::{verified, with};
use ledger_core::dynamo::{Item, Value as Stored};
use ledger_core::erasure::erase_texts;
use ledger_core::keys::Key;
use ledger_core::memo;
use ledger_core::operation::Operation;
use ledger_core::transaction::Transaction;
use ledger_tests::audit::{s, text};
use ledger_tests::cloud::gate;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, Merchant, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

const MEMO: &str = "for Hanako";
const RETURNED: &str = "Hanako returned it";
const FROZEN: &str = "Hanako lost the telephone";
const TEXTS: [&str; 3] = [MEMO, RETURNED, FROZEN];

/// A payment and its refund, a transfer and a freeze, each with a text.
struct Typed {
    payment: String,
    customer: String,
    merchant: Merchant,
    history: Vec<Call>,
}

async fn typed(world: &World) -> Typed {
    let (merchant, customer, other) =
        (world.merchant().await, world.customer_with("1000").await, world.customer().await);
    let paid = world.api.settle(&customer.pays(&merchant, "100").field("memo", MEMO)).await.good();
    let payment = paid.text("/payment_id");
    let refunded = world.api.settle(&merchant.refunds(&payment, "10").field("reason", RETURNED)).await.good();
    let sent = world.api.settle(&customer.sends(&other, "5").field("memo", MEMO)).await.good();
    let path = format!("/v1/admin/customers/{}", customer.id);
    let freeze = Call::patch(&path, &world.operator.who, &json!({"status": "frozen", "reason": FROZEN}));
    let frozen = world.api.settle(&freeze.key(new_key())).await.good();
    for answer in [paid, refunded, sent, frozen] {
        assert!(TEXTS.iter().all(|text| !answer.json().to_string().contains(text)), "{}", answer.json());
    }
    let history = [&customer, &other].map(|customer| Call::get("/v1/me/transactions", &customer.who)).into();
    Typed { payment, customer: customer.id, merchant, history }
}

impl Typed {
    /// Everything that shows the texts.
    async fn shown(&self, world: &World) -> Vec<Value> {
        let payment = Call::get(&format!("/v1/merchant/payments/{}", self.payment), &self.merchant.who);
        let staff = &world.operator.who;
        let acts = Call::get("/v1/admin/audit?limit=100", staff);
        let timeline = Call::get(&format!("/v1/admin/customers/{}/file", self.customer), staff);
        let mut shown = Vec::new();
        for call in self.history.iter().chain([&payment, &acts, &timeline]) {
            shown.push(world.api.send(call).await.good().json());
        }
        shown
    }
}

fn texts_in(shown: &[Value]) -> BTreeSet<&'static str> {
    let all = json!(shown).to_string();
    TEXTS.into_iter().filter(|text| all.contains(text)).collect()
}

/// The rows with a text of their own beside a hash.
async fn with_texts(world: &World) -> Vec<Item> {
    let books = world.books().await;
    let rows = ["TXN#", "TXNREF#", "AUDIT#"].into_iter().flat_map(|prefix| books.under(prefix));
    let stored = rows.map(|(pk, sk, _)| books.stored(pk, sk).expect("a row").clone());
    stored.filter(|row| row.contains_key(memo::MEMO)).collect()
}

/// The faults found, each with the sort key of its record.
async fn wrong(world: &World) -> BTreeSet<(&'static str, String)> {
    verified(world).await.findings.iter().map(|found| (found.fault.name(), found.key.sk().to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erased_text_leaves_every_seal_and_proof_as_it_was() {
    let proven = Proven::new("erased-texts").await;
    let world = &proven.world;
    let typed = typed(world).await;
    proven.seal(Duration::ZERO).await;
    proven.pay(1).await;
    proven.seal(Duration::from_secs(60 * 60)).await;
    let (entries, head) = (proven.entries().await, proven.heads().await.pop().expect("a head"));
    let mut proofs = Vec::new();
    for entry in &entries {
        proofs.push(proven.prove(entry, &head).await.ok());
    }
    let shown = typed.shown(world).await;
    assert_eq!(texts_in(&shown), TEXTS.into());
    assert_eq!(wrong(world).await, BTreeSet::new());

    // No row but the record of the payment and of its refund has a text without its salt, and no marker has one.
    let books = world.books().await;
    for ((pk, sk), row) in &books.rows {
        let mut rest = row.clone();
        let has_own = ["PAYMENT", "REFUND#"].iter().any(|name| sk.starts_with(name));
        let _ = rest.remove(if has_own { "memo" } else { memo::MEMO });
        assert!(TEXTS.iter().all(|text| !format!("{rest:?}").contains(text)), "{pk} {sk} {rest:?}");
    }

    let rows = with_texts(world).await;
    for row in &rows {
        let Stored::M(memo) = &row[memo::MEMO] else { panic!("{row:?}") };
        let changed = Stored::M(with(memo, "text", s("for Taro")));
        world.plant(with(row, memo::MEMO, changed)).await;
        let sk = text(row, "type").to_owned();
        let found = if sk.starts_with("TXNREF#") { BTreeSet::new() } else { [("other_memo", sk)].into() };
        assert_eq!(wrong(world).await, found);
        world.plant(row.clone()).await;
    }

    let tenant = world.slug();
    for row in &rows {
        let key = Key::stored(&tenant, text(row, "uuid"), text(row, "type")).expect("a key");
        let erased = vec![erase_texts(&key, row).expect("a text")];
        let erased = Transaction::unkeyed(erased).expect("a transaction");
        let applied = world.app.ledger().apply(&tenant, Operation::CustomerPatch, &erased);
        gate::as_test(applied).await.expect("applied");
    }
    for name in ["PAYMENT", "REFUND#"] {
        for (pk, sk, _) in books.under(name).filter(|(_, _, row)| row.contains_key("memo")) {
            let mut row = books.stored(pk, sk).expect("a row").clone();
            let _ = row.remove("memo");
            world.plant(row).await;
        }
    }
    assert!(rows.len() >= 5 && with_texts(world).await.is_empty(), "{}", rows.len());
    assert_eq!(texts_in(&typed.shown(world).await), BTreeSet::new());
    assert_eq!(wrong(world).await, BTreeSet::new());
    world.books().await.check_sealed();
    for (entry, proof) in entries.iter().zip(&proofs) {
        assert_eq!(proven.prove(entry, &head).await.ok().as_ref(), proof.as_ref());
        assert!(proof.iter().all(|proof| proven.is_proven(proof, &head)), "{entry}");
    }
    assert!(proofs.iter().flatten().count() >= 3, "{}", proofs.len());
    let report = world.reconciled().await;
    assert_eq!((&report["status"], &report["findings"]["items"]), (&json!("clean"), &json!([])), "{report}");
    world.check_books().await;
}

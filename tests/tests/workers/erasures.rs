//! Erased customers: their values are in no item, event or announcement, whatever fails, and every seal is as it was.

use crate::audit_proof::Proven;
use crate::audit_trail::verified;
use ledger_core::dynamo::{Item, Value as Stored};
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, Customer, World, workers};
use ledger_tests::share;
use serde_json::{Value, json};
use std::time::Duration;

/// What occurs in a name, an address or a text of the customer, in the forms in which values are compared.
const NEEDLES: [&str; 5] = ["tsukimisou", "ツキミソウ", "ﾂｷﾐｿｳ", "8313-5577", "83135577"];

async fn patch(world: &World, customer: &Customer, body: &Value) {
    let call = Call::patch("/v1/me", &customer.who, body).key(new_key());
    let _ = world.api.settle(&call).await.good();
}

/// A customer with a value of each kind, and with texts that name the customer wherever a person types one.
async fn known(world: &World) -> Customer {
    let (shop, other) = (world.merchant().await, world.customer_with("500").await);
    let customer = world.customer_with("1000").await;
    patch(world, &customer, &json!({"email": "first.tsukimisou@example.jp"})).await;
    let contact = json!({"name": "Hanako Tsukimisou", "kana": "ツキミソウ ハナコ", "email": "Hanako.Tsukimisou@Example.jp",
        "phone": "090-8313-5577"});
    patch(world, &customer, &contact).await;
    let paid = customer.pays(&shop, "100").field("memo", "Tsukimisou's birthday");
    let payment = world.api.settle(&paid).await.good().text("/payment_id");
    let operator = &world.operator.who;
    let path = format!("/v1/admin/customers/{}", customer.id);
    let note = json!({"customer_id": customer.id, "direction": "credit", "amount": "10", "reason_code": "goodwill",
        "note": "a gift for Tsukimisou"});
    let calls = [
        shop.refunds(&payment, "10").field("reason", "Tsukimisou broke a cup"),
        customer.sends(&other, "5").field("memo", "from Tsukimisou"),
        other.sends(&customer, "5").field("memo", "thanks, Tsukimisou"),
        Call::patch(&path, operator, &json!({"status": "frozen", "reason": "Tsukimisou lost the telephone"}))
            .key(new_key()),
        Call::patch(&path, operator, &json!({"status": "active"})).key(new_key()),
        Call::post("/v1/admin/adjustments", operator, &note).key(new_key()),
        world
            .asks_for(&json!({"kind": "customer_data", "customer_id": customer.id}))
            .field("reason", "Tsukimisou asked"),
    ];
    for call in calls {
        let _ = world.api.settle(&call).await.good();
    }
    let grant = json!({"customer_id": customer.id, "asset": "POINT", "amount": "300", "reason": "for Tsukimisou"});
    let _ = world.executes(&Call::post("/v1/admin/grants", operator, &grant).key(new_key())).await.good();
    let closes = world.closes(&customer.id, true).field("reason", "Tsukimisou moved away");
    let _ = world.executes(&closes).await.good();
    customer
}

/// The keys of the items in which one of the needles occurs, in a key or in an attribute of any type.
async fn with_needles(world: &World) -> Vec<String> {
    let books = world.books().await;
    let rows = books.rows.iter().filter(|(_, row)| has_needle(row));
    rows.map(|((pk, sk), _)| format!("{pk} {sk}")).collect()
}

fn has_needle(row: &Item) -> bool {
    row.iter().any(|(name, value)| is_named(name) || holds(value))
}

fn holds(value: &Stored) -> bool {
    match value {
        Stored::S(text) | Stored::N(text) => is_named(text),
        Stored::B(bytes) => is_named(&String::from_utf8_lossy(bytes)),
        Stored::M(item) => has_needle(item),
        Stored::L(list) => list.iter().any(holds),
        Stored::Bool(_) => false,
    }
}

fn is_named(text: &str) -> bool {
    let text = text.to_lowercase();
    NEEDLES.iter().any(|needle| text.contains(needle))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_of_an_erased_customer_are_nowhere_and_every_seal_is_as_it_was() {
    let (proven, tap) = (Proven::new("erasure").await, EventTap::default());
    let world = &proven.world;
    let customer = known(world).await;
    let _ = world.announce_notices(&tap).await.expect("the run succeeds");
    workers::receiving(&tap, async {
        let _ = world.seal().await.expect("the run succeeds");
    })
    .await;
    proven.seal(Duration::ZERO).await;
    let before = with_needles(world).await;
    for kind in [
        " PROFILE",
        " LOOKUP#name",
        " LOOKUP#kana",
        " TXN#",
        " TXNREF#",
        " PAYMENT",
        " REFUND#",
        " AUDIT#",
        " NOTICE#",
        " APPROVAL#",
        " JOB",
    ] {
        assert!(before.iter().any(|key| key.contains(kind)), "{kind}: {before:?}");
    }
    let _ = world.executes(&world.erases(&customer.id, "Tsukimisou asks for it")).await.good();
    let listed = with_needles(world).await;
    let of_person = [" PROFILE", " LOOKUP#"];
    assert!(!listed.iter().any(|key| of_person.iter().any(|kind| key.contains(kind))), "{listed:?}");
    // The job is not due: what was planned before may still be written.
    assert_eq!(world.run_jobs().await.expect("the run succeeds").subjects, 0);
    let erased = world.erases_texts().await;
    assert_eq!(with_needles(world).await, Vec::<String>::new());
    assert!(erased >= 15, "{erased}");
    let view = world.erasure(&customer.id).await;
    assert_eq!(
        (&view["status"], &view["failed"], &view["done"]),
        (&json!("done"), &json!(0), &json!(erased)),
        "{view}"
    );

    workers::receiving(&tap, async {
        let _ = world.seal().await.expect("the run succeeds");
    })
    .await;
    let _ = world.announce_notices(&tap).await.expect("the run succeeds");
    let events = tap.delivered().into_iter().map(|event| event.body);
    let announced = tap.announced().into_iter().map(|event| event.detail);
    let all: Vec<String> = events.chain(announced).collect();
    assert!(all.len() > 5 && !all.iter().any(|text| is_named(text)), "{}", all.len());

    proven.seal(Duration::from_secs(60 * 60)).await;
    assert_eq!(verified(world).await.findings, []);
    world.books().await.check_sealed();
    let report = world.reconciled().await;
    assert_eq!((&report["status"], &report["findings"]["items"]), (&json!("clean"), &json!([])), "{report}");
    assert_eq!(with_needles(world).await, Vec::<String>::new());
    // What shows the customer copes.
    let operator = &world.operator.who;
    for path in ["", "/file", "/limits", "/transactions", "/topups"] {
        let path = format!("/v1/admin/customers/{}{path}", customer.id);
        let shown = world.api.send(&Call::get(&path, operator)).await.good().json().to_string();
        assert!(!is_named(&shown), "{path}: {shown}");
    }
    // That which was asked for before is made of what is left too.
    let _ = world.make_files().await;
    let file = world.fetched(&json!({"kind": "customer_data", "customer_id": customer.id})).await;
    assert!(!is_named(&file) && file.contains(&customer.id), "{file}");
    world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_are_erased_with_a_fault_at_every_write() {
    let shop = Settling::new("erasure-faults").await;
    let world = &shop.world;
    for fault in [Fault::Refused, Fault::AnswerCut] {
        for nth in share::writes() {
            let customer = known(world).await;
            let _ = world.executes(&world.erases(&customer.id, "Tsukimisou asks for it")).await.good();
            world.makes_erasures_due().await;
            shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(fault.clone())]));
            let _ = shop.run_jobs().await;
            let missed = shop.tap.faults_left();
            shop.tap.forget_faults();
            for _ in 0..3 {
                shop.hand.forward(Duration::from_secs(600));
                let _ = shop.run_jobs().await.expect("the run succeeds");
            }
            let view = world.erasure(&customer.id).await;
            assert_eq!(view["status"], "done", "{fault:?}, write {nth}: {view}");
            assert_eq!(with_needles(world).await, Vec::<String>::new(), "{fault:?}, write {nth}");
            if missed > 0 {
                assert!(nth > 2, "only {nth} writes");
                break;
            }
        }
    }
    world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_that_cannot_be_read_ends_no_job() {
    let world = &World::new("erasure-unreadable").await;
    let (one, two) = (known(world).await, known(world).await);
    for customer in [&one, &two] {
        let _ = world.executes(&world.erases(&customer.id, "Tsukimisou asks for it")).await.good();
    }
    // The details of an act are not those that the ledger writes.
    let books = world.books().await;
    let (pk, sk, _) = books
        .under("AUDIT#")
        .find(|(_, _, row)| {
            let text = format!("{row:?}");
            text.contains("a gift for") && text.contains(&one.id)
        })
        .expect("an act");
    let (pk, sk) = (pk.to_owned(), sk.to_owned());
    let whole = books.stored(&pk, &sk).expect("a row").clone();
    let mut odd = whole.clone();
    if let Some(Stored::M(details)) = odd.get_mut("details") {
        let _ = details.insert("approval_id".to_owned(), Stored::S("x".to_owned()));
    }
    world.plant(odd).await;
    let _ = world.erases_texts().await;
    let view = world.erasure(&one.id).await;
    let id = sk.trim_start_matches("AUDIT#");
    assert_eq!((&view["status"], &view["failed"]), (&json!("done"), &json!(1)), "{view}");
    let lines = world.job_lines(view["job_id"].as_str().expect("an id"), Some("failed"), 20).await;
    let subject = format!("acts#{id}");
    assert_eq!((lines.len(), &lines[0]["subject"], &lines[0]["code"]), (1, &json!(subject), &json!("unreadable")));
    assert_eq!(world.erasure(&two.id).await["status"], "done");
    let left = with_needles(world).await;
    assert!(left.iter().all(|key| key.contains(" APPROVAL#")), "{left:?}");
    assert_eq!(left.len(), 1, "{left:?}");
}

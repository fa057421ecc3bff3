//! PINs of cards over HTTP: required above an amount, counted before they are compared, locked after five wrong ones.
use futures::future::{BoxFuture, FutureExt, join_all};
use ledger_core::cards::pin::PinRecord;
use ledger_core::dynamo::Value;
use ledger_core::money::{Asset, Balance};
use ledger_core::personal::Masked;
use ledger_core::terms::{CardPinTerms, TenantTerms};
use ledger_core::time::Timestamp;
use ledger_runtime::clock::Clock;
use ledger_runtime::secrets::{SecretError, SecretSource};
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::tap::{Attempts, Fault, Tap};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, Customer, Host, World, host};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

const RIGHT: &str = "907153";
const PIN: &str = "PIN";

fn above(most: &'static str) -> impl Fn(&mut TenantTerms) {
    move |terms| {
        terms.card_pin = CardPinTerms::above(Balance::from_stored(Asset::Ecopay, most).unwrap()).unwrap();
    }
}

/// A tenant whose cards' payments of more than 1,000 yen need the PIN, with a card of 20,000 yen.
struct Rig {
    stage: Stage,
    owner: Customer,
    card: String,
}

impl Rig {
    async fn new(host: Arc<Host>, tenant: &str) -> Self {
        let stage = Stage::new(World::with_terms(host, tenant, above("1000")).await).await;
        let owner = stage.world.customer().await;
        let card = stage.world.card(Some(&owner), "20000").await;
        Self { stage, owner, card }
    }

    /// With the PIN set.
    async fn with_pin(host: Arc<Host>, tenant: &str) -> Self {
        let rig = Self::new(host, tenant).await;
        let _ = rig.settle(&rig.sets(None, RIGHT)).await.good();
        rig
    }

    fn pays(&self, amount: &str, pin: Option<&str>) -> Call {
        let body = match pin {
            Some(pin) => json!({"amount": amount, "pin": pin}),
            None => json!({"amount": amount}),
        };
        self.stage.terminal.does("pay", &self.card, &body)
    }

    fn sets(&self, current: Option<&str>, pin: &str) -> Call {
        let body = match current {
            Some(current) => json!({"pin": pin, "current_pin": current}),
            None => json!({"pin": pin}),
        };
        Call::post(&format!("/v1/me/cards/{}/pin", self.card), &self.owner.who, &body).key(new_key())
    }

    fn resets(&self) -> Call {
        let path = format!("/v1/admin/cards/{}/pin-reset", self.card);
        Call::post(&path, &self.stage.world.operator.who, &json!({"reason": "forgotten"})).key(new_key())
    }

    async fn settle(&self, call: &Call) -> Answer {
        self.stage.world.api.settle(call).await
    }

    async fn wrong(&self, call: &Call) -> u64 {
        let refused = self.settle(call).await.problem(400, "pin_wrong");
        refused.json()["attempts_left"].as_u64().unwrap()
    }

    /// How many attempts are counted in the table.
    async fn counted(&self) -> usize {
        let books = self.stage.world.books().await;
        let row = books.under(PIN).find(|(pk, ..)| pk.ends_with(&self.card)).map(|(_, _, row)| row);
        row.map_or(0, |row| row.keys().filter(|name| name.starts_with("attempt_")).count())
    }

    /// What the staff is shown of the PIN.
    async fn shown(&self) -> Json {
        let path = format!("/v1/admin/cards/{}", self.card);
        self.stage.world.api.send(&Call::get(&path, &self.stage.world.operator.who)).await.good().json()["pin"].clone()
    }

    async fn balance(&self) -> String {
        self.stage.world.card_balance(&self.card).await
    }
}

#[tokio::test]
async fn pin_is_required_above_the_amount_and_locked_after_five_wrong_ones() {
    let rig = Rig::new(host::shared(), "pin-life").await;
    let _ = rig.settle(&rig.pays("1000", None)).await.good();
    let without = rig.pays("1001", None);
    let refused = rig.settle(&without).await.problem(400, "pin_required");
    assert_eq!(rig.settle(&without).await.stored(), refused.stored());
    let _ = rig.settle(&rig.pays("1001", Some(RIGHT))).await.problem(400, "pin_required");
    for guessable in ["1234", "000000", "987654"] {
        let refused = rig.settle(&rig.sets(None, guessable)).await.problem(400, "invalid_request");
        assert!(!refused.body.contains(guessable), "{refused:?}");
    }
    let set = rig.sets(None, RIGHT);
    let answer = rig.settle(&set).await.good();
    assert!(!answer.body.contains(RIGHT));
    assert_eq!(rig.shown().await, json!("set"));
    assert!(rig.settle(&set).await.replayed());
    let _ = rig.settle(&rig.sets(None, "4071")).await.problem(400, "pin_required");

    let paid = rig.pays("1001", Some(RIGHT));
    let first = rig.settle(&paid).await.good();
    assert_eq!(rig.counted().await, 0, "a right PIN costs no attempt");
    for left in [4, 3, 2, 1] {
        assert_eq!(rig.wrong(&rig.pays("1001", Some("111122"))).await, left);
    }
    // A PIN that is sent is compared, also where none is needed.
    let _ = rig.settle(&rig.pays("1", Some(RIGHT))).await.good();
    assert_eq!(rig.counted().await, 0);
    for left in [4, 3, 2, 1, 0] {
        assert_eq!(rig.wrong(&rig.pays("5", Some("4071"))).await, left);
    }
    let locked = rig.pays("1001", Some(RIGHT));
    let refused = rig.settle(&locked).await.problem(400, "pin_locked");
    let _ = rig.settle(&rig.sets(Some(RIGHT), "4071")).await.problem(400, "pin_locked");
    let _ = rig.settle(&rig.pays("1000", None)).await.good();
    assert_eq!((rig.settle(&paid).await.stored(), rig.counted().await), (first.stored(), 5));

    assert_eq!(rig.shown().await, json!("locked"));
    let _ = rig.settle(&rig.resets()).await.good();
    assert_eq!(rig.shown().await, Json::Null);
    let _ = rig.settle(&rig.pays("1001", Some(RIGHT))).await.problem(400, "pin_required");
    let _ = rig.settle(&rig.resets()).await.problem(400, "wrong_state");
    let _ = rig.settle(&rig.sets(Some(RIGHT), "4071")).await.problem(400, "wrong_state");
    let _ = rig.settle(&rig.sets(None, "4071")).await.good();
    assert_eq!(rig.wrong(&rig.pays("1001", Some(RIGHT))).await, 4);
    let _ = rig.settle(&rig.pays("1001", Some("4071"))).await.good();
    assert_eq!(rig.settle(&locked).await.stored(), refused.stored(), "a stored refusal stays");
    assert_eq!(rig.settle(&paid).await.stored(), first.stored());
    assert_eq!(rig.balance().await, (20000 - 1000 - 1001 - 1 - 1000 - 1001).to_string());
    let _ = rig.stage.world.check_books().await;
}

#[tokio::test]
async fn owner_changes_the_pin_with_the_present_one_and_others_cannot() {
    let rig = Rig::with_pin(host::shared(), "pin-change").await;
    let stranger = rig.stage.world.customer().await;
    for current in [None, Some(RIGHT), Some("4071")] {
        let _ = rig.settle(&rig.sets(current, "4071").by(&stranger.who)).await.problem(404, "not_found");
    }
    let unowned = rig.stage.world.card(None, "0").await;
    let path = format!("/v1/me/cards/{unowned}/pin");
    let _ = rig.settle(&rig.sets(None, "4071").at(path)).await.problem(404, "not_found");
    assert_eq!(rig.counted().await, 0, "an attempt at another's card is not counted");
    assert_eq!(rig.wrong(&rig.sets(Some("4071"), "8352")).await, 4);
    let change = rig.sets(Some(RIGHT), "8352");
    let _ = rig.settle(&change).await.good();
    assert_eq!(rig.counted().await, 0);
    // The key is bound to both PINs.
    for other in [json!({"pin": "8353", "current_pin": RIGHT}), json!({"pin": "8352", "current_pin": "4071"})] {
        let _ = rig.settle(&change.clone().json(&other)).await.problem(422, "idempotency_key_fingerprint_mismatch");
    }
    assert_eq!(rig.wrong(&rig.pays("1001", Some(RIGHT))).await, 4);
    let _ = rig.settle(&rig.pays("1001", Some("8352"))).await.good();
}

#[tokio::test]
async fn pin_of_a_tenant_without_pins_is_refused_and_a_missing_card_is_not_found() {
    let stage = Stage::new(World::with_terms(host::shared(), "pin-unused", |_| {}).await).await;
    let card = stage.world.card(None, "5000").await;
    let before = stage.world.books().await;
    let load = stage.terminal.does("topup", &card, &json!({"amount": "10", "pin": RIGHT}));
    let refused = stage.world.api.settle(&load).await.problem(400, "invalid_request");
    assert_eq!(refused.json()["field"], "pin");
    let sent = stage.terminal.does("pay", &card, &json!({"amount": "10", "pin": RIGHT}));
    let refused = stage.world.api.settle(&sent).await.problem(400, "invalid_request");
    assert_eq!(refused.json()["field"], "pin");
    for pin in [json!("12"), json!("12345a"), json!(123_456), Json::Null] {
        let sent = stage.terminal.does("pay", &card, &json!({"amount": "10", "pin": pin}));
        let answer = stage.world.api.settle(&sent).await;
        assert!(!answer.body.contains("12345"), "{answer:?}");
        assert_eq!(answer.status, if pin.is_null() { 201 } else { 400 }, "{answer:?}");
    }
    let rig = Rig::with_pin(host::shared(), "pin-no-card").await;
    let missing = ledger_tests::http::world::new_id();
    let call = rig.stage.terminal.does("pay", &missing, &json!({"amount": "1001", "pin": RIGHT}));
    let _ = rig.settle(&call).await.problem(404, "not_found");
    let after = stage.world.books().await;
    assert_eq!(after.under(PIN).count() + before.under(PIN).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_wrong_pins_cost_five_attempts_and_lock() {
    for (tenant, calls) in [("pin-five", 5), ("pin-sixteen", 16)] {
        let rig = Rig::with_pin(host::shared(), tenant).await;
        let wrong: Vec<Call> = (0..calls).map(|n| rig.pays("1001", Some(&format!("{}", 441_100 + n)))).collect();
        let answers = join_all(wrong.iter().map(|call| rig.settle(call))).await;
        let refused = |code: &str| answers.iter().filter(|answer| answer.code().as_deref() == Some(code)).count();
        assert_eq!((refused("pin_wrong"), refused("pin_locked")), (5, calls - 5), "{answers:?}");
        let left: BTreeSet<u64> = answers.iter().filter_map(|answer| answer.json()["attempts_left"].as_u64()).collect();
        assert_eq!(left, BTreeSet::from([0, 1, 2, 3, 4]), "each has a place of its own");
        assert_eq!(rig.counted().await, 5);
        let _ = rig.settle(&rig.pays("1001", Some(RIGHT))).await.problem(400, "pin_locked");
        for (call, answer) in wrong.iter().zip(&answers) {
            let replay = rig.settle(call).await;
            assert_eq!((replay.stored(), replay.replayed()), (answer.stored(), true));
        }
        assert_eq!((rig.counted().await, rig.balance().await.as_str()), (5, "20000"));
    }
}

/// Under one key, only the PIN that was counted is ever compared.
#[tokio::test(flavor = "multi_thread")]
async fn sixteen_pins_under_one_key_cost_one_attempt() {
    let rig = Rig::with_pin(host::shared(), "pin-one-key").await;
    for round in 0..3 {
        let key = rig.stage.terminal.next_key();
        let guesses: Vec<String> = (0..15).map(|n| (441_100 + n).to_string()).chain([RIGHT.to_owned()]).collect();
        let calls = guesses.iter().map(|pin| rig.pays("1001", Some(pin)).key(key.clone())).collect::<Vec<_>>();
        let before = rig.counted().await;
        let answers = join_all(calls.iter().map(|call| rig.settle(call))).await;
        let definite = answers.iter().filter(|answer| answer.status != 422).count();
        assert_eq!(definite, 1, "{answers:?}");
        assert!(rig.counted().await <= before + 1, "round {round}");
    }
    let _ = rig.stage.world.check_books().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_right_pins_all_pay() {
    let rig = Rig::with_pin(host::shared(), "pin-right").await;
    let calls: Vec<Call> = (0..8).map(|_| rig.pays("1001", Some(RIGHT))).collect();
    let mut paid = 0;
    for answer in join_all(calls.iter().map(|call| rig.settle(call))).await {
        match answer.status {
            201 => paid += 1,
            // With more than five at once some find five attempts in progress.
            _ => assert_eq!(answer.clone().problem(400, "pin_locked").status, 400),
        }
    }
    assert!(paid >= 5, "{paid}");
    assert_eq!((rig.counted().await, rig.balance().await), (0, (20000 - paid * 1001).to_string()));
    let _ = rig.stage.world.check_books().await;
}

/// A crash at each of the writes: reservation, taking back, payment; reservation, stored refusal.
#[tokio::test]
async fn retry_after_a_crash_at_each_write_counts_once() {
    let tap = Tap::default();
    let wire = tap.clone();
    let host = Host::with_app(move |backend| async move {
        wire.app((&backend.dynamodb_url, &backend.table), Attempts::One, Clock::system(), &backend.stripe).await
    });
    let rig = Rig::with_pin(host, "pin-crash").await;
    let api = &rig.stage.world.api;
    let _ = rig.settle(&rig.pays("1", Some(RIGHT))).await.good();
    for fault in [Fault::AnswerCut, Fault::Refused, Fault::Error(500, "InternalServerError")] {
        for at in 0..3 {
            let call = rig.pays("1001", Some(RIGHT));
            let before = rig.balance().await.parse::<u64>().unwrap();
            tap.next_writes((0..at).map(|_| None).chain([Some(fault.clone())]));
            let _ = api.send(&call).await.problem(503, "outcome_unknown");
            // Before the response is stored, another PIN under the key is another request.
            if at < 2 {
                let other = call.clone().field("pin", "441100");
                let _ = rig.settle(&other).await;
            }
            let done = rig.settle(&call).await;
            assert!(matches!(done.status, 201 | 422), "{fault:?} {at}: {done:?}");
            let paid = u64::from(done.status == 201) * 1001;
            assert_eq!(rig.balance().await.parse::<u64>().unwrap(), before - paid, "{fault:?} {at}");
            let _ = rig.settle(&rig.pays("1", Some(RIGHT))).await.good();
            assert_eq!((rig.counted().await, tap.faults_left()), (0, 0), "{fault:?} {at}");
        }
        for at in 0..2 {
            let wrong = rig.pays("1001", Some("441100"));
            tap.next_writes((0..at).map(|_| None).chain([Some(fault.clone())]));
            let _ = api.send(&wrong).await.problem(503, "outcome_unknown");
            assert!(rig.counted().await <= 1);
            assert_eq!(rig.wrong(&wrong).await, 4, "{fault:?} {at}");
            assert_eq!((rig.counted().await, tap.faults_left()), (1, 0), "{fault:?} {at}");
            let _ = rig.settle(&rig.pays("1", Some(RIGHT))).await.good();
        }
    }
    let _ = rig.stage.world.check_books().await;
}

/// The attempt is counted, the process ends, and the thief tries other PINs under the same key.
#[tokio::test]
async fn other_pin_after_a_crash_is_another_request() {
    let tap = Tap::default();
    let wire = tap.clone();
    let host = Host::with_app(move |backend| async move {
        wire.app((&backend.dynamodb_url, &backend.table), Attempts::One, Clock::system(), &backend.stripe).await
    });
    let rig = Rig::with_pin(host, "pin-crash-other").await;
    let wrong = rig.pays("1001", Some("441100"));
    tap.next_writes([None, Some(Fault::Refused)]);
    let _ = rig.stage.world.api.send(&wrong).await.problem(503, "outcome_unknown");
    for guess in ["441101", "441102", "441103", "441104", "441105", RIGHT] {
        let other = wrong.clone().field("pin", guess);
        let _ = rig.settle(&other).await.problem(422, "idempotency_key_fingerprint_mismatch");
    }
    assert_eq!((rig.counted().await, rig.balance().await.as_str()), (1, "20000"));
    assert_eq!(rig.wrong(&wrong).await, 4);
}

/// Every attempt, setting, change and reset.
#[tokio::test]
async fn no_row_and_no_answer_holds_a_pin() {
    let rig = Rig::with_pin(host::shared(), "pin-hidden").await;
    let mut answers = Vec::new();
    for call in [
        rig.pays("1001", Some(RIGHT)),
        rig.pays("1001", Some("660917")),
        rig.sets(Some("660917"), "715309"),
        rig.sets(Some(RIGHT), "715309"),
        rig.pays("1001", Some("660917")),
        rig.pays("999999", Some("715309")),
    ] {
        answers.push(rig.settle(&call).await.body);
    }
    let books = rig.stage.world.books().await;
    let rows: Vec<String> = books.rows.values().map(|row| format!("{row:?}")).chain(answers).collect();
    for pin in [RIGHT, "660917", "715309"] {
        assert!(!rows.iter().any(|row| row.contains(pin)), "{pin}");
    }
    let row = books.under(PIN).find(|(pk, ..)| pk.ends_with(&rig.card)).unwrap().2;
    assert!(PinRecord::read(Some(row)).unwrap().is_set());
    assert!(matches!(row.get("proof"), Some(Value::S(proof)) if proof.len() == 64));
}

/// A secret whose text a test changes.
#[derive(Clone)]
struct Changing(Arc<Mutex<String>>);

impl SecretSource for Changing {
    fn read(&self) -> BoxFuture<'_, Result<Masked<String>, SecretError>> {
        let text = self.0.lock().unwrap().clone();
        futures::future::ready(Ok(Masked::new(text))).boxed()
    }
}

fn keys(current: &str, ids: &[&str]) -> String {
    let keys: serde_json::Map<String, Json> =
        ids.iter().map(|id| ((*id).to_owned(), Json::from(hex_of(id).repeat(32)))).collect();
    json!({"current": current, "keys": keys, "request_key": "52".repeat(32)}).to_string()
}

fn hex_of(id: &str) -> String {
    format!("{:02x}", id.len())
}

#[tokio::test]
async fn keys_are_rotated_and_an_absent_key_is_503_with_nothing_written() {
    let (secret, ahead) = (Changing(Arc::new(Mutex::new(keys("one", &["one"])))), Arc::new(AtomicI64::new(0)));
    let (given, by) = (secret.clone(), Arc::clone(&ahead));
    let clock =
        Clock::from_fn(move || Timestamp::from_millis(Clock::system().now().millis() + by.load(Ordering::SeqCst)));
    let host = Host::with_app(|backend| async move {
        let (app, counting) = host::app((backend.dynamodb, &backend.table), clock, &backend.stripe);
        (app.with_pin_keys(given), counting)
    });
    let rig = Rig::with_pin(host, "pin-keys").await;
    let api = &rig.stage.world.api;
    let put = |text: String| {
        *secret.0.lock().unwrap() = text;
        // Past the time for which a secret is used before it is read again.
        ahead.fetch_add(301_000, Ordering::SeqCst);
    };
    let sent = async |call: &Call| {
        let created_s = (Clock::system().now().millis() + ahead.load(Ordering::SeqCst)) / 1000;
        let headers = api.signed(call, &rig.stage.terminal.credential, created_s);
        api.exchange(call, &headers).await.unwrap()
    };
    let key_of_pin = async || {
        let books = rig.stage.world.books().await;
        books.under(PIN).next().unwrap().2.get("pin_key").cloned()
    };
    assert_eq!(key_of_pin().await, Some(Value::s("one")));
    put(keys("three", &["one", "three"]));
    let paid = rig.pays("1001", Some(RIGHT));
    let first = sent(&paid).await.good();
    assert_eq!(key_of_pin().await, Some(Value::s("three")), "a right PIN raises its key");
    put(keys("three", &["three"]));
    let _ = sent(&rig.pays("1001", Some(RIGHT))).await.good();
    assert_eq!(sent(&paid).await.stored(), first.stored(), "a rotation does not change a fingerprint");
    let before = rig.stage.world.books().await;
    for absent in [keys("three3", &["three3"]), "{}".to_owned(), String::new()] {
        put(absent);
        let call = rig.pays("1001", Some(RIGHT));
        let _ = sent(&call).await.problem(503, "unavailable");
        rig.stage.world.books().await.unchanged_since(&before, "a PIN that cannot be checked wrote something");
    }
    // Payments that need no PIN need no key.
    let _ = sent(&rig.pays("1", None)).await.good();
    put(keys("three", &["three"]));
    let _ = sent(&rig.pays("1001", Some(RIGHT))).await.good();
}

#[tokio::test]
async fn without_a_secret_pins_are_503() {
    let host = Host::with_app(|backend| async move {
        let (app, counting) = host::app((backend.dynamodb, &backend.table), Clock::system(), &backend.stripe);
        (app.with_pin_keys(Masked::new(String::new())), counting)
    });
    let rig = Rig::new(host, "pin-no-keys").await;
    for call in [rig.sets(None, RIGHT), rig.pays("1001", Some(RIGHT))] {
        let _ = rig.stage.world.api.send(&call).await.problem(503, "unavailable");
    }
    let _ = rig.settle(&rig.pays("1001", None)).await.problem(400, "pin_required");
}

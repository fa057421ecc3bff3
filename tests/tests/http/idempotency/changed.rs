//! A stored response precedes everything that can change: after the first response, the records that the request was
//! planned from are changed or removed, and a retry gets the same bytes. And refunds, captures and voids work for
//! payments in an asset that the tenant no longer runs.

use ledger_core::dynamo::{self, Item};
use ledger_core::money::{Asset, AssetSpec, RegionalKey};
use ledger_core::terms::{AssetTerms, TenantTerms};
use ledger_local::clock;
use ledger_runtime::clock::Clock;
use ledger_tests::audit::{Books, MARKERS, n, s};
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Api, Call, Host, Who, World, host};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longer than a cached record is used.
const CACHE_EXPIRED_AFTER_S: u64 = 61;
const TOKEN_LIFETIME_S: i64 = 3_600;

/// A stage whose clock the test sets, so that its caches can expire.
pub(super) struct Changing {
    host: Arc<Host>,
    stage: Stage,
    ahead_s: Arc<AtomicU64>,
}

/// The changed row, or `None` if it is deleted.
type Change = fn(&Item) -> Option<Item>;

/// A change of a tenant's rows: its name, the rows that it concerns, and the change of each.
type Disturbance = (&'static str, fn(&str, &str) -> bool, Change);

const DISTURBANCES: [Disturbance; 10] = [
    ("the terms have no asset", is_config, without_assets),
    ("the terms have other caps, rates and policies", is_config, with_other_terms),
    ("the terms cannot be read", is_config, |row| Some(without(row, "co2_rate"))),
    ("the terms are deleted", is_config, |_| None),
    ("merchants are suspended", is_merchant, |row| Some(with(row, "status", s("suspended")))),
    ("merchants are deleted", |pk, _| pk.contains("#merchant#"), |_| None),
    ("customers are deleted", |pk, _| pk.contains("#customer#"), |_| None),
    ("payments cannot be read", |pk, _| pk.contains("#payment#"), |row| Some(keys_of(row))),
    ("every record is deleted", |_, _| true, |_| None),
    ("no record can be read", |_, _| true, |row| Some(keys_of(row))),
];

impl Changing {
    async fn new(tenant: &str, change: impl Fn(&mut TenantTerms)) -> Self {
        let ahead_s = Arc::new(AtomicU64::new(0));
        let (ahead, system) = (Arc::clone(&ahead_s), Clock::system());
        let clock = Clock::from_fn(move || system.now().plus(Duration::from_secs(ahead.load(Ordering::SeqCst))));
        let host =
            Host::with_app(
                |backend| async move { host::app((backend.dynamodb, &backend.table), clock, &backend.stripe) },
            );
        let stage = Stage::new(World::with_terms(Arc::clone(&host), tenant, change).await).await;
        Self { host, stage, ahead_s }
    }

    /// Changes the tenant's rows, except markers, the profiles that authenticate terminals and the records of members.
    async fn disturb(&self, rows: &Books, (_, concerns, change): Disturbance) {
        for ((pk, sk), row) in &rows.rows {
            let marker = MARKERS.iter().any(|prefix| sk.starts_with(prefix));
            let authentication = (pk.contains("#terminal#") && sk == "PROFILE") || sk.starts_with("STAFF#");
            if !marker && !authentication && concerns(pk, sk) {
                match change(row) {
                    Some(changed) => self.stage.world.plant(changed).await,
                    None => self.stage.world.remove(pk, sk).await,
                }
            }
        }
        let _ = self.ahead_s.fetch_add(CACHE_EXPIRED_AFTER_S, Ordering::SeqCst);
    }

    async fn restore(&self, rows: &Books) {
        for row in rows.rows.values() {
            self.stage.world.plant(row.clone()).await;
        }
        let _ = self.ahead_s.fetch_add(CACHE_EXPIRED_AFTER_S, Ordering::SeqCst);
    }

    /// Sends a request; a terminal signs it by the stack's clock.
    async fn send(&self, call: &Call) -> Answer {
        let api = &self.stage.world.api;
        match &call.who {
            Who::Terminal(credential) => {
                let ahead = Duration::from_secs(self.ahead_s.load(Ordering::SeqCst));
                let headers = api.signed(call, credential, Clock::system().now().plus(ahead).seconds());
                api.exchange(call, &headers).await.expect("an answer")
            }
            Who::Bearer(_) | Who::Anonymous => api.send(call).await,
        }
    }

    /// Removes every asset from the terms.
    async fn remove_assets(&self) {
        self.disturb(&self.stage.world.books().await, DISTURBANCES[0]).await;
    }
}

/// Asserts for one endpoint that the stored response comes first after each disturbance.
pub(super) async fn check_stored_response_comes_first(endpoint: Endpoint) {
    let changing = Changing::new("changing", |_| {}).await;
    let world = &changing.stage.world;
    world.hold_deliveries().await;
    let prepared = endpoint.prepare(&changing.stage).await;
    let first = world.api.settle(&prepared.call).await.good();
    let rows = world.books().await;
    for disturbance in DISTURBANCES {
        changing.disturb(&rows, disturbance).await;
        let again = changing.send(&prepared.call).await;
        assert_eq!((again.stored(), again.replayed()), (first.stored(), true), "{endpoint:?}: {}", disturbance.0);
        if let Some(other) = &prepared.other {
            let refused = changing.send(other).await;
            assert_eq!(
                (refused.status, refused.code().as_deref()),
                (422, Some("idempotency_key_fingerprint_mismatch")),
                "{endpoint:?}: {}: {refused:?}",
                disturbance.0
            );
        }
        changing.restore(&rows).await;
    }
    if !endpoint.is_terminals() {
        check_without_provider(&changing, &prepared.call, &first, endpoint).await;
    }
}

/// The same table behind functions without a payment provider.
async fn check_without_provider(changing: &Changing, call: &Call, first: &Answer, endpoint: Endpoint) {
    let (url, table) = (changing.host.stack().dynamodb_url().to_owned(), changing.host.stack().table().to_owned());
    let bare =
        Host::with_app(|_| async move { host::bare((host::functions_client(&url).await, &table), Clock::system()) });
    let Who::Bearer(token) = &call.who else { panic!("a token") };
    let claims = changing.host.stack().issuer().verify(token).expect("a good token");
    let merchant_id = claims.get("merchant_id").map(String::as_str);
    let grant = changing.stage.world.grant_of(&claims["client_id"], &claims["sub"], merchant_id);
    let issued = bare.stack().issuer().issue(&grant, clock::epoch_s(), TOKEN_LIFETIME_S).expect("a token");
    let again = Api::new(&bare.stack().url()).send(&call.clone().by(&Who::Bearer(issued))).await;
    assert_eq!((again.stored(), again.replayed()), (first.stored(), true), "{endpoint:?}: no payment provider");
}

#[tokio::test]
async fn payment_in_a_removed_asset_is_refunded() {
    let changing = Changing::new("left-refund", with_yama).await;
    let Stage { world, merchant, .. } = &changing.stage;
    let customer = world.customer().await;
    world.grant(&customer, "REGIONAL#yama", "100").await;
    let body = json!({"merchant_id": merchant.id, "amount": "10", "asset": "REGIONAL#yama"});
    let pay = Call::post("/v1/me/payments", &customer.who, &body).key(new_key());
    let yama = world.api.settle(&pay).await.good().text("/payment_id");
    let (buyer, yen) = changing.stage.paid("1000").await;
    let (card, _, by_card) = changing.stage.paid_by_card("1000").await;
    changing.remove_assets().await;
    let _ = changing.send(&pay.key(new_key())).await.problem(400, "invalid_request");

    // A payment of 10 in a currency with two decimals is refunded in parts with decimals.
    let part = changing.send(&merchant.refunds(&yama, "2.5")).await.good();
    assert_eq!(part.text("/amount"), "2.5");
    let _ = changing.send(&merchant.refunds(&yama, "0.001")).await.problem(400, "invalid_request");
    let path = format!("/v1/merchant/payments/{yama}/refunds");
    let rest = Call::post(&path, &merchant.who, &json!({})).key(new_key());
    assert_eq!(changing.send(&rest).await.good().text("/amount"), "7.5");
    let _ = changing.send(&merchant.refunds(&yen, "400")).await.good();
    let refund = changing.stage.terminal.does("refund", &card, &json!({"payment_id": by_card, "amount": "300"}));
    let _ = changing.send(&refund).await.good();
    let refund = changing.stage.terminal.does("refund", &card, &json!({"payment_id": by_card}));
    assert_eq!(changing.send(&refund).await.good().text("/amount"), "700");

    assert_eq!(world.balance(&customer, "REGIONAL#yama").await, "100");
    assert_eq!(world.balance(&buyer, "ECOPAY").await, "400");
    world.check_books().await;
}

#[tokio::test]
async fn hold_in_a_removed_asset_is_captured_or_released() {
    let changing = Changing::new("left-hold", with_yama).await;
    let Stage { world, merchant, terminal } = &changing.stage;
    let hold = async || {
        let customer = world.customer().await;
        world.grant(&customer, "REGIONAL#yama", "100").await;
        let authorize = merchant.authorizes(&customer.code(world).await, "10").field("asset", "REGIONAL#yama");
        (customer, world.api.settle(&authorize).await.good().text("/payment_id"))
    };
    let ((captured_of, captured), (voided_of, voided)) = (hold().await, hold().await);
    let (card, paid, _) = changing.stage.paid_by_card("1000").await;
    let late = captured_of.code(world).await;
    changing.remove_assets().await;
    let late = merchant.authorizes(&late, "10").field("asset", "REGIONAL#yama");
    let _ = changing.send(&late).await.problem(400, "invalid_request");

    let detail = changing.send(&merchant.captures(&captured, Some("2.25"))).await.good();
    assert_eq!((detail.text("/status").as_str(), detail.text("/amount").as_str()), ("captured", "2.25"));
    let _ = changing.send(&merchant.voids(&voided)).await.good();
    let _ = changing.send(&terminal.reverses("card_pay", &paid)).await.good();

    assert_eq!(world.balance(&captured_of, "REGIONAL#yama").await, "97.75");
    assert_eq!(world.balance(&voided_of, "REGIONAL#yama").await, "100");
    assert_eq!(world.card_balance(&card).await, "1000");
    world.check_books().await;
}

/// Adds a regional currency of two decimals.
fn with_yama(terms: &mut TenantTerms) {
    let spec = AssetSpec::regional(RegionalKey::parse("yama").expect("a key"), 2).expect("a scale");
    let yama = AssetTerms::running(spec.clone(), None);
    let _ = terms.assets.insert(Asset::clone(spec.asset()), yama);
}

fn is_config(pk: &str, sk: &str) -> bool {
    pk.contains("#tenant#") && sk == "CONFIG"
}

fn is_merchant(pk: &str, sk: &str) -> bool {
    pk.contains("#merchant#") && sk == "PROFILE"
}

fn without_assets(row: &Item) -> Option<Item> {
    Some(with(row, "assets", dynamo::Value::M(Item::new())))
}

fn with_other_terms(row: &Item) -> Option<Item> {
    let mut row = with(&with(row, "card_cap", n(1)), "spent_points", s("forgive"));
    for rate in ["co2_rate", "points_rate", "card_bonus_rate"] {
        row = with(&row, rate, n("0.5"));
    }
    let dynamo::Value::M(assets) = &row["assets"] else { panic!("assets") };
    let assets = assets.iter().map(|(name, terms)| {
        let dynamo::Value::M(terms) = terms else { panic!("terms") };
        let mut terms = terms.clone();
        terms.extend([
            ("cap".to_owned(), n(1)),
            ("transferable".to_owned(), dynamo::Value::Bool(false)),
            ("spendable".to_owned(), dynamo::Value::Bool(false)),
        ]);
        (name.clone(), dynamo::Value::M(terms))
    });
    let row = with(&row, "assets", dynamo::Value::M(assets.collect()));
    Some(without(&without(&row, "topup"), "settlement"))
}

fn keys_of(row: &Item) -> Item {
    ["uuid", "type"].into_iter().map(|key| (key.to_owned(), row[key].clone())).collect()
}

fn with(row: &Item, name: &str, value: dynamo::Value) -> Item {
    let mut row = row.clone();
    let _ = row.insert(name.to_owned(), value);
    row
}

fn without(row: &Item, name: &str) -> Item {
    let mut row = row.clone();
    let _ = row.remove(name);
    row
}

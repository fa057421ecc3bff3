//! Several processes over one table and one Stripe, each with its own clock and connections, so that a test can delay,
//! skew, disconnect or kill any of them at a chosen point.

use super::Customer;
use super::books::{from_sdk, to_sdk};
use super::endpoints::Stage;
use super::psp_tap::PspTap;
use super::tap::{Attempts, Tap};
use super::world::{World, new_id};
use super::{Answer, Call, Host, Who, host};
use crate::audit::{opt_number, opt_text, s};
use crate::chance::Dice;
use crate::cloud::gate;
use crate::copy::stream::Stream;
use aws_sdk_dynamodb::Client;
use axum::Router;
use axum::body::Body;
use futures::future::join_all;
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::personal::Masked;
use ledger_core::terms::TenantTerms;
pub use ledger_local::clock::MovableClock as TestClock;
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::StripeConfig;
use ledger_runtime::gateway::{FACE, GatewayContext};
use ledger_runtime::metrics::{Counting, Metric};
use ledger_runtime::problem::Problem;
use ledger_runtime::psp::Stripe;
use ledger_runtime::topups::Recovered;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stripe_simulator::Simulator;
use tokio::task::JoinHandle;
use tower::ServiceExt;

/// The amount of every top-up here, in yen.
pub const YEN: &str = "1000";
/// The points of such a top-up: five per cent.
pub const POINTS: &str = "50";
/// Longer than the lease of a claim.
pub const LEASE_OVER: Duration = Duration::from_secs(31);
/// The pause between two checks of a condition.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(10);
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const BODY_BYTES_MAX: usize = 1 << 20;
const WEBHOOK: &str = "/v1/webhooks/stripe";

/// A table and a Stripe, with their clients.
#[derive(Clone)]
pub struct Rig {
    host: Arc<Host>,
    /// The Stripe simulator. It delivers no events itself.
    pub simulator: Simulator,
    stripe: Stripe,
    dynamodb: Client,
}

/// A process: the functions' state with its own clock and connections.
#[derive(Clone)]
pub struct Actor {
    /// The state.
    pub app: App,
    /// Its clock.
    pub clock: TestClock,
    /// Its connection to Stripe.
    pub psp: PspTap,
    /// Its connection to the table.
    pub tap: Tap,
    /// Its counters.
    pub counting: Counting,
    router: Router,
    host: Arc<Host>,
}

/// A tenant with one customer, and the processes that serve it.
pub struct Scene {
    /// The table and the Stripe that it uses.
    pub rig: Rig,
    /// The tenant.
    pub world: World,
    /// Its slug.
    pub tenant: Tenant,
    /// The customer.
    pub customer: Customer,
}

/// The numbers of a balance item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wallet {
    /// The available amount.
    pub balance: String,
    /// The held amount.
    pub held: String,
    /// The headroom reserved for amounts that may come in.
    pub reserved: String,
}

impl Rig {
    /// Starts a new stack: the simulator's faults affect no other test, and the table is small enough for frequent
    /// audits.
    pub async fn new() -> Self {
        let host = Host::with_app(|backend| async move {
            host::app((backend.dynamodb, &backend.table), Clock::system(), &backend.stripe)
        });
        let stack = host.stack();
        let simulator = stack.simulator().expect("the simulator").clone();
        // Only the test delivers events.
        simulator.deliver_to(None);
        let stripe = Stripe::new(stack.stripe(), stack.table()).expect("a client of Stripe");
        let dynamodb = host::client(stack.dynamodb_url()).await;
        Self { host, simulator, stripe, dynamodb }
    }

    /// The stream of the table's changes, from now on.
    pub async fn stream(&self) -> Stream {
        let stack = self.host.stack();
        Stream::start(&self.dynamodb, stack.dynamodb_url(), stack.table()).await
    }

    /// The functions' state over another table of the same engine, which is created, and a client. It has no Stripe.
    pub async fn app_over(&self, table: &str) -> (App, Client) {
        let stack = self.host.stack();
        let url = stack.dynamodb_url();
        ledger_local::table::ensure(&self.dynamodb, url, table).await.expect("a table");
        let client = host::functions_client(url).await;
        (host::bare((client, table), Clock::system()).0, self.dynamodb.clone())
    }

    /// A new tenant with a merchant and a terminal.
    pub async fn stage(&self, tenant: &str) -> Stage {
        Stage::new(World::with_terms(Arc::clone(&self.host), tenant, |_| {}).await).await
    }

    /// A new process.
    pub async fn actor(&self) -> Actor {
        self.actor_with(self.stripe.clone(), Attempts::Retried, None).await
    }

    /// A new process whose secret of marker keys has another text.
    pub async fn actor_with_marker_keys(&self, text: &str) -> Actor {
        self.actor_with(self.stripe.clone(), Attempts::Retried, Some(text)).await
    }

    /// A process that makes each call of the table once and without a timeout, so that only the planned faults affect
    /// it.
    pub async fn victim(&self) -> Actor {
        self.actor_with(self.stripe.clone(), Attempts::OneUnlimited, None).await
    }

    /// A new process with an API key that Stripe rejects.
    pub async fn actor_with_a_wrong_key(&self) -> Actor {
        let known = self.host.stack().stripe();
        let config = StripeConfig { api_key: Masked::new("sk_test_wrong".to_owned()), ..known.clone() };
        self.actor_with(
            Stripe::new(&config, self.host.stack().table()).expect("a client of Stripe"),
            Attempts::Retried,
            None,
        )
        .await
    }

    async fn actor_with(&self, stripe: Stripe, attempts: Attempts, marker_keys: Option<&str>) -> Actor {
        let (clock, psp, tap, stack) = (TestClock::default(), PspTap::over(stripe), Tap::default(), self.host.stack());
        let client = tap.client(stack.dynamodb_url(), attempts).await;
        let (mut app, counting) = host::app_with((client, stack.table()), clock.clock(), stack.stripe(), psp.clone());
        if let Some(text) = marker_keys {
            let ledger = app.ledger().clone().with_marker_keys(Masked::new(text.to_owned()));
            app = App::new(ledger, app.config().clone()).with_psp(psp.clone(), stack.stripe());
        }
        let app = app.with_files(Arc::new(stack.downloads().clone()));
        let router = gate::router((app.clone(), counting.clone()));
        Actor { app, clock, psp, tap, counting, router, host: Arc::clone(&self.host) }
    }

    /// A new tenant.
    pub async fn scene(&self, tenant: &str) -> Scene {
        self.scene_with(tenant, |_| {}).await
    }

    /// A new tenant that abandons top-ups after a week.
    pub async fn patient_scene(&self, tenant: &str) -> Scene {
        self.scene_with(tenant, |terms| {
            terms.topup.as_mut().expect("top-ups are offered").abandoned_after = WEEK;
        })
        .await
    }

    /// A new tenant with changed terms.
    pub async fn scene_with(&self, tenant: &str, change: impl Fn(&mut TenantTerms)) -> Scene {
        let world = World::with_terms(Arc::clone(&self.host), tenant, change).await;
        let customer = world.customer().await;
        let tenant = Tenant::parse(tenant).expect("a slug");
        Scene { rig: self.clone(), world, tenant, customer }
    }
}

impl Actor {
    /// Answers a request as the function behind API Gateway does, in the calling task: dropping the future kills the
    /// process at that point.
    pub async fn send(&self, call: &Call) -> Answer {
        let mut request = http::Request::builder().method(call.method.as_str()).uri(&call.path);
        for (name, value) in self.headers(call) {
            request = request.header(name, value);
        }
        let mut request = request.body(Body::from(call.body.clone().unwrap_or_default())).expect("a request");
        request.extensions_mut().insert(self.context(&call.who));
        let response = self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let headers =
            response.headers().iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), BODY_BYTES_MAX).await.expect("a body");
        Answer { status, headers, body: text(&body) }
    }

    /// Sends the request in a new task, which can be aborted.
    #[must_use]
    pub fn spawn(&self, call: &Call) -> JoinHandle<Answer> {
        let (actor, call) = (self.clone(), call.clone());
        tokio::spawn(async move { actor.send(&call).await })
    }

    /// Sends until the outcome is known: repeats after a 409 or a 503.
    pub async fn settle(&self, call: &Call) -> Answer {
        let settling = async {
            loop {
                let answer = self.send(call).await;
                if !matches!(answer.status, 409 | 503) {
                    return answer;
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        let settled = tokio::time::timeout(PATIENCE, settling).await;
        settled.unwrap_or_else(|_| panic!("no definite answer to {call:?}"))
    }

    /// Runs the recovery worker once.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn recover(&self, scene: &Scene) -> Result<Recovered, Problem> {
        gate::as_function("outbox", outbox::run_due(&self.app, &scene.tenant)).await
    }

    /// Delivers an event to this process, signed now by the process's clock.
    pub async fn deliver(&self, scene: &Scene, event: &Value) -> Answer {
        let (signature, body) = scene.rig.simulator.signed_at(event, self.app.now().seconds());
        self.take(&signature, &body).await
    }

    /// Delivers an event to this process, signed now by Stripe's clock.
    pub async fn deliver_on_time(&self, scene: &Scene, event: &Value) -> Answer {
        let (signature, body) = scene.rig.simulator.signed(event);
        self.take(&signature, &body).await
    }

    async fn take(&self, signature: &str, body: &str) -> Answer {
        self.send(&Call::post(WEBHOOK, &Who::Anonymous, &json!({})).raw(body).header("stripe-signature", signature))
            .await
    }

    /// Delivers these events one after the other, each until it is accepted, as Stripe does.
    pub async fn deliver_all<'a>(&self, scene: &Scene, events: impl IntoIterator<Item = &'a Value>) {
        for event in events {
            let delivering = async {
                while self.deliver(scene, event).await.status != 200 {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            };
            let taken = tokio::time::timeout(PATIENCE, delivering).await;
            assert!(taken.is_ok(), "{} was not accepted in time", event["type"]);
        }
    }

    /// The total of a counter.
    #[must_use]
    pub fn counted(&self, metric: Metric) -> u64 {
        self.counting.total(metric)
    }

    /// Waits until no fault planned for its table is left.
    pub async fn met(&self) {
        until("a planned fault", async || self.tap.faults_left() == 0).await;
    }

    fn headers(&self, call: &Call) -> Vec<(String, String)> {
        let mut headers = call.headers.clone();
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
        headers.extend(call.key.iter().map(|key| ("idempotency-key".to_owned(), key.clone())));
        headers
    }

    /// The context that a gateway derives from the caller's token.
    fn context(&self, who: &Who) -> GatewayContext {
        let claims = match who {
            Who::Bearer(token) => {
                let mut claims = self.host.stack().issuer().verify(token).expect("a token that this stack issued");
                let api = claims["client_id"].clone();
                claims.insert(FACE.to_owned(), api);
                Some(claims)
            }
            _ => None,
        };
        GatewayContext { claims, ..GatewayContext::default() }
    }
}

/// Waits until a condition without notification holds, by checking repeatedly.
pub async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "{what}: not in time");
}

impl Scene {
    /// The customer's request for a top-up of [`YEN`], with a fresh key.
    #[must_use]
    pub fn topup(&self) -> Call {
        self.topup_of(YEN)
    }

    /// The customer's request for a top-up of another amount, with a fresh key.
    #[must_use]
    pub fn topup_of(&self, amount: &str) -> Call {
        // Not a UUIDv7: the time in such a key would interfere with the test's clocks.
        Call::post("/v1/me/topups", &self.customer.who, &json!({"amount": amount})).key(format!("k-{}", new_id()))
    }

    /// The operator's request to refund a whole top-up, with a fresh key.
    #[must_use]
    pub fn refund(&self, topup: &str) -> Call {
        let body = json!({"reason": "for a test"});
        let path = format!("/v1/admin/topups/{topup}/refunds");
        Call::post(&path, &self.world.operator.who, &body).key(format!("k-{}", new_id()))
    }

    /// A top-up that was paid and credited; returns its id.
    pub async fn paid(&self) -> String {
        let actor = self.rig.actor().await;
        let topup = actor.settle(&self.topup()).await.good();
        self.pay();
        actor.deliver_all(self, &self.events()).await;
        topup.text("/topup_id")
    }

    /// The customer pays every open PaymentIntent.
    pub fn pay(&self) {
        for intent in self.intents() {
            // A PaymentIntent that is paid already stays paid.
            let _ = self.rig.simulator.succeed_payment(intent["id"].as_str().expect("an id"));
        }
    }

    /// Stripe's PaymentIntents of this tenant.
    #[must_use]
    pub fn intents(&self) -> Vec<Value> {
        self.own(self.rig.simulator.payment_intents(), "/metadata/ecopay_tenant")
    }

    /// Stripe's refunds of this tenant.
    #[must_use]
    pub fn refunds(&self) -> Vec<Value> {
        self.own(self.rig.simulator.refunds(), "/metadata/ecopay_tenant")
    }

    /// Stripe's events of this tenant, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        self.own(self.rig.simulator.events(), "/data/object/metadata/ecopay_tenant")
    }

    fn own(&self, mut all: Vec<Value>, tenant: &str) -> Vec<Value> {
        all.retain(|object| object.pointer(tenant).and_then(Value::as_str) == Some(self.tenant.as_str()));
        all
    }

    /// The state of the marker under a call's key, if there is one.
    pub async fn marker(&self, call: &Call) -> Option<String> {
        let (operation, principal) = match call.path.as_str() {
            "/v1/me/topups" => ("topup", format!("customer#{}", self.customer.id)),
            _ => ("topup_refund", format!("staff#{}", self.world.operator.id)),
        };
        let key = call.key.as_deref().expect("a key");
        let pk = format!("{}#{principal}", self.tenant);
        let row = self.row(&pk, &format!("card_op_idem#{operation}#{key}")).await;
        opt_text(&row, "state").map(str::to_owned)
    }

    /// The customer's stored balance of an asset.
    pub async fn wallet(&self, asset: &str) -> Wallet {
        let row =
            self.row(&format!("{}#customer#{}", self.tenant, self.customer.id), &format!("BALANCE#{asset}")).await;
        let number = |name: &str| opt_number(&row, name).to_string();
        Wallet { balance: number("balance"), held: number("held"), reserved: number("reserved") }
    }

    async fn row(&self, pk: &str, sk: &str) -> Item {
        let got = self.rig.dynamodb.get_item().table_name(self.world.table_name()).consistent_read(true);
        let got = got.set_key(Some(to_sdk([("uuid".to_owned(), s(pk)), ("type".to_owned(), s(sk))].into())));
        got.send().await.expect("the table").item.map(from_sdk).unwrap_or_default()
    }

    /// Delivers each event twice, to two processes, in an order that follows from the seed.
    pub async fn storm(&self, actors: &[Actor; 2], seed: u64) {
        let events = self.events();
        let mut twice: Vec<&Value> = events.iter().chain(&events).collect();
        Dice::new(seed).shuffle(&mut twice);
        let halves = twice.split_at(twice.len() / 2);
        join_all([(&actors[0], halves.0), (&actors[1], halves.1)].map(async |(actor, half)| {
            actor.deliver_all(self, half.iter().copied()).await;
        }))
        .await;
    }
}

impl std::fmt::Debug for Rig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rig")
    }
}

impl std::fmt::Debug for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Actor").field("clock", &self.clock).field("psp", &self.psp).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scene").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

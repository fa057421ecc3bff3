//! The functions' binaries over a local stack with the demo data: started with the variables that they need, and called
//! with events that are renewed as API Gateway, Stripe and a terminal make them.

use super::{Bucket, Function, Queue, Secrets, events, names};
use crate::binaries;
use crate::cloud::proxy;
use crate::http::{Host, Terminal, World, settling};
use ledger_runtime::settlement::SettlementRef;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A stack, and the binaries of a profile.
#[derive(Debug)]
pub struct Rig {
    /// The demo tenant on the stack.
    pub world: World,
    /// The demo terminal, enrolled.
    pub terminal: Terminal,
    /// The queues for events.
    pub queue: Queue,
    /// The buckets for exports and reports.
    pub bucket: Bucket,
    /// The secrets of the functions.
    secrets: Secrets,
    /// An open settlement.
    pub settlement: SettlementRef,
    /// The URL of the store for the functions.
    store: String,
    host: Arc<Host>,
    binaries: PathBuf,
}

impl Rig {
    /// A rig with the binaries of this test's profile.
    pub async fn new() -> Self {
        static BINARIES: OnceLock<PathBuf> = OnceLock::new();
        let fresh = || binaries::fresh(&names(), &binaries::own_profile());
        Self::with(tokio::task::block_in_place(|| BINARIES.get_or_init(fresh))).await
    }

    /// A rig with the binaries in this folder.
    pub async fn with(binaries: &Path) -> Self {
        // This stack runs no workers, which would do the work that tests leave to the functions.
        let host = Host::fresh();
        let stack = host.stack();
        let world = World::remote(&stack.url(), (stack.dynamodb_url(), stack.table())).await;
        let terminal = world.enrol(&stack.demo().terminals[0]).await;
        // Its destination is old enough to be paid to.
        let merchant = world.demo_merchant(&stack.demo().merchants[0]).await;
        let settlement = settling::opened(&world, &merchant).await;
        let (queue, bucket) = (Queue::start().await, Bucket::start().await);
        let stripe = stack.stripe();
        let webhooks: Vec<&str> = stripe.webhook_secrets.iter().map(|secret| secret.expose().as_str()).collect();
        let secrets = Secrets::start(stripe.api_key.expose(), &webhooks).await;
        let store = proxy::listen(stack.dynamodb_url()).await;
        Self { world, terminal, settlement, queue, bucket, secrets, store, host, binaries: binaries.to_owned() }
    }

    /// The URL of the store for the functions; its proxy rejects what DynamoDB rejects.
    #[must_use]
    pub fn store(&self) -> &str {
        &self.store
    }

    /// The URL of the store itself, without the proxy, for measurements.
    #[must_use]
    pub fn embedded_store(&self) -> &str {
        self.host.stack().dynamodb_url()
    }

    /// A function's environment variables, with the store at a URL.
    #[must_use]
    pub fn variables(&self, store: &str) -> Vec<(String, String)> {
        let stripe = self.host.stack().stripe();
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let own = [
            set("TABLE_NAME", self.host.stack().table()),
            set("LEDGER_ENDPOINT_URL", store),
            set("STRIPE_BASE_URL", &stripe.base_url),
        ];
        let clients = events::CLIENTS.map(|(name, value)| set(name, value));
        let others = self.queue.variables().into_iter().chain(self.bucket.variables());
        own.into_iter().chain(clients).chain(self.secrets.variables()).chain(others).collect()
    }

    /// Starts a function, and waits until it asks for its first event.
    pub async fn function(&self, name: &str) -> Function {
        self.function_over(name, self.store()).await
    }

    /// The same with the store at another URL.
    pub async fn function_over(&self, name: &str, store: &str) -> Function {
        let mut function = self.spawn(name, &self.variables(store)).await;
        let _ = function.ready().await;
        function
    }

    /// Starts a function with these variables, without waiting.
    pub async fn spawn(&self, name: &str, variables: &[(String, String)]) -> Function {
        Function::spawn(name, &binaries::path(&self.binaries, name), variables).await
    }

    /// An event of `tests/events` with renewed parts.
    #[must_use]
    pub fn event(&self, name: &str) -> Value {
        self.fresh(events::kept(name))
    }

    /// An event with renewed parts.
    #[must_use]
    pub fn fresh(&self, event: Value) -> Value {
        let mut event = events::fresh(event, &self.world, &self.terminal);
        if !event["settlement_id"].is_null() {
            event["merchant_id"] = self.settlement.merchant.to_string().into();
            event["settlement_id"] = self.settlement.id.to_string().into();
        }
        event
    }
}

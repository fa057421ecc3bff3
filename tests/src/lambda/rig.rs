//! The functions' binaries over a local stack with the demo data: started with what they need to reach it,
//! and their events made as fresh as API Gateway, Stripe and a terminal make them.

use super::{Bucket, Function, Queue, events, names};
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
    /// Where events go.
    pub queue: Queue,
    /// Where exports are, and reports on them.
    pub bucket: Bucket,
    /// A settlement that is open.
    pub settlement: SettlementRef,
    /// Where the functions reach the store.
    store: String,
    host: Arc<Host>,
    binaries: PathBuf,
}

impl Rig {
    /// With binaries of this test's own profile.
    pub async fn new() -> Self {
        static BINARIES: OnceLock<PathBuf> = OnceLock::new();
        let fresh = || binaries::fresh(&names(), &binaries::own_profile());
        Self::with(tokio::task::block_in_place(|| BINARIES.get_or_init(fresh))).await
    }

    /// With the binaries in this folder.
    pub async fn with(binaries: &Path) -> Self {
        // It runs no workers, which would do the work that a test has for the functions.
        let host = Host::fresh();
        let stack = host.stack();
        let world = World::remote(&stack.url(), (stack.dynamodb_url(), stack.table())).await;
        let terminal = world.enrol(&stack.demo().terminals[0]).await;
        let merchant = world.merchant().await;
        world.change(&format!("/v1/admin/merchants/{}", merchant.id), &settling::destination()).await;
        let settlement = settling::opened(&world, &merchant).await;
        let (queue, bucket) = (Queue::start().await, Bucket::start().await);
        let store = proxy::listen(stack.dynamodb_url()).await;
        Self { world, terminal, settlement, queue, bucket, store, host, binaries: binaries.to_owned() }
    }

    /// Where the functions reach the store: what DynamoDB refuses is refused on the way.
    #[must_use]
    pub fn store(&self) -> &str {
        &self.store
    }

    /// Where the store itself listens, for what is measured.
    #[must_use]
    pub fn embedded_store(&self) -> &str {
        self.host.stack().dynamodb_url()
    }

    /// What a function's configuration has in its environment, with the store at a URL.
    #[must_use]
    pub fn variables(&self, store: &str) -> Vec<(String, String)> {
        let stripe = self.host.stack().stripe();
        let secrets: Vec<&str> = stripe.webhook_secrets.iter().map(|secret| secret.expose().as_str()).collect();
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let own = [
            set("TABLE_NAME", self.host.stack().table()),
            set("LEDGER_ENDPOINT_URL", store),
            set("STRIPE_API_KEY", stripe.api_key.expose()),
            set("STRIPE_WEBHOOK_SECRET", &secrets.join(",")),
            set("STRIPE_BASE_URL", &stripe.base_url),
        ];
        own.into_iter().chain(self.queue.variables()).chain(self.bucket.variables()).collect()
    }

    /// Starts a function, which waits for its first event.
    pub async fn function(&self, name: &str) -> Function {
        self.function_over(name, self.store()).await
    }

    /// The same with the store at another URL.
    pub async fn function_over(&self, name: &str, store: &str) -> Function {
        let mut function = self.spawn(name, &self.variables(store)).await;
        let _ = function.ready().await;
        function
    }

    /// Starts a function with these variables and waits for nothing.
    pub async fn spawn(&self, name: &str, variables: &[(String, String)]) -> Function {
        Function::spawn(name, &binaries::path(&self.binaries, name), variables).await
    }

    /// An event of `tests/events`, as it is sent now.
    #[must_use]
    pub fn event(&self, name: &str) -> Value {
        self.fresh(events::kept(name))
    }

    /// An event as it is sent now.
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

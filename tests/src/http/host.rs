//! A stack that runs on its own threads, so that tests with separate runtimes can share it. It stops with its last
//! handle and writes nothing to disk. With `LEDGER_ENGINE_URL` its table is at that endpoint, under a name of its own,
//! and is deleted when the stack stops.

use crate::cloud::gate;
use crate::engine::other;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use ledger_core::personal::Masked;
use ledger_core::rate::RequestRate;
use ledger_core::registry;
use ledger_local::backend::Backend;
use ledger_local::demo::Demo;
use ledger_local::faces::{self, MountError, Mounted};
use ledger_local::marker_keys;
use ledger_local::stack::{Stack, StackConfig, Store};
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::{CallerConfig, Config, StripeConfig};
use ledger_runtime::dynamo::{self, Dynamo};
use ledger_runtime::entropy::Entropy;
use ledger_runtime::execute::Ledger;
use ledger_runtime::metrics::{Counting, Metrics};
use ledger_runtime::psp::{Psp, Stripe};
use ledger_runtime::readback::MetricSource;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// The random bytes that are drawn at once.
const RANDOM_BYTES: usize = 16;

/// A running stack.
#[derive(Debug)]
pub struct Host {
    stack: Option<Stack>,
    stop: Option<oneshot::Sender<Stack>>,
    thread: Option<JoinHandle<()>>,
}

static SHARED: OnceLock<Arc<Host>> = OnceLock::new();

/// The stack that the tests of this binary share. With another engine each call starts a stack, because a static one
/// would not delete its table.
pub fn shared() -> Arc<Host> {
    if other::given_url().is_some() {
        return Host::fresh();
    }
    Arc::clone(SHARED.get_or_init(Host::fresh))
}

/// Whether other tests use a stack too.
pub(super) fn is_shared(host: &Arc<Host>) -> bool {
    SHARED.get().is_some_and(|shared| Arc::ptr_eq(shared, host))
}

/// The limit of one attempt of a call, so that no test depends on the speed of its machine; and of all of them.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
const OPERATION_TIMEOUT: Duration = Duration::from_secs(60);

/// The timeouts of every client but in tests of timeouts.
#[must_use]
pub fn timeouts() -> TimeoutConfig {
    let attempt = TimeoutConfig::builder().connect_timeout(ATTEMPT_TIMEOUT).operation_attempt_timeout(ATTEMPT_TIMEOUT);
    attempt.operation_timeout(OPERATION_TIMEOUT).build()
}

/// A client of the table for the test itself, with the retries of production.
pub async fn client(url: &str) -> Client {
    let client = dynamo::client(&dynamo::sdk_config(Some(url)).await, Some(url));
    Client::from_conf(client.config().to_builder().timeout_config(timeouts()).build())
}

/// The same for functions: each call is checked against the role of the calling function.
pub async fn functions_client(url: &str) -> Client {
    let http = gate::over(aws_smithy_http_client::Builder::new().build_http());
    Client::from_conf(client(url).await.config().to_builder().http_client(http).build())
}

/// The functions' state over a client of the table, a clock and a Stripe, with its counters.
///
/// # Panics
/// When the Stripe client cannot set up TLS.
#[must_use]
pub fn app((client, table): (Client, &str), clock: Clock, stripe: &StripeConfig) -> (App, Counting) {
    let psp = Stripe::new(stripe, table).expect("a client of Stripe");
    app_with((client, table), clock, stripe, psp)
}

/// The same with a given PSP.
#[must_use]
pub fn app_with(
    store: (Client, &str),
    clock: Clock,
    stripe: &StripeConfig,
    psp: impl Psp + 'static,
) -> (App, Counting) {
    let (app, counting) = bare(store, clock);
    (app.with_psp(psp, stripe), counting)
}

/// The same without a PSP.
#[must_use]
pub fn bare(store: (Client, &str), clock: Clock) -> (App, Counting) {
    // Tests send many requests at once; tests of the limits set their rates.
    bare_limited(store, clock, CallerConfig::of_highest_rates())
}

/// The same with limits of callers.
#[must_use]
pub fn bare_limited((client, table): (Client, &str), clock: Clock, callers: CallerConfig) -> (App, Counting) {
    let (entropy, counting) = (spread_alike(), Counting::new(clock.clone()));
    let dynamo = Dynamo::from_client(client, table, entropy.clone());
    let config = Config { tenant_requests: RequestRate::MAX, callers, ..Config::of_table(table) };
    let ledger = Ledger::new(dynamo, clock, entropy, Metrics::to(counting.clone()));
    let ledger = ledger.with_marker_keys(marker_keys::in_memory());
    (App::new(ledger, config).with_pin_keys(test_pin_keys()), counting)
}

/// Randomness whose last byte follows from how much was drawn before: it is what ids are spread over shards by, so that one test
/// spreads them in each run alike, and reads as much.
fn spread_alike() -> Entropy {
    let drawn = AtomicU64::new(0);
    let system = Entropy::system();
    Entropy::from_fn(move |bytes| {
        for chunk in bytes.chunks_mut(RANDOM_BYTES) {
            let random = system.bytes::<RANDOM_BYTES>()?;
            chunk.iter_mut().zip(random).for_each(|(byte, random)| *byte = random);
        }
        if let Some(last) = bytes.last_mut() {
            *last = Sha256::digest(drawn.fetch_add(1, Ordering::SeqCst).to_be_bytes())[0];
        }
        Ok(())
    })
}

/// The keys of cards' PINs that every function of a test has, whichever stack runs it.
#[must_use]
pub fn test_pin_keys() -> Masked<String> {
    let [key, request_key] = ["4b".repeat(32), "52".repeat(32)];
    let keys = json!({"current": "tests", "keys": {"tests": key}, "request_key": request_key});
    Masked::new(keys.to_string())
}

/// A test's client of a table, and a worker's state over the same table.
pub async fn clients(
    (dynamodb_url, table): (&str, &str),
    stripe: &StripeConfig,
    clock: Clock,
) -> (Client, App, Counting) {
    let (app, counting) = app((functions_client(dynamodb_url).await, table), clock, stripe);
    (client(dynamodb_url).await, app, counting)
}

impl Host {
    /// A new stack without demo data, whose functions have the state that `make` returns. The client that `make` gets
    /// checks their calls against their roles.
    pub fn with_app<F, Making>(make: F) -> Arc<Self>
    where
        F: FnOnce(Backend) -> Making + Send + 'static,
        Making: Future<Output = (App, Counting)>,
    {
        Arc::new(Self::start(|backend| async {
            let downloads = Arc::new(backend.downloads.clone());
            let (app, counting) = make(gated(backend).await).await;
            Ok(mounted((app.with_files(downloads), counting)))
        }))
    }

    /// A new stack with demo data, as `cargo run -- --in-memory` starts it, except that the calls of functions are
    /// checked against their roles and no worker runs for the demo tenant.
    #[must_use]
    pub fn fresh() -> Arc<Self> {
        Arc::new(Self::start(|backend| async {
            faces::seeded(&backend).await?;
            Ok(mounted(faces::app(&gated(backend).await)?))
        }))
    }

    /// Starts a stack with the functions that `mount` returns, and waits until it listens.
    fn start<F, Mounting>(mount: F) -> Self
    where
        F: FnOnce(Backend) -> Mounting + Send + 'static,
        Mounting: Future<Output = Result<Mounted, MountError>>,
    {
        let (started, starting) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<Stack>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let stack = Box::pin(Stack::start_with(config(), mount)).await;
                started.send(stack).expect("the caller waits for the stack");
                if let Ok(stack) = stopped.await {
                    let (url, table) = (stack.dynamodb_url().to_owned(), stack.table().to_owned());
                    stack.stop().await;
                    delete_table(&url, &table).await;
                }
            });
        });
        let stack =
            starting.recv().expect("the stack's thread sends a result").unwrap_or_else(|error| panic!("{error}"));
        Self { stack: Some(stack), stop: Some(stop), thread: Some(thread) }
    }

    /// The stack.
    ///
    /// # Panics
    /// Never: the stack exists until the host is dropped.
    #[must_use]
    pub fn stack(&self) -> &Stack {
        self.stack.as_ref().expect("the stack runs")
    }
}

/// Free ports, nothing on disk, and the table on the engine that the environment names.
#[must_use]
pub fn config() -> StackConfig {
    let in_memory = StackConfig::in_memory();
    match other::given_url() {
        Some(url) => StackConfig { store: Store::Endpoint(url), table: other::new_table_name(), ..in_memory },
        None => in_memory,
    }
}

/// Deletes a test's table on another engine; the tables of the embedded engine end with it.
pub async fn delete_table(url: &str, table: &str) {
    if !table.starts_with(other::TEST_TABLE_PREFIX) {
        return;
    }
    for table in [table.to_owned(), registry::table_name(table)] {
        if let Err(error) = client(url).await.delete_table().table_name(&table).send().await {
            eprintln!("table {table} at {url} was not deleted: {error:?}");
        }
    }
}

async fn gated(backend: Backend) -> Backend {
    Backend { dynamodb: functions_client(&backend.dynamodb_url).await, ..backend }
}

/// The functions over a state, with their calls checked against their roles.
#[must_use]
pub fn mounted((app, counting): (App, Counting)) -> Mounted {
    let metrics: Arc<dyn MetricSource> = Arc::new(counting.clone());
    Mounted {
        declarations: faces::routes(&app, &metrics).into_parts().1,
        faces: gate::router((app, counting)),
        demo: Demo::fixed(),
        beside: axum::Router::new(),
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let (Some(stack), Some(stop)) = (self.stack.take(), self.stop.take()) {
            // The thread may have ended with the process's other threads.
            let _ = stop.send(stack);
        }
        // Otherwise the process could end before the table is deleted.
        if let Some(thread) = self.thread.take().filter(|_| other::given_url().is_some()) {
            let _ = thread.join();
        }
    }
}

//! Starts and stops the whole stack in process: engine, table, functions, gateway. `main` runs it until Ctrl-C; each
//! test runs its own on free ports.

mod error;

pub use error::StackError;

use crate::backend::Backend;
use crate::demo::Demo;
use crate::downloads::LocalDownloads;
use crate::engine::{Activity, Data, Engine, EngineConfig};
use crate::events::LocalEvents;
use crate::faces::{self, MountError, Mounted};
use crate::gateway::{self, Parts};
use crate::issuer::Issuer;
use crate::legacy::Legacy;
use crate::local_only;
use crate::marker_keys;
use crate::pin_keys;
use crate::reports::LocalReports;
use crate::settlement::LocalKyc;
use crate::table;
use crate::workers::Workers;
use axum::Router;
use axum::middleware;
use axum::serve::ListenerExt;
use ledger_core::personal::Masked;
use ledger_core::rate::RequestRate;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::{CallerConfig, StripeConfig};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use stripe_simulator::{API_PATH, Simulator, SimulatorConfig, SimulatorError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The default name of the table.
pub const TABLE_DEFAULT: &str = "ecopay";
/// The path of Stripe's webhook.
const WEBHOOK_PATH: &str = "/v1/webhooks/stripe";
/// The file of the Stripe simulator's state, in the state directory.
const SIMULATOR_FILE: &str = "stripe.json";
/// The directory of reconciliation reports, in the state directory.
const REPORTS: &str = "reconciliation";
/// The longest time that a stop waits for running requests; their clients then retry with their keys.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// The DynamoDB that holds the table.
#[derive(Debug, Clone)]
pub enum Store {
    /// The embedded engine.
    Embedded(EngineConfig),
    /// A DynamoDB at this URL.
    Endpoint(String),
}

/// The Stripe that the functions call.
#[derive(Debug, Clone)]
pub enum StripeChoice {
    /// The simulator, served beside the API.
    Simulator,
    /// Stripe, or a simulator elsewhere.
    Given(StripeConfig),
}

/// The configuration of a stack.
#[derive(Debug, Clone)]
pub struct StackConfig {
    /// The API's port on the loopback; 0 chooses a free one.
    pub port: u16,
    /// The DynamoDB that holds the table.
    pub store: Store,
    /// The table's name.
    pub table: String,
    /// The directory of the token issuer's key, the keys of markers and of cards' PINs, the Stripe simulator's state,
    /// events and reports; `None` keeps them in memory.
    pub state_directory: Option<PathBuf>,
    /// The file for the demo terminal's credential; `None` writes none.
    pub terminal_file: Option<PathBuf>,
    /// The Stripe that the functions call.
    pub stripe: StripeChoice,
    /// The rate of tenants whose terms have none.
    pub tenant_requests: RequestRate,
    /// How callers are limited, named in logs, and found behind a front end.
    pub callers: CallerConfig,
    /// A second tenant, to be migrated from a legacy model.
    pub legacy: Option<Legacy>,
    /// The longest wait for a DynamoDB at an endpoint to answer.
    pub endpoint_wait: Duration,
    /// Called once with a line for the console, when that wait begins.
    pub on_wait: fn(&str),
    /// Redirect URIs of the issuer's clients, beside the `token` command's.
    pub callbacks: Vec<String>,
    /// The clock of the functions and of the Stripe simulator. Tokens are issued and verified by the system's.
    pub clock: Clock,
}

impl StackConfig {
    /// Free ports, nothing on disk, and the highest request rates.
    pub fn in_memory() -> Self {
        Self {
            port: 0,
            store: Store::Embedded(EngineConfig { data: Data::Memory, port: None }),
            table: TABLE_DEFAULT.to_owned(),
            state_directory: None,
            terminal_file: None,
            stripe: StripeChoice::Simulator,
            tenant_requests: RequestRate::MAX,
            callers: CallerConfig::of_highest_rates(),
            legacy: None,
            endpoint_wait: Duration::ZERO,
            on_wait: |_| {},
            callbacks: Vec::new(),
            clock: Clock::system(),
        }
    }
}

/// A running stack. [`Stack::stop`] ends it cleanly; dropping it only stops accepting requests.
#[derive(Debug)]
pub struct Stack {
    address: SocketAddr,
    dynamodb_url: String,
    table: String,
    issuer: Arc<Issuer>,
    demo: Demo,
    stripe: StripeConfig,
    simulator: Option<Simulator>,
    kyc: LocalKyc,
    downloads: LocalDownloads,
    stop: oneshot::Sender<()>,
    server: JoinHandle<io::Result<()>>,
    engine: Option<Engine>,
}

impl Stack {
    /// Starts the stack with all APIs and the demo data.
    ///
    /// # Errors
    /// [`StackError`] if a part could not start; the engine is then stopped again.
    pub async fn start(config: StackConfig) -> Result<Self, StackError> {
        Self::start_with(config, faces::mount).await
    }

    /// Starts the stack with all APIs and the demo data, and returns its workers, which are not started.
    ///
    /// # Errors
    /// [`StackError`] if a part could not start; the engine is then stopped again.
    pub async fn start_paused(config: StackConfig) -> Result<(Self, Workers), StackError> {
        Self::start_keeping(config, faces::assemble).await
    }

    /// Starts the stack with other functions or data than [`faces::mount`].
    ///
    /// # Errors
    /// [`StackError`] if a part could not start; the engine is then stopped again.
    pub async fn start_with<F, Mounting>(config: StackConfig, mount: F) -> Result<Self, StackError>
    where
        F: FnOnce(Backend) -> Mounting,
        Mounting: Future<Output = Result<Mounted, MountError>>,
    {
        let mount = async |backend| mount(backend).await.map(|mounted| (mounted, ()));
        Self::start_keeping(config, mount).await.map(|(stack, ())| stack)
    }

    /// Starts the stack with the functions that `mount` returns, and returns what else it returns.
    async fn start_keeping<F, K>(config: StackConfig, mount: F) -> Result<(Self, K), StackError>
    where
        F: AsyncFnOnce(Backend) -> Result<(Mounted, K), MountError>,
    {
        let listener = listen(config.port).await?;
        let address = listener.local_addr().map_err(|cause| StackError::Listen { port: config.port, cause })?;
        let url = format!("http://{address}");
        let (engine, dynamodb_url) = match &config.store {
            Store::Embedded(engine) => {
                let engine = Engine::start(engine)?;
                let url = engine.url();
                (Some(engine), url)
            }
            Store::Endpoint(url) => (None, url.clone()),
        };
        let table = config.table.clone();
        let callbacks = config.callbacks.clone();
        let activity = engine.as_ref().map(|engine| engine.activity().clone());
        match prepare(config, &url, &dynamodb_url, activity, mount).await {
            Ok(Prepared {
                issuer,
                simulator,
                stripe,
                events,
                kyc,
                downloads,
                mounted: (Mounted { faces, declarations, demo, beside }, kept),
            }) => {
                let issuer = Arc::new(issuer);
                let parts = Parts { faces, declarations, issuer: Arc::clone(&issuer), demo: demo.clone(), callbacks };
                let beside =
                    simulator.as_ref().map(Simulator::router).unwrap_or_default().merge(beside).merge(events.router());
                let beside = beside.merge(downloads.router());
                let router = gateway::router_with(parts, beside)
                    .layer(middleware::from_fn_with_state(address.port(), local_only::refuse_other_hosts));
                let (stop, server) = serve(listener, router);
                if let Some(simulator) = &simulator {
                    simulator.deliver_to(Some(format!("{url}{WEBHOOK_PATH}")));
                }
                let stack = Self {
                    address,
                    dynamodb_url,
                    table,
                    issuer,
                    demo,
                    stripe,
                    simulator,
                    kyc,
                    downloads,
                    stop,
                    server,
                    engine,
                };
                Ok((stack, kept))
            }
            Err(error) => {
                if let Some(engine) = engine {
                    engine.stop().await;
                }
                Err(error)
            }
        }
    }

    /// Base URL of the API.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The URL of the table's DynamoDB, for tests and tools.
    pub fn dynamodb_url(&self) -> &str {
        &self.dynamodb_url
    }

    /// The counts of the embedded engine's requests; `None` with a store elsewhere.
    pub fn store_activity(&self) -> Option<&Activity> {
        self.engine.as_ref().map(Engine::activity)
    }

    /// The table's name.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// The issuer of tokens that this stack accepts.
    pub fn issuer(&self) -> &Issuer {
        &self.issuer
    }

    /// The ids of the demo data.
    pub fn demo(&self) -> &Demo {
        &self.demo
    }

    /// How the functions reach Stripe or its simulator.
    pub fn stripe(&self) -> &StripeConfig {
        &self.stripe
    }

    /// Stripe's simulator; `None` if another Stripe was given.
    pub fn simulator(&self) -> Option<&Simulator> {
        self.simulator.as_ref()
    }

    /// The simulated KYC service.
    pub fn kyc(&self) -> &LocalKyc {
        &self.kyc
    }

    /// The store of the files that staff fetch.
    pub fn downloads(&self) -> &LocalDownloads {
        &self.downloads
    }

    /// Waits for running requests, at most ten seconds, and closes the data.
    pub async fn stop(self) {
        let Self { stop, mut server, engine, simulator, .. } = self;
        if let Some(simulator) = simulator {
            // The next run delivers the waiting events, if the state is kept.
            simulator.pause_deliveries();
            // A call that an injected fault holds would delay the stop.
            simulator.release_held();
        }
        // A server that ended by itself does not receive this.
        let _ = stop.send(());
        match tokio::time::timeout(STOP_GRACE, &mut server).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::error!(%error, "the gateway ended"),
            Ok(Err(error)) => tracing::error!(%error, "the gateway did not end cleanly"),
            Err(_) => {
                tracing::warn!("some requests did not end in time and were cut off");
                server.abort();
            }
        }
        if let Some(engine) = engine {
            engine.stop().await;
        }
    }
}

struct Prepared<K> {
    issuer: Issuer,
    simulator: Option<Simulator>,
    stripe: StripeConfig,
    events: LocalEvents,
    kyc: LocalKyc,
    downloads: LocalDownloads,
    mounted: (Mounted, K),
}

async fn prepare<F, K>(
    config: StackConfig,
    url: &str,
    dynamodb_url: &str,
    activity: Option<Activity>,
    mount: F,
) -> Result<Prepared<K>, StackError>
where
    F: AsyncFnOnce(Backend) -> Result<(Mounted, K), MountError>,
{
    let StackConfig { table, state_directory, terminal_file, stripe, tenant_requests, callers, legacy, clock, .. } =
        config;
    let (endpoint_wait, on_wait) = (config.endpoint_wait, config.on_wait);
    let issuer = match &state_directory {
        Some(directory) => Issuer::in_directory(url, directory)?,
        None => Issuer::in_memory(url)?,
    };
    let dynamodb = table::client(dynamodb_url).await;
    table::wait_for_answer(&dynamodb, dynamodb_url, &table, endpoint_wait, on_wait).await?;
    table::ensure(&dynamodb, dynamodb_url, &table).await?;
    let dynamodb_url = dynamodb_url.to_owned();
    let events = match &state_directory {
        Some(directory) => LocalEvents::in_directory(directory)?,
        None => LocalEvents::in_memory(),
    };
    let marker_keys = match &state_directory {
        Some(directory) => marker_keys::in_directory(directory)?,
        None => marker_keys::in_memory(),
    };
    let pin_keys = pin_keys::of_directory(state_directory.as_deref())?;
    let (simulator, stripe) = simulator((stripe, clock.clone()), state_directory.as_deref(), url)?;
    let reports = state_directory.as_ref().map(|directory| LocalReports::in_directory(directory.join(REPORTS)));
    let kyc = LocalKyc::default();
    let downloads = LocalDownloads::at(url);
    let backend = Backend {
        dynamodb,
        dynamodb_url,
        table,
        terminal_file,
        stripe: stripe.clone(),
        tenant_requests,
        callers,
        marker_keys,
        pin_keys,
        events: events.clone(),
        kyc: kyc.clone(),
        reports: reports.unwrap_or_default(),
        downloads: downloads.clone(),
        legacy,
        activity,
        clock,
    };
    Ok(Prepared { issuer, simulator, stripe, events, kyc, downloads, mounted: mount(backend).await? })
}

/// Starts the simulator if it is chosen, and returns how the functions reach their Stripe.
fn simulator(
    (choice, clock): (StripeChoice, Clock),
    state_directory: Option<&Path>,
    url: &str,
) -> Result<(Option<Simulator>, StripeConfig), SimulatorError> {
    match choice {
        StripeChoice::Given(access) => Ok((None, access)),
        StripeChoice::Simulator => {
            let state_file = state_directory.map(|directory| directory.join(SIMULATOR_FILE));
            let config = SimulatorConfig { state_file, ..SimulatorConfig::default() };
            let access = simulator_access(url, &config);
            let simulator = Simulator::start_with_clock(config, move || clock.now().seconds())?;
            Ok((Some(simulator), access))
        }
    }
}

/// How the functions reach a simulator with `config` that is served at `url`.
pub fn simulator_access(url: &str, config: &SimulatorConfig) -> StripeConfig {
    StripeConfig {
        base_url: format!("{url}{API_PATH}"),
        api_key: Masked::new(config.api_key.clone()),
        webhook_secrets: config.webhook_secrets.iter().cloned().map(Masked::new).collect(),
        account: None,
    }
}

async fn listen(port: u16) -> Result<TcpListener, StackError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|cause| {
        if cause.kind() == io::ErrorKind::AddrInUse {
            StackError::PortTaken(port)
        } else {
            StackError::Listen { port, cause }
        }
    })
}

fn serve(listener: TcpListener, router: Router) -> (oneshot::Sender<()>, JoinHandle<io::Result<()>>) {
    let (stop, stopped) = oneshot::channel();
    // Without TCP_NODELAY, small answers on kept connections would wait 40 ms for a delayed acknowledgement.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY");
        }
    });
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(listener, router).with_graceful_shutdown(async {
        // Sent or dropped: both mean stop.
        let _ = stopped.await;
    });
    (stop, tokio::spawn(async { serving.await }))
}

#[cfg(test)]
mod tests;

//! Starts and stops the whole stack in process: engine, table, functions, gateway.
//! `main` runs it until Ctrl-C; a test runs one of its own on free ports.

use crate::demo::Demo;
use crate::engine::{Activity, Data, Engine, EngineConfig, EngineError};
use crate::events::{EventsError, LocalEvents};
use crate::faces::{self, Backend, MountError, Mounted};
use crate::gateway::{self, Parts};
use crate::issuer::{Issuer, IssuerError};
use crate::legacy::Legacy;
use crate::local_only;
use crate::reports::LocalReports;
use crate::settlement::{LocalFiles, LocalKyc};
use crate::table::{self, TableError};
use axum::Router;
use axum::middleware;
use axum::serve::ListenerExt;
use ledger_core::personal::Masked;
use ledger_core::rate::RequestRate;
use ledger_runtime::config::StripeConfig;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use stripe_simulator::{API_PATH, Simulator, SimulatorConfig, SimulatorError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The table's name when nobody says otherwise.
pub const TABLE_DEFAULT: &str = "ecopay";
/// Where Stripe delivers its events.
const WEBHOOK_PATH: &str = "/v1/webhooks/stripe";
/// The Stripe simulator's state, beside the other state.
const SIMULATOR_FILE: &str = "stripe.json";
/// The directory of the bank's files, beside the other state.
const PAYOUTS: &str = "payouts";
/// The directory of the reports of reconciliations, beside the other state.
const REPORTS: &str = "reconciliation";
/// Requests that run longer than this at a stop are cut off; their callers retry with their keys.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// Which DynamoDB holds the table.
#[derive(Debug, Clone)]
pub enum Store {
    /// The embedded engine.
    Embedded(EngineConfig),
    /// Another one, by its URL.
    Endpoint(String),
}

/// Which Stripe the functions talk to.
#[derive(Debug, Clone)]
pub enum StripeChoice {
    /// The simulator, served beside the API.
    Simulator,
    /// Stripe itself, or a simulator elsewhere.
    Given(StripeConfig),
}

/// What to start.
#[derive(Debug, Clone)]
pub struct StackConfig {
    /// The API's port on the loopback; 0 takes a free one.
    pub port: u16,
    /// Which DynamoDB holds the table.
    pub store: Store,
    /// The table's name.
    pub table: String,
    /// Where the token issuer's key, the Stripe simulator's state and events are kept; in memory when absent.
    pub state_directory: Option<PathBuf>,
    /// Where the demo terminal's credential is saved; nowhere when absent.
    pub terminal_file: Option<PathBuf>,
    /// Which Stripe the functions talk to.
    pub stripe: StripeChoice,
    /// How many requests a tenant may make whose own terms do not say.
    pub tenant_requests: RequestRate,
    /// A second tenant, which comes from a legacy model, if it is wanted.
    pub legacy: Option<Legacy>,
    /// How long a DynamoDB at an endpoint that does not answer yet is waited for.
    pub endpoint_wait: Duration,
    /// Called once with a line for the console when that wait begins.
    pub on_wait: fn(&str),
}

impl StackConfig {
    /// Free ports, nothing on disk, and as many requests as anybody likes.
    pub fn in_memory() -> Self {
        Self {
            port: 0,
            store: Store::Embedded(EngineConfig { data: Data::Memory, port: None }),
            table: TABLE_DEFAULT.to_owned(),
            state_directory: None,
            terminal_file: None,
            stripe: StripeChoice::Simulator,
            tenant_requests: RequestRate::MAX,
            legacy: None,
            endpoint_wait: Duration::ZERO,
            on_wait: |_| {},
        }
    }
}

/// Why the stack did not start. One line each.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The API's port is taken.
    #[error("port {0} is taken: choose another with --port")]
    PortTaken(u16),
    /// The system refused a listener.
    #[error("cannot listen on port {port}: {cause}")]
    Listen {
        /// The port asked for.
        port: u16,
        /// What the system said.
        cause: io::Error,
    },
    /// The embedded engine did not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// There is no table to work on.
    #[error(transparent)]
    Table(#[from] TableError),
    /// There is no token issuer.
    #[error(transparent)]
    Issuer(#[from] IssuerError),
    /// The Stripe simulator did not start.
    #[error(transparent)]
    Simulator(#[from] SimulatorError),
    /// Events cannot be kept.
    #[error(transparent)]
    Events(#[from] EventsError),
    /// The functions or the demo data are not ready.
    #[error(transparent)]
    Mount(#[from] MountError),
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
    payouts: LocalFiles,
    stop: oneshot::Sender<()>,
    server: JoinHandle<io::Result<()>>,
    engine: Option<Engine>,
}

impl Stack {
    /// Starts the stack with all its faces and the demo data.
    ///
    /// # Errors
    /// When any part does not start; what was started before it is stopped again.
    pub async fn start(config: StackConfig) -> Result<Self, StackError> {
        Self::start_with(config, faces::mount).await
    }

    /// Starts the stack with other functions or other data than [`faces::mount`] has.
    ///
    /// # Errors
    /// When any part does not start; what was started before it is stopped again.
    pub async fn start_with<F, Mounting>(config: StackConfig, mount: F) -> Result<Self, StackError>
    where
        F: FnOnce(Backend) -> Mounting,
        Mounting: Future<Output = Result<Mounted, MountError>>,
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
        let activity = engine.as_ref().map(|engine| engine.activity().clone());
        match prepare(config, &url, &dynamodb_url, activity, mount).await {
            Ok(Prepared {
                issuer,
                simulator,
                stripe,
                events,
                kyc,
                payouts,
                mounted: Mounted { faces, openapi, demo, beside },
            }) => {
                let issuer = Arc::new(issuer);
                let parts = Parts { faces, openapi, issuer: Arc::clone(&issuer), demo: demo.clone() };
                let beside =
                    simulator.as_ref().map(Simulator::router).unwrap_or_default().merge(beside).merge(events.router());
                let router = gateway::router_with(parts, beside)
                    .layer(middleware::from_fn_with_state(address.port(), local_only::refuse_other_hosts));
                let (stop, server) = serve(listener, router);
                if let Some(simulator) = &simulator {
                    simulator.deliver_to(Some(format!("{url}{WEBHOOK_PATH}")));
                }
                Ok(Self {
                    address,
                    dynamodb_url,
                    table,
                    issuer,
                    demo,
                    stripe,
                    simulator,
                    kyc,
                    payouts,
                    stop,
                    server,
                    engine,
                })
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

    /// Where the table is: for the tests, and for tools that look into it.
    pub fn dynamodb_url(&self) -> &str {
        &self.dynamodb_url
    }

    /// The table's name.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Issues tokens that this stack accepts.
    pub fn issuer(&self) -> &Issuer {
        &self.issuer
    }

    /// The ids of the demo data.
    pub fn demo(&self) -> &Demo {
        &self.demo
    }

    /// How the functions reach their Stripe.
    pub fn stripe(&self) -> &StripeConfig {
        &self.stripe
    }

    /// Stripe's simulator, unless another Stripe was given.
    pub fn simulator(&self) -> Option<&Simulator> {
        self.simulator.as_ref()
    }

    /// Who checks merchants before they are paid.
    pub fn kyc(&self) -> &LocalKyc {
        &self.kyc
    }

    /// Where the bank's files go.
    pub fn payouts(&self) -> &LocalFiles {
        &self.payouts
    }

    /// Answers the requests that are running, then closes the data.
    pub async fn stop(self) {
        let Self { stop, mut server, engine, simulator, .. } = self;
        if let Some(simulator) = simulator {
            // What waits is delivered by the next run, if the state is kept.
            simulator.pause_deliveries();
            // A call that a fault holds would hold the stop as well.
            simulator.release_held();
        }
        // A server that ended by itself hears nothing any more.
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

struct Prepared {
    issuer: Issuer,
    simulator: Option<Simulator>,
    stripe: StripeConfig,
    events: LocalEvents,
    kyc: LocalKyc,
    payouts: LocalFiles,
    mounted: Mounted,
}

async fn prepare<F, Mounting>(
    config: StackConfig,
    url: &str,
    dynamodb_url: &str,
    activity: Option<Activity>,
    mount: F,
) -> Result<Prepared, StackError>
where
    F: FnOnce(Backend) -> Mounting,
    Mounting: Future<Output = Result<Mounted, MountError>>,
{
    let StackConfig { table, state_directory, terminal_file, stripe, tenant_requests, legacy, .. } = config;
    let (endpoint_wait, on_wait) = (config.endpoint_wait, config.on_wait);
    let issuer = match &state_directory {
        Some(directory) => Issuer::in_directory(directory)?,
        None => Issuer::in_memory()?,
    };
    let dynamodb = table::client(dynamodb_url).await;
    table::wait_for_answer(&dynamodb, dynamodb_url, &table, endpoint_wait, on_wait).await?;
    table::ensure(&dynamodb, dynamodb_url, &table).await?;
    let dynamodb_url = dynamodb_url.to_owned();
    let events = match &state_directory {
        Some(directory) => LocalEvents::in_directory(directory)?,
        None => LocalEvents::in_memory(),
    };
    let (simulator, stripe) = simulator(stripe, state_directory.as_deref(), url)?;
    let reports = state_directory.as_ref().map(|directory| LocalReports::in_directory(directory.join(REPORTS)));
    let payouts = state_directory.map(|directory| LocalFiles::in_directory(directory.join(PAYOUTS)));
    let (kyc, payouts) = (LocalKyc::default(), payouts.unwrap_or_default());
    let backend = Backend {
        dynamodb,
        dynamodb_url,
        table,
        terminal_file,
        stripe: stripe.clone(),
        tenant_requests,
        events: events.clone(),
        kyc: kyc.clone(),
        payouts: payouts.clone(),
        reports: reports.unwrap_or_default(),
        legacy,
        activity,
    };
    Ok(Prepared { issuer, simulator, stripe, events, kyc, payouts, mounted: mount(backend).await? })
}

/// The simulator, if it is wanted, and how the functions reach their Stripe.
fn simulator(
    choice: StripeChoice,
    state_directory: Option<&Path>,
    url: &str,
) -> Result<(Option<Simulator>, StripeConfig), SimulatorError> {
    match choice {
        StripeChoice::Given(access) => Ok((None, access)),
        StripeChoice::Simulator => {
            let state_file = state_directory.map(|directory| directory.join(SIMULATOR_FILE));
            let config = SimulatorConfig { state_file, ..SimulatorConfig::default() };
            let access = simulator_access(url, &config);
            Ok((Some(Simulator::start(config)?), access))
        }
    }
}

/// How the functions reach a simulator of `config` that is served at `url`.
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
    // Small answers on kept connections would wait 40 ms for a delayed acknowledgement.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY");
        }
    });
    let serving = axum::serve(listener, router).with_graceful_shutdown(async {
        // Dropped or sent: both mean stop.
        let _ = stopped.await;
    });
    (stop, tokio::spawn(async { serving.await }))
}

#[cfg(test)]
mod idle;

#[cfg(test)]
mod tests;

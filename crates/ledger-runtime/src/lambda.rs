//! Starts a function in Lambda: configuration, logs, the store and its warm-up, metrics; then serves
//! requests or events until the environment is shut down.

mod clients;
mod ended;
mod export;
mod serve;
mod task;
mod worker;

pub use clients::{Client, cloud_watch, event_bus, event_queues, kyc, payout_files, reports, sagas, stripe};
pub use export::exports;
pub use task::tasks;
pub use worker::{Due, work};

use crate::app::App;
use crate::clock::Clock;
use crate::config::{self, Config, ConfigError};
use crate::dynamo::{Dynamo, sdk_config};
use crate::entropy::Entropy;
use crate::execute::Ledger;
use crate::logging::{self, LoggingError};
use crate::metrics::{Emf, Metrics};
use crate::psp::StripeError;
use crate::routing;
use crate::settlement::KycError;
use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;
use utoipa_axum::router::OpenApiRouter;

/// Why a function did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Nobody sends events here.
    #[error(
        "this is a function of AWS Lambda: `cargo run` runs the whole system here, `cargo lambda watch` one function"
    )]
    Outside,
    /// The environment is not what it should be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Logs could not be set up.
    #[error(transparent)]
    Logging(#[from] LoggingError),
    /// The client of whoever checks merchants could not be made.
    #[error(transparent)]
    Kyc(#[from] KycError),
    /// Stripe's client could not be made.
    #[error(transparent)]
    Stripe(#[from] StripeError),
}

/// An event was not answered as it should have been. The code is all that leaves the function.
#[derive(Debug)]
pub struct EventError(pub &'static str);

impl From<EventError> for Diagnostic {
    fn from(error: EventError) -> Self {
        let error_message = "It did not end well: the function's log tells more.".to_owned();
        Self { error_type: error.0.to_owned(), error_message }
    }
}

/// Serves events that are answered from themselves alone, without the store.
pub async fn answer<Event, Answer>(answer: impl Fn(Event) -> Result<Answer, EventError>) -> ExitCode
where
    Event: for<'de> Deserialize<'de>,
    Answer: Serialize,
{
    if let Err(error) = start_logging() {
        return exit(Err(error));
    }
    let answer = |event: LambdaEvent<Event>| {
        let answered = answer(event.payload);
        if let Err(EventError(code)) = &answered {
            tracing::warn!(code, "an event was refused");
        }
        std::future::ready(answered)
    };
    exit(serve::until_shutdown(service_fn(answer)).await)
}

/// Serves a router that calls these services; what goes wrong is said in one line.
pub async fn run(calls: &[Client], router: impl FnOnce(&App) -> OpenApiRouter<App>) -> ExitCode {
    let app = match start(calls).await {
        Ok(app) => app,
        Err(error) => return exit(Err(error)),
    };
    let (router, _) = router(&app).split_for_parts();
    exit(serve::until_shutdown(lambda_http::Adapter::from(routing::finish(router, app))).await)
}

/// The exit code of a function, with its error's text on standard error.
fn exit(ended: Result<(), impl Display>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nowhere is left to complain to when standard error is closed.
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn start_logging() -> Result<(), StartError> {
    let filter = config::log_filter_from_env()?;
    is_inside()?;
    Ok(logging::init(&filter)?)
}

/// Where the runtime would stumble over it, nobody would say what to do.
fn is_inside() -> Result<(), StartError> {
    if std::env::var_os("AWS_LAMBDA_RUNTIME_API").is_some() { Ok(()) } else { Err(StartError::Outside) }
}

/// The state of a function in Lambda. Every client is made here, once.
async fn start(calls: &[Client]) -> Result<App, StartError> {
    let config = Config::from_env()?;
    is_inside()?;
    logging::init(&config.log_filter)?;
    let (clock, entropy) = (Clock::system(), Entropy::system());
    let sdk = sdk_config(config.endpoint_url.as_deref()).await;
    let dynamo = Dynamo::from_sdk_config(&sdk, &config, entropy.clone());
    let ledger = Ledger::new(dynamo, clock.clone(), entropy, Metrics::to(Emf::stdout(clock)));
    let app = calls.iter().try_fold(App::new(ledger, config), |app, client| client(app, &sdk))?;
    // Side by side, and here, so that the first request waits for neither.
    let (warmed_up, _) = tokio::join!(app.dynamo().warm_up(), app.provider_anew());
    // Not fatal: a store that is away for a moment must not keep the function from starting.
    if let Err(error) = warmed_up {
        tracing::warn!(%error, "the store did not answer the warm-up");
    }
    Ok(app)
}

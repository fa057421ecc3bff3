//! The shell of a function in AWS Lambda, and the clients of the AWS services that functions call beside DynamoDB.
//!
//! A function names the services that it calls in its `main`; no other's client is linked into it, for a binary's size
//! is the time that Lambda takes to fetch it.

mod cloud_watch;
mod environment;
mod event_bus;
mod export;
mod gateway;
mod objects;
mod payout_files;
mod records;
mod reports;
mod secrets;
mod serve;
#[cfg(test)]
#[path = "../../ledger-runtime/src/testing/server.rs"]
mod server;
mod sqs;
mod state_machine;
mod task;
#[cfg(test)]
mod testing;
mod worker;

pub use environment::Environment;
pub use export::exports;
pub use task::tasks;
pub use worker::work;

use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use ledger_runtime::app::App;
use ledger_runtime::config::{self, ConfigError};
use ledger_runtime::logging::{self, LoggingError};
use ledger_runtime::psp::StripeError;
use ledger_runtime::routing;
use ledger_runtime::settlement::KycError;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;
use tower::util::MapRequestLayer;
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
pub async fn answer<Event, Answer>(answer: impl Fn(Event) -> Result<Answer, &'static str>) -> ExitCode
where
    Event: for<'de> Deserialize<'de>,
    Answer: Serialize,
{
    if let Err(error) = start_logging() {
        return exit(Err(error));
    }
    let answer = |event: LambdaEvent<Event>| {
        let answered = answer(event.payload).map_err(|code| {
            tracing::warn!(code, "an event was refused");
            EventError(code)
        });
        std::future::ready(answered)
    };
    exit(serve::until_shutdown(service_fn(answer)).await)
}

/// Serves the router that `router` makes of the function's environment; an error is printed in one line.
pub async fn run(router: impl FnOnce(&mut Environment) -> Result<OpenApiRouter<App>, StartError>) -> ExitCode {
    let (app, router) = match Environment::start(router).await {
        Ok(started) => started,
        Err(error) => return exit(Err(error)),
    };
    let (router, _) = router.split_for_parts();
    // Outermost: the log line has the request's id.
    let router = routing::finish(router, app).layer(MapRequestLayer::new(gateway::with_context));
    exit(serve::until_shutdown(lambda_http::Adapter::from(router)).await)
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

//! The Lambda runtime of the functions, and the clients of AWS services other than DynamoDB.
//!
//! Each function names the services that it calls in its `main`. Other clients are not linked into it, because Lambda
//! takes longer to fetch a larger binary.

mod cloud_watch;
mod environment;
mod event_bus;
mod export;
mod file_store;
mod gateway;
mod objects;
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
mod tls;
mod worker;

pub use environment::Environment;
pub use export::exports;
pub use task::tasks;
pub use worker::work;

use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use ledger_runtime::config::{self, ConfigError};
use ledger_runtime::endpoint::Routes;
use ledger_runtime::logging::{self, LoggingError};
use ledger_runtime::psp::StripeError;
use ledger_runtime::routing;
use ledger_runtime::settlement::KycError;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;
use tower::util::MapRequest;

/// The functions' allocator. A payment allocates often: with the C library's allocator that was a quarter of its
/// instructions.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Why a function could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The process does not run in AWS Lambda.
    #[error(
        "this is a function of AWS Lambda: `cargo run` runs the whole system here, `cargo lambda watch` one function"
    )]
    Outside,
    /// The configuration in the environment is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Logging could not be set up.
    #[error(transparent)]
    Logging(#[from] LoggingError),
    /// The client of the KYC check could not be made.
    #[error(transparent)]
    Kyc(#[from] KycError),
    /// Stripe's client could not be made.
    #[error(transparent)]
    Stripe(#[from] StripeError),
}

/// An event that could not be handled. Only the code leaves the function.
#[derive(Debug)]
pub struct EventError(pub &'static str);

impl From<EventError> for Diagnostic {
    fn from(error: EventError) -> Self {
        let error_message = "The function failed: see its log.".to_owned();
        Self { error_type: error.0.to_owned(), error_message }
    }
}

/// Serves events whose response needs nothing but the event, without the store.
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

/// Serves the router that `router` makes of the function's environment. An error is printed in one line.
pub async fn run(router: impl FnOnce(&mut Environment) -> Result<Routes, StartError>) -> ExitCode {
    let (app, router) = match Environment::start(router).await {
        Ok(started) => started,
        Err(error) => return exit(Err(error)),
    };
    let ((router, _), clients) = (router.into_parts(), app.config().token_clients.clone());
    let with_context = move |request: lambda_http::Request| gateway::with_context(request, &clients);
    // Outermost, so that the log line has the request's id.
    let service = MapRequest::new(routing::finish(router, app), with_context);
    exit(serve::until_shutdown(lambda_http::Adapter::from(service)).await)
}

/// The exit code of a function. An error's text is written to standard error.
fn exit(ended: Result<(), impl Display>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, there is nowhere to report it.
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

/// Checks that the process runs in AWS Lambda. The runtime's own error would not say what to do.
fn is_inside() -> Result<(), StartError> {
    if std::env::var_os("AWS_LAMBDA_RUNTIME_API").is_some() { Ok(()) } else { Err(StartError::Outside) }
}

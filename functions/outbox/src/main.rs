//! Starts the recovery worker in Lambda.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use ledger_core::ids::Tenant;
use ledger_runtime::lambda;
use outbox::{OutboxEvent, run_due};
use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let app = match lambda::start().await {
        Ok(app) => app,
        Err(error) => return lambda::exit(Err(error)),
    };
    let handle = |event: LambdaEvent<OutboxEvent>| {
        let app = app.clone();
        async move {
            let tenant = Tenant::parse(&event.payload.tenant)?;
            let recovered = run_due(&app, &tenant).await.map_err(|problem| problem.code())?;
            Ok::<_, Error>(recovered)
        }
    };
    lambda::exit(lambda_runtime::run(service_fn(handle)).await)
}

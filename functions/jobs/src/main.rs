//! Starts the job worker in Lambda.

use jobs::{JobsEvent, run_due};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use ledger_core::ids::Tenant;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let app = ledger_runtime::lambda::start().await?;
    let handle = |event: LambdaEvent<JobsEvent>| {
        let app = app.clone();
        async move {
            let tenant = Tenant::parse(&event.payload.tenant)?;
            let progress = run_due(&app, &tenant).await.map_err(|problem| problem.code())?;
            Ok::<_, Error>(progress)
        }
    };
    lambda_runtime::run(service_fn(handle)).await
}

//! The worker that publishes events, seals the audit trail and recovers operations in flight, in Lambda.

use ledger_runtime::app::App;
use ledger_runtime::worker::Due;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::work(|environment| {
        environment.use_marker_keys();
        environment.use_stripe()?;
        let publisher = environment.publisher();
        Ok(async move |app: &App, due: &Due| outbox::run(app, publisher.as_ref(), due).await)
    })
    .await
}

//! Starts the worker that reconciles in Lambda.

use ledger_runtime::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    lambda::work(&[lambda::event_bus, lambda::reports, lambda::stripe], reconcile::run).await
}

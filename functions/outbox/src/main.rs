//! Starts the recovery worker in Lambda.

use ledger_runtime::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    lambda::work(&[lambda::stripe], outbox::run_due).await
}

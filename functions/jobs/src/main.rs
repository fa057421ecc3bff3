//! Starts the job worker in Lambda.

use ledger_runtime::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    lambda::work(&[], jobs::run_due).await
}

//! Starts the worker of migrations in Lambda.

use ledger_runtime::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    lambda::work(&[], migrate::run).await
}

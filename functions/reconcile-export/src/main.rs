//! Starts the tasks of reconciling an export in Lambda.

use ledger_runtime::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    lambda::exports(reconcile_export::run).await
}

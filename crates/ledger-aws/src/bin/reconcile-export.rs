//! The tasks of reconciling an export, in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::exports(reconcile_export::run).await
}

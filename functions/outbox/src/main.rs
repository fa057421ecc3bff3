//! Starts the recovery worker in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_runtime::lambda::work(outbox::run_due).await
}

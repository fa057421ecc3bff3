//! Starts the job worker in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_runtime::lambda::work(jobs::run_due).await
}

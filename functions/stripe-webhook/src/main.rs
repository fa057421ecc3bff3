//! Starts the webhook in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_runtime::lambda::run(stripe_webhook::router).await
}

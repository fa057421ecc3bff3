//! Starts the worker of what leaves the ledger in Lambda.

use ledger_runtime::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    lambda::work(&[lambda::event_queues, lambda::stripe], outbox::run).await
}

//! Starts the admin's face in Lambda.

use ledger_runtime::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    lambda::run(&[lambda::cloud_watch, lambda::stripe], admin::router).await
}

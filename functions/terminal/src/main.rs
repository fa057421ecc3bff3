//! Starts the terminal's face in Lambda.

use ledger_runtime::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    lambda::run(&[], terminal::router).await
}

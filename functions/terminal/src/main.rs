//! Starts the terminal's face in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_runtime::lambda::run(terminal::router).await
}

//! Starts Cognito's trigger in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_runtime::lambda::answer(token_claims::add).await
}

//! The merchant API in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::run(|_| Ok(merchant::router())).await
}

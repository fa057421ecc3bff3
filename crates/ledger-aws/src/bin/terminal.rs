//! The terminal API in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::run(|environment| Ok(terminal::router(environment.app()))).await
}

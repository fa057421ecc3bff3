//! The worker that credits merchants, in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::work(|_| Ok(crediting::run_due)).await
}

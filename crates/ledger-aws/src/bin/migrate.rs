//! The worker for migrations, in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::work(|environment| {
        environment.use_marker_keys();
        Ok(migrate::run)
    })
    .await
}

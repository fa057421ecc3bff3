//! The operator API in Lambda.

use std::sync::Arc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::run(|environment| {
        environment.use_marker_keys();
        environment.use_stripe()?;
        environment.use_files();
        Ok(admin::router(Arc::new(environment.cloud_watch())))
    })
    .await
}

//! The customer API in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::run(|environment| {
        environment.use_marker_keys();
        environment.use_stripe()?;
        environment.use_pin_keys();
        Ok(customer::router())
    })
    .await
}

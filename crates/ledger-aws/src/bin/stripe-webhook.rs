//! The receiver of Stripe's events in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::run(|environment| {
        environment.use_marker_keys();
        environment.use_stripe()?;
        Ok(stripe_webhook::router())
    })
    .await
}

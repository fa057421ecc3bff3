//! Starts the customer's face in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    ledger_runtime::lambda::run(customer::router).await
}

//! The trigger that Cognito calls before it issues a token, in Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::answer(|event| token_claims::add(event).map_err(|error| error.0)).await
}

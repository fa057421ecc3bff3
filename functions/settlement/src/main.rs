//! Starts the tasks of settlements in Lambda.

use ledger_runtime::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    lambda::tasks(&[lambda::kyc, lambda::payout_files, lambda::stripe], settlement::run).await
}

//! Starts the job worker in Lambda.

use ledger_runtime::app::App;
use ledger_runtime::lambda::{self, Due};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    lambda::work(&[], async |app: &App, due: &Due| jobs::run_due(app, &due.tenant).await).await
}

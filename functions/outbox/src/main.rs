//! Starts the recovery worker in Lambda.

use ledger_runtime::app::App;
use ledger_runtime::lambda::{self, Due};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    lambda::work(&[lambda::stripe], async |app: &App, due: &Due| outbox::run_due(app, &due.tenant).await).await
}

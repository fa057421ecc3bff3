//! Starts the job worker in Lambda.

use ledger_runtime::app::App;
use ledger_runtime::lambda::{self, Due};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    let run = async |app: &App, due: &Due| {
        // None waits for another's faults.
        let started = jobs::start_settlements(app, &due.tenant).await;
        let progress = jobs::run_due(app, &due.tenant).await;
        jobs::seal_trail(app, &due.tenant).await?;
        started.and(progress)
    };
    lambda::work(&[lambda::sagas], run).await
}

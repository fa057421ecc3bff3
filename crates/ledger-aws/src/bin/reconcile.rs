//! The worker that makes files and runs previews and reconciliations, in Lambda.

use ledger_runtime::app::App;
use ledger_runtime::worker::Due;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::work(|environment| {
        environment.use_stripe()?;
        environment.use_files();
        let outlets = environment.outlets();
        Ok(async move |app: &App, due: &Due| reconcile::run(app, &outlets, due).await)
    })
    .await
}

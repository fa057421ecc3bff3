//! The worker for bulk grants, holds, settlements to start and changed addresses to announce, in Lambda.

use ledger_runtime::app::App;
use ledger_runtime::settlement::Started;
use ledger_runtime::worker::Due;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::work(|environment| {
        environment.use_marker_keys();
        environment.use_stripe()?;
        let sagas = environment.state_machine();
        let announcer = environment.announcer();
        Ok(async move |app: &App, due: &Due| {
            // Each step runs even if the one before fails.
            let started = match &sagas {
                Some(sagas) => jobs::start_settlements(app, sagas, &due.tenant).await,
                None => Ok(Started::default()),
            };
            let progress = jobs::run_due(app, &due.tenant).await;
            let announced = match &announcer {
                Some(announcer) => jobs::announce_notices(app, announcer.as_ref(), &due.tenant).await,
                None => Ok(0),
            };
            announced.and(started).and(progress)
        })
    })
    .await
}

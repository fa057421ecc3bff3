//! The worker for bulk grants, holds, settlements to start and changed addresses to announce, in Lambda.

use ledger_runtime::app::App;
use ledger_runtime::settlement::Sagas;
use ledger_runtime::worker::Due;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::work(|environment| {
        environment.use_marker_keys();
        environment.use_stripe()?;
        let sagas = environment.state_machine();
        let announcer = environment.announcer();
        Ok(async move |app: &App, due: &Due| {
            let sagas = sagas.as_ref().map(|sagas| sagas as &dyn Sagas);
            jobs::run(app, (sagas, announcer.as_deref()), &due.tenant).await
        })
    })
    .await
}

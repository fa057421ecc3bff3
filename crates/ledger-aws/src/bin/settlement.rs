//! The tasks of settlements, in Lambda.

use ledger_core::settlements::Task;
use ledger_runtime::app::App;
use ledger_runtime::settlement::SettlementRef;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    ledger_aws::tasks(|environment| {
        environment.use_stripe()?;
        let settler = environment.settler()?;
        Ok(async move |_: &App, at: &SettlementRef, task: Task| settlement::run(&settler, at, task).await)
    })
    .await
}

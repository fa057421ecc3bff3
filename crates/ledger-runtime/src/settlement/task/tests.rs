use super::*;
use crate::config::Config;
use crate::metrics::Metric;
use crate::testing::{Store, now};
use ledger_core::ids::Tenant;
use ledger_core::settlements::UNAVAILABLE;
use serde_json::json;

/// The answer to the state machine, and the metrics of the settlement's tenant, for a task that ends so.
async fn result(ends: fn() -> Result<Outcome, Problem>) -> (Result<&'static str, &'static str>, Vec<(Metric, u64)>) {
    let (ledger, counting) = Store::script([]).ledger();
    let app = App::new(ledger, Config::of_table("ledger"));
    let id = "019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";
    let input = json!({"tenant": "aoba", "merchant_id": id, "settlement_id": id, "task": "hold"});
    let (input, run) = (serde_json::from_value(input).unwrap(), async |_: &App, _: &SettlementRef, _| ends());
    let answer = task_answer(&app, &run, &input).await.map(|answer| answer.outcome);
    let tenant = Tenant::parse("aoba").unwrap();
    let count = |metric| counting.sum_between(metric, &tenant, Some(Operation::SettlementRun), now(), now());
    let counted = Metric::ALL.iter().map(|metric| (*metric, count(*metric))).filter(|(_, times)| *times > 0);
    (answer, counted.collect())
}

#[tokio::test]
async fn failed_task_is_named_and_counted() {
    assert_eq!(result(|| Ok(Outcome::Next)).await, (Ok("next"), vec![]));
    let unavailable = result(|| Err(Problem::unavailable())).await;
    assert_eq!(unavailable, (Err(UNAVAILABLE), vec![(Metric::FailClosed, 1)]));
    let denied = result(|| Err(Problem::store_refused("AccessDeniedException"))).await;
    assert_eq!(denied, (Err(BROKEN), vec![(Metric::Broken, 1), (Metric::StoreDenied, 1)]));
    let panicked = result(|| panic!("090-1234-5678")).await;
    assert_eq!(panicked, (Err(BROKEN), vec![(Metric::Broken, 1)]));
}

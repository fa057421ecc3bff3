//! Jobs of all kinds have one kind of key: an endpoint of a kind knows those of that kind alone.
#![cfg(feature = "stack")]

use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, World};
use serde_json::json;

const PATHS: [(&str, &str); 7] = [
    ("", "/v1/admin/jobs/{}"),
    ("", "/v1/admin/jobs/{}/lines"),
    ("card_batch", "/v1/admin/card-batches/{}"),
    ("settlement_run", "/v1/admin/settlement-runs/{}"),
    ("settlement_run", "/v1/admin/settlement-runs/{}/merchants"),
    ("file", "/v1/admin/files/{}"),
    ("terms_preview", "/v1/admin/terms/previews/{}"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_of_another_kind_is_not_found() {
    let world = World::new("jobs-of-other-kinds").await;
    let who = &world.operator.who;
    let batch = json!({"count": 1, "reason": "spring festival"});
    let batch = Call::post("/v1/admin/card-batches", who, &batch).key(new_key());
    let batch = world.api.settle(&batch).await.good().text("/job_id");
    let preview = json!({"changes": {}, "days": 1});
    let preview = Call::post("/v1/admin/terms/previews", who, &preview).key(new_key());
    let preview = world.api.settle(&preview).await.good().text("/job_id");
    let wind_down = world.started_winding_down().await;
    for (kind, id) in [("card_batch", &batch), ("terms_preview", &preview), ("wind_down", &wind_down)] {
        for (of, path) in PATHS {
            let answer = world.api.send(&Call::get(&path.replace("{}", id), who)).await;
            let expected = if of == kind || of.is_empty() { 200 } else { 404 };
            assert_eq!(answer.status, expected, "{path} of a {kind}: {answer:?}");
        }
    }
}

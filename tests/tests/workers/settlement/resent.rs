//! A bank file is sent again only after two people approved it, and once per approval, through crashes.

use futures::future::BoxFuture;
use ledger_core::bank::BankFile;
use ledger_core::settlements::{Outcome, Step, Task};
use ledger_local::settlement::LocalFiles;
use ledger_runtime::metrics::Metric;
use ledger_runtime::settlement::{Ended, PayoutFiles, SettlementRef, Settler, Stored};
use ledger_tests::http::Call;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::world::new_key;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const COLLECT: Task = Task::Do(Step::Collect);

/// File storage that can be made unavailable.
#[derive(Clone)]
struct Storage {
    files: LocalFiles,
    is_unavailable: Arc<AtomicBool>,
}

impl PayoutFiles for Storage {
    fn put<'a>(&'a self, folder: &'a str, file: &'a BankFile) -> BoxFuture<'a, Stored> {
        if self.is_unavailable.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Stored::Unknown("the storage is unavailable")));
        }
        self.files.put(folder, file)
    }
}

/// A settlement that was paid by a bank file.
async fn paid(tenant: &str) -> (Settling, SettlementRef) {
    let shop = Settling::new(tenant).await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.start().await, 1);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    (shop, at)
}

async fn request_resend(shop: &Settling, at: &SettlementRef) -> String {
    shop.good(&shop.about(at, "resends", &json!({"note": "the bank lost it"}))).await.text("/resend_id")
}

fn resend_approval(shop: &Settling, at: &SettlementRef, resend: &str) -> Call {
    let approve = shop.about(at, &format!("resends/{resend}/approve"), &json!({}));
    Call { who: shop.world.second.who.clone(), ..approve }
}

fn sent(shop: &Settling, at: &SettlementRef, resend: &str) -> Option<Vec<u8>> {
    shop.files.kept().remove(&format!("{}/resent/{resend}/settlement-{}.txt", shop.world.tenant, at.id))
}

#[tokio::test]
async fn resent_file_needs_second_approver_and_equals_the_first() {
    let shop = Settling::new("settled-resent").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    let resend_request = shop.about(&at, "resends", &json!({"note": "the bank lost it"}));
    let _ = shop.world.api.settle(&resend_request).await.problem(400, "wrong_state");
    assert_eq!((shop.start().await, shop.walk(&at).await), (1, Ended::Over));
    let first = shop.file(&at).expect("a file");

    let resend = request_resend(&shop, &at).await;
    let approve = resend_approval(&shop, &at, &resend);
    let alone = Call { who: shop.world.operator.who.clone(), ..approve.clone() };
    let _ = shop.world.api.settle(&alone.key(new_key())).await.problem(403, "four_eyes_required");
    assert_eq!((shop.start().await, sent(&shop, &at, &resend)), (0, None));
    let accepted = shop.good(&approve).await;
    assert_eq!((accepted.status, accepted.text("/status")), (202, "resending".to_owned()));
    let view = shop.view(&at).await;
    assert_eq!((&view["status"], &view["resending"]), (&json!("paid"), &json!(resend)), "{view}");
    assert!(view["resent_at"].is_null() && sent(&shop, &at, &resend).is_none(), "{view}");

    assert_eq!(shop.start().await, 1);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    assert_eq!(sent(&shop, &at, &resend), Some(first));
    let view = shop.view(&at).await;
    assert!(view["resending"].is_null() && view["resent_at"].is_string(), "{view}");
    assert_eq!(view["status"], "paid");
    // A retry of the approval is replayed; neither it nor another approval sends the file again.
    assert_eq!(shop.good(&approve).await.body, accepted.body);
    let _ = shop.world.api.settle(&approve.key(new_key())).await.problem(400, "wrong_state");
    assert_eq!(shop.start().await, 0);
    assert_eq!(shop.view(&at).await["resent_at"], view["resent_at"]);
    shop.world.check_books().await;
}

/// While a resend is running, neither another resend nor a return is approved.
#[tokio::test]
async fn one_resend_runs_at_a_time() {
    let (shop, at) = paid("resent-once").await;
    let [one, two] = [request_resend(&shop, &at).await, request_resend(&shop, &at).await];
    let requested = shop.good(&shop.about(&at, "returns", &json!({"note": "the bank returned it"}))).await;
    let return_approval = decides("approve", &requested.text("/approval_id"), &shop.world.second.who);
    let calls = [&one, &two].map(|id| resend_approval(&shop, &at, id));
    let both = futures::future::join_all(calls.iter().map(|call| shop.world.api.settle(call))).await;
    let mut statuses: Vec<u16> = both.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 400]);
    let _ = shop.world.api.settle(&return_approval).await.problem(400, "wrong_state");
    let (first, other) = if both[0].status == 202 { (one, two) } else { (two, one) };
    assert_eq!(shop.start().await, 1);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    assert!(sent(&shop, &at, &first).is_some() && sent(&shop, &at, &other).is_none());
    // Afterwards the other resend is approved under a new key, then the return.
    shop.good(&resend_approval(&shop, &at, &other)).await;
    assert_eq!((shop.start().await, shop.walk(&at).await), (1, Ended::Over));
    assert!(sent(&shop, &at, &other).is_some());
    shop.good(&return_approval.key(new_key())).await;
    assert_eq!((shop.view(&at).await["status"].clone(), shop.start().await), (json!("returned"), 0));
    shop.world.check_books().await;
}

/// A write fails, or its answer is lost, first at the start of the saga and then at the record of the resend.
#[tokio::test]
async fn crashed_resend_stores_the_file_once_and_records_it() {
    for (tenant, fault, is_written) in
        [("resent-before", Fault::Refused, false), ("resent-after", Fault::AnswerCut, true)]
    {
        let (shop, at) = paid(tenant).await;
        let resend = request_resend(&shop, &at).await;
        shop.good(&resend_approval(&shop, &at, &resend)).await;
        // The saga is started but the start may not be recorded: the next start uses the same run number.
        shop.tap.next_writes([Some(fault.clone())]);
        let tenant = ledger_core::ids::Tenant::parse(tenant).expect("a slug");
        let starts =
            ledger_tests::cloud::gate::as_function("jobs", jobs::start_settlements(&shop.app, &shop.sagas, &tenant))
                .await;
        assert!(starts.is_err() || is_written, "{starts:?}");
        let _ = shop.start().await;
        let runs: Vec<u32> = shop.sagas.started().into_iter().map(|(_, run)| run).skip(1).collect();
        assert!(runs.windows(2).all(|two| two[0] == two[1]), "{runs:?}");
        // The file is stored, but the write that records it fails or its answer is lost.
        shop.tap.next_writes([Some(fault.clone())]);
        let put = shop.run(&at, COLLECT).await;
        assert!(put.is_err() || is_written, "{put:?}");
        assert_eq!(sent(&shop, &at, &resend), shop.file(&at));
        shop.tap.forget_faults();
        assert_eq!(shop.run(&at, COLLECT).await, Ok(Outcome::Over));
        let view = shop.view(&at).await;
        assert!(view["resending"].is_null() && view["resent_at"].is_string(), "{view}");
        assert_eq!(shop.start().await, 0);
        shop.world.check_books().await;
    }
}

#[tokio::test]
async fn resend_without_file_storage_stops_until_resumed() {
    let (mut shop, at) = paid("resent-stuck").await;
    let storage = Storage { files: shop.files.clone(), is_unavailable: Arc::new(AtomicBool::new(true)) };
    shop.settler = Settler::new(&shop.app, Some(Arc::new(shop.kyc.clone())), Some(Arc::new(storage.clone())));
    let resend = request_resend(&shop, &at).await;
    shop.good(&resend_approval(&shop, &at, &resend)).await;
    assert_eq!(shop.start().await, 1);
    assert_eq!(shop.run(&at, COLLECT).await.expect_err("the storage is unavailable").status().as_u16(), 503);
    assert_eq!(shop.walk(&at).await, Ended::Stuck);
    assert_eq!(shop.counting.total(Metric::CompensationStuck), 1);
    let view = shop.view(&at).await;
    assert!(view["stuck_since"].is_string() && view["resending"] == json!(resend), "{view}");
    assert_eq!((shop.start().await, sent(&shop, &at, &resend)), (0, None));

    storage.is_unavailable.store(false, Ordering::SeqCst);
    shop.good(&shop.about(&at, "resume", &json!({"reason": "the bucket is available again"}))).await;
    assert_eq!((shop.start().await, shop.walk(&at).await), (1, Ended::Over));
    assert_eq!(sent(&shop, &at, &resend), shop.file(&at));
    let view = shop.view(&at).await;
    assert!(view["stuck_since"].is_null() && view["resent_at"].is_string(), "{view}");
    let again = shop.about(&at, "resume", &json!({"reason": "once more"}));
    let _ = shop.world.api.settle(&again).await.problem(400, "wrong_state");
    shop.world.check_books().await;
}

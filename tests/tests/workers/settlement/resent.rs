//! A bank's file is sent again: two people approve it, the saga puts it, whoever dies, and nothing is put that
//! nobody approved.

use futures::future::BoxFuture;
use ledger_core::bank::BankFile;
use ledger_core::ops::settlement::{Outcome, Step, Task};
use ledger_local::settlement::LocalFiles;
use ledger_runtime::metrics::Metric;
use ledger_runtime::settlement::Settler;
use ledger_runtime::settlement::{Ended, PayoutFiles, SettlementRef, Stored};
use ledger_tests::http::Call;
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::world::new_key;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const COLLECT: Task = Task::Do(Step::Collect);

/// A place that takes files, or does not, as the test says.
#[derive(Clone)]
struct Place {
    files: LocalFiles,
    is_away: Arc<AtomicBool>,
}

impl PayoutFiles for Place {
    fn put<'a>(&'a self, folder: &'a str, file: &'a BankFile) -> BoxFuture<'a, Stored> {
        if self.is_away.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Stored::Unknown("it is away")));
        }
        self.files.put(folder, file)
    }
}

/// A settlement that was paid by a file.
async fn paid(tenant: &str) -> (Settling, SettlementRef) {
    let shop = Settling::new(tenant).await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.start().await, 1);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    (shop, at)
}

async fn asked(shop: &Settling, at: &SettlementRef) -> String {
    shop.good(&shop.about(at, "resends", &json!({"note": "the bank lost it"}))).await.text("/resend_id")
}

fn approval(shop: &Settling, at: &SettlementRef, path: &str) -> Call {
    let approve = shop.about(at, &format!("{path}/approve"), &json!({}));
    Call { who: shop.world.second.who.clone(), ..approve }
}

fn approves(shop: &Settling, at: &SettlementRef, resend: &str) -> Call {
    approval(shop, at, &format!("resends/{resend}"))
}

fn sent(shop: &Settling, at: &SettlementRef, resend: &str) -> Option<Vec<u8>> {
    shop.files.kept().remove(&format!("{}/resent/{resend}/settlement-{}.txt", shop.world.tenant, at.id))
}

#[tokio::test]
async fn a_file_is_sent_again_by_two_people_and_is_the_same() {
    let shop = Settling::new("settled-resent").await;
    shop.take("3000").await;
    shop.credit().await;
    let at = shop.close().await;
    let ask = shop.about(&at, "resends", &json!({"note": "the bank lost it"}));
    let _ = shop.world.api.settle(&ask).await.problem(400, "wrong_state");
    assert_eq!((shop.start().await, shop.walk(&at).await), (1, Ended::Over));
    let first = shop.file(&at).expect("a file");

    let resend = asked(&shop, &at).await;
    let approve = approves(&shop, &at, &resend);
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
    // A retry of the approval is its replay, and neither it nor another approval sends anything.
    assert_eq!(shop.good(&approve).await.body, accepted.body);
    let _ = shop.world.api.settle(&approve.key(new_key())).await.problem(400, "wrong_state");
    assert_eq!(shop.start().await, 0);
    assert_eq!(shop.view(&at).await["resent_at"], view["resent_at"]);
    shop.world.check_books().await;
}

/// While a file is on its way nobody knows what the bank has: nothing else is decided about it.
#[tokio::test]
async fn one_file_is_on_its_way_at_a_time() {
    let (shop, at) = paid("resent-once").await;
    let [one, two] = [asked(&shop, &at).await, asked(&shop, &at).await];
    let back = shop.good(&shop.about(&at, "returns", &json!({"note": "it came back"}))).await.text("/return_id");
    let back = approval(&shop, &at, &format!("returns/{back}"));
    let calls = [&one, &two].map(|id| approves(&shop, &at, id));
    let both = futures::future::join_all(calls.iter().map(|call| shop.world.api.settle(call))).await;
    let mut statuses: Vec<u16> = both.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 400]);
    let _ = shop.world.api.settle(&back).await.problem(400, "wrong_state");
    let (first, other) = if both[0].status == 202 { (one, two) } else { (two, one) };
    assert_eq!(shop.start().await, 1);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    assert!(sent(&shop, &at, &first).is_some() && sent(&shop, &at, &other).is_none());
    // Then the other may go, under a key of its own, and after it the return.
    shop.good(&approves(&shop, &at, &other)).await;
    assert_eq!((shop.start().await, shop.walk(&at).await), (1, Ended::Over));
    assert!(sent(&shop, &at, &other).is_some());
    shop.good(&back.key(new_key())).await;
    assert_eq!((shop.view(&at).await["status"].clone(), shop.start().await), (json!("returned"), 0));
    shop.world.check_books().await;
}

/// Between the approval and the file, between the file and the record, and after the record.
#[tokio::test]
async fn whoever_dies_the_file_is_put_once_and_written_down() {
    for (tenant, fault, is_written) in
        [("resent-before", Fault::Refused, false), ("resent-after", Fault::AnswerCut, true)]
    {
        let (shop, at) = paid(tenant).await;
        let resend = asked(&shop, &at).await;
        shop.good(&approves(&shop, &at, &resend)).await;
        // The saga was started, and nobody could write that down: it is started once more, under the same name.
        shop.tap.next_writes([Some(fault.clone())]);
        let tenant = ledger_core::ids::Tenant::parse(tenant).expect("a slug");
        let starts =
            ledger_tests::cloud::gate::as_function("jobs", jobs::start_settlements(&shop.app, &shop.sagas, &tenant))
                .await;
        assert!(starts.is_err() || is_written, "{starts:?}");
        let _ = shop.start().await;
        let runs: Vec<u32> = shop.sagas.started().into_iter().map(|(_, run)| run).skip(1).collect();
        assert!(runs.windows(2).all(|two| two[0] == two[1]), "{runs:?}");
        // The file is put, and whether that was written down nobody hears.
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
async fn a_file_that_cannot_be_put_stops_the_saga_until_somebody_resumes_it() {
    let (mut shop, at) = paid("resent-stuck").await;
    let place = Place { files: shop.files.clone(), is_away: Arc::new(AtomicBool::new(true)) };
    shop.settler = Settler::new(&shop.app, Some(Arc::new(shop.kyc.clone())), Some(Arc::new(place.clone())));
    let resend = asked(&shop, &at).await;
    shop.good(&approves(&shop, &at, &resend)).await;
    assert_eq!(shop.start().await, 1);
    assert_eq!(shop.run(&at, COLLECT).await.expect_err("it is away").status().as_u16(), 503);
    assert_eq!(shop.walk(&at).await, Ended::Stuck);
    assert_eq!(shop.counting.total(Metric::CompensationStuck), 1);
    let view = shop.view(&at).await;
    assert!(view["stuck_since"].is_string() && view["resending"] == json!(resend), "{view}");
    assert_eq!((shop.start().await, sent(&shop, &at, &resend)), (0, None));

    place.is_away.store(false, Ordering::SeqCst);
    shop.good(&shop.about(&at, "resume", &json!({"reason": "the bucket is back"}))).await;
    assert_eq!((shop.start().await, shop.walk(&at).await), (1, Ended::Over));
    assert_eq!(sent(&shop, &at, &resend), shop.file(&at));
    let view = shop.view(&at).await;
    assert!(view["stuck_since"].is_null() && view["resent_at"].is_string(), "{view}");
    let again = shop.about(&at, "resume", &json!({"reason": "once more"}));
    let _ = shop.world.api.settle(&again).await.problem(400, "wrong_state");
    shop.world.check_books().await;
}

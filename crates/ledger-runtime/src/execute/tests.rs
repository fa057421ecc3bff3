//! The executor over a scripted table: retries, replays, and the number of round trips.

use super::*;
use crate::dynamo::ReadError;
use crate::testing::{Step, Store, answer, assembled, claim, item_of, marker, now, reasons, transfer};
use ledger_core::idempotency::Admission::{Execute, LookUpOnly};
use ledger_core::idempotency::KeyError;
use ledger_core::migration::Unadoptable;
use ledger_core::transaction::Planned;
use serde_json::{Value, json};

const ACTIONS: usize = 4;

async fn perform(ledger: &Ledger, amount: &str, admission: Admission) -> Outcome {
    let plan = |cx| std::future::ready(transfer(amount, cx));
    ledger.perform(claim(amount), admission, plan, answer).await
}

fn done() -> Step {
    Step::Ok(json!({}))
}

fn cancelled(at: usize, code: &str, item: Option<Value>) -> Step {
    Step::Cancelled(reasons(ACTIONS, at, code, item))
}

fn code(outcome: &Outcome) -> String {
    let body: Value = serde_json::from_str(&outcome.body()).unwrap();
    body["code"].as_str().unwrap_or_default().to_owned()
}

/// Returns the marker that a completed transfer leaves.
fn standing(amount: &str) -> Value {
    let (ledger, _) = Store::default().ledger();
    marker(amount, &ledger)
}

#[tokio::test(start_paused = true)]
async fn payment_takes_one_round_trip() {
    let store = Store::script([done()]);
    let (ledger, counts) = store.ledger();
    let outcome = perform(&ledger, "100", Execute).await;
    assert_eq!((outcome.status(), outcome.is_replay(), store.seen().len()), (201, false, 1));
    let put = &store.seen()[0].body["TransactItems"][0]["Put"]["Item"];
    assert_eq!(put["body"]["S"].as_str(), Some(outcome.body().as_str()), "the stored body is the body of the response");
    assert_eq!(counts.total(Metric::TransactionConflict), 0);
}

#[tokio::test(start_paused = true)]
async fn replay_takes_one_round_trip_and_is_byte_identical() {
    let stored = standing("100");
    let store = Store::script([cancelled(0, "ConditionalCheckFailed", Some(stored.clone()))]);
    let (ledger, counts) = store.ledger();
    let outcome = perform(&ledger, "100", Execute).await;
    assert!(outcome.is_replay());
    assert_eq!(outcome.status(), 201);
    assert_eq!(Some(outcome.body().as_str()), stored["body"]["S"].as_str());
    assert_eq!((store.seen().len(), counts.total(Metric::IdempotencyReplay)), (1, 1));
    let response = axum::response::IntoResponse::into_response(outcome);
    assert_eq!(response.headers()["idempotent-replayed"], "true");
    assert_eq!(response.headers()["location"], stored["location"]["S"].as_str().unwrap());
}

#[tokio::test(start_paused = true)]
async fn attribute_of_an_unreadable_legacy_record_is_named_to_the_operators_staff_alone() {
    let id = "01890a5d-ac96-774b-bcce-b302099a8001";
    let wrong = Unadoptable { attribute: "opened_at".to_owned(), why: "is not text" };
    for (principal, named) in [("staff", "opened_at".into()), ("customer", Value::Null), ("merchant", Value::Null)] {
        let principal = Principal::parse(&format!("{principal}:{id}")).unwrap();
        let (ledger, _) = Store::script([done()]).ledger();
        let unreadable = PlanError::Read(ReadError::Unadoptable(wrong.clone()));
        let plan = |_| std::future::ready(Err::<Planned<TransactionId>, _>(unreadable.clone()));
        let outcome = ledger.perform(Claim { principal, ..claim("100") }, Execute, plan, answer).await;
        assert_eq!((outcome.status(), code(&outcome).as_str()), (400, "legacy_record_unreadable"), "{principal}");
        let body: Value = serde_json::from_str(&outcome.body()).unwrap();
        assert_eq!(body["attribute"], named, "{principal}");
    }
}

#[tokio::test(start_paused = true)]
async fn key_with_another_request_is_refused_without_a_second_read() {
    let store = Store::script([cancelled(0, "ConditionalCheckFailed", Some(standing("99")))]);
    let (ledger, counts) = store.ledger();
    let outcome = perform(&ledger, "100", Execute).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (422, "idempotency_key_fingerprint_mismatch"));
    assert_eq!(counts.total(Metric::FingerprintMismatch), 1);
}

#[tokio::test(start_paused = true)]
async fn refusal_is_stored_and_takes_two_round_trips() {
    let poor = json!({"uuid": {"S": "p"}, "type": {"S": "BALANCE#ECOPAY"}, "balance": {"N": "40"}});
    let store = Store::script([cancelled(1, "ConditionalCheckFailed", Some(poor)), done()]);
    let (ledger, _) = store.ledger();
    let outcome = perform(&ledger, "100", Execute).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (400, "insufficient_balance"));
    let body: Value = serde_json::from_str(&outcome.body()).unwrap();
    assert_eq!((&body["balance_short"], &body["asset"]), (&"60".into(), &"ECOPAY".into()));
    let seen = store.seen();
    assert_eq!(seen.len(), 2);
    let stored = seen[1].body["TransactItems"].as_array().unwrap();
    assert_eq!(stored.len(), 1, "only the marker");
    assert_eq!(stored[0]["Put"]["Item"]["body"]["S"].as_str(), Some(outcome.body().as_str()));
}

#[tokio::test(start_paused = true)]
async fn refusal_that_lost_the_race_for_the_key_returns_the_stored_response() {
    let poor = || cancelled(1, "ConditionalCheckFailed", Some(json!({"uuid": {"S": "p"}, "balance": {"N": "0"}})));
    let exists = |amount| Step::Cancelled(reasons(1, 0, "ConditionalCheckFailed", Some(standing(amount))));
    let store = Store::script([poor(), exists("100")]);
    let outcome = perform(&store.ledger().0, "100", Execute).await;
    assert_eq!((outcome.status(), outcome.is_replay()), (201, true));
    let store = Store::script([poor(), exists("99")]);
    assert_eq!(perform(&store.ledger().0, "100", Execute).await.status(), 422);
}

#[tokio::test(start_paused = true)]
async fn missing_sender_is_not_stored_and_missing_recipient_is() {
    let store = Store::script([cancelled(1, "ConditionalCheckFailed", None)]);
    let outcome = perform(&store.ledger().0, "100", Execute).await;
    assert_eq!((outcome.status(), code(&outcome).as_str(), store.seen().len()), (404, "not_found", 1));
    // Of the recipient, whose account could open itself, the profile is read.
    let missing = || cancelled(2, "ConditionalCheckFailed", None);
    let store = Store::script([missing(), Step::Ok(json!({})), done()]);
    let outcome = perform(&store.ledger().0, "100", Execute).await;
    assert_eq!((outcome.status(), code(&outcome).as_str(), store.seen().len()), (400, "recipient_unavailable", 3));
    assert_eq!(store.seen()[1].body["Key"]["type"]["S"], "PROFILE");
}

#[tokio::test(start_paused = true)]
async fn opening_of_an_account_is_retried_and_then_given_up() {
    let profile = json!({"Item": {"status": {"S": "active"}, "accounts": {"N": "2"}}});
    let missing = || cancelled(2, "ConditionalCheckFailed", None);
    let read = || Step::Ok(profile.clone());
    // One more action: the profile.
    let opened = |at, item| Step::Cancelled(reasons(ACTIONS + 1, at, "ConditionalCheckFailed", item));
    let store = Store::script([missing(), read(), done()]);
    assert_eq!(perform(&store.ledger().0, "100", Execute).await.status(), 201);
    let put = &store.seen()[2].body["TransactItems"][2]["Put"]["Item"];
    assert_eq!((&put["balance"]["N"], &put["exposure"]["N"]), (&json!("100"), &json!("100")));
    // Another request has opened it: what was built adds to it.
    let theirs = json!({"uuid": {"S": "p"}, "type": {"S": "BALANCE#ECOPAY"}, "balance": {"N": "7"}});
    let store = Store::script([missing(), read(), opened(2, Some(theirs)), done()]);
    assert_eq!(perform(&store.ledger().0, "100", Execute).await.status(), 201);
    assert!(store.seen()[3].body["TransactItems"][2]["Update"].is_object());
    // Nothing was applied, so a stored response is looked up at last.
    let frozen = json!({"uuid": {"S": "p"}, "status": {"S": "frozen"}, "accounts": {"N": "2"}, "frozen": {"S": "s"}});
    let rounds = (0..8).flat_map(|_| [missing(), read(), opened(ACTIONS, Some(frozen.clone()))]);
    let store = Store::script(rounds.chain([Step::Ok(json!({}))]));
    let outcome = perform(&store.ledger().0, "100", Execute).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (503, "busy"));
    assert!(store.is_through());
}

/// The first attempt's response is lost and it may still be applied. The response to the second is not stored.
#[tokio::test(start_paused = true)]
async fn refusal_that_is_not_stored_after_an_unknown_attempt_is_unknown() {
    for unknown in [Step::Broken, Step::Hang, Step::Error(500, "InternalServerError")] {
        let missing = cancelled(1, "ConditionalCheckFailed", None);
        let store = Store::script([unknown, missing]);
        let (ledger, counts) = store.ledger();
        let outcome = perform(&ledger, "100", Execute).await;
        assert_eq!((outcome.status(), code(&outcome).as_str()), (503, "outcome_unknown"));
        assert_eq!((store.seen().len(), counts.total(Metric::OutcomeUnknown)), (2, 1));
        assert_eq!(store.seen()[0].token(), store.seen()[1].token());
    }
}

/// The stored refusal prevents the attempt that may still arrive.
#[tokio::test(start_paused = true)]
async fn refusal_that_is_stored_after_an_unknown_attempt_is_the_answer() {
    let poor = json!({"uuid": {"S": "p"}, "type": {"S": "BALANCE#ECOPAY"}, "balance": {"N": "40"}});
    let store = Store::script([Step::Broken, cancelled(1, "ConditionalCheckFailed", Some(poor)), done()]);
    let outcome = perform(&store.ledger().0, "100", Execute).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (400, "insufficient_balance"));
}

#[tokio::test(start_paused = true)]
async fn exhausted_conflicts_after_an_unknown_attempt_are_unknown() {
    let conflict = cancelled(1, "TransactionConflict", None);
    let conflicts = [conflict.clone(), conflict.clone(), conflict.clone(), conflict];
    let steps = [Step::Broken].into_iter().chain(conflicts).chain([Step::Ok(json!({}))]);
    let outcome = perform(&Store::script(steps).ledger().0, "100", Execute).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (503, "outcome_unknown"));
}

#[tokio::test(start_paused = true)]
async fn conflicts_of_workers_are_retried_and_not_counted() {
    for (operation, counted) in [(Operation::Publish, 0), (Operation::Sealing, 0), (Operation::Pay, 1)] {
        let store = Store::script([cancelled(1, "TransactionConflict", None), done()]);
        let (ledger, counts) = store.ledger();
        let written = ledger.attempt(&claim("100").tenant, operation, &assembled("100", &ledger)).await;
        assert!(matches!(written, Ok(WriteOutcome::Applied)), "{operation}");
        assert_eq!((store.seen().len(), counts.total(Metric::TransactionConflict)), (2, counted), "{operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_retried_with_the_same_ids_and_new_tokens() {
    let conflict = || cancelled(1, "TransactionConflict", None);
    let store = Store::script([conflict(), conflict(), conflict(), done()]);
    let (ledger, counts) = store.ledger();
    assert_eq!(perform(&ledger, "100", Execute).await.status(), 201);
    assert_eq!(counts.total(Metric::TransactionConflict), 3);
    let seen = store.seen();
    let tokens: std::collections::BTreeSet<&str> = seen.iter().map(|seen| seen.token()).collect();
    assert_eq!(tokens.len(), 4);
    // Each attempt names itself in what it writes.
    let items = |at: usize| {
        let mut actions = seen[at].body["TransactItems"].clone();
        for action in actions.as_array_mut().unwrap() {
            for token in ["/Put/Item/_tx", "/Update/ExpressionAttributeValues/:_tx"] {
                action.pointer_mut(token).map(serde_json::Value::take);
            }
        }
        actions
    };
    assert!((1..seen.len()).all(|at| items(at) == items(0)));
}

#[tokio::test(start_paused = true)]
async fn exhausted_conflicts_read_the_marker_once() {
    let conflicts = || vec![cancelled(0, "TransactionConflict", None); 4];
    let mut steps = conflicts();
    steps.push(Step::Ok(json!({"Item": standing("100")})));
    let store = Store::script(steps);
    assert!(perform(&store.ledger().0, "100", Execute).await.is_replay());

    let mut steps = conflicts();
    steps.push(Step::Ok(json!({})));
    let store = Store::script(steps);
    let (ledger, counts) = store.ledger();
    let outcome = perform(&ledger, "100", Execute).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (503, "busy"));
    assert_eq!((counts.total(Metric::TransactionConflict), counts.total(Metric::FailClosed)), (4, 1));
    assert!(store.is_through());
}

#[tokio::test(start_paused = true)]
async fn unknown_outcome_is_answered_as_outcome_unknown() {
    let store = Store::script(vec![Step::Hang; 4]);
    let (ledger, counts) = store.ledger();
    let outcome = perform(&ledger, "100", Execute).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (503, "outcome_unknown"));
    assert_eq!((counts.total(Metric::OutcomeUnknown), counts.total(Metric::FailClosed)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn unexplained_failure_is_answered_with_500_without_detail() {
    for step in [cancelled(1, "SomethingNew", None), Step::Error(400, "ValidationException"), Step::Cancelled(vec![])] {
        // Nothing was applied, so a stored response is looked up first.
        let store = Store::script([step, Step::Ok(json!({}))]);
        let (ledger, counts) = store.ledger();
        let outcome = perform(&ledger, "100", Execute).await;
        assert_eq!((outcome.status(), outcome.body()), (500, Problem::internal().body()));
        assert_eq!((counts.total(Metric::Broken), counts.total(Metric::FailClosed)), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn stored_response_is_returned_after_a_refused_write_or_a_stale_plan() {
    let found = || Step::Ok(json!({"Item": standing("100")}));
    let store = Store::script([Step::Error(400, "ValidationException"), found()]);
    assert!(perform(&store.ledger().0, "100", Execute).await.is_replay());
    let (store, never) = (Store::script([found()]), PlanError::from(Failure::StalePlan));
    let plan = |_| std::future::ready(Err::<Planned<TransactionId>, _>(never.clone()));
    assert!(store.ledger().0.perform(claim("100"), Execute, plan, answer).await.is_replay());
    let store = Store::script([found()]);
    let outcome = store.ledger().0.answer_unplanned(&claim("101"), Execute, Problem::internal()).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (422, "idempotency_key_fingerprint_mismatch"));
}

#[tokio::test(start_paused = true)]
async fn throttled_write_is_not_retried_by_the_executor() {
    let store = Store::script([cancelled(1, "ThrottlingError", None)]);
    let (ledger, counts) = store.ledger();
    let outcome = perform(&ledger, "100", Execute).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (503, "busy"));
    assert_eq!(counts.total(Metric::Throttled), 1);
}

#[tokio::test(start_paused = true)]
async fn old_key_is_looked_up_and_never_executed() {
    let store = Store::script([Step::Ok(json!({"Item": standing("100")}))]);
    assert!(perform(&store.ledger().0, "100", LookUpOnly).await.is_replay());
    let store = Store::script([Step::Ok(json!({}))]);
    let (ledger, counts) = store.ledger();
    let outcome = perform(&ledger, "100", LookUpOnly).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (410, "idempotency_key_expired"));
    assert_eq!(counts.total(Metric::IdempotencyKeyExpired), 1);
    assert!(store.seen().iter().all(|seen| seen.target == "GetItem"));
}

/// The client's clock may be right, and the server's slow.
#[tokio::test(start_paused = true)]
async fn key_ahead_of_the_clock_is_answered_from_the_store_before_it_is_refused() {
    let early = Admission::RefuseUnlessStored(KeyError::FromTheFuture { now: now() });
    let store = Store::script([Step::Ok(json!({"Item": standing("100")}))]);
    let outcome = perform(&store.ledger().0, "100", early).await;
    assert_eq!((outcome.status(), outcome.is_replay()), (201, true));
    let store = Store::script([Step::Ok(json!({"Item": standing("99")}))]);
    assert_eq!(perform(&store.ledger().0, "100", early).await.status(), 422);
    let store = Store::script([Step::Ok(json!({}))]);
    let outcome = perform(&store.ledger().0, "100", early).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (400, "idempotency_key_invalid"));
    assert!(store.seen().iter().all(|seen| seen.target == "GetItem"), "the request is not executed");
}

#[tokio::test(start_paused = true)]
async fn stale_plan_is_repeated_with_the_same_context_and_then_given_up() {
    let store = Store::script([done(), Step::Ok(json!({}))]);
    let (ledger, _) = store.ledger();
    let contexts = std::sync::Mutex::new(Vec::new());
    let plan = |cx: Context| {
        let mut seen = contexts.lock().unwrap();
        seen.push(cx.transaction_id);
        let stale = seen.len() < 4;
        std::future::ready(if stale { Err(Failure::StalePlan.into()) } else { transfer("100", cx) })
    };
    assert_eq!(ledger.perform(claim("100"), Execute, plan, answer).await.status(), 201);
    let seen = contexts.lock().unwrap().clone();
    assert!(seen.len() == 4 && seen.iter().all(|id| *id == seen[0]));

    let never = |_| std::future::ready(Err::<Planned<TransactionId>, _>(PlanError::from(Failure::StalePlan)));
    let outcome = ledger.perform(claim("100"), Execute, never, answer).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (503, "busy"));
}

#[tokio::test(start_paused = true)]
async fn plan_reads_its_own_marker_in_the_same_round_trip() {
    let stored = standing("100");
    let store = Store::script([Step::Ok(json!({"Responses": {"ledger": [stored]}}))]);
    let (ledger, counts) = store.ledger();
    let plan = |_| async {
        let mut read = ledger.read_for(&claim("100"), &[]).await?;
        read.pop();
        Err::<Planned<TransactionId>, PlanError>(PlanError::Missing)
    };
    assert!(ledger.perform(claim("100"), Execute, plan, answer).await.is_replay());
    assert_eq!((store.seen().len(), counts.total(Metric::IdempotencyReplay)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn refusal_by_the_plan_is_stored() {
    let store = Store::script([done()]);
    let (ledger, _) = store.ledger();
    let plan = |_| {
        let refusal = Refusal::new(Failure::CapExceeded).with("cap", "50000");
        std::future::ready(Err::<Planned<TransactionId>, _>(PlanError::from(refusal)))
    };
    let outcome = ledger.perform(claim("100"), Execute, plan, answer).await;
    assert_eq!((outcome.status(), code(&outcome).as_str()), (400, "cap_exceeded"));
    assert!(outcome.body().ends_with(r#""cap":"50000"}"#));
    assert_eq!(store.seen().len(), 1);
}

#[test]
fn scripted_transaction_has_the_expected_actions() {
    let (ledger, _) = Store::default().ledger();
    let transaction = assembled("100", &ledger);
    assert_eq!(transaction.items().len(), ACTIONS);
    assert_eq!(item_of(&transaction, 0)["processed_at"]["S"], now().rfc3339());
}

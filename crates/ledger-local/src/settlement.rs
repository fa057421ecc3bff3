//! Local replacements for settlements: a KYC service, and a runner of sagas without a state machine.

use crate::problem::{json_body, problem};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::post;
use futures::future::BoxFuture;
use http::StatusCode;
use ledger_core::ids::MerchantId;
use ledger_runtime::settlement::{Ended, Kyc, KycAnswer, Sagas, SettlementRef, Settler, TaskInput, error_name};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The pause before a waiting saga is run again.
const SAGA_RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The reference of a check that passes without an answer set by `POST /dev/kyc`.
const REFERENCE: &str = "local";

/// A simulated KYC service: merchants pass unless another answer was set. Clones share the answers.
#[derive(Clone, Debug, Default)]
pub struct LocalKyc(Arc<Mutex<BTreeMap<MerchantId, KycAnswer>>>);

/// Routes of the local stack alone: run a task of a settlement as a state machine does, and set the answer of a
/// merchant's check.
pub(crate) fn dev_router(settler: Settler, kyc: LocalKyc) -> Router {
    Router::new()
        .route("/dev/settlements/tasks", post(task).with_state(settler))
        .route("/dev/kyc/{merchant_id}", post(set_check_result).with_state(kyc))
}

async fn task(State(settler): State<Settler>, body: Bytes) -> Response {
    let input = serde_json::from_slice::<TaskInput>(&body).ok();
    let Some((at, task)) = input.and_then(|input| input.read()) else {
        return problem(StatusCode::BAD_REQUEST, "invalid_request", "send {tenant, merchant_id, settlement_id, task}");
    };
    match settler.run(&at, task).await {
        Ok(outcome) => json_body(StatusCode::OK, &json!({"outcome": outcome.name()})),
        Err(problem) => json_body(problem.status(), &json!({"errorType": error_name(&problem)})),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckResult {
    result: String,
}

async fn set_check_result(State(kyc): State<LocalKyc>, Path(merchant): Path<String>, body: Bytes) -> Response {
    let answer = match serde_json::from_slice(&body).map(|CheckResult { result }| result).as_deref() {
        Ok("passed") => KycAnswer::Passed { reference: REFERENCE.to_owned() },
        Ok("refused") => KycAnswer::Refused,
        Ok("pending") => KycAnswer::Unknown,
        Ok(_) | Err(_) => {
            let detail = "send {result}: passed, refused or pending";
            return problem(StatusCode::BAD_REQUEST, "invalid_request", detail);
        }
    };
    let Ok(merchant) = MerchantId::parse(&merchant) else {
        return problem(StatusCode::NOT_FOUND, "not_found", "there is no such merchant");
    };
    kyc.answer(merchant, answer);
    json_body(StatusCode::OK, &json!({"status": "ok"}))
}

/// Runs sagas in this process.
#[derive(Clone, Debug)]
pub struct LocalSagas(Settler);

impl LocalKyc {
    /// Sets the answer of a merchant's checks.
    pub fn answer(&self, merchant: MerchantId, answer: KycAnswer) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(merchant, answer);
    }
}

impl Kyc for LocalKyc {
    fn check<'a>(&'a self, at: &'a SettlementRef) -> BoxFuture<'a, KycAnswer> {
        let kept_answer = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&at.merchant).cloned();
        let passed = KycAnswer::Passed { reference: REFERENCE.to_owned() };
        Box::pin(std::future::ready(kept_answer.unwrap_or(passed)))
    }
}

impl LocalSagas {
    /// Creates a runner of sagas whose tasks the settler runs.
    #[must_use]
    pub fn new(settler: Settler) -> Self {
        Self(settler)
    }
}

impl Sagas for LocalSagas {
    fn start<'a>(&'a self, at: &'a SettlementRef, _: u32) -> BoxFuture<'a, Result<(), String>> {
        let (settler, at) = (self.0.clone(), at.clone());
        tokio::spawn(async move {
            while settler.walk(&at, tokio::time::sleep).await == Ended::Waiting {
                tokio::time::sleep(SAGA_RETRY_PAUSE).await;
            }
        });
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Collects the settlements whose sagas are started, for a caller that runs them in its own task.
#[derive(Debug, Default)]
pub(crate) struct CollectedSagas(Mutex<Vec<SettlementRef>>);

impl CollectedSagas {
    /// The settlements since the last call.
    pub(crate) fn take(&self) -> Vec<SettlementRef> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Sagas for CollectedSagas {
    fn start<'a>(&'a self, at: &'a SettlementRef, _: u32) -> BoxFuture<'a, Result<(), String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(at.clone());
        Box::pin(std::future::ready(Ok(())))
    }
}

//! Local replacements for settlements: a KYC service, a store of the bank's files, and a runner of sagas without a
//! state machine.

use crate::problem::{json_body, problem};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::post;
use futures::future::BoxFuture;
use http::StatusCode;
use ledger_core::bank::BankFile;
use ledger_core::ids::{MerchantId, Tenant};
use ledger_runtime::settlement::{
    Ended, Kyc, KycAnswer, PayoutFiles, Sagas, SettlementRef, Settler, Stored, TaskInput, error_name,
};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The pause before a waiting saga is run again.
const SAGA_RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The reference of a check that passes without an answer set by `POST /dev/kyc`.
const REFERENCE: &str = "local";

/// A simulated KYC service: merchants pass unless another answer was set. Clones share the answers.
#[derive(Clone, Debug, Default)]
pub struct LocalKyc(Arc<Mutex<BTreeMap<MerchantId, KycAnswer>>>);

/// Stores the bank's files in a directory or in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct LocalFiles {
    directory: Option<PathBuf>,
    memory: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

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

impl LocalFiles {
    /// Stores files in a directory, which the first file creates.
    #[must_use]
    pub fn in_directory(directory: PathBuf) -> Self {
        Self { directory: Some(directory), ..Self::default() }
    }

    /// The files in memory, by tenant and name.
    #[must_use]
    pub fn kept(&self) -> BTreeMap<String, Vec<u8>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn store(&self, tenant: &Tenant, file: &BankFile) -> std::io::Result<Stored> {
        let same = |stored: &[u8]| if stored == file.bytes { Stored::Same } else { Stored::Other };
        let Some(directory) = &self.directory else {
            let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            let key = format!("{tenant}/{}", file.name);
            if let Some(stored) = memory.get(&key) {
                return Ok(same(stored));
            }
            memory.insert(key, file.bytes.clone());
            return Ok(Stored::New);
        };
        let directory = directory.join(tenant.as_str());
        std::fs::create_dir_all(&directory)?;
        let path = directory.join(&file.name);
        // Written atomically: an incomplete file under its final name would count as another file.
        let half = directory.join(format!("{}.part", file.name));
        std::fs::File::create(&half)?.write_all(&file.bytes)?;
        let stored = match std::fs::hard_link(&half, &path) {
            Ok(()) => Stored::New,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => same(&std::fs::read(&path)?),
            Err(error) => return Err(error),
        };
        std::fs::remove_file(&half)?;
        Ok(stored)
    }
}

impl PayoutFiles for LocalFiles {
    fn put<'a>(&'a self, tenant: &'a Tenant, file: &'a BankFile) -> BoxFuture<'a, Stored> {
        let stored = self.store(tenant, file).unwrap_or(Stored::Unknown("the directory did not store the file"));
        Box::pin(std::future::ready(stored))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[tokio::test]
    async fn stored_file_is_never_overwritten() {
        let dir = TempDir::make();
        let aoba = Tenant::parse("aoba").unwrap();
        let file = |bytes: &[u8]| BankFile { name: "a.txt".to_owned(), bytes: bytes.to_vec() };
        for files in [LocalFiles::default(), LocalFiles::in_directory(dir.path().join("payouts"))] {
            assert_eq!(files.put(&aoba, &file(b"1")).await, Stored::New);
            assert_eq!(files.put(&aoba, &file(b"1")).await, Stored::Same);
            assert_eq!(files.put(&aoba, &file(b"2")).await, Stored::Other);
        }
        assert_eq!(std::fs::read(dir.path().join("payouts/aoba/a.txt")).unwrap(), b"1");
    }
}

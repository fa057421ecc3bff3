//! Logs the failures of the local stack's workers: the first at once, then one line per minute with a count, and the
//! recovery. Otherwise a store that refuses a worker's request would cause two log lines per second.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::{BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use futures::future::BoxFuture;
use ledger_runtime::problem::Problem;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::Metadata;

/// The time between two lines about the same failure of a worker.
const REPORT_EVERY: Duration = Duration::from_secs(60);
/// A cancelled transaction is not a failure: the worker handles it.
const CANCELLED: &str = "TransactionCanceledException";
/// The modules that log each refused call.
const LOGS_EACH_CALL: [&str; 2] = ["ledger_runtime::problem", "ledger_runtime::execute"];

tokio::task_local! {
    /// The run of a worker that the current task is part of.
    static RUN: Arc<Run>;
}

/// One run of a worker.
#[derive(Debug)]
struct Run {
    /// Whether the worker's failures have been logged within the last minute.
    is_reported: bool,
    /// The last call that was sent: its operation and its body.
    sent: Mutex<Option<(String, Vec<u8>)>>,
    /// The last call that failed: its name and the error's code.
    refused: Mutex<Option<String>>,
}

/// A log line about a worker.
#[derive(Debug, PartialEq, Eq)]
enum Report {
    /// The worker has failed for the first time.
    Failed(String),
    /// The worker still fails; holds the number of failed runs since the last report.
    FailsAgain(String, u64),
    /// The worker has recovered.
    Recovered,
}

/// The failures of one worker, and when each was last logged.
#[derive(Debug)]
pub(crate) struct WorkerFailures {
    worker: &'static str,
    /// For each failure, when it was last logged, and how many runs have failed since.
    logged: BTreeMap<String, (Instant, u64)>,
    recovered_at: Option<Instant>,
    is_failing: bool,
}

impl WorkerFailures {
    /// Creates the record of a worker that has not run yet.
    pub(crate) fn of(worker: &'static str) -> Self {
        Self { worker, logged: BTreeMap::new(), recovered_at: None, is_failing: false }
    }

    /// Runs the worker once, and logs its failure or recovery at most once per minute. Returns whether it succeeded.
    pub(crate) fn watch<'a, T: 'a>(
        &'a mut self,
        work: impl Future<Output = Result<T, Problem>> + Send + 'a,
    ) -> BoxFuture<'a, bool> {
        let work = Box::pin(work);
        Box::pin(async move {
            let is_reported = self.is_reported(Instant::now());
            let run = Arc::new(Run { is_reported, sent: Mutex::default(), refused: Mutex::default() });
            let failure = RUN.scope(Arc::clone(&run), work).await.err().map(|problem| {
                let refused = run.refused.lock().unwrap_or_else(PoisonError::into_inner).take();
                refused.unwrap_or_else(|| problem.code().to_owned())
            });
            let (worker, is_clean) = (self.worker, failure.is_none());
            match self.note(Instant::now(), failure) {
                Some(Report::Failed(what)) => tracing::error!(worker, what, "worker failed; it is tried again"),
                Some(Report::FailsAgain(what, runs)) => {
                    tracing::error!(worker, what, runs, "worker still fails; runs since the last report");
                }
                Some(Report::Recovered) => tracing::info!(worker, "worker recovered"),
                None => {}
            }
            is_clean
        })
    }

    fn is_reported(&self, now: Instant) -> bool {
        self.is_failing && self.logged.values().any(|(at, _)| now.duration_since(*at) < REPORT_EVERY)
    }

    /// What to log after a run. A failure and the recovery are each logged at most once per minute.
    fn note(&mut self, now: Instant, failure: Option<String>) -> Option<Report> {
        let is_due = |at: Instant| now.duration_since(at) >= REPORT_EVERY;
        let Some(what) = failure else {
            if !self.is_failing || !self.recovered_at.is_none_or(is_due) {
                return None;
            }
            self.is_failing = false;
            self.recovered_at = Some(now);
            return Some(Report::Recovered);
        };
        match self.logged.get_mut(&what) {
            None => {
                self.is_failing = true;
                self.logged.insert(what.clone(), (now, 0));
                Some(Report::Failed(what))
            }
            Some((at, runs)) => {
                *runs = runs.saturating_add(1);
                if !is_due(*at) {
                    return None;
                }
                let runs = std::mem::take(runs);
                *at = now;
                self.is_failing = true;
                Some(Report::FailsAgain(what, runs))
            }
        }
    }
}

/// Whether a log line repeats a failed call of a worker whose failure has been logged within the last minute. For the
/// console's filter.
#[must_use]
pub fn is_repeated(line: &Metadata<'_>) -> bool {
    LOGS_EACH_CALL.iter().any(|module| line.target() == *module) && RUN.try_with(|run| run.is_reported).unwrap_or(false)
}

/// The client, with an interceptor that names failed calls in the reports of workers.
pub(crate) fn named_calls(client: &Client) -> Client {
    Client::from_conf(client.config().to_builder().interceptor(NamedCalls).build())
}

#[derive(Debug)]
struct NamedCalls;

impl Intercept for NamedCalls {
    fn name(&self) -> &'static str {
        "NamedCalls"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request();
        // A call outside a worker's run is logged with its request.
        let _ = RUN.try_with(|run| {
            let target = request.headers().get("x-amz-target").and_then(|target| target.rsplit('.').next());
            let body = request.body().bytes().unwrap_or_default().to_vec();
            *run.sent.lock().unwrap_or_else(PoisonError::into_inner) =
                target.map(|operation| (operation.to_owned(), body));
        });
        Ok(())
    }

    fn read_after_execution(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if context.output_or_error().is_some_and(|ended| ended.is_ok()) {
            return Ok(());
        }
        let answer = context.response().and_then(|response| response.body().bytes()).unwrap_or_default();
        let answer = serde_json::from_slice::<Value>(answer).unwrap_or_default();
        let code = answer.get("__type").and_then(Value::as_str).and_then(|code| code.rsplit('#').next());
        if code == Some(CANCELLED) {
            return Ok(());
        }
        let _ = RUN.try_with(|run| {
            let Some((operation, body)) = run.sent.lock().unwrap_or_else(PoisonError::into_inner).take() else {
                return;
            };
            let name = call_name(&operation, &serde_json::from_slice(&body).unwrap_or_default());
            let refused = format!("{name}: {}", code.unwrap_or("no answer"));
            *run.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
        });
        Ok(())
    }
}

/// The name of a call: operation, index, and part of the index, as in `Query due publish`.
fn call_name(operation: &str, body: &Value) -> String {
    let Some(index) = body.get("IndexName").and_then(Value::as_str) else { return operation.to_owned() };
    let values = body.get("ExpressionAttributeValues").and_then(Value::as_object).into_iter().flatten();
    let part = values.filter_map(|(_, value)| value.get("S")?.as_str()?.split_once("#due#")?.1.split_once('#')).next();
    [operation, index].into_iter().chain(part.map(|(part, _)| part)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn repeated_failure_is_logged_once_per_minute_and_its_recovery_once() {
        let (mut failures, mut now) = (WorkerFailures::of("jobs"), Instant::now());
        let refused = || Some("Query due: ValidationException".to_owned());
        let mut reports = Vec::new();
        for _ in 0..600 {
            reports.extend(failures.note(now, refused()));
            now += Duration::from_millis(500);
        }
        let again = |runs| Report::FailsAgain("Query due: ValidationException".to_owned(), runs);
        let first = Report::Failed("Query due: ValidationException".to_owned());
        assert_eq!(reports, [first, again(120), again(120), again(120), again(120)]);
        assert_eq!(failures.note(now, None), Some(Report::Recovered));
        assert_eq!(failures.note(now, None), None);
    }

    #[test]
    fn alternating_failure_is_logged_once_per_minute() {
        let (mut failures, mut now) = (WorkerFailures::of("jobs"), Instant::now());
        let mut reports = 0;
        for run in 0..600 {
            let failure = (run % 2 == 0).then(|| "TransactWriteItems: no answer".to_owned());
            reports += usize::from(failures.note(now, failure).is_some());
            now += Duration::from_millis(500);
        }
        assert_eq!(reports, 10, "a failure and a recovery a minute");
    }

    #[test]
    fn another_failure_is_logged_at_once() {
        let (mut failures, now) = (WorkerFailures::of("jobs"), Instant::now());
        for what in ["unavailable", "Query due: ValidationException"] {
            let report = failures.note(now, Some(what.to_owned()));
            assert_eq!(report, Some(Report::Failed(what.to_owned())));
            assert_eq!(failures.note(now, Some(what.to_owned())), None);
        }
    }

    #[test]
    fn call_name_has_operation_index_and_its_part() {
        let due = |pk: &str| json!({"IndexName": "due", "ExpressionAttributeValues": {":high": {"S": "2026"}, ":pk": {"S": pk}}});
        assert_eq!(call_name("Query", &due("demo#due#publish#0")), "Query due publish");
        assert_eq!(call_name("Query", &due("demo#due#0")), "Query due");
        assert_eq!(call_name("Query", &json!({"IndexName": "by_owner"})), "Query by_owner");
        assert_eq!(call_name("GetItem", &json!({"Key": {"uuid": {"S": "demo#customer#1"}}})), "GetItem");
    }
}

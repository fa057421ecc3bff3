//! What calls a worker: its queue, which schedules fill; the table's stream; or a person. Each names a
//! tenant, and of a batch only what did not succeed comes again.

use super::{Client, EventError, exit, serve, start};
use crate::app::App;
use crate::problem::Problem;
use aws_lambda_events::dynamodb::Event as StreamEvent;
use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use futures::FutureExt;
use lambda_runtime::{LambdaEvent, service_fn};
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, attr};
use serde::{Deserialize, Serialize};
use serde_dynamo::AttributeValue;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

/// Serves a worker, whose `run` does what is due for a tenant. Two runs at once must do nothing twice:
/// a queue and a stream deliver at least once.
pub async fn work<R: Serialize>(calls: &[Client], run: impl AsyncFn(&App, &Tenant) -> Result<R, Problem>) -> ExitCode {
    let app = match start(calls).await {
        Ok(app) => app,
        Err(error) => return exit(Err(error)),
    };
    let worker = Worker { app, run };
    let answer = |event: LambdaEvent<Event>| worker.answer(event.payload);
    exit(serve::until_shutdown(service_fn(answer)).await)
}

/// What calls a worker. A stream's records have more that must be there than a queue's, so they are
/// tried first.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Event {
    /// A person, or a test.
    ByHand(Tick),
    /// The table's stream.
    Stream(StreamEvent),
    /// The worker's queue.
    Queue(SqsEvent),
}

/// The message of a schedule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tick {
    tenant: String,
}

/// What a worker answers.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Answer<R> {
    /// What a run did.
    Done(R),
    /// Which records come again. A stream's answer has the shape of a queue's.
    Batch(SqsBatchResponse),
}

/// A record of a batch: the id under which it is reported, and whose it is, if that can be read.
type Record = (String, Option<Tenant>);

struct Worker<F> {
    app: App,
    run: F,
}

impl<F> Worker<F> {
    async fn answer<R>(&self, event: Event) -> Result<Answer<R>, EventError>
    where
        F: AsyncFn(&App, &Tenant) -> Result<R, Problem>,
    {
        match event {
            Event::ByHand(tick) => {
                let tenant = Tenant::parse(&tick.tenant).map_err(|_| EventError("tenant_malformed"))?;
                self.run(&tenant).await.map(Answer::Done)
            }
            Event::Stream(event) => self.answer_batch(stream_records(event)?).await,
            Event::Queue(event) => self.answer_batch(queue_records(event)?).await,
        }
    }

    async fn answer_batch<R>(&self, records: Vec<Record>) -> Result<Answer<R>, EventError>
    where
        F: AsyncFn(&App, &Tenant) -> Result<R, Problem>,
    {
        let mut answer = SqsBatchResponse::default();
        answer.set_failures(self.failed(records).await);
        Ok(Answer::Batch(answer))
    }

    /// Runs once for each tenant of a batch, and says which records did not succeed.
    async fn failed<R>(&self, records: Vec<Record>) -> Vec<String>
    where
        F: AsyncFn(&App, &Tenant) -> Result<R, Problem>,
    {
        let mut done = BTreeMap::new();
        let mut failed = Vec::new();
        for (id, tenant) in records {
            let good = match tenant {
                None => {
                    tracing::error!("a record names no tenant");
                    false
                }
                Some(tenant) => match done.get(&tenant) {
                    Some(good) => *good,
                    None => {
                        let good = self.run(&tenant).await.is_ok();
                        done.insert(tenant, good);
                        good
                    }
                },
            };
            if !good {
                failed.push(id);
            }
        }
        failed
    }

    /// A panic is a failed run like any other, and its text stays here.
    async fn run<R>(&self, tenant: &Tenant) -> Result<R, EventError>
    where
        F: AsyncFn(&App, &Tenant) -> Result<R, Problem>,
    {
        let ended = AssertUnwindSafe((self.run)(&self.app, tenant)).catch_unwind().await;
        let code = match ended {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(problem)) => problem.code(),
            Err(_) => "panicked",
        };
        tracing::warn!(%tenant, code, "a run did not end well");
        Err(EventError(code))
    }
}

fn stream_records(event: StreamEvent) -> Result<Vec<Record>, EventError> {
    let record = |record: aws_lambda_events::dynamodb::EventRecord| {
        let id = record.change.sequence_number.ok_or(EventError("record_without_id"))?;
        let tenant = match record.change.keys.get(attr::PK) {
            Some(AttributeValue::S(pk)) => keys::tenant_of(pk),
            Some(_) | None => None,
        };
        Ok((id, tenant))
    };
    event.records.into_iter().map(record).collect()
}

fn queue_records(event: SqsEvent) -> Result<Vec<Record>, EventError> {
    let record = |message: aws_lambda_events::sqs::SqsMessage| {
        let id = message.message_id.ok_or(EventError("record_without_id"))?;
        let tick: Option<Tick> = serde_json::from_str(message.body.as_deref().unwrap_or_default()).ok();
        Ok((id, tick.and_then(|tick| Tenant::parse(&tick.tenant).ok())))
    };
    event.records.into_iter().map(record).collect()
}

#[cfg(test)]
mod tests;

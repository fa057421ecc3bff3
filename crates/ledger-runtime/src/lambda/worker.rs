//! What calls a worker: its queue, which schedules fill; the table's stream; or a person. Each names a
//! tenant, and of a batch only what did not succeed comes again.

mod records;

use super::ended::ended;
use super::{Client, EventError, exit, serve, start};
use crate::app::App;
use crate::problem::Problem;
use aws_lambda_events::dynamodb::Event as StreamEvent;
use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{LambdaEvent, service_fn};
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::keys::Key;
use records::{Record, of_queue, of_stream};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// What a person is answered who names a tenant that is not open.
const TENANT_NOT_OPEN: &str = "tenant_not_open";

/// What a worker is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// For whom.
    pub tenant: Tenant,
    /// What has come or changed in the table, as it was right after that; nothing where a schedule or a
    /// person asks for everything that is due.
    pub changed: Vec<Item>,
    /// What a person names, to be looked after once more.
    pub named: Vec<Key>,
}

impl Due {
    /// Everything that is due for a tenant.
    #[must_use]
    pub fn everything(tenant: Tenant) -> Self {
        Self { tenant, changed: Vec::new(), named: Vec::new() }
    }
}

/// Serves a worker, whose `run` does what is due for a tenant. Two runs at once must do nothing twice:
/// a queue and a stream deliver at least once.
pub async fn work<R: Serialize>(calls: &[Client], run: impl AsyncFn(&App, &Due) -> Result<R, Problem>) -> ExitCode {
    let app = match start(calls).await {
        Ok(app) => app,
        Err(error) => return exit(Err(error)),
    };
    let worker = Worker::new(app, run);
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

/// The message of a schedule; of a person, who may name an item; or a dead letter, which names one and says why.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tick {
    tenant: String,
    entry: Option<Named>,
    #[serde(rename = "why")]
    _why: Option<String>,
}

/// An item by its key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    pk: String,
    sk: String,
}

impl Tick {
    /// What is due; `None` if the tenant is malformed, or the item another's.
    fn due(&self) -> Option<Due> {
        let tenant = Tenant::parse(&self.tenant).ok()?;
        let named = match &self.entry {
            Some(named) => vec![Key::stored(&tenant, &named.pk, &named.sk)?],
            None => Vec::new(),
        };
        Some(Due { named, ..Due::everything(tenant) })
    }
}

/// What a worker answers.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Answer<R> {
    /// What a run did.
    Done(R),
    /// There was nothing to run for.
    Skipped {
        /// Why.
        skipped: &'static str,
    },
    /// Which records come again. A stream's answer has the shape of a queue's.
    Batch(SqsBatchResponse),
}

struct Worker<F> {
    app: App,
    run: F,
    /// Tenants that were asked for and are not open: each is logged once.
    not_open: Mutex<BTreeSet<Tenant>>,
}

impl<F> Worker<F> {
    fn new(app: App, run: F) -> Self {
        Self { app, run, not_open: Mutex::default() }
    }

    async fn answer<R>(&self, event: Event) -> Result<Answer<R>, EventError>
    where
        F: AsyncFn(&App, &Due) -> Result<R, Problem>,
    {
        match event {
            Event::ByHand(tick) => {
                let done = self.run(&tick.due().ok_or(EventError("tenant_malformed"))?).await?;
                Ok(done.map_or(Answer::Skipped { skipped: TENANT_NOT_OPEN }, Answer::Done))
            }
            Event::Stream(event) => self.answer_batch(of_stream(event)?).await,
            Event::Queue(event) => self.answer_batch(of_queue(event)?).await,
        }
    }

    async fn answer_batch<R>(&self, records: Vec<Record>) -> Result<Answer<R>, EventError>
    where
        F: AsyncFn(&App, &Due) -> Result<R, Problem>,
    {
        let mut answer = SqsBatchResponse::default();
        answer.set_failures(self.failed(records).await);
        Ok(Answer::Batch(answer))
    }

    /// Runs once for each tenant of a batch, and says which records did not succeed.
    async fn failed<R>(&self, records: Vec<Record>) -> Vec<String>
    where
        F: AsyncFn(&App, &Due) -> Result<R, Problem>,
    {
        let mut failed = Vec::new();
        // In the order in which they came.
        let mut batch: Vec<(Due, Vec<String>)> = Vec::new();
        for Record { id, due } in records {
            let Some(asked) = due else {
                tracing::error!("a record names no tenant, or another's item");
                failed.push(id);
                continue;
            };
            match batch.iter_mut().find(|(due, _)| due.tenant == asked.tenant) {
                Some((due, ids)) => {
                    due.changed.extend(asked.changed);
                    due.named.extend(asked.named);
                    ids.push(id);
                }
                None => batch.push((asked, vec![id])),
            }
        }
        for (due, ids) in batch {
            if self.run(&due).await.is_err() {
                failed.extend(ids);
            }
        }
        failed
    }

    /// Does what is due; `None` if all is asked for of a tenant that is not open. Schedules are deployed before
    /// their tenants are opened.
    async fn run<R>(&self, due: &Due) -> Result<Option<R>, EventError>
    where
        F: AsyncFn(&App, &Due) -> Result<R, Problem>,
    {
        let work = async {
            let is_tick = due.changed.is_empty() && due.named.is_empty();
            if is_tick && !self.app.is_open(&due.tenant).await? {
                self.warn_not_open(&due.tenant);
                return Ok(None);
            }
            (self.run)(&self.app, due).await.map(Some)
        };
        ended(&self.app, (&due.tenant, None), work).await.map_err(|failed| {
            tracing::warn!(tenant = %due.tenant, code = failed.code, "a run did not end well");
            EventError(failed.code)
        })
    }

    fn warn_not_open(&self, tenant: &Tenant) {
        let mut known = self.not_open.lock().unwrap_or_else(PoisonError::into_inner);
        if known.insert(tenant.clone()) {
            tracing::warn!(%tenant, "tenant is not open: run `tenant open`, or remove it from the deployment's tenants");
        }
    }
}

#[cfg(test)]
mod tests;

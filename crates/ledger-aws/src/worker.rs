//! What calls a worker: its queue, which schedules fill; the table's stream; or a person.

use crate::records::{of_queue, of_stream};
use crate::{Environment, EventError, StartError, exit, serve};
use aws_lambda_events::dynamodb::Event as StreamEvent;
use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{LambdaEvent, service_fn};
use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use ledger_runtime::worker::{Due, Tick, Worker};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

/// What a person is answered who names a tenant that is not open.
const TENANT_NOT_OPEN: &str = "tenant_not_open";

/// Serves the worker that `worker` makes of the function's environment.
pub async fn work<R: Serialize, W>(worker: impl FnOnce(&mut Environment) -> Result<W, StartError>) -> ExitCode
where
    W: AsyncFn(&App, &Due) -> Result<R, Problem>,
{
    let (app, run) = match Environment::start(worker).await {
        Ok(started) => started,
        Err(error) => return exit(Err(error)),
    };
    let worker = Worker::new(app, run);
    let answer = |event: LambdaEvent<Event>| answer(&worker, event.payload);
    exit(serve::until_shutdown(service_fn(answer)).await)
}

/// What calls a worker. A stream's records have more that must be there than a queue's, so they are
/// tried first.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Event {
    /// A person, or a test.
    ByHand(Tick),
    /// The table's stream.
    Stream(StreamEvent),
    /// The worker's queue.
    Queue(SqsEvent),
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

async fn answer<R, W>(worker: &Worker<W>, event: Event) -> Result<Answer<R>, EventError>
where
    W: AsyncFn(&App, &Due) -> Result<R, Problem>,
{
    let records = match event {
        Event::ByHand(tick) => {
            let due = tick.due().ok_or(EventError("tenant_malformed"))?;
            let done = worker.run(&due).await.map_err(EventError)?;
            return Ok(done.map_or(Answer::Skipped { skipped: TENANT_NOT_OPEN }, Answer::Done));
        }
        Event::Stream(event) => of_stream(event)?,
        Event::Queue(event) => of_queue(event)?,
    };
    let mut answer = SqsBatchResponse::default();
    answer.set_failures(worker.failed(records).await);
    Ok(Answer::Batch(answer))
}

#[cfg(test)]
mod tests;

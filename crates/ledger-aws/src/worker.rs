//! The events that call a worker: from its queue, which schedules fill, from the table's stream, or by hand.

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

/// The reason in the response if an event by hand names a tenant that is not open.
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

/// An event that calls a worker. Stream records have more required fields than queue records, so they are tried first.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Event {
    /// A call by hand, or in a test.
    ByHand(Tick),
    /// Records of the table's stream.
    Stream(StreamEvent),
    /// Messages of the worker's queue.
    Queue(SqsEvent),
}

/// A worker's response.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Answer<R> {
    /// The result of the run.
    Done(R),
    /// The run was skipped.
    Skipped {
        /// The reason.
        skipped: &'static str,
    },
    /// The records to deliver again. The responses for a stream and a queue have the same form.
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

//! The loop of the Lambda runtime, with graceful shutdown: the event in progress is answered, and no other is started.

use futures::future::{FutureExt, LocalBoxFuture};
use lambda_runtime::layers::TracingLayer;
use lambda_runtime::{Diagnostic, Error, LambdaEvent, Runtime};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::sync::Arc;
use tokio::sync::Mutex;
use tower::Service;
use tower::util::MapFutureLayer;

/// Serves events one after the other.
///
/// Lambda shuts an environment down with SIGTERM. The process then exits as soon as no event is in progress.
///
/// # Errors
/// If Lambda's runtime API cannot be reached.
pub(crate) async fn until_shutdown<H, Event>(handler: H) -> Result<(), Error>
where
    H: Service<LambdaEvent<Event>>,
    H::Response: Serialize,
    H::Error: Into<Diagnostic> + Debug,
    Event: for<'de> Deserialize<'de>,
{
    // Locked while an event is handled, until its response is sent.
    let answering = Arc::new(Mutex::new(()));
    let idle = Arc::clone(&answering);
    lambda_runtime::spawn_graceful_shutdown_handler(move || async move {
        // Never unlocked, so that no further event starts before the process exits.
        std::mem::forget(idle.lock_owned().await);
    })
    .await;
    let one_at_a_time = MapFutureLayer::new(move |event| held(Arc::clone(&answering), event));
    Runtime::new(handler).layer(TracingLayer::new()).layer(one_at_a_time).run().await
}

fn held<'e, F>(answering: Arc<Mutex<()>>, event: F) -> LocalBoxFuture<'e, F::Output>
where
    F: Future + 'e,
{
    async move {
        let _held = answering.lock().await;
        event.await
    }
    .boxed_local()
}

//! The loop of the Lambda runtime, ended politely: what is being answered when the environment is shut
//! down is answered to the end, and nothing is begun after it.

use futures::future::{FutureExt, LocalBoxFuture};
use lambda_runtime::layers::TracingLayer;
use lambda_runtime::{Diagnostic, Error, LambdaEvent, Runtime};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::sync::Arc;
use tokio::sync::Mutex;
use tower::Service;
use tower::util::MapFutureLayer;

/// Serves events one after the other. On SIGTERM, which is how Lambda shuts an environment down, the
/// process ends as soon as it is answering nobody.
///
/// # Errors
/// When Lambda's own interface cannot be reached.
pub(crate) async fn until_shutdown<H, Event>(handler: H) -> Result<(), Error>
where
    H: Service<LambdaEvent<Event>>,
    H::Response: Serialize,
    H::Error: Into<Diagnostic> + Debug,
    Event: for<'de> Deserialize<'de>,
{
    // Held while an event is answered, the sending of the answer included.
    let answering = Arc::new(Mutex::new(()));
    let idle = Arc::clone(&answering);
    lambda_runtime::spawn_graceful_shutdown_handler(move || async move {
        // Never given back: the process exits, and no further event is begun until then.
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

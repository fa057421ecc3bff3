//! Logs: JSON, one line per request, without personal data.
//!
//! The path is logged as its template, so that it contains no id or key.

use crate::callers::Callers;
use crate::execute::Ledger;
use crate::gateway::GatewayContext;
use crate::metrics::{Metric, RequestLine};
use crate::notes::{RequestNotes, ResponseNotes};
use crate::pseudonym::SourceAddress;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use std::time::Instant;
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// At finer levels these targets log whole requests, with personal data and secrets.
const SDK_LEVELS: &str = "aws_config=warn,aws_runtime=warn,aws_sdk_dynamodb=warn,aws_sdk_cloudwatch=warn,\
aws_sdk_eventbridge=warn,aws_sdk_s3=warn,aws_sdk_secretsmanager=warn,aws_sdk_sfn=warn,aws_sdk_sqs=warn,\
aws_sdk_sso=warn,aws_sdk_ssooidc=warn,aws_sdk_sts=warn,h2=warn,lambda_extension=warn,\
aws_smithy_http_client=warn,aws_smithy_runtime=warn,aws_smithy_runtime_api=warn,aws_sigv4=warn,hyper=warn,\
hyper_util=warn,reqwest=warn,lambda_runtime=warn,lambda_http=warn,rustls=warn";

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter cannot be parsed.
    #[error("LOG_LEVEL is not a log filter: set it to error, warn, info, debug or trace")]
    Filter(#[from] ParseError),
    /// Another subscriber is set up already.
    #[error("logging has been set up before: call logging::init once")]
    Twice(#[from] tracing_subscriber::util::TryInitError),
}

/// Logs JSON lines to standard output, for the whole process. A panic is logged by its location only.
///
/// # Errors
/// [`LoggingError`] if the filter is invalid, or logging is set up already.
pub fn init(filter: &str) -> Result<(), LoggingError> {
    subscriber(filter, std::io::stdout)?.try_init()?;
    // A panic's message may contain personal data. Its location is enough to find the cause.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "a panic");
    }));
    Ok(())
}

fn subscriber<W>(filter: &str, out: W) -> Result<impl tracing::Subscriber + Send + Sync + 'static, ParseError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let filter: Targets = format!("{filter},{SDK_LEVELS}").parse()?;
    Ok(tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_max_level(LevelFilter::TRACE)
        .with_writer(out)
        .finish()
        .with(filter))
}

/// The response header with the request id, as in the log line.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// The middleware that logs a request, counts faults of the service, and sets the response's request id.
///
/// It also puts the request's source into the request's extensions.
pub async fn log_request(
    State((ledger, callers)): State<(Ledger, Callers)>,
    mut request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let notes = RequestNotes::default();
    request.extensions_mut().insert(notes.clone());
    let source = callers.source(request.headers(), request.extensions());
    request.extensions_mut().remove::<SourceAddress>();
    let source_name = source.as_ref().and_then(|source| callers.name_source(source));
    if let Some(source) = source {
        request.extensions_mut().insert(source);
    }
    let method = request.method().clone();
    let path = request.extensions().get::<MatchedPath>().cloned();
    let request_id = request_id(&request, &ledger);
    notes.set_request_id(request_id.clone());

    let handled = async {
        let response = next.run(request).await;
        let response_notes = response.extensions().get::<ResponseNotes>().cloned().unwrap_or_default();
        let tenant = notes.tenant();
        if !response_notes.counted {
            for metric in Metric::of_fault(response.status()).into_iter().chain(response_notes.metric) {
                ledger.metrics().count_of(metric, tenant.as_ref(), response_notes.operation);
            }
        }
        (response, response_notes, tenant)
    };
    let ((mut response, response_notes, tenant), recorded) = ledger.metrics().around(handled).await;

    let line = tracing::enabled!(tracing::Level::INFO).then(|| RequestLine {
        method: method.as_str(),
        path: path.as_ref().map_or("-", MatchedPath::as_str),
        status: response.status().as_u16(),
        code: response_notes.code,
        replayed: response_notes.replayed,
        latency_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        tenant: tenant.as_ref().map(|tenant| tenant.as_str()),
        actor: notes.actor(),
        source: source_name,
        operation: response_notes.operation.map(|operation| operation.name()),
        request_id: request_id.as_deref(),
    });
    ledger.metrics().end_request(line.as_ref(), recorded);
    if let Some(Ok(id)) = request_id.map(HeaderValue::try_from) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Returns the gateway's request id, or a generated one.
fn request_id(request: &Request, ledger: &Ledger) -> Option<String> {
    let given = request.extensions().get::<GatewayContext>().and_then(|context| context.request_id.clone());
    given.or_else(|| ledger.entropy().uuid_v7(ledger.clock().now()).ok().map(|id| id.to_string()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::{Arc, LazyLock, Mutex};
    use tracing::Dispatch;
    use tracing::subscriber::NoSubscriber;

    /// The lines that a test logged.
    #[derive(Clone, Default)]
    pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }

        /// Captures the lines that this thread logs while the guard exists.
        pub(crate) fn capture(filter: &str) -> (Self, tracing::subscriber::DefaultGuard) {
            // With a single subscriber, `tracing` caches for good that an event first reached on another thread is
            // disabled.
            static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));
            LazyLock::force(&ANOTHER);
            let lines = Self::default();
            let out = lines.clone();
            let guard = tracing::subscriber::set_default(subscriber(filter, move || out.clone()).unwrap());
            (lines, guard)
        }
    }

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_flat_json_without_sdk_debug_lines() {
        let (lines, guard) = Lines::capture("trace");
        tracing::info!(status = 201, code = None::<&str>, "request");
        tracing::debug!(target: "aws_smithy_runtime::client", "a whole request");
        tracing::debug!(target: "aws_sdk_secretsmanager::operation", "a secret");
        tracing::debug!(target: "aws_sdk_sts::operation", "credentials");
        drop(guard);
        let text = lines.text();
        let line: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
        assert_eq!((&line["message"], &line["status"]), (&"request".into(), &201.into()));
        assert!(line.get("code").is_none());
    }
}

//! The embedded engine over HTTP: DynamoDB's JSON protocol on the loopback, for the SDK and for tools.
//!
//! The engine's own server is not used: it answers under any host name, and lets pages of every site read its answers
//! (`Access-Control-Allow-Origin: *`).

use super::Activity;
use crate::local_only;
use crate::problem::answer;
use axum::Router;
use axum::extract::{DefaultBodyLimit, OriginalUri, State};
use axum::middleware;
use axum::response::Response;
use axum::routing::get;
use dynoxide::actions::query::QueryRequest;
use dynoxide::auth_material::{self, AuthMaterial};
use dynoxide::{Database, DynoxideError};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use ledger_core::keys::INDEX_DUE;
use ledger_runtime::clock::Clock;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The largest body of a DynamoDB request, in bytes.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
const AMZ_JSON: &str = "application/x-amz-json-1.0";
const TARGET: &str = "x-amz-target";
const TARGET_PREFIXES: [&str; 2] = ["DynamoDB_20120810.", "DynamoDBStreams_20120810."];
const AMZ_DATE: &str = "x-amz-date";
/// DynamoDB's answer at its root.
const HEALTHY: &str = "healthy: dynamodb.us-east-1.amazonaws.com ";
const UNKNOWN_OPERATION: &str = r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;
const WRITES: [&str; 8] = [
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "BatchWriteItem",
    "TransactWriteItems",
    "ExecuteStatement",
    "ExecuteTransaction",
    "BatchExecuteStatement",
];

#[derive(Clone)]
struct Served {
    database: Database,
    activity: Activity,
    clock: Clock,
}

/// The engine's routes, for this port of the loopback.
pub(super) fn router(database: Database, activity: Activity, port: u16) -> Router {
    Router::new()
        .route("/", get(async || answer(StatusCode::OK, "text/plain", HEALTHY)).post(call))
        .with_state(Served { database, activity, clock: Clock::system() })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(local_only::refuse_other_sites))
        .layer(middleware::from_fn_with_state(port, local_only::refuse_other_hosts))
}

async fn call(
    State(served): State<Served>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    body: String,
) -> Response {
    served.activity.count_request();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let target = text(TARGET).unwrap_or_default();
    let Some(operation) = TARGET_PREFIXES.iter().find_map(|prefix| target.strip_prefix(prefix)) else {
        return as_json(&headers, StatusCode::BAD_REQUEST, UNKNOWN_OPERATION.to_owned());
    };
    let material = AuthMaterial {
        authorization: text(header::AUTHORIZATION.as_str()),
        query: uri.query().unwrap_or_default(),
        has_date_header: headers.contains_key(AMZ_DATE) || headers.contains_key(header::DATE),
    };
    if let Some(refusal) = auth_material::validate(material) {
        return as_json(&headers, StatusCode::BAD_REQUEST, refusal);
    }
    match served.execute(operation, &body) {
        None => as_json(&headers, StatusCode::BAD_REQUEST, UNKNOWN_OPERATION.to_owned()),
        Some(Ok(done)) => {
            if WRITES.contains(&operation) {
                served.activity.count_write();
            }
            as_json(&headers, StatusCode::OK, done)
        }
        Some(Err(error)) => {
            let status = StatusCode::from_u16(error.status_code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            tracing::debug!(operation, %status, "the embedded DynamoDB refused a request");
            as_json(&headers, status, error.to_json())
        }
    }
}

/// Answers with the media type of the request.
fn as_json(headers: &HeaderMap, status: StatusCode, body: String) -> Response {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut response = answer(status, "application/json", body);
    if content_type.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case(AMZ_JSON)) {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(AMZ_JSON));
    }
    response
}

macro_rules! one_of {
    ($database:expr, $operation:expr, $body:expr; $($name:literal => $method:ident,)*) => {
        match $operation {
            $($name => Some(run($body, |request| $database.$method(request))),)*
            _ => None,
        }
    };
}

impl Served {
    /// The answer to an operation; `None` if the operation is unknown.
    fn execute(&self, operation: &str, body: &str) -> Option<Result<String, DynoxideError>> {
        let Self { database, activity, clock } = self;
        if operation == "Query" {
            return Some(run(body, |request: QueryRequest| {
                let is_due = request.index_name.as_deref() == Some(INDEX_DUE);
                let answer = database.query(request)?;
                if is_due {
                    activity.count_due(answer.items.as_deref().unwrap_or_default(), clock.now());
                }
                Ok(answer)
            }));
        }
        one_of! { database, operation, body;
            "CreateTable" => create_table,
            "DeleteTable" => delete_table,
            "DescribeTable" => describe_table,
            "ListTables" => list_tables,
            "UpdateTable" => update_table,
            "PutItem" => put_item,
            "GetItem" => get_item,
            "DeleteItem" => delete_item,
            "UpdateItem" => update_item,
            "Scan" => scan,
            "BatchGetItem" => batch_get_item,
            "BatchWriteItem" => batch_write_item,
            "TransactWriteItems" => transact_write_items,
            "TransactGetItems" => transact_get_items,
            "ListStreams" => list_streams,
            "DescribeStream" => describe_stream,
            "GetShardIterator" => get_shard_iterator,
            "GetRecords" => get_records,
            "UpdateTimeToLive" => update_time_to_live,
            "DescribeTimeToLive" => describe_time_to_live,
            "ExecuteStatement" => execute_statement,
            "ExecuteTransaction" => execute_transaction,
            "BatchExecuteStatement" => batch_execute_statement,
            "TagResource" => tag_resource,
            "UntagResource" => untag_resource,
            "ListTagsOfResource" => list_tags_of_resource,
        }
    }
}

fn run<Q: DeserializeOwned, A: Serialize>(
    body: &str,
    call: impl FnOnce(Q) -> Result<A, DynoxideError>,
) -> Result<String, DynoxideError> {
    let request = serde_json::from_str(body).map_err(|error| unreadable(&error))?;
    serde_json::to_string(&call(request)?).map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

/// The engine's types begin a message with a mark that says which of DynamoDB's errors it is.
fn unreadable(error: &serde_json::Error) -> DynoxideError {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let (mark, rest) = text.split_once(':').unwrap_or_default();
    if mark.starts_with("SERIALIZATION") {
        return DynoxideError::SerializationException(rest.to_owned());
    }
    if mark.starts_with("VALIDATION") {
        return DynoxideError::ValidationException(rest.to_owned());
    }
    let is_invalid = ["missing field", "unknown variant", "invalid type: null", "AttributeValue"];
    if is_invalid.iter().any(|part| text.contains(part)) {
        return DynoxideError::ValidationException(text.to_owned());
    }
    DynoxideError::SerializationException(text.to_owned())
}

//! Creates the table if it does not exist and checks it otherwise, on any DynamoDB-compatible endpoint. Also makes the
//! client for such an endpoint.

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::describe_table::{DescribeTableError, DescribeTableOutput};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, GlobalSecondaryIndexDescription, KeySchemaElement, KeyType,
    Projection, ProjectionType, ScalarAttributeType, TableDescription, TableStatus, TimeToLiveSpecification,
    TimeToLiveStatus,
};
use ledger_core::keys::{INDEX_BY_OWNER, INDEX_DUE, attr};
use ledger_core::registry;
use ledger_runtime::dynamo;
use std::time::{Duration, Instant};

const REACH_TIMEOUT: Duration = Duration::from_secs(3);
const ANSWER_POLL: Duration = Duration::from_millis(500);
const ACTIVE_POLL: Duration = Duration::from_millis(200);
const ACTIVE_POLLS_MAX: u32 = 300;

/// The shape of an index.
struct IndexShape {
    name: &'static str,
    partition: &'static str,
    sort: &'static str,
    projection: ProjectionType,
}

const BY_OWNER: IndexShape = IndexShape {
    name: INDEX_BY_OWNER,
    partition: attr::OWNER_PK,
    sort: attr::OWNER_SK,
    projection: ProjectionType::KeysOnly,
};
const DUE: IndexShape =
    IndexShape { name: INDEX_DUE, partition: attr::DUE_PK, sort: attr::DUE_SK, projection: ProjectionType::KeysOnly };
const INDEXES: [IndexShape; 2] = [BY_OWNER, DUE];

/// Why the table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// No DynamoDB answers at the endpoint.
    #[error("cannot reach DynamoDB at {url}: {cause}")]
    Unreachable {
        /// The endpoint.
        url: String,
        /// The error of the call.
        cause: String,
    },
    /// No DynamoDB answered at the endpoint within the wait.
    #[error(
        "cannot reach DynamoDB at {url}: {cause}; waited {} s: start it there, correct --endpoint-url, or wait longer \
         with --endpoint-wait",
        waited.as_secs()
    )]
    StillUnreachable {
        /// The endpoint.
        url: String,
        /// The error of the last call.
        cause: String,
        /// The length of the wait.
        waited: Duration,
    },
    /// A table of this name exists and has other keys or indexes.
    #[error("table {table} exists but {what}: choose another name with --table")]
    OtherShape {
        /// The table.
        table: String,
        /// The difference.
        what: String,
    },
    /// DynamoDB refused a call.
    #[error("DynamoDB refused {call} of table {table}: {cause}")]
    Refused {
        /// The call.
        call: &'static str,
        /// The table.
        table: String,
        /// DynamoDB's error.
        cause: String,
    },
    /// The table did not become active within a minute.
    #[error("table {0} did not become active within a minute: try again later")]
    NotActive(String),
}

/// A client for `url` with the settings of the functions' client.
pub async fn client(url: &str) -> Client {
    let sdk = dynamo::sdk_config(Some(url)).await;
    dynamo::client(&sdk, Some(url))
}

/// Waits until an endpoint that is starting answers. `on_wait` gets one line if the first call has no answer.
///
/// # Errors
/// [`TableError::StillUnreachable`] if it has not answered after `patience`. If `patience` is zero, it does not wait.
pub async fn wait_for_answer(
    client: &Client,
    url: &str,
    table: &str,
    patience: Duration,
    on_wait: fn(&str),
) -> Result<(), TableError> {
    if !is_url(url) || patience.is_zero() {
        return Ok(());
    }
    let begun = Instant::now();
    let mut is_reported = false;
    loop {
        let cause = match describe_once(client, table).await {
            Err(error) if error.as_service_error().is_none() => one_line(&error),
            Err(error) if status(&error).is_some_and(|status| status >= 500) => "a server error".to_owned(),
            // It answers: `ensure` checks the answer.
            Ok(_) | Err(_) => return Ok(()),
        };
        let left = patience.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(TableError::StillUnreachable { url: url.to_owned(), cause, waited: patience });
        }
        if !is_reported {
            on_wait(&format!(
                "DynamoDB at {url} does not answer yet ({cause}); waiting up to {} s",
                patience.as_secs()
            ));
            is_reported = true;
        }
        tokio::time::sleep(ANSWER_POLL.min(left)).await;
    }
}

fn is_url(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// Creates the table and its registry if they do not exist, and waits until they are active.
///
/// # Errors
/// [`TableError`] if the endpoint cannot be reached, refuses a call, or has a table of this name with other keys or
/// indexes.
pub async fn ensure(client: &Client, url: &str, table: &str) -> Result<(), TableError> {
    if !is_url(url) {
        return Err(unreachable(url, "a URL like http://127.0.0.1:8000 is expected"));
    }
    let registry = registry::table_name(table);
    for (table, indexes) in [(table, &INDEXES[..]), (&registry, &[])] {
        match describe(client, url, table).await? {
            Some(description) => check_shape(table, indexes, &description)?,
            None => create(client, table, indexes).await?,
        }
        wait_until_active(client, url, table).await?;
    }
    enable_ttl(client, table).await;
    Ok(())
}

/// One call without retries and with a short timeout, because a user waits at the prompt.
async fn describe_once(client: &Client, table: &str) -> Result<DescribeTableOutput, SdkError<DescribeTableError>> {
    let timeouts = TimeoutConfig::builder().connect_timeout(REACH_TIMEOUT).operation_timeout(REACH_TIMEOUT).build();
    let once = aws_sdk_dynamodb::config::Builder::new().retry_config(RetryConfig::disabled()).timeout_config(timeouts);
    client.describe_table().table_name(table).customize().config_override(once).send().await
}

/// Describes the table; `None` if it does not exist.
async fn describe(client: &Client, url: &str, table: &str) -> Result<Option<TableDescription>, TableError> {
    match describe_once(client, table).await {
        Ok(answer) => Ok(answer.table),
        Err(error) => match error.as_service_error() {
            Some(DescribeTableError::ResourceNotFoundException(_)) => Ok(None),
            // DynamoDB refuses its operations with 400 or 500.
            Some(known) if known.code().is_some() && status(&error) != Some(404) => {
                Err(refused("DescribeTable", table, &error))
            }
            Some(_) => Err(unreachable(url, "the server there is not DynamoDB")),
            None => Err(unreachable(url, one_line(&error))),
        },
    }
}

fn status<E>(error: &SdkError<E>) -> Option<u16> {
    error.raw_response().map(|response| response.status().as_u16())
}

fn unreachable(url: &str, cause: impl Into<String>) -> TableError {
    TableError::Unreachable { url: url.to_owned(), cause: cause.into() }
}

async fn create(client: &Client, table: &str, indexes: &[IndexShape]) -> Result<(), TableError> {
    let unbuildable = |error: BuildError| TableError::Refused {
        call: "CreateTable",
        table: table.to_owned(),
        cause: error.to_string(),
    };
    let mut request = client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .set_key_schema(Some(key_schema(attr::PK, attr::SK).map_err(unbuildable)?));
    let index_keys = indexes.iter().flat_map(|index| [index.partition, index.sort]);
    for name in [attr::PK, attr::SK].into_iter().chain(index_keys) {
        request = request.attribute_definitions(definition(name).map_err(unbuildable)?);
    }
    for shape in indexes {
        let index = GlobalSecondaryIndex::builder()
            .index_name(shape.name)
            .set_key_schema(Some(key_schema(shape.partition, shape.sort).map_err(unbuildable)?))
            .projection(Projection::builder().projection_type(shape.projection.clone()).build());
        request = request.global_secondary_indexes(index.build().map_err(unbuildable)?);
    }
    match request.send().await {
        Ok(_) => Ok(()),
        // Another process has created it in the meantime.
        Err(error) if error.code() == Some("ResourceInUseException") => Ok(()),
        Err(error) => Err(refused("CreateTable", table, &error)),
    }
}

fn definition(name: &str) -> Result<AttributeDefinition, BuildError> {
    AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build()
}

fn key_schema(partition: &str, sort: &str) -> Result<Vec<KeySchemaElement>, BuildError> {
    [(partition, KeyType::Hash), (sort, KeyType::Range)]
        .into_iter()
        .map(|(name, kind)| KeySchemaElement::builder().attribute_name(name).key_type(kind).build())
        .collect()
}

fn check_shape(table: &str, indexes: &[IndexShape], description: &TableDescription) -> Result<(), TableError> {
    let other = |what: String| TableError::OtherShape { table: table.to_owned(), what };
    let keys: Vec<_> = description.key_schema().iter().map(KeySchemaElement::attribute_name).collect();
    if keys != [attr::PK, attr::SK] {
        return Err(other(format!("has the keys {keys:?} where {:?} and {:?} are needed", attr::PK, attr::SK)));
    }
    for shape in indexes {
        let index = description.global_secondary_indexes().iter().find(|index| index.index_name() == Some(shape.name));
        if !index.is_some_and(|index| has_shape(index, shape)) {
            let IndexShape { name, partition, sort, projection } = shape;
            return Err(other(format!("lacks the index {name} ({partition}, {sort}; {})", projection.as_str())));
        }
    }
    Ok(())
}

fn has_shape(index: &GlobalSecondaryIndexDescription, shape: &IndexShape) -> bool {
    let keys: Vec<_> = index.key_schema().iter().map(KeySchemaElement::attribute_name).collect();
    let projection = index.projection().and_then(Projection::projection_type);
    keys == [shape.partition, shape.sort] && projection == Some(&shape.projection)
}

async fn wait_until_active(client: &Client, url: &str, table: &str) -> Result<(), TableError> {
    for _ in 0..ACTIVE_POLLS_MAX {
        let description = describe(client, url, table).await?;
        if description.as_ref().and_then(TableDescription::table_status) == Some(&TableStatus::Active) {
            return Ok(());
        }
        tokio::time::sleep(ACTIVE_POLL).await;
    }
    Err(TableError::NotActive(table.to_owned()))
}

/// Turns TTL on. A failure is only logged: some engines lack TTL, and no state depends on it.
async fn enable_ttl(client: &Client, table: &str) {
    let described = client.describe_time_to_live().table_name(table).send().await;
    let status =
        described.ok().and_then(|answer| answer.time_to_live_description).and_then(|ttl| ttl.time_to_live_status);
    if matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)) {
        return;
    }
    let Ok(specification) = TimeToLiveSpecification::builder().attribute_name(attr::TTL).enabled(true).build() else {
        return;
    };
    let updated = client.update_time_to_live().table_name(table).time_to_live_specification(specification).send().await;
    if let Err(error) = updated {
        tracing::warn!(table, error = one_line(&error), "no TTL: expired items stay until deleted by hand");
    }
}

fn refused<E>(call: &'static str, table: &str, error: &SdkError<E>) -> TableError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let cause = match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        (None, _) => one_line(error),
    };
    TableError::Refused { call, table: table.to_owned(), cause }
}

/// The innermost cause, such as "Connection refused". The whole chain is logged for `RUST_LOG`.
fn one_line<E: std::error::Error + 'static>(error: &SdkError<E>) -> String {
    tracing::debug!(error = %DisplayErrorContext(error), "DynamoDB call failed");
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Data, Engine, EngineConfig};

    #[tokio::test]
    async fn table_is_created_once_and_another_shape_refused() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let url = engine.url();
        let client = client(&url).await;
        ensure(&client, &url, "ecopay").await.unwrap();
        ensure(&client, &url, "ecopay").await.unwrap();
        let ttl = client.describe_time_to_live().table_name("ecopay").send().await.unwrap();
        let ttl = ttl.time_to_live_description.unwrap();
        assert_eq!(ttl.attribute_name(), Some("ttl"));
        let described = describe(&client, &url, "ecopay").await.unwrap().unwrap();
        assert_eq!(described.global_secondary_indexes().len(), 2);
        let registry = describe(&client, &url, "ecopay-registry").await.unwrap().unwrap();
        assert!(registry.global_secondary_indexes().is_empty());

        let id = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S);
        let hash = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash);
        client
            .create_table()
            .table_name("other")
            .billing_mode(BillingMode::PayPerRequest)
            .attribute_definitions(id.build().unwrap())
            .key_schema(hash.build().unwrap())
            .send()
            .await
            .unwrap();
        let error = ensure(&client, &url, "other").await.unwrap_err();
        assert!(matches!(error, TableError::OtherShape { .. }), "{error}");
        engine.stop().await;
    }

    #[tokio::test]
    async fn table_with_another_projection_of_an_index_is_refused() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let url = engine.url();
        let client = client(&url).await;
        create(&client, "copies", &[IndexShape { projection: ProjectionType::All, ..BY_OWNER }, DUE]).await.unwrap();
        let error = ensure(&client, &url, "copies").await.unwrap_err();
        assert!(error.to_string().contains("lacks the index by_owner (owner_pk, owner_sk; KEYS_ONLY)"), "{error}");
        engine.stop().await;
    }

    #[tokio::test]
    async fn endpoint_that_does_not_answer_is_named() {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let unresponsive = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        for address in [closed, unresponsive.local_addr().unwrap()] {
            let url = format!("http://{address}");
            let error = ensure(&client(&url).await, &url, "ecopay").await.unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot reach DynamoDB at {url}: ")), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}

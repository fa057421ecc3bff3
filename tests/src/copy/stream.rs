//! Reads the stream of a table on the embedded engine.

use super::Change;
use crate::wire;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{StreamSpecification, StreamViewType};
use serde_json::{Value as Json, json};

/// The header of a request to the embedded engine, which checks no signature.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=k/20261121/r/dynamodb/aws4_request, \
                             SignedHeaders=host;x-amz-date, Signature=s";

/// The stream of a table, from its beginning.
#[derive(Debug)]
pub struct Stream {
    url: String,
    arn: String,
    /// The sequence number of the last record that was read.
    last: Option<String>,
}

impl Stream {
    /// Turns the stream of a table on, with the items before and after each change.
    ///
    /// # Panics
    /// When the engine refuses it.
    pub async fn start(client: &Client, url: &str, table: &str) -> Self {
        let view =
            StreamSpecification::builder().stream_enabled(true).stream_view_type(StreamViewType::NewAndOldImages);
        let update = client.update_table().table_name(table).stream_specification(view.build().expect("a stream"));
        let _ = update.send().await.unwrap_or_else(|error| panic!("the stream is not on: {error:?}"));
        let described = client.describe_table().table_name(table).send().await.expect("the table").table;
        let arn = described.and_then(|table| table.latest_stream_arn).expect("a stream");
        Self { url: url.to_owned(), arn, last: None }
    }

    /// The changes since the last time, in their order.
    ///
    /// # Panics
    /// When the engine refuses a read.
    pub async fn read(&mut self) -> Vec<Change> {
        let described = self.call("DescribeStream", &json!({ "StreamArn": self.arn })).await;
        let shard = described["StreamDescription"]["Shards"][0]["ShardId"].clone();
        let kind = if self.last.is_some() { "AFTER_SEQUENCE_NUMBER" } else { "TRIM_HORIZON" };
        let mut from = json!({ "StreamArn": self.arn, "ShardId": shard, "ShardIteratorType": kind });
        if let Some(last) = &self.last {
            from["SequenceNumber"] = json!(last);
        }
        let mut iterator = self.call("GetShardIterator", &from).await["ShardIterator"].clone();
        let mut changes = Vec::new();
        loop {
            let page = self.call("GetRecords", &json!({ "ShardIterator": iterator })).await;
            let records = page["Records"].as_array().expect("records");
            let Some(last) = records.last() else { return changes };
            self.last = last["dynamodb"]["SequenceNumber"].as_str().map(str::to_owned);
            changes.extend(records.iter().map(change));
            iterator = page["NextShardIterator"].clone();
        }
    }

    async fn call(&self, operation: &str, body: &Json) -> Json {
        let request = reqwest::Client::new()
            .post(&self.url)
            .header("x-amz-target", format!("DynamoDBStreams_20120810.{operation}"))
            .header("x-amz-date", "20261121T000000Z")
            .header("authorization", AUTHORIZATION)
            .body(body.to_string());
        let answer = request.send().await.expect("the engine answers");
        let (status, text) = (answer.status(), answer.text().await.expect("a body"));
        assert!(status.is_success(), "{operation}: {status} {text}");
        serde_json::from_str(&text).expect("JSON")
    }
}

fn change(record: &Json) -> Change {
    let image = |name: &str| record["dynamodb"].get(name).filter(|image| image.is_object()).map(wire::item_from_json);
    let at = record["dynamodb"]["ApproximateCreationDateTime"].to_string();
    Change {
        old: image("OldImage"),
        new: image("NewImage"),
        at: at.split('.').next().and_then(|at| at.parse().ok()).expect("a time"),
        is_by_ttl: record["userIdentity"]["principalId"] == "dynamodb.amazonaws.com",
    }
}

//! The numbers of the model, each with its source.
//!
//! "Guide" is the Amazon DynamoDB Developer Guide, cited by the title of the page.

use crate::chance::{Latency, MILLISECOND, Micros, SECOND};

/// Write units a second of one partition, and so of one item. Guide, "Best practices for designing and using partition
/// keys effectively in DynamoDB": 1,000 write units a second.
pub const PARTITION_WRITE_UNITS: u64 = 1_000;
/// Read units a second of one partition. The same page: 3,000.
pub const PARTITION_READ_UNITS: u64 = 3_000;
/// How many seconds of unused capacity are kept for a burst. Guide, "DynamoDB burst and adaptive capacity": 300.
///
/// A burst never passes the partition's own limit: AWS re:Post Knowledge Center, "How does DynamoDB handle spiky
/// workloads in short intervals": "Burst capacity can't alleviate partition-level throttling".
pub const BURST_SECONDS: u64 = 300;
/// Write units a second that a new on-demand table or index sustains. Guide, "Understanding DynamoDB warm throughput in
/// different scenarios": 4,000, with 12,000 read units; four partitions.
pub const NEW_TABLE_WRITE_UNITS: u64 = 4_000;
/// Write units a second of one table with its indexes by the account's default quota. Guide, "Quotas in Amazon
/// DynamoDB": 40,000 for each table; `docs/limits.md` counts table and indexes together.
pub const TABLE_QUOTA_WRITE_UNITS: u64 = 40_000;
/// Write units of an item of up to 1 KB in a transaction: one to prepare, one to commit. Guide, "Amazon DynamoDB
/// Transactions: How it works", capacity management.
pub const TRANSACTION_UNITS_PER_KB: u64 = 2;
/// How long a partition must be near its limit before it is split. AWS states no number. The AWS Database Blog, "Scaling
/// DynamoDB: How partitions, hot keys, and split for heat impact performance (Part 2: Querying)", shows ten minutes at
/// an unchanged limit from the start of a test, which is what this assumes.
pub const SPLIT_AFTER: Micros = 600 * SECOND;
/// The share of its limit, in percent, from which a partition counts as near it. An assumption.
pub const HOT_PERCENT: u64 = 80;

/// The latency of a `GetItem`, and of a `Query` of one page. The percentiles of `PutItem` that the article
/// "DynamoDB Transactions Performance Testing" (2020) measured from Lambda: 7.55 ms and 16.2 ms (p50, p99). AWS promises single-digit
/// milliseconds for both and publishes no percentiles.
#[must_use]
pub fn read_latency() -> Latency {
    Latency::of(7_550, 16_200)
}

/// The latency of a `TransactWriteItems`, and the time for which it holds its items.
///
/// The same measurement: 25.3 and 92.5 ms (p50, p99) for 5 items, 32.1 and 97.5 ms for 25; a cancelled one takes as
/// long. Other counts lie on the line through both, an assumption for more than 25.
#[must_use]
pub fn transaction_latency(actions: u64) -> Latency {
    let line = |at_5: Micros, per_action: Micros| {
        let less = 5_u64.saturating_sub(actions).saturating_mul(per_action);
        let more = actions.saturating_sub(5).saturating_mul(per_action);
        at_5.saturating_add(more).saturating_sub(less)
    };
    Latency::of(line(25_300, 340), line(92_500, 250))
}

/// The latency of `SendMessageBatch` of SQS. AWS publishes none; this is an assumption, and only delays publishing.
#[must_use]
pub fn send_latency() -> Latency {
    Latency::of(10 * MILLISECOND, 50 * MILLISECOND)
}

/// The longest time between two polls of a stream shard. AWS Lambda Developer Guide, "Using AWS Lambda with Amazon
/// DynamoDB": four times a second.
pub const STREAM_POLL: Micros = 250 * MILLISECOND;

//! A model of DynamoDB: items that one transaction at a time may change, in partitions with limits.
//!
//! What it leaves out: storage, item sizes above what the caller states, eventual consistency of indexes, and errors of
//! the service. An index write that its partition does not take throttles the transaction at once, though DynamoDB has
//! a short queue for it. Items of one partition key stay in one partition: DynamoDB may split them by sort key, but the
//! keys of our indexes grow with time, so that all writes go to the last part.

pub mod bucket;
pub mod limits;
pub mod partitions;
pub mod table;

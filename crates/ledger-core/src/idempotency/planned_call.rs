//! An operation that calls the payment provider, before its key is claimed.

use crate::ids::TopupId;
use crate::keys::Shards;
use crate::psp::PspRequest;
use crate::transaction::Draft;
use uuid::Uuid;

/// What a claim does, and what the provider is asked for under it.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// The reservation and our record.
    pub draft: Draft,
    /// The id of what is made.
    pub resource: Uuid,
    /// Which top-up it is about.
    pub topup: TopupId,
    /// What the provider is asked.
    pub request: PspRequest,
    /// Over how many shards the work of recovery is spread.
    pub shards: Shards,
}

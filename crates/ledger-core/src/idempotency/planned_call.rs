//! An operation that calls the payment provider, before its key is claimed.

use crate::ids::TopupId;
use crate::keys::Shards;
use crate::psp::PspRequest;
use crate::transaction::Draft;
use uuid::Uuid;

/// A claim's writes, and the request to the provider that is sent under it.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// The reservation and our record.
    pub draft: Draft,
    /// The id of what is created.
    pub resource: Uuid,
    /// The top-up that it belongs to.
    pub topup: TopupId,
    /// The request to the provider.
    pub request: PspRequest,
    /// The number of shards of the due index entry for recovery.
    pub shards: Shards,
}

//! Reads metrics back from where they are kept.

use crate::metrics::{Counting, Metric};
use futures::future::{BoxFuture, FutureExt};
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::time::Timestamp;

/// CloudWatch returned an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("CloudWatch answered {code}: the metric cannot be read; check the permission cloudwatch:GetMetricData")]
pub struct ReadbackError {
    /// The error code that CloudWatch returned.
    pub code: String,
}

/// Selects the counts to sum.
#[derive(Clone, Debug)]
pub struct Sum {
    /// The metric that is summed.
    pub metric: Metric,
    /// The tenant whose counts are summed.
    pub tenant: Tenant,
    /// The operation whose counts are summed; `None` sums over all.
    pub operation: Option<Operation>,
    /// The start of the period.
    pub since: Timestamp,
    /// The end of the period.
    pub until: Timestamp,
}

/// A source that metrics are read back from.
pub trait MetricSource: Send + Sync {
    /// The sum of the selected counts.
    ///
    /// # Errors
    /// [`ReadbackError`] if the source cannot be read. A failed read must not be taken for 0.
    fn sum<'a>(&'a self, request: &'a Sum) -> BoxFuture<'a, Result<u64, ReadbackError>>;
}

impl MetricSource for Counting {
    fn sum<'a>(&'a self, request: &'a Sum) -> BoxFuture<'a, Result<u64, ReadbackError>> {
        let sum = self.sum_between(request.metric, &request.tenant, request.operation, request.since, request.until);
        std::future::ready(Ok(sum)).boxed()
    }
}

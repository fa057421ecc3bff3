//! Reading metrics back.

use crate::metrics::{Counting, Metric};
use futures::future::{BoxFuture, FutureExt};
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::time::Timestamp;

/// CloudWatch did not tell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("CloudWatch answered {code}: the metric cannot be read; check the permission cloudwatch:GetMetricData")]
pub struct ReadbackError {
    /// What it answered, a code.
    pub code: String,
}

/// Which counts are asked for.
#[derive(Clone, Debug)]
pub struct Sum {
    /// Of what.
    pub metric: Metric,
    /// Whose.
    pub tenant: Tenant,
    /// In which operation; `None` sums over all.
    pub operation: Option<Operation>,
    /// From when.
    pub since: Timestamp,
    /// Until when.
    pub until: Timestamp,
}

/// Where metrics are read back from.
pub trait MetricSource: Send + Sync {
    /// How often it was counted.
    ///
    /// # Errors
    /// [`ReadbackError`] if the source does not tell: nobody may take silence for zero.
    fn sum<'a>(&'a self, asked: &'a Sum) -> BoxFuture<'a, Result<u64, ReadbackError>>;
}

impl MetricSource for Counting {
    fn sum<'a>(&'a self, asked: &'a Sum) -> BoxFuture<'a, Result<u64, ReadbackError>> {
        let sum = self.sum_between(asked.metric, &asked.tenant, asked.operation, asked.since, asked.until);
        std::future::ready(Ok(sum)).boxed()
    }
}

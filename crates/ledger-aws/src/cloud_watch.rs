//! Metrics read from CloudWatch. This is the only code that handles floats; it converts them to integers.

use aws_config::SdkConfig;
use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::error::ProvideErrorMetadata;
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{Dimension, Metric as CloudWatchMetric, MetricDataQuery, MetricStat};
use futures::future::{BoxFuture, FutureExt};
use ledger_runtime::metrics::NAMESPACE;
use ledger_runtime::readback::{MetricSource, ReadbackError, Sum};

/// CloudWatch keeps one-minute periods for 15 days, and one-hour periods for its whole retention time.
const HOUR_S: i32 = 3600;
const MINUTE_S: i32 = 60;
/// Windows up to this length are read in one-minute periods.
const FINE_WINDOW_S: i64 = 3 * 60 * 60;

/// A client of CloudWatch.
#[derive(Clone, Debug)]
pub struct CloudWatch(Client);

impl CloudWatch {
    /// Makes a client with the SDK's shared configuration.
    #[must_use]
    pub fn new(sdk: &SdkConfig) -> Self {
        Self(Client::new(sdk))
    }

    async fn read(&self, request: &Sum) -> Result<u64, ReadbackError> {
        let window_s = request.until.seconds().saturating_sub(request.since.seconds());
        let period = if window_s <= FINE_WINDOW_S { MINUTE_S } else { HOUR_S };
        let mut metric = CloudWatchMetric::builder()
            .namespace(NAMESPACE)
            .metric_name(request.metric.name())
            .dimensions(dimension("tenant", request.tenant.as_str()));
        if let Some(operation) = request.operation {
            metric = metric.dimensions(dimension("operation", operation.name()));
        }
        let stat = MetricStat::builder().metric(metric.build()).period(period).stat("Sum").build();
        let query = MetricDataQuery::builder().id("sum").metric_stat(stat).build();
        let mut sum = 0_u64;
        let mut token = None;
        loop {
            let page = self
                .0
                .get_metric_data()
                .start_time(DateTime::from_secs(request.since.seconds()))
                .end_time(DateTime::from_secs(request.until.seconds()))
                .metric_data_queries(query.clone())
                .set_next_token(token.take())
                .send()
                .await
                .map_err(|error| failed(error.code()))?;
            for value in page.metric_data_results().iter().flat_map(|result| result.values()) {
                sum = sum.saturating_add(whole(*value).ok_or_else(|| failed(Some("an unreadable value")))?);
            }
            match page.next_token() {
                Some(next) => token = Some(next.to_owned()),
                None => return Ok(sum),
            }
        }
    }
}

impl MetricSource for CloudWatch {
    fn sum<'a>(&'a self, request: &'a Sum) -> BoxFuture<'a, Result<u64, ReadbackError>> {
        self.read(request).boxed()
    }
}

fn dimension(name: &str, value: &str) -> Dimension {
    Dimension::builder().name(name).value(value).build()
}

fn failed(code: Option<&str>) -> ReadbackError {
    ReadbackError { code: code.unwrap_or("nothing").to_owned() }
}

/// A float as an integer, converted through text because a cast would wrap or saturate silently.
fn whole(value: f64) -> Option<u64> {
    format!("{value:.0}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_rounded_to_integers_and_negatives_refused() {
        assert_eq!(whole(0.0), Some(0));
        assert_eq!(whole(41.999_999_999), Some(42));
        assert_eq!((whole(-3.0), whole(f64::NAN)), (None, None));
    }
}

//! Embedded metric format: CloudWatch derives metrics from JSON lines on standard output, without calls to its API.

use super::{Metric, NAMESPACE, Sink, Unit};
use crate::clock::Clock;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// A sink that writes one line per value.
pub struct Emf {
    clock: Clock,
    out: Mutex<Box<dyn Write + Send>>,
}

impl Emf {
    /// Writes to standard output, as Lambda expects.
    #[must_use]
    pub fn stdout(clock: Clock) -> Self {
        Self::to(clock, std::io::stdout())
    }

    /// Writes to `out`.
    pub fn to(clock: Clock, out: impl Write + Send + 'static) -> Self {
        Self { clock, out: Mutex::new(Box::new(out)) }
    }
}

impl Sink for Emf {
    fn take(&self, metric: Metric, tenant: Option<&Tenant>, operation: Option<Operation>, value: u64) {
        let mut line = record(self.clock.now().millis(), metric, tenant, operation, value).to_string();
        line.push('\n');
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // One write, so that other writers' lines cannot split this one. A lost metric must not fail a payment.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}

/// Builds the line of one value, under its dimensions and under each coarser set of them.
///
/// CloudWatch does not sum over dimensions: alarms watch the whole service, the readiness check a tenant.
fn record(millis: i64, metric: Metric, tenant: Option<&Tenant>, operation: Option<Operation>, value: u64) -> Value {
    let mut sets = vec![json!([])];
    if tenant.is_some() {
        sets.push(json!(["tenant"]));
        if operation.is_some() {
            sets.push(json!(["tenant", "operation"]));
        }
    }
    let mut record = json!({
        "_aws": {
            "Timestamp": millis,
            "CloudWatchMetrics": [{
                "Namespace": NAMESPACE,
                "Dimensions": sets,
                "Metrics": [{"Name": metric.name(), "Unit": unit(metric)}],
            }],
        },
        metric.name(): value,
    });
    if let Some(record) = record.as_object_mut() {
        if let Some(tenant) = tenant {
            record.insert("tenant".to_owned(), tenant.as_str().into());
        }
        if let Some(operation) = operation {
            record.insert("operation".to_owned(), operation.name().into());
        }
    }
    record
}

/// The unit's name in CloudWatch.
fn unit(metric: Metric) -> &'static str {
    match metric.unit() {
        Unit::Count => "Count",
        Unit::Milliseconds => "Milliseconds",
        Unit::Seconds => "Seconds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_has_its_dimensions_and_no_other_fields() {
        let tenant = Tenant::parse("demo").unwrap();
        assert_eq!(
            record(1_700_000_000_000, Metric::IdempotencyReplay, Some(&tenant), Some(Operation::Pay), 1),
            json!({
                "_aws": {
                    "Timestamp": 1_700_000_000_000_i64,
                    "CloudWatchMetrics": [{
                        "Namespace": "EcoPay/Payments",
                        "Dimensions": [[], ["tenant"], ["tenant", "operation"]],
                        "Metrics": [{"Name": "IdempotencyReplay", "Unit": "Count"}],
                    }],
                },
                "IdempotencyReplay": 1,
                "tenant": "demo",
                "operation": "pay",
            })
        );
        let bare = record(0, Metric::Broken, None, None, 2);
        assert_eq!(bare["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([[]]));
        assert_eq!(bare["Broken"], 2);
        let waited = record(0, Metric::InFlightWait, None, None, 1200);
        assert_eq!(waited["_aws"]["CloudWatchMetrics"][0]["Metrics"][0]["Unit"], "Milliseconds");
        assert_eq!(waited["InFlightWait"], 1200);
    }
}

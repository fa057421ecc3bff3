//! Embedded metric format: CloudWatch derives metrics from JSON lines on standard output, without calls to its API.

use super::{Metric, NAMESPACE, Sink, Unit};
use crate::clock::Clock;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
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
        let record = Record { millis: self.clock.now().millis(), metric, tenant, operation, value };
        // Names and numbers always serialize.
        let Ok(mut line) = serde_json::to_vec(&record) else { return };
        line.push(b'\n');
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // One write, so that other writers' lines cannot split this one. A lost metric must not fail a payment.
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }
}

/// The line of one value, under its dimensions and under each coarser set of them.
///
/// CloudWatch does not sum over dimensions: alarms watch the whole service, the readiness check a tenant.
struct Record<'a> {
    millis: i64,
    metric: Metric,
    tenant: Option<&'a Tenant>,
    operation: Option<Operation>,
    value: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Aws {
    timestamp: i64,
    cloud_watch_metrics: [Directive; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Directive {
    namespace: &'static str,
    dimensions: &'static [&'static [&'static str]],
    metrics: [Definition; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Definition {
    name: &'static str,
    unit: &'static str,
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let dimensions: &[&[&str]] = match (self.tenant, self.operation) {
            (Some(_), Some(_)) => &[&[], &["tenant"], &["tenant", "operation"]],
            (Some(_), None) => &[&[], &["tenant"]],
            (None, _) => &[&[]],
        };
        let metrics = [Definition { name: self.metric.name(), unit: unit(self.metric) }];
        let directive = Directive { namespace: NAMESPACE, dimensions, metrics };
        let mut line = serializer.serialize_map(None)?;
        line.serialize_entry("_aws", &Aws { timestamp: self.millis, cloud_watch_metrics: [directive] })?;
        line.serialize_entry(self.metric.name(), &self.value)?;
        if let Some(tenant) = self.tenant {
            line.serialize_entry("tenant", tenant.as_str())?;
        }
        if let Some(operation) = self.operation {
            line.serialize_entry("operation", operation.name())?;
        }
        line.end()
    }
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
    use serde_json::{Value, json};

    fn record(millis: i64, metric: Metric, tenant: Option<&Tenant>, operation: Option<Operation>, value: u64) -> Value {
        serde_json::to_value(Record { millis, metric, tenant, operation, value }).unwrap()
    }

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

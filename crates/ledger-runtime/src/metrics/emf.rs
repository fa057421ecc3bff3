//! Embedded metric format: CloudWatch derives metrics from JSON lines on standard output, without calls to its API.

use super::line::REQUEST_MESSAGE;
use super::{Metric, NAMESPACE, Recorded, RequestLine, Sink, Unit};
use crate::clock::Clock;
use ledger_core::time::Timestamp;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// A sink that writes a request's values into its log line, and a line for each other value.
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

    fn write(&self, line: &impl Serialize) {
        // Names, texts and numbers always serialize.
        let Ok(mut line) = serde_json::to_vec(line) else { return };
        line.push(b'\n');
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // One write, so that other writers' lines cannot split this one. A lost line must not fail a payment.
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }
}

impl Sink for Emf {
    fn take(&self, recorded: Recorded) {
        let Recorded { metric, tenant, operation, value } = recorded;
        let dimensions = Dimensions {
            tenant: tenant.as_ref().map(|tenant| tenant.as_str()),
            operation: operation.map(|operation| operation.name()),
        };
        self.write(&ValueLine {
            values: &Values { at: self.clock.now(), dimensions, all: &[(metric, value)] },
            dimensions,
        });
    }

    fn joins_lines(&self) -> bool {
        true
    }

    fn write_line(&self, line: &RequestLine<'_>, recorded: Vec<Recorded>) {
        let dimensions = Dimensions { tenant: line.tenant, operation: line.operation };
        let mut all = Vec::<(Metric, u64)>::new();
        for recorded in recorded {
            let is_of_line = recorded.tenant.as_ref().map(|tenant| tenant.as_str()) == dimensions.tenant
                && recorded.operation.map(|operation| operation.name()) == dimensions.operation;
            let same = all.iter_mut().find(|(metric, _)| *metric == recorded.metric);
            match (is_of_line, same, recorded.metric.unit()) {
                (true, None, _) => all.push((recorded.metric, recorded.value)),
                (true, Some((_, count)), Unit::Count) => *count = count.saturating_add(recorded.value),
                // Values of other dimensions, and a further duration, have lines of their own.
                (true, Some(_), Unit::Milliseconds | Unit::Seconds) | (false, _, _) => self.take(recorded),
            }
        }
        let now = self.clock.now();
        let values = Values { at: now, dimensions, all: &all };
        self.write(&LogLine { timestamp: now.to_string(), level: "INFO", message: REQUEST_MESSAGE, line, values });
    }
}

/// The fields of a line that are dimensions of its values.
#[derive(Clone, Copy, Serialize)]
struct Dimensions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'static str>,
}

/// The line of one value.
#[derive(Serialize)]
struct ValueLine<'a> {
    #[serde(flatten)]
    values: &'a Values<'a>,
    #[serde(flatten)]
    dimensions: Dimensions<'a>,
}

/// The line of a request, with its values.
#[derive(Serialize)]
struct LogLine<'a> {
    timestamp: String,
    level: &'static str,
    message: &'static str,
    #[serde(flatten)]
    line: &'a RequestLine<'a>,
    #[serde(flatten)]
    values: Values<'a>,
}

/// Values under their dimensions and under each coarser set of them; nothing if there are none.
///
/// CloudWatch does not sum over dimensions: alarms watch the whole service, the readiness check a tenant.
struct Values<'a> {
    at: Timestamp,
    dimensions: Dimensions<'a>,
    all: &'a [(Metric, u64)],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Aws<'a> {
    timestamp: i64,
    cloud_watch_metrics: [Directive<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Directive<'a> {
    namespace: &'static str,
    dimensions: &'static [&'static [&'static str]],
    metrics: Definitions<'a>,
}

struct Definitions<'a>(&'a [(Metric, u64)]);

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Definition {
    name: &'static str,
    unit: &'static str,
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_map(None)?;
        if !self.all.is_empty() {
            let dimensions: &[&[&str]] = match (self.dimensions.tenant, self.dimensions.operation) {
                (Some(_), Some(_)) => &[&[], &["tenant"], &["tenant", "operation"]],
                (Some(_), None) => &[&[], &["tenant"]],
                (None, _) => &[&[]],
            };
            let directive = Directive { namespace: NAMESPACE, dimensions, metrics: Definitions(self.all) };
            line.serialize_entry("_aws", &Aws { timestamp: self.at.millis(), cloud_watch_metrics: [directive] })?;
        }
        for (metric, value) in self.all {
            line.serialize_entry(metric.name(), value)?;
        }
        line.end()
    }
}

impl Serialize for Definitions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(metric, _)| Definition { name: metric.name(), unit: unit(*metric) }))
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
    use crate::logging::tests::Lines;
    use crate::pseudonym::{Pseudonyms, SourceAddress};
    use ledger_core::ids::Tenant;
    use ledger_core::operation::Operation;
    use serde_json::{Value, json};

    const MILLIS: i64 = 1_700_000_000_000;

    fn recorded(metric: Metric, tenant: Option<&Tenant>, operation: Option<Operation>, value: u64) -> Recorded {
        Recorded { metric, tenant: tenant.cloned(), operation, value }
    }

    fn demo() -> Tenant {
        Tenant::parse("demo").unwrap()
    }

    /// The lines that a sink writes.
    fn written(by: impl FnOnce(&Emf)) -> Vec<Value> {
        let lines = Lines::default();
        by(&Emf::to(Clock::from_fn(|| Timestamp::from_millis(MILLIS)), lines.clone()));
        lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn of_one(metric: Metric, tenant: Option<&Tenant>, operation: Option<Operation>, value: u64) -> Value {
        let mut lines = written(|emf| emf.take(recorded(metric, tenant, operation, value)));
        assert_eq!(lines.len(), 1);
        lines.remove(0)
    }

    fn line() -> RequestLine<'static> {
        RequestLine {
            method: "POST",
            path: "/v1/me/payments",
            status: 201,
            code: None,
            replayed: false,
            latency_ms: 3,
            tenant: Some("demo"),
            actor: None,
            source: SourceAddress::parse("192.0.2.1").and_then(|source| Pseudonyms::of_process().of_source(&source)),
            operation: Some("pay"),
            request_id: Some("r-1"),
        }
    }

    #[test]
    fn value_has_its_dimensions_and_no_other_fields() {
        assert_eq!(
            of_one(Metric::IdempotencyReplay, Some(&demo()), Some(Operation::Pay), 1),
            json!({
                "_aws": {
                    "Timestamp": MILLIS,
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
        let bare = of_one(Metric::Broken, None, None, 2);
        assert_eq!(bare["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([[]]));
        assert_eq!(bare["Broken"], 2);
        let waited = of_one(Metric::InFlightWait, None, None, 1200);
        assert_eq!(waited["_aws"]["CloudWatchMetrics"][0]["Metrics"][0]["Unit"], "Milliseconds");
        assert_eq!(waited["InFlightWait"], 1200);
    }

    #[test]
    fn line_of_a_request_has_the_values_of_its_dimensions() {
        let (demo, other) = (demo(), Tenant::parse("other").unwrap());
        let pay = |metric, value| recorded(metric, Some(&demo), Some(Operation::Pay), value);
        let lines = written(|emf| {
            emf.write_line(
                &line(),
                vec![
                    pay(Metric::KeyedRequest, 1),
                    pay(Metric::TransactionConflict, 1),
                    pay(Metric::TransactionConflict, 1),
                    pay(Metric::InFlightWait, 50),
                    pay(Metric::InFlightWait, 70),
                    recorded(Metric::CrossTenantDenied, Some(&other), None, 1),
                ],
            );
        });
        let [further, others, request] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((&further["InFlightWait"], &further["message"]), (&json!(70), &Value::Null));
        assert_eq!((&others["CrossTenantDenied"], &others["tenant"]), (&json!(1), &json!("other")));
        let directive = &request["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(directive["Dimensions"], json!([[], ["tenant"], ["tenant", "operation"]]));
        assert_eq!(directive["Metrics"].as_array().unwrap().len(), 3);
        let found = ["KeyedRequest", "TransactionConflict", "InFlightWait"].map(|name| request[name].as_u64().unwrap());
        assert_eq!(found, [1, 2, 50]);
        assert_eq!(request["latency_ms"], 3);
    }

    #[test]
    fn line_of_a_request_has_the_fields_that_the_log_has() {
        let logged = |line: &RequestLine<'_>| {
            let (lines, _guard) = Lines::capture("info");
            line.log();
            serde_json::from_str::<Value>(&lines.text()).unwrap()
        };
        let bare = RequestLine { code: Some("busy"), tenant: None, operation: None, request_id: None, ..line() };
        for line in [line(), bare] {
            let mut logged = logged(&line);
            let lines = written(|emf| emf.write_line(&line, Vec::new()));
            let mut written = lines.into_iter().next().unwrap();
            for line in [&mut logged, &mut written] {
                let fields = line.as_object_mut().unwrap();
                assert!(fields.remove("timestamp").is_some());
                // The module of the code, which no query uses.
                fields.remove("target");
            }
            assert_eq!(written, logged);
        }
    }
}
